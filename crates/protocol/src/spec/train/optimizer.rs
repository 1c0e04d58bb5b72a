//! The optimizer: the update of weights.

use serde::{Deserialize, Serialize};

use super::finite;
use crate::spec::Faults;

/// The optimizer: the update of weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(default, deny_unknown_fields)]
pub struct Optimizer {
    /// Which.
    pub name: OptimizerName,
    /// Learning rate.
    pub lr: f64,
    /// Updates over which the rate grows from 0.
    pub warmup_steps: u64,
    /// The learning rate after the warm-up.
    pub schedule: Schedule,
    /// Decay of the running mean.
    pub beta1: f64,
    /// Decay of the running square.
    pub beta2: f64,
    /// Keeps the quotient finite.
    pub epsilon: f64,
    /// Share of a weight that goes per update and unit of rate.
    pub weight_decay: f64,
    /// Bound of the gradient's norm over all tensors; 0 bounds nothing.
    pub grad_norm_max: f64,
    /// Most tokens in one pass forwards and backwards, padding included; gradients of several are added up.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub micro_batch_tokens: u64,
    /// Examples of one update; for `sft` alone.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_536))]
    pub examples_per_step: u32,
}

impl Default for Optimizer {
    fn default() -> Self {
        Self {
            name: OptimizerName::Adamw,
            lr: 1e-5,
            warmup_steps: 0,
            schedule: Schedule::Constant,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            grad_norm_max: 1.0,
            micro_batch_tokens: 16_384,
            examples_per_step: 32,
        }
    }
}

/// An optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OptimizerName {
    /// Adam with decoupled weight decay, <https://arxiv.org/abs/1711.05101>.
    Adamw,
}

/// The learning rate after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// It stays.
    Constant,
    /// In a line; it would be 0 right after the last update.
    Linear,
    /// In half a cosine; it would be 0 right after the last update.
    Cosine,
}

impl Optimizer {
    pub(super) fn check(&self, faults: &mut Faults) {
        let positive = |value: f64| finite(value) && value > 0.0;
        faults.unless(finite(self.lr) && (0.0..=10.0).contains(&self.lr), "optimizer.lr", "must be 0 to 10");
        faults.unless((0.0..1.0).contains(&self.beta1), "optimizer.beta1", "must be 0 to 1, without 1");
        faults.unless((0.0..1.0).contains(&self.beta2), "optimizer.beta2", "must be 0 to 1, without 1");
        faults.unless(positive(self.epsilon), "optimizer.epsilon", "must be above 0");
        faults.unless(
            finite(self.weight_decay) && self.weight_decay >= 0.0,
            "optimizer.weight_decay",
            "must be 0 or more",
        );
        faults.unless(
            finite(self.grad_norm_max) && self.grad_norm_max >= 0.0,
            "optimizer.grad_norm_max",
            "must be 0 or more",
        );
        faults.unless(self.micro_batch_tokens >= 1, "optimizer.micro_batch_tokens", "must be 1 or more");
        faults.unless(
            (1..=65_536).contains(&self.examples_per_step),
            "optimizer.examples_per_step",
            "must be 1 to 65536",
        );
    }
}

//! The feed-forward part of a layer: SwiGLU, <https://arxiv.org/abs/2002.05202>.

use burn::module::Module;
use burn::tensor::activation::silu;
use burn::tensor::{Device, Tensor};

use super::config::TransformerConfig;
use super::linear::Linear;
use super::weights::Weights;
use crate::failure::TrainerError;

/// y = down(silu(gate(x)) · up(x)).
#[derive(Module, Debug)]
pub(super) struct FeedForward {
    pub(super) gate_proj: Linear,
    pub(super) up_proj: Linear,
    pub(super) down_proj: Linear,
}

impl FeedForward {
    pub(super) fn new(
        weights: &mut dyn Weights,
        name: &str,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        let (width, inner) = (config.width, config.feed_forward);
        let mut linear = |part: &str, shape| Linear::new(weights, &format!("{name}.{part}"), shape, false, device);
        Ok(Self {
            gate_proj: linear("gate_proj", [inner, width])?,
            up_proj: linear("up_proj", [inner, width])?,
            down_proj: linear("down_proj", [width, inner])?,
        })
    }

    /// `[batch, time, width]` -> `[batch, time, width]`.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, time, width] = x.dims();
        let x = x.reshape([batch * time, width]);
        let inner = silu(self.gate_proj.forward(x.clone())) * self.up_proj.forward(x);
        self.down_proj.forward(inner).reshape([batch, time, width])
    }
}

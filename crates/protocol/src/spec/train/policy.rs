//! The policies that a training starts from.

use serde::{Deserialize, Serialize};

use super::finite;
use crate::spec::Faults;
use crate::spec::play::PolicyFrom;

/// The policy that a training starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TrainedPolicy {
    /// Where its weights come from.
    pub from: PolicyFrom,
    /// Trains small matrices beside the weights, which stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lora: Option<Lora>,
    /// Size of a model that is made from scratch, for `builtin:` policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ModelSize>,
}

/// Size of a model that is made from scratch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelSize {
    /// The number of layers; 4 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 128))]
    pub layers: Option<u32>,
    /// Width of a layer; 128 where left out. A multiple of 2 x heads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 8, maximum = 16_384))]
    pub width: Option<u32>,
    /// The number of attention heads; 4 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 256))]
    pub heads: Option<u32>,
}

/// Low-rank adaptation, <https://arxiv.org/abs/2106.09685>: y = Wx + (alpha / rank) B A x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Lora {
    /// Rows of A.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub rank: u32,
    /// The scale is `alpha / rank`.
    pub alpha: f64,
    /// Which projections: `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj`, `down_proj`.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 7))]
    pub targets: Vec<LoraTarget>,
}

/// A projection that LoRA adapts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named as in the files of models")]
pub enum LoraTarget {
    QProj,
    KProj,
    VProj,
    OProj,
    GateProj,
    UpProj,
    DownProj,
}

impl TrainedPolicy {
    pub(super) fn check(&self, faults: &mut Faults) {
        let builtin = self.from.is_scratch();
        self.from.check("policy.from", faults);
        faults.unless(self.from.is_trainable(), "policy.from", "this policy has no weights to train: choose a model");
        if let Some(lora) = &self.lora {
            faults.unless(!builtin, "policy.lora", "a model from scratch has no weights worth keeping: leave lora out");
            faults.unless((1..=1_024).contains(&lora.rank), "policy.lora.rank", "must be 1 to 1024");
            faults.unless(finite(lora.alpha) && lora.alpha > 0.0, "policy.lora.alpha", "must be above 0");
            faults.unless(!lora.targets.is_empty(), "policy.lora.targets", "name at least one projection");
        }
        if let Some(size) = &self.size {
            faults.unless(builtin, "policy.size", "only a model from scratch has a size to choose: leave it out");
            let (width, heads) = (size.width.unwrap_or(128), size.heads.unwrap_or(4));
            faults.unless((1..=128).contains(&size.layers.unwrap_or(4)), "policy.size.layers", "must be 1 to 128");
            faults.unless((1..=256).contains(&heads), "policy.size.heads", "must be 1 to 256");
            let fits = (8..=16_384).contains(&width) && width.is_multiple_of(2 * heads.max(1));
            faults.unless(fits, "policy.size.width", "must be 8 to 16384, and a multiple of 2 x heads");
        }
    }
}

//! Root mean square norm, <https://arxiv.org/abs/1910.07467>.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::weights::Weights;
use crate::failure::TrainerError;

/// y = x / sqrt(mean(x²) + epsilon) · weight, over the last dimension.
#[derive(Module, Debug)]
pub(super) struct RmsNorm {
    weight: Param<Tensor<1>>,
    #[module(skip)]
    epsilon: f64,
}

impl RmsNorm {
    pub(super) fn new(
        weights: &mut dyn Weights,
        name: &str,
        width: usize,
        epsilon: f64,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        let weight = weights.take(&format!("{name}.weight"), &[width])?;
        Ok(Self { weight: Param::from_data(weight, device), epsilon })
    }

    /// `[.., width]` -> `[.., width]`.
    pub(super) fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let scale = x.clone().square().mean_dim(D - 1).add_scalar(self.epsilon).sqrt().recip();
        x * scale * self.weight.val().unsqueeze()
    }
}

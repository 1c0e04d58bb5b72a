//! The linear map of the transformer: weights laid out as in the files of models, with an optional low-rank part beside.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::weights::Weights;
use crate::failure::TrainerError;

/// y = x Wᵀ + b, and + scale x Aᵀ Bᵀ once adapted.
#[derive(Module, Debug)]
pub(super) struct Linear {
    /// `[outputs, inputs]`.
    pub(super) weight: Param<Tensor<2>>,
    /// `[outputs]`.
    pub(super) bias: Option<Param<Tensor<1>>>,
    /// A of low-rank adaptation, `[rank, inputs]`.
    pub(super) lora_a: Option<Param<Tensor<2>>>,
    /// B, `[outputs, rank]`.
    pub(super) lora_b: Option<Param<Tensor<2>>>,
    /// alpha / rank.
    #[module(skip)]
    pub(super) lora_scale: f64,
}

impl Linear {
    /// Takes its weights, and its bias where `biased`.
    pub(super) fn new(
        weights: &mut dyn Weights,
        name: &str,
        shape: [usize; 2],
        biased: bool,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        let weight = weights.take(&format!("{name}.weight"), &shape)?;
        let bias = if biased { Some(weights.take(&format!("{name}.bias"), &[shape[0]])?) } else { None };
        Ok(Self {
            weight: Param::from_data(weight, device),
            bias: bias.map(|bias| Param::from_data(bias, device)),
            lora_a: None,
            lora_b: None,
            lora_scale: 0.0,
        })
    }

    /// `[n, inputs]` -> `[n, outputs]`. Of rank 2 on purpose: a product of rank 3 copies the transposed weight for each
    /// row of the batch.
    pub(super) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let low = self.lora_a.as_ref().zip(self.lora_b.as_ref()).map(|(a, b)| {
            let inner = x.clone().matmul(a.val().transpose());
            inner.matmul(b.val().transpose()).mul_scalar(self.lora_scale)
        });
        let mut y = x.matmul(self.weight.val().transpose());
        if let Some(bias) = &self.bias {
            y = y + bias.val().unsqueeze();
        }
        match low {
            Some(low) => y + low,
            None => y,
        }
    }

    /// `[batch, time, inputs]` -> `[batch, time, outputs]`.
    pub(super) fn forward_sequence(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, time, inputs] = x.dims();
        let [outputs, _] = self.weight.dims();
        self.forward(x.reshape([batch * time, inputs])).reshape([batch, time, outputs])
    }
}

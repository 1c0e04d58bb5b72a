//! Tensors of the known tokens, for tests.

use burn::tensor::{Device, Tensor, TensorData};
use serde_json::Value;

use super::{TokenBatch, TokenLoss};
use crate::algorithm::known::{known, numbers};

/// The CPU, with gradients.
pub(super) fn device() -> Device {
    Device::flex().autodiff()
}

pub(super) fn tensor(values: &[f64], device: &Device) -> Tensor<1> {
    let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

pub(super) fn to_vec(tensor: Tensor<1>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// d sum(loss) / d leaf; 0 where the loss does not depend on it.
pub(super) fn gradient(leaf: &Tensor<1>, loss: Tensor<1>) -> Vec<f64> {
    let gradients = loss.sum().backward();
    leaf.grad(&gradients).map_or_else(|| vec![0.0; leaf.dims()[0]], to_vec)
}

/// The known tokens: their log-probabilities, advantages and weights.
pub(super) struct KnownTokens {
    pub(super) inputs: Value,
    pub(super) new: Tensor<1>,
    pub(super) sequence_of: Vec<usize>,
}

impl KnownTokens {
    pub(super) fn read() -> Self {
        let inputs = known()["policy"]["inputs"].clone();
        let new = tensor(&numbers(&inputs["new"]), &device()).require_grad();
        let sequence_of = numbers(&inputs["sequence_of"]).into_iter().map(|number| number as usize).collect();
        Self { inputs, new, sequence_of }
    }

    pub(super) fn tensor(&self, name: &str) -> Tensor<1> {
        tensor(&numbers(&self.inputs[name]), &device())
    }

    /// The loss of the known tokens, with importance weights where asked.
    pub(super) fn loss(&self, loss: &TokenLoss, importance: bool) -> super::LossParts {
        let batch = TokenBatch {
            new: self.new.clone(),
            old: self.tensor("old"),
            reference: Some(self.tensor("reference")),
            advantages: self.tensor("advantages"),
            entropies: Some(self.tensor("entropies")),
            importance: importance.then(|| self.tensor("importance")),
            sequence_of: &self.sequence_of,
        };
        loss.loss(batch).expect("a loss")
    }

    /// The weighted gradient of a loss in the new log-probabilities.
    pub(super) fn gradient(&self, per_token: Tensor<1>) -> Vec<f64> {
        gradient(&self.new, per_token * self.tensor("weights"))
    }
}

//! The entropy bonus, as in <https://arxiv.org/abs/1602.01783>: a policy that is less sure costs less.

use burn::tensor::Tensor;

/// -weight x entropy of each token, [n], in nats.
pub(super) fn loss(entropies: Tensor<1>, weight: f64) -> Tensor<1> {
    entropies * -weight
}

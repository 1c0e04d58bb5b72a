//! Cross-entropy of given tokens: all of `sft`, and the auxiliary term on observations.

use burn::tensor::Tensor;

/// -ln p of each token, [n], in nats.
#[must_use]
pub fn loss(log_probs: Tensor<1>) -> Tensor<1> {
    log_probs.neg()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use palestra_protocol::spec::train::Aggregation;

    use super::*;
    use crate::algorithm::aggregation::weights;

    #[test]
    fn the_mean_is_over_all_tokens_however_they_are_cut() {
        let device = Device::flex();
        let sum = |log_probs: &[f32]| loss(Tensor::<1>::from_floats(log_probs, &device)).sum().into_scalar::<f32>();
        let weights = weights(&Aggregation::TokenMean, &[3, 1]);
        let found = f64::from(sum(&[-1.0, -2.0, -3.0])) * weights[0] + f64::from(sum(&[-6.0])) * weights[1];
        assert!((found - 3.0).abs() < 1e-6);
    }
}

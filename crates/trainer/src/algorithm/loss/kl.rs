//! Divergence from a reference policy, estimated from sampled tokens, <http://joschu.net/blog/kl-approx.html>.

use burn::tensor::Tensor;
use palestra_protocol::spec::train::KlEstimator;

use super::LOG_RATIO_NATS_MAX;

/// One estimate per token, [n], from ln p and ln p_ref.
pub(super) fn divergence(estimator: KlEstimator, new: Tensor<1>, reference: Tensor<1>) -> Tensor<1> {
    // d = ln p_ref - ln p
    let d = (reference - new).clamp(-LOG_RATIO_NATS_MAX, LOG_RATIO_NATS_MAX);
    match estimator {
        // -d: unbiased, may be negative
        KlEstimator::K1 => d.neg(),
        // d^2 / 2: never negative, little variance
        KlEstimator::K2 => d.clone() * d * 0.5,
        // e^d - d - 1: unbiased and never negative
        KlEstimator::K3 => d.clone().exp() - d - 1.0,
    }
}

//! The clipped surrogate of "Proximal Policy Optimization", <https://arxiv.org/abs/1707.06347>, with bounds that may
//! differ ("DAPO", <https://arxiv.org/abs/2503.14476>) and the dual clip of <https://arxiv.org/abs/1912.09729>.

use burn::tensor::Tensor;
use palestra_protocol::spec::train::Clip;

/// The loss of each token, and 1 where the clip decides. All of shape [n].
pub(super) fn loss(ratio: Tensor<1>, advantages: Tensor<1>, clip: &Clip) -> (Tensor<1>, Tensor<1>) {
    let negative = advantages.clone().lower_elem(0.0);
    let minus = advantages.neg();
    // -A rho
    let free = minus.clone() * ratio.clone();
    // -A clip(rho, 1 - low, 1 + high)
    let bound = minus.clone() * ratio.clamp(1.0 - clip.low, 1.0 + clip.high);
    let clipped = bound.clone().greater(free.clone()).float();
    // max(-A rho, -A clip(rho)): the worse of the two
    let worse = free.max_pair(bound);
    let Some(dual) = clip.dual else { return (worse, clipped) };
    // min(.., -A c) for A < 0: a bad action that became very likely pulls no harder than c
    let bounded = worse.clone().min_pair(minus * dual);
    (worse.mask_where(negative, bounded), clipped)
}

//! Mean over all tokens, "DAPO", <https://arxiv.org/abs/2503.14476>: each token weighs alike, so long answers weigh
//! more.

/// 1 / tokens of the update.
pub(super) fn weight(tokens: f64) -> f64 {
    1.0 / tokens
}

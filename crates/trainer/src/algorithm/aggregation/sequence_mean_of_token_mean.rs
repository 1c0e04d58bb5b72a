//! Mean over sequences of token means, "DeepSeekMath", <https://arxiv.org/abs/2402.03300>: each sequence weighs alike.

/// 1 / (sequences x tokens of this sequence).
pub(super) fn weight(sequences: f64, length: usize) -> f64 {
    1.0 / (sequences * length as f64)
}

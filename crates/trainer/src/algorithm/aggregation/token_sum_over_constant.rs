//! Token sums over sequences x a constant, "Understanding R1-Zero-Like Training", <https://arxiv.org/abs/2503.20783>:
//! like a mean, without dividing by a length that the policy itself chooses.

/// 1 / (sequences x constant), the constant in tokens.
pub(super) fn weight(sequences: f64, constant: f64) -> f64 {
    1.0 / (sequences * constant)
}

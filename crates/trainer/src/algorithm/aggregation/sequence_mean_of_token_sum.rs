//! Mean over sequences of token sums, as in "Back to Basics", <https://arxiv.org/abs/2402.14740>: the log-probability
//! of a whole answer is the sum over its tokens.

/// 1 / sequences.
pub(super) fn weight(sequences: f64) -> f64 {
    1.0 / sequences
}

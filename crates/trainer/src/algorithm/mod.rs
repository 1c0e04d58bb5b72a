//! Algorithms of policy optimisation: advantages, losses, aggregations and auxiliary terms, one file each, and
//! presets that compose them.
//!
//! Advantages, aggregation weights and importance weights are plain f64 on the host; losses are tensors with one number
//! per token. The loss of an update is the sum over all its tokens of weight x token loss, however it is cut into
//! micro-batches.

pub mod advantage;
pub mod aggregation;
pub mod auxiliary;
pub mod importance;
pub mod loss;
pub mod preset;
pub mod reward;

#[cfg(test)]
pub(crate) mod known;

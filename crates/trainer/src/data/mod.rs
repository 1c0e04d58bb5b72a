//! Training data: examples in files, and sequences of tokens with what each token is.

pub mod jsonl;
mod pack;
mod sequence;

pub use pack::{Packed, pack};
pub use sequence::{Part, Sequence};

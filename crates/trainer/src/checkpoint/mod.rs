//! Points to go on from: a folder with the weights, the optimizer's moments and the state of the loop. A checkpoint is
//! there whole or not at all, and what was altered or cut short since is found before it is used.

mod manifest;
mod store;
mod tensors;
#[cfg(test)]
mod tests;

pub use store::{Checkpoint, Checkpoints, Draft};
pub use tensors::{read_tensors, write_tensors};

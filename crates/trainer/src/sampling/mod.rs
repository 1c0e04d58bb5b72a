//! Sampling of answers: continuous batches over one KV cache, a slot per episode, a random stream per episode, so that
//! what an episode says does not depend on who shares its batch.

mod choice;
mod decoder;
mod sampler;
#[cfg(test)]
mod tests;
mod transformer;

pub use choice::{Choice, choose};
pub use decoder::Decoder;
pub use sampler::{Answer, SampleRequest, Sampler, Slot, Stopped};

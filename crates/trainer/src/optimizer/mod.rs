//! The optimizer: sums over micro-batches, the global norm, AdamW and its schedule. Tensors are
//! named by their path in the module, never by ids that a process makes up, so that what is saved fits the next
//! process.

mod adamw;
mod gradients;
mod path;
mod schedule;
#[cfg(test)]
mod tests;

pub use adamw::AdamW;
pub use gradients::Gradients;
pub use path::trainable_shapes;
pub use schedule::rate;

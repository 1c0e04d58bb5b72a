//! The worker: leases jobs, and does each in a process of its own, so that a driver that crashes or memory that runs out ends
//! that attempt alone.

mod attempt;
mod end;
mod lease;
mod serve;

pub use attempt::{Arguments as AttemptArguments, attempt};
pub use lease::{Arguments, work};

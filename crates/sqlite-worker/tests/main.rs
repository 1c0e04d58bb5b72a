//! The worker from outside: a process, and frames.

mod worker;

mod confinement;
mod hostile;
mod refusals;
mod rewind;
mod session;

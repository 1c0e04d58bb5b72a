//! The PostgreSQL engine on a cluster of its own.

#![expect(clippy::print_stdout, reason = "tests say what they skip and what they measured")]

mod cluster;
mod crash;
#[path = "../hostile/postgres.rs"]
mod hostile;
mod limits;
mod places;
mod rewinding;
mod statements;
mod transactions;

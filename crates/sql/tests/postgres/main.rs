//! The PostgreSQL engine on a cluster of its own.

mod cluster;
mod crash;
#[path = "../hostile/postgres.rs"]
mod hostile;
mod limits;
mod places;
mod rewinding;
mod statements;
mod transactions;

//! The session engine without HTTP.
#![cfg(test)]

mod faults;
mod heavy;
mod model;
mod opening;
mod place;
#[path = "../../../../tests/support/postgres.rs"]
mod postgres;
mod world;

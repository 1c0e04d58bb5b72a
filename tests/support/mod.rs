//! What several tests need.

pub mod postgres;
pub mod server;

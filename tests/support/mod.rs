//! What several tests need.

pub mod cutting_proxy;
pub mod server;

//! What several tests need.

pub mod cutting_proxy;
pub mod postgres;
pub mod server;

//! Support for several tests.

pub mod cutting_proxy;
pub mod hand;
pub mod server;
pub mod upstream;

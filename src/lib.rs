//! Palestra: environments as a service. Modules in the order in which a request meets them.

pub mod catalog;
pub mod clock;
pub mod environment;
pub mod session;
pub mod stats;
pub mod store;
pub mod verifier;

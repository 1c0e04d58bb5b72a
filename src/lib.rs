//! Palestra: environments as a service. Modules in the order in which a request meets them.

pub mod config;

pub mod app;
pub mod backends;
pub mod command;
pub mod http;
pub mod program;
pub mod table;
pub mod telemetry;
pub mod terminal;

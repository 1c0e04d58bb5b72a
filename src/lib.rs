//! Palestra: environments as a service. Modules in the order in which a request meets them.

pub mod command;
pub mod config;

pub mod app;
pub mod http;

pub mod auth;
pub mod catalog;
pub mod session;

pub mod environment;
pub mod verifier;

pub mod store;

pub mod clock;
pub mod telemetry;

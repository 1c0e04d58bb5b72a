//! Palestra: environments as a service. Modules in the order in which a request meets them.

pub mod config;

pub mod app;
pub mod auth;
pub mod catalog;
pub mod clock;
pub mod command;
pub mod databases;
pub mod desk;
pub mod environment;
pub mod http;
pub mod jobs;
pub mod means;
mod play;
pub mod session;
pub mod stats;
pub mod store;
pub mod telemetry;
pub mod terminal;
pub mod verifier;
pub mod work;

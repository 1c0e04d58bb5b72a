//! The families of environments: one folder each, and the list of what is built in. They get what they need as arguments: this
//! package depends on neither store nor HTTP nor configuration.

pub mod app;
pub mod backends;
pub mod bench;
mod browsed;
#[cfg(test)]
mod conformance;
pub mod control;
pub mod databases;
pub mod dataset;
pub mod definition;
mod embedded;
#[cfg(test)]
mod proof_tests;
pub mod published;
pub mod recording;
pub mod registry;
pub mod sql;
pub mod web;
pub mod work;

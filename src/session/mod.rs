//! Sessions: the table of live ones, and the one function that runs a command on one.

pub mod command;
mod error;

pub use command::{Answer, Command};
pub use error::SessionError;

//! Terminals: a live shell in a sandbox, tasks in an inline form and in the public folder layout, and their judges.

mod keys;
mod marks;
mod output;
pub mod recording;
mod screen;
mod shell;
mod tape;

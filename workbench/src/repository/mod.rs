//! Repositories: a project at a commit, an issue, and tests that have to go from failing to passing.

pub mod archive;
pub mod instance;
pub mod log;
mod patch;
mod protected;
mod upload;

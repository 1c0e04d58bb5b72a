//! Repositories: a project at a commit, an issue, and tests that have to go from failing to passing.

pub mod admit;
pub mod archive;
mod change;
mod git;
pub mod instance;
mod judge;
pub mod log;
mod patch;
mod prepare;
mod protected;
mod trial;
mod upload;

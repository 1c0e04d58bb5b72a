//! Tasks: drawn from templates, judged by what changed, and played by solutions.

pub mod answer;
pub mod call;
mod document;
pub mod draw_key;
pub mod episode;
pub mod fixed;
pub mod instance;
mod judge;
pub mod outcome;
pub(crate) mod parameter;
pub mod solve;
pub(crate) mod subject;
pub(crate) mod trace;
pub mod verdict;

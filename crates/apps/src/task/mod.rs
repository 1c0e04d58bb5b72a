//! Tasks: templates that are drawn from a seed, judged by what changed, and proven by a solution.

pub mod answer;
mod document;
pub mod draw;
pub mod episode;
mod judge;
pub mod mutate;
pub mod outcome;
pub(crate) mod parameter;
pub mod solve;
pub(crate) mod trace;
pub mod verdict;
pub(crate) mod wanted;

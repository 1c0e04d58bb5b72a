//! The outcome of one episode, as statistics take it.

use std::sync::Arc;

/// One episode: which task it played, from which seed, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// `family/name@version`.
    pub environment: Arc<str>,
    /// The task; episodes of one task depend on each other, so that they form one cluster.
    pub task: Arc<str>,
    /// The session's seed, which tells episodes of one task from each other.
    pub seed: u64,
    /// The score, or the reason why the episode is no sample.
    pub result: Result<Scored, Arc<str>>,
}

/// The score of an episode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// In [0, 1].
    pub score: f64,
    /// True where every check passed.
    pub strict: bool,
    /// True where the task counts as solved.
    pub passed: bool,
}

impl Outcome {
    /// The name of its task among those of all environments.
    #[must_use]
    pub fn cluster(&self) -> (&str, &str) {
        (&self.environment, &self.task)
    }
}

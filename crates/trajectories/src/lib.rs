//! Trajectories of recorded model calls: calls joined by their tokens, and exports in the forms that trainers and viewers read.

mod conversation;
pub mod export;
#[cfg(test)]
mod fixture;
pub mod graph;

use palestra_protocol::episode::Trajectory;
use palestra_protocol::model_call::ModelCall;
use palestra_protocol::verdict::{Status, Verdict};
use serde::{Deserialize, Serialize};

/// One rollout: an episode with the model calls that were made in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rollout {
    /// The episode, its task and its steps.
    pub trajectory: Trajectory,
    /// The model calls, in any order.
    pub calls: Vec<ModelCall>,
}

impl Rollout {
    /// The verdict of the episode.
    #[must_use]
    pub const fn verdict(&self) -> Option<&Verdict> {
        self.trajectory.episode.verdict.as_ref()
    }

    /// The score in [0, 1]; `None` where the episode was not scored, which is never the same as 0.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        self.verdict().filter(|verdict| verdict.status == Status::Scored).and_then(|verdict| verdict.score)
    }

    /// The reward that a trainer may learn from: the score of a verdict that is trainable, else `None`.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        self.score().filter(|_| self.verdict().is_some_and(|verdict| verdict.trainable))
    }
}

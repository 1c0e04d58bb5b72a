//! Episodes and their trajectories: the record that outlives a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::environment::Task;
use crate::id::{EpisodeId, GroupId, RunId, SessionId};
use crate::observation::Observation;
use crate::step::{Stepped, StopReason};
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// One attempt at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Episode {
    /// The episode.
    pub id: EpisodeId,
    /// Where it took place.
    pub session: SessionId,
    /// Which attempt at this task in this session, from 1.
    pub attempt: u64,
    /// `family/name@version`.
    pub environment: String,
    /// The problem.
    pub task: String,
    /// Randomness of the environment.
    pub seed: u64,
    /// The owner.
    pub run: Option<RunId>,
    /// The group of rollouts.
    pub group: Option<GroupId>,
    /// From where it goes on, for forks and restored snapshots.
    pub origin: Option<Origin>,
    /// Running or ended.
    pub state: EpisodeState,
    /// The last step; null while it goes on.
    pub seq: Option<u64>,
    /// The task ended by its own rules.
    pub terminated: bool,
    /// A limit or the caller ended it.
    pub truncated: bool,
    /// Why it ended.
    pub stop_reason: Option<StopReason>,
    /// The first verdict that was reached, if any.
    pub verdict: Option<Verdict>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// The point that an episode goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Origin {
    /// The earlier episode.
    pub episode: EpisodeId,
    /// The step of it after which this one goes on.
    pub seq: u64,
}

/// The state of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EpisodeState {
    /// It takes steps.
    Running,
    /// It is over.
    Ended,
}

/// One recorded step, uncut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StepRecord {
    /// The step's number.
    pub seq: u64,
    /// The action; null where the turn never reached the environment.
    pub action: Option<Action>,
    /// The answer, with the whole observation.
    pub answer: Stepped,
    /// The caller's own data, verbatim.
    pub meta: Option<Value>,
    /// When it was answered.
    pub at: Timestamp,
}

/// A whole episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trajectory {
    /// The episode.
    pub episode: Episode,
    /// The problem.
    pub task: Task,
    /// The first observation, where it names contents such as a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Observation>,
    /// Every step from the first, those before a fork included.
    pub steps: Vec<StepRecord>,
}

/// Asks for another judging of a stored episode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rescore {
    /// Version of the environment whose verifier judges; the newest where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Where in the session's history this stands; what `Last-Event-ID` takes.
    pub id: String,
    /// The session.
    pub session: SessionId,
    /// The event.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// An episode began.
    Episode {
        /// Which.
        episode: Box<Episode>,
    },
    /// A step was recorded.
    Step {
        /// Its answer.
        step: Box<Stepped>,
    },
    /// A verdict was reached.
    Verdict {
        /// Which.
        verdict: Box<Verdict>,
    },
    /// The session was closed; nothing follows.
    Closed {
        /// Why.
        reason: crate::session::CloseReason,
    },
}

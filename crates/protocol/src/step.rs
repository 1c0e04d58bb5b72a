//! Steps: the request for one turn, and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::id::EpisodeId;
use crate::observation::{Message, Observation, Observe};
use crate::verdict::Verdict;

/// One turn of the acting side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The turn's number in its episode, from 1. A step without it means "next" and is not safe to retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub seq: Option<u64>,
    /// The action.
    pub action: Action,
    /// Guards against a late command: another current episode is `409 wrong_episode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeId>,
    /// The form of this observation; the session's own setting where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observe>,
    /// Recorded verbatim (up to 64 KiB) and never shown to the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// The answer of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stepped {
    /// The episode that the step belongs to.
    pub episode: EpisodeId,
    /// The step's number.
    pub seq: u64,
    /// Up to which step nothing can be lost.
    pub durable_seq: u64,
    /// The present observation.
    pub observation: Observation,
    /// New messages of the policy's conversation.
    pub messages: Vec<Message>,
    /// The step's reward; null where none is defined.
    pub reward: Option<f64>,
    /// The task ended by its own rules.
    pub terminated: bool,
    /// A limit or the caller ended it.
    pub truncated: bool,
    /// Why the episode ended; null while it goes on.
    pub stop_reason: Option<StopReason>,
    /// The verdict, on the step that ends an episode with `verify: on_end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Timings and extras.
    pub info: Info,
}

/// Why an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The task ended by its own rules.
    Done,
    /// `limits.steps` was reached.
    MaxSteps,
    /// `limits.calls` was reached.
    MaxCalls,
    /// `limits.wall_ms` passed.
    WallLimit,
    /// The caller ran out of tokens.
    MaxTokens,
    /// The caller ran out of turns.
    MaxTurns,
    /// The caller gave up.
    GaveUp,
    /// The caller aborted; the episode is `invalid`.
    Aborted,
    /// The caller asked for the verdict of a live episode.
    Verified,
    /// The session was reset, restored or closed while the episode was live.
    Left,
    /// The environment or what it runs on failed.
    InfraError,
    /// The lease of the session's run expired.
    LeaseExpired,
    /// The session outlived its time.
    Expired,
}

impl StopReason {
    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxSteps => "max_steps",
            Self::MaxCalls => "max_calls",
            Self::WallLimit => "wall_limit",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurns => "max_turns",
            Self::GaveUp => "gave_up",
            Self::Aborted => "aborted",
            Self::Verified => "verified",
            Self::Left => "left",
            Self::InfraError => "infra_error",
            Self::LeaseExpired => "lease_expired",
            Self::Expired => "expired",
        }
    }
}

/// Timings and extras of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Info {
    /// Milliseconds inside the environment.
    pub env_ms: f64,
    /// Milliseconds of waiting for the session's turn.
    pub queue_ms: f64,
    /// Hash of the state after the step, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_hash: Option<String>,
    /// Shaping reward; never part of `reward`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaping: Option<f64>,
    /// Names of actions of this step that nothing takes back, as the environment's definition marks them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub irreversible: Vec<String>,
    /// The server died during this step: it may have acted, and is never run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Ends an episode from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Why.
    pub reason: FinishReason,
    /// The cause in words, kept in the verdict of an episode that is aborted. At most 1,000 bytes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Guards against a late command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeId>,
}

/// Why a caller ends an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// No tokens are left.
    MaxTokens,
    /// No turns are left.
    MaxTurns,
    /// The policy gave up.
    GaveUp,
    /// The rollout broke; the episode becomes `invalid`.
    Aborted,
}

impl From<FinishReason> for StopReason {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::MaxTokens => Self::MaxTokens,
            FinishReason::MaxTurns => Self::MaxTurns,
            FinishReason::GaveUp => Self::GaveUp,
            FinishReason::Aborted => Self::Aborted,
        }
    }
}

/// The answer to ending an episode from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Finished {
    /// The episode.
    pub episode: EpisodeId,
    /// Its last step.
    pub seq: u64,
    /// The task ended by its own rules.
    pub terminated: bool,
    /// A limit or the caller ended it.
    pub truncated: bool,
    /// Why.
    pub stop_reason: StopReason,
    /// The verdict, with `verify: on_end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

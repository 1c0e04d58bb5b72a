//! Sessions: creation, forks, snapshots and what can be read of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::environment::{Limits, Task};
use crate::id::{EpisodeId, GroupId, RunId, SessionId, SnapshotId};
use crate::list::{self, List};
use crate::observation::{Message, Observation, Observe};
use crate::shared::Shared;
use crate::time::Timestamp;

/// The most sessions one creation or fork may make.
pub const SESSIONS_PER_REQUEST_MAX: u64 = 1_024;

/// Opens one session, or `count` sessions of one task: at its beginning, or with `from` at a stored point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// `family/name`, optionally `@version`. Required without `from`, which decides it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The stored point that the sessions begin at. It decides environment, version, task, seed and `config`: each of them may be
    /// left out or say the same. Limits, `verify` and `observe` are those of the session of the point where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StartPoint>,
    /// Which problem; a random one of the `train` split where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskChoice>,
    /// Randomness of the environment; drawn and answered where left out. At most 2^53 - 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// Settings of the environment.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// A caller-made id makes creation idempotent. Not together with `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<SessionId>,
    /// The run that owns the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The group of rollouts that the session belongs to; made where `count` is given and this is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// The number of sessions of this task to make; the answer is then a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1024))]
    pub count: Option<u64>,
    /// Limits; those of the environment where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// When to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyMode>,
    /// The form of observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observe>,
    /// The way steps are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordMode>,
    /// Anything; stored and answered unchanged.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// A stored point that sessions can begin at: a `snapshot`, or an `episode` after step `seq`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StartPoint {
    /// A snapshot of any session; excludes every other field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotId>,
    /// An episode of any session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeId>,
    /// The step of `episode` after which the sessions begin; 0 is its beginning. Required with `episode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub seq: Option<u64>,
}

impl StartPoint {
    /// The point that a snapshot names.
    #[must_use]
    pub const fn snapshot(snapshot: SnapshotId) -> Self {
        Self { snapshot: Some(snapshot), episode: None, seq: None }
    }

    /// The point of an episode after step `seq`.
    #[must_use]
    pub const fn episode(episode: EpisodeId, seq: u64) -> Self {
        Self { snapshot: None, episode: Some(episode), seq: Some(seq) }
    }
}

/// Chooses a task: by `id`, by `split` and `index`, or by `split`, `seed` and `difficulty`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskChoice {
    /// Recreates a task exactly; excludes every other field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `train` where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// The place in the split; excludes `seed` and `difficulty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub index: Option<u64>,
    /// Seed of a generated task; picks a row of a data set. At most 2^53 - 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// From 0 (easy) to 1 (hard), for environments that have such a scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub difficulty: Option<f64>,
}

/// When an episode is judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerifyMode {
    /// On the step that ends it.
    #[default]
    OnEnd,
    /// When asked.
    Manual,
}

/// The way steps are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecordMode {
    /// The answer waits for the commit, not for the disk.
    #[default]
    Group,
    /// The answer waits for the disk.
    Sync,
    /// No step is stored: of an episode its beginning, its end and its verdicts are.
    None,
}

impl RecordMode {
    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Sync => "sync",
            Self::None => "none",
        }
    }
}

/// A session with an episode that just began (creation, reset), or goes on from a point (fork, restore, creation with `from`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Opened {
    /// The session.
    pub id: SessionId,
    /// The episode that began.
    pub episode: EpisodeId,
    /// Which attempt at this task in this session, from 1.
    pub attempt: u64,
    /// `family/name@version`.
    pub environment: String,
    /// The problem.
    #[cfg_attr(feature = "openapi", schema(value_type = Task))]
    pub task: Shared<Task>,
    /// Randomness of the environment.
    pub seed: u64,
    /// The last step taken; 0 in a new episode.
    pub seq: u64,
    /// Up to which step nothing can be lost.
    pub durable_seq: u64,
    /// The present observation.
    #[cfg_attr(feature = "openapi", schema(value_type = Observation))]
    pub observation: Shared<Observation>,
    /// The messages for the policy.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Message>))]
    pub messages: Shared<Vec<Message>>,
    /// The tools, as OpenAI function tools (`?tools=mcp`: as MCP tools).
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Value>))]
    #[serde(deserialize_with = "list::plain")]
    pub tools: Shared<Vec<Value>>,
    /// The limits that hold; where the episode goes on from a point, what is left of them.
    pub limits: Limits,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The group of rollouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// The session that this one was forked from, or whose stored point it began at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The step of the parent's episode after which it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_seq: Option<u64>,
    /// True for an exact copy of its parent at that step; false where files are kept and processes are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<bool>,
    /// When the session ends by itself.
    pub expires_at: Timestamp,
    /// Credential for this session alone: may step and read observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// True if it has a screen, so that there is a page of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub screen: bool,
    /// Path of the page where its screen is shown and acted on. The path is the credential: it acts in this session alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// The answer to creation: one session, or a list where `count` was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Created {
    /// Without `count`.
    One(Box<Opened>),
    /// With `count`.
    Many(List<Opened>),
}

/// Begins a new episode in a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Another problem; the same one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskChoice>,
    /// Other randomness; the same where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
}

/// Asks for the verdict of the current episode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Longest wait in milliseconds before the answer is `202` with a `Location`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 600_000))]
    pub wait_ms: Option<u64>,
    /// Judge without ending the episode (scope `verify:probe`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<bool>,
}

/// Copies a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// The number of copies; 1 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1024))]
    pub count: Option<u64>,
    /// After which step of the current episode; the present where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub at_seq: Option<u64>,
    /// `split` gives each copy randomness of its own; where left out they share the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub randomness: Option<Randomness>,
    /// True to accept a copy that is not exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_inexact: Option<bool>,
}

/// The future randomness of forks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Randomness {
    /// As the parent's.
    #[default]
    Same,
    /// Another for every copy.
    Split,
}

/// Names a point of the current episode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TakeSnapshot {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub name: Option<String>,
}

/// A named point of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snapshot {
    /// The snapshot.
    pub id: SnapshotId,
    /// A name for people.
    pub name: Option<String>,
    /// The session it was taken in.
    pub session: SessionId,
    /// The episode it is a point of.
    pub episode: EpisodeId,
    /// The step after which it was taken.
    pub seq: u64,
    /// When.
    pub created_at: Timestamp,
}

/// Continues from a snapshot in a new episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// A snapshot of the same session.
    pub snapshot: SnapshotId,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// The session.
    pub id: SessionId,
    /// `family/name@version`.
    pub environment: String,
    /// Open while commands are taken.
    pub state: SessionState,
    /// Why it was closed; null while it is open.
    pub closed_reason: Option<CloseReason>,
    /// The owner.
    pub run: Option<RunId>,
    /// The group of rollouts.
    pub group: Option<GroupId>,
    /// The session that this one was forked from, or whose stored point it began at.
    pub parent: Option<SessionId>,
    /// The current episode.
    pub episode: EpisodeId,
    /// The number of episodes that began here.
    pub episodes: u64,
    /// The problem of the current episode.
    pub task: String,
    /// Randomness of the current episode.
    pub seed: u64,
    /// The last step of the current episode; null in lists.
    pub seq: Option<u64>,
    /// Up to which step nothing can be lost; null in lists.
    pub durable_seq: Option<u64>,
    /// The limits that hold.
    pub limits: Limits,
    /// The rest of them in the current episode; null in lists and once it is over.
    pub limits_left: Option<Limits>,
    /// The way steps are stored.
    pub record: RecordMode,
    /// When episodes are judged.
    pub verify: VerifyMode,
    /// Attached at creation.
    pub metadata: Value,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Its isolation from the rest of the machine, line by line; null where it runs no programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Value>,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It does.
    Open,
    /// It does not any more; the record stays.
    Closed,
}

/// Why a session was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// By its caller.
    Deleted,
    /// It outlived its time.
    Expired,
    /// Nothing was asked of it for `idle_ms`, and it cannot be parked.
    Idle,
    /// The lease of its run expired, or the run was deleted.
    RunEnded,
    /// Its environment died with the server.
    Lost,
}

impl CloseReason {
    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Expired => "expired",
            Self::Idle => "idle",
            Self::RunEnded => "run_ended",
            Self::Lost => "lost",
        }
    }
}

/// Privileged state of the current episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StateView {
    /// The episode.
    pub episode: EpisodeId,
    /// The step after which the state holds.
    pub seq: u64,
    /// The state, or the part that `pointer` names.
    pub state: Value,
    /// Hash of the whole state: `sha256:<hex>`.
    pub hash: String,
}

/// The difference between two states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diff {
    /// JSON Patch (RFC 6902) that leads from the other state to this session's state.
    pub patch: Value,
    /// Where the state consists of tables: which rows were created, updated and deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Value>,
    /// Where the session works on files: which of them differ, `{"data": [{"path", "change", "size", "mode"}]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Value>,
    /// Hash of the other state; null where files are compared.
    pub from: Option<String>,
    /// Hash of this session's state; null where files are compared.
    pub to: Option<String>,
}

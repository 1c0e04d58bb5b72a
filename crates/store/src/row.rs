//! Rows of the store, and the records that sessions leave.

pub mod job;

use std::sync::Arc;

use palestra_protocol::environment::Limits;
use palestra_protocol::episode::{EpisodeState, Origin};
use palestra_protocol::id::{CallId, EpisodeId, GroupId, KeyId, RunId, SessionId, SnapshotId};
use palestra_protocol::key::Scope;
use palestra_protocol::model_call::{CallKind, CallOutcome};
use palestra_protocol::observation::{Observation, Observe};
use palestra_protocol::run::{RunPlan, RunState};
use palestra_protocol::session::{CloseReason, RecordMode, SessionState, VerifyMode};
use palestra_protocol::step::StopReason;
use palestra_protocol::time::Timestamp;
use palestra_protocol::upstream::PutUpstream;
use palestra_protocol::verdict::{Status, Verdict};
use palestra_state::secrets::Secrets;
use serde_json::{Map, Value};

/// One change that a session makes; a group of them is committed whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A session was opened.
    Session(Box<SessionRow>),
    /// An episode began. It becomes the current episode of its session, together with its task, its seed and the number of episodes.
    Episode(Box<EpisodeRow>),
    /// A step is about to act, in an environment that cannot be replayed.
    Intent {
        /// The episode.
        episode: EpisodeId,
        /// The step.
        seq: u64,
        /// The action as JSON.
        action: String,
        /// The time.
        at: Timestamp,
    },
    /// A step was taken.
    Step(Box<StepRow>),
    /// Content that an observation of an episode names; storing it twice is the same as once.
    Blob(BlobRow),
    /// The first observation of an episode; storing it twice is the same as once.
    Opening {
        /// The episode.
        episode: EpisodeId,
        /// The observation.
        observation: Box<Observation>,
    },
    /// An intent is deleted, because its step is recorded.
    IntentSettled {
        /// The episode.
        episode: EpisodeId,
        /// The step.
        seq: u64,
    },
    /// An episode ended.
    EpisodeEnd {
        /// The episode.
        episode: EpisodeId,
        /// Its last step.
        seq: u64,
        /// The task ended by its own rules.
        terminated: bool,
        /// A limit or the caller ended it.
        truncated: bool,
        /// The reason of its end.
        reason: StopReason,
        /// The time.
        at: Timestamp,
    },
    /// An episode was judged; the first verdict also becomes its episode's status and score. A second verdict of the same
    /// verifier version is ignored.
    Verdict(Box<VerdictRow>),
    /// A final state, by its digest; storing it twice is the same as once.
    State {
        /// `sha256:<hex>`.
        digest: String,
        /// The state.
        state: Value,
    },
    /// A point of an episode was named.
    Snapshot(Box<SnapshotRow>),
    /// A session was closed.
    SessionClosed {
        /// The session.
        session: SessionId,
        /// The reason of its end.
        reason: CloseReason,
        /// The time.
        at: Timestamp,
    },
    /// A creating call was answered.
    Answer(Box<IdempotencyRow>),
    /// A model was called, and the call is over.
    ModelCall(Box<ModelCallRow>),
}

/// A session. Text and JSON are shared between sessions and with their episodes: a clone of a row copies none.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub id: SessionId,
    pub tenant: Arc<str>,
    /// The node that holds it while it is open.
    pub node: Arc<str>,
    /// `family/name`.
    pub environment: Arc<str>,
    pub version: u32,
    /// Digest of the environment's definition.
    pub digest: Arc<str>,
    pub run: Option<RunId>,
    pub group: Option<GroupId>,
    pub parent: Option<SessionId>,
    pub state: SessionState,
    pub closed_reason: Option<CloseReason>,
    pub record: RecordMode,
    pub verify: VerifyMode,
    pub limits: Limits,
    pub observe: Arc<Observe>,
    pub config: Arc<Map<String, Value>>,
    pub metadata: Arc<Value>,
    /// The current episode, its task and its seed.
    pub episode: EpisodeId,
    pub task: Arc<str>,
    pub seed: u64,
    /// The number of episodes that began in it.
    pub episodes: u64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

/// An episode, with the same sharing as [`SessionRow`].
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeRow {
    pub id: EpisodeId,
    pub session: SessionId,
    pub tenant: Arc<str>,
    /// Its number in the session, from 1.
    pub ordinal: u64,
    /// The number of the attempt at this task in this session, from 1.
    pub attempt: u64,
    /// `family/name`.
    pub environment: Arc<str>,
    pub version: u32,
    /// Digest of the environment's definition.
    pub digest: Arc<str>,
    pub task: Arc<str>,
    pub seed: u64,
    /// The source of its hidden values; forks and restored snapshots keep that of the episode that they continue.
    pub secrets: Secrets,
    pub config: Arc<Map<String, Value>>,
    /// The step of an earlier episode that this one continues from.
    pub origin: Option<Origin>,
    /// Replaces the randomness after `origin`, in forks that split it.
    pub salt: Option<u64>,
    pub run: Option<RunId>,
    pub group: Option<GroupId>,
    pub state: EpisodeState,
    /// The last step; `None` while it goes on.
    pub seq: Option<u64>,
    pub terminated: bool,
    pub truncated: bool,
    pub stop_reason: Option<StopReason>,
    /// Of the first verdict.
    pub status: Option<Status>,
    /// Of the first verdict.
    pub score: Option<f64>,
    /// The first verdict.
    pub verdict: Option<Box<Verdict>>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub episode: EpisodeId,
    pub seq: u64,
    /// The action as JSON; `None` where the step never reached the environment.
    pub action: Option<String>,
    /// The answer as JSON, with the whole observation.
    pub answer: String,
    /// The caller's own data as JSON, verbatim.
    pub meta: Option<String>,
    pub reward: Option<f64>,
    pub terminated: bool,
    pub truncated: bool,
    /// The server died while the step was running.
    pub interrupted: bool,
    pub at: Timestamp,
}

/// Content that an observation of an episode names by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRow {
    pub episode: EpisodeId,
    /// `sha256:<hex>` of the bytes.
    pub digest: String,
    pub media_type: String,
    pub bytes: Arc<[u8]>,
}

/// A verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictRow {
    pub tenant: String,
    pub session: SessionId,
    /// The verdict; the parts that queries filter by have columns of their own.
    pub verdict: Verdict,
    pub at: Timestamp,
}

/// A named point of an episode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRow {
    pub id: SnapshotId,
    pub tenant: String,
    pub session: SessionId,
    pub name: Option<String>,
    pub episode: EpisodeId,
    pub seq: u64,
    pub at: Timestamp,
    /// Digest of the state to restore, where replaying the recorded actions does not lead to it.
    pub state: Option<String>,
}

/// The answer of a creating call, unique per tenant, operation and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRow {
    pub tenant: String,
    pub operation: String,
    pub key: String,
    /// Digest of the request.
    pub request: String,
    /// The answer as JSON, without credentials.
    pub answer: String,
    pub at: Timestamp,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: RunId,
    pub tenant: String,
    pub state: RunState,
    pub lease_ms: u64,
    pub lease_expires_at: Timestamp,
    pub created_at: Timestamp,
    pub plan: Option<RunPlan>,
}

/// A model call that is over. What is JSON stays text: it is written as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCallRow {
    pub id: CallId,
    pub tenant: Arc<str>,
    pub session: SessionId,
    pub episode: EpisodeId,
    pub seq: u64,
    pub kind: CallKind,
    pub upstream: String,
    pub model: String,
    pub policy_version: Option<String>,
    pub outcome: CallOutcome,
    /// The HTTP status that the caller got.
    pub status: u16,
    pub error: Option<String>,
    pub finish_reason: Option<String>,
    pub streamed: bool,
    pub begun_at: Timestamp,
    pub first_us: Option<u64>,
    pub duration_us: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost: f64,
    /// JSON.
    pub request: String,
    /// JSON; none where nothing came.
    pub response: Option<String>,
    /// JSON, a list of numbers.
    pub prompt_token_ids: Option<String>,
    /// JSON, a list of numbers.
    pub completion_token_ids: Option<String>,
    /// JSON, a list of numbers.
    pub logprobs: Option<String>,
}

/// An upstream of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamRow {
    /// The tenant.
    pub tenant: String,
    /// Its name there.
    pub name: String,
    /// Everything but its key, as it was put.
    pub definition: PutUpstream,
    /// Its key, sealed; empty without one.
    pub sealed_key: Vec<u8>,
    /// When it was made or replaced last.
    pub updated_at: Timestamp,
}

/// An API key. Its secret is kept as an HMAC alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    pub id: KeyId,
    pub tenant: String,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// HMAC-SHA-256 of the secret with the server's pepper.
    pub mac: Vec<u8>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A published definition.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionRow {
    pub tenant: String,
    /// `family/name`.
    pub name: String,
    /// Assigned by the store at publication.
    pub version: u32,
    /// `sha256:<hex>` of definition and rows.
    pub digest: String,
    /// The input from which the family builds the kind, without the rows.
    pub definition: Value,
    /// Rows per split.
    pub splits: std::collections::BTreeMap<String, u64>,
    pub created_at: Timestamp,
}

/// A node and the process that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// The same after a restart.
    pub id: String,
    /// Unique for each process.
    pub incarnation: String,
}

/// A filter of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    pub run: Option<RunId>,
    pub group: Option<GroupId>,
    /// `family/name`, optionally `@version`.
    pub environment: Option<String>,
    pub task: Option<String>,
    pub state: Option<SessionState>,
}

/// Totals of the episodes of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTotals {
    pub run: RunId,
    pub episodes: u64,
    pub scored: u64,
    pub mean_score: Option<f64>,
    /// The first of its environments by name.
    pub environment: String,
    /// The number of its environments.
    pub environments: u64,
}

/// A filter of episodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EpisodeFilter {
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    pub group: Option<GroupId>,
    /// `family/name`, optionally `@version`.
    pub environment: Option<String>,
    pub task: Option<String>,
    pub state: Option<EpisodeState>,
    pub status: Option<Status>,
    /// The least score, itself included.
    pub score_min: Option<f64>,
    /// The highest score, itself included.
    pub score_max: Option<f64>,
}

/// A page of a keyset-paginated list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Rows with ids below this one, as text; the newest rows for `None`.
    pub before: Option<String>,
    /// Most rows of the page.
    pub limit: u32,
}

//! Jobs: work that waits in a queue until a worker leases it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{JobId, PolicyId};
use crate::problem::Fault;
pub use crate::spec::JobKind;
use crate::spec::Spec;
use crate::time::Timestamp;

/// Queues a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateJob {
    /// A caller-made id makes creation idempotent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
    /// The kind of work.
    pub kind: JobKind,
    /// The work to be done: the form depends on the kind.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::spec::AnySpec))]
    pub spec: Value,
    /// Higher goes first among the jobs of one tenant; -100 to 100.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = -100, maximum = 100))]
    pub priority: i32,
    /// The resources that the worker must have.
    #[serde(default)]
    pub resources: Resources,
    /// Jobs that must have succeeded before this one begins. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub after: Vec<JobId>,
    /// Attempts before the job counts as failed for good; 1 to 20, 3 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 20))]
    pub attempts_max: Option<u32>,
    /// Kept as it is. At most 64 KiB.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for a worker, for other jobs, or for its next attempt.
    Queued,
    /// A worker holds it.
    Running,
    /// It is done.
    Succeeded,
    /// It is given up; `error` says why.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl JobState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Succeeded, Self::Failed, Self::Cancelled];

    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// True if nothing changes it any more by itself.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// A kind of processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// Whatever the worker has.
    #[default]
    Any,
    /// The processor.
    Cpu,
    /// A real graphics processor; software adapters are none.
    Gpu,
}

impl Device {
    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

/// The resources that a job needs of its worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// On what it runs.
    #[serde(default)]
    pub device: Device,
    /// Memory of that device, in bytes; 0 asks for nothing.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(maximum = 9_007_199_254_740_991_u64))]
    pub memory_bytes: u64,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    /// The job.
    pub id: JobId,
    /// The kind of work.
    pub kind: JobKind,
    /// Where it stands.
    pub state: JobState,
    /// The work to be done.
    pub spec: Value,
    /// Higher goes first among the jobs of one tenant.
    pub priority: i32,
    /// The resources that the worker must have.
    pub resources: Resources,
    /// Jobs that must have succeeded before this one begins.
    pub after: Vec<JobId>,
    /// The number of attempts begun.
    pub attempts: u32,
    /// Attempts without progress before it counts as failed for good.
    pub attempts_max: u32,
    /// Attempts begun since it last made progress: since a checkpoint of a training with a later step, or an episode of an evaluation or a
    /// collection that later attempts keep.
    #[serde(default)]
    pub attempts_without_progress: u32,
    /// The number of queued jobs of the tenant that come before it; null unless queued.
    pub place: Option<u64>,
    /// Why it does not run yet, for people; null unless queued.
    pub waiting: Option<String>,
    /// Not begun before; null unless a former attempt failed.
    pub not_before: Option<Timestamp>,
    /// Its progress.
    pub progress: Option<Progress>,
    /// Its worker was asked to stop.
    pub cancel_requested: bool,
    /// The worker that has it, or had it last.
    pub worker: Option<String>,
    /// Its result, once it succeeded.
    pub result: Option<Value>,
    /// Why the last attempt failed.
    pub error: Option<JobError>,
    /// As it was given.
    pub metadata: Map<String, Value>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When its last attempt began.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}

impl Job {
    /// Reads the spec.
    ///
    /// # Errors
    /// Every fault found, each with the field where it lies, as one text for people.
    pub fn read_spec(&self) -> Result<Spec, String> {
        Spec::read(self.kind, &self.spec).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
            faults.join("; ")
        })
    }
}

/// The progress of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The amount that is done, in `unit`.
    pub done: u64,
    /// The amount altogether; never less than `done`.
    pub total: u64,
    /// The unit: `steps`, `episodes`.
    #[cfg_attr(feature = "openapi", schema(max_length = 40))]
    pub unit: String,
    /// The current activity, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub message: Option<String>,
    /// Time that the rest will take at the pace so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobError {
    /// For programs: `bad_spec`, `bad_data`, `bad_checkpoint`, `device`, `out_of_memory`, `killed`, `not_finite`, `environment`,
    /// `lease_lost`, `dependency`, `internal`.
    #[cfg_attr(feature = "openapi", schema(max_length = 64))]
    pub code: String,
    /// For people: what happened, and what to do about it.
    #[cfg_attr(feature = "openapi", schema(max_length = 20_000))]
    pub detail: String,
}

/// Something that happened to a job; [`TypedJobEvent`](crate::job_event::TypedJobEvent) has the form of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobEvent {
    /// Its number in the job, from 1, without holes.
    pub number: u64,
    /// In which attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// The kind of event.
    pub kind: JobEventKind,
    /// The content of the event: the form depends on the kind.
    pub data: Value,
}

/// The kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobEventKind {
    /// The job came to stand elsewhere: `{"state":..}` with what explains it.
    State,
    /// It went on: a [`Progress`].
    Progress,
    /// Numbers by name at a step: `{"step":12,"values":{"reward_mean":0.4}}`.
    Metric,
    /// A line for people: `{"level":"info","message":".."}`.
    Log,
    /// A file was kept: an [`Artifact`].
    Artifact,
    /// A checkpoint was kept: `{"step":20,"artifacts":[..]}`.
    Checkpoint,
    /// A policy was registered: `{"policy":"pol_.."}`.
    Policy,
}

impl JobEventKind {
    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Progress => "progress",
            Self::Metric => "metric",
            Self::Log => "log",
            Self::Artifact => "artifact",
            Self::Checkpoint => "checkpoint",
            Self::Policy => "policy",
        }
    }
}

/// A file that a job left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Artifact {
    /// Its name in the job: parts of letters, digits, `.`, `_` and `-`, separated by `/`.
    pub name: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was kept.
    pub created_at: Timestamp,
}

/// A point from which a training job can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Checkpoint {
    /// After how many updates.
    pub step: u64,
    /// In which attempt it was made.
    pub attempt: u32,
    /// The files that make it up.
    pub artifacts: Vec<Artifact>,
    /// The policy that can be registered from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<CheckpointPolicy>,
    /// When it was complete.
    pub created_at: Timestamp,
}

/// The policy that a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckpointPolicy {
    /// The policy that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PolicyId>,
    /// The kind of model: `mlp` or `transformer`.
    #[cfg_attr(feature = "openapi", schema(max_length = 64))]
    pub architecture: String,
    /// The environments it was trained in, with their versions.
    #[cfg_attr(feature = "openapi", schema(max_items = 1_000))]
    pub environments: Vec<String>,
    /// Its latest measurements.
    #[serde(default)]
    pub metrics: Map<String, Value>,
    /// Names of files of the checkpoint, with the name in the policy's folder that each gets: its last part.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 256))]
    pub artifacts: Vec<String>,
}

/// Registers the policy that a checkpoint of a training holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RegisterCheckpoint {
    /// The training.
    pub job: JobId,
    /// After how many updates; the newest checkpoint where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
}

/// A trained or imported model that can be used, measured, trained further and downloaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Policy {
    /// The policy.
    pub id: PolicyId,
    /// The job that made it.
    pub job: JobId,
    /// After how many updates, where it was registered from a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The policy that it was made from.
    pub parent: Option<PolicyId>,
    /// The kind of model: `mlp` or `transformer`.
    pub architecture: String,
    /// The environments it was trained in, with their versions.
    pub environments: Vec<String>,
    /// Its latest measurements.
    pub metrics: Map<String, Value>,
    /// The files of its folder.
    pub files: Vec<Artifact>,
    /// When it was registered.
    pub created_at: Timestamp,
}

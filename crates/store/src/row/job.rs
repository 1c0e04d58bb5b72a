//! Rows about jobs, their events and files, and policies.

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, JobId, RunId};
use palestra_protocol::job::{Artifact, Device, JobError, JobEvent, JobKind, JobState, Policy, Progress, Resources};
use palestra_protocol::time::Timestamp;
use serde_json::{Map, Value};

/// The state of a job: everything that changes after it was created.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    pub id: JobId,
    pub tenant: String,
    pub kind: JobKind,
    pub state: JobState,
    pub priority: i32,
    pub resources: Resources,
    /// The number of jobs that still have to succeed before this one begins.
    pub blocked: u64,
    pub attempts: u32,
    pub attempts_max: u32,
    /// Attempts begun since the job last made progress.
    pub attempts_without_progress: u32,
    /// The most that any attempt has done so that a later one goes on from there: the step of a checkpoint, or episodes.
    pub furthest: u64,
    /// Grows with every lease.
    pub fence: u64,
    /// The number of the last event.
    pub events: u64,
    /// The number of the last report under the last lease; 0 before the first.
    pub reports: u64,
    pub not_before: Option<Timestamp>,
    /// Set exactly while the job runs.
    pub lease_expires_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    /// The run that owns the sessions of the last attempt.
    pub run: Option<RunId>,
    /// The name of the worker of the last attempt.
    pub worker: Option<String>,
    pub progress: Option<Progress>,
    pub result: Option<Value>,
    pub error: Option<JobError>,
    /// Failed after its last attempt.
    pub dead_letter: bool,
    /// Digest of the outcome that ended the last lease.
    pub outcome: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl JobRow {
    /// True while the lease with this fence is held.
    #[must_use]
    pub fn is_held(&self, fence: u64) -> bool {
        self.state == JobState::Running && self.fence == fence
    }
}

/// The spec of a job, which never changes.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSpecRow {
    pub job: JobId,
    /// Digest of the whole request.
    pub request: String,
    pub spec: Value,
    /// The jobs that the request named in `after`.
    pub follows: Vec<JobId>,
    pub metadata: Map<String, Value>,
}

/// A job with its spec.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredJob {
    pub row: JobRow,
    pub spec: JobSpecRow,
}

/// An event of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEventRow {
    pub job: JobId,
    pub event: JobEvent,
}

/// A file of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRow {
    pub job: JobId,
    pub tenant: String,
    pub artifact: Artifact,
}

/// A file that was uploaded, or that belongs to the result of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub id: FileId,
    pub tenant: String,
    pub name: String,
    pub purpose: FilePurpose,
    pub digest: String,
    pub size_bytes: u64,
    pub created_at: Timestamp,
    /// The job whose result it belongs to.
    pub job: Option<JobId>,
}

/// A filter and an order of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// Only files for this purpose.
    pub purpose: Option<FilePurpose>,
    /// By ascending id instead of descending.
    pub oldest_first: bool,
}

/// A policy, with its files.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyRow {
    pub tenant: String,
    pub policy: Policy,
}

/// A filter of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// Only jobs of this kind.
    pub kind: Option<JobKind>,
    /// Only jobs that failed after their last attempt.
    pub dead_letter: bool,
}

/// A filter of queued jobs: those that a worker can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFilter {
    /// Only jobs of this tenant; those of all tenants for `None`.
    pub tenant: Option<String>,
    pub kinds: Vec<JobKind>,
    /// The worker's device.
    pub device: Device,
    /// Free memory of that device.
    pub memory_bytes: u64,
    pub now: Timestamp,
}

/// A queued job that a worker can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: JobId,
    pub tenant: String,
    pub kind: JobKind,
    pub resources: Resources,
    pub priority: i32,
    pub created_at: Timestamp,
    /// A counter: the tenant with the highest value was served last; 0 for one that never was.
    pub served: u64,
}

/// A job that another one needs, with its state; `None` when it was deleted.
pub type Needed = (JobId, Option<JobState>);

/// A content whose bytes are in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRow {
    /// `sha256:<hex>`.
    pub digest: String,
    /// The name under which its pieces are stored.
    pub pieces: String,
    pub size_bytes: u64,
    pub created_at: Timestamp,
}

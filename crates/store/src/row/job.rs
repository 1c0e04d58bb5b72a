//! Rows about jobs, their events and files, and policies.

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, JobId, RunId};
use palestra_protocol::job::{Artifact, Device, JobError, JobEvent, JobKind, JobState, Policy, Progress, Resources};
use palestra_protocol::time::Timestamp;
use serde_json::{Map, Value};

/// Where a job stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    pub id: JobId,
    pub tenant: String,
    pub kind: JobKind,
    pub state: JobState,
    pub priority: i32,
    pub resources: Resources,
    /// How many jobs have to succeed before this one begins.
    pub blocked: u64,
    pub attempts: u32,
    pub attempts_max: u32,
    /// Grows with every lease.
    pub fence: u64,
    /// The number of the last event.
    pub events: u64,
    /// The number of the last report under the last lease; 0 before the first.
    pub reports: u64,
    pub not_before: Option<Timestamp>,
    /// There exactly while the job runs.
    pub lease_expires_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    /// Owner of the last attempt's sessions.
    pub run: Option<RunId>,
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
    /// Whether the lease with this fence is held.
    #[must_use]
    pub fn is_held(&self, fence: u64) -> bool {
        self.state == JobState::Running && self.fence == fence
    }
}

/// What a job is to do: written once.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSpecRow {
    pub job: JobId,
    /// Digest of the whole request.
    pub request: String,
    pub spec: Value,
    /// Jobs that must have succeeded before, as the caller named them.
    pub follows: Vec<JobId>,
    pub metadata: Map<String, Value>,
}

/// A job with what it is to do.
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

/// Which files are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// Only those for this.
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

/// Which jobs are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only those that stand so.
    pub state: Option<JobState>,
    /// Only those of this kind.
    pub kind: Option<JobKind>,
    /// Only those that failed after their last attempt.
    pub dead_letter: bool,
}

/// What a worker can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFilter {
    /// One tenant's jobs alone, or everybody's.
    pub tenant: Option<String>,
    pub kinds: Vec<JobKind>,
    /// What the worker works on.
    pub device: Device,
    /// What is free of that device's memory.
    pub memory_bytes: u64,
    pub now: Timestamp,
}

/// A queued job that a worker could do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: JobId,
    pub tenant: String,
    pub kind: JobKind,
    pub resources: Resources,
    pub priority: i32,
    pub created_at: Timestamp,
    /// When the tenant's last job was begun, as a number that grows; 0 where none was.
    pub served: u64,
}

/// A job that another needs, and where it stands; without a state it was deleted.
pub type Needed = (JobId, Option<JobState>);

/// Contents of a file that are kept in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRow {
    /// `sha256:<hex>`.
    pub digest: String,
    /// Under which name its pieces lie.
    pub pieces: String,
    pub size_bytes: u64,
    pub created_at: Timestamp,
}

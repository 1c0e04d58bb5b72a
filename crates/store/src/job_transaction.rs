//! Changes of jobs: one transaction that holds the lock of the queue, in which the queue's own code reads, decides and writes.

use async_trait::async_trait;
use palestra_protocol::id::{FileId, JobId, PolicyId};
use palestra_protocol::job::Artifact;

use super::StoreError;
use super::row::IdempotencyRow;
use super::row::job::{
    ArtifactRow, Candidate, CandidateFilter, ContentRow, FileRow, JobEventRow, JobRow, JobSpecRow, Needed, PolicyRow,
    StoredJob,
};

/// A transaction about jobs, alone in the queue until its end. Dropped without an end, it is undone.
#[async_trait]
pub trait JobTransaction: Send {
    /// Where a job stands.
    async fn job(&mut self, id: JobId) -> Result<Option<JobRow>, StoreError>;
    /// A job with what it is to do.
    async fn stored_job(&mut self, id: JobId) -> Result<Option<StoredJob>, StoreError>;
    /// Adds a job that needs others; fails with [`StoreError::Exists`] when the id is taken.
    async fn insert_job(&mut self, row: &JobRow, spec: &JobSpecRow, needs: &[JobId]) -> Result<(), StoreError>;
    /// Writes where a job stands.
    async fn update_job(&mut self, row: &JobRow) -> Result<(), StoreError>;
    /// Removes a job with its events, the names of its files, and the files of its result.
    async fn delete_job(&mut self, id: JobId) -> Result<(), StoreError>;
    /// Adds events whose numbers follow those that are there.
    async fn append(&mut self, events: &[JobEventRow]) -> Result<(), StoreError>;
    /// Jobs that are not over and need this one.
    async fn dependents(&mut self, id: JobId) -> Result<Vec<JobRow>, StoreError>;
    /// What a job needs.
    async fn needs(&mut self, id: JobId) -> Result<Vec<Needed>, StoreError>;
    /// How many jobs of a tenant are queued.
    async fn queued(&mut self, tenant: &str) -> Result<u64, StoreError>;
    /// The heads of the queues of all tenants, of what a worker could do now.
    async fn candidates(&mut self, wanted: &CandidateFilter) -> Result<Vec<Candidate>, StoreError>;
    /// How many jobs run, by tenant.
    async fn running(&mut self) -> Result<Vec<(String, u64)>, StoreError>;
    /// Makes a tenant the one that was served last.
    async fn serve(&mut self, tenant: &str) -> Result<(), StoreError>;
    /// A file of a job.
    async fn artifact(&mut self, job: JobId, name: &str) -> Result<Option<Artifact>, StoreError>;
    /// How many files a job has.
    async fn artifact_count(&mut self, job: JobId) -> Result<u64, StoreError>;
    /// Names a file of a job, in place of another of that name.
    async fn put_artifact(&mut self, row: &ArtifactRow) -> Result<(), StoreError>;
    /// Removes the name of a file; false when there is none.
    async fn delete_artifact(&mut self, job: JobId, name: &str) -> Result<bool, StoreError>;
    /// Bytes of everything that a tenant keeps, equal contents counted once.
    async fn kept_bytes(&mut self, tenant: &str) -> Result<u64, StoreError>;
    /// Makes pieces the content of a digest, in place of those that were: they may be damaged, these came just now.
    async fn put_content(&mut self, row: &ContentRow) -> Result<(), StoreError>;
    /// A policy with its files.
    async fn policy(&mut self, id: PolicyId) -> Result<Option<PolicyRow>, StoreError>;
    /// Adds a policy with its files; fails with [`StoreError::Exists`] when the id is taken.
    async fn insert_policy(&mut self, row: &PolicyRow) -> Result<(), StoreError>;
    /// An uploaded file, or one of a job's result.
    async fn file(&mut self, id: FileId) -> Result<Option<FileRow>, StoreError>;
    /// How many files a tenant uploaded.
    async fn file_count(&mut self, tenant: &str) -> Result<u64, StoreError>;
    /// Adds files; fails with [`StoreError::Exists`] when an id is taken.
    async fn insert_files(&mut self, rows: &[FileRow]) -> Result<(), StoreError>;
    /// Removes a file; false when there is none.
    async fn delete_file(&mut self, id: FileId) -> Result<bool, StoreError>;
    /// Takes note of the files that a job names.
    async fn name_files(&mut self, job: JobId, files: &[FileId]) -> Result<(), StoreError>;
    /// A job that is not over and names a file.
    async fn file_needed_by(&mut self, id: FileId) -> Result<Option<JobId>, StoreError>;
    /// A file that a job names and that is not there any more.
    async fn lost_file(&mut self, job: JobId) -> Result<Option<FileId>, StoreError>;
    /// The answer of a creating call.
    async fn answer(&mut self, tenant: &str, operation: &str, key: &str) -> Result<Option<IdempotencyRow>, StoreError>;
    /// Keeps the answer of a creating call.
    async fn insert_answer(&mut self, row: &IdempotencyRow) -> Result<(), StoreError>;
    /// Commits what was done.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;
    /// Undoes everything.
    async fn undo(self: Box<Self>);
}

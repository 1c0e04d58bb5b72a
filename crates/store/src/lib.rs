//! The store: the only folder with SQL. One trait, two engines, one conformance suite for both.
//!
//! Everything that a session does reaches the store as [`Record`]s in groups that are committed whole or not at all, by
//! the recorder alone. Jobs change in transactions of their own, in which the queue decides. The rest (keys, definitions,
//! nodes) writes through methods of its own.

pub mod clock;
pub mod row;

mod answer;
mod artifact;
mod cell;
mod commit;
#[cfg(test)]
mod conformance;
mod definition;
mod engine;
mod episode;
mod field;
mod file;
mod filter;
mod job;
mod job_event;
mod job_transaction;
mod key;
mod migration;
mod node;
mod policy;
mod postgres;
mod relational;
mod run;
mod session;
mod snapshot;
mod sqlite;
mod step;
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use palestra_protocol::id::{EpisodeId, FileId, JobId, KeyId, PolicyId, RunId, SessionId, SnapshotId};
use palestra_protocol::job::{Artifact, JobEvent, JobEventKind, JobState};
use palestra_protocol::run::RunState;
use palestra_protocol::time::Timestamp;
use serde_json::Value;

use row::job::{Candidate, ContentRow, FileFilter, FileRow, JobFilter, JobRow, PolicyRow, StoredJob, Wanted};
use row::{
    DefinitionRow, EpisodeFilter, EpisodeRow, IdempotencyRow, KeyRow, NodeRow, PageRequest, Record, RunRow,
    SessionFilter, SessionRow, SnapshotRow, StepRow, VerdictRow,
};

/// Whose data it is: the name of a tenant.
pub type Tenant = Arc<str>;

pub use job_transaction::JobTransaction;
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

/// Where the data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// In a file on this machine.
    Sqlite(PathBuf),
    /// In a PostgreSQL database: `postgres://user:password@host:port/database`.
    Postgres(String),
}

/// Opens a store and brings it to the newest form.
///
/// # Errors
/// When it cannot be reached, is no store, or was written by a newer version.
pub async fn open(target: &Target) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match target {
        Target::Sqlite(path) => Arc::new(SqliteStore::open(path).await?),
        Target::Postgres(url) => Arc::new(PostgresStore::connect(url).await?),
    })
}

/// A store failed, or refused.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A row with this identity exists.
    #[error("{0} exists already: choose another name")]
    Exists(&'static str),
    /// This process does not own its node any more: another incarnation took over.
    #[error("this node was taken over by another process: stop one of the two")]
    Fenced,
    /// The engine did not answer in time; what was asked may have happened all the same.
    #[error("the store did not answer within {0} ms: check that it runs, and its load")]
    TimedOut(u64),
    /// No server answers at the address.
    #[error(
        "no PostgreSQL answers at {address} ({detail}): check that it runs and listens there, that nothing between blocks \
         the way, and host and port in the database URL"
    )]
    Unreachable {
        /// Host and port.
        address: String,
        /// What was seen.
        detail: String,
    },
    /// The stored data does not have the form that it was written in.
    #[error("stored data is broken, restore a backup: {0}")]
    Broken(String),
    /// The engine failed or could not be reached.
    #[error("the store failed, check that it runs and has free space: {0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A migration failed.
    #[error("a migration failed, restore a backup or use the version that wrote the store: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error.into())
    }
}

/// Groups of records on their way into the store, shared with the thread that writes them.
pub type Groups = Arc<[Vec<Record>]>;

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the end of this process; the disk follows within about a second.
    Process,
    /// Survives the loss of power.
    Disk,
}

/// Sessions, steps, scores and all else that outlives the process.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Which engine this is, for people: `sqlite` or `postgres`.
    fn engine(&self) -> &'static str;

    /// Fails unless the engine answers a query.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Commits groups of records in one transaction, in order: all of them or none.
    ///
    /// Called by one task at a time; one that is given up is undone, unless it was at its end already. Fails with [`StoreError::Fenced`] when `node` is not held by `incarnation` any more, and
    /// with [`StoreError::Exists`] when a row's identity is taken.
    async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError>;

    /// Makes everything committed so far survive the loss of power.
    async fn flush(&self) -> Result<(), StoreError>;

    // Sessions. A tenant's id that is not its own is not found.
    async fn session(&self, tenant: &str, id: SessionId) -> Result<Option<SessionRow>, StoreError>;
    /// Whether a session of any tenant has the id, so that no other can.
    async fn is_session_taken(&self, id: SessionId) -> Result<bool, StoreError>;
    /// Sessions of a tenant by descending id.
    async fn sessions(
        &self,
        tenant: &str,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Vec<SessionRow>, StoreError>;
    /// Open sessions of any tenant on `node` whose time is over, oldest first.
    async fn sessions_expired(&self, node: &str, now: Timestamp, limit: u32) -> Result<Vec<SessionRow>, StoreError>;
    /// Open sessions of a run, by ascending id after `after`.
    async fn sessions_of_run(
        &self,
        tenant: &str,
        run: RunId,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError>;
    /// How many sessions are open on `node`.
    async fn sessions_open(&self, node: &str) -> Result<u64, StoreError>;
    /// Moves an open session from a node that is gone to another; false when someone else was faster.
    async fn adopt_session(&self, id: SessionId, from: &str, to: &str) -> Result<bool, StoreError>;

    // Episodes, steps, verdicts, snapshots.
    async fn episode(&self, tenant: &str, id: EpisodeId) -> Result<Option<EpisodeRow>, StoreError>;
    /// The episode whoever's it is, for the server's own upkeep.
    async fn episode_of_anybody(&self, id: EpisodeId) -> Result<Option<EpisodeRow>, StoreError>;
    /// Episodes of a tenant by descending id.
    async fn episodes(
        &self,
        tenant: &str,
        filter: &EpisodeFilter,
        page: &PageRequest,
    ) -> Result<Vec<EpisodeRow>, StoreError>;
    /// Episodes of a session by ascending ordinal, from `from_ordinal` on.
    async fn episodes_of_session(
        &self,
        session: SessionId,
        from_ordinal: u64,
        limit: u32,
    ) -> Result<Vec<EpisodeRow>, StoreError>;
    /// Steps recorded in this very episode (not in its origin, after which its numbers go on without holes) with `from_seq <= seq <= to_seq`, ascending.
    async fn steps(
        &self,
        episode: EpisodeId,
        from_seq: u64,
        to_seq: u64,
        limit: u32,
    ) -> Result<Vec<StepRow>, StoreError>;
    /// The last step recorded in this very episode.
    async fn last_step(&self, episode: EpisodeId) -> Result<Option<StepRow>, StoreError>;
    /// The intent of this episode that has no step yet: its seq and the action as JSON.
    async fn open_intent(&self, episode: EpisodeId) -> Result<Option<(u64, String)>, StoreError>;
    /// Verdicts of an episode, oldest first.
    async fn verdicts(&self, episode: EpisodeId) -> Result<Vec<VerdictRow>, StoreError>;
    async fn snapshot(&self, tenant: &str, id: SnapshotId) -> Result<Option<SnapshotRow>, StoreError>;
    /// Snapshots of a session, oldest first.
    async fn snapshots(&self, session: SessionId) -> Result<Vec<SnapshotRow>, StoreError>;
    /// A final state that was stored by its digest.
    async fn state(&self, digest: &str) -> Result<Option<Value>, StoreError>;

    // Answers of creating calls.
    async fn idempotent(&self, tenant: &str, operation: &str, key: &str) -> Result<Option<IdempotencyRow>, StoreError>;
    /// Forgets answers older than `before`; answers how many.
    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError>;

    // Runs.
    /// Inserts, or answers the run that exists under this id.
    async fn create_run(&self, row: &RunRow) -> Result<RunRow, StoreError>;
    async fn run(&self, tenant: &str, id: RunId) -> Result<Option<RunRow>, StoreError>;
    /// Every active run of any tenant.
    async fn runs_active(&self) -> Result<Vec<RunRow>, StoreError>;
    /// Extends the lease of an active run; false when it is not active.
    async fn renew_run(&self, tenant: &str, id: RunId, expires_at: Timestamp) -> Result<bool, StoreError>;
    /// Ends an active run; false when it was not active. With `expired_before`, only if its lease expires before that.
    async fn end_run(
        &self,
        tenant: &str,
        id: RunId,
        state: RunState,
        expired_before: Option<Timestamp>,
    ) -> Result<bool, StoreError>;

    // Keys.
    async fn create_key(&self, row: &KeyRow) -> Result<(), StoreError>;
    async fn key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError>;
    /// Keys of a tenant by descending id.
    async fn keys(&self, tenant: &str, page: &PageRequest) -> Result<Vec<KeyRow>, StoreError>;
    /// Revokes a key; false when the tenant has no such key. Revoking twice keeps the first time.
    async fn revoke_key(&self, tenant: &str, id: KeyId, at: Timestamp) -> Result<bool, StoreError>;

    // Published definitions.
    /// Stores a definition with its rows as the next version of its name, all or nothing. When the newest version of the
    /// tenant's name has the same digest, stores nothing and answers that row; otherwise the new one. The flag says
    /// whether it is new.
    async fn publish(
        &self,
        definition: &DefinitionRow,
        rows: &[(String, Vec<Value>)],
    ) -> Result<(DefinitionRow, bool), StoreError>;
    /// A definition by name and version; the newest version where none is named.
    async fn definition(
        &self,
        tenant: &str,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<DefinitionRow>, StoreError>;
    /// The newest version of every definition of a tenant, by name.
    async fn definitions(&self, tenant: &str) -> Result<Vec<DefinitionRow>, StoreError>;
    /// One row of a split, by the digest it was published under.
    async fn task_row(&self, digest: &str, split: &str, index: u64) -> Result<Option<Value>, StoreError>;

    // Jobs, their events and files, policies, and uploaded files.
    /// Begins a change of jobs, which waits for every other change of jobs to end.
    async fn change_jobs(&self, durability: Durability) -> Result<Box<dyn JobTransaction + '_>, StoreError>;
    /// Where a job stands, whoever's it is.
    async fn job_of_anybody(&self, id: JobId) -> Result<Option<JobRow>, StoreError>;
    /// A job with what it is to do, whoever's it is.
    async fn stored_job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError>;
    /// Jobs of a tenant by descending id.
    async fn jobs(&self, tenant: &str, filter: &JobFilter, page: &PageRequest) -> Result<Vec<StoredJob>, StoreError>;
    /// Jobs that a job needs and that have not succeeded, by id.
    async fn job_waits_for(&self, id: JobId) -> Result<Vec<JobId>, StoreError>;
    /// How many queued jobs of its tenant come before a job.
    async fn job_place(&self, row: &JobRow) -> Result<u64, StoreError>;
    /// The heads of the queues of all tenants, of what a worker could do now.
    async fn job_candidates(&self, wanted: &Wanted) -> Result<Vec<Candidate>, StoreError>;
    /// Running jobs whose lease ended by `now` or ends after `latest`, or that were asked to stop by `asked_before` or after
    /// `now`.
    async fn jobs_due(
        &self,
        now: Timestamp,
        latest: Timestamp,
        asked_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<JobId>, StoreError>;
    /// Queued jobs that are not begun before `latest`.
    async fn jobs_waiting_beyond(&self, latest: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError>;
    /// Jobs that were over before, and that no job which is not over needs.
    async fn jobs_over(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError>;
    /// How many jobs are queued and how many run, of all tenants.
    async fn job_counts(&self) -> Result<Vec<(JobState, u64)>, StoreError>;
    /// Events of a job after a number, ascending.
    async fn job_events(
        &self,
        id: JobId,
        kind: Option<JobEventKind>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<JobEvent>, StoreError>;
    /// The last events of a kind, newest first.
    async fn last_job_events(&self, id: JobId, kind: JobEventKind, limit: u32) -> Result<Vec<JobEvent>, StoreError>;
    /// Files of a job by name.
    async fn artifacts(&self, id: JobId) -> Result<Vec<Artifact>, StoreError>;
    async fn artifact(&self, id: JobId, name: &str) -> Result<Option<Artifact>, StoreError>;
    /// Bytes of everything that a tenant keeps, equal contents counted once.
    async fn kept_bytes(&self, tenant: &str) -> Result<u64, StoreError>;
    /// Whether an uploaded file, or one of a job or of a policy, has this content.
    async fn is_named(&self, digest: &str) -> Result<bool, StoreError>;
    /// A policy of a tenant with its files.
    async fn policy(&self, tenant: &str, id: PolicyId) -> Result<Option<PolicyRow>, StoreError>;
    /// Policies of a tenant by descending id, with their files; those of one job where one is named.
    async fn policies(
        &self,
        tenant: &str,
        job: Option<JobId>,
        page: &PageRequest,
    ) -> Result<Vec<PolicyRow>, StoreError>;
    /// An uploaded file of a tenant, or one of a job's result.
    async fn file(&self, tenant: &str, id: FileId) -> Result<Option<FileRow>, StoreError>;
    /// Files of a tenant behind the id that the page names.
    async fn files(&self, tenant: &str, filter: FileFilter, page: &PageRequest) -> Result<Vec<FileRow>, StoreError>;
    /// Files of a job's result, by id.
    async fn files_of_job(&self, job: JobId) -> Result<Vec<FileRow>, StoreError>;
    /// Whether a job names a file.
    async fn names_file(&self, job: JobId, file: FileId) -> Result<bool, StoreError>;
    /// The content of a digest, where it is kept here.
    async fn content(&self, digest: &str) -> Result<Option<ContentRow>, StoreError>;
    /// Writes a piece of what may become a content.
    async fn put_piece(&self, pieces: &str, position: u64, at: Timestamp, bytes: &[u8]) -> Result<(), StoreError>;
    /// A piece of a content.
    async fn piece(&self, pieces: &str, position: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// Removes pieces that became no content.
    async fn delete_pieces(&self, pieces: &str) -> Result<(), StoreError>;
    /// Forgets contents here that nothing names, and pieces that are no content's, both older than `before`; answers how many
    /// rows went. Of pieces that still come, none goes.
    async fn forget_unnamed(&self, before: Timestamp) -> Result<u64, StoreError>;

    // Nodes.
    /// Takes the node for this incarnation, fencing every earlier one.
    async fn claim_node(&self, node: &NodeRow) -> Result<(), StoreError>;
    /// Renews the node's heartbeat; fails with [`StoreError::Fenced`] when another incarnation holds it.
    async fn beat(&self, node: &NodeRow, now: Timestamp) -> Result<(), StoreError>;
    /// When the node last beat.
    async fn node_beat(&self, node: &str) -> Result<Option<Timestamp>, StoreError>;

    /// Closes every connection; later calls fail.
    async fn close(&self);
}

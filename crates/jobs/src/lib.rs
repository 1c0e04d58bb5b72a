//! Jobs: the durable queue of work that takes long, what its workers write, and what they leave behind.
//!
//! Everything that matters is in the store: a job is claimed by a lease with a fence that grows with each one, and whatever a
//! worker writes is refused once its fence is not the job's last or the job does not run. A lease whose time is over is held until
//! the sweep takes it back, so that a worker which comes late to a queue that was down goes on. What is in memory only wakes those
//! who wait, and hands requests to workers that serve a policy.

mod artifact;
mod change;
mod content;
mod create;
mod error;
mod events;
mod file;
mod lease;
pub mod metrics;
mod pending_upload;
mod policy;
mod queue_transaction;
mod reach;
mod read;
mod report;
mod result_file;
mod schedule;
mod serve;
mod settings;
mod sweep;
#[cfg(test)]
mod tests;
mod watch;
mod workers;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::stream::BoxStream;
use tokio::sync::{Mutex, Notify};
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use content::Contents;
pub use error::JobsError;
pub use file::ReceivedFile;
use palestra_auth::{DEFAULT_TENANT, JobTokens};
use palestra_store::Store;
use palestra_store::Tenant;
use palestra_store::clock::Clock;
pub use palestra_store::row::job::{FileFilter, FileRow, JobFilter};
use serve::PolicyRequests;
pub use settings::{ArtifactStorage, JobSettings};
use watch::Watches;
use workers::Workers;

/// Bytes of a file as they come or go.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// What the queue is made of.
pub struct JobParts {
    /// Where everything is recorded.
    pub store: Arc<dyn Store>,
    /// Makes the credentials of leases, and forgets those that were taken back.
    pub tokens: JobTokens,
    /// Limits of the whole.
    pub settings: JobSettings,
    /// The data folder; artefacts lie below it.
    pub data: PathBuf,
    /// Tells the time.
    pub clock: Clock,
    /// Ends background work and streams.
    pub cancel: CancellationToken,
    /// Holds every task, so that shutdown can wait for them.
    pub tracker: TaskTracker,
}

/// Whose jobs a worker may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerScope {
    /// One tenant's alone, or everybody's.
    pub tenant: Option<Tenant>,
}

impl WorkerScope {
    /// The scope of a worker's key: one of the tenant `default` serves everybody, one of another tenant that one alone.
    #[must_use]
    pub fn of(tenant: &Tenant) -> Self {
        Self { tenant: (&**tenant != DEFAULT_TENANT).then(|| Arc::clone(tenant)) }
    }

    fn covers(&self, tenant: &str) -> bool {
        self.tenant.as_deref().is_none_or(|own| own == tenant)
    }
}

/// The queue. Cheap to clone.
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    tokens: JobTokens,
    settings: JobSettings,
    contents: Contents,
    clock: Clock,
    cancel: CancellationToken,
    tracker: TaskTracker,
    /// Held by the one change of jobs that is under way in this process.
    queue_lock: Mutex<()>,
    /// Wakes workers that wait for a job.
    queue_news: Notify,
    watches: Arc<Watches>,
    workers: Workers,
    policy_requests: PolicyRequests,
}

impl Jobs {
    /// Starts the queue and its upkeep. Jobs that run keep their leases: their workers may come back, and have a whole lease for it.
    ///
    /// # Errors
    /// When the folder of artefacts cannot be made.
    pub async fn start(parts: JobParts) -> Result<Self, JobsError> {
        let JobParts { store, tokens, settings, data, clock, cancel, tracker } = parts;
        let contents = Contents::open(&settings, &store, &data, &clock, &tracker).await?;
        let jobs = Self(Arc::new(Inner {
            store,
            tokens,
            settings,
            contents,
            clock,
            cancel,
            tracker,
            queue_lock: Mutex::new(()),
            queue_news: Notify::new(),
            watches: Arc::default(),
            workers: Workers::default(),
            policy_requests: PolicyRequests::default(),
        }));
        let upkeep = jobs.clone();
        jobs.0.tracker.spawn(async move { upkeep.run_upkeep().await });
        Ok(jobs)
    }

    /// Does work to its end, whether or not its caller waits: what is committed is told to those who listen.
    async fn to_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, JobsError>> + Send + 'static,
    ) -> Result<T, JobsError> {
        let done = self.0.tracker.spawn(work).await;
        done.map_err(|error| JobsError::Internal(format!("a change of the queue did not end: {error}")))?
    }
}

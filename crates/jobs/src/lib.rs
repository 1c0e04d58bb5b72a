//! Jobs: the durable queue of long work, with the events, artefacts and policies of its workers.
//!
//! All state is in the store. A worker claims a job by a lease with a fence, a number that grows with each lease; its writes are
//! refused once its fence is not the job's last or the job does not run. An expired lease is held until the sweep takes it back, so
//! that a worker continues after the server was down for a while. State in memory only wakes waiting callers, and passes requests to
//! workers that serve a policy.

mod artifact;
mod change;
mod checkpoint;
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

/// The bytes of a file as a stream.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// The parts that the queue is built from.
pub struct JobParts {
    /// The store of all state.
    pub store: Arc<Store>,
    /// Issues the credentials of leases, and revokes them.
    pub tokens: JobTokens,
    /// Limits of the queue.
    pub settings: JobSettings,
    /// The data folder, which holds the artefacts.
    pub data: PathBuf,
    /// The clock of leases and events.
    pub clock: Clock,
    /// Ends background work and streams.
    pub cancel: CancellationToken,
    /// Holds every task, so that shutdown can wait for them.
    pub tracker: TaskTracker,
}

/// The tenants whose jobs a worker may lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerScope {
    /// One tenant; all tenants for `None`.
    pub tenant: Option<Tenant>,
}

impl WorkerScope {
    /// The scope of a worker's key: all tenants for a key of the tenant `default`, otherwise the tenant of the key.
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
    store: Arc<Store>,
    tokens: JobTokens,
    settings: JobSettings,
    contents: Contents,
    clock: Clock,
    cancel: CancellationToken,
    tracker: TaskTracker,
    /// Held by the one transaction of this process.
    queue_lock: Mutex<()>,
    /// Notifies workers that wait for a job.
    queue_news: Notify,
    watches: Arc<Watches>,
    workers: Workers,
    policy_requests: PolicyRequests,
}

impl Jobs {
    /// Starts the queue and its upkeep. Running jobs keep their leases: their workers have a whole lease duration to come back.
    ///
    /// # Errors
    /// When the folder of artefacts cannot be created.
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

    /// Runs work to its end even if its caller leaves, so that subscribers learn of everything that is committed.
    async fn run_to_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, JobsError>> + Send + 'static,
    ) -> Result<T, JobsError> {
        let done = self.0.tracker.spawn(work).await;
        done.map_err(|error| JobsError::Internal(format!("a transaction of the queue did not end: {error}")))?
    }
}

//! The queue as its callers meet it, on a store of its own per test and with a clock that is moved by hand.

mod attempts;
mod files;
mod model;
mod policies;
mod queue;
mod served;

use std::sync::Arc;

use futures::StreamExt as _;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{CreateJob, Device, Job, JobError, JobEvent, JobKind, JobState, Resources};
use palestra_protocol::worker::{Finish, Lease, LeaseRequest, Outcome};
use serde_json::{Map, Value, json};
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{ByteStream, JobParts, JobSettings, Jobs, JobsError, WorkerScope};
use palestra_auth::{Auth, RootSecret};
use palestra_store::Tenant;
use palestra_store::clock::Clock;
use palestra_store::{self as store, Store, Target};
use palestra_test_support::postgres::Database;

/// The scope of all tenants.
const EVERYBODY: WorkerScope = WorkerScope { tenant: None };

/// A queue of one test.
struct Fixture {
    jobs: Jobs,
    auth: Auth,
    store: Arc<Store>,
    clock: Clock,
    settings: JobSettings,
    cancel: CancellationToken,
    target: Target,
    database: Option<Database>,
    folder: tempfile::TempDir,
}

/// Settings without sweeps in the background.
fn settings() -> JobSettings {
    JobSettings { sweep_ms: 86_400_000, unreferenced_ms: 0, ..JobSettings::default() }
}

impl Fixture {
    async fn sqlite(settings: JobSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::Sqlite(folder.path().join("palestra.db"));
        Self::open(target, None, folder, settings).await
    }

    async fn postgres(settings: JobSettings) -> Option<Self> {
        let database = Database::create().await?;
        let target = Target::Postgres(database.url());
        Some(Self::open(target, Some(database), tempfile::tempdir().unwrap(), settings).await)
    }

    async fn open(
        target: Target,
        database: Option<Database>,
        folder: tempfile::TempDir,
        settings: JobSettings,
    ) -> Self {
        let (store, clock) = (store::open(&target).await.unwrap(), Clock::manual());
        let auth = Auth::new(Arc::clone(&store), clock.clone(), &RootSecret::from_text("of tests"), None);
        let cancel = CancellationToken::new();
        let jobs = start(&store, &auth, &clock, &settings, &cancel, folder.path()).await;
        Self { jobs, auth, store, clock, settings, cancel, target, database, folder }
    }

    /// Everything anew on the same data, as after the end of the process.
    async fn restart(&mut self) {
        self.cancel.cancel();
        self.store.close().await;
        self.store = store::open(&self.target).await.unwrap();
        self.cancel = CancellationToken::new();
        self.auth = Auth::new(Arc::clone(&self.store), self.clock.clone(), &RootSecret::from_text("of tests"), None);
        self.jobs = start(&self.store, &self.auth, &self.clock, &self.settings, &self.cancel, self.folder.path()).await;
    }

    async fn end(self) {
        self.cancel.cancel();
        self.store.close().await;
        if let Some(database) = self.database {
            database.remove().await;
        }
    }

    async fn create(&self, tenant: &str, request: CreateJob) -> Job {
        self.jobs.create(&tenant.into(), request, None).await.unwrap()
    }

    async fn lease(&self) -> Option<Lease> {
        self.jobs.lease(&EVERYBODY, worker("w")).await.unwrap()
    }

    /// The next job, which has to be there.
    async fn next(&self) -> Lease {
        self.lease().await.expect("a job is there to be leased")
    }

    async fn job(&self, tenant: &str, id: JobId) -> Job {
        self.jobs.job(&tenant.into(), id).await.unwrap()
    }

    async fn state(&self, tenant: &str, id: JobId) -> JobState {
        self.job(tenant, id).await.state
    }

    async fn finish(&self, lease: &Lease, outcome: Outcome) -> Result<Job, JobsError> {
        self.jobs.finish(&EVERYBODY, lease.job.id, Finish { fence: lease.fence, outcome }).await
    }

    async fn sweep_after(&self, milliseconds: i64) {
        self.clock.advance_ms(milliseconds);
        self.jobs.sweep().await.unwrap();
    }

    async fn events(&self, tenant: &str, id: JobId) -> Vec<JobEvent> {
        self.jobs.events_page(&tenant.into(), id, None, 0, 10_000).await.unwrap()
    }

    async fn upload(&self, lease: &Lease, name: &str, bytes: &[u8]) -> Result<(), JobsError> {
        let stream = stream(vec![bytes.to_vec()]);
        let uploaded = self.jobs.upload(&EVERYBODY, lease.job.id, name.to_owned(), lease.fence, None, stream).await;
        uploaded.map(drop)
    }
}

async fn start(
    store: &Arc<Store>,
    auth: &Auth,
    clock: &Clock,
    settings: &JobSettings,
    cancel: &CancellationToken,
    folder: &std::path::Path,
) -> Jobs {
    let parts = JobParts {
        store: Arc::clone(store),
        tokens: auth.job_tokens(),
        settings: settings.clone(),
        data: folder.to_owned(),
        clock: clock.clone(),
        cancel: cancel.clone(),
        tracker: TaskTracker::new(),
    };
    Jobs::start(parts).await.unwrap()
}

fn job(kind: JobKind, spec: Value) -> CreateJob {
    CreateJob {
        id: None,
        kind,
        spec,
        priority: 0,
        resources: Resources::default(),
        after: Vec::new(),
        attempts_max: None,
        metadata: Map::new(),
    }
}

/// A job that every worker can run.
fn check() -> CreateJob {
    job(JobKind::Check, json!({"environment": "puzzle/countdown"}))
}

fn worker(name: &str) -> LeaseRequest {
    LeaseRequest {
        worker: name.to_owned(),
        kinds: JobKind::ALL.to_vec(),
        device: Device::Cpu,
        memory_bytes: 1 << 30,
        wait_ms: 0,
        remark: None,
    }
}

fn succeeded() -> Outcome {
    Outcome::Succeeded { result: json!({"done": true}) }
}

fn failed(retry: bool) -> Outcome {
    Outcome::Failed { error: JobError { code: "environment".to_owned(), detail: "it fell over".to_owned() }, retry }
}

fn stream(chunks: Vec<Vec<u8>>) -> ByteStream {
    Box::pin(futures::stream::iter(chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk)))))
}

async fn read(bytes: ByteStream) -> Vec<u8> {
    let chunks: Vec<_> = bytes.collect().await;
    chunks.into_iter().flat_map(|chunk| chunk.unwrap().to_vec()).collect()
}

fn tenant(name: &str) -> Tenant {
    name.into()
}

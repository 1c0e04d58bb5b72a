//! SQLite, in worker processes: a statement that is hostile, or a fault in SQLite itself, never meets the server's memory.

mod capacity;
mod convert;
mod database;
mod definition;
mod plan;
mod process;
mod schema;
mod worker;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use palestra_sqlite_worker::wire::{Answer, Ask};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::capacity::{Capacity, Permit};
use self::database::SqliteDatabase;
use self::worker::Slot;
use super::{Database, Engine, EngineError, Opening};
use crate::source::Source;
use crate::value::Dialect;

/// Settings of the SQLite engine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Program, by its full path, and arguments that start a worker. An argument follows that says how many workers there are.
    pub command: Vec<OsString>,
    /// Worker processes at most. Each is started when it is needed, and may take this share of the memory that there is.
    pub workers: usize,
    /// Databases that may be open at a time, in all workers together.
    pub sessions_max: usize,
    /// Templates that a worker keeps.
    pub templates_max: usize,
    /// Bytes of templates that a worker keeps; those just being opened may go beyond it.
    pub template_bytes_max: u64,
    /// Number of times that a worker may be started within a minute, until it is taken to be broken.
    pub starts_per_minute_max: usize,
    /// Time that a worker may stay silent beyond the time that what it does may take. Then its session is interrupted; when it
    /// stays silent as long again, it is killed with all its sessions. Long, since neighbours pay for it.
    pub patience: Duration,
    /// Milliseconds that a statement of a template may take.
    pub template_ms: u64,
}

impl Settings {
    /// The usual settings: a worker per core up to eight, and 4,096 databases.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            command,
            workers: cores.clamp(1, 8),
            sessions_max: 4_096,
            templates_max: 256,
            template_bytes_max: 512 << 20,
            starts_per_minute_max: 20,
            patience: Duration::from_secs(15),
            template_ms: 60_000,
        }
    }
}

/// Databases of SQLite. When it is dropped its workers end, and every database of it is lost.
pub struct SqliteEngine {
    host: Arc<Host>,
    _end: DropGuard,
}

/// State shared by the engine and its databases.
struct Host {
    settings: Settings,
    slots: Vec<Slot>,
    capacity: Arc<Capacity>,
    sessions: AtomicU64,
    tasks: TaskTracker,
    end: CancellationToken,
}

/// Resource usage of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerUsage {
    /// Its process.
    pub pid: u32,
    /// Open databases.
    pub sessions: u64,
    /// Templates.
    pub templates: u64,
    /// Bytes of SQLite's own memory.
    pub heap_bytes: u64,
    /// Bytes of pages, each counted once however many databases share it.
    pub page_bytes: u64,
}

impl SqliteEngine {
    /// An engine whose workers are started when they are needed.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let end = CancellationToken::new();
        let workers = settings.workers.max(1);
        let host = Host {
            capacity: Capacity::new(workers, settings.sessions_max),
            slots: (0..workers).map(|_| Slot::default()).collect(),
            settings,
            sessions: AtomicU64::new(1),
            tasks: TaskTracker::new(),
            end: end.clone(),
        };
        Self { host: Arc::new(host), _end: end.drop_guard() }
    }

    /// Ends the workers; databases that are still open are lost.
    pub async fn close(&self) {
        self.host.end.cancel();
        self.host.tasks.close();
        self.host.tasks.wait().await;
    }

    /// Resource usage of the running workers.
    pub async fn usage(&self) -> Vec<WorkerUsage> {
        let mut all = Vec::new();
        for slot in &self.host.slots {
            let Some(worker) = slot.running().await else { continue };
            let Ok(frame) = worker.process.frame(Ask::Usage) else { continue };
            if let Ok(Answer::Usage(usage)) = worker.process.exchange(frame, self.host.settings.patience).await {
                all.push(WorkerUsage {
                    pid: worker.process.pid(),
                    sessions: usage.sessions,
                    templates: usage.templates,
                    heap_bytes: usage.heap_bytes,
                    page_bytes: usage.page_bytes,
                });
            }
        }
        all
    }
}

#[async_trait]
impl Engine for SqliteEngine {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn prepare(&self, source: &Arc<Source>) -> Result<(), EngineError> {
        let host = &self.host;
        let prepared = join_all(host.slots.iter().map(|slot| async {
            let worker = slot.worker(&host.settings, &host.end, &host.tasks).await?;
            worker.template(source, &host.settings).await
        }));
        for held in prepared.await {
            held?;
        }
        Ok(())
    }

    async fn open(&self, source: &Arc<Source>, opening: &Opening) -> Result<Box<dyn Database>, EngineError> {
        // A worker may end through what another session does, just while this one is being opened.
        match self.host.open(source, opening).await {
            Err(EngineError::Lost(_)) => self.host.open(source, opening).await,
            other => other,
        }
    }
}

impl Host {
    async fn open(self: &Arc<Self>, source: &Source, opening: &Opening) -> Result<Box<dyn Database>, EngineError> {
        let permit = self.capacity.take()?;
        let worker = self.slots[permit.slot()].worker(&self.settings, &self.end, &self.tasks).await?;
        let held = worker.template(source, &self.settings).await?;
        let session = self.name_session();
        let database = SqliteDatabase::new(Arc::clone(self), worker, permit, session, *opening);
        database.open(held.template.name.to_string()).await?;
        Ok(Box::new(database))
    }

    fn name_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed)
    }

    fn place_beside(&self, permit: &Permit) -> Result<Permit, EngineError> {
        self.capacity.take_at(permit.slot())
    }
}

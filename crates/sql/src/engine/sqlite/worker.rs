//! A slot for a worker: it is started when it is needed, started again when it ended, and keeps the templates it was given.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use palestra_sqlite_worker::wire::{self, Answer, Ask, Limits};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Settings;
use super::process::{Process, WorkerLost};
use crate::engine::EngineError;
use crate::source::{Content, Source};

/// The time in which starts are counted.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// Beside its time, what making a template may take: it is our own data, or was checked when it was imported.
const TEMPLATE_BYTES: u64 = 1 << 30;
/// Making a template may take the time of so many statements in all.
const TIMED_STATEMENTS: u32 = 3;

/// Where a worker runs, or will when it is needed.
#[derive(Default)]
pub(super) struct Slot {
    current: tokio::sync::Mutex<Current>,
}

#[derive(Default)]
struct Current {
    worker: Option<Arc<Worker>>,
    starts: VecDeque<Instant>,
}

impl Slot {
    /// The worker, which is started where none runs.
    pub(super) async fn worker(
        &self,
        settings: &Settings,
        end: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Result<Arc<Worker>, EngineError> {
        let mut current = self.current.lock().await;
        let mut why = None;
        if let Some(worker) = &current.worker {
            why = worker.process.ended();
            if why.is_none() {
                return Ok(Arc::clone(worker));
            }
        }
        let now = Instant::now();
        while current.starts.front().is_some_and(|start| now.duration_since(*start) > STARTS_WITHIN) {
            current.starts.pop_front();
        }
        if current.starts.len() >= settings.starts_per_minute_max {
            let why = why.unwrap_or_default();
            return Err(EngineError::Missing(format!(
                "SQLite workers end again and again, and no other one is started for a minute: see the log. {why}"
            )));
        }
        current.starts.push_back(now);
        let process = Process::start(settings, end.child_token(), tasks).map_err(|error| {
            let program =
                settings.command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
            EngineError::Missing(format!(
                "the SQLite worker {program:?} cannot be started, check that it is installed beside the server: {error}"
            ))
        })?;
        let worker = Arc::new(Worker { process, cache: Mutex::default(), names: AtomicU64::new(0) });
        current.worker = Some(Arc::clone(&worker));
        Ok(worker)
    }

    /// The worker, if one runs.
    pub(super) async fn running(&self) -> Option<Arc<Worker>> {
        self.current.lock().await.worker.clone().filter(|worker| worker.process.ended().is_none())
    }
}

/// A worker and its templates.
pub(super) struct Worker {
    pub(super) process: Arc<Process>,
    cache: Mutex<TemplateCache>,
    names: AtomicU64,
}

/// Templates by the digest of their source.
#[derive(Default)]
struct TemplateCache {
    templates: HashMap<String, Entry>,
    clock: u64,
}

struct Entry {
    template: Arc<OnceCell<Template>>,
    used: u64,
}

/// A template that a worker has. Whoever holds it keeps it there.
#[derive(Debug, Clone)]
pub(super) struct Template {
    /// Its name in the worker. Never used twice, so that forgetting and making it again cannot overtake each other.
    pub(super) name: Arc<str>,
    bytes: u64,
}

impl Worker {
    /// The template of a source; made where there is none, once for everybody who waits for it.
    pub(super) async fn template(&self, source: &Source, settings: &Settings) -> Result<TemplateRef, EngineError> {
        let cell = {
            let mut cache = self.cache.lock();
            cache.clock += 1;
            let used = cache.clock;
            let entry = cache
                .templates
                .entry(source.digest.clone())
                .or_insert_with(|| Entry { template: Arc::default(), used });
            entry.used = used;
            Arc::clone(&entry.template)
        };
        let template = cell.get_or_try_init(|| self.make(source, settings)).await?.clone();
        let held = TemplateRef { template, _cell: cell };
        self.forget_old(settings);
        Ok(held)
    }

    async fn make(&self, source: &Source, settings: &Settings) -> Result<Template, EngineError> {
        let name: Arc<str> = format!("{}#{}", source.digest, self.names.fetch_add(1, Ordering::Relaxed)).into();
        let content = match &source.content {
            Content::Script(text) => wire::Content::Script(Arc::clone(text)),
            Content::SqliteFile(bytes) => wire::Content::File(Arc::clone(bytes)),
        };
        let ask = Ask::Prepare { template: name.to_string(), content, limits: template_limits(settings) };
        let frame = self.process.frame(ask).map_err(|_| EngineError::Source("it is too large".to_owned()))?;
        let within = Duration::from_millis(settings.template_ms).saturating_mul(TIMED_STATEMENTS);
        match self.process.exchange(frame, within + settings.patience).await? {
            Answer::Prepared(Ok(size)) => Ok(Template { name, bytes: size.bytes }),
            Answer::Prepared(Err(why)) => Err(EngineError::Source(why)),
            other => Err(self.confused(&other).into()),
        }
    }

    /// Forgets what was not used for longest, while there are too many or they are too large. Those in use just now stay.
    fn forget_old(&self, settings: &Settings) {
        let mut cache = self.cache.lock();
        loop {
            let bytes: u64 =
                cache.templates.values().filter_map(|entry| entry.template.get()).map(|template| template.bytes).sum();
            if cache.templates.len() <= settings.templates_max && bytes <= settings.template_bytes_max {
                return;
            }
            let oldest = cache
                .templates
                .iter()
                .filter(|(_, entry)| Arc::strong_count(&entry.template) == 1)
                .min_by_key(|(_, entry)| entry.used);
            let Some(digest) = oldest.map(|(digest, _)| digest.clone()) else { return };
            let template = cache.templates.get(&digest).and_then(|entry| entry.template.get().cloned());
            if let Some(template) = template
                && !self.process.notify(Ask::Forget { template: template.name.to_string() })
            {
                return; // Later, when the worker takes requests again.
            }
            cache.templates.remove(&digest);
        }
    }

    /// The error where an answer is none to what was asked.
    pub(super) fn confused(&self, answer: &Answer) -> WorkerLost {
        let what = if let Answer::Wrong(why) = answer { why } else { "an answer of another kind" };
        tracing::error!(pid = self.process.pid(), what, "a SQLite worker answers what was not asked");
        WorkerLost { why: format!("the SQLite worker {} answers: {what}", self.process.pid()), midway: true }
    }
}

const fn template_limits(settings: &Settings) -> Limits {
    Limits {
        statement_ms: settings.template_ms,
        rows_max: 0,
        bytes_max: 1 << 20,
        memory_max: TEMPLATE_BYTES,
        growth_max: TEMPLATE_BYTES,
    }
}

/// A template that is not forgotten while this lives.
pub(super) struct TemplateRef {
    pub(super) template: Template,
    _cell: Arc<OnceCell<Template>>,
}

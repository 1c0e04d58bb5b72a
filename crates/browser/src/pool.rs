//! Browsers of a server: a few processes with many contexts. A process starts when it is needed; one that ends is replaced. Empty
//! contexts wait ready, and each is handed out once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palestra_sandbox::{SandboxSpec, Sandboxes};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::chromium::{Chromium, Launch, find_program};
use crate::context::{Blank, Context, Settings};
use crate::error::BrowserError;
use crate::upstream::{Host, Upstream};

/// Image and profile of the sandboxes in which browsers run.
const IMAGE: &str = "host";
const PROFILE: &str = "browser";
/// Milliseconds after which a context may be free again, where all are in use.
const RETRY_AFTER_MS: u64 = 2_000;

/// Settings of the browsers of a server; none may run by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolSettings {
    /// The program; the one of this machine where left out.
    pub program: Option<PathBuf>,
    /// Most processes.
    pub processes_max: usize,
    /// Most contexts of one process.
    pub contexts_max: usize,
    /// Empty contexts that wait ready once a browser runs.
    pub warm_min: usize,
    /// Real hosts that pages may reach.
    pub hosts: Vec<Host>,
}

/// Browsers of a server. Cheap to clone.
#[derive(Clone)]
pub struct Browsers(Arc<Inner>);

struct Inner {
    sandboxes: Sandboxes,
    settings: PoolSettings,
    upstream: Upstream,
    /// Held while a process is chosen or started.
    processes: Mutex<Vec<Process>>,
    room: Arc<Semaphore>,
    /// True if browsers keep their own walls in their sandboxes; known once one has started.
    own_sandbox: OnceCell<bool>,
}

struct Process {
    chromium: Arc<Chromium>,
    room: Arc<Semaphore>,
    warm: Vec<Blank>,
    /// True while contexts are made that will wait ready.
    is_filling: bool,
}

/// A context that is lent to a session.
pub struct Lease {
    context: Context,
    isolation: Value,
    pool: Browsers,
    made_up: AtomicBool,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Lease {
    /// The context.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// Walls around its pages, line by line.
    #[must_use]
    pub const fn isolation(&self) -> &Value {
        &self.isolation
    }

    /// Makes up, once, for the context that was taken from those that wait ready. Left to a moment when nobody waits for a first page, it
    /// slows none down.
    pub fn make_up(&self) {
        if !self.made_up.swap(true, Ordering::Relaxed) {
            self.pool.refill(self.context.chromium());
        }
    }

    /// Removes the context; its room is free then.
    pub async fn end(self) {
        let Self { context, pool, _permits: permits, .. } = self;
        // Of a browser that is gone nothing is left to remove.
        let _ = context.dispose().await;
        let chromium = Arc::clone(context.chromium());
        drop((context, permits));
        pool.refill(&chromium);
    }
}

impl Browsers {
    /// Browsers that start when they are needed.
    #[must_use]
    pub fn new(sandboxes: Sandboxes, settings: PoolSettings) -> Self {
        let most = settings.processes_max.saturating_mul(settings.contexts_max).min(Semaphore::MAX_PERMITS);
        let room = Arc::new(Semaphore::new(most));
        let (processes, own_sandbox) = (Mutex::default(), OnceCell::new());
        let upstream = Upstream::new(settings.hosts.clone());
        Self(Arc::new(Inner { sandboxes, settings, upstream, processes, room, own_sandbox }))
    }

    /// The way to real hosts, where pages may reach some.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.0.upstream
    }

    /// The program that browsers are started from.
    ///
    /// # Errors
    /// [`BrowserError::Missing`] where this machine has none.
    pub fn program(&self) -> Result<PathBuf, BrowserError> {
        let named = self.0.settings.program.clone();
        named.or_else(find_program).ok_or_else(|| {
            let words =
                "this machine has no Chromium: apt-get install chromium-headless-shell, or name one with --chromium";
            BrowserError::Missing(words.to_owned())
        })
    }

    /// Starts a process, and ends it: its version, and the walls around its pages.
    ///
    /// # Errors
    /// [`BrowserError::Missing`], and when no browser starts.
    pub async fn examine(&self) -> Result<(String, Value), BrowserError> {
        let chromium = self.start().await?;
        let found = (chromium.version().to_owned(), self.isolation(&chromium));
        chromium.end().await;
        Ok(found)
    }

    /// A context for a session, which is its alone.
    ///
    /// # Errors
    /// [`BrowserError::Missing`], [`BrowserError::Busy`], and when no browser starts.
    pub async fn lease(&self, settings: Settings) -> Result<Lease, BrowserError> {
        let busy = |_| BrowserError::Busy { retry_after_ms: RETRY_AFTER_MS };
        let permit = Arc::clone(&self.0.room).try_acquire_owned().map_err(busy)?;
        let (chromium, warm, own) = self.choose().await?;
        let blank = match warm {
            Some(blank) => blank,
            None => Blank::create(Arc::clone(&chromium)).await?,
        };
        let isolation = self.isolation(&chromium);
        let context = blank.begin(settings).await?;
        Ok(Lease { context, isolation, pool: self.clone(), made_up: AtomicBool::new(false), _permits: [permit, own] })
    }

    /// The process with the most room, and a warm context of it. One is started where all are full or none is there.
    async fn choose(&self) -> Result<(Arc<Chromium>, Option<Blank>, OwnedSemaphorePermit), BrowserError> {
        let mut processes = self.0.processes.lock().await;
        let gone: Vec<Process> = processes.extract_if(.., |process| process.chromium.gone().is_some()).collect();
        for process in gone {
            process.chromium.end().await;
        }
        let roomiest = processes.iter_mut().max_by_key(|process| process.room.available_permits());
        if let Some(process) = roomiest
            && let Ok(permit) = Arc::clone(&process.room).try_acquire_owned()
        {
            return Ok((Arc::clone(&process.chromium), process.warm.pop(), permit));
        }
        if processes.len() >= self.0.settings.processes_max {
            return Err(BrowserError::Busy { retry_after_ms: RETRY_AFTER_MS });
        }
        let chromium = Arc::new(self.start().await?);
        let room = Arc::new(Semaphore::new(self.0.settings.contexts_max));
        let busy = |_| BrowserError::Busy { retry_after_ms: RETRY_AFTER_MS };
        let permit = Arc::clone(&room).try_acquire_owned().map_err(busy)?;
        processes.push(Process { chromium: Arc::clone(&chromium), room, warm: Vec::new(), is_filling: false });
        Ok((chromium, None, permit))
    }

    /// Starts a process, with its own walls where it can keep them in its sandbox.
    async fn start(&self) -> Result<Chromium, BrowserError> {
        let program = self.program()?;
        let try_with = |own_sandbox| {
            let launch = Launch { program: program.clone(), own_sandbox };
            async move {
                let want = SandboxSpec::new(Some("local".to_owned()), IMAGE, PROFILE);
                let sandbox = Arc::new(self.0.sandboxes.take(&want).await?);
                let started = Chromium::start(Arc::clone(&sandbox), &launch).await;
                if started.is_err() {
                    sandbox.destroy(true).await;
                }
                started
            }
        };
        if let Some(own_sandbox) = self.0.own_sandbox.get() {
            return try_with(*own_sandbox).await;
        }
        let started = match try_with(true).await {
            Ok(chromium) => (chromium, true),
            Err(BrowserError::Start(why)) => {
                tracing::info!(%why, "Chromium cannot keep its own walls in its sandbox, and starts without them");
                (try_with(false).await?, false)
            }
            Err(error) => return Err(error),
        };
        // Another start may have found it out meanwhile, and found the same.
        let _ = self.0.own_sandbox.set(started.1);
        Ok(started.0)
    }

    /// Makes empty contexts beside everything else, until enough are ready.
    fn refill(&self, chromium: &Arc<Chromium>) {
        let (pool, chromium) = (self.clone(), Arc::clone(chromium));
        #[expect(clippy::disallowed_methods, reason = "it ends by itself, after a few contexts")]
        tokio::spawn(async move { pool.fill(&chromium).await });
    }

    /// The same, for one caller at a time; others leave it to that one.
    async fn fill(&self, chromium: &Arc<Chromium>) {
        let is_first = self.process(chromium, |process| !std::mem::replace(&mut process.is_filling, true)).await;
        if is_first != Some(true) {
            return;
        }
        loop {
            let lacks = self.process(chromium, |process| {
                process.is_filling =
                    process.warm.len() < self.0.settings.warm_min.min(process.room.available_permits());
                process.is_filling
            });
            if lacks.await != Some(true) {
                return;
            }
            let made = Blank::create(Arc::clone(chromium)).await;
            let is_made = made.is_ok();
            self.process(chromium, |process| {
                process.warm.extend(made.ok());
                process.is_filling = is_made;
            })
            .await;
            if !is_made {
                return;
            }
        }
    }

    /// Looks at the process of a browser; `None` where the pool has it no more.
    async fn process<T>(&self, chromium: &Arc<Chromium>, look: impl FnOnce(&mut Process) -> T) -> Option<T> {
        let mut processes = self.0.processes.lock().await;
        processes.iter_mut().find(|process| Arc::ptr_eq(&process.chromium, chromium)).map(look)
    }

    fn isolation(&self, chromium: &Chromium) -> Value {
        let mut lines = serde_json::to_value(chromium.sandbox().isolation()).unwrap_or_default();
        let own = self.0.own_sandbox.get() == Some(&true);
        let by = if own { "namespaces and a filter of calls around each page" } else { "this machine does not let it" };
        lines["lines"]["chromium_sandbox"] = json!({"enforced": own, "by": by});
        lines
    }

    /// Ends all processes.
    pub async fn close(&self) {
        for process in self.0.processes.lock().await.drain(..) {
            process.chromium.end().await;
        }
    }
}

//! Sessions: the table of live ones, and the one function that begins a command on one.
//!
//! A session takes one command at a time, in order of arrival. A command that has started finishes and is recorded even if
//! its caller is gone: a pure step acts between two awaits, and everything else runs on a task of its own.

mod blob;
mod cell;
pub mod command;
mod create;
mod encoded_step;
mod error;
mod events;
mod fast_path;
mod finish;
mod fork;
mod from;
mod idempotency;
mod judge;
mod lease;
mod model_call;
mod observe;
mod open;
mod point;
mod read;
mod reaper;
mod rebuild;
mod recorder;
mod repeat;
mod screen;
mod step;
mod taken;
mod turn;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;
use futures::{FutureExt, StreamExt};
use palestra_protocol::environment::Limits;
use palestra_protocol::id::SessionId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use cell::{Cell, Live, Slot, Turn};
pub use command::{Answer, Begun, Command};
pub use encoded_step::EncodedStep;
pub use error::SessionError;
pub use model_call::Standing;
use palestra_catalog::Catalog;
use palestra_store::Store;
use palestra_store::Tenant;
use palestra_store::clock::Clock;
use palestra_store::row::NodeRow;
pub use read::Against;
use recorder::Recorder;
pub use screen::Screen;
pub use taken::TakenStep;

/// Permits of the blocking pool, however few processors there are: one that hangs must not stop all others.
const BLOCKING_PERMITS_MIN: usize = 4;

/// The dependencies of the session engine.
pub struct Parts {
    /// Holds the records.
    pub store: Arc<Store>,
    /// The environments.
    pub catalog: Catalog,
    /// This process.
    pub node: NodeRow,
    /// Limits of all sessions together.
    pub settings: SessionSettings,
    /// The data folder; live environments keep there what outlives the server.
    pub data: PathBuf,
    /// Ends background work and streams.
    pub cancel: CancellationToken,
    /// Holds every task, so that shutdown can wait for them.
    pub tracker: TaskTracker,
    /// Tells the time.
    pub clock: Clock,
}

/// Limits of all sessions together.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// Sessions in memory.
    pub sessions_max: usize,
    /// Milliseconds from a session's creation to its end.
    pub session_ttl_ms: u64,
    /// `limits.idle_ms` where neither the caller nor the environment names one.
    pub idle_ms: u64,
    /// Milliseconds that judging may take.
    pub judge_ms_max: u64,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { sessions_max: 200_000, session_ttl_ms: 86_400_000, idle_ms: 900_000, judge_ms_max: 60_000 }
    }
}

/// Every session of this node.
#[derive(Clone)]
pub struct Sessions(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    catalog: Catalog,
    node: NodeRow,
    /// The node's id, which every session's row shares.
    name: Arc<str>,
    settings: SessionSettings,
    folder: PathBuf,
    cancel: CancellationToken,
    /// Work of commands that goes on without its caller, and judging: what [`Sessions::drain`] waits for.
    tracker: TaskTracker,
    clock: Clock,
    table: DashMap<SessionId, Arc<Cell>>,
    recorder: Recorder,
    runs: lease::Leases,
    keys: idempotency::KeyLocks,
    draining: AtomicBool,
    /// Permits of the blocking pool.
    heavy: Arc<Semaphore>,
}

/// Sessions whose places are left at the same time when the server stops.
const CELLS_STILLED_AT_ONCE: usize = 32;

impl Sessions {
    /// Starts the recorder and the reaper, and takes up the leases of runs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start(parts: Parts) -> Result<Self, SessionError> {
        let Parts { store, catalog, node, settings, data, cancel, tracker, clock } = parts;
        let recorder = Recorder::start(Arc::clone(&store), node.clone(), &tracker, cancel.clone());
        let runs = lease::Leases::load(store.as_ref(), clock.now()).await?;
        let sessions = Self(Arc::new(Inner {
            store,
            catalog,
            name: node.id.as_str().into(),
            node,
            settings,
            folder: data.join("live"),
            cancel,
            tracker: TaskTracker::new(),
            clock,
            table: DashMap::new(),
            recorder,
            runs,
            keys: idempotency::KeyLocks::default(),
            draining: AtomicBool::new(false),
            heavy: Arc::new(Semaphore::new(
                std::thread::available_parallelism()
                    .map_or(BLOCKING_PERMITS_MIN, usize::from)
                    .max(BLOCKING_PERMITS_MIN),
            )),
        }));
        tracker.spawn(reaper::run(sessions.clone()));
        Ok(sessions)
    }

    /// Begins a command: the one entry of all of them. A step that has to wait for nothing, as most do, is taken here and now.
    ///
    /// A running command takes its place in the session's queue at its first poll. One that is dropped before its turn comes never
    /// runs; one that has started finishes and is recorded.
    pub fn begin(&self, tenant: &Tenant, command: Command) -> Begun {
        if self.0.draining.load(Ordering::Relaxed) {
            return Begun::Done(Err(SessionError::Draining));
        }
        let command = match command {
            Command::Step { session, step } => match self.step_now(tenant, session, step) {
                Ok(begun) => return begun,
                Err(step) => Command::Step { session, step },
            },
            command => command,
        };
        let (sessions, tenant) = (self.clone(), Arc::clone(tenant));
        Begun::Running(Box::pin(async move { sessions.run_in_turn(&tenant, command).await }))
    }

    /// Begins a command and waits for its answer, which comes once the record is committed.
    ///
    /// # Errors
    /// When the command is refused; it has then changed nothing.
    pub async fn run(&self, tenant: &Tenant, command: Command) -> Result<Answer, SessionError> {
        self.begin(tenant, command).finish().await
    }

    async fn run_in_turn(&self, tenant: &Tenant, command: Command) -> Result<Answer, SessionError> {
        match command {
            Command::Step { session, step } => self.step(tenant, session, step).await.map(Answer::Stepped),
            Command::Create { request, key } => self.create(tenant, *request, key).await,
            Command::Reset { session, request, key } => self.reset(tenant, session, request, key).await,
            Command::Finish { session, request } => self.finish(tenant, session, request).await,
            Command::Verify { session, request } => self.verify(tenant, session, request).await,
            Command::Fork { session, request, key } => self.fork(tenant, session, request, key).await,
            Command::Snapshot { session, request, key } => self.take_snapshot(tenant, session, request, key).await,
            Command::Restore { session, request, key } => self.restore(tenant, session, request, key).await,
            Command::Close { session } => self.close(tenant, session).await,
        }
    }

    /// The number of sessions in memory.
    #[must_use]
    pub fn live(&self) -> usize {
        self.0.table.len()
    }

    /// Refuses new commands, waits for those that run and for their records.
    pub async fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
        let cells: Vec<Arc<Cell>> = self.0.table.iter().map(|entry| Arc::clone(entry.value())).collect();
        let still = |cell: Arc<Cell>| async move {
            let mut turn = cell.own_turn().await;
            let Slot::Live(live) = &mut *turn else { return };
            // A failed commit was reported to whoever waited for it.
            let _reported = live.ledger.latest().committed().await;
            if let Some(palestra_environment::Place::Live(mut place)) = live.place.take() {
                place.leave().await;
            }
        };
        futures::stream::iter(cells).for_each_concurrent(CELLS_STILLED_AT_ONCE, still).await;
        self.0.tracker.close();
        self.0.tracker.wait().await;
    }

    /// Runs work on a task of its own: once begun, it ends whether or not its caller waits.
    fn to_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, SessionError>> + Send + 'static,
    ) -> impl Future<Output = Result<T, SessionError>> {
        // Spawned here and not at the first poll, so that the callers' futures do not hold the work.
        let task = self.0.tracker.spawn(work);
        async move { task.await.map_err(|error| SessionError::Internal(error.to_string()))? }
    }

    /// Runs work that leaves nothing behind where it is dropped, with its caller. A panic ends the work alone.
    async fn with_caller<T>(&self, work: impl Future<Output = Result<T, SessionError>>) -> Result<T, SessionError> {
        let work = AssertUnwindSafe(self.0.tracker.track_future(work)).catch_unwind();
        work.await.unwrap_or_else(|panic| {
            Err(SessionError::Internal(format!("a panic: {}", panic_message::panic_message(&panic))))
        })
    }

    /// The turn of a session that is in memory, or is brought there.
    async fn turn(&self, tenant: &Tenant, id: SessionId) -> Result<LiveTurn, SessionError> {
        loop {
            let now = self.0.clock.now();
            let cell = self.cell(id)?;
            let turn = cell.turn(now).await?;
            match &*turn {
                Slot::Retired => continue,
                Slot::Live(live) if live.ledger.failed() => self.retire(&cell, turn),
                Slot::Live(live) if live.row.tenant != *tenant => return Err(SessionError::NotFound("session")),
                Slot::Live(_) => return Ok(LiveTurn(turn)),
                Slot::Empty => {
                    let (sessions, tenant) = (self.clone(), Arc::clone(tenant));
                    // On a task of its own: a replay that takes longer than any caller waits has to end all the same.
                    let work = async move { sessions.fill(&tenant, &cell, turn).await };
                    if let Some(turn) = Box::pin(self.to_end(work)).await? {
                        return Ok(turn);
                    }
                }
            }
        }
    }

    /// Brings a session into its cell; none where another cell has taken its place meanwhile.
    async fn fill(&self, tenant: &Tenant, cell: &Arc<Cell>, mut turn: Turn) -> Result<Option<LiveTurn>, SessionError> {
        let loaded = self.load(tenant, cell.id).await;
        // A creation with this id may have been going on: its session is the one that counts.
        let current = self.0.table.get(&cell.id).is_some_and(|kept| Arc::ptr_eq(&kept, cell));
        match loaded {
            Ok(live) if current => {
                *turn = Slot::Live(live);
                Ok(Some(LiveTurn(turn)))
            }
            Ok(_) => {
                self.retire(cell, turn);
                Ok(None)
            }
            Err(error) => {
                self.retire(cell, turn);
                Err(error)
            }
        }
    }

    /// The session's cell; an empty one where it is not in memory.
    fn cell(&self, id: SessionId) -> Result<Arc<Cell>, SessionError> {
        if let Some(cell) = self.0.table.get(&id) {
            return Ok(Arc::clone(&cell));
        }
        self.check_capacity(1)?;
        let cell = self.0.table.entry(id).or_insert_with(|| Cell::new(id, Slot::Empty, self.0.clock.now()));
        Ok(Arc::clone(&cell))
    }

    fn check_capacity(&self, more: usize) -> Result<(), SessionError> {
        let most = self.0.settings.sessions_max;
        if self.0.table.len().saturating_add(more) > most { Err(SessionError::Capacity(most)) } else { Ok(()) }
    }

    /// Takes a cell out of the table. Whoever waits for its turn looks the session up again.
    fn retire(&self, cell: &Arc<Cell>, mut turn: Turn) {
        if let Slot::Live(live) = &mut *turn
            && let Some(palestra_environment::Place::Live(mut place)) = live.place.take()
        {
            if live.ledger.failed() {
                // The session comes back from what its place leaves, so nobody has its turn before the place is left.
                let (sessions, cell) = (self.clone(), Arc::clone(cell));
                self.0.tracker.spawn(async move {
                    place.leave().await;
                    sessions.remove(&cell, turn);
                });
                return;
            }
            self.0.tracker.spawn(async move { place.close().await });
        }
        self.remove(cell, turn);
    }

    fn remove(&self, cell: &Arc<Cell>, mut turn: Turn) {
        self.0.table.remove_if(&cell.id, |_, kept| Arc::ptr_eq(kept, cell));
        *turn = Slot::Retired;
    }

    fn limits(&self, entry: &palestra_catalog::Entry, asked: Option<Limits>) -> Limits {
        let given = entry.spec().limits.or(Limits { idle_ms: Some(self.0.settings.idle_ms), ..Limits::default() });
        asked.unwrap_or_default().or(given)
    }
}

/// The turn of a session that is in memory.
struct LiveTurn(Turn);

impl LiveTurn {
    fn live(&mut self) -> Result<&mut Live, SessionError> {
        match &mut *self.0 {
            Slot::Live(live) => Ok(live),
            Slot::Empty | Slot::Retired => Err(SessionError::Internal("a turn without its session".to_owned())),
        }
    }
}

//! Templates by their content and warm slots on them: whoever takes a slot does not wait for the next one to be made.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Settings;
use super::server::Server;
use super::slot::{ReleasedSlot, Slot, SlotFactory};
use super::template::{self, Template};
use crate::engine::{Access, EngineError};
use crate::source::Source;

/// When to come back if all slots are taken.
const RETRY_AFTER_MS: u64 = 1_000;
/// Sorts of slots on a template: one for each access.
const SHELVES: usize = 3;

/// Hands out slots.
pub(super) struct Pool {
    factory: SlotFactory,
    room: Arc<Semaphore>,
    sessions_max: usize,
    warm: usize,
    templates_max: usize,
    templates: Mutex<HashMap<String, Arc<Entry>>>,
    /// Ends the filling of shelves.
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// A template, once it is made, and the warm slots on it by access.
struct Entry {
    template: OnceCell<Template>,
    used: Mutex<Instant>,
    shelves: [Templates; SHELVES],
}

struct Templates {
    idle: deadpool::unmanaged::Pool<Slot>,
    /// True if a task is filling it.
    filling: AtomicBool,
    /// True if one was asked for before. Nothing is kept warm for the first: whoever proves references opens many sources once.
    asked: AtomicBool,
}

impl Templates {
    /// Gives up what is on it.
    fn clear(&self) {
        while self.idle.try_remove().is_ok() {}
    }
}

impl Entry {
    fn new(warm: usize) -> Self {
        let shelf = |_| Templates {
            idle: deadpool::unmanaged::Pool::new(warm.max(1)),
            filling: AtomicBool::new(false),
            asked: AtomicBool::new(false),
        };
        Self { template: OnceCell::new(), used: Mutex::new(Instant::now()), shelves: [0, 1, 2].map(shelf) }
    }
}

impl Pool {
    pub(super) async fn start(settings: Settings) -> Result<Arc<Self>, EngineError> {
        let server = Server::connect(settings.cluster, &settings.node).await?;
        template::make_base(&server).await?;
        let templates_max = settings.templates_max.max(1);
        // Those of sessions, as many that are removed yet, and warm ones.
        let warm_max = settings.warm.saturating_mul(templates_max).saturating_mul(SHELVES);
        let places_max = settings.sessions_max.saturating_mul(2).saturating_add(warm_max);
        let (factory, receiver) = SlotFactory::new(Arc::clone(&server), places_max);
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        tasks.spawn(clean(server, receiver, stop.clone()));
        Ok(Arc::new(Self {
            factory,
            room: Arc::new(Semaphore::new(settings.sessions_max.min(Semaphore::MAX_PERMITS))),
            sessions_max: settings.sessions_max,
            warm: settings.warm,
            templates_max,
            templates: Mutex::new(HashMap::new()),
            stop,
            tasks,
        }))
    }

    fn server(&self) -> &Server {
        &self.factory.server
    }

    pub(super) fn open_sessions(&self) -> usize {
        self.sessions_max.saturating_sub(self.room.available_permits())
    }

    pub(super) fn warm(&self, source: &Source, access: Access) -> usize {
        let templates = self.templates.lock();
        templates.get(&source.digest).map_or(0, |entry| entry.shelves[access as usize].idle.status().available)
    }

    /// Makes the template of a source, unless it is there.
    pub(super) async fn prepare(&self, source: &Source) -> Result<(), EngineError> {
        self.entry(source).await.map(drop)
    }

    /// A slot on a source, and whether it was a warm one, which may have lost its connection while it waited.
    pub(super) async fn take(self: &Arc<Self>, source: &Source, access: Access) -> Result<(Slot, bool), EngineError> {
        let permit = self.permit()?;
        let entry = self.entry(source).await?;
        let (mut slot, warm) = match entry.shelves[access as usize].idle.try_remove() {
            Ok(slot) => (slot, true),
            Err(_) => (self.make(&entry, access).await?, false),
        };
        slot.permit = Some(permit);
        self.fill(entry, access);
        Ok((slot, warm))
    }

    /// A slot that did not wait, where one that waited turned out to be lost: so are those beside it.
    pub(super) async fn take_fresh(self: &Arc<Self>, source: &Source, access: Access) -> Result<Slot, EngineError> {
        let permit = self.permit()?;
        let entry = self.entry(source).await?;
        entry.shelves[access as usize].clear();
        let mut slot = self.make(&entry, access).await?;
        slot.permit = Some(permit);
        self.fill(entry, access);
        Ok(slot)
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, EngineError> {
        let busy = |_| EngineError::Busy { retry_after_ms: RETRY_AFTER_MS };
        Arc::clone(&self.room).try_acquire_owned().map_err(busy)
    }

    /// Makes a slot for a session. Open sessions and warm slots leave room for it, so that it waits at most for what is removed.
    async fn make(&self, entry: &Entry, access: Access) -> Result<Slot, EngineError> {
        self.factory.catch_up().await;
        let room = Arc::clone(&self.factory.room).acquire_owned().await;
        let room = room.map_err(|_| {
            EngineError::Missing("PostgreSQL is being closed: try again on a running server".to_owned())
        })?;
        Slot::make(&self.factory, room, template_of(entry)?, access).await
    }

    /// The entry of a source, with its template. Whoever else wants it waits for the same one.
    async fn entry(&self, source: &Source) -> Result<Arc<Entry>, EngineError> {
        if self.stop.is_cancelled() {
            return Err(EngineError::Missing("PostgreSQL is being closed: try again on a running server".to_owned()));
        }
        let (entry, old) = {
            let mut templates = self.templates.lock();
            let fresh = || Arc::new(Entry::new(self.warm));
            let entry = Arc::clone(templates.entry(source.digest.clone()).or_insert_with(fresh));
            *entry.used.lock() = Instant::now();
            let old = (templates.len() > self.templates_max).then(|| oldest(&mut templates)).flatten();
            (entry, old)
        };
        if let Some(old) = old {
            self.forget(&old).await;
        }
        let server = self.server();
        match entry.template.get_or_try_init(|| template::make(server, source)).await {
            Ok(_) => Ok(entry),
            Err(error) => {
                let mut templates = self.templates.lock();
                if templates.get(&source.digest).is_some_and(|known| Arc::ptr_eq(known, &entry)) {
                    templates.remove(&source.digest);
                }
                Err(error)
            }
        }
    }

    /// Removes a template that nobody uses.
    async fn forget(&self, entry: &Entry) {
        entry.shelves.iter().for_each(Templates::clear);
        let Some(template) = entry.template.get() else { return };
        if let Err(error) = template::remove(self.server(), &template.name).await {
            tracing::warn!(%error, template = template.name, "a template cannot be removed");
        }
    }

    /// Fills a shelf on a task of its own. What cannot be made is made when it is asked for, which tells why.
    fn fill(self: &Arc<Self>, entry: Arc<Entry>, access: Access) {
        let full = |shelf: &Templates, warm| shelf.idle.status().available >= warm;
        let shelf = &entry.shelves[access as usize];
        if !shelf.asked.swap(true, Ordering::AcqRel)
            || full(shelf, self.warm)
            || self.stop.is_cancelled()
            || shelf.filling.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let pool = Arc::clone(self);
        self.tasks.spawn(async move {
            let shelf = &entry.shelves[access as usize];
            while !full(shelf, pool.warm) && !pool.stop.is_cancelled() {
                pool.factory.catch_up().await;
                let Some(room) = pool.room_to_spare() else { break };
                let made = match template_of(&entry) {
                    Ok(template) => Slot::make(&pool.factory, room, template, access).await,
                    Err(error) => Err(error),
                };
                match made.map(|slot| shelf.idle.try_add(slot).is_ok()) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        tracing::debug!(%error, "warm databases could not be made");
                        break;
                    }
                }
            }
            shelf.filling.store(false, Ordering::Release);
        });
    }

    /// Room for a warm slot, where there stays enough for all sessions.
    fn room_to_spare(&self) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.factory.room).try_acquire_owned().ok()?;
        (self.factory.room.available_permits() >= self.sessions_max).then_some(room)
    }

    /// True if the server was our own and its process is gone.
    pub(super) fn ended(&self) -> bool {
        self.server().ended()
    }

    /// Ends the filling, removes everything, and ends the server if it is ours.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.room.close();
        self.factory.room.close();
        self.tasks.close();
        self.tasks.wait().await;
        let entries: Vec<Arc<Entry>> = self.templates.lock().drain().map(|(_, entry)| entry).collect();
        drop(entries);
        // A server of our own goes away with everything in it.
        if !self.server().is_private()
            && let Err(error) = self.server().sweep().await
        {
            tracing::warn!(%error, "databases of sessions could not be removed; they are at the next start");
        }
        self.server().close().await;
    }
}

fn template_of(entry: &Entry) -> Result<&Template, EngineError> {
    entry.template.get().ok_or_else(|| EngineError::Lost("a template is gone".to_owned()))
}

/// Takes out the entry that was not used for longest, of those that nobody uses now.
fn oldest(templates: &mut HashMap<String, Arc<Entry>>) -> Option<Arc<Entry>> {
    let unused = templates.iter().filter(|(_, entry)| Arc::strong_count(entry) == 1);
    let digest = unused.min_by_key(|(_, entry)| *entry.used.lock()).map(|(digest, _)| digest.clone())?;
    templates.remove(&digest)
}

/// Removes databases and roles of slots that were given up, until everything is removed at once.
async fn clean(server: Arc<Server>, mut releases: mpsc::Receiver<ReleasedSlot>, stop: CancellationToken) {
    loop {
        let released = tokio::select! {
            () = stop.cancelled() => return,
            released = releases.recv() => released,
        };
        let Some(released) = released else { return };
        let name = &*released.name;
        let removed = match template::remove(&server, name).await {
            Ok(()) => template::remove_role(&server, name).await,
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!(%error, name, "a session's database cannot be removed; it is at the next start");
        }
    }
}

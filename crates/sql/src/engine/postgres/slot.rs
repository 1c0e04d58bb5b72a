//! Slots for sessions: a database, the role that may use it, and a connection, made ahead of need and used once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::non_transactional::{NonTransactionalState, SEQUENCES, SORTS};
use super::server::{Purpose, Server, literal, lost};
use super::template::{GROUPS, Template};
use super::wire::Wire;
use crate::engine::{Access, EngineError};
use crate::script::quoted;

/// Connections of one session: its own, and one while an interrupted one still ends.
const CONNECTIONS_MAX: u32 = 2;

/// Databases that wait for their removal, above which no more are made. Removing one takes longer than making one, and each takes some
/// 8 MB of disk.
const REMOVALS_MAX: usize = 32;

/// A slot. When it is dropped its database and role are removed in the background.
pub(super) struct Slot {
    pub(super) wire: Wire,
    /// The database's name and the role's.
    pub(super) name: String,
    /// Bytes of the template.
    pub(super) size: u64,
    /// Its state beyond savepoints.
    pub(super) non_transactional: NonTransactionalState,
    /// Removes it.
    _claim: SlotGuard,
    server: Arc<Server>,
    /// Counts the session; warm slots have none.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// Where slots are made and where they go when nobody uses them any more.
#[derive(Clone)]
pub(super) struct SlotFactory {
    pub(super) server: Arc<Server>,
    /// A permit for each slot that there is, from before it is made until it is removed.
    pub(super) room: Arc<Semaphore>,
    releases: Releases,
}

/// The way to whoever removes slots.
#[derive(Clone)]
struct Releases {
    /// Has room for all of them.
    sender: mpsc::Sender<ReleasedSlot>,
    /// Slots that were released and are not removed.
    waiting: watch::Sender<usize>,
}

/// A database to be removed. It is dropped once it is.
pub(super) struct ReleasedSlot {
    pub(super) name: String,
    /// Where it is counted, once it waits.
    waiting: Option<watch::Sender<usize>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for ReleasedSlot {
    fn drop(&mut self) {
        if let Some(waiting) = &self.waiting {
            waiting.send_modify(|waiting| *waiting -= 1);
        }
    }
}

/// A slot that there is, at least in part. When it is dropped the slot goes where it is removed.
struct SlotGuard {
    releases: Releases,
    released: Option<ReleasedSlot>,
}

impl SlotFactory {
    /// With room for so many slots, those included that are to be removed yet; they come out of the receiver.
    pub(super) fn new(server: Arc<Server>, places_max: usize) -> (Self, mpsc::Receiver<ReleasedSlot>) {
        let places_max = places_max.clamp(1, Semaphore::MAX_PERMITS);
        let (sender, receiver) = mpsc::channel(places_max);
        let releases = Releases { sender, waiting: watch::Sender::new(0) };
        (Self { server, room: Arc::new(Semaphore::new(places_max)), releases }, receiver)
    }

    /// Waits until few slots wait for their removal, so that they do not fill the disk.
    pub(super) async fn catch_up(&self) {
        // The sender is here, so the wait ends by the count alone.
        let mut waiting = self.releases.waiting.subscribe();
        let _count = waiting.wait_for(|waiting| *waiting < REMOVALS_MAX).await;
    }
}

impl Slot {
    /// Makes a slot from a template, which takes up a permit of the ground.
    pub(super) async fn make(
        factory: &SlotFactory,
        permit: OwnedSemaphorePermit,
        template: &Template,
        access: Access,
    ) -> Result<Self, EngineError> {
        let server = &factory.server;
        let name = server.fresh_name("s");
        // From here on it is removed, whatever fails.
        let released = ReleasedSlot { name: name.clone(), waiting: None, _permit: permit };
        let claim = SlotGuard { releases: factory.releases.clone(), released: Some(released) };
        let password = server.password();
        let group = quoted(&server.name(GROUPS[access as usize]));
        let quoted_name = quoted(&name);
        let mut statements = vec![format!(
            "CREATE ROLE {quoted_name} LOGIN PASSWORD {} CONNECTION LIMIT {CONNECTIONS_MAX} IN ROLE {group}",
            literal(&password)
        )];
        if server.superuser {
            statements.push(format!("ALTER ROLE {quoted_name} SET temp_file_limit = '256MB'"));
        }
        statements.push(format!(
            "CREATE DATABASE {quoted_name} TEMPLATE {}{}",
            quoted(&template.name),
            strategy(server)
        ));
        statements.push(format!("REVOKE ALL ON DATABASE {quoted_name} FROM PUBLIC"));
        let rights = if access == Access::Read { "CONNECT" } else { "CONNECT, TEMPORARY" };
        statements.push(format!("GRANT {rights} ON DATABASE {quoted_name} TO {quoted_name}"));
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        server.run(Purpose::Make, &statements).await?;
        let mut wire = server.enter_as(&name, &name, &password).await.map_err(lost)?;
        // A server process looks up most of the catalogs once: better now than when somebody waits.
        wire.run(&[SORTS, SEQUENCES]).await.map_err(lost)?;
        let (size, non_transactional) = (template.size, template.non_transactional.clone());
        Ok(Self { wire, name, size, non_transactional, _claim: claim, server: Arc::clone(server), permit: None })
    }

    /// The server that holds it.
    pub(super) fn server(&self) -> Arc<Server> {
        Arc::clone(&self.server)
    }
}

/// Copying by blocks needs no checkpoint, so that sessions that run do not wait for one. Older versions know no other way.
fn strategy(server: &Server) -> &'static str {
    if server.version >= 150_000 { " STRATEGY wal_log" } else { "" }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let Some(mut released) = self.released.take() else { return };
        self.releases.waiting.send_modify(|waiting| *waiting += 1);
        released.waiting = Some(self.releases.waiting.clone());
        // There is always room: nothing is in it without a permit. Nobody receives any more when the engine is closed, and everything
        // is swept then.
        if let Err(mpsc::error::TrySendError::Full(released)) = self.releases.sender.try_send(released) {
            tracing::error!(name = released.name, "a session's database has no room among those that are removed");
        }
    }
}

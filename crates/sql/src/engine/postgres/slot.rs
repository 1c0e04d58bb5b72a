//! Slots for sessions: a database, the role that may use it, and a connection, made ahead of need and used once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::non_transactional::{NonTransactionalState, SEQUENCES, SORTS};
use super::server::{Purpose, Server, literal, lost};
use super::template::{GROUPS, Template};
use super::wire::Wire;
use crate::engine::{Access, EngineError};
use crate::script::quoted;

/// Connections of one session: its own, and one while an interrupted one still ends.
const CONNECTIONS_MAX: u32 = 2;

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
    /// Has room for all of them.
    releases: mpsc::Sender<ReleasedSlot>,
}

/// Databases to be removed.
pub(super) struct ReleasedSlot {
    pub(super) name: String,
    _permit: OwnedSemaphorePermit,
}

/// A slot that there is, at least in part. When it is dropped the slot goes where it is removed.
struct SlotGuard {
    releases: mpsc::Sender<ReleasedSlot>,
    released: Option<ReleasedSlot>,
}

impl SlotFactory {
    /// With room for so many slots, those included that are to be removed yet; they come out of the receiver.
    pub(super) fn new(server: Arc<Server>, places_max: usize) -> (Self, mpsc::Receiver<ReleasedSlot>) {
        let places_max = places_max.clamp(1, Semaphore::MAX_PERMITS);
        let (releases, receiver) = mpsc::channel(places_max);
        (Self { server, room: Arc::new(Semaphore::new(places_max)), releases }, receiver)
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
        let released = ReleasedSlot { name: name.clone(), _permit: permit };
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
        let Some(released) = self.released.take() else { return };
        // There is always room: nothing is in it without a permit. Nobody receives any more when the engine is closed, and everything
        // is swept then.
        if let Err(mpsc::error::TrySendError::Full(released)) = self.releases.try_send(released) {
            tracing::error!(name = released.name, "a session's database has no room among those that are removed");
        }
    }
}

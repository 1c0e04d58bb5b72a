//! PostgreSQL: a database, a role and a connection for every session, copied from a template ahead of need.
//!
//! [`server`] is the cluster as its administrator sees it and [`private`] one of our own; [`template`] and [`slot`] make what
//! sessions are given, and [`pool`] keeps it ready. A [`session`] runs statements over a [`wire`]: [`rules`] says what they are,
//! [`statement`] runs one of them, [`transaction`] knows which blocks and savepoints the acting side believes to be in.

mod aliases;
mod catalog;
mod clock;
mod database;
mod dates;
mod explain;
mod hardening;
mod non_transactional;
mod pool;
mod private;
mod rules;
mod schema_details;
mod server;
mod session;
mod slot;
mod statement;
mod template;
mod transaction;
mod values;
mod watch;
mod wire;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

pub use server::Cluster;

use self::pool::Pool;
use self::session::Session;
use crate::engine::{Access, Database, Engine, EngineError, Opening};
use crate::source::Source;
use crate::value::Dialect;

/// Settings of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Location of databases.
    pub cluster: Cluster,
    /// Part of the name of everything that is made there, 1 to 24 of a-z and 0-9. What bears it is removed at the start and the end, so
    /// no other server that uses the cluster may have the same.
    pub node: String,
    /// Databases that are kept ready for each template and access in use.
    pub warm: usize,
    /// Sessions at once.
    pub sessions_max: usize,
    /// Templates at once; the one that was not used for longest makes way.
    pub templates_max: usize,
}

/// Databases on PostgreSQL. A server of our own that ended is started again when the next database is opened.
#[derive(Clone)]
pub struct PostgresEngine(Arc<Inner>);

struct Inner {
    settings: Settings,
    pool: Mutex<Arc<Pool>>,
    /// Held while a server is started or ended; whether the engine was closed.
    closed: tokio::sync::Mutex<bool>,
}

impl PostgresEngine {
    /// Connects to the cluster, or starts it; removes what an earlier process of this node left.
    ///
    /// # Errors
    /// [`EngineError::Missing`] when PostgreSQL is not there, too old, or does not let us do what is needed, with the next step.
    pub async fn connect(settings: Settings) -> Result<Self, EngineError> {
        let pool = Mutex::new(Pool::start(settings.clone()).await?);
        Ok(Self(Arc::new(Inner { settings, pool, closed: tokio::sync::Mutex::new(false) })))
    }

    /// Removes every database and role that was made, and ends the server if it is our own. Sessions that are still open are lost.
    pub async fn close(&self) {
        let mut closed = self.0.closed.lock().await;
        *closed = true;
        self.known().close().await;
    }

    fn known(&self) -> Arc<Pool> {
        Arc::clone(&self.0.pool.lock())
    }

    /// The pool, on a server that is started again where it ended by itself.
    async fn pool(&self) -> Result<Arc<Pool>, EngineError> {
        if !self.known().ended() {
            return Ok(self.known());
        }
        let closed = self.0.closed.lock().await;
        if !*closed && self.known().ended() {
            tracing::warn!("the private PostgreSQL server ended and is started again");
            // What is left of it lets go of the folder first.
            self.known().close().await;
            let pool = Pool::start(self.0.settings.clone()).await?;
            *self.0.pool.lock() = pool;
        }
        Ok(self.known())
    }

    /// Ends a private server that an earlier process left in a folder, and removes its files. Nothing happens where there is none.
    ///
    /// # Errors
    /// When they cannot be removed.
    pub async fn sweep_private(folder: &Path) -> Result<(), EngineError> {
        let folder = folder.to_owned();
        let swept = tokio::task::spawn_blocking(move || private::sweep(&folder)).await;
        swept.map_err(|error| EngineError::Lost(error.to_string()))?
    }

    /// True if a private server could be started from the programs that are installed here.
    #[must_use]
    pub fn installed() -> bool {
        private::find_programs(None).is_ok()
    }

    /// Sessions that are open.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        self.known().open_sessions()
    }
}

#[async_trait]
impl Engine for PostgresEngine {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn ready(&self, source: &Source, access: Access) -> usize {
        self.known().warm(source, access)
    }

    async fn prepare(&self, source: &Arc<Source>) -> Result<(), EngineError> {
        self.pool().await?.prepare(source).await
    }

    async fn open(&self, source: &Arc<Source>, opening: &Opening) -> Result<Box<dyn Database>, EngineError> {
        let pool = self.pool().await?;
        let (slot, warm) = pool.take(source, opening.access).await?;
        let session = match Box::pin(Session::begin(slot, *opening)).await {
            Err(EngineError::Lost(why)) if warm => {
                tracing::debug!(why, "a warm database was lost while it waited");
                let slot = self.pool().await?.take_fresh(source, opening.access).await?;
                Box::pin(Session::begin(slot, *opening)).await?
            }
            begun => begun?,
        };
        Ok(Box::new(session))
    }
}

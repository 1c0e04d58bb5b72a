//! Where SQL is run: the engines of a server, each started when it is first needed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use palestra_sql::engine::postgres::{self, Cluster, PostgresEngine};
use palestra_sql::engine::sqlite::{self, SqliteEngine};
use palestra_sql::engine::{Engine, EngineError};
use palestra_sql::value::Dialect;
use tokio::sync::OnceCell;

/// The hidden command of this program that serves as a worker of SQLite.
pub const WORKER_COMMAND: &str = "sqlite-worker";

/// Templates that a cluster holds at once.
const TEMPLATES_MAX: usize = 64;

/// The engines of a server. Cheap to clone.
#[derive(Clone)]
pub struct Databases(Arc<Inner>);

struct Inner {
    settings: Settings,
    sqlite: OnceCell<Arc<SqliteEngine>>,
    postgres: OnceCell<Arc<PostgresEngine>>,
}

/// The configuration of SQL engines.
#[derive(Clone)]
pub struct Settings {
    /// The program and its arguments that serve as a worker of SQLite; none where SQL is not played.
    pub worker: Option<Vec<OsString>>,
    /// Workers; 0 follows the cores.
    pub workers: usize,
    /// The cluster that the user named. It may hold a password, so that settings have no debugging output.
    pub postgres_url: Option<String>,
    /// Where a private cluster lies; none where there is not to be one.
    pub postgres_folder: Option<PathBuf>,
    /// Part of the names of everything in the cluster.
    pub node: String,
    /// Databases of each sort in use that are kept ready.
    pub warm: usize,
    /// Sessions of SQLite at once.
    pub sqlite_max: usize,
    /// Sessions of PostgreSQL at once.
    pub postgres_max: usize,
}

impl Databases {
    /// Engines that start when they are needed.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner { settings, sqlite: OnceCell::new(), postgres: OnceCell::new() }))
    }

    /// No engine at all, for those who read tasks and play none.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Settings {
            worker: None,
            workers: 0,
            postgres_url: None,
            postgres_folder: None,
            node: String::new(),
            warm: 0,
            sqlite_max: 0,
            postgres_max: 0,
        })
    }

    /// Checks that an engine of a dialect can be had, as far as that is known without starting it.
    ///
    /// # Errors
    /// In words, with what to do about it.
    pub fn offers(&self, dialect: Dialect) -> Result<(), String> {
        let settings = &self.0.settings;
        match dialect {
            Dialect::Sqlite if settings.worker.is_none() => {
                Err("this server runs no SQLite: ask another one, or have it started with SQLite".to_owned())
            }
            Dialect::Postgres if settings.postgres_url.is_none() && !PostgresEngine::installed() => {
                Err("there is no PostgreSQL: install its server programs, or name a cluster by --sql-postgres-url"
                    .to_owned())
            }
            Dialect::Sqlite | Dialect::Postgres => Ok(()),
        }
    }

    /// The engine of a dialect, started where it was not.
    ///
    /// # Errors
    /// When it cannot be had here.
    pub async fn engine(&self, dialect: Dialect) -> Result<Arc<dyn Engine>, EngineError> {
        Ok(match dialect {
            Dialect::Sqlite => self.0.sqlite.get_or_try_init(|| async { self.start_sqlite() }).await?.clone(),
            Dialect::Postgres => self.0.postgres.get_or_try_init(|| self.start_postgres()).await?.clone(),
        })
    }

    /// Removes what an earlier process left: the databases and roles of a cluster that the user named, and a private cluster.
    ///
    /// # Errors
    /// When a cluster that the user named cannot be used.
    pub async fn sweep(&self) -> Result<(), EngineError> {
        let settings = &self.0.settings;
        if let Some(folder) = &settings.postgres_folder {
            PostgresEngine::sweep_private(folder).await?;
        }
        if settings.postgres_url.is_some() {
            self.engine(Dialect::Postgres).await?;
        }
        Ok(())
    }

    /// Ends the engines that were started.
    pub async fn close(&self) {
        if let Some(sqlite) = self.0.sqlite.get() {
            sqlite.close().await;
        }
        if let Some(postgres) = self.0.postgres.get() {
            postgres.close().await;
        }
    }

    fn start_sqlite(&self) -> Result<Arc<SqliteEngine>, EngineError> {
        let settings = &self.0.settings;
        let missing = || {
            EngineError::Missing(
                "this server runs no SQLite: ask another one, or have it started with SQLite".to_owned(),
            )
        };
        let command = settings.worker.clone().ok_or_else(missing)?;
        let mut chosen = sqlite::Settings::new(command);
        chosen.sessions_max = settings.sqlite_max;
        if settings.workers > 0 {
            chosen.workers = settings.workers;
        }
        Ok(Arc::new(SqliteEngine::new(chosen)))
    }

    async fn start_postgres(&self) -> Result<Arc<PostgresEngine>, EngineError> {
        let settings = &self.0.settings;
        let cluster = match (&settings.postgres_url, &settings.postgres_folder) {
            (Some(url), _) => Cluster::Url(url.clone()),
            (None, Some(folder)) => Cluster::Private { folder: folder.clone(), binaries: None },
            (None, None) => {
                return Err(EngineError::Missing(
                    "this server runs no PostgreSQL: ask another one, or have it started with PostgreSQL".to_owned(),
                ));
            }
        };
        let chosen = postgres::Settings {
            warm: settings.warm,
            sessions_max: settings.postgres_max,
            cluster,
            node: settings.node.clone(),
            templates_max: TEMPLATES_MAX,
        };
        Ok(Arc::new(PostgresEngine::connect(chosen).await?))
    }
}

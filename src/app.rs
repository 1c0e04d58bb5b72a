//! The application: its parts, how they start, and how they stop.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use palestra_protocol::action::Action;
use palestra_sql::engine::EngineError;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::backends::{self, BackendsError};
use crate::config::{Config, ConfigError};
use crate::telemetry::{self, TelemetryError};
use palestra_auth::{Auth, DEFAULT_TENANT, RootSecret, SecretError};
use palestra_catalog::{Catalog, CatalogError};
use palestra_environment::EnvironmentKind;
use palestra_families::backends::Backends;
use palestra_families::registry::{self, BuiltinSettings};
use palestra_families::web;
use palestra_jobs::{JobParts, Jobs, JobsError};
use palestra_model_calls::{ModelCalls, Parts as ModelCallParts};
use palestra_session::{Parts, SessionError, Sessions};
use palestra_store::clock::Clock;
use palestra_store::row::NodeRow;
use palestra_store::{self as store, Store, StoreError, Target};

/// The embedded store's file in the data folder.
const DATABASE_FILE: &str = "palestra.db";
/// Bytes of a node's name.
const NODE_BYTES_MAX: usize = 200;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data folder cannot be used.
    #[error("the data folder {} cannot be used: {source}; choose another with --data, or check its owner", path.display())]
    Data {
        /// Which folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process works in the data folder.
    #[error("another palestra works in the data folder {}: stop it, or choose another folder with --data", .0.display())]
    Locked(PathBuf),
    /// The node's name is none.
    #[error("{} holds no node name: remove the file to get a new one", .0.display())]
    Node(PathBuf),
    /// The root secret cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An environment is broken.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Sandboxes cannot be had where they were asked for.
    #[error(transparent)]
    Desk(#[from] BackendsError),
    /// The cluster in which SQL is to be played cannot be used.
    #[error("SQL cannot be played as asked for: {0}")]
    Databases(#[from] EngineError),
    /// The engine cannot start.
    #[error("the engine cannot start: {0}")]
    Sessions(#[from] SessionError),
    /// The queue cannot start.
    #[error("the queue of jobs cannot start: {0}")]
    Jobs(#[from] JobsError),
    /// Log or metrics cannot be set up.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
}

/// The parts of a running server. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    config: Config,
    store: Arc<Store>,
    catalog: Catalog,
    backends: Backends,
    sessions: Sessions,
    jobs: Jobs,
    auth: Auth,
    model_calls: ModelCalls,
    clock: Clock,
    metrics: PrometheusHandle,
    streams: Arc<Semaphore>,
    shutdown: CancellationToken,
    background: CancellationToken,
    tracker: TaskTracker,
    /// Held as long as the server lives, so that no other process works in the same folder.
    _folder: Option<File>,
}

/// The surroundings of a server: everything outside its process, and the clock.
pub struct Ground {
    /// Where everything is kept.
    pub store: Arc<Store>,
    /// The built-in environments.
    pub kinds: Vec<Arc<dyn EnvironmentKind>>,
    /// The back ends of places.
    pub backends: Backends,
    /// This process.
    pub node: NodeRow,
    /// Tells the time.
    pub clock: Clock,
}

impl App {
    /// Opens the store of a configuration and starts everything on it.
    ///
    /// # Errors
    /// When something that the server needs is not there, or belongs to another process.
    pub async fn open(config: Config) -> Result<Self, StartError> {
        config.check()?;
        let folder = lock_folder(&config.data)?;
        let root = match &config.secret {
            Some(secret) => RootSecret::from_text(secret.reveal()),
            None => RootSecret::load_or_create(&config.data.join("secret"))?,
        };
        let node = NodeRow { id: node_name(&config.data.join("node"))?, incarnation: Uuid::now_v7().to_string() };
        let store = open_store(&config).await?;
        store.claim_node(&node).await?;
        let mut kinds = registry::builtin(&BuiltinSettings { effects_folder: config.bench_effects.clone() });
        let desk = backends::open_desk(&config, store.as_ref(), &node.id).await?;
        let databases = backends::databases(&config, &node.id);
        databases.sweep().await?;
        let browsers = backends::browsers(&config, desk.sandboxes.clone());
        kinds.extend(web::all(&browsers));
        let backends = Backends { desk, databases, browsers };
        let ground = Ground { store, kinds, backends, node, clock: Clock::System };
        Self::assemble(config, ground, &root, Some(folder)).await
    }

    /// Starts everything on ground that is laid.
    ///
    /// # Errors
    /// When an environment is broken or the store fails.
    pub async fn assemble(
        config: Config,
        ground: Ground,
        root: &RootSecret,
        folder: Option<File>,
    ) -> Result<Self, StartError> {
        let Ground { store, kinds, backends, node, clock } = ground;
        let (shutdown, background, tracker) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let catalog = Catalog::new(Arc::clone(&store), kinds, backends.clone());
        let sessions = Sessions::start(Parts {
            store: Arc::clone(&store),
            catalog: catalog.clone(),
            node,
            settings: config.session_settings(),
            data: config.data.clone(),
            cancel: background.clone(),
            tracker: tracker.clone(),
            clock: clock.clone(),
        })
        .await?;
        let admin_key = config.admin_key.as_ref().map(crate::config::Secret::reveal);
        let auth = Auth::new(Arc::clone(&store), clock.clone(), root, admin_key);
        let jobs = Jobs::start(JobParts {
            store: Arc::clone(&store),
            tokens: auth.job_tokens(),
            settings: config.job_settings(),
            data: config.data.clone(),
            clock: clock.clone(),
            // Workers that wait for a job are not waited for.
            cancel: shutdown.clone(),
            tracker: tracker.clone(),
        })
        .await?;
        let model_calls = ModelCalls::new(ModelCallParts {
            store: Arc::clone(&store),
            sessions: sessions.clone(),
            jobs: jobs.clone(),
            seals: Arc::clone(auth.seals()),
            hosts: config.upstream_hosts.clone(),
            // Models are not waited for.
            stop: shutdown.clone(),
            clock: clock.clone(),
        });
        let metrics = telemetry::metrics()?;
        tracker.spawn(telemetry::keep_up(metrics.clone(), background.clone()));
        let sandboxes = backends.desk.sandboxes.clone();
        tracker.spawn(async move { sandboxes.tend().await });
        let streams = Arc::new(Semaphore::new(config.streams_max.min(Semaphore::MAX_PERMITS)));
        Ok(Self(Arc::new(Inner {
            config,
            store,
            catalog,
            backends,
            sessions,
            jobs,
            auth,
            model_calls,
            clock,
            metrics,
            streams,
            shutdown,
            background,
            tracker,
            _folder: folder,
        })))
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Where everything is kept.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// Which environments there are.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    /// The engine.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// The queue.
    #[must_use]
    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    /// Checks of credentials.
    #[must_use]
    pub fn auth(&self) -> &Auth {
        &self.0.auth
    }

    /// Model calls of sessions.
    #[must_use]
    pub fn model_calls(&self) -> &ModelCalls {
        &self.0.model_calls
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &PrometheusHandle {
        &self.0.metrics
    }

    /// Room for open streams.
    #[must_use]
    pub fn streams(&self) -> &Arc<Semaphore> {
        &self.0.streams
    }

    /// Cancelled once: ends the listener, sockets and event streams.
    #[must_use]
    pub fn shutdown(&self) -> &CancellationToken {
        &self.0.shutdown
    }

    /// Cancelled when the server stops, and when another process took the node over.
    pub(crate) fn background(&self) -> &CancellationToken {
        &self.0.background
    }

    /// Holds every task of the server.
    #[must_use]
    pub fn tracker(&self) -> &TaskTracker {
        &self.0.tracker
    }

    /// A solution of a task of a built-in environment, for the words that greet a new user.
    pub async fn first_solution(&self, environment: &str, task: &str) -> Option<Action> {
        let entry = self.0.catalog.resolve(DEFAULT_TENANT, environment).await.ok()?;
        let task = self.0.catalog.task_of_id(&entry, task).await.ok()?;
        entry.kind.oracle(&task)?.into_iter().next()
    }

    /// Finishes what runs, records it, and closes the store. Takes at most `drain_ms` for each of the two.
    pub async fn close(&self) {
        self.0.shutdown.cancel();
        let drain_timeout = Duration::from_millis(self.0.config.drain_ms);
        if tokio::time::timeout(drain_timeout, self.0.sessions.drain()).await.is_err() {
            tracing::warn!(drain_ms = self.0.config.drain_ms, "commands were still running when the server stopped");
        }
        if tokio::time::timeout(drain_timeout, self.0.model_calls.drain()).await.is_err() {
            tracing::warn!("model calls were still running when the server stopped");
        }
        self.0.background.cancel();
        if tokio::time::timeout(drain_timeout, self.0.backends.browsers.close()).await.is_err() {
            tracing::warn!("browsers were left to end with their sandboxes");
        }
        if tokio::time::timeout(drain_timeout, self.0.backends.desk.sandboxes.close()).await.is_err() {
            tracing::warn!("warm sandboxes were left to end by themselves");
        }
        if tokio::time::timeout(drain_timeout, self.0.backends.databases.close()).await.is_err() {
            tracing::warn!("databases were left for the next start to remove");
        }
        self.0.tracker.close();
        if tokio::time::timeout(drain_timeout, self.0.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.0.tracker.len(), "tasks were still running when the server stopped");
        }
        self.0.store.close().await;
    }
}

/// The store that a configuration names.
async fn open_store(config: &Config) -> Result<Arc<Store>, StoreError> {
    let target = match &config.database_url {
        Some(url) => Target::Postgres(url.reveal().to_owned()),
        None => Target::Sqlite(config.data.join(DATABASE_FILE)),
    };
    store::open(&target).await
}

fn lock_folder(folder: &Path) -> Result<File, StartError> {
    let fail = |source| StartError::Data { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(fail)?;
    let path = folder.join("lock");
    let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(fail)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::Locked(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(StartError::Data { path, source }),
    }
}

/// The name of this node, made on the first start and kept since.
fn node_name(path: &Path) -> Result<String, StartError> {
    let fail = |source| StartError::Data { path: path.to_owned(), source };
    match fs::read_to_string(path) {
        Ok(text) => {
            let name = text.trim();
            let sane =
                !name.is_empty() && name.len() <= NODE_BYTES_MAX && name.bytes().all(|byte| byte.is_ascii_graphic());
            if sane { Ok(name.to_owned()) } else { Err(StartError::Node(path.to_owned())) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = Uuid::now_v7().to_string();
            let draft = path.with_extension("new");
            fs::write(&draft, &name).map_err(fail)?;
            fs::rename(&draft, path).map_err(fail)?;
            Ok(name)
        }
        Err(error) => Err(fail(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_lent_to_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock_folder(folder.path()).unwrap();
        assert!(matches!(lock_folder(folder.path()), Err(StartError::Locked(_))));
        drop(held);
        assert!(lock_folder(folder.path()).is_ok());
    }

    #[test]
    fn a_node_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node");
        let name = node_name(&path).unwrap();
        assert_eq!(node_name(&path).unwrap(), name);
        fs::write(&path, "two words").unwrap();
        assert!(matches!(node_name(&path), Err(StartError::Node(_))));
    }
}

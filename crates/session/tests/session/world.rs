//! A world of sessions over one store, which can lose its process and come back.

use std::sync::Arc;

use palestra_catalog::Catalog;
use palestra_environment::EnvironmentKind;
use palestra_families::backends::Backends;
use palestra_families::registry::{self, BuiltinSettings};
use palestra_session::{Parts, SessionSettings, Sessions};
use palestra_store::Tenant;
use palestra_store::clock::Clock;
use palestra_store::row::NodeRow;
use palestra_store::{self as store, Store, Target};
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Idle time after which sessions of these tests are parked.
pub(crate) const IDLE_MS: u64 = 60_000;

/// What a world is made of besides the built-in kinds.
pub(crate) struct Setup {
    /// A file in the world's own folder where left out.
    pub target: Option<Target>,
    pub kinds: Vec<Arc<dyn EnvironmentKind>>,
    pub settings: SessionSettings,
}

impl Default for Setup {
    fn default() -> Self {
        let settings = SessionSettings { idle_ms: IDLE_MS, ..SessionSettings::default() };
        Self { target: None, kinds: Vec::new(), settings }
    }
}

pub(crate) struct World {
    pub sessions: Sessions,
    pub tenant: Tenant,
    pub clock: Clock,
    pub data: TempDir,
    target: Target,
    /// Beside the built-in ones, from the next start on.
    pub kinds: Vec<Arc<dyn EnvironmentKind>>,
    settings: SessionSettings,
    cancel: CancellationToken,
    incarnation: u32,
}

impl World {
    pub(crate) async fn open(target: Option<Target>) -> Self {
        Self::open_with(Setup { target, ..Setup::default() }).await
    }

    pub(crate) async fn open_with(setup: Setup) -> Self {
        let Setup { target, kinds, settings } = setup;
        let data = tempfile::tempdir().expect("a temporary folder");
        let target = target.unwrap_or_else(|| Target::Sqlite(data.path().join("palestra.db")));
        let clock = Clock::manual();
        let cancel = CancellationToken::new();
        let start = Start { target: &target, kinds: &kinds, settings: &settings, data: &data, clock: &clock };
        let sessions = start.run(&cancel, 0).await;
        Self { sessions, tenant: "default".into(), clock, data, target, kinds, settings, cancel, incarnation: 0 }
    }

    /// Forgets everything in memory without a word, as the death of the process does, and starts again from the store.
    pub(crate) async fn crash(&mut self) {
        self.cancel.cancel();
        self.cancel = CancellationToken::new();
        self.incarnation += 1;
        let Self { target, kinds, settings, data, clock, .. } = &*self;
        self.sessions = Start { target, kinds, settings, data, clock }.run(&self.cancel, self.incarnation).await;
    }

    /// Changes the store behind the server's back, which is a file of this world's own.
    pub(crate) async fn sql(&self, sql: &'static str) {
        let url = format!("sqlite://{}", self.data.path().join("palestra.db").display());
        let mut connection = sqlx::SqliteConnection::connect(&url).await.expect("the database opens");
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("the statement runs");
    }

    /// Lets every session fall idle, so that it is parked.
    pub(crate) async fn park(&self) {
        self.clock.advance_ms(i64::try_from(IDLE_MS).expect("small") + 1);
        self.sessions.sweep().await.expect("a sweep");
    }
}

struct Start<'a> {
    target: &'a Target,
    kinds: &'a [Arc<dyn EnvironmentKind>],
    settings: &'a SessionSettings,
    data: &'a TempDir,
    clock: &'a Clock,
}

impl Start<'_> {
    async fn run(&self, cancel: &CancellationToken, incarnation: u32) -> Sessions {
        let store: Arc<Store> = store::open(self.target).await.expect("a store");
        let node = NodeRow { id: "node".to_owned(), incarnation: incarnation.to_string() };
        store.claim_node(&node).await.expect("the node");
        let effects_folder = Some(self.data.path().join("effects"));
        let mut kinds = registry::builtin(&BuiltinSettings { effects_folder });
        kinds.extend(self.kinds.iter().cloned());
        let backends = Backends::none(self.data.path());
        let catalog = Catalog::new(Arc::clone(&store), kinds, backends);
        Sessions::start(Parts {
            store,
            catalog,
            node,
            settings: self.settings.clone(),
            data: self.data.path().to_owned(),
            cancel: cancel.clone(),
            tracker: TaskTracker::new(),
            clock: self.clock.clone(),
        })
        .await
        .expect("sessions")
    }
}

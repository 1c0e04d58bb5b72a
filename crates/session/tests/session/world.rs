//! A world of sessions over one store, which can lose its process and come back.

use std::sync::Arc;

use palestra_catalog::Catalog;
use palestra_environment::EnvironmentKind;
use palestra_families::backends::Backends;
use palestra_families::registry::{self, BuiltinSettings};
use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;
use palestra_protocol::session::{CreateSession, Created, Opened, TaskChoice};
use palestra_protocol::step::{Step, Stepped};
use palestra_session::{Answer, Command, Parts, SessionError, SessionSettings, Sessions};
use palestra_store::Tenant;
use palestra_store::clock::Clock;
use palestra_store::row::NodeRow;
use palestra_store::{self as store, Store, Target};
use serde_json::{Value, json};
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Idle time after which sessions of these tests are parked.
pub(crate) const IDLE_MS: u64 = 60_000;

/// The parts of a world besides the built-in kinds.
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

pub(crate) fn counter(config: &Value) -> CreateSession {
    let mut request: CreateSession =
        serde_json::from_value(json!({"environment": "bench/counter", "config": config})).expect("a creation");
    request.task = Some(TaskChoice { index: Some(0), ..TaskChoice::default() });
    request
}

pub(crate) async fn create(world: &World, request: CreateSession) -> Opened {
    match send(world, Command::Create { request: Box::new(request), key: None }).await {
        Ok(Answer::Created(Created::One(opened))) => *opened,
        other => panic!("creation failed: {other:?}"),
    }
}

pub(crate) async fn send(world: &World, command: Command) -> Result<Answer, SessionError> {
    world.sessions.run(&world.tenant, command).await
}

pub(crate) fn step_of(session: SessionId, seq: Option<u64>, text: &str) -> Command {
    let action = Action::Text(text.to_owned());
    Command::Step { session, step: Box::new(Step { seq, action, episode: None, observe: None, meta: None }) }
}

pub(crate) async fn step(world: &World, session: SessionId, seq: u64, text: &str) -> Result<Stepped, SessionError> {
    match send(world, step_of(session, Some(seq), text)).await? {
        Answer::Stepped(stepped) => Ok(Stepped::clone(&stepped)),
        other => panic!("a step answered {other:?}"),
    }
}

pub(crate) async fn count(world: &World, session: SessionId) -> Value {
    world.sessions.state(&world.tenant, session, "/count").await.expect("a state").state
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

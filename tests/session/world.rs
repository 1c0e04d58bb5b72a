//! A world of sessions over one store, which can lose its process and come back.

use std::sync::Arc;

use palestra::catalog::Catalog;
use palestra::clock::Clock;
use palestra::environment::registry::{self, BuiltinSettings};
use palestra::session::{Parts, SessionSettings, Sessions, Tenant};
use palestra::store::row::NodeRow;
use palestra::store::{self, Store, Target};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Idle time after which sessions of these tests are parked.
pub const IDLE_MS: u64 = 60_000;

pub struct World {
    pub sessions: Sessions,
    pub tenant: Tenant,
    pub clock: Clock,
    pub data: TempDir,
    target: Target,
    cancel: CancellationToken,
    incarnation: u32,
}

impl World {
    pub async fn open(target: Option<Target>) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let target = target.unwrap_or_else(|| Target::Sqlite(data.path().join("palestra.db")));
        let clock = Clock::manual();
        let cancel = CancellationToken::new();
        let sessions = start(&target, &data, &clock, &cancel, 0).await;
        Self { sessions, tenant: "default".into(), clock, data, target, cancel, incarnation: 0 }
    }

    /// Forgets everything in memory without a word, as the death of the process does, and starts again from the store.
    pub async fn crash(&mut self) {
        self.cancel.cancel();
        self.cancel = CancellationToken::new();
        self.incarnation += 1;
        self.sessions = start(&self.target, &self.data, &self.clock, &self.cancel, self.incarnation).await;
    }

    /// Lets every session fall idle, so that it is parked.
    pub async fn park(&self) {
        self.clock.advance_ms(i64::try_from(IDLE_MS).expect("small") + 1);
        self.sessions.sweep().await.expect("a sweep");
    }
}

async fn start(
    target: &Target,
    data: &TempDir,
    clock: &Clock,
    cancel: &CancellationToken,
    incarnation: u32,
) -> Sessions {
    let store: Arc<dyn Store> = store::open(target).await.expect("a store");
    let node = NodeRow { id: "node".to_owned(), incarnation: incarnation.to_string() };
    store.claim_node(&node).await.expect("the node");
    let effects_folder = Some(data.path().join("effects"));
    let kinds = registry::builtin(&BuiltinSettings { effects_folder });
    let catalog = Catalog::new(Arc::clone(&store), kinds).expect("a catalog");
    Sessions::start(Parts {
        store,
        catalog,
        node,
        settings: SessionSettings { idle_ms: IDLE_MS, ..SessionSettings::default() },
        data: data.path().to_owned(),
        cancel: cancel.clone(),
        tracker: TaskTracker::new(),
        clock: clock.clone(),
    })
    .await
    .expect("sessions")
}

//! Stand-in until the engine is merged.

pub mod command;
mod error;

use std::path::PathBuf;
use std::sync::Arc;

use futures::stream::BoxStream;
use palestra_protocol::episode::{Episode, Event, Rescore, StepRecord, Trajectory};
use palestra_protocol::id::{EpisodeId, RunId, SessionId, SnapshotId};
use palestra_protocol::run::{CreateRun, Run};
use palestra_protocol::session::{Diff, Session, Snapshot, StateView};
use palestra_protocol::verdict::Verdict;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::store::Store;
use crate::store::row::{EpisodeFilter, NodeRow, PageRequest, SessionFilter};
pub use command::{Answer, Command, Tenant};
pub use error::SessionError;

pub struct Parts {
    pub store: Arc<dyn Store>,
    pub catalog: Catalog,
    pub node: NodeRow,
    pub settings: SessionSettings,
    pub data: PathBuf,
    pub cancel: CancellationToken,
    pub tracker: TaskTracker,
    pub clock: Clock,
}

#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub sessions_max: usize,
    pub session_ttl_ms: u64,
    pub idle_ms: u64,
    pub judge_ms_max: u64,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { sessions_max: 200_000, session_ttl_ms: 86_400_000, idle_ms: 900_000, judge_ms_max: 60_000 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    Snapshot(SnapshotId),
    Session(SessionId),
}

type R<T> = Result<T, SessionError>;
fn no<T>() -> R<T> {
    Err(SessionError::NotFound("thing"))
}

#[derive(Clone)]
pub struct Sessions;

#[rustfmt::skip]
impl Sessions {
    pub async fn start(_: Parts) -> R<Self> { Ok(Self) }
    pub async fn run(&self, _: &Tenant, _: Command) -> R<Answer> { no() }
    pub async fn get(&self, _: &Tenant, _: SessionId) -> R<Session> { no() }
    pub async fn list(&self, _: &Tenant, _: &SessionFilter, _: &PageRequest) -> R<Vec<Session>> { Ok(vec![]) }
    pub async fn state(&self, _: &Tenant, _: SessionId, _: &str) -> R<StateView> { no() }
    pub async fn diff(&self, _: &Tenant, _: SessionId, _: Against) -> R<Diff> { no() }
    pub async fn snapshots(&self, _: &Tenant, _: SessionId) -> R<Vec<Snapshot>> { no() }
    pub async fn episode(&self, _: &Tenant, _: EpisodeId) -> R<Episode> { no() }
    pub async fn episodes(&self, _: &Tenant, _: &EpisodeFilter, _: &PageRequest) -> R<Vec<Episode>> { Ok(vec![]) }
    pub async fn step_record(&self, _: &Tenant, _: EpisodeId, _: u64) -> R<StepRecord> { no() }
    pub async fn trajectory(&self, _: &Tenant, _: EpisodeId) -> R<Trajectory> { no() }
    pub async fn verdicts(&self, _: &Tenant, _: EpisodeId) -> R<Vec<Verdict>> { no() }
    pub async fn rescore(&self, _: &Tenant, _: EpisodeId, _: Rescore) -> R<Verdict> { no() }
    pub async fn events(&self, _: &Tenant, _: SessionId, _: Option<String>) -> R<BoxStream<'static, Event>> { no() }
    pub async fn create_run(&self, _: &Tenant, _: CreateRun) -> R<Run> { no() }
    pub async fn heartbeat(&self, _: &Tenant, _: RunId) -> R<Run> { no() }
    pub async fn run_info(&self, _: &Tenant, _: RunId) -> R<Run> { no() }
    pub async fn delete_run(&self, _: &Tenant, _: RunId) -> R<Run> { no() }
    pub fn live(&self) -> usize { 0 }
    pub async fn drain(&self) {}
}

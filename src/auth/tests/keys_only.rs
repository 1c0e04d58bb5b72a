//! A store that holds API keys and nothing else.

use async_trait::async_trait;
use palestra_protocol::id::{EpisodeId, KeyId, RunId, SessionId, SnapshotId};
use palestra_protocol::run::RunState;
use palestra_protocol::time::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use crate::store::row::{
    DefinitionRow, EpisodeFilter, EpisodeRow, IdempotencyRow, KeyRow, NodeRow, PageRequest, Record, RunRow,
    SessionFilter, SessionRow, SnapshotRow, StepRow, VerdictRow,
};
use crate::store::{Durability, Store, StoreError};

/// Keys in memory.
#[derive(Default)]
pub(crate) struct KeysOnly(Mutex<Vec<KeyRow>>);

fn no<T>() -> Result<T, StoreError> {
    Err(StoreError::Broken("this store holds keys and nothing else".to_owned()))
}

#[async_trait]
#[rustfmt::skip]
impl Store for KeysOnly {
    fn engine(&self) -> &'static str { "keys" }

    async fn create_key(&self, row: &KeyRow) -> Result<(), StoreError> {
        self.0.lock().push(row.clone());
        Ok(())
    }

    async fn key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        Ok(self.0.lock().iter().find(|row| row.id == id).cloned())
    }

    async fn keys(&self, tenant: &str, _: &PageRequest) -> Result<Vec<KeyRow>, StoreError> {
        Ok(self.0.lock().iter().rev().filter(|row| row.tenant == tenant).cloned().collect())
    }

    async fn revoke_key(&self, tenant: &str, id: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        let mut rows = self.0.lock();
        let Some(row) = rows.iter_mut().find(|row| row.id == id && row.tenant == tenant) else { return Ok(false) };
        row.revoked_at.get_or_insert(at);
        Ok(true)
    }

    async fn ping(&self) -> Result<(), StoreError> { Ok(()) }
    async fn commit(&self, _: &NodeRow, _: &[&[Record]], _: Durability) -> Result<(), StoreError> { no() }
    async fn flush(&self) -> Result<(), StoreError> { no() }
    async fn session(&self, _: &str, _: SessionId) -> Result<Option<SessionRow>, StoreError> { no() }
    async fn sessions(&self, _: &str, _: &SessionFilter, _: &PageRequest) -> Result<Vec<SessionRow>, StoreError> { no() }
    async fn sessions_expired(&self, _: &str, _: Timestamp, _: u32) -> Result<Vec<SessionRow>, StoreError> { no() }
    async fn sessions_of_run(&self, _: &str, _: RunId, _: Option<SessionId>, _: u32) -> Result<Vec<SessionRow>, StoreError> { no() }
    async fn sessions_open(&self, _: &str) -> Result<u64, StoreError> { no() }
    async fn adopt_session(&self, _: SessionId, _: &str, _: &str) -> Result<bool, StoreError> { no() }
    async fn episode(&self, _: &str, _: EpisodeId) -> Result<Option<EpisodeRow>, StoreError> { no() }
    async fn episodes(&self, _: &str, _: &EpisodeFilter, _: &PageRequest) -> Result<Vec<EpisodeRow>, StoreError> { no() }
    async fn episodes_of_session(&self, _: SessionId, _: u64, _: u32) -> Result<Vec<EpisodeRow>, StoreError> { no() }
    async fn steps(&self, _: EpisodeId, _: u64, _: u64, _: u32) -> Result<Vec<StepRow>, StoreError> { no() }
    async fn last_step(&self, _: EpisodeId) -> Result<Option<StepRow>, StoreError> { no() }
    async fn open_intent(&self, _: EpisodeId) -> Result<Option<(u64, String)>, StoreError> { no() }
    async fn verdicts(&self, _: EpisodeId) -> Result<Vec<VerdictRow>, StoreError> { no() }
    async fn snapshot(&self, _: &str, _: SnapshotId) -> Result<Option<SnapshotRow>, StoreError> { no() }
    async fn snapshots(&self, _: SessionId) -> Result<Vec<SnapshotRow>, StoreError> { no() }
    async fn state(&self, _: &str) -> Result<Option<Value>, StoreError> { no() }
    async fn idempotent(&self, _: &str, _: &str, _: &str) -> Result<Option<IdempotencyRow>, StoreError> { no() }
    async fn forget_answers(&self, _: Timestamp) -> Result<u64, StoreError> { no() }
    async fn create_run(&self, _: &RunRow) -> Result<RunRow, StoreError> { no() }
    async fn run(&self, _: &str, _: RunId) -> Result<Option<RunRow>, StoreError> { no() }
    async fn runs_active(&self) -> Result<Vec<RunRow>, StoreError> { no() }
    async fn renew_run(&self, _: &str, _: RunId, _: Timestamp) -> Result<bool, StoreError> { no() }
    async fn end_run(&self, _: &str, _: RunId, _: RunState, _: Option<Timestamp>) -> Result<bool, StoreError> { no() }
    async fn publish(&self, _: &DefinitionRow, _: &[(String, Vec<Value>)]) -> Result<(DefinitionRow, bool), StoreError> { no() }
    async fn definition(&self, _: &str, _: &str, _: Option<u32>) -> Result<Option<DefinitionRow>, StoreError> { no() }
    async fn definitions(&self, _: &str) -> Result<Vec<DefinitionRow>, StoreError> { no() }
    async fn task_row(&self, _: &str, _: &str, _: u64) -> Result<Option<Value>, StoreError> { no() }
    async fn claim_node(&self, _: &NodeRow) -> Result<(), StoreError> { no() }
    async fn beat(&self, _: &NodeRow, _: Timestamp) -> Result<(), StoreError> { no() }
    async fn node_beat(&self, _: &str) -> Result<Option<Timestamp>, StoreError> { no() }
    async fn close(&self) {  }
}

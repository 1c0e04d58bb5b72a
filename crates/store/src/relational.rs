//! The store, once for both engines.

mod jobs;
mod publication;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use palestra_protocol::id::{EpisodeId, FileId, JobId, KeyId, PolicyId, RunId, SessionId, SnapshotId};
use palestra_protocol::job::{Artifact, JobEvent, JobEventKind, JobState};
use palestra_protocol::run::RunState;
use palestra_protocol::time::Timestamp;
use serde_json::Value;

use super::engine::{BulkRow, Engine, Statement, Table, Transaction};
use super::field::Fields as _;
use super::job_transaction::JobTransaction;
use super::row::job::{
    Candidate, CandidateFilter, ContentRow, FileFilter, FileRow, JobFilter, JobRow, PolicyRow, StoredJob,
};
use super::row::{
    DefinitionRow, EpisodeFilter, EpisodeRow, IdempotencyRow, KeyRow, NodeRow, PageRequest, RunRow, SessionFilter,
    SessionRow, SnapshotRow, StepRow, VerdictRow,
};
use super::{
    Durability, Groups, Store, StoreError, answer, artifact, definition, episode, file, job, job_event, key, node,
    policy, run, session, snapshot, step, verdict,
};

/// A store on a relational engine.
pub struct Relational<E> {
    engine: E,
    /// Whether something was committed that the disk may not have yet.
    unflushed: AtomicBool,
}

#[expect(private_bounds, reason = "engines are an inner matter; only the two finished stores are public")]
impl<E: Engine> Relational<E> {
    pub(super) const fn new(engine: E) -> Self {
        // What an earlier process left behind may not have reached the disk either.
        Self { engine, unflushed: AtomicBool::new(true) }
    }

    /// The engine, for its own tests.
    #[cfg(test)]
    pub(super) const fn inner(&self) -> &E {
        &self.engine
    }

    /// Every row that a query finds.
    pub(super) async fn all<T>(
        &self,
        query: Statement<'_>,
        decode: impl Fn(&E::Row) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        self.engine.read(query).await?.iter().map(decode).collect()
    }

    /// The first row that a query finds.
    pub(super) async fn one<T>(
        &self,
        query: Statement<'_>,
        decode: impl Fn(&E::Row) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        self.engine.read(query).await?.first().map(decode).transpose()
    }

    /// Begins a write transaction, which [`Self::settle`] ends.
    pub(super) async fn begin(&self, durability: Durability) -> Result<E::Transaction, StoreError> {
        self.engine.begin(durability).await
    }

    /// Commits what was done, or undoes it when it failed.
    pub(super) async fn settle<T: Send>(
        &self,
        transaction: E::Transaction,
        durability: Durability,
        done: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let ended = transaction.end(done).await;
        if ended.is_ok() {
            self.unflushed.fetch_or(durability == Durability::Process, Ordering::AcqRel);
        }
        ended
    }

    /// Runs one statement in a transaction of its own; answers how many rows it changed.
    async fn change(&self, statement: Statement<'_>, durability: Durability) -> Result<u64, StoreError> {
        let mut transaction = self.begin(durability).await?;
        let done = transaction.execute(statement).await;
        self.settle(transaction, durability, done).await
    }

    /// Inserts one row in a transaction of its own.
    async fn insert(
        &self,
        table: &Table,
        conflict: &'static str,
        what: &'static str,
        row: BulkRow<'_>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin(Durability::Disk).await?;
        let done = transaction.bulk(&table.insert(conflict, what), &[row]).await;
        self.settle(transaction, Durability::Disk, done).await
    }
}

/// Now, for the first beat of a node that is taken.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_milliseconds(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[async_trait]
impl<E: Engine> Store for Relational<E> {
    fn engine(&self) -> &'static str {
        E::NAME
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.engine.read(Statement::new("SELECT 1 AS alive", Vec::new())).await.map(drop)
    }

    async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError> {
        self.engine.commit(node, groups, durability).await?;
        self.unflushed.fetch_or(durability == Durability::Process, Ordering::AcqRel);
        Ok(())
    }

    async fn flush(&self) -> Result<(), StoreError> {
        // Cleared before the commit: what comes after it sets it again.
        if !self.unflushed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let mark = Statement::new("UPDATE marks SET written = written + 1 WHERE id = 1", Vec::new());
        let flushed = self.change(mark, Durability::Disk).await.map(drop);
        if flushed.is_err() {
            self.unflushed.store(true, Ordering::Release);
        }
        flushed
    }

    async fn session(&self, tenant: &str, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
        self.one(session::one(tenant, id), session::decode).await
    }

    async fn is_session_taken(&self, id: SessionId) -> Result<bool, StoreError> {
        Ok(self.one(session::of_any_tenant(id), |_| Ok(())).await?.is_some())
    }

    async fn sessions(
        &self,
        tenant: &str,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Vec<SessionRow>, StoreError> {
        self.all(session::page(tenant, filter, page), session::decode).await
    }

    async fn sessions_expired(&self, node: &str, now: Timestamp, limit: u32) -> Result<Vec<SessionRow>, StoreError> {
        self.all(session::expired(node, now, limit), session::decode).await
    }

    async fn sessions_of_run(
        &self,
        tenant: &str,
        run: RunId,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        self.all(session::of_run(tenant, run, after, limit), session::decode).await
    }

    async fn sessions_open(&self, node: &str) -> Result<u64, StoreError> {
        let number = self.one(session::count_open(node), |row| row.number("number")).await?;
        Ok(number.unwrap_or_default())
    }

    async fn adopt_session(&self, id: SessionId, from: &str, to: &str) -> Result<bool, StoreError> {
        Ok(self.change(session::adopt(id, from, to), Durability::Disk).await? > 0)
    }

    async fn episode(&self, tenant: &str, id: EpisodeId) -> Result<Option<EpisodeRow>, StoreError> {
        self.one(episode::one(tenant, id), episode::decode).await
    }

    async fn episode_of_anybody(&self, id: EpisodeId) -> Result<Option<EpisodeRow>, StoreError> {
        self.one(episode::of_anybody(id), episode::decode).await
    }

    async fn episodes(
        &self,
        tenant: &str,
        filter: &EpisodeFilter,
        page: &PageRequest,
    ) -> Result<Vec<EpisodeRow>, StoreError> {
        self.all(episode::page(tenant, filter, page), episode::decode).await
    }

    async fn episodes_of_session(
        &self,
        session: SessionId,
        from_ordinal: u64,
        limit: u32,
    ) -> Result<Vec<EpisodeRow>, StoreError> {
        self.all(episode::of_session(session, from_ordinal, limit), episode::decode).await
    }

    async fn steps(
        &self,
        episode: EpisodeId,
        from_seq: u64,
        to_seq: u64,
        limit: u32,
    ) -> Result<Vec<StepRow>, StoreError> {
        self.all(step::between(E::STEPS, episode, from_seq, to_seq, limit), step::decode).await
    }

    async fn last_step(&self, episode: EpisodeId) -> Result<Option<StepRow>, StoreError> {
        self.one(step::last(E::STEPS, episode), step::decode).await
    }

    async fn open_intent(&self, episode: EpisodeId) -> Result<Option<(u64, String)>, StoreError> {
        self.one(step::last_intent(episode), step::decode_intent).await
    }

    async fn verdicts(&self, episode: EpisodeId) -> Result<Vec<VerdictRow>, StoreError> {
        self.all(verdict::of_episode(episode), verdict::decode).await
    }

    async fn snapshot(&self, tenant: &str, id: SnapshotId) -> Result<Option<SnapshotRow>, StoreError> {
        self.one(snapshot::one(tenant, id), snapshot::decode).await
    }

    async fn snapshots(&self, session: SessionId) -> Result<Vec<SnapshotRow>, StoreError> {
        self.all(snapshot::of_session(session), snapshot::decode).await
    }

    async fn state(&self, digest: &str) -> Result<Option<Value>, StoreError> {
        self.one(verdict::state(digest), verdict::decode_state).await
    }

    async fn idempotent(&self, tenant: &str, operation: &str, key: &str) -> Result<Option<IdempotencyRow>, StoreError> {
        self.one(answer::one(tenant, operation, key), answer::decode).await
    }

    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.change(answer::forget(before), Durability::Process).await
    }

    async fn create_run(&self, row: &RunRow) -> Result<RunRow, StoreError> {
        self.insert(&run::RUNS, "ON CONFLICT DO NOTHING", "run", run::encode(row)?).await?;
        let found = self.one(run::one(&row.tenant, row.id), run::decode).await?;
        found.ok_or_else(|| StoreError::Broken("a run that was just stored is not there".to_owned()))
    }

    async fn run(&self, tenant: &str, id: RunId) -> Result<Option<RunRow>, StoreError> {
        self.one(run::one(tenant, id), run::decode).await
    }

    async fn runs_active(&self) -> Result<Vec<RunRow>, StoreError> {
        self.all(run::active(), run::decode).await
    }

    async fn renew_run(&self, tenant: &str, id: RunId, expires_at: Timestamp) -> Result<bool, StoreError> {
        Ok(self.change(run::renew(tenant, id, expires_at), Durability::Process).await? > 0)
    }

    async fn end_run(
        &self,
        tenant: &str,
        id: RunId,
        state: RunState,
        expired_before: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        Ok(self.change(run::end(tenant, id, state, expired_before), Durability::Disk).await? > 0)
    }

    async fn create_key(&self, row: &KeyRow) -> Result<(), StoreError> {
        self.insert(&key::KEYS, "", "key", key::encode(row)?).await
    }

    async fn key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        self.one(key::one(id), key::decode).await
    }

    async fn keys(&self, tenant: &str, page: &PageRequest) -> Result<Vec<KeyRow>, StoreError> {
        self.all(key::page(tenant, page), key::decode).await
    }

    async fn revoke_key(&self, tenant: &str, id: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        Ok(self.change(key::revoke(tenant, id, at), Durability::Disk).await? > 0)
    }

    async fn publish(
        &self,
        definition: &DefinitionRow,
        rows: &[(String, Vec<Value>)],
    ) -> Result<(DefinitionRow, bool), StoreError> {
        self.publish_definition(definition, rows).await
    }

    async fn definition(
        &self,
        tenant: &str,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<DefinitionRow>, StoreError> {
        self.one(definition::one(tenant, name, version), definition::decode).await
    }

    async fn definitions(&self, tenant: &str) -> Result<Vec<DefinitionRow>, StoreError> {
        self.all(definition::newest(tenant), definition::decode).await
    }

    async fn task_row(&self, digest: &str, split: &str, index: u64) -> Result<Option<Value>, StoreError> {
        self.one(definition::task_row(digest, split, index), definition::decode_task_row).await
    }

    async fn change_jobs(&self, durability: Durability) -> Result<Box<dyn JobTransaction + '_>, StoreError> {
        self.open_jobs(durability).await
    }

    async fn job_of_anybody(&self, id: JobId) -> Result<Option<JobRow>, StoreError> {
        self.one(job::one(id), job::decode).await
    }

    async fn stored_job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.one(job::stored(id), job::decode_stored).await
    }

    async fn jobs(&self, tenant: &str, filter: &JobFilter, page: &PageRequest) -> Result<Vec<StoredJob>, StoreError> {
        self.all(job::page(tenant, filter, page), job::decode_stored).await
    }

    async fn job_waits_for(&self, id: JobId) -> Result<Vec<JobId>, StoreError> {
        let needs = self.all(job::needs(id), job::decode_needs).await?;
        Ok(needs.into_iter().filter(|(_, state)| *state != Some(JobState::Succeeded)).map(|(id, _)| id).collect())
    }

    async fn job_place(&self, row: &JobRow) -> Result<u64, StoreError> {
        let number = self.one(job::place(row), |row| row.number("number")).await?;
        Ok(number.unwrap_or_default())
    }

    async fn job_candidates(&self, wanted: &CandidateFilter) -> Result<Vec<Candidate>, StoreError> {
        self.all(job::candidates(wanted), job::decode_candidate).await
    }

    async fn jobs_due(
        &self,
        now: Timestamp,
        latest: Timestamp,
        asked_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<JobId>, StoreError> {
        self.all(job::due(now, latest, asked_before, limit), job::decode_id).await
    }

    async fn jobs_waiting_beyond(&self, latest: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError> {
        self.all(job::waiting_beyond(latest, limit), job::decode_id).await
    }

    async fn jobs_over(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError> {
        self.all(job::over(before, limit), job::decode_id).await
    }

    async fn job_counts(&self) -> Result<Vec<(JobState, u64)>, StoreError> {
        self.all(job::counts(), job::decode_count).await
    }

    async fn job_events(
        &self,
        id: JobId,
        kind: Option<JobEventKind>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<JobEvent>, StoreError> {
        self.all(job_event::after(id, kind, after, limit), job_event::decode).await
    }

    async fn last_job_events(&self, id: JobId, kind: JobEventKind, limit: u32) -> Result<Vec<JobEvent>, StoreError> {
        self.all(job_event::last(id, kind, limit), job_event::decode).await
    }

    async fn artifacts(&self, id: JobId) -> Result<Vec<Artifact>, StoreError> {
        self.all(artifact::of_job(id), artifact::decode).await
    }

    async fn artifact(&self, id: JobId, name: &str) -> Result<Option<Artifact>, StoreError> {
        self.one(artifact::one(id, name), artifact::decode).await
    }

    async fn kept_bytes(&self, tenant: &str) -> Result<u64, StoreError> {
        let number = self.one(artifact::kept_bytes(tenant), |row| row.number("number")).await?;
        Ok(number.unwrap_or_default())
    }

    async fn is_named(&self, digest: &str) -> Result<bool, StoreError> {
        Ok(self.one(artifact::names(digest), |_| Ok(())).await?.is_some())
    }

    async fn policy(&self, tenant: &str, id: PolicyId) -> Result<Option<PolicyRow>, StoreError> {
        let found = self.one(policy::one(id), policy::decode).await?.filter(|row| row.tenant == tenant);
        let Some(mut row) = found else { return Ok(None) };
        row.policy.files = self.all(policy::files(id), artifact::decode).await?;
        Ok(Some(row))
    }

    async fn policies(
        &self,
        tenant: &str,
        job: Option<JobId>,
        page: &PageRequest,
    ) -> Result<Vec<PolicyRow>, StoreError> {
        let mut rows = self.all(policy::page(tenant, job, page), policy::decode).await?;
        for row in &mut rows {
            row.policy.files = self.all(policy::files(row.policy.id), artifact::decode).await?;
        }
        Ok(rows)
    }

    async fn file(&self, tenant: &str, id: FileId) -> Result<Option<FileRow>, StoreError> {
        Ok(self.one(file::one(id), file::decode).await?.filter(|row| row.tenant == tenant))
    }

    async fn files(&self, tenant: &str, filter: FileFilter, page: &PageRequest) -> Result<Vec<FileRow>, StoreError> {
        self.all(file::page(tenant, filter, page), file::decode).await
    }

    async fn files_of_job(&self, job: JobId) -> Result<Vec<FileRow>, StoreError> {
        self.all(file::of_job(job), file::decode).await
    }

    async fn names_file(&self, job: JobId, file: FileId) -> Result<bool, StoreError> {
        Ok(self.one(file::is_named(job, file), |_| Ok(())).await?.is_some())
    }

    async fn content(&self, digest: &str) -> Result<Option<ContentRow>, StoreError> {
        self.one(artifact::content(digest), artifact::decode_content).await
    }

    async fn put_piece(&self, pieces: &str, position: u64, at: Timestamp, bytes: &[u8]) -> Result<(), StoreError> {
        // The commit that names the content makes its pieces durable too.
        let mut transaction = self.begin(Durability::Process).await?;
        let row = artifact::encode_piece(pieces, position, at, bytes)?;
        let done = transaction.bulk(&artifact::PIECES.insert("", "piece"), &[row]).await;
        self.settle(transaction, Durability::Process, done).await
    }

    async fn piece(&self, pieces: &str, position: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.one(artifact::piece(pieces, position), |row| row.bytes("bytes")).await
    }

    async fn delete_pieces(&self, pieces: &str) -> Result<(), StoreError> {
        self.change(artifact::delete_pieces(pieces), Durability::Process).await.map(drop)
    }

    async fn forget_unnamed(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.forget_contents(before).await
    }

    async fn claim_node(&self, node: &NodeRow) -> Result<(), StoreError> {
        self.insert(&node::NODES, node::TAKE_OVER, "node", node::encode(node, now())).await
    }

    async fn beat(&self, node: &NodeRow, now: Timestamp) -> Result<(), StoreError> {
        match self.change(node::beat(node, now), Durability::Process).await? {
            0 => Err(StoreError::Fenced),
            _ => Ok(()),
        }
    }

    async fn node_beat(&self, node: &str) -> Result<Option<Timestamp>, StoreError> {
        self.one(node::one(node), node::decode_beat).await
    }

    async fn close(&self) {
        self.engine.close().await;
    }
}

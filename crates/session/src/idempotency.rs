//! Idempotency keys: a creating command with a key is done once and answered alike ever after.

use std::sync::Arc;

use dashmap::DashMap;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::id::SessionId;
use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::encoded_step::to_json;
use super::error::fault;
use super::recorder::Permit;
use super::{LiveTurn, SessionError, Sessions};
use palestra_environment::state::Digest;
use palestra_store::row::{IdempotencyRow, Record};
use palestra_store::{Durability, Tenant};

/// Length of a key.
pub(super) const KEY_BYTES_MAX: usize = 255;

/// One lock per key in use, so that a repeated call waits for the first.
#[derive(Default, Clone)]
pub(super) struct KeyLocks(Arc<DashMap<LockKey, Arc<Mutex<()>>>>);

/// Tenant, operation and key; or episode, `judge` and verifier version.
type LockKey = (String, &'static str, String);

/// The lock of a key, until it is dropped. Held until the answer is committed, where the next call finds it.
pub(super) struct KeyGuard {
    locks: KeyLocks,
    key: LockKey,
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyLocks {
    async fn lock(&self, claim: &Claim) -> KeyGuard {
        self.lock_by((claim.tenant.clone(), claim.operation, claim.key.clone())).await
    }

    async fn lock_by(&self, key: LockKey) -> KeyGuard {
        let lock = Arc::clone(&self.0.entry(key.clone()).or_default());
        KeyGuard { locks: self.clone(), key, guard: Some(lock.lock_owned().await) }
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        self.guard = None;
        self.locks.0.remove_if(&self.key, |_, lock| Arc::strong_count(lock) == 1);
    }
}

/// The outcome of presenting a key.
pub(super) enum Admission<T> {
    /// It was done before, and this was its answer.
    Answered(T),
    /// It has to be done now; nobody else does it while the guard is held.
    Fresh(Option<KeyGuard>),
}

/// A key that is about to be used.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    tenant: String,
    operation: &'static str,
    key: String,
    request: String,
}

impl Claim {
    /// The claim of `key` for a request; none without a key.
    pub(super) fn new<T: Serialize>(
        tenant: &str,
        operation: &'static str,
        key: Option<String>,
        request: &T,
    ) -> Result<Option<Self>, SessionError> {
        let Some(key) = key else { return Ok(None) };
        if key.is_empty() || key.len() > KEY_BYTES_MAX || key.chars().any(char::is_control) {
            let detail = format!("an idempotency key must have 1 to {KEY_BYTES_MAX} bytes and no control characters");
            return Err(fault("key", &detail));
        }
        let body = serde_json::to_value(request).map_err(|error| SessionError::Internal(error.to_string()))?;
        Ok(Some(Self { tenant: tenant.to_owned(), operation, key, request: Digest::of_json(&body).to_string() }))
    }

    /// The record that keeps the answer, for the transaction of its effect.
    pub(super) fn record<T: Serialize>(&self, answer: &T, at: Timestamp) -> Result<Record, SessionError> {
        Ok(Record::Answer(Box::new(IdempotencyRow {
            tenant: self.tenant.clone(),
            operation: self.operation.to_owned(),
            key: self.key.clone(),
            request: self.request.clone(),
            answer: to_json(answer)?,
            at,
        })))
    }
}

impl Sessions {
    /// Lets one judging of an episode by a verifier version through at a time.
    pub(super) async fn lock_judging(&self, episode: EpisodeId, version: &str) -> KeyGuard {
        self.0.keys.lock_by((episode.to_string(), "judge", version.to_owned())).await
    }

    /// Lets one call with a key through at a time. On sessions this happens within the turn, so that commands keep their
    /// order; whoever holds a guard never waits for a turn.
    pub(super) async fn admit<T: DeserializeOwned>(&self, claim: Option<&Claim>) -> Result<Admission<T>, SessionError> {
        let Some(claim) = claim else { return Ok(Admission::Fresh(None)) };
        let guard = self.0.keys.lock(claim).await;
        Ok(match self.answered(Some(claim)).await? {
            Some(answer) => Admission::Answered(answer),
            None => Admission::Fresh(Some(guard)),
        })
    }

    /// Runs a creating command on a session: in its turn, once per key. With a key, or where it takes long or acts outside, it goes
    /// to its end whether or not its caller waits; otherwise `work` acts between two awaits. Asked again it answers alike,
    /// also after the close.
    pub(super) async fn once_in_turn<R, T, W, F>(
        &self,
        tenant: &Tenant,
        id: SessionId,
        (operation, key): (&'static str, Option<String>),
        request: R,
        work: W,
    ) -> Result<T, SessionError>
    where
        R: Serialize + Send + 'static,
        T: DeserializeOwned + Send + 'static,
        W: FnOnce(Self, LiveTurn, R, Option<Claim>) -> F + Send + 'static,
        F: Future<Output = Result<T, SessionError>> + Send + 'static,
    {
        let claim = Claim::new(tenant, operation, key, &(id, &request))?;
        let mut turn = match self.turn(tenant, id).await {
            Err(closed) if closed.is_closed() => return self.answered(claim.as_ref()).await?.ok_or(closed),
            turn => turn?,
        };
        let sessions = self.clone();
        if claim.is_none() && !turn.live()?.needs_task() {
            return self.with_caller(Box::pin(work(sessions, turn, request, None))).await;
        }
        self.to_end(async move {
            let _guard = match sessions.admit(claim.as_ref()).await? {
                Admission::Answered(answer) => return Ok(answer),
                Admission::Fresh(guard) => guard,
            };
            work(sessions, turn, request, claim).await
        })
        .await
    }

    /// Records the effect of a command on a session together with its answer, gives the turn up, and waits for the commit.
    pub(super) async fn conclude<T: Serialize>(
        &self,
        mut turn: LiveTurn,
        permit: Permit,
        mut records: Vec<Record>,
        claim: Option<Claim>,
        answer: T,
    ) -> Result<T, SessionError> {
        if let Some(claim) = claim {
            records.push(claim.record(&answer, self.0.clock.now())?);
        }
        let ticket = self.0.recorder.submit(&turn.live()?.ledger, permit, Durability::Disk, records);
        drop(turn);
        ticket.committed().await?;
        Ok(answer)
    }

    /// The answer that was given under this key.
    pub(super) async fn answered<T: DeserializeOwned>(&self, claim: Option<&Claim>) -> Result<Option<T>, SessionError> {
        let Some(claim) = claim else { return Ok(None) };
        let Some(row) = self.0.store.answer(&claim.tenant, claim.operation, &claim.key).await? else {
            return Ok(None);
        };
        if row.request != claim.request {
            return Err(SessionError::KeyReused);
        }
        serde_json::from_str(&row.answer).map(Some).map_err(|error| SessionError::Internal(error.to_string()))
    }
}

//! Creating calls with a key: done once, answered alike ever after.

use std::sync::Arc;

use dashmap::DashMap;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Fault;
use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::said::to_json;
use super::{LiveTurn, SessionError, Sessions};
use palestra_environment::state::Digest;
use palestra_store::Tenant;
use palestra_store::row::{IdempotencyRow, Record};

/// Length of a key.
pub(super) const KEY_BYTES_MAX: usize = 255;

/// One gate per key in use, so that a repeated call waits for the first.
#[derive(Default, Clone)]
pub(super) struct Gates(Arc<DashMap<Gate, Arc<Mutex<()>>>>);

/// Tenant, operation and key; or episode, `judge` and verifier version.
type Gate = (String, &'static str, String);

/// The way through a gate, until it is dropped. Held until the answer is committed, where the next call finds it.
pub(super) struct Passage {
    gates: Gates,
    gate: Gate,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Gates {
    async fn pass(&self, claim: &Claim) -> Passage {
        self.pass_gate((claim.tenant.clone(), claim.operation, claim.key.clone())).await
    }

    async fn pass_gate(&self, gate: Gate) -> Passage {
        let lock = Arc::clone(&self.0.entry(gate.clone()).or_default());
        Passage { gates: self.clone(), gate, guard: Some(lock.lock_owned().await) }
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.guard = None;
        self.gates.0.remove_if(&self.gate, |_, lock| Arc::strong_count(lock) == 1);
    }
}

/// Whether a call still has to be done.
pub(super) enum Admission<T> {
    /// It was done before, and this was its answer.
    Answered(T),
    /// It has to be done now; nobody else does it while the passage is held.
    Fresh(Option<Passage>),
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
            return Err(SessionError::Invalid(vec![Fault {
                field: Some("key".to_owned()),
                detail,
                ..Fault::default()
            }]));
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
    pub(super) async fn judge_alone(&self, episode: EpisodeId, version: &str) -> Passage {
        self.0.answers.pass_gate((episode.to_string(), "judge", version.to_owned())).await
    }

    /// Lets one call with a key through at a time. On sessions this happens within the turn, so that commands keep their
    /// order; whoever holds a passage never waits for a turn.
    pub(super) async fn admit<T: DeserializeOwned>(&self, claim: Option<&Claim>) -> Result<Admission<T>, SessionError> {
        let Some(claim) = claim else { return Ok(Admission::Fresh(None)) };
        let passage = self.0.answers.pass(claim).await;
        Ok(match self.answered(Some(claim)).await? {
            Some(answer) => Admission::Answered(answer),
            None => Admission::Fresh(Some(passage)),
        })
    }

    /// Runs a creating call on a session: in its turn, once per key. With a key, or where it takes long or acts outside, it goes
    /// to its end whether or not its caller waits; otherwise `work` acts between two awaits. Asked again it answers alike,
    /// also after the close.
    pub(super) async fn once_in_turn<T, W, F>(
        &self,
        tenant: &Tenant,
        id: SessionId,
        claim: Option<Claim>,
        work: W,
    ) -> Result<T, SessionError>
    where
        T: DeserializeOwned + Send + 'static,
        W: FnOnce(Self, LiveTurn, Option<Claim>) -> F + Send + 'static,
        F: Future<Output = Result<T, SessionError>> + Send + 'static,
    {
        let mut turn = match self.turn(tenant, id).await {
            Ok(turn) => turn,
            Err(over @ (SessionError::Over(_) | SessionError::Lost)) => {
                return self.answered(claim.as_ref()).await?.ok_or(over);
            }
            Err(error) => return Err(error),
        };
        let sessions = self.clone();
        if claim.is_none() && !turn.live()?.needs_task() {
            return self.with_caller(Box::pin(work(sessions, turn, None))).await;
        }
        self.to_end(async move {
            let _passage = match sessions.admit(claim.as_ref()).await? {
                Admission::Answered(answer) => return Ok(answer),
                Admission::Fresh(passage) => passage,
            };
            work(sessions, turn, claim).await
        })
        .await
    }

    /// The answer that was given under this key.
    pub(super) async fn answered<T: DeserializeOwned>(&self, claim: Option<&Claim>) -> Result<Option<T>, SessionError> {
        let Some(claim) = claim else { return Ok(None) };
        let Some(row) = self.0.store.idempotent(&claim.tenant, claim.operation, &claim.key).await? else {
            return Ok(None);
        };
        if row.request != claim.request {
            return Err(SessionError::KeyReused);
        }
        serde_json::from_str(&row.answer).map(Some).map_err(|error| SessionError::Internal(error.to_string()))
    }
}

//! Creating calls with a key: done once, answered alike ever after.

use std::sync::Arc;

use dashmap::DashMap;
use palestra_protocol::problem::Fault;
use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::step::to_json;
use super::{SessionError, Sessions};
use crate::environment::state::Digest;
use crate::store::row::{IdempotencyRow, Record};

/// Length of a key.
pub(super) const KEY_BYTES_MAX: usize = 255;

/// One gate per key in use, so that a repeated creation waits for the first.
#[derive(Default)]
pub(super) struct Gates(DashMap<(String, String), Arc<Mutex<()>>>);

/// The way through a gate, until it is dropped.
pub(super) struct Passage<'a> {
    gates: &'a Gates,
    at: (String, String),
    guard: Option<OwnedMutexGuard<()>>,
}

impl Gates {
    pub(super) async fn pass(&self, claim: &Claim) -> Passage<'_> {
        let at = (claim.tenant.clone(), format!("{} {}", claim.operation, claim.key));
        let gate = Arc::clone(&self.0.entry(at.clone()).or_default());
        Passage { gates: self, at, guard: Some(gate.lock_owned().await) }
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.guard = None;
        self.gates.0.remove_if(&self.at, |_, gate| Arc::strong_count(gate) == 1);
    }
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
            let detail = format!("an idempotency key has 1 to {KEY_BYTES_MAX} bytes and no control characters");
            return Err(SessionError::Invalid(vec![Fault { field: Some("key".to_owned()), line: None, detail }]));
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

//! Model calls of whoever acts in a session: where it stands when one begins, and the record of one that is over.

use std::sync::Arc;

use palestra_protocol::environment::Limits;
use palestra_protocol::id::{CallId, EpisodeId, SessionId};
use palestra_protocol::model_call::{CallTokens, ModelCall};
use palestra_protocol::session::{CloseReason, SessionState};
use palestra_protocol::time::Timestamp;
use serde::de::DeserializeOwned;

use super::cell::Slot;
use super::error::missing;
use super::recorder::Ledger;
use super::{SessionError, Sessions};
use palestra_store::row::{ModelCallRow, Record};
use palestra_store::{Durability, Tenant};

/// Where a session stands.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// The current episode.
    pub episode: EpisodeId,
    /// When it began.
    pub started_at: Timestamp,
    /// Its last step; of a session that is busy and not recorded, 0.
    pub seq: u64,
    /// The limits that hold.
    pub limits: Limits,
}

impl Sessions {
    /// Where a session stands now, whatever it is busy with: an agent that runs inside a step calls models too. Counts as a command for
    /// its idle limit.
    ///
    /// # Errors
    /// When there is no such session, or it is closed.
    pub async fn standing(&self, tenant: &Tenant, id: SessionId) -> Result<Standing, SessionError> {
        let now = self.0.clock.now();
        let cell = self.0.table.get(&id).map(|cell| Arc::clone(&cell));
        if let Some(cell) = &cell
            && let Some(turn) = cell.turn_now()
            && let Slot::Live(live) = &*turn
            && *live.row.tenant == **tenant
            && !live.ledger.failed()
        {
            if live.row.expires_at <= now {
                return Err(SessionError::Over(CloseReason::Expired));
            }
            cell.touch(now);
            return Ok(Standing {
                episode: live.episode.id,
                started_at: live.episode.started_at,
                seq: live.seq,
                limits: live.row.limits,
            });
        }
        let row = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        if row.state == SessionState::Closed {
            return Err(SessionError::Over(row.closed_reason.unwrap_or(CloseReason::Deleted)));
        }
        if row.expires_at <= now {
            return Err(SessionError::Over(CloseReason::Expired));
        }
        if let Some(cell) = cell {
            cell.touch(now);
        }
        let episode = self.0.store.episode(tenant, row.episode).await?.ok_or_else(|| missing("episode"))?;
        let seq = match episode.seq {
            Some(seq) => seq,
            None => {
                let last = self.0.store.last_step(episode.id).await?.map(|step| step.seq);
                last.or(episode.origin.map(|origin| origin.seq)).unwrap_or_default()
            }
        };
        Ok(Standing { episode: episode.id, started_at: episode.started_at, seq, limits: row.limits })
    }

    /// Model calls of an episode after a call, in the order in which they began; those before a fork included.
    ///
    /// # Errors
    /// When there is no such episode.
    pub async fn model_calls(
        &self,
        tenant: &Tenant,
        id: EpisodeId,
        after: Option<CallId>,
        limit: u32,
    ) -> Result<Vec<ModelCall>, SessionError> {
        let episode = self.0.store.episode(tenant, id).await?.ok_or(SessionError::NotFound("episode"))?;
        let mut calls = Vec::new();
        for (part, upto) in self.chain(&episode, None).await?.iter().rev() {
            let left = limit.saturating_sub(u32::try_from(calls.len()).unwrap_or(u32::MAX));
            if left == 0 {
                break;
            }
            let rows = self.0.store.model_calls(part.id, *upto, after, left).await?;
            for row in rows {
                calls.push(view(row)?);
            }
        }
        Ok(calls)
    }

    /// Records a model call that is over; done once it is committed. A call that cannot be recorded leaves its session as it is.
    ///
    /// # Errors
    /// When the store does not take it.
    pub async fn record_model_call(&self, row: ModelCallRow) -> Result<(), SessionError> {
        let permit = self.0.recorder.reserve().await?;
        let ledger = Ledger::new(row.session);
        let record = Record::ModelCall(Box::new(row));
        self.0.recorder.submit(&ledger, permit, Durability::Process, vec![record]).committed().await
    }
}

fn view(row: ModelCallRow) -> Result<ModelCall, SessionError> {
    fn list<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>, SessionError> {
        text.map(|text| read(&text)).transpose()
    }
    fn read<T: DeserializeOwned>(text: &str) -> Result<T, SessionError> {
        serde_json::from_str(text).map_err(|error| SessionError::Internal(format!("a stored model call: {error}")))
    }
    Ok(ModelCall {
        id: row.id,
        session: row.session,
        episode: row.episode,
        seq: row.seq,
        kind: row.kind,
        upstream: row.upstream,
        model: row.model,
        policy_version: row.policy_version,
        outcome: row.outcome,
        status: row.status,
        error: row.error,
        finish_reason: row.finish_reason,
        streamed: row.streamed,
        begun_at: row.begun_at,
        first_us: row.first_us,
        duration_us: row.duration_us,
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        cost: row.cost,
        request: read(&row.request)?,
        response: list(row.response)?.unwrap_or_default(),
        tokens: CallTokens {
            prompt_token_ids: list(row.prompt_token_ids)?,
            completion_token_ids: list(row.completion_token_ids)?,
            logprobs: list(row.logprobs)?,
        },
    })
}

//! The reaper: parks what is idle, closes what outlived its time or its owner, and keeps this node's heartbeat.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::SessionId;
use palestra_protocol::session::{CloseReason, SessionState};
use palestra_protocol::step::StopReason;
use palestra_protocol::time::Timestamp;
use palestra_protocol::verdict::{Judge, Status, Usage, Verdict, VerifierName};
use tracing::warn;

use super::cell::{Cell, Live, Slot};
use super::judge::{Docket, end_record, verdict_record};
use super::recorder::Ledger;
use super::{Answer, SessionError, Sessions};
use palestra_catalog::CatalogError;
use palestra_store::Tenant;
use palestra_store::row::{EpisodeRow, Record, SessionRow};
use palestra_store::{Durability, StoreError};

/// Time between two sweeps.
const SWEEP_MS: u64 = 1_000;
/// Sessions that one sweep closes for their age, besides those in memory.
const EXPIRED_PER_SWEEP_MAX: u32 = 1_000;
/// Sessions that are closed at the same time.
const CLOSINGS_AT_ONCE: usize = 256;
/// Longest time between two looks of a sweep at one session. Looking at all of them each time would take more than their steps do.
const LOOK_AGAIN_MS: u64 = 60_000;
/// Sweeps between two looks for old stored answers.
const SWEEPS_PER_FORGETTING: u32 = 600;
/// Time that answers of creating calls are kept, in milliseconds.
const ANSWERS_KEPT_MS: i64 = 86_400_000;

/// Sweeps until the server ends.
pub(super) async fn run(sessions: Sessions) {
    let mut sweeps = tokio::time::interval(Duration::from_millis(SWEEP_MS));
    sweeps.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for sweep in 1_u32.. {
        tokio::select! {
            () = sessions.0.cancel.cancelled() => break,
            _ = sweeps.tick() => {}
        }
        if let Err(error) = sessions.sweep().await {
            warn!(%error, "a sweep over the sessions failed; the next one tries again");
        }
        if sweep % SWEEPS_PER_FORGETTING == 0 {
            let before = Timestamp::from_milliseconds(sessions.0.clock.now().milliseconds() - ANSWERS_KEPT_MS);
            if let Err(error) = sessions.0.store.delete_answers(before).await {
                warn!(%error, "old answers could not be forgotten");
            }
        }
    }
}

impl Sessions {
    /// One sweep: parks and closes what is due now.
    ///
    /// # Errors
    /// When the store fails; what is left is due in the next sweep.
    pub async fn sweep(&self) -> Result<(), SessionError> {
        let now = self.0.clock.now();
        match self.0.store.beat(&self.0.node, now).await {
            Err(StoreError::Fenced) => {
                tracing::error!("another process took this node over; shutting down");
                self.0.cancel.cancel();
                return Ok(());
            }
            beat => beat?,
        }
        self.expire_runs().await;
        // Sessions whose record was refused may be anywhere.
        let all = self.0.recorder.failures();
        let cells: Vec<Arc<Cell>> =
            self.0.table.iter().filter(|cell| all || cell.due(now)).map(|cell| Arc::clone(&cell)).collect();
        let due = cells.iter().filter_map(|cell| {
            let (tenant, reason) = self.sweep_cell(cell, now)?;
            Some((tenant, cell.id, reason))
        });
        self.shut_all(due).await;
        let expired = self.0.store.sessions_expired(&self.0.node.id, now, EXPIRED_PER_SWEEP_MAX).await?;
        self.shut_all(expired.into_iter().map(|row| (row.tenant, row.id, CloseReason::Expired))).await;
        Ok(())
    }

    /// Closes many sessions, so many at once that they share commits. One that cannot be closed does not keep the others open.
    async fn shut_all(&self, due: impl Iterator<Item = (Tenant, SessionId, CloseReason)>) {
        let closing = |(tenant, id, reason): (Tenant, SessionId, CloseReason)| async move {
            if let Err(error) = self.shut(&tenant, id, reason).await {
                warn!(session = %id, %error, "a session could not be closed; the next sweep tries again");
            }
        };
        futures::stream::iter(due).for_each_concurrent(CLOSINGS_AT_ONCE, closing).await;
    }

    /// Parks an idle session; answers why one has to be closed. What can wait is not looked at again before it is due.
    fn sweep_cell(&self, cell: &Arc<Cell>, now: Timestamp) -> Option<(Tenant, CloseReason)> {
        let turn = cell.try_turn()?;
        let Slot::Live(live) = &*turn else {
            // Nobody is loading it, so it is what a refused command left behind.
            self.retire(cell, turn);
            return None;
        };
        if live.ledger.failed() {
            self.retire(cell, turn);
            return None;
        }
        let because = |reason| Some((Arc::clone(&live.row.tenant), reason));
        if live.row.expires_at <= now {
            return because(CloseReason::Expired);
        }
        // Before the lease: a run that ends later finds what is recorded now.
        let settled = live.ledger.settled();
        let leased = live.row.run.map(|run| self.0.runs.holds(&live.row.tenant, run));
        if leased == Some(false) && settled {
            // It was opened while its run was ending.
            return because(CloseReason::RunEnded);
        }
        let idle_at = live.row.limits.idle_ms.map(|idle_ms| cell.touched().plus_ms(idle_ms));
        let idle = idle_at.is_some_and(|at| at <= now) && leased != Some(true) && live.judging().is_none();
        if idle && live.parkable() {
            self.retire(cell, turn);
            return None;
        }
        if idle && settled {
            // It cannot be read back.
            return because(CloseReason::Idle);
        }
        // Until its record is safe and judging is over, every sweep looks.
        if settled && live.judging().is_none() {
            let again = now.plus_ms(LOOK_AGAIN_MS).min(live.row.expires_at);
            cell.rest_until(idle_at.filter(|at| *at > now).map_or(again, |at| at.min(again)));
        }
        None
    }

    pub(super) async fn close(&self, tenant: &Tenant, id: SessionId) -> Result<Answer, SessionError> {
        self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        let (sessions, owner) = (self.clone(), Arc::clone(tenant));
        let work = async move { sessions.shut(&owner, id, CloseReason::Deleted).await };
        self.to_end(work).await?;
        Ok(Answer::Closed(Box::new(self.get(tenant, id).await?)))
    }

    /// Closes a session in its turn, whether or not it is in memory; closing it twice is the same as once.
    pub(super) async fn shut(&self, tenant: &str, id: SessionId, reason: CloseReason) -> Result<(), SessionError> {
        loop {
            let cell =
                Arc::clone(&self.0.table.entry(id).or_insert_with(|| Cell::new(id, Slot::Empty, self.0.clock.now())));
            // The engine's own closings are not refused because callers have filled the queue.
            let mut turn = match reason {
                CloseReason::Deleted => cell.turn(self.0.clock.now()).await?,
                _ => cell.own_turn().await,
            };
            let now = self.0.clock.now();
            // Before anything is changed in memory: from there on nothing may fail.
            let permit = self.0.recorder.reserve().await?;
            let unloaded = matches!(&*turn, Slot::Empty);
            let (ledger, records) = match &mut *turn {
                Slot::Retired => continue,
                Slot::Live(live) if live.ledger.failed() => {
                    self.retire(&cell, turn);
                    continue;
                }
                Slot::Live(live) => (Arc::clone(&live.ledger), closing(live, reason, now)),
                Slot::Empty => match self.closing_unloaded(tenant, id, reason, now).await {
                    Ok(Some(records)) => (Ledger::new(id), records),
                    Ok(None) => {
                        self.retire(&cell, turn);
                        return Ok(());
                    }
                    Err(error) => {
                        self.retire(&cell, turn);
                        return Err(error);
                    }
                },
            };
            let ticket = self.0.recorder.submit(&ledger, permit, Durability::Disk, records);
            // The turn is held until the store knows, so that nobody reads the session back as open.
            let closed = ticket.committed().await;
            self.retire(&cell, turn);
            if unloaded && closed.is_ok() {
                self.forget(tenant, id).await?;
            }
            return closed;
        }
    }

    /// Removes what a session left outside the server, without bringing it into memory.
    async fn forget(&self, tenant: &str, id: SessionId) -> Result<(), SessionError> {
        let Some(row) = self.0.store.session(tenant, id).await? else { return Ok(()) };
        // A newer server may not have the environment any more; then it swept its remains at its start.
        if let Ok(entry) = self.entry_of(&row).await {
            entry.kind.forget(row.episode);
        }
        Ok(())
    }

    /// The records of closing a session that is not in memory; none where it is closed already.
    pub(super) async fn closing_unloaded(
        &self,
        tenant: &str,
        id: SessionId,
        reason: CloseReason,
        now: Timestamp,
    ) -> Result<Option<Vec<Record>>, SessionError> {
        let Some(row) = self.0.store.session(tenant, id).await? else { return Ok(None) };
        if row.state == SessionState::Closed {
            return Ok(None);
        }
        let Some(episode) = self.0.store.episode(&row.tenant, row.episode).await? else { return Ok(None) };
        let mut records = Vec::new();
        if episode.state == EpisodeState::Running {
            let last = self.0.store.last_step(episode.id).await?.map(|step| step.seq);
            let seq = last.or(episode.origin.map(|origin| origin.seq)).unwrap_or(0);
            let (stop, truncated) = (stop_reason(reason), true);
            records.push(Record::EpisodeEnd {
                episode: episode.id,
                seq,
                terminated: false,
                truncated,
                reason: stop,
                at: now,
            });
            if reason == CloseReason::RunEnded {
                records.push(self.invalid(&row, &episode, seq, now).await?);
            }
        }
        records.push(Record::SessionClosed { session: id, reason, at: now });
        Ok(Some(records))
    }

    async fn invalid(
        &self,
        row: &SessionRow,
        episode: &EpisodeRow,
        seq: u64,
        now: Timestamp,
    ) -> Result<Record, SessionError> {
        let name = format!("{}@{}", row.environment, row.version);
        let (judge, verifier) = match self.0.catalog.resolve(&row.tenant, &name).await {
            Ok(entry) => {
                let verifier = entry.kind.verifier();
                let (name, version) = (verifier.name().to_owned(), verifier.version().to_owned());
                (verifier.judge(), VerifierName { name, version })
            }
            // A session is closed also where a newer server does not have its environment any more.
            Err(CatalogError::UnknownEnvironment(_)) => {
                (Judge::State, VerifierName { name: "none".to_owned(), version: row.digest.to_string() })
            }
            Err(error) => return Err(error.into()),
        };
        let (status, detail) = run_ended();
        let verdict = Verdict {
            episode: episode.id,
            status,
            score: None,
            rescaled: None,
            strict: None,
            passed: false,
            trainable: false,
            checks: Vec::new(),
            judge,
            verifier,
            state: None,
            seq,
            usage: Usage { steps: seq, ..Usage::default() },
            detail: Some(detail),
        };
        Ok(verdict_record(&row.tenant, row.id, &verdict, now))
    }
}

/// The records of closing a session in memory.
fn closing(live: &mut Live, reason: CloseReason, now: Timestamp) -> Vec<Record> {
    let mut records = Vec::new();
    if live.running() {
        live.end(false, true, stop_reason(reason), now);
        records.push(end_record(live, now));
        if reason == CloseReason::RunEnded && live.verdict.is_none() {
            let verdict = Docket::new(live, Err(run_ended())).judge();
            records.push(verdict_record(&live.row.tenant, live.row.id, &verdict, now));
        }
    }
    records.push(Record::SessionClosed { session: live.row.id, reason, at: now });
    records
}

fn run_ended() -> (Status, String) {
    (Status::Invalid, "the run that owned the session ended before the episode did".to_owned())
}

const fn stop_reason(reason: CloseReason) -> StopReason {
    match reason {
        CloseReason::Deleted => StopReason::Left,
        CloseReason::Expired | CloseReason::Idle => StopReason::Expired,
        CloseReason::RunEnded => StopReason::LeaseExpired,
        CloseReason::Lost => StopReason::InfraError,
    }
}

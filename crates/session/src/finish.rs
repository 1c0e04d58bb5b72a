//! Finishing: ends an episode from outside. The same request again gets the same answer, also after a reset or a close.

use palestra_protocol::id::SessionId;
use palestra_protocol::session::VerifyMode;
use palestra_protocol::step::{Finish, FinishReason, Finished, StopReason};
use palestra_protocol::verdict::Status;

use super::cell::Live;
use super::judge::end_record;
use super::recorder::{Permit, Ticket};
use super::{Answer, LiveTurn, SessionError, Sessions};
use palestra_store::{Durability, Tenant};

impl Sessions {
    pub(super) async fn finish(&self, tenant: &Tenant, id: SessionId, finish: Finish) -> Result<Answer, SessionError> {
        let turn = match self.turn(tenant, id).await {
            Err(closed) if closed.is_closed() => {
                let finished = self.finished_before(tenant, id, &finish).await?;
                return finished.map(|finished| Answer::Finished(Box::new(finished))).ok_or(closed);
            }
            turn => turn?,
        };
        let permit = self.0.recorder.reserve().await?;
        let sessions = self.clone();
        let work = async move { sessions.finish_in(turn, &finish, permit).await };
        let (finished, ticket) = self.to_end(work).await?;
        ticket.committed().await?;
        Ok(Answer::Finished(Box::new(finished)))
    }

    async fn finish_in(
        &self,
        mut turn: LiveTurn,
        finish: &Finish,
        permit: Permit,
    ) -> Result<(Finished, Ticket), SessionError> {
        let live = turn.live()?;
        if finish.episode.is_some_and(|episode| episode != live.episode.id) {
            let recorded = live.ledger.latest();
            recorded.clone().committed().await?;
            let finished = self.finished_before(&live.row.tenant, live.row.id, finish).await?;
            let finished = finished.ok_or(SessionError::WrongEpisode { current: live.episode.id })?;
            return Ok((finished, recorded));
        }
        let reason = StopReason::from(finish.reason);
        if !live.running() {
            // The same request again gets the same answer.
            return if live.episode.stop_reason == Some(reason) {
                Ok((finished(live, reason), live.ledger.latest()))
            } else {
                Err(SessionError::EpisodeOver)
            };
        }
        let now = self.0.clock.now();
        live.end(false, true, reason, now);
        let mut records = vec![end_record(live, now)];
        let aborted = finish.reason == FinishReason::Aborted;
        if aborted || live.row.verify == VerifyMode::OnEnd {
            let forced = aborted.then(|| (Status::Invalid, cause(finish.detail.as_deref())));
            let reached = self.judge_now(live, forced, None).await;
            records.extend(reached.records);
            live.verdict = Some(Box::new(reached.verdict));
        }
        let ticket = self.0.recorder.submit(&live.ledger, permit, Durability::Disk, records);
        Ok((finished(live, reason), ticket))
    }

    /// The answer to a request that ended an episode before, also after the session went on or was closed.
    async fn finished_before(
        &self,
        tenant: &str,
        id: SessionId,
        finish: &Finish,
    ) -> Result<Option<Finished>, SessionError> {
        let episode = match finish.episode {
            Some(episode) => Some(episode),
            None => self.0.store.session(tenant, id).await?.map(|row| row.episode),
        };
        let Some(episode) = episode else { return Ok(None) };
        let stop_reason = StopReason::from(finish.reason);
        let row = self.0.store.episode(tenant, episode).await?;
        let row = row.filter(|row| row.session == id && row.stop_reason == Some(stop_reason));
        Ok(row.map(|row| Finished {
            episode,
            seq: row.seq.unwrap_or_default(),
            terminated: row.terminated,
            truncated: row.truncated,
            stop_reason,
            verdict: row.verdict.map(|verdict| *verdict),
        }))
    }
}

/// The words of a verdict for an episode that the caller aborted.
fn cause(told: Option<&str>) -> String {
    const ABORTED: &str = "the caller aborted the episode";
    match told.map(str::trim).filter(|told| !told.is_empty()) {
        Some(told) => format!("{ABORTED}: {told}"),
        None => ABORTED.to_owned(),
    }
}

fn finished(live: &Live, stop_reason: StopReason) -> Finished {
    Finished {
        episode: live.episode.id,
        seq: live.seq,
        terminated: live.episode.terminated,
        truncated: live.episode.truncated,
        stop_reason,
        verdict: live.verdict.as_deref().cloned(),
    }
}

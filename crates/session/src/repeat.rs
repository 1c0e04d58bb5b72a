//! Steps that were taken before: a repeated command finds its answer, wherever that is by now.

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::step::Step;

use super::cell::Live;
use super::error::missing;
use super::taken::KeptStep;
use super::{EncodedStep, SessionError, Sessions, TakenStep, observe};
use palestra_store::Tenant;
use palestra_store::row::{EpisodeRow, StepRow};

impl Sessions {
    /// The answer of a step that was taken before, in the order in which the contract checks: a stored answer, the
    /// episode, its end, the number.
    pub(super) async fn repeated(&self, live: &Live, step: &Step) -> Result<Option<TakenStep>, SessionError> {
        if let Some(episode) = step.episode
            && episode != live.episode.id
        {
            let stored = match step.seq {
                Some(seq) => {
                    // The last steps of the episode before may still be on their way to the store.
                    live.ledger.latest().committed().await?;
                    self.stored_step(&live.row.tenant, live.row.id, episode, seq, &step.action).await?
                }
                None => None,
            };
            return match stored {
                Some(past) => Ok(Some(past)),
                None => Err(SessionError::WrongEpisode { current: live.episode.id }),
            };
        }
        let Some(seq) = step.seq else {
            return if live.running() { Ok(None) } else { Err(SessionError::EpisodeOver) };
        };
        if (1..=live.seq).contains(&seq) {
            let past = self.past(live, seq).await?.filter(|past| same_action(past, &step.action));
            if past.is_some() {
                return Ok(past);
            }
            let refused = if live.running() { SessionError::StepConflict { seq } } else { SessionError::EpisodeOver };
            return Err(refused);
        }
        if !live.running() {
            return Err(SessionError::EpisodeOver);
        }
        let expected = live.seq + 1;
        match seq.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(None),
            std::cmp::Ordering::Greater => Err(SessionError::StepAhead { expected, durable_seq: live.durable_seq() }),
            std::cmp::Ordering::Less => Err(SessionError::StepConflict { seq }),
        }
    }

    /// A step of the current episode. Those before a fork or a restore answer as they did there, under this episode's id.
    async fn past(&self, live: &Live, seq: u64) -> Result<Option<TakenStep>, SessionError> {
        match self.past_anywhere(live, seq).await? {
            Some(past) if past.answer.episode != live.episode.id => {
                past.changed(|answer| answer.episode = live.episode.id).map(Some)
            }
            past => Ok(past),
        }
    }

    async fn past_anywhere(&self, live: &Live, seq: u64) -> Result<Option<TakenStep>, SessionError> {
        if live.recorded() && seq == live.seq && live.last.is_some() {
            return live.last_step();
        }
        if !live.recorded() {
            let place = seq.checked_sub(live.forgotten + 1).and_then(|place| usize::try_from(place).ok());
            return place.and_then(|place| live.past.get(place)).map(KeptStep::decoded).transpose();
        }
        // Earlier steps may still be on their way to the store.
        live.ledger.latest().committed().await?;
        let episode = self.episode_of_step(live.episode.clone(), seq).await?;
        let row = self.0.store.steps(episode.id, seq, seq, 1).await?.pop();
        row.as_ref().map(read_step).transpose()
    }

    /// The episode in which a step was taken: the given one, or one that it goes on from.
    pub(super) async fn episode_of_step(&self, mut episode: EpisodeRow, seq: u64) -> Result<EpisodeRow, SessionError> {
        while let Some(origin) = episode.origin.filter(|origin| seq <= origin.seq) {
            let before = self.0.store.episode(&episode.tenant, origin.episode).await?;
            episode = before.ok_or_else(|| missing("episode"))?;
        }
        Ok(episode)
    }

    /// A recorded step of an episode of this session with the same action.
    async fn stored_step(
        &self,
        tenant: &str,
        session: SessionId,
        episode: EpisodeId,
        seq: u64,
        action: &Action,
    ) -> Result<Option<TakenStep>, SessionError> {
        let known = self.0.store.episode(tenant, episode).await?;
        if known.is_none_or(|known| known.session != session) {
            return Ok(None);
        }
        let row = self.0.store.steps(episode, seq, seq, 1).await?.pop();
        let past = row.as_ref().map(read_step).transpose()?;
        Ok(past.filter(|past| same_action(past, action)))
    }

    pub(super) async fn answer_after_close(
        &self,
        tenant: &Tenant,
        id: SessionId,
        step: &Step,
    ) -> Result<Option<EncodedStep>, SessionError> {
        let Some(seq) = step.seq else { return Ok(None) };
        let Some(row) = self.0.store.session(tenant, id).await? else { return Ok(None) };
        let episode = step.episode.unwrap_or(row.episode);
        let past = self.stored_step(tenant, id, episode, seq, &step.action).await?;
        let cut = past.map(|past| observe::cut_step(past, &row.observe, step.observe.as_ref())).transpose()?;
        Ok(cut.map(|past| past.answer))
    }
}

/// A step as it was stored.
pub(super) fn read_step(row: &StepRow) -> Result<TakenStep, SessionError> {
    let broken = |error: serde_json::Error| palestra_store::StoreError::Broken(format!("step {}: {error}", row.seq));
    let action = row.action.as_deref().map(serde_json::from_str).transpose().map_err(broken)?;
    let answer = EncodedStep::read(row.answer.as_str().into()).map_err(broken)?;
    Ok(TakenStep { action: action.map(Arc::new), answer, ticket: None })
}

fn same_action(past: &TakenStep, action: &Action) -> bool {
    past.action.as_deref().is_none_or(|taken| taken == action)
}

//! Rebuilding: brings a session or an earlier point of it back from its record, by running the recorded actions again or by
//! picking up what outlived the server.

use std::sync::Arc;

use futures::FutureExt;
use palestra_protocol::environment::Recovery;
use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::SessionId;
use palestra_protocol::observation::Observation;
use palestra_protocol::session::{CloseReason, RecordMode, SessionState};
use palestra_protocol::step::StopReason;
use serde_json::{Map, Value};
use tracing::error;

use super::cell::Live;
use super::error::missing;
use super::open::{Beginning, Start, context_of};
use super::recorder::Ledger;
use super::repeat::read_step;
use super::step;
use super::taken::KeptStep;
use super::turn::{self, judged_turn};
use super::{EncodedStep, SessionError, Sessions, TakenStep};
use palestra_catalog::Entry;
use palestra_environment::randomness::Randomness;
use palestra_environment::remains::Remains;
use palestra_environment::state::State;
use palestra_environment::task::Task;
use palestra_environment::verifier::Turn;
use palestra_environment::{Context, LiveEnvironment, Place};
use palestra_store::Tenant;
use palestra_store::row::{EpisodeRow, Record, SessionRow, StepRow};
use palestra_store::{Durability, StoreError};

/// Steps that are read from the store at once.
const STEPS_PER_PAGE: u32 = 500;
/// A node whose heart has not beaten for so long has lost its sessions to whoever asks for them.
pub(super) const NODE_LOST_MS: i64 = 15_000;

/// A point of an episode, rebuilt.
pub(super) struct Point {
    pub entry: Arc<Entry>,
    pub task: Arc<Task>,
    /// Settings of the environment.
    pub config: Arc<Map<String, Value>>,
    /// `None` where the environment failed, now or then.
    pub place: Option<Place>,
    pub context: Context,
    pub seq: u64,
    pub calls: u64,
    pub last: Option<KeptStep>,
    pub first: Observation,
    pub past: imbl::Vector<KeptStep>,
    pub salts: Vec<(u64, u64)>,
}

impl Point {
    fn at_beginning(
        entry: Arc<Entry>,
        task: Arc<Task>,
        config: Arc<Map<String, Value>>,
        beginning: Beginning,
        salts: Vec<(u64, u64)>,
    ) -> Self {
        let mut point = Self {
            entry,
            task,
            config,
            place: beginning.place,
            context: beginning.context,
            seq: 0,
            calls: 0,
            last: None,
            first: beginning.first,
            past: imbl::Vector::new(),
            salts,
        };
        point.salt();
        point
    }

    /// Replaces the randomness where a fork split it at this step.
    fn salt(&mut self) {
        for (_, salt) in self.salts.iter().filter(|(seq, _)| *seq == self.seq) {
            self.context.rng = salted(*salt);
        }
    }

    /// Runs a recorded step again and compares what is seen.
    async fn replay(&mut self, past: TakenStep, calls_max: Option<u64>) {
        self.seq = past.answer.seq;
        let failed_then = past.answer.stop_reason == Some(StopReason::InfraError);
        if failed_then {
            self.place = None;
        } else if let (Some(action), Some(place)) = (&past.action, &mut self.place) {
            let calls_left = calls_max.unwrap_or(u64::MAX).saturating_sub(self.calls);
            let seen = &past.answer.observation;
            let toolbox = &self.entry.offer(&self.config).toolbox;
            let mut again = step::blank(past.answer.episode, self.seq);
            let calls =
                turn::take(place, toolbox, action, calls_left, Some(&seen.data), &mut self.context, &mut again).await;
            // They were stored when the step was taken first.
            turn::take_blobs(place);
            let same = calls.is_ok() && turn::agrees(place, seen, &again.observation);
            self.calls += calls.unwrap_or(0);
            if !same {
                let episode = past.answer.episode;
                error!(%episode, seq = self.seq, "a replay differs from the record: the environment is not deterministic");
                self.place = None;
            }
        }
        self.last = Some(past.kept());
        self.salt();
    }
}

/// Replaces a place whose episode is over by its state, which is all that can still be asked of it.
async fn remains(mut place: Box<dyn LiveEnvironment>) -> Option<Place> {
    let state = place.state().await;
    place.close().await;
    Some(Place::Pure(Box::new(Remains(state.ok()?))))
}

/// The randomness of a fork that split it.
pub(super) fn salted(salt: u64) -> Randomness {
    Randomness::seeded(&[b"fork", &salt.to_le_bytes()])
}

impl Sessions {
    /// Brings a session into memory.
    pub(super) async fn load(&self, tenant: &Tenant, id: SessionId) -> Result<Box<Live>, SessionError> {
        let mut row = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        if row.state == SessionState::Closed {
            return Err(match row.closed_reason {
                Some(CloseReason::Lost) => SessionError::Lost,
                reason => SessionError::Over(reason.unwrap_or(CloseReason::Deleted)),
            });
        }
        self.own(&mut row).await?;
        let episode = self.0.store.episode(tenant, row.episode).await?.ok_or_else(|| missing("episode"))?;
        if row.record == RecordMode::None {
            self.lose(&row).await?;
            return Err(SessionError::Lost);
        }
        let live = match self.entry_of(&row).await?.spec().capabilities.recovery {
            Recovery::Replay => self.replayed(row, episode).await?,
            Recovery::Files | Recovery::None => self.resumed(row, episode).await?,
        };
        Ok(Box::new(live))
    }

    pub(super) async fn entry_of(&self, row: &SessionRow) -> Result<Arc<Entry>, SessionError> {
        Ok(self.0.catalog.resolve(&row.tenant, &format!("{}@{}", row.environment, row.version)).await?)
    }

    /// Takes the session over from a node that is gone.
    async fn own(&self, row: &mut SessionRow) -> Result<(), SessionError> {
        let here = &self.0.name;
        if row.node == *here {
            return Ok(());
        }
        let beat = self.0.store.node_beat(&row.node).await?;
        let silent = |beat| self.0.clock.now().milliseconds() - beat > NODE_LOST_MS;
        let lost = beat.is_none_or(|beat| silent(beat.milliseconds()));
        if !lost || !self.0.store.adopt_session(row.id, &row.node, here).await? {
            return Err(SessionError::Elsewhere(row.node.to_string()));
        }
        row.node.clone_from(here);
        Ok(())
    }

    /// Closes a session whose only copy died with the server.
    async fn lose(&self, row: &SessionRow) -> Result<(), SessionError> {
        let now = self.0.clock.now();
        let Some(records) = self.closing_unloaded(&row.tenant, row.id, CloseReason::Lost, now).await? else {
            return Ok(());
        };
        let permit = self.0.recorder.reserve().await?;
        self.0.recorder.submit(&Ledger::new(row.id), permit, Durability::Disk, records).committed().await
    }

    async fn replayed(&self, row: SessionRow, episode: EpisodeRow) -> Result<Live, SessionError> {
        let mut point = self.rebuild(&row, &episode, None).await?;
        if episode.state != EpisodeState::Running {
            point.place = match point.place {
                Some(Place::Live(place)) => remains(place).await,
                place => place,
            };
        }
        let verdict = episode.verdict.clone();
        Ok(Live { verdict, first: None, ..point.into_live(row, episode) })
    }

    /// Rebuilds an episode after `upto` steps, or after all of them, from the record alone.
    pub(super) async fn rebuild(
        &self,
        session: &SessionRow,
        episode: &EpisodeRow,
        upto: Option<u64>,
    ) -> Result<Point, SessionError> {
        let chain = self.chain(episode, upto).await?;
        let root = chain.last().map_or(episode, |(root, _)| root);
        let name = format!("{}@{}", root.environment, root.version);
        let entry = self.0.catalog.resolve(&root.tenant, &name).await?;
        let task = self.0.catalog.task_of_id(&entry, &root.task).await?;
        let beginning = self.open_place(&entry, &task, root, Start::Fresh).await?;
        // A fork that was itself forked at a step before its own beginning hands on nothing of its own.
        let reached = |seq: u64, upto: &Option<u64>| upto.is_none_or(|upto| upto >= seq);
        let salts = chain
            .iter()
            .rev()
            .filter_map(|(part, upto)| part.origin.filter(|origin| reached(origin.seq, upto)).zip(part.salt))
            .map(|(origin, salt)| (origin.seq, salt))
            .collect();
        let mut point = Point::at_beginning(entry, task, Arc::clone(&root.config), beginning, salts);
        for (part, upto) in chain.iter().rev() {
            while upto.is_none_or(|upto| point.seq < upto) {
                let to = upto.unwrap_or(i64::MAX.unsigned_abs());
                let rows = self.0.store.steps(part.id, point.seq + 1, to, STEPS_PER_PAGE).await?;
                if rows.is_empty() {
                    break;
                }
                let past = rows.iter().map(read_step).collect::<Result<_, _>>()?;
                point = self.replay_all(point, past, session.limits.calls).await?;
                tokio::task::yield_now().await;
            }
        }
        if upto.is_some_and(|upto| point.seq != upto) {
            return Err(missing("step"));
        }
        Ok(point)
    }

    /// An episode and all that it goes on from, each with the step up to which it counts, newest first.
    pub(super) async fn chain(
        &self,
        episode: &EpisodeRow,
        upto: Option<u64>,
    ) -> Result<Vec<(EpisodeRow, Option<u64>)>, SessionError> {
        let mut chain = vec![(episode.clone(), upto)];
        while let Some((EpisodeRow { origin: Some(origin), tenant, .. }, upto)) = chain.last() {
            let upto = upto.map_or(origin.seq, |upto| upto.min(origin.seq));
            let before = self.0.store.episode(tenant, origin.episode).await?.ok_or_else(|| missing("episode"))?;
            chain.push((before, Some(upto)));
        }
        Ok(chain)
    }

    /// Rebuilds a step of an episode of a session in memory.
    pub(super) async fn point_at(&self, live: &Live, episode: &EpisodeRow, seq: u64) -> Result<Point, SessionError> {
        if live.recorded() {
            live.ledger.latest().committed().await?;
            self.rebuild(&live.row, episode, Some(seq)).await
        } else if episode.id == live.episode.id {
            self.rebuild_unrecorded(live, seq).await
        } else {
            let detail =
                "an unrecorded session goes back within its current episode only: choose a step of this episode";
            Err(SessionError::NotSupported(detail.to_owned()))
        }
    }

    /// Rebuilds an earlier point of an unrecorded session from what is in memory.
    async fn rebuild_unrecorded(&self, live: &Live, upto: u64) -> Result<Point, SessionError> {
        if live.forgotten > 0 {
            let detail = format!(
                "an unrecorded session keeps its last {} steps: choose one of those",
                super::cell::UNRECORDED_STEPS_MAX
            );
            return Err(SessionError::NotSupported(detail));
        }
        let beginning = self.open_place(&live.entry, &live.task, &live.episode, Start::Fresh).await?;
        let (config, salts) = (&live.row.config, live.salts.clone());
        let point =
            Point::at_beginning(Arc::clone(&live.entry), Arc::clone(&live.task), Arc::clone(config), beginning, salts);
        // None was forgotten, so the first is step 1.
        let kept: imbl::Vector<KeptStep> =
            live.past.take(live.past.len().min(usize::try_from(upto).unwrap_or(usize::MAX)));
        let past = kept.iter().map(KeptStep::decoded).collect::<Result<_, _>>()?;
        Ok(Point { past: kept, ..self.replay_all(point, past, live.row.limits.calls).await? })
    }

    /// Runs recorded steps again, on the blocking pool where the environment is heavy.
    async fn replay_all(
        &self,
        mut point: Point,
        past: Vec<TakenStep>,
        calls_max: Option<u64>,
    ) -> Result<Point, SessionError> {
        if !(point.entry.kind.heavy() && matches!(point.place, Some(Place::Pure(_)))) {
            for past in past {
                point.replay(past, calls_max).await;
            }
            return Ok(point);
        }
        let work = move || {
            let whole = past.into_iter().all(|past| point.replay(past, calls_max).now_or_never().is_some());
            whole.then_some(point)
        };
        let replayed = self.heavy(work).await.map_err(SessionError::Internal)?;
        replayed.ok_or_else(|| SessionError::Internal("a pure environment waited".to_owned()))
    }

    /// Picks up an episode whose actions cannot be run again.
    async fn resumed(&self, row: SessionRow, episode: EpisodeRow) -> Result<Live, SessionError> {
        let entry = self.entry_of(&row).await?;
        let task = self.0.catalog.task_of_id(&entry, &episode.task).await?;
        let past = self.recorded_past(&episode).await?;
        let running = episode.state == EpisodeState::Running;
        // An episode that ended without a verdict can still be judged by what is left of it.
        let failed = episode.stop_reason == Some(StopReason::InfraError);
        let wanted = running || (episode.verdict.is_none() && !failed);
        let survives = wanted && entry.spec().capabilities.recovery == Recovery::Files;
        let picked_up = if survives {
            match self.open_place(&entry, &task, &episode, Start::Left).await {
                // Nothing of it outlived the server: the session goes on as one whose environment is lost.
                Err(SessionError::Internal(why)) => {
                    tracing::warn!(session = %row.id, why, "an environment could not be picked up");
                    None
                }
                picked_up => Some(picked_up?),
            }
        } else {
            None
        };
        let verdict = episode.verdict.clone();
        let survives = picked_up.is_some();
        let (remains, beginning) = match picked_up {
            Some(beginning) => (None, beginning),
            None => {
                let judged = verdict.as_ref().and_then(|verdict| verdict.state.as_deref());
                let state = match judged {
                    Some(digest) => self.0.store.state(digest).await?.map(State::from),
                    None => None,
                };
                let place = Place::Pure(Box::new(Remains(state.clone().unwrap_or(State::Null))));
                let context = context_of(&entry, &task, episode.seed);
                (state, Beginning { place: Some(place), context, first: Observation::default() })
            }
        };
        let mut live = Live::new(row, entry, task, episode, beginning);
        // The steps before its own beginning may not have been recorded.
        let begun_at = live.episode.origin.map_or(0, |origin| origin.seq);
        live.seq = past.last().map_or(begun_at, |past| past.answer.seq.max(begun_at));
        live.calls = past.iter().filter_map(|past| past.action.as_deref()).map(turn::calls_of).sum();
        live.calls = live.row.limits.calls.map_or(live.calls, |most| live.calls.min(most));
        live.last = past.last().map(TakenStep::kept);
        live.verdict = verdict;
        if !survives && (running || remains.is_none()) {
            live.place = None;
        } else if survives && running {
            live.notice = live.first.take().map(|first| first.text);
        }
        live.first = None;
        if running {
            self.settle_intent(&mut live).await?;
        }
        Ok(live)
    }

    /// Turns an intent without a result into a step that says so; it is never run again.
    async fn settle_intent(&self, live: &mut Live) -> Result<(), SessionError> {
        let Some((seq, action)) = self.0.store.open_intent(live.episode.id).await? else { return Ok(()) };
        let action = serde_json::from_str(&action).map_err(|error| StoreError::Broken(error.to_string()))?;
        let text = live.notice.take().unwrap_or_else(|| "The environment was lost.".to_owned());
        let text =
            format!("This step was cut off before it was recorded; it may have acted and is not run again.\n{text}");
        let mut interrupted = step::blank(live.episode.id, seq);
        interrupted.info.interrupted = true;
        step::tell(&mut interrupted, text);
        let answer = EncodedStep::new(interrupted)?;
        let row = step::row(live.episode.id, Some(&action), &answer, None, self.0.clock.now())?;
        let permit = self.0.recorder.reserve().await?;
        let settled = Record::IntentSettled { episode: live.episode.id, seq };
        let records = vec![Record::Step(Box::new(row)), settled];
        let ticket = self.0.recorder.submit(&live.ledger, permit, Durability::Disk, records);
        live.seq = seq;
        step::remember(live, &TakenStep { action: Some(Arc::new(action)), answer, ticket: Some(ticket) });
        Ok(())
    }

    /// Every turn of the current episode from its root on, for verifiers that ask for it.
    pub(super) async fn turns_of(&self, live: &Live) -> Result<Vec<Turn>, SessionError> {
        let past: Vec<TakenStep> = if live.recorded() {
            live.ledger.latest().committed().await?;
            self.recorded_past(&live.episode).await?
        } else {
            live.past.iter().map(KeptStep::decoded).collect::<Result<_, _>>()?
        };
        let step_rewards = live.entry.spec().step_rewards;
        Ok(past.iter().map(|past| judged_turn(past.action.as_deref(), &past.answer, step_rewards)).collect())
    }

    /// Every recorded step of an episode from its root on.
    pub(super) async fn recorded_past(&self, episode: &EpisodeRow) -> Result<Vec<TakenStep>, SessionError> {
        self.recorded_rows(episode).await?.iter().map(read_step).collect()
    }

    /// Every recorded step of an episode from its root on, as it was stored.
    pub(super) async fn recorded_rows(&self, episode: &EpisodeRow) -> Result<Vec<StepRow>, SessionError> {
        let mut all = Vec::new();
        let mut next = 1;
        for (part, upto) in self.chain(episode, None).await?.iter().rev() {
            let to = upto.unwrap_or(i64::MAX.unsigned_abs());
            while next <= to {
                let rows = self.0.store.steps(part.id, next, to, STEPS_PER_PAGE).await?;
                let Some(last) = rows.last() else { break };
                next = last.seq + 1;
                all.extend(rows);
            }
        }
        Ok(all)
    }
}

impl Point {
    /// A session that stands at this point.
    pub(super) fn into_live(self, row: SessionRow, episode: EpisodeRow) -> Live {
        let beginning = Beginning { place: self.place, context: self.context, first: self.first };
        Live {
            seq: self.seq,
            calls: self.calls,
            last: self.last,
            past: self.past,
            salts: self.salts,
            ..Live::new(row, self.entry, self.task, episode, beginning)
        }
    }
}

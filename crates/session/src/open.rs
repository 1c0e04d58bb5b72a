//! Opening: the place of an episode at its beginning, and the commands that put another episode in the place of a session's.

use std::sync::Arc;

use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::Observation;
use palestra_protocol::session::{Opened, Reset};
use palestra_protocol::step::StopReason;
use palestra_protocol::time::Timestamp;
use serde_json::Value;

use super::cell::Live;
use super::error::fault;
use super::idempotency::Claim;
use super::recorder::{Ledger, Permit};
use super::{Answer, LiveTurn, SessionError, Sessions, blob, turn};
use palestra_catalog::Entry;
use palestra_environment::task::{SEED_MAX, Task};
use palestra_environment::{Context, Opening, Place, Secrets};
use palestra_store::Tenant;
use palestra_store::row::{EpisodeFilter, EpisodeRow, PageRequest, Record, SessionRow};

/// A place at the beginning of an episode.
pub(super) struct Beginning {
    /// `None` where the environment is lost.
    pub place: Option<Place>,
    pub context: Context,
    pub first: Observation,
}

/// The state that a place is opened in.
pub(super) enum Start {
    /// The beginning of its task.
    Fresh,
    /// The remains of the same episode.
    Left,
    /// A snapshot of another episode.
    Snapshot(Value),
}

impl Sessions {
    pub(super) async fn reset(
        &self,
        tenant: &Tenant,
        id: SessionId,
        request: Reset,
        key: Option<String>,
    ) -> Result<Answer, SessionError> {
        self.once_in_turn(tenant, id, ("reset", key), request, Self::reset_in).await.map(Answer::Opened)
    }

    async fn reset_in(
        self,
        mut turn: LiveTurn,
        request: Reset,
        claim: Option<Claim>,
    ) -> Result<Box<Opened>, SessionError> {
        let live = turn.live()?;
        if request.seed.is_some_and(|seed| seed > SEED_MAX) {
            return Err(fault("seed", "a seed must be at most 2^53 - 1"));
        }
        let task = match &request.task {
            None => Arc::clone(&live.task),
            Some(choice) => self.0.catalog.choose(&live.entry, Some(choice)).await?,
        };
        let seed = request.seed.unwrap_or(live.episode.seed);
        let attempt = self.next_attempt(live, &task.public.id).await?;
        let permit = self.0.recorder.reserve().await?;
        let mut episode = EpisodeRow {
            id: EpisodeId::new(),
            ordinal: live.row.episodes + 1,
            attempt,
            task: task.public.id.as_str().into(),
            seed,
            ..first_episode(&live.row, self.0.clock.now())
        };
        let beginning = self.open_place(&live.entry, &task, &episode, Start::Fresh).await?;
        episode.started_at = self.0.clock.now();
        let fresh = Live::new(live.row_in(&episode), Arc::clone(&live.entry), task, episode, beginning);
        self.replace_episode(turn, permit, fresh, claim).await
    }

    /// Leaves the episode of a session for that of `fresh`.
    pub(super) async fn replace_episode(
        &self,
        mut turn: LiveTurn,
        permit: Permit,
        fresh: Live,
        claim: Option<Claim>,
    ) -> Result<Box<Opened>, SessionError> {
        let live = turn.live()?;
        let now = fresh.episode.started_at;
        let mut records = self.leave(live, now);
        *live = Live { ledger: Arc::clone(&live.ledger), ..fresh };
        records.push(Record::Episode(Box::new(live.episode.clone())));
        records.extend(blob::keep_first(live));
        let opened = Box::new(live.opened(live.scene()?, now));
        self.conclude(turn, permit, records, claim, opened).await
    }

    /// Ends an episode that is being left, and lets go of its place.
    fn leave(&self, live: &mut Live, now: Timestamp) -> Vec<Record> {
        if let Some(Place::Live(mut place)) = live.place.take() {
            self.0.tracker.spawn(async move { place.close().await });
        }
        if !live.running() {
            return Vec::new();
        }
        live.end(false, true, StopReason::Left, now);
        vec![super::judge::end_record(live, now)]
    }

    /// The number of the next attempt at a task in this session.
    pub(super) async fn next_attempt(&self, live: &Live, task: &str) -> Result<u64, SessionError> {
        if *live.episode.task == *task {
            return Ok(live.episode.attempt + 1);
        }
        live.ledger.latest().committed().await?;
        let filter =
            EpisodeFilter { session: Some(live.row.id), task: Some(task.to_owned()), ..EpisodeFilter::default() };
        let newest = self.0.store.episodes(&live.row.tenant, &filter, &PageRequest { before: None, limit: 1 }).await?;
        Ok(newest.first().map_or(1, |episode| episode.attempt + 1))
    }

    /// Opens the place of an episode and takes the first look.
    pub(super) async fn open_place(
        &self,
        entry: &Arc<Entry>,
        task: &Arc<Task>,
        episode: &EpisodeRow,
        start: Start,
    ) -> Result<Beginning, SessionError> {
        let &EpisodeRow { id, seed, secrets, ref config, .. } = episode;
        let make = {
            let (entry, task, config, folder) =
                (Arc::clone(entry), Arc::clone(task), Arc::clone(config), self.0.folder.clone());
            let (resumed, from) = match start {
                Start::Fresh => (false, None),
                Start::Left => (true, None),
                Start::Snapshot(state) => (false, Some(state)),
            };
            move || {
                let opening = Opening {
                    task: &task,
                    seed,
                    secrets,
                    config: &config,
                    episode: id,
                    resumed,
                    folder: Some(&folder),
                    from: from.as_ref(),
                };
                turn::guard("environment", || entry.kind.open(opening))
            }
        };
        let opened = if entry.kind.heavy_to_open(config) {
            self.heavy(make).await.map_err(SessionError::Internal)?
        } else {
            make()
        };
        let mut place = opened?.map_err(|error| {
            let field = error.field.map_or_else(|| "config".to_owned(), |field| format!("config.{field}"));
            fault(&field, &error.detail)
        })?;
        let first = match turn::observe(&mut place).await {
            Ok(first) => first,
            Err(error) => {
                turn::close(place).await;
                return Err(error.into());
            }
        };
        Ok(Beginning { place: Some(place), context: context_of(entry, task, seed), first })
    }
}

/// Randomness and clock at the beginning of an episode.
pub(super) fn context_of(entry: &Entry, task: &Task, seed: u64) -> Context {
    let spec = entry.spec();
    Context::seeded(&[
        b"episode",
        spec.name.as_bytes(),
        &spec.version.to_le_bytes(),
        task.public.id.as_bytes(),
        &seed.to_le_bytes(),
    ])
}

impl Live {
    pub(super) fn new(
        row: SessionRow,
        entry: Arc<Entry>,
        task: Arc<Task>,
        episode: EpisodeRow,
        beginning: Beginning,
    ) -> Self {
        let ledger = Ledger::new(row.id);
        Self {
            row,
            entry,
            task,
            episode,
            place: beginning.place,
            context: beginning.context,
            seq: 0,
            calls: 0,
            env_us: 0,
            last: None,
            first: Some(Box::new(beginning.first)),
            past: imbl::Vector::new(),
            forgotten: 0,
            salts: Vec::new(),
            verdict: None,
            judging: None,
            notice: None,
            ledger,
        }
    }

    /// The row of the session in another episode.
    pub(super) fn row_in(&self, episode: &EpisodeRow) -> SessionRow {
        SessionRow {
            episode: episode.id,
            task: Arc::clone(&episode.task),
            seed: episode.seed,
            episodes: episode.ordinal,
            ..self.row.clone()
        }
    }
}

/// The first episode of a session, with secrets of its own.
pub(super) fn first_episode(row: &SessionRow, now: Timestamp) -> EpisodeRow {
    EpisodeRow {
        id: row.episode,
        session: row.id,
        tenant: row.tenant.clone(),
        ordinal: 1,
        attempt: 1,
        environment: row.environment.clone(),
        version: row.version,
        digest: row.digest.clone(),
        task: row.task.clone(),
        seed: row.seed,
        secrets: Secrets::fresh(),
        config: row.config.clone(),
        origin: None,
        salt: None,
        run: row.run,
        group: row.group,
        state: EpisodeState::Running,
        seq: None,
        terminated: false,
        truncated: false,
        stop_reason: None,
        status: None,
        score: None,
        verdict: None,
        started_at: now,
        ended_at: None,
    }
}

//! Creation from a stored point: new sessions that begin where an episode stood, at a snapshot or after a recorded step. The
//! episode's session may have ended, or be held by another node: the store has all that is needed.

use std::sync::Arc;

use palestra_protocol::environment::AtSeq;
use palestra_protocol::id::{EpisodeId, GroupId, SessionId};
use palestra_protocol::problem::Fault;
use palestra_protocol::session::{CreateSession, Created, RecordMode, SessionState, StartPoint, TaskChoice};

use super::cell::{Live, UNRECORDED_STEPS_MAX};
use super::error::{fault, missing};
use super::fork::{child, copies, replayable};
use super::idempotency::Claim;
use super::point::POINT;
use super::rebuild::Point;
use super::taken::KeptStep;
use super::{SessionError, Sessions, TakenStep, turn};
use palestra_catalog::Entry;
use palestra_environment::Place;
use palestra_store::Tenant;
use palestra_store::row::{EpisodeRow, SessionRow};

/// A stored point, with the episode and the session that it belongs to.
struct StoredPoint {
    session: SessionRow,
    episode: EpisodeRow,
    seq: u64,
    /// Digest of what a snapshot kept, where the recorded actions do not lead there again.
    state: Option<String>,
}

impl Sessions {
    /// Makes as many sessions as are asked for, all of them or none.
    pub(super) async fn create_from(
        &self,
        tenant: &Tenant,
        from: StartPoint,
        request: CreateSession,
        claims: &[Claim],
    ) -> Result<Created, SessionError> {
        let mut stored = self.stored_point(tenant, from).await?;
        let name = format!("{}@{}", stored.episode.environment, stored.episode.version);
        let entry = self.0.catalog.resolve(tenant, &name).await?;
        self.check_agreement(&entry, &stored.episode, &request).await?;
        self.check_reachable(&entry, &mut stored).await?;
        let first = self.row_from(&stored, &request);
        check_left("limits.steps", first.limits.steps, stored.seq, "steps")?;
        if let Some(run) = request.run {
            self.touch_run(tenant, run).await?;
        }
        let count = usize::try_from(request.count.unwrap_or(1)).unwrap_or(usize::MAX);
        self.check_capacity(count)?;
        let permit = self.0.recorder.reserve().await?;
        let mut rows = vec![first];
        for _ in 1..count {
            rows.push(SessionRow { id: SessionId::new(), episode: EpisodeId::new(), ..rows[0].clone() });
        }
        let ids: Vec<EpisodeId> = rows.iter().map(|row| row.episode).collect();
        let (mut point, places) = self.open_places(&entry, &stored, &ids).await.map_err(elsewhere)?;
        let ready = match check_left("limits.calls", rows[0].limits.calls, point.calls, "calls") {
            Ok(()) if rows[0].record == RecordMode::None => self.known_past(&stored).await,
            checked => checked.map(|()| imbl::Vector::new()),
        };
        point.past = match ready {
            Ok(past) => past,
            Err(error) => {
                close_all(places).await;
                return Err(error);
            }
        };
        let forgotten = match rows[0].record {
            RecordMode::None => stored.seq.saturating_sub(u64::try_from(point.past.len()).unwrap_or(u64::MAX)),
            RecordMode::Group | RecordMode::Sync => 0,
        };
        let now = self.0.clock.now();
        let begun = |(row, place)| Live { forgotten, ..child(row, &stored.episode, &point, place, None, now) };
        let fresh = rows.into_iter().zip(places).map(begun).collect();
        self.enter(fresh, permit, claims, request.count.is_some()).await
    }

    /// Looks up what a request names. Another tenant's is not found.
    async fn stored_point(&self, tenant: &Tenant, from: StartPoint) -> Result<StoredPoint, SessionError> {
        let store = &self.0.store;
        let (id, seq, state) = match from {
            StartPoint { snapshot: Some(id), .. } => {
                let snapshot = store.snapshot(tenant, id).await?.ok_or(SessionError::NotFound("snapshot"))?;
                (snapshot.episode, snapshot.seq, snapshot.state)
            }
            StartPoint { episode: Some(id), seq: Some(seq), .. } => (id, seq, None),
            StartPoint { .. } => return Err(fault("from", POINT)),
        };
        let episode = store.episode(tenant, id).await?.ok_or(SessionError::NotFound("episode"))?;
        let session = store.session(tenant, episode.session).await?.ok_or_else(|| missing("session"))?;
        Ok(StoredPoint { session, episode, seq, state })
    }

    /// Refuses what says something else than the point does; all faults at once.
    async fn check_agreement(
        &self,
        entry: &Arc<Entry>,
        episode: &EpisodeRow,
        request: &CreateSession,
    ) -> Result<(), SessionError> {
        let mut faults = Vec::new();
        let mut wrong = |field: &str, value: &str| {
            let detail = format!("`from` decides it: {value}; leave the field out, or say the same");
            faults.push(Fault { field: Some(field.to_owned()), detail, ..Fault::default() });
        };
        let named = request.environment.as_str();
        if !(named.is_empty() || named == &*entry.name || named == entry.full_name()) {
            wrong("environment", entry.full_name());
        }
        if request.seed.is_some_and(|seed| seed != episode.seed) {
            wrong("seed", &episode.seed.to_string());
        }
        if !(request.config.is_empty() || request.config == *episode.config) {
            wrong("config", "the settings of the point's session");
        }
        if let Some(choice) = &request.task {
            // A choice that leaves the task open would be drawn.
            let same =
                is_definite(choice) && *self.0.catalog.choose(entry, Some(choice)).await?.public.id == *episode.task;
            if !same {
                wrong("task", &episode.task);
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(SessionError::Invalid(faults)) }
    }

    /// Refuses a point that nothing leads to, and finds the snapshot that does where recorded actions do not.
    async fn check_reachable(&self, entry: &Entry, stored: &mut StoredPoint) -> Result<(), SessionError> {
        if stored.state.is_some() {
            return Ok(());
        }
        let by_replay = replayable(entry);
        if by_replay.is_err() && entry.spec().capabilities.at_seq != AtSeq::Snapshots {
            return by_replay;
        }
        // The episode that recorded the step: this one, or one that it goes on from.
        let part = self.episode_of_step(stored.episode.clone(), stored.seq).await?;
        if by_replay.is_err() {
            stored.state = self.snapshot_at(&stored.episode, &part, stored.seq).await?;
            return match stored.state {
                Some(_) => Ok(()),
                None => Err(SessionError::NotSupported(format!(
                    "this environment goes back to snapshots alone, and none that can be opened was taken after step {} of \
                     episode {}: take snapshots where you will want to begin",
                    stored.seq, stored.episode.id
                ))),
            };
        }
        self.check_recorded(&part, stored.seq).await?;
        let last = self.last_seq(&stored.episode).await?;
        if stored.seq > last {
            let detail = format!("episode {} has {last} steps: give 0 to {last}", stored.episode.id);
            return Err(fault("from.seq", &detail));
        }
        if stored.seq > 0 {
            let row = self.0.store.steps(part.id, stored.seq, stored.seq, 1).await?.pop();
            let row = row.ok_or_else(|| missing("step"))?;
            if row.terminated || row.truncated {
                let detail = format!("step {} ended the episode: give an earlier one", stored.seq);
                return Err(fault("from.seq", &detail));
            }
        }
        Ok(())
    }

    /// Refuses a step of an unrecorded session: nothing tells what was done up to there.
    async fn check_recorded(&self, part: &EpisodeRow, seq: u64) -> Result<(), SessionError> {
        if seq <= part.origin.map_or(0, |origin| origin.seq) {
            return Ok(());
        }
        let session = self.0.store.session(&part.tenant, part.session).await?.ok_or_else(|| missing("session"))?;
        if session.record != RecordMode::None {
            return Ok(());
        }
        let detail = format!(
            "the steps of episode {} were not recorded (record: none): fork its session while it is live, or record what \
             you will want to begin at",
            part.id
        );
        Err(SessionError::NotSupported(detail))
    }

    /// The state kept by the newest snapshot after a step, of an episode or of the one which recorded the step.
    async fn snapshot_at(
        &self,
        episode: &EpisodeRow,
        part: &EpisodeRow,
        seq: u64,
    ) -> Result<Option<String>, SessionError> {
        for one in [episode, part] {
            let taken = self.0.store.snapshots(one.session).await?;
            let there = taken.into_iter().filter(|snapshot| snapshot.episode == one.id && snapshot.seq == seq);
            if let Some(state) = there.rev().find_map(|snapshot| snapshot.state) {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// The last recorded step of an episode.
    async fn last_seq(&self, episode: &EpisodeRow) -> Result<u64, SessionError> {
        if let Some(seq) = episode.seq {
            return Ok(seq);
        }
        let last = self.0.store.last_step(episode.id).await?.map(|step| step.seq);
        Ok(last.or(episode.origin.map(|origin| origin.seq)).unwrap_or(0))
    }

    /// The row of the first session: what the point decides is its own, what the request leaves out of limits, `verify` and
    /// `observe` that of its session.
    fn row_from(&self, stored: &StoredPoint, request: &CreateSession) -> SessionRow {
        let now = self.0.clock.now();
        let origin = &stored.session;
        SessionRow {
            id: request.id.unwrap_or_else(SessionId::new),
            node: Arc::clone(&self.0.name),
            run: request.run,
            group: request.group.or_else(|| request.count.map(|_| GroupId::new())),
            parent: Some(origin.id),
            state: SessionState::Open,
            closed_reason: None,
            record: request.record.unwrap_or_default(),
            verify: request.verify.unwrap_or(origin.verify),
            limits: request.limits.unwrap_or_default().or(origin.limits),
            observe: request.observe.clone().map_or_else(|| Arc::clone(&origin.observe), Arc::new),
            metadata: Arc::new(request.metadata.clone()),
            episode: EpisodeId::new(),
            task: Arc::clone(&stored.episode.task),
            seed: stored.episode.seed,
            episodes: 1,
            created_at: now,
            expires_at: now.plus_ms(self.0.settings.session_ttl_ms),
            closed_at: None,
            ..origin.clone()
        }
    }

    /// Opens a place at the point for each of the episodes: all of them or none.
    async fn open_places(
        &self,
        entry: &Arc<Entry>,
        stored: &StoredPoint,
        ids: &[EpisodeId],
    ) -> Result<(Point, Vec<Place>), SessionError> {
        let StoredPoint { session, episode, seq, state } = stored;
        let Some(digest) = state else {
            let mut point = self.rebuild(session, episode, Some(*seq)).await?;
            let lost = || {
                let why = "the environment failed, or is not deterministic";
                SessionError::NotSupported(format!("the recorded steps, run again, do not lead to step {seq}: {why}"))
            };
            let mut place = point.place.take().ok_or_else(lost)?;
            return match copies(Some(&mut place), &ids[1..]).await {
                Ok(others) => Ok((point, std::iter::once(place).chain(others).collect())),
                Err(error) => {
                    turn::close(place).await;
                    Err(error)
                }
            };
        };
        let mut opened: Option<Point> = None;
        let mut places = Vec::with_capacity(ids.len());
        for id in ids {
            match self.kept_point(entry, session.record, episode, (*seq, digest), *id).await {
                Ok(mut point) => {
                    places.extend(point.place.take());
                    opened.get_or_insert(point);
                }
                Err(error) => {
                    close_all(places).await;
                    return Err(error);
                }
            }
        }
        opened.map(|point| (point, places)).ok_or_else(|| SessionError::Internal("no place was opened".to_owned()))
    }

    /// The recorded steps up to the point, as an unrecorded session keeps them: the last ones, without a hole.
    async fn known_past(&self, stored: &StoredPoint) -> Result<imbl::Vector<KeptStep>, SessionError> {
        let past = self.recorded_past(&stored.episode).await?;
        let taken = past.iter().take_while(|past| past.answer.seq <= stored.seq).count();
        let (taken, _) = past.split_at(taken);
        if taken.last().is_none_or(|last| last.answer.seq != stored.seq) {
            return Ok(imbl::Vector::new());
        }
        Ok(taken[taken.len().saturating_sub(UNRECORDED_STEPS_MAX)..].iter().map(TakenStep::kept).collect())
    }
}

/// True if a choice names one task.
const fn is_definite(choice: &TaskChoice) -> bool {
    choice.id.is_some() || choice.index.is_some() || choice.seed.is_some()
}

/// Refuses a limit that is used up at the point: what is behind it counts.
fn check_left(field: &str, limit: Option<u64>, used: u64, what: &str) -> Result<(), SessionError> {
    if limit.is_none_or(|limit| limit > used) {
        return Ok(());
    }
    Err(fault(field, &format!("the point has {used} {what} behind it, which count: a limit must be larger than that")))
}

/// A setting that was accepted when the episode began and is refused now is a lack of this server.
fn elsewhere(error: SessionError) -> SessionError {
    match error {
        SessionError::Invalid(faults) => {
            let details: Vec<String> = faults.into_iter().map(|fault| fault.detail).collect();
            SessionError::Unavailable(format!(
                "the point cannot be opened on this server, try another one: {}",
                details.join("; ")
            ))
        }
        error => error,
    }
}

async fn close_all(places: Vec<Place>) {
    for place in places {
        turn::close(place).await;
    }
}

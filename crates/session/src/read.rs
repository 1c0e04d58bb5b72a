//! Reading: sessions, states, differences, and the record that outlives a session.

use std::sync::Arc;

use palestra_protocol::environment::{ForkKind, Recovery};
use palestra_protocol::episode::{Episode, Rescore, StepRecord, Trajectory};
use palestra_protocol::id::{EpisodeId, SessionId, SnapshotId};
use palestra_protocol::session::{Diff, RecordMode, Session, SessionState, Snapshot, StateView, Verify};
use palestra_protocol::verdict::{Status, Usage, Verdict};
use serde_json::{Map, Value, json};

use super::cell::{Live, Slot};
use super::error::{lost, missing};
use super::judge::{Docket, Evidence, verdict_record};
use super::open::Start;
use super::recorder::Ledger;
use super::repeat::read_step;
use super::turn::judged_turn;
use super::{Answer, SessionError, Sessions, turn};
use palestra_catalog::Entry;
use palestra_environment::Place;
use palestra_environment::state::State;
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::{EpisodeFilter, EpisodeRow, PageRequest, SessionFilter, SessionRow, SnapshotRow};

/// The other side of a comparison with a session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// A snapshot of the same session.
    Snapshot(SnapshotId),
    /// Another session.
    Session(SessionId),
}

impl Sessions {
    /// Describes a session, with counters while it is in memory or its episode goes on.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn get(&self, tenant: &Tenant, id: SessionId) -> Result<Session, SessionError> {
        let now = self.0.clock.now();
        let cell = self.0.table.get(&id).map(|cell| std::sync::Arc::clone(&cell));
        if let Some(cell) = cell {
            let turn = cell.turn(now).await?;
            if let Slot::Live(live) = &*turn
                && *live.row.tenant == **tenant
                && !live.ledger.failed()
            {
                let limits_left = live.running().then(|| live.limits_left(now));
                return Ok(Session {
                    seq: Some(live.seq),
                    durable_seq: Some(live.durable_seq()),
                    limits_left,
                    isolation: live.place.as_ref().and_then(isolation),
                    ..view(live.row.clone())
                });
            }
        }
        let row = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        let episode = self.0.store.episode(tenant, row.episode).await?.ok_or_else(|| missing("episode"))?;
        let seq = match episode.seq {
            Some(seq) => Some(seq),
            None => {
                let last = self.0.store.last_step(episode.id).await?.map(|step| step.seq);
                last.or(episode.origin.map(|origin| origin.seq)).or(Some(0))
            }
        };
        let durable_seq = if row.record == RecordMode::None { Some(0) } else { seq };
        Ok(Session { seq, durable_seq, ..view(row) })
    }

    /// Sessions by descending id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(
        &self,
        tenant: &Tenant,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Vec<Session>, SessionError> {
        if let Some(run) = filter.run
            && self.0.runs.holds(tenant, run)
        {
            self.touch_run(tenant, run).await?;
        }
        Ok(self.0.store.sessions(tenant, filter, page).await?.into_iter().map(view).collect())
    }

    /// Privileged state of the current episode, or the part of it that a JSON Pointer names.
    ///
    /// # Errors
    /// When there is no such session or nothing at the pointer.
    pub async fn state(&self, tenant: &Tenant, id: SessionId, pointer: &str) -> Result<StateView, SessionError> {
        let (state, episode, seq) = self.state_of(tenant, id).await?;
        let part = state.pointer(pointer).ok_or(SessionError::NotFound("place in the state"))?;
        Ok(StateView { episode, seq, state: part.to_value(), hash: state.digest().to_string() })
    }

    /// The settings that a session was opened with.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn config(&self, tenant: &Tenant, id: SessionId) -> Result<Arc<Map<String, Value>>, SessionError> {
        let row = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        Ok(row.config)
    }

    async fn state_of(&self, tenant: &Tenant, id: SessionId) -> Result<(State, EpisodeId, u64), SessionError> {
        let mut turn = self.turn(tenant, id).await?;
        let live = turn.live()?;
        let state = present_state(live.place.as_mut()).await?;
        Ok((state, live.episode.id, live.seq))
    }

    /// The difference between another state and this session's.
    ///
    /// # Errors
    /// When either cannot be read.
    pub async fn diff(&self, tenant: &Tenant, id: SessionId, against: Against) -> Result<Diff, SessionError> {
        if let Some(files) = self.changed_files(tenant, id, against).await? {
            return Ok(Diff { patch: json!([]), rows: None, files: Some(files), from: None, to: None });
        }
        let (to, ..) = self.state_of(tenant, id).await?;
        // One turn after the other: two sessions that are compared with each other must not wait for each other.
        let from = match against {
            Against::Session(other) => self.state_of(tenant, other).await?.0,
            Against::Snapshot(snapshot) => self.state_at(tenant, id, snapshot).await?,
        };
        let (before, after) = (from.to_value(), to.to_value());
        let patch = serde_json::to_value(json_patch::diff(&before, &after))
            .map_err(|error| SessionError::Internal(error.to_string()))?;
        let rows = self.turn(tenant, id).await?.live()?.entry.kind.changed_rows(&from, &to);
        let (from, to) = (Some(from.digest().to_string()), Some(to.digest().to_string()));
        Ok(Diff { patch, rows, files: None, from, to })
    }

    /// Which files differ; nothing where the session has none.
    async fn changed_files(
        &self,
        tenant: &Tenant,
        id: SessionId,
        against: Against,
    ) -> Result<Option<Value>, SessionError> {
        let has_files = |live: &Live| live.entry.spec().capabilities.fork == ForkKind::Files;
        if !has_files(self.turn(tenant, id).await?.live()?) {
            return Ok(None);
        }
        let lost = || lost("it has no files");
        let since = match against {
            // One turn after the other, as for states.
            Against::Session(other) => {
                let mut turn = self.turn(tenant, other).await?;
                let Some(Place::Live(place)) = &mut turn.live()?.place else { return Err(lost()) };
                place.snapshot().await?.ok_or_else(lost)?
            }
            Against::Snapshot(snapshot) => {
                let stored = self.0.store.snapshot(tenant, snapshot).await?;
                let unknown = SessionError::NotFound("snapshot of this session");
                let snapshot = stored.filter(|snapshot| snapshot.session == id).ok_or(unknown)?;
                let digest = snapshot.state.ok_or_else(|| missing("state of a snapshot"))?;
                self.0.store.state(&digest).await?.ok_or_else(|| missing("state of a snapshot"))?
            }
        };
        let mut turn = self.turn(tenant, id).await?;
        let Some(Place::Live(place)) = &mut turn.live()?.place else { return Err(lost()) };
        place.changed_files(Some(&since)).await?.map(Some).ok_or_else(lost)
    }

    async fn state_at(&self, tenant: &Tenant, id: SessionId, snapshot: SnapshotId) -> Result<State, SessionError> {
        let stored = self.0.store.snapshot(tenant, snapshot).await?;
        let unknown = SessionError::NotFound("snapshot of this session");
        let snapshot = stored.filter(|snapshot| snapshot.session == id).ok_or(unknown)?;
        let mut turn = self.turn(tenant, id).await?;
        let live = turn.live()?;
        let episode = self.0.store.episode(tenant, snapshot.episode).await?.ok_or_else(|| missing("episode"))?;
        let mut point = self.point_at(live, &episode, snapshot.seq).await?;
        present_state(point.place.as_mut()).await
    }

    /// Snapshots of a session, oldest first.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn snapshots(&self, tenant: &Tenant, id: SessionId) -> Result<Vec<Snapshot>, SessionError> {
        self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        Ok(self.0.store.snapshots(id).await?.into_iter().map(snapshot_view).collect())
    }

    /// Describes an episode.
    ///
    /// # Errors
    /// When there is no such episode.
    pub async fn episode(&self, tenant: &Tenant, id: EpisodeId) -> Result<Episode, SessionError> {
        self.episode_row(tenant, id).await.map(episode_view)
    }

    async fn episode_row(&self, tenant: &Tenant, id: EpisodeId) -> Result<EpisodeRow, SessionError> {
        self.0.store.episode(tenant, id).await?.ok_or(SessionError::NotFound("episode"))
    }

    /// Episodes by descending id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn episodes(
        &self,
        tenant: &Tenant,
        filter: &EpisodeFilter,
        page: &PageRequest,
    ) -> Result<Vec<Episode>, SessionError> {
        Ok(self.0.store.episodes(tenant, filter, page).await?.into_iter().map(episode_view).collect())
    }

    /// One recorded step, uncut; those before a fork are found too.
    ///
    /// # Errors
    /// When there is no such episode or step.
    pub async fn step_record(&self, tenant: &Tenant, id: EpisodeId, seq: u64) -> Result<StepRecord, SessionError> {
        let episode = self.episode_row(tenant, id).await?;
        let episode = self.episode_of_step(episode, seq).await?;
        let seq = i64::try_from(seq).ok().and_then(|seq| u64::try_from(seq).ok());
        let seq = seq.ok_or(SessionError::NotFound("step"))?;
        let row = self.0.store.steps(episode.id, seq, seq, 1).await?.pop();
        step_view(&row.ok_or(SessionError::NotFound("step"))?)
    }

    /// A whole episode, with the steps before a fork.
    ///
    /// # Errors
    /// When there is no such episode.
    pub async fn trajectory(&self, tenant: &Tenant, id: EpisodeId) -> Result<Trajectory, SessionError> {
        let row = self.episode_row(tenant, id).await?;
        let entry = self.0.catalog.resolve(tenant, &format!("{}@{}", row.environment, row.version)).await?;
        let task = self.0.catalog.task_of_id(&entry, &row.task).await?;
        let steps = self.recorded_rows(&row).await?.iter().map(step_view).collect::<Result<_, _>>()?;
        let opening = self.stored_opening(&row).await?;
        Ok(Trajectory { episode: episode_view(row), task: task.public.clone(), opening, steps })
    }

    /// Every verdict of an episode, oldest first.
    ///
    /// # Errors
    /// When there is no such episode.
    pub async fn verdicts(&self, tenant: &Tenant, id: EpisodeId) -> Result<Vec<Verdict>, SessionError> {
        self.episode_row(tenant, id).await?;
        Ok(self.0.store.verdicts(id).await?.into_iter().map(|row| row.verdict).collect())
    }

    /// Judges a stored episode again, with the verifier of a version that is there now. A verifier version judges an episode
    /// once: asked again, the stored verdict is the answer.
    ///
    /// # Errors
    /// When there is no such episode, it goes on, or its final state cannot be had.
    pub async fn rescore(&self, tenant: &Tenant, id: EpisodeId, request: Rescore) -> Result<Verdict, SessionError> {
        let (sessions, tenant) = (self.clone(), tenant.clone());
        self.to_end(async move { sessions.rescore_once(&tenant, id, request).await }).await
    }

    async fn rescore_once(&self, tenant: &Tenant, id: EpisodeId, request: Rescore) -> Result<Verdict, SessionError> {
        let episode = self.episode_row(tenant, id).await?;
        let Some(seq) = episode.seq else {
            return Err(SessionError::NotSupported("the episode goes on: finish it first".to_owned()));
        };
        let name = match request.version {
            Some(version) => format!("{}@{version}", episode.environment),
            None => episode.environment.to_string(),
        };
        let entry = self.0.catalog.resolve(tenant, &name).await?;
        let version = entry.kind.verifier().version();
        // The task as it was played, and the verifier as it is now.
        let then = self.0.catalog.resolve(tenant, &format!("{}@{}", episode.environment, episode.version)).await?;
        if episode.verdict.is_none()
            && then.kind.verifier().version() == version
            && let Some(verdict) = self.verified_in_place(tenant, &episode).await?
        {
            return Ok(verdict);
        }
        let _alone = self.lock_judging(id, version).await;
        if let Some(verdict) = self.judged_before(id, version).await? {
            return Ok(verdict);
        }
        if entry.kind.judges_from_beginning() && then.kind.verifier().version() != version {
            self.require_equal_beginnings(&then, &entry, &episode).await?;
        }
        let stored = self.0.store.verdicts(id).await?;
        let judged_as = if entry.kind.judges_by_task() { &entry } else { &then };
        let task = self.0.catalog.task_of_id(judged_as, &episode.task).await?;
        let evidence = self.stored_evidence(tenant, &episode, &stored.first().map(|row| row.verdict.clone())).await?;
        let usage = stored.first().map_or(Usage { steps: seq, ..Usage::default() }, |row| row.verdict.usage);
        let (seed, secrets) = (episode.seed, episode.secrets);
        let docket = Docket { entry, task, episode: id, seed, secrets, seq, usage, evidence };
        let verdict = self.judge(docket).await;
        let record = verdict_record(tenant, episode.session, &verdict, self.0.clock.now());
        let permit = self.0.recorder.reserve().await?;
        let ledger = Ledger::new(episode.session);
        self.0.recorder.submit(&ledger, permit, Durability::Disk, vec![record]).committed().await?;
        Ok(verdict)
    }

    /// Refuses to judge an episode by a version that begins its task otherwise: its goal would be that of another task.
    async fn require_equal_beginnings(
        &self,
        then: &Arc<Entry>,
        now: &Arc<Entry>,
        episode: &EpisodeRow,
    ) -> Result<(), SessionError> {
        let mut digests = Vec::with_capacity(2);
        for entry in [then, now] {
            let task = self.0.catalog.task_of_id(entry, &episode.task).await?;
            let mut beginning = self.open_place(entry, &task, episode, Start::Fresh).await?;
            digests.push(present_state(beginning.place.as_mut()).await?.digest());
        }
        if digests[0] == digests[1] {
            return Ok(());
        }
        let (name, played) = (&episode.environment, episode.version);
        Err(SessionError::NotSupported(format!(
            "the version of {name} that judges begins this task otherwise than version {played}, which was played: judge by version {played}, or play the task again"
        )))
    }

    /// The verdict of an episode that its open session still stands in: the session knows more than its record, and one that
    /// is not recorded knows all there is.
    async fn verified_in_place(&self, tenant: &Tenant, episode: &EpisodeRow) -> Result<Option<Verdict>, SessionError> {
        let session = self.0.store.session(tenant, episode.session).await?;
        if session.is_none_or(|row| row.state == SessionState::Closed || row.episode != episode.id) {
            return Ok(None);
        }
        // Judging is bounded by itself.
        let verify = Verify { wait_ms: Some(super::judge::VERDICT_WAIT_MS_MAX), probe: None };
        match self.verify(tenant, episode.session, verify).await {
            Ok(Answer::Verdict(verdict)) => Ok(Some(*verdict).filter(|verdict| verdict.episode == episode.id)),
            Ok(_) | Err(SessionError::Over(_) | SessionError::Lost) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The final state of an ended episode: stored, or rebuilt by running its actions again.
    async fn stored_evidence(
        &self,
        tenant: &Tenant,
        episode: &EpisodeRow,
        first: &Option<Verdict>,
    ) -> Result<Result<Evidence, (Status, String)>, SessionError> {
        if let Some(Verdict { status, detail, .. }) = first
            && matches!(status, Status::Invalid | Status::InfraError)
        {
            return Ok(Err((*status, detail.clone().unwrap_or_default())));
        }
        let session = self.0.store.session(tenant, episode.session).await?.ok_or_else(|| missing("session"))?;
        let past = self.recorded_past(episode).await?;
        let stored = match first.as_ref().and_then(|verdict| verdict.state.as_ref()) {
            Some(digest) => self.0.store.state(digest).await?,
            None => None,
        };
        let (state, step_rewards) = match stored {
            Some(state) => (Some(State::from(state)), false),
            // What was done in a sandbox is not done again.
            None if self.entry_of(&session).await?.spec().capabilities.recovery != Recovery::Replay => (None, false),
            None => {
                let mut point = self.rebuild(&session, episode, None).await?;
                let step_rewards = point.entry.spec().step_rewards;
                let state = match point.place.as_mut() {
                    Some(place) if Some(point.seq) == episode.seq => turn::state(place).await.ok(),
                    _ => None,
                };
                (state, step_rewards)
            }
        };
        Ok(match state {
            None => Err((Status::InfraError, "the final state was not recorded".to_owned())),
            Some(state) => {
                let trajectory =
                    past.iter().map(|past| judged_turn(past.action.as_deref(), &past.answer, step_rewards)).collect();
                Ok(Evidence { state, trajectory })
            }
        })
    }
}

async fn present_state(place: Option<&mut Place>) -> Result<State, SessionError> {
    let lost = || lost("it has no state");
    turn::state(place.ok_or_else(lost)?).await.map_err(|_| lost())
}

fn isolation(place: &Place) -> Option<Value> {
    match place {
        Place::Live(place) => place.isolation(),
        Place::Pure(_) => None,
    }
}

fn view(row: SessionRow) -> Session {
    Session {
        id: row.id,
        environment: format!("{}@{}", row.environment, row.version),
        state: row.state,
        closed_reason: row.closed_reason,
        run: row.run,
        group: row.group,
        parent: row.parent,
        episode: row.episode,
        episodes: row.episodes,
        task: row.task.to_string(),
        seed: row.seed,
        seq: None,
        durable_seq: None,
        limits: row.limits,
        limits_left: None,
        record: row.record,
        verify: row.verify,
        metadata: Arc::unwrap_or_clone(row.metadata),
        created_at: row.created_at,
        expires_at: row.expires_at,
        closed_at: row.closed_at.filter(|_| row.state == SessionState::Closed),
        isolation: None,
    }
}

pub(super) fn episode_view(row: EpisodeRow) -> Episode {
    Episode {
        id: row.id,
        session: row.session,
        attempt: row.attempt,
        environment: format!("{}@{}", row.environment, row.version),
        task: row.task.to_string(),
        seed: row.seed,
        run: row.run,
        group: row.group,
        origin: row.origin,
        state: row.state,
        seq: row.seq,
        terminated: row.terminated,
        truncated: row.truncated,
        stop_reason: row.stop_reason,
        verdict: row.verdict.map(|verdict| *verdict),
        started_at: row.started_at,
        ended_at: row.ended_at,
    }
}

fn snapshot_view(row: SnapshotRow) -> Snapshot {
    Snapshot {
        id: row.id,
        name: row.name,
        session: row.session,
        episode: row.episode,
        seq: row.seq,
        created_at: row.at,
    }
}

fn step_view(row: &palestra_store::row::StepRow) -> Result<StepRecord, SessionError> {
    let past = read_step(row)?;
    let broken = |error: serde_json::Error| palestra_store::StoreError::Broken(error.to_string());
    Ok(StepRecord {
        seq: row.seq,
        action: past.action.as_deref().cloned(),
        answer: past.answer.into_stepped(),
        meta: row.meta.as_deref().map(serde_json::from_str).transpose().map_err(broken)?,
        at: row.at,
    })
}

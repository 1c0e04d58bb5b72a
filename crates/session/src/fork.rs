//! Forks, snapshots and restores: going on from a point of an episode without copying what came before it.

use std::sync::Arc;

use palestra_protocol::environment::{AtSeq, ForkKind, Limits, Recovery};
use palestra_protocol::episode::Origin;
use palestra_protocol::id::{EpisodeId, SessionId, SnapshotId};
use palestra_protocol::list::List;
use palestra_protocol::name::NameKind;
use palestra_protocol::observation::Observation;
use palestra_protocol::session::{
    Created, Fork, Opened, Randomness, RecordMode, Restore, SESSIONS_PER_REQUEST_MAX, Snapshot, TakeSnapshot,
};
use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::cell::Live;
use super::error::{fault, lost, missing};
use super::idempotency::Claim;
use super::open::{Beginning, Start, first_episode};
use super::rebuild::{Point, salted};
use super::{Answer, LiveTurn, SessionError, Sessions, TakenStep, turn};
use palestra_catalog::Entry;
use palestra_environment::state::Digest;
use palestra_environment::task::{SEED_MAX, pick};
use palestra_environment::{Context, Place};
use palestra_store::Tenant;
use palestra_store::row::{EpisodeRow, Record, SessionRow, SnapshotRow};

impl Sessions {
    pub(super) async fn fork(
        &self,
        tenant: &Tenant,
        id: SessionId,
        request: Fork,
        key: Option<String>,
    ) -> Result<Answer, SessionError> {
        self.once_in_turn(tenant, id, ("fork", key), request, Self::fork_in).await.map(forked)
    }

    async fn fork_in(self, mut turn: LiveTurn, request: Fork, claim: Option<Claim>) -> Result<Created, SessionError> {
        let live = turn.live()?;
        let count = request.count.unwrap_or(1);
        if !(1..=SESSIONS_PER_REQUEST_MAX).contains(&count) {
            return Err(fault("count", &format!("count must be 1 to {SESSIONS_PER_REQUEST_MAX}")));
        }
        let at_seq = request.at_seq.unwrap_or(live.seq);
        if at_seq > live.seq {
            return Err(fault(
                "at_seq",
                &format!("the episode is at step {}: choose this step or an earlier one", live.seq),
            ));
        }
        let capabilities = live.entry.spec().capabilities;
        if capabilities.fork == ForkKind::None {
            return Err(SessionError::NotSupported("this environment cannot be forked: create a session with the same task and seed, and take its steps again".to_owned()));
        }
        if capabilities.fork == ForkKind::Files && !request.allow_inexact.unwrap_or(false) {
            let detail = "a fork of this environment keeps files but no processes: say allow_inexact to accept that";
            return Err(SessionError::NotSupported(detail.to_owned()));
        }
        let wanted = usize::try_from(count).unwrap_or(usize::MAX);
        self.check_capacity(wanted)?;
        let here = at_seq == live.seq && live.running();
        let mut point = if here { self.present(live).await? } else { self.earlier(live, at_seq).await? };
        let permit = self.0.recorder.reserve().await?;
        let now = self.0.clock.now();
        let ids: Vec<EpisodeId> = (0..wanted).map(|_| EpisodeId::new()).collect();
        let places = copies(if here { live.place.as_mut() } else { point.place.as_mut() }, &ids).await?;
        let split = request.randomness == Some(Randomness::Split);
        let forked = |((copy, id), place)| {
            let salt = split.then(|| split_salt(live, &point, copy));
            let row = self.forked_row(live, id, now);
            Live { forgotten: live.forgotten, ..child(row, &live.episode, &point, place, salt, now) }
        };
        let fresh = (0..).zip(ids).zip(places).map(forked).collect();
        let parent = live.ledger.latest();
        // From here on the copies are independent: the parent may go on.
        drop(turn);
        // A copy goes on from recorded steps: it must not be recorded where the last of them were refused.
        parent.committed().await?;
        let claims: Vec<Claim> = claim.into_iter().collect();
        self.enter(fresh, permit, &claims, true).await
    }

    /// The present of a session as a point to copy from, without its place: the copies are made from that itself.
    async fn present(&self, live: &mut Live) -> Result<Point, SessionError> {
        // Only at the beginning there is no step that tells what is seen.
        let first = match (live.seq, live.place.as_mut()) {
            (0, Some(place)) => turn::observe(place).await?,
            _ => Observation::default(),
        };
        Ok(Point {
            entry: Arc::clone(&live.entry),
            task: Arc::clone(&live.task),
            config: Arc::clone(&live.row.config),
            place: None,
            context: live.context.clone(),
            seq: live.seq,
            calls: live.calls,
            last: live.last.clone(),
            first,
            past: live.past.clone(),
            salts: live.salts.clone(),
        })
    }

    /// An earlier step of the current episode.
    async fn earlier(&self, live: &Live, at_seq: u64) -> Result<Point, SessionError> {
        if at_seq == live.seq {
            return Err(SessionError::EpisodeOver);
        }
        replayable(&live.entry)?;
        self.point_at(live, &live.episode, at_seq).await
    }

    /// The row of a copy, which shares everything but its ids with its parent.
    fn forked_row(&self, parent: &Live, episode: EpisodeId, now: Timestamp) -> SessionRow {
        SessionRow {
            id: SessionId::new(),
            node: Arc::clone(&self.0.name),
            parent: Some(parent.row.id),
            // Steps and calls are counted on from the parent's; its time is used up already.
            limits: Limits { wall_ms: parent.limits_left(now).wall_ms.map(|left| left.max(1)), ..parent.row.limits },
            episode,
            episodes: 1,
            created_at: now,
            expires_at: now.plus_ms(self.0.settings.session_ttl_ms),
            ..parent.row.clone()
        }
    }

    pub(super) async fn take_snapshot(
        &self,
        tenant: &Tenant,
        id: SessionId,
        request: TakeSnapshot,
        key: Option<String>,
    ) -> Result<Answer, SessionError> {
        if let Some(Err(why)) = request.name.as_deref().map(|name| NameKind::Label.check(name)) {
            return Err(fault("name", &why.to_string()));
        }
        self.once_in_turn(tenant, id, ("snapshot", key), request, Self::take_snapshot_in).await.map(Answer::Snapshot)
    }

    async fn take_snapshot_in(
        self,
        mut turn: LiveTurn,
        request: TakeSnapshot,
        claim: Option<Claim>,
    ) -> Result<Box<Snapshot>, SessionError> {
        let live = turn.live()?;
        if !live.running() {
            return Err(SessionError::EpisodeOver);
        }
        let state = self.kept_state(live).await?;
        let permit = self.0.recorder.reserve().await?;
        let now = self.0.clock.now();
        let snapshot = Box::new(Snapshot {
            id: SnapshotId::new(),
            name: request.name,
            session: live.row.id,
            episode: live.episode.id,
            seq: live.seq,
            created_at: now,
        });
        let digest = state.as_ref().map(|state| Digest::of_json(state).to_string());
        let kept = digest.clone().zip(state).map(|(digest, state)| Record::State { digest, state });
        let mut records: Vec<Record> = kept.into_iter().collect();
        records.push(Record::Snapshot(Box::new(SnapshotRow {
            id: snapshot.id,
            tenant: live.row.tenant.to_string(),
            session: live.row.id,
            name: snapshot.name.clone(),
            episode: snapshot.episode,
            seq: snapshot.seq,
            at: now,
            state: digest,
        })));
        self.conclude(turn, permit, records, claim, snapshot).await
    }

    pub(super) async fn restore(
        &self,
        tenant: &Tenant,
        id: SessionId,
        request: Restore,
        key: Option<String>,
    ) -> Result<Answer, SessionError> {
        self.once_in_turn(tenant, id, ("restore", key), request, Self::restore_in).await.map(Answer::Opened)
    }

    async fn restore_in(
        self,
        mut turn: LiveTurn,
        request: Restore,
        claim: Option<Claim>,
    ) -> Result<Box<Opened>, SessionError> {
        let live = turn.live()?;
        live.ledger.latest().committed().await?;
        let tenant = &live.row.tenant;
        let snapshot = self.0.store.snapshot(tenant, request.snapshot).await?;
        let Some(snapshot) = snapshot.filter(|snapshot| snapshot.session == live.row.id) else {
            return Err(SessionError::NotFound("snapshot of this session"));
        };
        let before = self.0.store.episode(tenant, snapshot.episode).await?.ok_or_else(|| missing("episode"))?;
        let id = EpisodeId::new();
        let point = if let Some(digest) = &snapshot.state {
            self.kept_point(&live.entry, live.row.record, &before, (snapshot.seq, digest), id).await?
        } else if replayable(&live.entry).is_err() {
            return Err(missing("state of the snapshot"));
        } else {
            self.point_at(live, &before, snapshot.seq).await?
        };
        let attempt = self.next_attempt(live, &before.task).await?;
        let permit = self.0.recorder.reserve().await?;
        let episode = EpisodeRow {
            id,
            ordinal: live.row.episodes + 1,
            attempt,
            task: before.task,
            seed: before.seed,
            secrets: before.secrets,
            origin: Some(Origin { episode: before.id, seq: snapshot.seq }),
            ..first_episode(&live.row, self.0.clock.now())
        };
        let fresh = point.into_live(live.row_in(&episode), episode);
        self.replace_episode(turn, permit, fresh, claim).await
    }

    /// The state that a snapshot keeps; none where the recorded actions lead there again.
    async fn kept_state(&self, live: &mut Live) -> Result<Option<Value>, SessionError> {
        if live.entry.spec().capabilities.at_seq != AtSeq::Snapshots {
            return replayable(&live.entry).map(|()| None);
        }
        let nothing = || {
            SessionError::NotSupported(
                "the environment cannot keep a snapshot now: try again after the next step".to_owned(),
            )
        };
        match &mut live.place {
            Some(Place::Live(place)) => place.snapshot().await?.map(Some).ok_or_else(nothing),
            _ => Err(nothing()),
        }
    }

    /// A point of an episode whose files were kept, opened for the episode `id`.
    pub(super) async fn kept_point(
        &self,
        entry: &Arc<Entry>,
        record: RecordMode,
        before: &EpisodeRow,
        (seq, digest): (u64, &str),
        id: EpisodeId,
    ) -> Result<Point, SessionError> {
        let task = self.0.catalog.task_of_id(entry, &before.task).await?;
        let state = self.0.store.state(digest).await?.ok_or_else(|| missing("state of a snapshot"))?;
        let past = if record == RecordMode::None { Vec::new() } else { self.recorded_past(before).await? };
        let taken: Vec<&TakenStep> = past.iter().take_while(|past| past.answer.seq <= seq).collect();
        let calls = taken.iter().filter_map(|past| past.action.as_deref()).map(turn::calls_of).sum();
        let last = taken.last().map(|past| past.kept());
        let episode = EpisodeRow { id, ..before.clone() };
        let beginning = self.open_place(entry, &task, &episode, Start::Snapshot(state)).await?;
        Ok(Point {
            entry: Arc::clone(entry),
            task,
            config: Arc::clone(&before.config),
            place: beginning.place,
            context: beginning.context,
            seq,
            calls,
            last,
            first: beginning.first,
            past: imbl::Vector::new(),
            salts: Vec::new(),
        })
    }
}

/// Independent copies of a place, one for each episode: all of them or none.
pub(super) async fn copies(place: Option<&mut Place>, ids: &[EpisodeId]) -> Result<Vec<Place>, SessionError> {
    let place = place.ok_or_else(|| lost("there is nothing to fork"))?;
    let mut made = Vec::with_capacity(ids.len());
    for id in ids {
        let error = match turn::fork(place, *id).await {
            Ok(Some(copy)) => {
                made.push(copy);
                continue;
            }
            Ok(None) => SessionError::NotSupported(
                "this environment cannot be forked now: try again after the next step".to_owned(),
            ),
            Err(error) => error.into(),
        };
        for copy in made {
            turn::close(copy).await;
        }
        return Err(error);
    }
    Ok(made)
}

/// A new session that goes on from a point of the episode `before`, in a place of its own. `salt` replaces its randomness.
pub(super) fn child(
    row: SessionRow,
    before: &EpisodeRow,
    point: &Point,
    place: Place,
    salt: Option<u64>,
    now: Timestamp,
) -> Live {
    let origin = Some(Origin { episode: before.id, seq: point.seq });
    // What is hidden in the place that it was copied from is hidden in its own too, and judged by the same secrets.
    let episode = EpisodeRow { origin, salt, secrets: before.secrets, ..first_episode(&row, now) };
    let mut salts = point.salts.clone();
    salts.retain(|(seq, _)| *seq <= point.seq);
    salts.extend(salt.map(|salt| (point.seq, salt)));
    let context =
        Context { rng: salt.map_or_else(|| point.context.rng.clone(), salted), clock_ms: point.context.clock_ms };
    let first = point.first.clone();
    let (entry, task) = (Arc::clone(&point.entry), Arc::clone(&point.task));
    let mut live = Live {
        seq: point.seq,
        calls: point.calls,
        last: point.last.clone(),
        past: point.past.clone(),
        salts,
        ..Live::new(row, entry, task, episode, Beginning { place: Some(place), context, first })
    };
    let untold = point.seq == 0 || (point.last.is_none() && point.past.is_empty());
    live.first = live.first.filter(|_| untold);
    live
}

/// Earlier points can be reached only where the recorded actions lead there again.
pub(super) fn replayable(entry: &Entry) -> Result<(), SessionError> {
    let capabilities = entry.spec().capabilities;
    if capabilities.recovery == Recovery::Replay && capabilities.at_seq == AtSeq::Any {
        Ok(())
    } else {
        Err(SessionError::NotSupported(
            "this environment cannot go back to an earlier step: take snapshots on the way, or fork the current step"
                .to_owned(),
        ))
    }
}

/// The salt of one copy: a function of the episode's randomness and of the point, so that equal seeds give equal trees.
fn split_salt(live: &Live, point: &Point, copy: u64) -> u64 {
    #[derive(Serialize)]
    struct Words<'a>(u64, &'a [(u64, u64)], u64, u64);
    let words = Words(live.episode.seed, &point.salts, point.seq, copy);
    let words = serde_json::to_vec(&words).unwrap_or_default();
    pick(&[b"fork salt", live.episode.task.as_bytes(), &words], SEED_MAX)
}

fn forked(created: Created) -> Answer {
    Answer::Forked(match created {
        Created::Many(list) => list,
        Created::One(only) => List::from(vec![*only]),
    })
}

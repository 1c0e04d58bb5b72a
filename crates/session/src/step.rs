//! Steps: judged when their turn comes, recorded before they are answered, and never taken twice.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Recovery;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::{Observation, Observe};
use palestra_protocol::session::{RecordMode, VerifyMode};
use palestra_protocol::step::{Info, Step, Stepped, StopReason};
use palestra_protocol::verdict::Status;

use super::cell::{Kept, Last, Live, Past, UNRECORDED_STEPS_MAX};
use super::error::fault;
use super::recorder::{Room, Ticket};
use super::said::to_json;
use super::taken::Taken;
use super::turn::{self, Turned, judged_turn};
use super::{LiveTurn, Said, SessionError, Sessions, observe};
use palestra_environment::{InfraError, Place};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::{Record, StepRow};

/// Size of a step's `meta` as JSON.
pub(super) const META_BYTES_MAX: usize = 64 * 1024;
/// Turns of an episode where neither caller nor environment names a limit.
pub(super) const STEPS_PER_EPISODE_MAX: u64 = 10_000_000;

/// What a turn came to, and why the episode ended with it, if it did.
struct Acted {
    turned: Turned,
    stop: Option<StopReason>,
    /// The action reached the environment.
    reached: bool,
    /// What failed under the environment.
    failure: Option<String>,
    env_us: u64,
}

impl Sessions {
    /// Takes a step when its turn comes.
    pub(super) async fn step(&self, tenant: &Tenant, id: SessionId, step: Box<Step>) -> Result<Said, SessionError> {
        let meta = meta_of(&step)?;
        if step.seq == Some(0) {
            return Err(fault("seq", "steps are numbered from 1: send 1 or more"));
        }
        let queued = Instant::now();
        let mut turn = match self.turn(tenant, id).await {
            Ok(turn) => turn,
            // What was answered stays answered, also after the close.
            Err(over @ (SessionError::Over(_) | SessionError::Lost)) => {
                return self.answer_after_close(tenant, id, &step).await?.ok_or(over);
            }
            Err(error) => return Err(error),
        };
        let queue_us = u64::try_from(queued.elapsed().as_micros()).unwrap_or(u64::MAX);
        let live = turn.live()?;
        let repeated = if is_next(live, &step) { None } else { self.repeated(live, &step).await? };
        let taken = match repeated {
            Some(Past { answer, ticket, .. }) => {
                let answer = observe::cut_step(answer, &live.row.observe, step.observe.as_ref())?;
                drop(turn);
                Taken { answer, ticket }
            }
            None => {
                let request = Request::new(live, *step, meta, microseconds_as_ms(queue_us));
                if live.needs_task() {
                    let sessions = self.clone();
                    self.to_end(async move { sessions.announce_and_act(turn, request).await }).await?
                } else {
                    self.announce_and_act(turn, request).await?
                }
            }
        };
        taken.recorded().await
    }

    async fn announce_and_act(&self, mut turn: LiveTurn, request: Request) -> Result<Taken, SessionError> {
        let live = turn.live()?;
        // Before the room for the result: whoever held one place in the recorder while waiting for another could wait for ever.
        if announced(live) {
            Box::pin(self.announce(live, &request)).await?;
        }
        let room = self.0.recorder.reserve().await?;
        self.act(live, request, room).await
    }

    /// Takes the turn. Between acting and queueing the record nothing awaits for a pure environment that is light, so a
    /// caller that goes away cannot separate the two.
    pub(super) async fn act(&self, live: &mut Live, request: Request, room: Room) -> Result<Taken, SessionError> {
        let acted = self.turn_once(live, &request).await;
        let now = self.0.clock.now();
        let Acted { mut turned, stop, reached, failure, env_us } = acted;
        live.seq += 1;
        live.calls += turned.calls;
        live.env_us += env_us;
        if let Some(notice) = live.notice.take() {
            turned.observation.text = format!("{notice}\n{}", turned.observation.text);
        }
        let (terminated, truncated) =
            (stop == Some(StopReason::Done), stop.is_some_and(|stop| stop != StopReason::Done));
        let mut answer = Stepped {
            episode: live.episode.id,
            seq: live.seq,
            durable_seq: if live.recorded() { live.seq } else { 0 },
            observation: turned.observation,
            messages: turned.messages,
            reward: turned.reward,
            terminated,
            truncated,
            stop_reason: stop,
            verdict: None,
            info: Info {
                env_ms: microseconds_as_ms(env_us),
                queue_ms: request.queue_ms,
                state_hash: if request.wants_hash { self.state_hash(live).await } else { None },
                shaping: turned.shaping,
                interrupted: false,
            },
        };
        let action = reached.then(|| Arc::clone(&request.action));
        let mut records = Vec::new();
        if let Some(stop) = stop {
            live.end(terminated, truncated, stop, now);
            records.push(super::judge::end_record(live, now));
            let forced = failure.map(|detail| (Status::InfraError, detail));
            if forced.is_some() || live.row.verify == VerifyMode::OnEnd {
                let closing = live.entry.kind.verifier().needs_trajectory();
                let closing = closing.then(|| judged_turn(action.as_deref(), &answer, live.entry.spec().step_rewards));
                let reached = Box::pin(self.judge_now(live, forced, closing)).await;
                records.extend(reached.records);
                if !live.entry.spec().step_rewards && answer.reward.is_none() {
                    answer.reward = reached.verdict.score;
                }
                live.verdict = Some(Box::new(reached.verdict.clone()));
                answer.verdict = Some(reached.verdict);
            }
        }
        let answer = Said::new(answer)?;
        if live.recorded() {
            // The step comes first, so that nothing which depends on it is older than it.
            let row = row(live.episode.id, action.as_deref(), &answer, request.meta, now)?;
            records.insert(0, Record::Step(Box::new(row)));
            if announced(live) {
                records.push(Record::IntentSettled { episode: live.episode.id, seq: live.seq });
            }
        }
        let past = Past { action, answer, ticket: submit(self, live, room, records, stop.is_some()) };
        remember(live, &past);
        let Past { answer, ticket, .. } = past;
        let answer = observe::cut_step(answer, &live.row.observe, request.observe.as_ref())?;
        Ok(Taken { answer, ticket })
    }

    /// Commits the intent to act, where a step cannot be replayed.
    async fn announce(&self, live: &Live, request: &Request) -> Result<(), SessionError> {
        let action = to_json(request.action.as_ref())?;
        let (episode, seq, at) = (live.episode.id, live.seq + 1, self.0.clock.now());
        let room = self.0.recorder.reserve().await?;
        let durability = if live.row.record == RecordMode::Sync { Durability::Disk } else { Durability::Process };
        let intent = Record::Intent { episode, seq, action, at };
        self.0.recorder.submit(&live.ledger, room, durability, vec![intent]).committed().await
    }

    /// Runs the action, unless a limit has passed or there is nothing left to act on.
    async fn turn_once(&self, live: &mut Live, request: &Request) -> Acted {
        let limits = live.row.limits;
        if limits.wall_ms.is_some_and(|wall_ms| live.elapsed_ms(self.0.clock.now()) >= wall_ms) {
            let words = "The episode's time is over; the action was not taken.";
            return Acted::stopped(words, StopReason::WallLimit, None);
        }
        let calls_left = limits.calls.unwrap_or(u64::MAX).saturating_sub(live.calls);
        let began = Instant::now();
        let outcome = match live.place.take() {
            None => Err(InfraError::new("the environment was lost: reset the session")),
            Some(place) => self.turn_in(live, place, &request.action, calls_left).await,
        };
        let env_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        match outcome {
            Err(InfraError { detail, .. }) => {
                tracing::warn!(session = %live.row.id, detail, "an environment failed in a step");
                let words = "The environment failed; this episode is not a sample.";
                Acted { env_us, reached: true, ..Acted::stopped(words, StopReason::InfraError, Some(detail)) }
            }
            Ok(turned) => {
                let steps_max = limits.steps.unwrap_or(STEPS_PER_EPISODE_MAX);
                let stop = if turned.terminated {
                    Some(StopReason::Done)
                } else if live.seq + 1 >= steps_max {
                    Some(StopReason::MaxSteps)
                } else if turned.out_of_calls {
                    Some(StopReason::MaxCalls)
                } else {
                    None
                };
                Acted { turned, stop, reached: true, failure: None, env_us }
            }
        }
    }

    /// Runs the action in its place, on the blocking pool where the environment is heavy, and puts the place back.
    async fn turn_in(
        &self,
        live: &mut Live,
        mut place: Place,
        action: &Arc<Action>,
        calls_left: u64,
    ) -> Result<Turned, InfraError> {
        if !(live.entry.kind.heavy() && matches!(place, Place::Pure(_))) {
            let turned = turn::take(
                &mut place,
                &live.entry.offer(&live.row.config).toolbox,
                action,
                calls_left,
                None,
                &mut live.context,
            )
            .await;
            // What failed owns things outside this process all the same.
            match &turned {
                Ok(_) => live.place = Some(place),
                Err(_) => turn::close(place).await,
            }
            return turned;
        }
        let (entry, action, mut context) = (Arc::clone(&live.entry), Arc::clone(action), live.context.clone());
        let config = Arc::clone(&live.row.config);
        let work = move || {
            let toolbox = &entry.offer(&config).toolbox;
            let turned = turn::take(&mut place, toolbox, &action, calls_left, None, &mut context).now_or_never();
            (turned, place, context)
        };
        let (turned, place, context) = self.heavy(work).await.map_err(InfraError::new)?;
        let turned = turned.unwrap_or_else(|| Err(InfraError::new("a pure environment waited")))?;
        (live.place, live.context) = (Some(place), context);
        Ok(turned)
    }

    /// Runs slow code on the bounded blocking pool.
    pub(super) async fn heavy<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        self.heavy_place().await?.run(work).await
    }

    /// Waits for a place on the blocking pool.
    pub(super) async fn heavy_place(&self) -> Result<HeavyPlace, String> {
        let place = Arc::clone(&self.0.heavy).acquire_owned().await;
        place.map(|permit| HeavyPlace { _permit: permit }).map_err(|error| error.to_string())
    }

    async fn state_hash(&self, live: &mut Live) -> Option<String> {
        let place = live.place.as_mut()?;
        turn::state(place).await.ok().map(|state| state.digest().to_string())
    }
}

/// A place on the blocking pool. Whoever stops waiting for the work does not free it: it is free once the work has ended.
pub(super) struct HeavyPlace {
    _permit: tokio::sync::OwnedSemaphorePermit,
}

impl HeavyPlace {
    pub(super) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
        let work = move || {
            let _place = self;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
    }
}

/// A step whose turn has come.
pub(super) struct Request {
    action: Arc<Action>,
    meta: Option<String>,
    observe: Option<Observe>,
    wants_hash: bool,
    queue_ms: f64,
}

impl Request {
    pub(super) fn new(live: &Live, step: Step, meta: Option<String>, queue_ms: f64) -> Self {
        let Step { action, observe, .. } = step;
        let asked = observe.as_ref().and_then(|observe| observe.state_hash);
        let wants_hash = asked.or(live.row.observe.state_hash).unwrap_or(false);
        Self { action: Arc::new(action), meta, observe, wants_hash, queue_ms }
    }
}

/// The JSON of a step's `meta`.
pub(super) fn meta_of(step: &Step) -> Result<Option<String>, SessionError> {
    let meta = step.meta.as_ref().map(ToString::to_string);
    if meta.as_ref().is_some_and(|meta| meta.len() > META_BYTES_MAX) {
        return Err(fault("meta", &format!("meta must be at most {META_BYTES_MAX} bytes")));
    }
    Ok(meta)
}

impl Acted {
    /// A turn that ends the episode without a reaction of the environment.
    fn stopped(words: &str, stop: StopReason, failure: Option<String>) -> Self {
        let turned = Turned {
            observation: Observation::text(words),
            messages: vec![palestra_protocol::observation::Message::new("user", words)],
            ..Turned::default()
        };
        Self { turned, stop: Some(stop), reached: false, failure, env_us: 0 }
    }
}

/// Whether a step is the one that comes next, as most are.
pub(super) fn is_next(live: &Live, step: &Step) -> bool {
    live.running()
        && step.seq.is_none_or(|seq| seq == live.seq + 1)
        && step.episode.is_none_or(|episode| episode == live.episode.id)
}

/// Whether the intent to act is recorded before a step, because the step cannot be replayed.
fn announced(live: &Live) -> bool {
    live.recorded() && live.entry.spec().capabilities.recovery != Recovery::Replay
}

fn submit(sessions: &Sessions, live: &Live, room: Room, records: Vec<Record>, ended: bool) -> Option<Ticket> {
    if records.is_empty() {
        return None;
    }
    let durability = if ended || live.row.record == RecordMode::Sync { Durability::Disk } else { Durability::Process };
    Some(sessions.0.recorder.submit(&live.ledger, room, durability, records))
}

/// Keeps the last step of a recorded session, and a bounded past of others.
pub(super) fn remember(live: &mut Live, past: &Past) {
    if live.recorded() {
        live.last = Some(Last::new(past));
        return;
    }
    live.past.push_back(Kept::new(past));
    if live.past.len() > UNRECORDED_STEPS_MAX {
        live.past.pop_front();
        live.forgotten += 1;
    }
}

/// The stored form of a step.
pub(super) fn row(
    episode: EpisodeId,
    action: Option<&Action>,
    answer: &Said,
    meta: Option<String>,
    at: palestra_protocol::time::Timestamp,
) -> Result<StepRow, SessionError> {
    Ok(StepRow {
        episode,
        seq: answer.seq,
        action: action.map(to_json).transpose()?,
        answer: answer.json().as_ref().to_owned(),
        meta,
        reward: answer.reward,
        terminated: answer.terminated,
        truncated: answer.truncated,
        interrupted: answer.info.interrupted,
        at,
    })
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of one step are far below 2^53")]
pub(super) fn microseconds_as_ms(microseconds: u64) -> f64 {
    microseconds as f64 / 1e3
}

//! Steps: checked when their turn comes, recorded before they are answered, and never taken twice.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Recovery;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::{Message, Observation, Observe};
use palestra_protocol::session::{RecordMode, VerifyMode};
use palestra_protocol::step::{Info, Step, Stepped, StopReason};
use palestra_protocol::verdict::Status;

use super::cell::{Live, UNRECORDED_STEPS_MAX};
use super::encoded_step::to_json;
use super::error::fault;
use super::recorder::{Permit, Ticket};
use super::turn::{self, judged_turn};
use super::{EncodedStep, LiveTurn, SessionError, Sessions, TakenStep, blob, observe};
use palestra_environment::{InfraError, Place};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::{Record, StepRow};

/// Size of a step's `meta` as JSON.
pub(super) const META_BYTES_MAX: usize = 64 * 1024;
/// Steps of an episode where neither caller nor environment names a limit.
pub(super) const STEPS_PER_EPISODE_MAX: u64 = 10_000_000;

impl Sessions {
    /// Takes a step when its turn comes.
    pub(super) async fn step(
        &self,
        tenant: &Tenant,
        id: SessionId,
        step: Box<Step>,
    ) -> Result<EncodedStep, SessionError> {
        let meta = meta_of(&step)?;
        if step.seq == Some(0) {
            return Err(fault("seq", "steps are numbered from 1: send 1 or more"));
        }
        let queued = Instant::now();
        let mut turn = match self.turn(tenant, id).await {
            // An answer stays the answer, also after the close.
            Err(closed) if closed.is_closed() => {
                return self.answer_after_close(tenant, id, &step).await?.ok_or(closed);
            }
            turn => turn?,
        };
        let queue_ms = microseconds_as_ms(microseconds_since(queued));
        let live = turn.live()?;
        let repeated = if is_next(live, &step) { None } else { self.repeated(live, &step).await? };
        let taken = match repeated {
            Some(taken) => {
                let taken = observe::cut_step(taken, &live.row.observe, step.observe.as_ref())?;
                drop(turn);
                taken
            }
            None => {
                let request = Request::new(live, *step, meta, queue_ms);
                if live.needs_task() {
                    let sessions = self.clone();
                    self.to_end(async move { sessions.act_after_intent(turn, request).await }).await?
                } else {
                    self.act_after_intent(turn, request).await?
                }
            }
        };
        taken.recorded().await
    }

    async fn act_after_intent(&self, mut turn: LiveTurn, request: Request) -> Result<TakenStep, SessionError> {
        let live = turn.live()?;
        // Before the permit for the result: whoever held one while waiting for another could wait for ever.
        if records_intent(live) {
            Box::pin(self.record_intent(live, &request)).await?;
        }
        let permit = self.0.recorder.reserve().await?;
        self.act(live, request, permit).await
    }

    /// Takes the step. Between acting and queueing the record nothing awaits for a pure environment that is light, so a
    /// caller that goes away cannot separate the two.
    pub(super) async fn act(
        &self,
        live: &mut Live,
        request: Request,
        permit: Permit,
    ) -> Result<TakenStep, SessionError> {
        let mut step = blank(live.episode.id, live.seq + 1);
        let (reached, failure) = match self.act_within_limits(live, &request.action, &mut step).await {
            Ok(reached) => (reached, None),
            Err(InfraError { detail, .. }) => (true, Some((Status::InfraError, detail))),
        };
        let now = self.0.clock.now();
        live.seq += 1;
        if !live.recorded() {
            step.durable_seq = 0;
        }
        if let Some(notice) = live.notice.take() {
            step.observation.text = format!("{notice}\n{}", step.observation.text);
        }
        step.truncated = step.stop_reason.is_some() && !step.terminated;
        step.info.queue_ms = request.queue_ms;
        if request.wants_hash {
            step.info.state_hash = self.state_hash(live).await;
        }
        let blobs = blob::keep(live, &mut step.observation);
        let action = reached.then_some(request.action);
        let ended = step.stop_reason.is_some();
        let mut records = Vec::new();
        if let Some(reason) = step.stop_reason {
            live.end(step.terminated, step.truncated, reason, now);
            records.push(super::judge::end_record(live, now));
            if failure.is_some() || live.row.verify == VerifyMode::OnEnd {
                let (trajectory, step_rewards) =
                    (live.entry.kind.verifier().needs_trajectory(), live.entry.spec().step_rewards);
                let closing = trajectory.then(|| judged_turn(action.as_deref(), &step, step_rewards));
                let reached = Box::pin(self.judge_now(live, failure, closing)).await;
                records.extend(reached.records);
                if !step_rewards && step.reward.is_none() {
                    step.reward = reached.verdict.score;
                }
                live.verdict = Some(Box::new(reached.verdict.clone()));
                step.verdict = Some(reached.verdict);
            }
        }
        let answer = EncodedStep::new(step)?;
        if live.recorded() {
            // The step comes first, so that nothing which depends on it is older than it.
            let row = row(live.episode.id, action.as_deref(), &answer, request.meta, now)?;
            records.insert(0, Record::Step(Box::new(row)));
            records.extend(blobs);
            if records_intent(live) {
                records.push(Record::IntentSettled { episode: live.episode.id, seq: live.seq });
            }
        }
        let taken = TakenStep { action, answer, ticket: submit(self, live, permit, records, ended) };
        remember(live, &taken);
        observe::cut_step(taken, &live.row.observe, request.observe.as_ref())
    }

    /// Commits the intent to act, where a step cannot be replayed.
    async fn record_intent(&self, live: &Live, request: &Request) -> Result<(), SessionError> {
        let action = to_json(request.action.as_ref())?;
        let (episode, seq, at) = (live.episode.id, live.seq + 1, self.0.clock.now());
        let permit = self.0.recorder.reserve().await?;
        let durability = if live.row.record == RecordMode::Sync { Durability::Disk } else { Durability::Process };
        let intent = Record::Intent { episode, seq, action, at };
        self.0.recorder.submit(&live.ledger, permit, durability, vec![intent]).committed().await
    }

    /// Runs the action and fills in the step. Returns whether the action reached the environment: it does not once the episode's
    /// time is over. A failure of the environment ends the episode in the step too.
    async fn act_within_limits(
        &self,
        live: &mut Live,
        action: &Arc<Action>,
        step: &mut Stepped,
    ) -> Result<bool, InfraError> {
        let limits = live.row.limits;
        if limits.wall_ms.is_some_and(|wall_ms| live.elapsed_ms(self.0.clock.now()) >= wall_ms) {
            step.stop_reason = Some(StopReason::WallLimit);
            tell(step, "The episode's time is over; the action was not taken.");
            return Ok(false);
        }
        let began = Instant::now();
        let outcome = match live.place.take() {
            None => Err(InfraError::new("the environment was lost: reset the session")),
            Some(place) => self.act_in(live, place, action, step).await,
        };
        let env_us = microseconds_since(began);
        live.env_us += env_us;
        step.info.env_ms = microseconds_as_ms(env_us);
        match outcome {
            Ok(calls) => {
                live.calls += calls;
                if !step.terminated && step.seq >= limits.steps.unwrap_or(STEPS_PER_EPISODE_MAX) {
                    step.stop_reason = Some(StopReason::MaxSteps);
                }
                Ok(true)
            }
            Err(error) => {
                tracing::warn!(session = %live.row.id, detail = error.detail, "an environment failed in a step");
                step.stop_reason = Some(StopReason::InfraError);
                tell(step, "The environment failed; this episode is not a sample.");
                Err(error)
            }
        }
    }

    /// Runs the action in its place, on the blocking pool where the environment is heavy, and puts the place back. Returns how many
    /// tool calls were made.
    async fn act_in(
        &self,
        live: &mut Live,
        mut place: Place,
        action: &Arc<Action>,
        step: &mut Stepped,
    ) -> Result<u64, InfraError> {
        let calls_left = live.row.limits.calls.unwrap_or(u64::MAX).saturating_sub(live.calls);
        if !(live.entry.kind.heavy() && matches!(place, Place::Pure(_))) {
            let toolbox = &live.entry.offer(&live.row.config).toolbox;
            let calls = turn::take(&mut place, toolbox, action, calls_left, None, &mut live.context, step).await;
            // A place that failed owns things outside this process all the same.
            match &calls {
                Ok(_) => live.place = Some(place),
                Err(_) => turn::close(place).await,
            }
            return calls;
        }
        let (entry, config, action) = (Arc::clone(&live.entry), Arc::clone(&live.row.config), Arc::clone(action));
        let (mut context, mut filled) = (live.context.clone(), step.clone());
        let work = move || {
            let toolbox = &entry.offer(&config).toolbox;
            let taking = turn::take(&mut place, toolbox, &action, calls_left, None, &mut context, &mut filled);
            (taking.now_or_never(), place, context, filled)
        };
        let (calls, place, context, filled) = self.heavy(work).await.map_err(InfraError::new)?;
        let calls = calls.unwrap_or_else(|| Err(InfraError::new("a pure environment waited")))?;
        (live.place, live.context, *step) = (Some(place), context, filled);
        Ok(calls)
    }

    /// Runs slow code on the bounded blocking pool.
    pub(super) async fn heavy<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        self.blocking_permit().await?.run(work).await
    }

    /// Waits for a permit of the blocking pool.
    pub(super) async fn blocking_permit(&self) -> Result<BlockingPermit, String> {
        let permit = Arc::clone(&self.0.heavy).acquire_owned().await;
        permit.map(|permit| BlockingPermit { _permit: permit }).map_err(|error| error.to_string())
    }

    async fn state_hash(&self, live: &mut Live) -> Option<String> {
        let place = live.place.as_mut()?;
        turn::state(place).await.ok().map(|state| state.digest().to_string())
    }
}

/// A permit for the blocking pool. It is given back once the work has ended, also where its caller stopped waiting.
pub(super) struct BlockingPermit {
    _permit: tokio::sync::OwnedSemaphorePermit,
}

impl BlockingPermit {
    pub(super) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
        let work = move || {
            let _permit = self;
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

/// The answer of a step before anything has happened in it.
pub(super) fn blank(episode: EpisodeId, seq: u64) -> Stepped {
    Stepped {
        episode,
        seq,
        durable_seq: seq,
        observation: Observation::default(),
        messages: Vec::new(),
        reward: None,
        terminated: false,
        truncated: false,
        stop_reason: None,
        verdict: None,
        info: Info::default(),
    }
}

/// Puts a text of the engine in the place of the observation.
pub(super) fn tell(step: &mut Stepped, text: impl Into<String>) {
    let text = text.into();
    step.messages = vec![Message::new("user", text.clone())];
    step.observation = Observation::text(text);
}

/// True for the step that comes next, as most do.
pub(super) fn is_next(live: &Live, step: &Step) -> bool {
    live.running()
        && step.seq.is_none_or(|seq| seq == live.seq + 1)
        && step.episode.is_none_or(|episode| episode == live.episode.id)
}

/// True where the intent to act is recorded before a step, because the step cannot be replayed.
fn records_intent(live: &Live) -> bool {
    live.recorded() && live.entry.spec().capabilities.recovery != Recovery::Replay
}

fn submit(sessions: &Sessions, live: &Live, permit: Permit, records: Vec<Record>, ended: bool) -> Option<Ticket> {
    if records.is_empty() {
        return None;
    }
    let durability = if ended || live.row.record == RecordMode::Sync { Durability::Disk } else { Durability::Process };
    Some(sessions.0.recorder.submit(&live.ledger, permit, durability, records))
}

/// Keeps the last step of a recorded session, and a bounded past of others.
pub(super) fn remember(live: &mut Live, taken: &TakenStep) {
    if live.recorded() {
        live.last = Some(taken.kept());
        return;
    }
    live.past.push_back(taken.kept());
    if live.past.len() > UNRECORDED_STEPS_MAX {
        live.past.pop_front();
        live.forgotten += 1;
    }
}

/// The stored form of a step.
pub(super) fn row(
    episode: EpisodeId,
    action: Option<&Action>,
    answer: &EncodedStep,
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

fn microseconds_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of one step are far below 2^53")]
fn microseconds_as_ms(microseconds: u64) -> f64 {
    microseconds as f64 / 1e3
}

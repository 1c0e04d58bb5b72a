//! Plays planned episodes, all live ones turn by turn together.

use std::collections::VecDeque;
use std::time::Instant;

use futures::future::join_all;
use palestra_client::ClientError;
use palestra_client::stream::Stream;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::{GroupId, RunId, SessionId};
use palestra_protocol::observation::Observe;
use palestra_protocol::session::{CreateSession, Created, Opened, RecordMode};
use palestra_protocol::step::{FinishReason, Stepped, StopReason};
use palestra_protocol::stream::{Outcome, StepItem};
use palestra_protocol::verdict::{Status, Verdict};
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::{Act, Actor, Planned};
use crate::failure::TrainerError;

/// Steps that travel in one frame.
const STEPS_PER_FRAME: usize = 256;

/// Limits of episodes.
#[derive(Debug, Clone, Copy)]
pub struct PlayLimits {
    /// Sessions at once.
    pub concurrent_sessions: usize,
    /// Most turns of an episode.
    pub max_turns: u32,
    /// True if hashes of states are wanted.
    pub state_hashes: bool,
}

/// One turn that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The step's reward; 0 where the environment defines none.
    pub reward: f64,
    /// Hash of the state before it, where it was asked for.
    pub state: Option<String>,
    /// Tools that were called in it.
    pub tool_calls: usize,
    /// True if its answer was cut at the most tokens of an answer.
    pub answer_cut: bool,
}

/// End of an episode.
#[derive(Debug, Clone, PartialEq)]
pub enum EpisodeEnd {
    /// It was judged.
    Scored {
        /// In [0, 1].
        score: f64,
        /// 1 when every check passed, else 0.
        strict: f64,
        /// True if the task counts as solved.
        passed: bool,
    },
    /// It is no sample, for this reason.
    Masked(String),
}

/// An episode that was played.
#[derive(Debug, Clone)]
pub struct Played<T> {
    /// Planned episode.
    pub planned: Planned,
    /// The environment with its version; empty where no session could be opened.
    pub environment: String,
    /// End of the episode.
    pub ended: EpisodeEnd,
    /// The task ended by its own rules.
    pub terminated: bool,
    /// Every turn.
    pub turns: Vec<Turn>,
    /// Record left by the actor; none where no session could be opened.
    pub trace: Option<T>,
}

impl<T> Played<T> {
    /// True if a limit cut it: of turns, of its tokens, or of the tokens of one of its answers. What a cut answer would have said is not
    /// known, also where the task ended with it.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        !self.terminated || self.turns.iter().any(|turn| turn.answer_cut)
    }
}

/// Time that playing took, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// Waiting for the server: environments, network and queues.
    pub environment_seconds: f64,
    /// Computing answers.
    pub policy_seconds: f64,
    /// Inside environments, as the server measured it, added up over sessions.
    pub env_seconds: f64,
    /// Waiting for a session's turn, as the server measured it, added up over sessions.
    pub queue_seconds: f64,
}

/// An episode that is being played.
struct Live<S> {
    place: usize,
    session: SessionId,
    environment: String,
    actor_state: S,
    turns: Vec<Turn>,
    state: Option<String>,
}

/// Plays episodes over one stream.
pub struct Player {
    /// Where they are played.
    pub stream: Stream,
    /// Owner of the sessions.
    pub run: RunId,
    /// Runtime of asynchronous work.
    pub runtime: Handle,
    /// Limits of episodes.
    pub limits: PlayLimits,
    /// Times spent so far.
    pub times: Times,
}

/// Outcome of an episode's round.
enum RoundOutcome<S> {
    Running(Live<S>),
    Ended(Live<S>, EpisodeEnd, bool),
}

impl Player {
    /// Plays every planned episode. The answer is in their order.
    ///
    /// An episode that the server or its environment fails is masked; `go_on` is asked before every round, with the number of episodes that
    /// are over.
    ///
    /// # Errors
    /// When the actor fails, the server refuses what the job asks for, or `go_on` says no.
    pub fn play<A: Actor>(
        &mut self,
        planned: &[Planned],
        actor: &mut A,
        go_on: &dyn Fn(usize) -> Result<(), TrainerError>,
    ) -> Result<Vec<Played<A::Trace>>, TrainerError> {
        let mut waiting: VecDeque<usize> = (0..planned.len()).collect();
        let mut done: Vec<Option<Played<A::Trace>>> = planned.iter().map(|_| None).collect();
        let mut live: Vec<Live<A::State>> = Vec::new();
        let groups: Vec<GroupId> = (0..planned.len()).map(|_| GroupId::new()).collect();
        while !(waiting.is_empty() && live.is_empty()) {
            go_on(planned.len() - waiting.len() - live.len())?;
            let room = self.limits.concurrent_sessions.max(1).saturating_sub(live.len()).min(waiting.len());
            let opening: Vec<usize> = waiting.drain(..room).collect();
            for (place, opened) in self.open(planned, &groups, &opening) {
                match opened {
                    Ok(opened) => live.push(Self::actor_state(place, &opened, &planned[place], actor)?),
                    Err(error) => {
                        let reason = masked(&error)?;
                        done[place] = Some(unplayed(&planned[place], reason));
                    }
                }
            }
            let mut over = Vec::new();
            for next in self.round(std::mem::take(&mut live), actor)? {
                match next {
                    RoundOutcome::Running(one) => live.push(one),
                    RoundOutcome::Ended(one, ended, terminated) => over.push((one, ended, terminated)),
                }
            }
            self.close(over.iter().map(|(one, ..)| one.session).collect());
            for (one, ended, terminated) in over {
                let Live { place, environment, actor_state, turns, .. } = one;
                let (planned, trace) = (planned[place].clone(), Some(actor.end(actor_state)));
                done[place] = Some(Played { planned, environment, ended, terminated, turns, trace });
            }
        }
        Ok(done.into_iter().flatten().collect())
    }

    fn actor_state<A: Actor>(
        place: usize,
        opened: &Opened,
        planned: &Planned,
        actor: &mut A,
    ) -> Result<Live<A::State>, TrainerError> {
        let actor_state = actor.begin(planned.number, opened)?;
        // Rollouts of one task begin in one state.
        let state = Some("start".to_owned());
        Ok(Live {
            place,
            session: opened.id,
            environment: opened.environment.clone(),
            actor_state,
            turns: Vec::new(),
            state,
        })
    }

    fn open(
        &mut self,
        planned: &[Planned],
        groups: &[GroupId],
        places: &[usize],
    ) -> Vec<(usize, Result<Box<Opened>, ClientError>)> {
        let began = Instant::now();
        let requests: Vec<CreateSession> =
            places.iter().map(|place| self.request(&planned[*place], groups[planned[*place].group])).collect();
        let created = self.runtime.block_on(join_all(requests.iter().map(|request| self.stream.create(request))));
        self.times.environment_seconds += began.elapsed().as_secs_f64();
        let one = |created| match created {
            Ok(Created::One(opened)) => Ok(opened),
            Ok(Created::Many(_)) => {
                Err(ClientError::Unexpected { status: 200, excerpt: "one session was asked for".to_owned() })
            }
            Err(error) => Err(error),
        };
        places.iter().copied().zip(created.into_iter().map(one)).collect()
    }

    fn request(&self, planned: &Planned, group: GroupId) -> CreateSession {
        let observe = Observe { state_hash: Some(true), ..Observe::default() };
        CreateSession {
            environment: planned.name.clone(),
            from: None,
            task: Some(planned.task.clone()),
            seed: Some(planned.seed),
            config: Map::new(),
            id: None,
            run: Some(self.run),
            group: Some(group),
            count: None,
            limits: Some(Limits { steps: Some(u64::from(self.limits.max_turns)), ..Limits::default() }),
            verify: None,
            observe: self.limits.state_hashes.then_some(observe),
            record: Some(RecordMode::Group),
            metadata: Value::Null,
        }
    }

    /// One turn of every live episode.
    fn round<A: Actor>(
        &mut self,
        mut live: Vec<Live<A::State>>,
        actor: &mut A,
    ) -> Result<Vec<RoundOutcome<A::State>>, TrainerError> {
        if live.is_empty() {
            return Ok(Vec::new());
        }
        let began = Instant::now();
        let acts = actor.act(&mut live.iter_mut().map(|one| &mut one.actor_state).collect::<Vec<_>>())?;
        self.times.policy_seconds += began.elapsed().as_secs_f64();
        let began = Instant::now();
        let answers = self.send(&live, &acts);
        self.times.environment_seconds += began.elapsed().as_secs_f64();
        live.into_iter()
            .zip(acts)
            .zip(answers)
            .map(|((one, act), answer)| self.take(one, &act, answer, actor))
            .collect()
    }

    /// Sends what was done; each answer is a step or, where there is no room for tokens any more, a verdict.
    fn send<S>(&self, live: &[Live<S>], acts: &[Act]) -> Vec<Result<Answer, ClientError>> {
        let mut items = Vec::new();
        let mut stepping = Vec::new();
        let mut finishing = Vec::new();
        for (place, (one, act)) in live.iter().zip(acts).enumerate() {
            match act {
                Act::Step(action) | Act::CutStep(action) => {
                    let seq = Some(one.turns.len() as u64 + 1);
                    let action = action.clone();
                    items.push(StepItem {
                        session: one.session,
                        seq,
                        action,
                        episode: None,
                        observe: None,
                        meta: None,
                    });
                    stepping.push(place);
                }
                Act::Full => finishing.push(place),
            }
        }
        let steps = async {
            let frames = items.chunks(STEPS_PER_FRAME).map(|frame| async {
                match self.stream.steps(frame).await {
                    Ok(outcomes) => outcomes.into_iter().map(step_answer).collect::<Vec<_>>(),
                    Err(error) => frame.iter().map(|_| Err(copy(&error))).collect(),
                }
            });
            join_all(frames).await.into_iter().flatten().collect::<Vec<_>>()
        };
        let finishes = join_all(finishing.iter().map(|place| finish(&self.stream, live[*place].session)));
        let (steps, finishes) = self.runtime.block_on(futures::future::join(steps, finishes));
        let mut answers: Vec<Option<Result<Answer, ClientError>>> = live.iter().map(|_| None).collect();
        for (place, answer) in stepping.into_iter().zip(steps).chain(finishing.into_iter().zip(finishes)) {
            answers[place] = Some(answer);
        }
        answers.into_iter().map(|answer| answer.unwrap_or(Err(ClientError::Closed))).collect()
    }

    fn take<A: Actor>(
        &mut self,
        mut one: Live<A::State>,
        act: &Act,
        answer: Result<Answer, ClientError>,
        actor: &mut A,
    ) -> Result<RoundOutcome<A::State>, TrainerError> {
        let stepped = match answer {
            Ok(Answer::Stepped(stepped)) => stepped,
            Ok(Answer::Judged(verdict)) => return Ok(RoundOutcome::Ended(one, judged(Some(&verdict)), false)),
            Err(error) => return Ok(RoundOutcome::Ended(one, EpisodeEnd::Masked(masked(&error)?), false)),
        };
        let tool_calls = match act {
            Act::Step(action) | Act::CutStep(action) => tools_called(action),
            Act::Full => 0,
        };
        let answer_cut = matches!(act, Act::CutStep(_));
        one.turns.push(Turn { reward: stepped.reward.unwrap_or(0.0), state: one.state.take(), tool_calls, answer_cut });
        one.state.clone_from(&stepped.info.state_hash);
        self.times.env_seconds += stepped.info.env_ms / 1_000.0;
        self.times.queue_seconds += stepped.info.queue_ms / 1_000.0;
        actor.observe(&mut one.actor_state, &stepped)?;
        if !(stepped.terminated || stepped.truncated) {
            return Ok(RoundOutcome::Running(one));
        }
        if stepped.stop_reason == Some(StopReason::InfraError) {
            return Ok(RoundOutcome::Ended(one, EpisodeEnd::Masked("infra_error".to_owned()), false));
        }
        let ended = match &stepped.verdict {
            Some(verdict) => judged(Some(verdict)),
            None => match self.runtime.block_on(self.stream.verify(one.session)) {
                Ok(verdict) => judged(Some(&verdict)),
                Err(error) => EpisodeEnd::Masked(masked(&error)?),
            },
        };
        Ok(RoundOutcome::Ended(one, ended, stepped.terminated))
    }

    fn close(&mut self, sessions: Vec<SessionId>) {
        let began = Instant::now();
        // What cannot be closed ends with its run.
        self.runtime.block_on(join_all(sessions.into_iter().map(|session| self.stream.close(session))));
        self.times.environment_seconds += began.elapsed().as_secs_f64();
    }
}

/// The server's answer to a turn.
enum Answer {
    Stepped(Box<Stepped>),
    Judged(Box<Verdict>),
}

fn step_answer(outcome: Outcome<Stepped>) -> Result<Answer, ClientError> {
    match outcome {
        Outcome::Ok(stepped) => Ok(Answer::Stepped(Box::new(stepped))),
        Outcome::Error(problem) => Err(ClientError::Problem(Box::new(problem))),
    }
}

async fn finish(stream: &Stream, session: SessionId) -> Result<Answer, ClientError> {
    let finished = stream.finish(session, FinishReason::MaxTokens).await?;
    let verdict = match finished.verdict {
        Some(verdict) => verdict,
        None => stream.verify(session).await?,
    };
    Ok(Answer::Judged(Box::new(verdict)))
}

fn copy(error: &ClientError) -> ClientError {
    match error {
        ClientError::Problem(problem) => ClientError::Problem(problem.clone()),
        other => ClientError::Unreachable(other.to_string()),
    }
}

fn judged(verdict: Option<&Verdict>) -> EpisodeEnd {
    match verdict {
        Some(verdict) if verdict.status == Status::Scored && verdict.trainable => match verdict.score {
            Some(score) => {
                EpisodeEnd::Scored { score, strict: f64::from(verdict.strict.unwrap_or(0)), passed: verdict.passed }
            }
            None => EpisodeEnd::Masked("scored without a score".to_owned()),
        },
        Some(verdict) if verdict.status == Status::Scored => EpisodeEnd::Masked("not trainable".to_owned()),
        Some(verdict) => EpisodeEnd::Masked(verdict.status.as_str().to_owned()),
        None => EpisodeEnd::Masked("no verdict".to_owned()),
    }
}

/// Reason why an episode is no sample, unless the whole job cannot go on.
fn masked(error: &ClientError) -> Result<String, TrainerError> {
    match error {
        ClientError::Problem(problem) => match problem.status {
            // The credential ends with the lease.
            401 => Err(TrainerError::LeaseLost),
            400 | 403 | 404 | 422 => Err(TrainerError::BadSpec(format!("the server refuses to play: {error}"))),
            _ => Ok(problem.code.as_str().to_owned()),
        },
        ClientError::Address(_) | ClientError::Unsendable(_) => Err(TrainerError::BadSpec(error.to_string())),
        _ => Ok("unreachable".to_owned()),
    }
}

fn unplayed<T>(planned: &Planned, reason: String) -> Played<T> {
    Played {
        planned: planned.clone(),
        environment: String::new(),
        ended: EpisodeEnd::Masked(reason),
        terminated: false,
        turns: Vec::new(),
        trace: None,
    }
}

fn tools_called(action: &Action) -> usize {
    match action {
        Action::Text(_) => 0,
        Action::Tool { .. } => 1,
        Action::Calls(calls) => calls.len(),
        Action::Message(message) => message.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len),
    }
}

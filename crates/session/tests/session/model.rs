//! Random commands on sessions, checked against a small model of a session, and run again where the process dies, sessions are
//! parked, or another store keeps the record: none of that may be seen in what is answered.

use palestra_protocol::action::Action;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::{EpisodeId, SessionId, SnapshotId};
use palestra_protocol::observation::{Observation, Observe};
use palestra_protocol::session::{
    CreateSession, Created, Fork, Opened, Randomness, RecordMode, Reset, Restore, StartPoint, TakeSnapshot, TaskChoice,
    Verify,
};
use palestra_protocol::step::{Finish, FinishReason, Step, StopReason};
use palestra_protocol::verdict::Verdict;
use palestra_session::{Answer, Command, SessionError};
use palestra_store::Target;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::json;

use super::world::{World, counter, create};
use palestra_test_support::postgres;

/// Turns in an episode of these tests.
const STEPS_MAX: u64 = 8;

/// One thing that a test does. `at` picks a session of those that exist.
#[derive(Debug, Clone)]
enum Operation {
    Next { at: usize, amount: i64 },
    Repeat { at: usize, back: u64 },
    Conflict { at: usize, back: u64 },
    Ahead { at: usize, by: u64 },
    Late { at: usize },
    Reset { at: usize, seed: Option<u64> },
    Fork { at: usize, back: u64, split: bool },
    Snapshot { at: usize },
    Restore { at: usize, which: usize },
    Open { at: usize, back: u64, snapshot: bool },
    Finish { at: usize },
    Verify { at: usize },
    Close { at: usize },
}

/// An event in the process between two operations.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Park,
    Crash,
}

fn operations() -> impl Strategy<Value = Vec<(Operation, Fault)>> {
    let at = 0..100_usize;
    let operation = prop_oneof![
        12 => (at.clone(), -5..50_i64).prop_map(|(at, amount)| Operation::Next { at, amount }),
        3 => (at.clone(), 0..10_u64).prop_map(|(at, back)| Operation::Repeat { at, back }),
        2 => (at.clone(), 0..10_u64).prop_map(|(at, back)| Operation::Conflict { at, back }),
        1 => (at.clone(), 1..5_u64).prop_map(|(at, by)| Operation::Ahead { at, by }),
        1 => at.clone().prop_map(|at| Operation::Late { at }),
        2 => (at.clone(), proptest::option::of(0..5_u64)).prop_map(|(at, seed)| Operation::Reset { at, seed }),
        3 => (at.clone(), 0..6_u64, any::<bool>()).prop_map(|(at, back, split)| Operation::Fork { at, back, split }),
        2 => at.clone().prop_map(|at| Operation::Snapshot { at }),
        2 => (at.clone(), 0..5_usize).prop_map(|(at, which)| Operation::Restore { at, which }),
        3 => (at.clone(), 0..6_u64, any::<bool>()).prop_map(|(at, back, snapshot)| Operation::Open { at, back, snapshot }),
        1 => at.clone().prop_map(|at| Operation::Finish { at }),
        1 => at.clone().prop_map(|at| Operation::Verify { at }),
        1 => at.prop_map(|at| Operation::Close { at }),
    ];
    let fault = prop_oneof![6 => Just(Fault::None), 1 => Just(Fault::Park), 1 => Just(Fault::Crash)];
    proptest::collection::vec((operation, fault), 1..40)
}

/// The outcome of an operation, without ids and times: equal in every world.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Step {
        seq: u64,
        observation: Observation,
        hash: Option<String>,
        stop: Option<StopReason>,
        score: Option<Option<f64>>,
    },
    Opened {
        seq: u64,
        attempt: u64,
        observation: Observation,
    },
    Judged {
        score: Option<f64>,
        state: Option<String>,
        seq: u64,
    },
    Done,
    Refused(&'static str),
}

/// The model of a session: what has to be true of it.
#[derive(Debug, Clone)]
struct Modelled {
    id: SessionId,
    episode: EpisodeId,
    earlier_episodes: Vec<EpisodeId>,
    /// Amounts added by the steps of this episode, from its root on.
    amounts: Vec<i64>,
    /// The number of inherited ones among them.
    inherited: usize,
    over: bool,
    closed: bool,
    judged: bool,
    /// The answer to ending the episode from outside.
    finished: Option<Seen>,
    snapshots: Vec<(SnapshotId, Vec<i64>)>,
    /// The answers of its own steps.
    answers: Vec<Seen>,
}

impl Modelled {
    fn of(opened: &Opened, amounts: Vec<i64>) -> Self {
        Self {
            id: opened.id,
            episode: opened.episode,
            earlier_episodes: Vec::new(),
            inherited: amounts.len(),
            amounts,
            over: false,
            closed: false,
            judged: false,
            finished: None,
            snapshots: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn begin(&mut self, opened: &Opened, amounts: Vec<i64>) {
        self.earlier_episodes.push(self.episode);
        self.episode = opened.episode;
        self.inherited = amounts.len();
        self.amounts = amounts;
        self.over = false;
        self.judged = false;
        self.finished = None;
        self.answers.clear();
    }

    fn seq(&self) -> u64 {
        self.amounts.len() as u64
    }
}

struct Run {
    world: World,
    modelled: Vec<Modelled>,
    seen: Vec<Seen>,
}

impl Run {
    async fn new(target: Option<Target>, record: RecordMode) -> Self {
        let world = World::open(target).await;
        let request = CreateSession {
            task: Some(TaskChoice { index: Some(3), ..TaskChoice::default() }),
            seed: Some(11),
            limits: Some(Limits { steps: Some(STEPS_MAX), ..Limits::default() }),
            observe: Some(Observe { state_hash: Some(true), ..Observe::default() }),
            record: Some(record),
            ..counter(&json!({"draws": true}))
        };
        let opened = create(&world, request).await;
        let modelled = vec![Modelled::of(&opened, Vec::new())];
        Self { world, modelled, seen: vec![seen_opened(&opened)] }
    }

    async fn all(mut self, operations: &[(Operation, Fault)], faults: bool) -> Result<Vec<Seen>, TestCaseError> {
        for (operation, fault) in operations {
            match fault {
                Fault::Park if faults => self.world.park().await,
                Fault::Crash if faults => self.world.crash().await,
                _ => {}
            }
            let seen = self.one(operation).await?;
            self.seen.push(seen);
        }
        Ok(self.seen)
    }

    async fn send(&self, command: Command) -> Result<Answer, SessionError> {
        self.world.sessions.run(&self.world.tenant, command).await
    }

    async fn step(&self, model: &Modelled, seq: u64, amount: i64, episode: EpisodeId) -> Seen {
        let step = Step { seq: Some(seq), action: add(amount), episode: Some(episode), observe: None, meta: None };
        seen(&self.send(Command::Step { session: model.id, step: Box::new(step) }).await)
    }

    async fn one(&mut self, operation: &Operation) -> Result<Seen, TestCaseError> {
        let index = operation.at() % self.modelled.len();
        let model = self.modelled[index].clone();
        let (seen, next) = match *operation {
            Operation::Next { amount, .. } => self.next(model, amount).await?,
            Operation::Repeat { back, .. } => (self.repeat(&model, back, 0).await?, model),
            Operation::Conflict { back, .. } => (self.repeat(&model, back, 1).await?, model),
            Operation::Ahead { by, .. } => {
                let seen = self.step(&model, model.seq() + 1 + by, 1, model.episode).await;
                prop_assert_eq!(&seen, &Seen::Refused(refusal(&model).unwrap_or("step_ahead")));
                (seen, model)
            }
            Operation::Late { .. } => {
                let Some(earlier) = model.earlier_episodes.last().copied() else { return Ok(Seen::Done) };
                let seen = self.step(&model, STEPS_MAX + 1, 1, earlier).await;
                let expected = if model.closed { "over" } else { "wrong_episode" };
                prop_assert_eq!(&seen, &Seen::Refused(expected));
                (seen, model)
            }
            Operation::Reset { seed, .. } => self.reset(model, seed).await?,
            Operation::Fork { back, split, .. } => return self.fork(&model, back, split).await,
            Operation::Snapshot { .. } => self.snapshot(model).await?,
            Operation::Restore { which, .. } => self.restore(model, which).await?,
            Operation::Open { back, snapshot, .. } => return self.open(&model, back, snapshot).await,
            Operation::Finish { .. } => self.finish(model).await?,
            Operation::Verify { .. } => self.verify(model).await?,
            Operation::Close { .. } => {
                let seen = seen(&self.send(Command::Close { session: model.id }).await);
                prop_assert_eq!(&seen, &Seen::Done);
                (seen, Modelled { closed: true, over: true, ..model })
            }
        };
        self.modelled[index] = next;
        Ok(seen)
    }

    async fn next(&self, mut model: Modelled, amount: i64) -> Result<(Seen, Modelled), TestCaseError> {
        let seen = self.step(&model, model.seq() + 1, amount, model.episode).await;
        if let Some(code) = refusal(&model) {
            prop_assert_eq!(&seen, &Seen::Refused(code));
            return Ok((seen, model));
        }
        model.amounts.push(amount);
        let Seen::Step { seq, stop, observation, .. } = &seen else { panic!("a step was refused: {seen:?}") };
        prop_assert_eq!(*seq, model.seq());
        prop_assert_eq!(&observation.data["count"], &json!(model.amounts.iter().sum::<i64>()));
        prop_assert_eq!(*stop, (model.seq() >= STEPS_MAX).then_some(StopReason::MaxSteps));
        model.over = stop.is_some();
        model.judged = stop.is_some();
        model.answers.push(seen.clone());
        Ok((seen, model))
    }

    /// Sends an own step again, with the same action or (`other` not 0) another.
    async fn repeat(&self, model: &Modelled, back: u64, other: i64) -> Result<Seen, TestCaseError> {
        let own = model.answers.len();
        let Some(place) = own.checked_sub(1 + usize::try_from(back).expect("small")) else { return Ok(Seen::Done) };
        let seq = (model.inherited + place + 1) as u64;
        let amount = model.amounts[model.inherited + place] + other;
        let seen = self.step(model, seq, amount, model.episode).await;
        let expected = if other == 0 {
            model.answers[place].clone()
        } else {
            Seen::Refused(refusal(model).unwrap_or("step_conflict"))
        };
        prop_assert_eq!(&seen, &expected);
        Ok(seen)
    }

    async fn reset(&self, mut model: Modelled, seed: Option<u64>) -> Result<(Seen, Modelled), TestCaseError> {
        let request = Reset { task: None, seed };
        let answer = self.send(Command::Reset { session: model.id, request, key: None }).await;
        let seen = seen(&answer);
        if model.closed {
            prop_assert_eq!(&seen, &Seen::Refused("over"));
            return Ok((seen, model));
        }
        let Ok(Answer::Opened(opened)) = &answer else { panic!("a reset was refused: {answer:?}") };
        prop_assert_eq!(opened.attempt, model.earlier_episodes.len() as u64 + 2);
        model.begin(opened, Vec::new());
        Ok((seen, model))
    }

    async fn fork(&mut self, model: &Modelled, back: u64, split: bool) -> Result<Seen, TestCaseError> {
        let at_seq = model.seq().saturating_sub(back);
        let randomness = split.then_some(Randomness::Split);
        let request = Fork { count: Some(2), at_seq: Some(at_seq), randomness, allow_inexact: None };
        let answer = self.send(Command::Fork { session: model.id, request, key: None }).await;
        let expected = match () {
            () if model.closed => Some("over"),
            () if model.over && at_seq == model.seq() => Some("episode_over"),
            () => None,
        };
        if let Some(code) = expected {
            prop_assert_eq!(seen(&answer), Seen::Refused(code));
            return Ok(Seen::Refused(code));
        }
        let Ok(Answer::Forked(list)) = &answer else { panic!("a fork was refused: {answer:?}") };
        prop_assert_eq!(list.data.len(), 2);
        for opened in &list.data {
            prop_assert_eq!(opened.seq, at_seq);
            prop_assert_eq!(opened.parent, Some(model.id));
            let amounts = model.amounts[..usize::try_from(at_seq).expect("small")].to_vec();
            self.modelled.push(Modelled::of(opened, amounts));
        }
        // Both copies stand where the parent stood; what they draw from here on is compared between the worlds.
        prop_assert_eq!(&list.data[0].observation, &list.data[1].observation);
        Ok(seen_opened(&list.data[0]))
    }

    async fn snapshot(&self, mut model: Modelled) -> Result<(Seen, Modelled), TestCaseError> {
        let request = TakeSnapshot::default();
        let answer = self.send(Command::Snapshot { session: model.id, request, key: None }).await;
        if let Some(code) = refusal(&model) {
            prop_assert_eq!(seen(&answer), Seen::Refused(code));
            return Ok((Seen::Refused(code), model));
        }
        let Ok(Answer::Snapshot(snapshot)) = &answer else { panic!("a snapshot was refused: {answer:?}") };
        prop_assert_eq!(snapshot.seq, model.seq());
        model.snapshots.push((snapshot.id, model.amounts.clone()));
        Ok((Seen::Done, model))
    }

    async fn restore(&self, mut model: Modelled, which: usize) -> Result<(Seen, Modelled), TestCaseError> {
        let Some((snapshot, amounts)) = model.snapshots.get(which).cloned() else { return Ok((Seen::Done, model)) };
        let request = Restore { snapshot };
        let answer = self.send(Command::Restore { session: model.id, request, key: None }).await;
        let seen = seen(&answer);
        if model.closed {
            prop_assert_eq!(&seen, &Seen::Refused("over"));
            return Ok((seen, model));
        }
        let Ok(Answer::Opened(opened)) = &answer else { panic!("a restore was refused: {answer:?}") };
        prop_assert_eq!(opened.seq, amounts.len() as u64);
        model.begin(opened, amounts);
        Ok((seen, model))
    }

    /// Opens a session at a point of a stored episode: one of its snapshots, or a step of the current one. Neither the end of the
    /// episode nor the close of its session keeps from it.
    async fn open(&mut self, model: &Modelled, back: u64, snapshot: bool) -> Result<Seen, TestCaseError> {
        let newest = model.snapshots.len().checked_sub(1 + usize::try_from(back).expect("small"));
        let named = newest.and_then(|place| model.snapshots.get(place)).filter(|_| snapshot);
        let at_seq = model.seq().saturating_sub(back);
        let (from, amounts) = match named {
            Some((id, amounts)) => (StartPoint::snapshot(*id), amounts.clone()),
            None => {
                let amounts = model.amounts[..usize::try_from(at_seq).expect("small")].to_vec();
                (StartPoint::episode(model.episode, at_seq), amounts)
            }
        };
        let request = CreateSession { from: Some(from), ..CreateSession::default() };
        let answer = self.send(Command::Create { request: Box::new(request), key: None }).await;
        if named.is_none() && at_seq >= STEPS_MAX {
            prop_assert_eq!(seen(&answer), Seen::Refused("invalid"));
            return Ok(Seen::Refused("invalid"));
        }
        let Ok(Answer::Created(Created::One(opened))) = &answer else { panic!("no session was opened: {answer:?}") };
        prop_assert_eq!(opened.seq, amounts.len() as u64);
        prop_assert_eq!(opened.parent, Some(model.id));
        self.modelled.push(Modelled::of(opened, amounts));
        Ok(seen_opened(opened))
    }

    async fn finish(&self, mut model: Modelled) -> Result<(Seen, Modelled), TestCaseError> {
        let request = Finish { reason: FinishReason::GaveUp, detail: None, episode: Some(model.episode) };
        let answer = self.send(Command::Finish { session: model.id, request }).await;
        let seen = seen(&answer);
        // The same request again gets the same answer, also after the close.
        if let Some(finished) = &model.finished {
            prop_assert_eq!(&seen, finished);
        } else if let Some(code) = refusal(&model) {
            prop_assert_eq!(&seen, &Seen::Refused(code));
        } else {
            prop_assert!(matches!(seen, Seen::Judged { .. }), "{:?}", seen);
            model.over = true;
            model.judged = true;
            model.finished = Some(seen.clone());
        }
        Ok((seen, model))
    }

    async fn verify(&self, mut model: Modelled) -> Result<(Seen, Modelled), TestCaseError> {
        let answer = self.send(Command::Verify { session: model.id, request: Verify::default() }).await;
        let seen = seen(&answer);
        if model.closed && !model.judged {
            prop_assert_eq!(&seen, &Seen::Refused("over"));
            return Ok((seen, model));
        }
        let Ok(Answer::Verdict(verdict)) = &answer else { panic!("a verdict was refused: {answer:?}") };
        let count: i64 = model.amounts.iter().sum();
        prop_assert!(verdict.checks[0].evidence.contains(&format!("the count is {count},")), "{:?}", verdict);
        model.over = true;
        model.judged = true;
        Ok((seen, model))
    }
}

impl Operation {
    fn at(&self) -> usize {
        match self {
            Self::Next { at, .. }
            | Self::Repeat { at, .. }
            | Self::Conflict { at, .. }
            | Self::Ahead { at, .. }
            | Self::Late { at }
            | Self::Reset { at, .. }
            | Self::Fork { at, .. }
            | Self::Snapshot { at }
            | Self::Restore { at, .. }
            | Self::Open { at, .. }
            | Self::Finish { at }
            | Self::Verify { at }
            | Self::Close { at } => *at,
        }
    }
}

/// Why a session takes no steps, if it does not.
fn refusal(model: &Modelled) -> Option<&'static str> {
    match model {
        Modelled { closed: true, .. } => Some("over"),
        Modelled { over: true, .. } => Some("episode_over"),
        _ => None,
    }
}

fn add(amount: i64) -> Action {
    let arguments = json!({"amount": amount}).as_object().expect("an object").clone();
    Action::Tool { tool: "add".to_owned(), arguments }
}

fn seen(answer: &Result<Answer, SessionError>) -> Seen {
    match answer {
        Ok(Answer::Stepped(step)) => Seen::Step {
            seq: step.seq,
            observation: step.observation.clone(),
            hash: step.info.state_hash.clone(),
            stop: step.stop_reason,
            score: step.verdict.as_ref().map(|verdict| verdict.score),
        },
        Ok(Answer::Opened(opened)) => seen_opened(opened),
        Ok(Answer::Verdict(verdict)) => seen_verdict(verdict),
        Ok(Answer::Finished(finished)) => finished.verdict.as_ref().map_or(Seen::Done, seen_verdict),
        Ok(_) => Seen::Done,
        Err(error) => Seen::Refused(match error {
            SessionError::StepConflict { .. } => "step_conflict",
            SessionError::StepAhead { .. } => "step_ahead",
            SessionError::WrongEpisode { .. } => "wrong_episode",
            SessionError::EpisodeOver => "episode_over",
            SessionError::Over(_) => "over",
            SessionError::Invalid(_) => "invalid",
            other => panic!("an unexpected refusal: {other}"),
        }),
    }
}

fn seen_verdict(verdict: &Verdict) -> Seen {
    Seen::Judged { score: verdict.score, state: verdict.state.clone(), seq: verdict.seq }
}

fn seen_opened(opened: &Opened) -> Seen {
    Seen::Opened { seq: opened.seq, attempt: opened.attempt, observation: (*opened.observation).clone() }
}

/// Runs each case in a world where nothing happens and in one with faults, and compares what was seen.
fn compare(cases: u32, record: RecordMode, on_postgres: bool) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let cases = std::env::var("PALESTRA_MODEL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&operations(), |operations| {
        runtime.block_on(async {
            let calm = Run::new(None, record).await.all(&operations, false).await?;
            let database = if on_postgres { postgres::Database::create().await } else { None };
            let target = database.as_ref().map(|database| Target::Postgres(database.url()));
            let rough = Run::new(target, record).await.all(&operations, true).await?;
            if let Some(database) = database {
                database.remove().await;
            }
            for (place, (calm, rough)) in calm.iter().zip(&rough).enumerate() {
                prop_assert_eq!(calm, rough, "after operation {} of {:?}", place, operations);
            }
            Ok(())
        })
    });
    outcome.expect("every world shows the same");
}

#[test]
fn parking_and_recovery_are_invisible() {
    compare(40, RecordMode::Group, false);
}

#[test]
fn parking_and_recovery_are_invisible_when_every_step_waits_for_the_disk() {
    compare(10, RecordMode::Sync, false);
}

#[test]
fn both_stores_show_the_same() {
    compare(6, RecordMode::Group, true);
}

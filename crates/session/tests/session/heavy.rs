//! A kind that may take long: its steps and its judging run on the blocking pool, and nothing waits for them that need not.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use futures::FutureExt;
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder};
use palestra_environment::state::State;
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::verifier::bound::EVIDENCE_BYTES_MAX;
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::episode::Rescore;
use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::run::{CreateRun, RunState};
use palestra_protocol::session::{
    CloseReason, CreateSession, Created, Opened, RecordMode, Reset, SessionState, Verify, VerifyMode,
};
use palestra_protocol::step::{Finish, FinishReason, Step, StopReason};
use palestra_protocol::verdict::{Status, Verdict};
use palestra_session::{Answer, Command, SessionError, SessionSettings};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::world::{Setup, World};

/// A door that a slow place or judge waits at: far longer than any test, so that a failing test ends too.
const DOOR_SECONDS_MAX: u64 = 30;

/// Something slow waits here until it is opened, and says that it waits.
struct Door {
    open: Mutex<bool>,
    opened: Condvar,
    /// One permit for everyone that came to the door.
    came: Semaphore,
}

impl Door {
    fn new() -> Self {
        Self { open: Mutex::new(false), opened: Condvar::new(), came: Semaphore::new(0) }
    }

    fn pass(&self) {
        self.came.add_permits(1);
        let open = self.open.lock().expect("the door");
        let limit = Duration::from_secs(DOOR_SECONDS_MAX);
        drop(self.opened.wait_timeout_while(open, limit, |open| !*open).expect("the door"));
    }

    async fn someone(&self) {
        self.came.acquire().await.expect("the door").forget();
    }

    fn open(&self) {
        *self.open.lock().expect("the door") = true;
        self.opened.notify_all();
    }
}

/// What a test sees of the slow kind, and its doors.
struct Watch {
    step: Door,
    judge: Door,
    slow: Door,
    judged: AtomicUsize,
    threads: Mutex<HashSet<ThreadId>>,
}

impl Watch {
    fn was_here(&self) {
        self.threads.lock().expect("the threads").insert(std::thread::current().id());
    }

    fn judgings(&self) -> usize {
        self.judged.load(Ordering::SeqCst)
    }
}

/// Remembers the last text. `block` waits at the door of steps; `end` ends the episode. The judge waits at one of its
/// own doors when the last text is `wait` or `slow`, and panics when it is `panic`.
struct Slow {
    spec: Spec,
    watch: Arc<Watch>,
}

#[derive(Clone)]
struct Said {
    watch: Arc<Watch>,
    said: String,
}

impl Slow {
    fn new() -> Self {
        let spec = SpecBuilder::new("test/slow", 1, "Remembers what was said.").splits(&GENERATED_SPLITS).build();
        let watch = Watch {
            step: Door::new(),
            judge: Door::new(),
            slow: Door::new(),
            judged: AtomicUsize::new(0),
            threads: Mutex::new(HashSet::new()),
        };
        Self { spec, watch: Arc::new(watch) }
    }
}

impl EnvironmentKind for Slow {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, _opening: Opening<'_>) -> Result<Place, ConfigError> {
        self.watch.was_here();
        Ok(Place::Pure(Box::new(Said { watch: Arc::clone(&self.watch), said: String::new() })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, _task: &Task) -> Option<Vec<Action>> {
        None
    }

    fn random_action(&self, _task: &Task, _rng: &mut ChaCha8Rng) -> Action {
        Action::Text("anything".to_owned())
    }

    fn heavy(&self) -> bool {
        true
    }
}

impl TaskGenerator for Slow {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        self.watch.was_here();
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, seed).to_string(),
                split: split.to_owned(),
                index: None,
                difficulty,
                template: "say".to_owned(),
                messages: vec![Message::new("user", "Say something.")],
                tools: palestra_protocol::shared::Shared::default(),
                metadata: Value::Null,
            },
            secret: Value::Null,
        })
    }
}

impl Verifier for Slow {
    fn name(&self) -> &str {
        "said"
    }

    fn version(&self) -> &str {
        "sha256:said"
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        self.watch.was_here();
        self.watch.judged.fetch_add(1, Ordering::SeqCst);
        let said = case.state.to_value()["said"].as_str().unwrap_or_default().to_owned();
        match said.as_str() {
            "panic" => panic!("the judge was told to"),
            "wait" => self.watch.judge.pass(),
            "slow" => self.watch.slow.pass(),
            _ => {}
        }
        Ok(Judgement::single("said", 1.0, said))
    }
}

impl Environment for Said {
    fn observe(&self) -> Observation {
        Observation::text(format!("Said: {}", self.said))
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        self.watch.was_here();
        let Input::Text(text) = input else { return Reaction::text("Say something.") };
        if text == "block" {
            self.watch.step.pass();
        }
        self.said = text.to_owned();
        Reaction { observation: self.observe(), terminated: text == "end", ..Reaction::default() }
    }

    fn state(&self) -> State {
        State::from(json!({"said": self.said}))
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

struct Stage {
    world: World,
    watch: Arc<Watch>,
}

impl Stage {
    async fn open() -> Self {
        Self::open_with(SessionSettings::default()).await
    }

    async fn open_with(settings: SessionSettings) -> Self {
        let slow = Slow::new();
        let watch = Arc::clone(&slow.watch);
        let setup = Setup { kinds: vec![Arc::new(slow)], settings, ..Setup::default() };
        Self { world: World::open_with(setup).await, watch }
    }

    async fn send(&self, command: Command) -> Result<Answer, SessionError> {
        self.world.sessions.run(&self.world.tenant, command).await
    }

    async fn create(&self, environment: &str, verify: VerifyMode) -> Opened {
        let mut request: CreateSession =
            serde_json::from_value(json!({"environment": environment})).expect("a creation");
        request.verify = Some(verify);
        self.create_as(request).await
    }

    async fn create_as(&self, request: CreateSession) -> Opened {
        match self.send(Command::Create { request: Box::new(request), key: None }).await {
            Ok(Answer::Created(Created::One(opened))) => *opened,
            other => panic!("creation failed: {other:?}"),
        }
    }

    /// A session whose judge waits at its door.
    async fn waiting(&self) -> Opened {
        let opened = self.create("test/slow", VerifyMode::Manual).await;
        self.send(say(opened.id, "wait")).await.expect("a step");
        opened
    }

    async fn verify(&self, session: SessionId, wait_ms: Option<u64>) -> Result<Answer, SessionError> {
        self.send(Command::Verify { session, request: Verify { wait_ms, ..Verify::default() } }).await
    }

    async fn verdict(&self, session: SessionId) -> Verdict {
        match self.verify(session, None).await {
            Ok(Answer::Verdict(verdict)) => *verdict,
            other => panic!("no verdict: {other:?}"),
        }
    }

    /// Begins a judging and leaves it at the judge's door.
    async fn leave_judging(&self, opened: &Opened) {
        let pending = self.verify(opened.id, Some(0)).await.expect("a pending verdict");
        assert_eq!(pending, Answer::Pending { episode: opened.episode });
        self.watch.judge.someone().await;
    }

    async fn reset(&self, session: SessionId) -> Opened {
        match self.send(Command::Reset { session, request: Reset::default(), key: None }).await {
            Ok(Answer::Opened(opened)) => *opened,
            other => panic!("a reset answered {other:?}"),
        }
    }
}

fn say(session: SessionId, text: &str) -> Command {
    let action = Action::Text(text.to_owned());
    Command::Step { session, step: Box::new(Step { seq: None, action, episode: None, observe: None, meta: None }) }
}

#[tokio::test]
async fn what_a_verdict_says_is_bounded_whatever_was_judged() {
    let stage = Stage::open().await;
    let opened = stage.create("test/slow", VerifyMode::Manual).await;
    stage.send(say(opened.id, &"x".repeat(3 * EVIDENCE_BYTES_MAX))).await.expect("a step");
    let verdict = stage.verdict(opened.id).await;
    let evidence = &verdict.checks.data.first().expect("a check").evidence;
    let told = evidence.strip_prefix(&"x".repeat(EVIDENCE_BYTES_MAX)).expect("what fits is kept");
    assert!(told.starts_with(&format!("\n[{} more bytes were cut", 2 * EVIDENCE_BYTES_MAX)), "{told}");
    assert_eq!((verdict.status, verdict.score), (Status::Scored, Some(1.0)));
}

#[tokio::test]
async fn a_heavy_step_leaves_the_runtime_to_others() {
    let stage = Stage::open().await;
    let slow = stage.create("test/slow", VerifyMode::OnEnd).await.id;
    let quick = stage.create("bench/counter", VerifyMode::OnEnd).await.id;
    let blocked = stage.send(say(slow, "block"));
    let others = async {
        stage.watch.step.someone().await;
        stage.send(say(quick, "1")).await.expect("another session steps on");
        stage.watch.step.open();
    };
    let (blocked, ()) = tokio::join!(blocked, others);
    assert!(matches!(blocked, Ok(Answer::Stepped(_))), "{blocked:?}");
}

#[tokio::test]
async fn nothing_heavy_runs_on_the_runtime_not_even_a_replay() {
    let mut stage = Stage::open().await;
    let id = stage.create("test/slow", VerifyMode::OnEnd).await.id;
    stage.send(say(id, "a")).await.expect("a step");
    stage.world.crash().await;
    stage.send(say(id, "b")).await.expect("a step after the replay");
    let Ok(Answer::Stepped(last)) = stage.send(say(id, "end")).await else { panic!("a step") };
    assert_eq!(last.verdict.as_ref().map(|verdict| verdict.status), Some(Status::Scored));
    assert!(!stage.watch.threads.lock().expect("the threads").contains(&std::thread::current().id()));
}

#[tokio::test]
async fn a_step_whose_caller_left_ends_and_is_recorded() {
    let stage = Stage::open().await;
    let id = stage.create("test/slow", VerifyMode::OnEnd).await.id;
    {
        let mut step = Box::pin(stage.send(say(id, "block")));
        assert!(step.as_mut().now_or_never().is_none());
        stage.watch.step.someone().await;
    }
    stage.watch.step.open();
    let state = stage.world.sessions.state(&stage.world.tenant, id, "/said").await.expect("a state");
    assert_eq!((state.state, state.seq), (json!("block"), 1));
}

#[tokio::test]
async fn later_steps_go_on_beside_a_judging_whose_verdict_comes() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    // The episode is over, so what goes on is the next one, in the same session.
    let next = stage.reset(opened.id).await;
    stage.send(say(opened.id, "a")).await.expect("a step beside the judging");
    assert_ne!(next.episode, opened.episode);
    let mut events = stage.world.sessions.events(&stage.world.tenant, opened.id, None).await.expect("events");
    stage.watch.judge.open();
    let verdict = loop {
        let event = futures::StreamExt::next(&mut events).await.expect("an event");
        if let palestra_protocol::episode::EventKind::Verdict { verdict } = event.kind {
            break verdict;
        }
    };
    assert_eq!((verdict.episode, verdict.status, verdict.score), (opened.episode, Status::Scored, Some(1.0)));
    let stored = stage.world.sessions.verdicts(&stage.world.tenant, opened.episode).await.expect("verdicts");
    assert_eq!(stored, [*verdict]);
}

#[tokio::test]
async fn one_judging_runs_per_episode() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    let open = async { stage.watch.judge.open() };
    let (a, b, rescored, ()) = tokio::join!(
        stage.verdict(opened.id),
        stage.verdict(opened.id),
        stage.world.sessions.rescore(&stage.world.tenant, opened.episode, Rescore::default()),
        open
    );
    assert_eq!(a, b);
    assert_eq!(rescored.expect("a verdict"), a);
    assert_eq!(stage.verdict(opened.id).await, a);
    assert_eq!(stage.watch.judgings(), 1);
}

#[tokio::test]
async fn an_old_judging_does_not_hide_that_of_the_next_episode() {
    let stage = Stage::open().await;
    let first = stage.waiting().await;
    stage.leave_judging(&first).await;
    let second = stage.reset(first.id).await;
    stage.send(say(first.id, "slow")).await.expect("a step");
    let pending = stage.verify(first.id, Some(0)).await.expect("a pending verdict");
    assert_eq!(pending, Answer::Pending { episode: second.episode });
    stage.watch.slow.someone().await;
    stage.watch.judge.open();
    // The first verdict is handed over in a turn of the session, before it can be read.
    let rescored = stage.world.sessions.rescore(&stage.world.tenant, first.episode, Rescore::default()).await;
    assert_eq!(rescored.expect("a verdict").episode, first.episode);
    let open = async { stage.watch.slow.open() };
    let (verdict, ()) = tokio::join!(stage.verdict(first.id), open);
    assert_eq!(verdict.episode, second.episode);
    assert_eq!(stage.watch.judgings(), 2);
}

#[tokio::test]
async fn a_verdict_finds_its_way_past_a_full_queue() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    stage.reset(opened.id).await;
    let mut blocked = Box::pin(stage.send(say(opened.id, "block")));
    assert!(blocked.as_mut().now_or_never().is_none());
    stage.watch.step.someone().await;
    let mut queued: Vec<_> = (0..64).map(|_| Box::pin(stage.send(say(opened.id, "a")))).collect();
    assert!(queued.iter_mut().all(|command| command.as_mut().now_or_never().is_none()));
    assert!(matches!(stage.send(say(opened.id, "a")).await, Err(SessionError::Busy(64))));
    stage.watch.judge.open();
    // Waits in the same line as the queued steps, behind them.
    let rescored = stage.world.sessions.rescore(&stage.world.tenant, opened.episode, Rescore::default());
    let open = async { stage.watch.step.open() };
    let (_, verdict, ()) = tokio::join!(futures::future::join_all(queued), rescored, open);
    blocked.await.expect("the step");
    assert_eq!(verdict.expect("a verdict").status, Status::Scored);
    assert_eq!(stage.watch.judgings(), 1);
}

#[tokio::test]
async fn a_verdict_outlives_the_close_of_its_session() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    let waiting = stage.verdict(opened.id);
    let close = async {
        // The waiting caller stands in the queue before the close does.
        tokio::task::yield_now().await;
        stage.send(Command::Close { session: opened.id }).await.expect("closed");
        stage.watch.judge.open();
    };
    let (verdict, ()) = tokio::join!(waiting, close);
    assert_eq!(verdict.status, Status::Scored);
    assert_eq!(stage.verdict(opened.id).await, verdict);
    let session = stage.world.sessions.get(&stage.world.tenant, opened.id).await.expect("a session");
    assert_eq!((session.state, session.closed_reason), (SessionState::Closed, Some(CloseReason::Deleted)));
}

#[tokio::test]
async fn a_full_queue_does_not_keep_a_session_from_ending_with_its_run() {
    let stage = Stage::open().await;
    let run = RunId::new();
    let lease = CreateRun { id: Some(run), lease_ms: 1_000 };
    stage.world.sessions.create_run(&stage.world.tenant, lease).await.expect("a run");
    let mut request: CreateSession = serde_json::from_value(json!({"environment": "test/slow"})).expect("a creation");
    request.run = Some(run);
    let opened = stage.create_as(request).await;
    let mut commands: Vec<_> = Vec::new();
    for text in std::iter::once("block").chain(std::iter::repeat_n("a", 64)) {
        let mut command = Box::pin(stage.send(say(opened.id, text)));
        assert!(command.as_mut().now_or_never().is_none());
        commands.push(command);
    }
    stage.world.clock.advance_ms(1_001);
    let open = async {
        stage.watch.step.someone().await;
        stage.watch.step.open();
    };
    let (_, swept, ()) = tokio::join!(futures::future::join_all(commands), stage.world.sessions.sweep(), open);
    swept.expect("a sweep");
    assert_eq!(stage.world.sessions.run_info(&stage.world.tenant, run).await.expect("a run").state, RunState::Expired);
}

#[tokio::test]
async fn a_run_ends_also_where_its_environment_is_gone() {
    let mut stage = Stage::open().await;
    let run = RunId::new();
    let lease = CreateRun { id: Some(run), lease_ms: 1_000 };
    stage.world.sessions.create_run(&stage.world.tenant, lease).await.expect("a run");
    let mut request: CreateSession = serde_json::from_value(json!({"environment": "test/slow"})).expect("a creation");
    request.run = Some(run);
    let opened = stage.create_as(request).await;
    stage.world.kinds.clear();
    stage.world.crash().await;
    stage.world.clock.advance_ms(1_001);
    stage.world.sessions.sweep().await.expect("a sweep");
    assert_eq!(stage.world.sessions.run_info(&stage.world.tenant, run).await.expect("a run").state, RunState::Expired);
    let episode = stage.world.sessions.episode(&stage.world.tenant, opened.episode).await.expect("an episode");
    assert_eq!(episode.verdict.map(|verdict| verdict.status), Some(Status::Invalid));
}

#[tokio::test]
async fn a_panic_of_the_judge_is_an_error_of_the_verifier() {
    let stage = Stage::open().await;
    let opened = stage.create("test/slow", VerifyMode::OnEnd).await;
    stage.send(say(opened.id, "panic")).await.expect("a step");
    let finish = Finish { reason: FinishReason::GaveUp, episode: None };
    let Ok(Answer::Finished(finished)) = stage.send(Command::Finish { session: opened.id, request: finish }).await
    else {
        panic!("finished")
    };
    let verdict = finished.verdict.expect("a verdict");
    assert_eq!((verdict.status, verdict.score, verdict.trainable), (Status::VerifierError, None, false));
    assert!(verdict.detail.as_deref().is_some_and(|detail| detail.contains("the verifier panicked")), "{verdict:?}");
    assert_eq!(stage.verdict(opened.id).await, verdict);
    stage.reset(opened.id).await;
    stage.send(say(opened.id, "a")).await.expect("the session goes on");
}

#[tokio::test]
async fn a_judge_that_takes_too_long_is_a_timeout() {
    let settings = SessionSettings { judge_ms_max: 20, ..SessionSettings::default() };
    let stage = Stage::open_with(settings).await;
    let opened = stage.waiting().await;
    let verdict = stage.verdict(opened.id).await;
    assert_eq!((verdict.status, verdict.score), (Status::Timeout, None));
    stage.watch.judge.open();
}

#[tokio::test]
async fn a_judging_that_the_server_did_not_outlive_is_done_again() {
    let mut stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    stage.world.crash().await;
    stage.watch.judge.open();
    let verdict = stage.verdict(opened.id).await;
    assert_eq!((verdict.status, verdict.seq), (Status::Scored, 1));
    let episode = stage.world.sessions.episode(&stage.world.tenant, opened.episode).await.expect("an episode");
    assert_eq!(episode.stop_reason, Some(StopReason::Verified));
}

#[tokio::test]
async fn a_live_episode_is_judged_once_however_it_is_asked() {
    let stage = Stage::open().await;
    for record in [RecordMode::Group, RecordMode::None] {
        let mut request: CreateSession =
            serde_json::from_value(json!({"environment": "test/slow"})).expect("a creation");
        request.verify = Some(VerifyMode::Manual);
        request.record = Some(record);
        let opened = stage.create_as(request).await;
        stage.send(say(opened.id, "a")).await.expect("a step");
        let finish = Finish { reason: FinishReason::GaveUp, episode: None };
        stage.send(Command::Finish { session: opened.id, request: finish }).await.expect("finished");
        let rescore = stage.world.sessions.rescore(&stage.world.tenant, opened.episode, Rescore::default());
        let verdict = rescore.await.expect("a verdict");
        assert_eq!(verdict.status, Status::Scored, "{record:?}");
        assert_eq!(stage.verdict(opened.id).await, verdict);
    }
    assert_eq!(stage.watch.judgings(), 2);
}

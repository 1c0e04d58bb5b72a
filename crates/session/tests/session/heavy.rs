//! A heavy kind: its steps and its judging run on the blocking pool, and nothing waits for them that need not.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use futures::FutureExt;
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder};
use palestra_environment::state::State;
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::id::SessionId;
use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::session::{CreateSession, Created, Opened, Reset, Verify, VerifyMode};
use palestra_protocol::step::Step;
use palestra_protocol::verdict::{Status, Verdict};
use palestra_session::{Answer, Command, SessionError, SessionSettings};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::world::{Setup, World};

/// A door that a slow place or judge waits at: far longer than any test, so that a failing test ends too.
const DOOR_SECONDS_MAX: u64 = 30;

/// Something slow waits here until it is opened, and says that it waits.
pub(super) struct Door {
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

    pub(super) async fn someone(&self) {
        self.came.acquire().await.expect("the door").forget();
    }

    pub(super) fn open(&self) {
        *self.open.lock().expect("the door") = true;
        self.opened.notify_all();
    }
}

/// The doors of the slow kind, and its counters.
pub(super) struct Watch {
    pub(super) step: Door,
    pub(super) judge: Door,
    pub(super) slow: Door,
    judged: AtomicUsize,
    threads: Mutex<HashSet<ThreadId>>,
}

impl Watch {
    fn was_here(&self) {
        self.threads.lock().expect("the threads").insert(std::thread::current().id());
    }

    pub(super) fn judgings(&self) -> usize {
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
                score_range: None,
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

pub(super) struct Stage {
    pub(super) world: World,
    pub(super) watch: Arc<Watch>,
}

impl Stage {
    pub(super) async fn open() -> Self {
        Self::open_with(SessionSettings::default()).await
    }

    pub(super) async fn open_with(settings: SessionSettings) -> Self {
        let slow = Slow::new();
        let watch = Arc::clone(&slow.watch);
        let setup = Setup { kinds: vec![Arc::new(slow)], settings, ..Setup::default() };
        Self { world: World::open_with(setup).await, watch }
    }

    pub(super) async fn send(&self, command: Command) -> Result<Answer, SessionError> {
        self.world.sessions.run(&self.world.tenant, command).await
    }

    pub(super) async fn create(&self, environment: &str, verify: VerifyMode) -> Opened {
        let mut request: CreateSession =
            serde_json::from_value(json!({"environment": environment})).expect("a creation");
        request.verify = Some(verify);
        self.create_as(request).await
    }

    pub(super) async fn create_as(&self, request: CreateSession) -> Opened {
        match self.send(Command::Create { request: Box::new(request), key: None }).await {
            Ok(Answer::Created(Created::One(opened))) => *opened,
            other => panic!("creation failed: {other:?}"),
        }
    }

    /// A session whose judge waits at its door.
    pub(super) async fn waiting(&self) -> Opened {
        let opened = self.create("test/slow", VerifyMode::Manual).await;
        self.send(say(opened.id, "wait")).await.expect("a step");
        opened
    }

    pub(super) async fn verify(&self, session: SessionId, wait_ms: Option<u64>) -> Result<Answer, SessionError> {
        self.send(Command::Verify { session, request: Verify { wait_ms, ..Verify::default() } }).await
    }

    pub(super) async fn verdict(&self, session: SessionId) -> Verdict {
        match self.verify(session, None).await {
            Ok(Answer::Verdict(verdict)) => *verdict,
            other => panic!("no verdict: {other:?}"),
        }
    }

    /// Begins a judging and leaves it at the judge's door.
    pub(super) async fn leave_judging(&self, opened: &Opened) {
        let pending = self.verify(opened.id, Some(0)).await.expect("a pending verdict");
        assert_eq!(pending, Answer::Pending { episode: opened.episode });
        self.watch.judge.someone().await;
    }

    pub(super) async fn reset(&self, session: SessionId) -> Opened {
        match self.send(Command::Reset { session, request: Reset::default(), key: None }).await {
            Ok(Answer::Opened(opened)) => *opened,
            other => panic!("a reset answered {other:?}"),
        }
    }
}

pub(super) fn say(session: SessionId, text: &str) -> Command {
    let action = Action::Text(text.to_owned());
    Command::Step { session, step: Box::new(Step { seq: None, action, episode: None, observe: None, meta: None }) }
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
async fn heavy_steps_and_replays_run_on_the_blocking_pool() {
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

//! A place that outlives its session's memory: only one may have it at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder};
use palestra_environment::state::State;
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, EnvironmentKind, InfraError, Input, LiveEnvironment, Opening, Place, Reaction, TaskGenerator,
    Tasks,
};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{
    AtSeq, Capabilities, Environment as Spec, ForkKind, Recovery, Task as PublicTask,
};
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::session::{CreateSession, Created, Opened};
use palestra_protocol::step::{Step, Stepped};
use palestra_protocol::verdict::Status;
use palestra_session::{Answer, Command, SessionError};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::world::{Setup, World};

/// The observations of a test, and the gates that it controls.
struct Watch {
    /// True while a place holds the disk.
    held: AtomicBool,
    /// One permit for each place that is being left.
    leaving: Semaphore,
    /// One permit for each place that may end being left.
    may_leave: Semaphore,
}

/// A kind with one disk, which is picked up again by the next place, and cannot be while another place has it.
struct Disk {
    spec: Spec,
    watch: Arc<Watch>,
}

impl Disk {
    fn new() -> Self {
        let spec = SpecBuilder::new("test/disk", 1, "Keeps what was said.").splits(&GENERATED_SPLITS);
        let spec = spec.capabilities(Capabilities {
            deterministic: false,
            recovery: Recovery::Files,
            fork: ForkKind::None,
            at_seq: AtSeq::None,
        });
        let watch = Watch { held: AtomicBool::new(false), leaving: Semaphore::new(0), may_leave: Semaphore::new(0) };
        Self { spec: spec.build(), watch: Arc::new(watch) }
    }
}

impl EnvironmentKind for Disk {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, _opening: Opening<'_>) -> Result<Place, ConfigError> {
        Ok(Place::Live(Box::new(Mounted { watch: Arc::clone(&self.watch), mounted: false })))
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
}

impl TaskGenerator for Disk {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
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

impl Verifier for Disk {
    fn name(&self) -> &str {
        "nothing"
    }

    fn version(&self) -> &str {
        "sha256:nothing"
    }

    fn verify(&self, _case: &Case<'_>) -> Result<Judgement, VerifierError> {
        Ok(Judgement::single("nothing", 1.0, "nothing is asked for"))
    }
}

/// A place that has the disk from its first look on.
struct Mounted {
    watch: Arc<Watch>,
    mounted: bool,
}

#[async_trait]
impl LiveEnvironment for Mounted {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        if !self.mounted && self.watch.held.swap(true, Ordering::SeqCst) {
            return Err(InfraError::new("another place has the disk"));
        }
        self.mounted = true;
        Ok(Observation::text("There is a disk."))
    }

    async fn act(&mut self, _input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        Ok(Reaction { observation: Observation::text("Heard."), ..Reaction::default() })
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        Ok(State::from(json!({})))
    }

    async fn fork(&mut self, _episode: EpisodeId) -> Result<Option<Box<dyn LiveEnvironment>>, InfraError> {
        Ok(None)
    }

    async fn close(&mut self) {
        if self.mounted {
            self.watch.held.store(false, Ordering::SeqCst);
        }
    }

    async fn leave(&mut self) {
        self.watch.leaving.add_permits(1);
        self.watch.may_leave.acquire().await.expect("the watch").forget();
        self.close().await;
    }
}

async fn create(world: &World, environment: &str) -> Opened {
    let request: CreateSession = serde_json::from_value(json!({"environment": environment})).expect("a creation");
    let command = Command::Create { request: Box::new(request), key: None };
    match world.sessions.run(&world.tenant, command).await {
        Ok(Answer::Created(Created::One(opened))) => *opened,
        other => panic!("creation failed: {other:?}"),
    }
}

async fn step(world: &World, session: SessionId, seq: u64) -> Result<Stepped, SessionError> {
    let action = Action::Text("1".to_owned());
    let step = Box::new(Step { seq: Some(seq), action, episode: None, observe: None, meta: None });
    match world.sessions.run(&world.tenant, Command::Step { session, step }).await? {
        Answer::Stepped(stepped) => Ok(Stepped::clone(&stepped)),
        other => panic!("a step answered {other:?}"),
    }
}

/// Sends a step again after its record was refused, while the place is still being left, and whatever else needs the same time.
async fn send_again(world: &World, watch: &Watch, session: SessionId, seq: u64) -> Result<Stepped, SessionError> {
    let other = create(world, "bench/counter").await.id;
    let meanwhile = async {
        watch.leaving.acquire().await.expect("the watch").forget();
        // Far more than it takes to read the session back.
        for seq in 1..=50 {
            step(world, other, seq).await.expect("a step");
        }
        watch.may_leave.add_permits(1);
    };
    tokio::join!(step(world, session, seq), meanwhile).0
}

#[tokio::test]
async fn a_place_is_picked_up_again_only_once_it_was_left() {
    let disk = Disk::new();
    let watch = Arc::clone(&disk.watch);
    let world = World::open_with(Setup { kinds: vec![Arc::new(disk)], ..Setup::default() }).await;
    let id = create(&world, "test/disk").await.id;
    step(&world, id, 1).await.expect("a step");

    let refuse = "CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END";
    world.sql(refuse).await;
    assert!(matches!(step(&world, id, 2).await, Err(SessionError::NotRecorded)));
    world.sql("DROP TRIGGER full").await;
    let again = send_again(&world, &watch, id, 2).await.expect("an answer");
    assert!(again.info.interrupted && again.stop_reason.is_none(), "{again:?}");
    let next = step(&world, id, 3).await.expect("the session goes on");
    assert!(next.observation.text.ends_with("Heard."), "{next:?}");

    // Where the intent was not taken, nothing was done: the step is taken when it is sent again.
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON intents BEGIN SELECT RAISE(ABORT, 'disk full'); END";
    world.sql(refuse).await;
    assert!(matches!(step(&world, id, 4).await, Err(SessionError::NotRecorded)));
    world.sql("DROP TRIGGER full").await;
    let again = send_again(&world, &watch, id, 4).await.expect("an answer");
    assert!(!again.info.interrupted && again.observation.text.ends_with("Heard."), "{again:?}");

    let verify = Command::Verify { session: id, request: palestra_protocol::session::Verify::default() };
    let Ok(Answer::Verdict(verdict)) = world.sessions.run(&world.tenant, verify).await else { panic!("a verdict") };
    assert_eq!((verdict.status, verdict.score), (Status::Scored, Some(1.0)));
}

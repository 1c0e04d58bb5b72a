//! Steps that take long and judges that fail: the socket is heard meanwhile, and what has no score has no reward.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder};
use palestra_environment::state::State;
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::{Message as Said, Observation};
use palestra_protocol::shared::Shared;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_tungstenite::tungstenite::Message;

use super::{ask, close, episode, hear, open, reset, session, state, step, until};
use crate::support::server::TestServer;

const NAME: &str = "test/slow";
/// A door that a slow place waits at: far longer than any test, so that a failing test ends too.
const DOOR_SECONDS_MAX: u64 = 30;

/// Something slow waits here until it is opened, and says that it waits.
struct Door {
    open: Mutex<bool>,
    opened: Condvar,
    came: Semaphore,
}

impl Door {
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

/// Counts what is said. `wait` waits at the door; whatever begins with `end` ends the episode, and `end: fail` and `end: panic`
/// are what the judge does then.
struct Slow {
    spec: Spec,
    door: Arc<Door>,
}

#[derive(Clone)]
struct Talk {
    door: Arc<Door>,
    said: Vec<String>,
}

impl Slow {
    fn new() -> (Arc<Self>, Arc<Door>) {
        let spec = SpecBuilder::new(NAME, 1, "Remembers what was said.").splits(&GENERATED_SPLITS).build();
        let door = Arc::new(Door { open: Mutex::new(false), opened: Condvar::new(), came: Semaphore::new(0) });
        (Arc::new(Self { spec, door: Arc::clone(&door) }), door)
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
        Ok(Place::Pure(Box::new(Talk { door: Arc::clone(&self.door), said: Vec::new() })))
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
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, seed).to_string(),
                split: split.to_owned(),
                index: None,
                difficulty,
                template: "say".to_owned(),
                messages: vec![Said::new("system", "Be polite."), Said::new("user", "Say something.")],
                tools: Shared::default(),
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
        let state = case.state.to_value();
        match state["said"].as_array().and_then(|said| said.last()).and_then(Value::as_str) {
            Some("end: panic") => panic!("the judge was told to"),
            Some("end: fail") => Err(VerifierError("the judge cannot tell".to_owned())),
            last => Ok(Judgement::single("said", 0.75, last.unwrap_or_default().to_owned())),
        }
    }
}

impl Environment for Talk {
    fn observe(&self) -> Observation {
        Observation::text(format!("Said so far: {}.", self.said.len()))
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        let Input::Text(text) = input else { return Reaction::text("Say something.") };
        if text == "wait" {
            self.door.pass();
        }
        self.said.push(text.to_owned());
        Reaction { observation: self.observe(), terminated: text.starts_with("end"), ..Reaction::default() }
    }

    fn state(&self) -> State {
        State::from(json!({"said": self.said}))
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

async fn start() -> (TestServer, Arc<Door>) {
    let (kind, door) = Slow::new();
    (TestServer::start_with_kinds(vec![kind]).await, door)
}

fn saying(text: &str) -> Message {
    Message::text(json!({"type": "step", "data": {"text": text}}).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered_and_the_next_frame_waits_while_a_step_runs() {
    let (server, door) = start().await;
    let mut socket = open(&server, NAME, "").await;
    let first = reset(&mut socket, &json!({})).await;
    // What the text does not say stands in the messages.
    assert_eq!(first["observation"]["messages"][0], json!({"role": "system", "content": "Be polite."}));
    socket.send(saying("wait")).await.unwrap();
    door.someone().await;
    for number in 0..3_u8 {
        socket.send(Message::Ping(vec![number].into())).await.unwrap();
        let Some(Ok(Message::Pong(bytes))) = socket.next().await else { panic!("no pong") };
        assert_eq!(bytes.as_ref(), [number]);
    }
    socket.send(Message::text(r#"{"type":"state"}"#)).await.unwrap();
    door.open();
    assert_eq!(hear(&mut socket).await.unwrap()["data"]["observation"]["text"], "Said so far: 1.");
    assert_eq!(hear(&mut socket).await.unwrap()["data"]["step_count"], 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_back_while_a_step_runs_waits_for_it_and_sees_what_came_of_it() {
    let (server, door) = start().await;
    let mut socket = open(&server, NAME, "").await;
    let begun = reset(&mut socket, &json!({"episode_id": "ep-1", "seed": 1})).await;
    step(&mut socket, &json!({"text": "hello"})).await;
    socket.send(saying("wait")).await.unwrap();
    door.someone().await;
    // The client gives up on its answer, as it does after a timeout, and comes back.
    drop(socket);
    let mut socket = open(&server, NAME, "").await;
    let frame = json!({"type": "reset", "data": {"episode_id": "ep-1", "seed": 1}});
    socket.send(Message::text(frame.to_string())).await.unwrap();
    door.open();
    let back = super::observation(&hear(&mut socket).await.unwrap());
    assert_eq!(back["metadata"]["session_id"], begun["metadata"]["session_id"]);
    assert_eq!(back["metadata"]["step_count"], 2);
    assert_eq!(back["observation"]["text"], "Said so far: 2.");
    let last = step(&mut socket, &json!({"text": "end"})).await;
    assert_eq!((&last["reward"], &last["metadata"]["step_count"]), (&json!(0.75), &json!(3)));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_fails_is_an_error_and_never_a_reward() {
    let (server, _door) = start().await;
    for last in ["end: fail", "end: panic"] {
        let mut socket = open(&server, NAME, "").await;
        let begun = reset(&mut socket, &json!({"episode_id": last})).await;
        let reply = ask(&mut socket, &json!({"type": "step", "data": {"text": last}})).await;
        assert_eq!((&reply["type"], &reply["data"]["code"]), (&json!("error"), &json!("EXECUTION_ERROR")), "{reply}");
        assert_eq!(reply["data"]["status"], "verifier_error");
        assert!(reply["data"].get("reward").is_none() && reply["data"].get("done").is_none());
        let now = state(&mut socket).await;
        assert_eq!((&now["status"], &now["score"]), (&json!("verifier_error"), &Value::Null));
        assert_eq!(episode(&server, &begun).await["verdict"]["status"], "verifier_error");
        assert_eq!(close(socket).await, Some(1000));
        // Over HTTP it is an error, too.
        let path = super::path(NAME, "reset");
        server.post(&path, &json!({"episode_id": format!("http {last}")})).await.ok();
        let body = json!({"episode_id": format!("http {last}"), "action": {"text": last}});
        assert_eq!(server.post(&super::path(NAME, "step"), &body).await.code(), "unscored");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_waited_for_is_found_by_its_number() {
    let (server, door) = start().await;
    let path = super::path(NAME, "step");
    server.post(&super::path(NAME, "reset"), &json!({"episode_id": "ep-1"})).await.ok();
    let body = json!({"episode_id": "ep-1", "action": {"text": "wait"}, "seq": 1, "timeout_s": 0.05});
    assert_eq!(server.post(&path, &body).await.code(), "request_timeout");
    door.open();
    let body = json!({"episode_id": "ep-1", "action": {"text": "wait"}, "seq": 1});
    assert_eq!(server.post(&path, &body).await.ok()["metadata"]["step_count"], 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_closed_while_its_step_runs_ends_after_it() {
    let (server, door) = start().await;
    let mut socket = open(&server, NAME, "").await;
    let begun = reset(&mut socket, &json!({})).await;
    socket.send(saying("wait")).await.unwrap();
    door.someone().await;
    socket.send(Message::text(r#"{"type":"close"}"#)).await.unwrap();
    door.open();
    assert_eq!(hear(&mut socket).await.unwrap()["type"], "observation");
    assert_eq!(hear(&mut socket).await.unwrap_err(), Some(1000));
    until("it is closed", || async { session(&server, &begun).await["state"] == "closed" }).await;
    let verdict = episode(&server, &begun).await["verdict"].clone();
    assert_eq!((&verdict["status"], &verdict["seq"]), (&json!("scored"), &json!(1)));
    server.stop().await;
}

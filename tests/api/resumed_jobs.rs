//! Jobs that play episodes and are cut off: the next attempt counts what was scored and plays the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::light_work::{LightWorker, lines, over, submit};
use crate::support::server::TestServer;

/// Longest wait, in milliseconds.
const WAIT_MS_MAX: u64 = 120_000;

/// A policy that gives as many answers as it may, and is silent then.
struct Policy {
    address: SocketAddr,
    allowed: Arc<Semaphore>,
    shared: Arc<Shared>,
    _answering: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    answered: AtomicU64,
    /// The task whose questions are refused: the first that asks.
    refused: Mutex<Refused>,
}

#[derive(Default, PartialEq)]
enum Refused {
    #[default]
    Nothing,
    Next,
    Task(String),
}

impl Policy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (allowed, shared) = (Arc::new(Semaphore::new(0)), Arc::<Shared>::default());
        let (mut answering, permits, state) = (JoinSet::new(), Arc::clone(&allowed), Arc::clone(&shared));
        answering.spawn(async move {
            let mut asked = JoinSet::new();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                asked.spawn(answer(socket, Arc::clone(&permits), Arc::clone(&state)));
            }
        });
        Self { address, allowed, shared, _answering: answering }
    }

    fn url(&self, model: &str) -> String {
        format!("url:http://{}/v1#{model}", self.address)
    }

    fn allow(&self, more: usize) {
        self.allowed.add_permits(more);
    }

    fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::SeqCst)
    }

    fn refuse(&self, refused: Refused) {
        *self.shared.refused.lock() = refused;
    }

    async fn worker(&self, server: &TestServer) -> LightWorker {
        LightWorker::start(server, &[self.address.to_string()]).await
    }
}

/// Answers a question about `bench/counter` with the tool `add`, rightly for two thirds of the tasks, and any other with 42.
fn reply(asked: &Value) -> Value {
    let text = asked["messages"][0]["content"].as_str().unwrap();
    let Some(rest) = text.split("exactly ").nth(1) else { return json!({"role": "assistant", "content": "42"}) };
    let target: u64 = rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
    let wrong = u64::from(target % 3 == asked["model"].as_str().unwrap().len() as u64 % 3);
    let arguments = json!({"amount": target + wrong}).to_string();
    let call = json!({"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

async fn answer(mut socket: TcpStream, allowed: Arc<Semaphore>, shared: Arc<Shared>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read_exact(&mut byte).await.is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    if socket.read_exact(&mut body).await.is_err() {
        return;
    }
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let task = asked["messages"][0]["content"].as_str().unwrap().to_owned();
    let is_refused = {
        let mut refused = shared.refused.lock();
        if *refused == Refused::Next {
            *refused = Refused::Task(task.clone());
        }
        *refused == Refused::Task(task)
    };
    let (status, body) = if is_refused {
        ("400 Bad Request", json!({}))
    } else {
        // Who hangs up takes no answer from others.
        tokio::select! {
            permit = allowed.acquire() => permit.unwrap().forget(),
            _ = socket.read(&mut byte) => return,
        }
        shared.answered.fetch_add(1, Ordering::SeqCst);
        let usage = json!({"prompt_tokens": length, "completion_tokens": 2});
        ("200 OK", json!({"choices": [{"message": reply(&asked)}], "usage": usage}))
    };
    let text = body.to_string();
    let length = text.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
    let _ = socket.write_all(reply.as_bytes()).await;
}

/// A job that is watched: what it shows of its progress never goes back.
struct Watched<'a> {
    server: &'a TestServer,
    job: String,
    done: u64,
}

impl<'a> Watched<'a> {
    async fn submit(server: &'a TestServer, kind: &str, spec: &Value) -> Self {
        Self { server, job: submit(server, kind, spec.clone()).await, done: 0 }
    }

    /// Waits until so many episodes of an environment were scored and so many are shown as done.
    async fn reaches(&mut self, environment: &str, scored: usize, done: u64) {
        let path = format!("/v1/episodes?status=scored&limit=1000&environment={environment}");
        let looked = async {
            loop {
                let episodes = self.server.get(&path).await.ok();
                let job = self.server.get(&format!("/v1/jobs/{}", self.job)).await.ok();
                let shown = job["progress"]["done"].as_u64().unwrap_or(0);
                assert!(shown >= self.done, "{} were done, and now {shown}: {job}", self.done);
                self.done = shown;
                if episodes["data"].as_array().unwrap().len() == scored && shown >= done {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_millis(WAIT_MS_MAX), looked).await.expect("it comes so far in time");
    }

    async fn succeeds(self) -> (String, Value) {
        let job = over(self.server, &self.job).await;
        assert_eq!(job["state"], "succeeded", "{job}");
        (self.job, job["result"].clone())
    }
}

/// Lines without what differs between two plays of the same, in an order of their own.
fn plain(lines: &[Value]) -> BTreeSet<String> {
    let mut lines = lines.to_vec();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("episode");
        if let Some(metadata) = line.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("episode");
        }
    }
    lines.iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn an_evaluation_that_was_cut_off_plays_the_rest_and_has_the_result_of_one_that_was_not() {
    let server = TestServer::start_with(|config| config.job_lease_ms = 1_500).await;
    let policy = Policy::start().await;
    let spec = json!({
        "policy": {"from": policy.url("aa")}, "baseline": {"policy": {"from": policy.url("b")}},
        "environments": [{"name": "bench/counter", "split": "test"}], "episodes": 8, "samples_per_task": 2, "seed": 5,
        "limits": {"max_turns": 1, "concurrent_sessions": 3},
    });
    let light = policy.worker(&server).await;
    policy.allow(32);
    let (whole, expected) = Watched::submit(&server, "evaluate", &spec).await.succeeds().await;
    assert_eq!(policy.answered(), 32);

    policy.refuse(Refused::Next);
    let mut watched = Watched::submit(&server, "evaluate", &spec).await;
    policy.allow(5);
    watched.reaches("bench/counter", 32 + 5, 6).await;
    // As if it were killed: nothing is said any more.
    drop(light);
    policy.refuse(Refused::Nothing);
    let light = policy.worker(&server).await;
    policy.allow(6);
    watched.reaches("bench/counter", 32 + 11, 11).await;
    light.stop().await;
    let light = policy.worker(&server).await;
    // In the middle of the baseline.
    policy.allow(11);
    watched.reaches("bench/counter", 32 + 22, 22).await;
    light.stop().await;
    let light = policy.worker(&server).await;
    policy.allow(10);
    let (cut, found) = watched.succeeds().await;
    assert_eq!(found, expected);
    assert_eq!(policy.answered(), 64, "no episode with a score was played again");
    for file in ["episodes.jsonl", "baseline-episodes.jsonl"] {
        let (cut, whole) = (lines(&server, &cut, file).await, lines(&server, &whole, file).await);
        assert_eq!((cut.len(), plain(&cut)), (16, plain(&whole)), "{file}");
    }
    let mut played = BTreeMap::<String, u64>::new();
    let stored = server.get("/v1/episodes?status=scored&limit=1000").await.ok();
    for episode in stored["data"].as_array().unwrap() {
        *played.entry(format!("{} {} {}", episode["group"], episode["task"], episode["seed"])).or_default() += 1;
    }
    assert_eq!(played.len(), 64, "two policies in two jobs, each task and sample once: {played:?}");
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_collection_that_was_cut_off_exports_each_episode_once_with_its_conversation() {
    let server = TestServer::start().await;
    let policy = Policy::start().await;
    let spec = json!({
        "policy": {"from": policy.url("a")}, "episodes": 9, "seed": 3, "limits": {"max_turns": 1},
        "environments": [{"name": "bench/counter", "split": "test"}],
    });
    let light = policy.worker(&server).await;
    policy.allow(9);
    let (whole, expected) = Watched::submit(&server, "collect", &spec).await.succeeds().await;
    let mut watched = Watched::submit(&server, "collect", &spec).await;
    policy.allow(4);
    watched.reaches("bench/counter", 9 + 4, 4).await;
    light.stop().await;
    let light = policy.worker(&server).await;
    policy.allow(5);
    let (cut, found) = watched.succeeds().await;
    assert_eq!(policy.answered(), 18);
    for field in ["episodes", "scored", "exported", "environments"] {
        assert_eq!(found[field], expected[field], "{field}");
    }
    let (exported, whole) =
        (lines(&server, &cut, "episodes.jsonl").await, lines(&server, &whole, "episodes.jsonl").await);
    assert_eq!((exported.len(), plain(&exported)), (9, plain(&whole)));
    let different: BTreeSet<&str> = exported.iter().filter_map(|line| line["metadata"]["episode"].as_str()).collect();
    assert_eq!(different.len(), 9);
    let runs = found["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[1]), (2, &found["run"]));
    for (run, count) in runs.iter().zip([4, 5]) {
        let stored = server.get(&format!("/v1/episodes?status=scored&run={}", run.as_str().unwrap())).await.ok();
        assert_eq!(stored["data"].as_array().unwrap().len(), count);
    }
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn the_next_attempt_plays_the_version_that_the_first_one_played() {
    let server = TestServer::start().await;
    let policy = Policy::start().await;
    let publish = async |answers: [u64; 4]| {
        let rows: Vec<String> = answers
            .iter()
            .map(|answer| json!({"prompt": format!("What is {answer}?"), "answer": answer.to_string()}).to_string())
            .collect();
        let request = server.request(Method::POST, "/v1/environments?name=dataset/numbers&verifier=number");
        let published = request.header("content-type", "application/jsonl").body(rows.join("\n")).send().await.unwrap();
        assert!(published.status().is_success());
    };
    publish([42, 1, 2, 3]).await;
    let spec = json!({
        "policy": {"from": policy.url("a")}, "environments": [{"name": "dataset/numbers"}], "episodes": 4,
        "limits": {"max_turns": 1},
    });
    let light = policy.worker(&server).await;
    let mut watched = Watched::submit(&server, "evaluate", &spec).await;
    policy.allow(2);
    watched.reaches("dataset/numbers", 2, 2).await;
    light.stop().await;
    publish([42, 42, 42, 42]).await;
    let light = policy.worker(&server).await;
    policy.allow(2);
    let (_, found) = watched.succeeds().await;
    assert_eq!(found["environments"].as_object().unwrap().keys().collect::<Vec<_>>(), ["dataset/numbers@1"]);
    assert_eq!((&found["all"]["scored"], &found["all"]["mean"]["mean"]), (&json!(4), &json!(0.25)), "{found}");
    light.stop().await;
    server.stop().await;
}

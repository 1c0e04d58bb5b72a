//! The light worker on a real server: evaluations, collections, rescoring and the gate, from the queue to the artefacts.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use palestra_client::{Client, ClientError};
use palestra_environment::state::State;
use palestra_environment::task::Task;
use palestra_environment::verifier::AnyVerifier;
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, Tasks};
use palestra_families::bench::counter::Counter;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Environment as Spec;
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Device, JobKind};
use palestra_protocol::worker::{
    ActAnswer, Exchange, Finish, Lease, LeaseRequest, Outcome, RegisterPolicy, ServedAnswer,
};
use palestra_worker::{self as worker, Options};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::support::server::TestServer;

/// Longest wait for a job, in milliseconds.
const JOB_MS_MAX: u64 = 120_000;

/// A worker in this process; it ends with this value.
pub(super) struct LightWorker {
    stop: CancellationToken,
    tasks: JoinSet<Result<(), ClientError>>,
}

impl LightWorker {
    pub(super) async fn start(server: &TestServer, hosts: &[String]) -> Self {
        Self::start_at(&server.url(), server, hosts).await
    }

    async fn start_at(url: &str, server: &TestServer, hosts: &[String]) -> Self {
        let client = worker(url, server).await;
        let options = Options { policy_hosts: hosts.to_vec(), ..Options::default() };
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let stopped = stop.clone();
        tasks.spawn(async move { worker::run(&client, &options, &stopped).await });
        Self { stop, tasks }
    }

    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap().unwrap();
        }
    }
}

pub(super) async fn worker(url: &str, server: &TestServer) -> Client {
    let key = server.post("/v1/keys", &json!({"name": "worker", "scopes": ["worker"]})).await.ok();
    Client::new(url, key["secret"].as_str()).unwrap()
}

pub(super) async fn submit(server: &TestServer, kind: &str, spec: Value) -> String {
    let job = server.post("/v1/jobs", &json!({"kind": kind, "spec": spec})).await.ok();
    job["id"].as_str().unwrap().to_owned()
}

/// Looks at a job until it `fits`.
async fn wait_until(server: &TestServer, job: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let looked = async {
        loop {
            let found = server.get(&format!("/v1/jobs/{job}")).await.ok();
            if fits(&found) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_millis(JOB_MS_MAX), looked).await.expect("the job comes so far in time")
}

pub(super) async fn over(server: &TestServer, job: &str) -> Value {
    wait_until(server, job, |job| !["queued", "running"].contains(&job["state"].as_str().unwrap())).await
}

pub(super) async fn succeeded(server: &TestServer, kind: &str, spec: Value) -> (String, Value) {
    let id = submit(server, kind, spec).await;
    let job = over(server, &id).await;
    assert_eq!(job["state"], "succeeded", "{job}");
    assert_eq!(job["progress"]["done"], job["progress"]["total"], "all that was done is shown: {job}");
    (id, job["result"].clone())
}

/// The lines of an artefact.
pub(super) async fn lines(server: &TestServer, job: &str, name: &str) -> Vec<Value> {
    let path = format!("/v1/jobs/{job}/artifacts/{name}");
    let text = server.request(reqwest::Method::GET, &path).send().await.unwrap().text().await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

async fn open_sessions(server: &TestServer) -> usize {
    server.get("/v1/sessions?state=open").await.ok()["data"].as_array().unwrap().len()
}

pub(super) fn close(found: &Value, expected: f64) -> bool {
    (found.as_f64().expect("a number") - expected).abs() < 1e-9
}

#[tokio::test]
async fn an_evaluation_tells_a_policy_from_its_baseline_task_by_task() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "baseline": {"policy": {"from": "builtin:null"}},
        "environments": [{"name": "puzzle/countdown", "split": "test"}, {"name": "bench/counter", "split": "test"}],
        "episodes": 4, "samples_per_task": 2, "seed": 5, "limits": {"max_turns": 20},
    });
    let (job, result) = succeeded(&server, "evaluate", spec.clone()).await;
    let all = &result["all"];
    assert_eq!((&all["episodes"], &all["scored"]), (&json!(16), &json!(16)), "{result}");
    assert!(close(&all["mean"]["mean"], 1.0) && all["mean"]["clusters"] == 8, "{all}");
    // All of 8 tasks, not of 16 episodes: Wilson's interval of 8 of 8 begins at 0.676.
    assert_eq!(all["strict"]["method"], "wilson");
    assert!((all["strict"]["interval"][0].as_f64().unwrap() - 0.676).abs() < 0.001, "{all}");
    assert_eq!(all["pass_at"].as_array().unwrap().len(), 2);
    assert_eq!(result["environments"].as_object().unwrap().len(), 2);
    let beside = &result["baseline"]["comparison"];
    assert_eq!((&beside["pairs"], &beside["fail_to_pass"]["count"]), (&json!(16), &json!(16)), "{beside}");
    assert!(close(&beside["difference"]["mean"], 1.0), "{beside}");

    let played = lines(&server, &job, "episodes.jsonl").await;
    assert_eq!(played.len(), 16);
    let key = |line: &Value| ["environment", "task", "seed"].map(|field| line[field].to_string());
    assert_eq!(played.iter().map(key).collect::<BTreeSet<_>>().len(), 16, "no episode is played twice");
    let baseline = lines(&server, &job, "baseline-episodes.jsonl").await;
    assert_eq!(
        played.iter().map(key).collect::<BTreeSet<_>>(),
        baseline.iter().map(key).collect::<BTreeSet<_>>(),
        "both play the same tasks with the same seeds"
    );
    let episode = server.get(&format!("/v1/episodes/{}", played[0]["episode"].as_str().unwrap())).await.ok();
    assert_eq!(episode["verdict"]["score"], played[0]["score"]);
    let report = server.get(&format!("/v1/jobs/{job}/artifacts/evaluation.json")).await.ok();
    assert_eq!(report["all"]["scored"], 16);

    // The same policy beside the evaluation that it was measured in does not differ from itself.
    let mut again = spec;
    again["baseline"] = json!({"evaluation": job});
    let (_, result) = succeeded(&server, "evaluate", again.clone()).await;
    let beside = &result["baseline"]["comparison"];
    assert_eq!(beside["pairs"], 16);
    assert!(close(&beside["difference"]["mean"], 0.0) && beside["pass_to_fail"]["count"] == 0, "{beside}");
    let planned = &server.get("/v1/runs").await.ok()["data"][0]["plan"];
    assert_eq!(planned, &json!({"policy": "builtin:oracle", "split": "test", "seed": 5, "episodes": 16}));

    // What shares no environment, or no seed, with its baseline cannot be compared.
    for (field, value, code, words) in [
        ("environments", json!([{"name": "puzzle/zebra", "split": "test"}]), "bad_spec", "nothing to compare"),
        ("seed", json!(6), "bad_data", "no scored episode of builtin:oracle has a partner"),
    ] {
        let mut other = again.clone();
        other[field] = value;
        let id = submit(&server, "evaluate", other).await;
        let job = over(&server, &id).await;
        assert_eq!((&job["state"], &job["error"]["code"]), (&json!("failed"), &json!(code)), "{job}");
        assert!(job["error"]["detail"].as_str().unwrap().contains(words), "{job}");
    }
    assert_eq!(open_sessions(&server).await, 0);
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_evaluated_fails_at_once_with_the_reason() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let environments = json!([{"name": "puzzle/countdown"}]);
    for (policy, environments, words) in [
        ("builtin:oracle", json!([{"name": "bench/counter"}, {"name": "bench/counter@1"}]), "named twice"),
        ("url:http://169.254.169.254/v1", environments.clone(), "--allow-policy-host"),
        ("file:/etc/passwd", environments, "where training begins"),
    ] {
        let spec = json!({"policy": {"from": policy}, "environments": environments, "episodes": 2});
        let id = submit(&server, "evaluate", spec).await;
        let job = over(&server, &id).await;
        assert_eq!((&job["state"], &job["attempts"]), (&json!("failed"), &json!(1)), "{policy}: {job}");
        assert_eq!(job["error"]["code"], "bad_spec", "{policy}: {job}");
        assert!(job["error"]["detail"].as_str().unwrap().contains(words), "{policy}: {job}");
    }
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn collected_episodes_are_conversations_and_stay_in_the_store_to_be_judged_again() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "episodes": 6, "seed": 3, "score_min": 1.0,
        "environments": [{"name": "bench/counter", "weight": 2.0}, {"name": "puzzle/countdown", "difficulty": [0.1, 0.2]}],
    });
    let (job, result) = succeeded(&server, "collect", spec).await;
    assert_eq!((&result["episodes"], &result["exported"]), (&json!(6), &json!(6)), "{result}");
    assert_eq!(result["environments"]["bench/counter@1"]["episodes"], 4, "{result}");
    let exported = lines(&server, &job, "episodes.jsonl").await;
    assert_eq!(exported.len(), 6);
    for line in &exported {
        assert_eq!(line["messages"][0]["role"], "user");
        assert!(line["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{line}");
        assert_eq!(line["metadata"]["score"], 1.0);
        let calls: Vec<&Value> = line["messages"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten())
            .map(|call| &call["id"])
            .collect();
        let results: Vec<&Value> = line["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| &message["tool_call_id"])
            .collect();
        assert_eq!(calls, results, "every call has its result: {line}");
    }
    let counted = exported.iter().find(|line| line["metadata"]["environment"] == "bench/counter@1").unwrap();
    assert_eq!(counted["messages"][1]["tool_calls"][0]["function"]["name"], "add", "{counted}");

    let (rescored, result) = succeeded(&server, "rescore", json!({"run": result["run"]})).await;
    assert_eq!(
        (&result["judged"], &result["changed"], &result["failed"]),
        (&json!(6), &json!(0), &json!(0)),
        "{result}"
    );
    assert_eq!(lines(&server, &rescored, "rescored.jsonl").await.len(), 6);
    let episode = exported[0]["metadata"]["episode"].clone();
    let (_, result) = succeeded(&server, "rescore", json!({"episodes": [episode], "verifier": "1"})).await;
    assert_eq!(result["judged"], 1, "{result}");
    assert!(result["note"].as_str().unwrap().contains("as it was recorded"), "{result}");
    let (stranger, unknown) = (palestra_protocol::id::RunId::new(), palestra_protocol::id::EpisodeId::new());
    for (spec, field) in [
        (json!({"environment": "puzzle/zebar"}), "spec.environment"),
        (json!({"environment": "bench/counter", "verifier": "7"}), "spec.verifier"),
        (json!({"environment": "bench/counter", "verifier": "newest"}), "spec.verifier"),
        (json!({"run": stranger}), "spec.run"),
        (json!({"episodes": [unknown]}), "spec.episodes[0]"),
    ] {
        let refused = server.post("/v1/jobs", &json!({"kind": "rescore", "spec": spec})).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert_eq!(refused.body["errors"][0]["field"], field, "{}", refused.body);
    }
    let id = submit(&server, "rescore", json!({"environment": "puzzle/zebra"})).await;
    let job = over(&server, &id).await;
    assert_eq!((&job["state"], &job["error"]["code"]), (&json!("failed"), &json!("bad_data")), "{job}");
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn the_gate_passes_what_is_sound_and_says_what_it_tried() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let (_, result) = succeeded(&server, "check", json!({"environment": "puzzle/countdown", "tasks": 6})).await;
    assert_eq!((&result["passed"], &result["failures"]), (&json!(true), &json!([])), "{result}");
    let proof = &result["proof"];
    assert_eq!((&proof["tasks"], &proof["failures"]), (&json!(18), &json!([])), "{result}");
    assert_eq!((&proof["audit"]["tasks"], &proof["audit"]["faults"]), (&json!(120), &json!([])), "{result}");
    assert!(proof["audit"]["reasons"].as_object().is_some_and(|reasons| !reasons.is_empty()), "{result}");
    let test = &result["splits"]["test"];
    assert!(close(&test["builtin:oracle"]["mean"]["mean"], 1.0), "{test}");
    assert_eq!((&test["builtin:null"]["scored"], &test["builtin:random"]["scored"]), (&json!(6), &json!(6)), "{test}");
    let data = "{\"prompt\":\"What is 6 times 7?\",\"answer\":\"42\"}\n";
    let request = server.request(reqwest::Method::POST, "/v1/environments?name=dataset/sums&verifier=number");
    let published = request.header("content-type", "application/jsonl").body(data).send().await.unwrap();
    assert!(published.status().is_success());
    let environments = json!([
        {"name": "dataset/sums", "difficulty": [0.0, 0.5]},
        {"name": "puzzle/countdown", "difficulty": [0.0, 0.5]},
    ]);
    let spec = json!({"policy": {"from": "builtin:oracle"}, "environments": environments, "episodes": 3});
    let refused = server.post("/v1/jobs", &json!({"kind": "evaluate", "spec": spec})).await;
    assert_eq!(refused.status, 422);
    let told = "spec.environments[0].difficulty: tasks of dataset/sums have no difficulty: leave it out";
    assert_eq!(refused.body["detail"], told);
    let (_, result) = succeeded(&server, "check", json!({"environment": "dataset/sums", "tasks": 3})).await;
    assert_eq!((&result["passed"], &result["skipped"]), (&json!(true), &json!([])), "{result}");
    assert!(close(&result["splits"]["train"]["builtin:oracle"]["mean"]["mean"], 1.0), "{result}");
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_cancelled_evaluation_stops_in_the_middle_and_its_sessions_end() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let spec = json!({
        "policy": {"from": "builtin:null"}, "environments": [{"name": "bench/counter", "split": "test"}],
        "episodes": 100_000, "limits": {"concurrent_sessions": 4, "max_turns": 200},
    });
    let job = submit(&server, "evaluate", spec).await;
    let moving = |job: &Value| job["progress"]["done"].as_u64().is_some_and(|done| done > 0);
    let seen = wait_until(&server, &job, moving).await;
    assert!(seen["progress"]["remaining_ms"].as_u64().is_some() && seen["progress"]["total"] == 100_000, "{seen}");
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({})).await.ok();
    assert_eq!(over(&server, &job).await["state"], "cancelled");
    assert_eq!(open_sessions(&server).await, 0);
    // The worker goes on with other work.
    succeeded(&server, "check", json!({"environment": "bench/counter", "tasks": 2})).await;
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_worker_that_stops_puts_its_job_back_for_another() {
    let server = TestServer::start().await;
    let first = LightWorker::start(&server, &[]).await;
    let spec = json!({
        "policy": {"from": "builtin:null"}, "environments": [{"name": "bench/counter", "split": "test"}],
        "episodes": 100, "limits": {"concurrent_sessions": 2, "max_turns": 50},
    });
    let job = submit(&server, "evaluate", spec).await;
    wait_until(&server, &job, |job| job["state"] == "running").await;
    // The answer that gives it the job has reached the worker once it plays.
    let plays = async {
        while open_sessions(&server).await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_millis(JOB_MS_MAX), plays).await.expect("the worker plays in time");
    first.stop().await;
    let found = server.get(&format!("/v1/jobs/{job}")).await.ok();
    assert_eq!(found["state"], "queued", "{found}");
    assert_eq!(open_sessions(&server).await, 0);
    let second = LightWorker::start(&server, &[]).await;
    let found = over(&server, &job).await;
    assert_eq!((&found["state"], &found["result"]["all"]["episodes"]), (&json!("succeeded"), &json!(100)), "{found}");
    let played = lines(&server, &job, "episodes.jsonl").await;
    let different: BTreeSet<&str> = played.iter().filter_map(|line| line["episode"].as_str()).collect();
    assert_eq!((played.len(), different.len()), (100, 100), "what was played before counts once");
    second.stop().await;
    server.stop().await;
}

/// Passes bytes on until it is closed; then nothing arrives, in either direction.
async fn gate(server: SocketAddr) -> (String, Arc<AtomicBool>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let closed = Arc::new(AtomicBool::new(false));
    let (seen, mut tasks) = (Arc::clone(&closed), JoinSet::new());
    tasks.spawn(async move {
        let mut relays = JoinSet::new();
        loop {
            let accepted = tokio::time::timeout(Duration::from_millis(10), listener.accept()).await;
            if seen.load(Ordering::Relaxed) {
                relays.abort_all();
                continue;
            }
            let Ok(Ok((mut client, _))) = accepted else { continue };
            relays.spawn(async move {
                let mut upstream = TcpStream::connect(server).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
            });
        }
    });
    (url, closed, tasks)
}

#[tokio::test]
async fn a_worker_that_was_cut_off_gives_its_job_up_and_its_sessions_end() {
    let server = TestServer::start_with(|config| config.job_lease_ms = 1_500).await;
    let (url, closed, _relays) = gate(server.address()).await;
    let light = LightWorker::start_at(&url, &server, &[]).await;
    let spec = json!({
        "policy": {"from": "builtin:null"}, "environments": [{"name": "bench/counter", "split": "test"}],
        "episodes": 100_000, "limits": {"concurrent_sessions": 4, "max_turns": 200},
    });
    let job = submit(&server, "evaluate", spec).await;
    wait_until(&server, &job, |job| job["progress"]["done"].as_u64().is_some_and(|done| done > 0)).await;
    closed.store(true, Ordering::Relaxed);
    let other = worker(&server.url(), &server).await;
    let lease = lease(&other, JobKind::Evaluate).await;
    assert_eq!((lease.job.id.to_string(), lease.job.attempts), (job.clone(), 2));
    let ended = async {
        while open_sessions(&server).await > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_millis(JOB_MS_MAX), ended).await.expect("its sessions end with its run");
    // The first worker can speak again, and has nothing to say about this job.
    closed.store(false, Ordering::Relaxed);
    let finish = Finish { fence: lease.fence, outcome: Outcome::Succeeded { result: json!({"by": "other"}) } };
    other.finish_job(lease.job.id, &finish).await.unwrap();
    light.stop().await;
    assert_eq!(server.get(&format!("/v1/jobs/{job}")).await.ok()["result"], json!({"by": "other"}));
    server.stop().await;
}

/// Leases a job of a kind, however long that takes.
pub(super) async fn lease(client: &Client, kind: JobKind) -> Lease {
    let request = LeaseRequest {
        worker: "test".to_owned(),
        kinds: vec![kind],
        device: Device::Cpu,
        memory_bytes: 0,
        wait_ms: 5_000,
        remark: None,
    };
    let leased = async {
        loop {
            if let Some(lease) = client.lease_job(&request).await.unwrap() {
                return lease;
            }
        }
    };
    tokio::time::timeout(Duration::from_millis(JOB_MS_MAX), leased).await.expect("a job in time")
}

/// `bench/counter`, which breaks when the count reaches an even target.
struct Breaking(Counter);

impl EnvironmentKind for Breaking {
    fn spec(&self) -> &Spec {
        self.0.spec()
    }

    fn tasks(&self) -> Tasks<'_> {
        self.0.tasks()
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let target = opening.task.secret["target"].as_i64().unwrap_or(1);
        let config = if target % 2 == 0 { json!({"panic_at": target}) } else { json!({}) };
        let config = config.as_object().cloned().unwrap_or_default();
        self.0.open(Opening { config: &config, ..opening })
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        self.0.verifier()
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        self.0.oracle(task)
    }

    fn random_action(&self, task: &Task, rng: &mut ChaCha8Rng) -> Action {
        self.0.random_action(task, rng)
    }

    fn changed_rows(&self, before: &State, after: &State) -> Option<Value> {
        self.0.changed_rows(before, after)
    }
}

#[tokio::test]
async fn episodes_that_an_environment_breaks_are_counted_and_are_no_zeros() {
    let server = TestServer::start_with_kinds(vec![Arc::new(Breaking(Counter::new()))]).await;
    let light = LightWorker::start(&server, &[]).await;
    // Targets of the split `train` leave 1 or 2 when divided by four.
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "environments": [{"name": "bench/counter", "split": "train"}],
        "episodes": 40, "seed": 1,
    });
    let (job, result) = succeeded(&server, "evaluate", spec).await;
    let all = &result["all"];
    let unscored: u64 = all["unscored"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert!(unscored > 0 && unscored < 40, "{all}");
    assert_eq!(all["scored"].as_u64().unwrap() + unscored, 40, "{all}");
    assert!(close(&all["mean"]["mean"], 1.0), "{all}");
    let told = server.request(reqwest::Method::GET, &format!("/v1/jobs/{job}/events")).send().await.unwrap();
    assert!(told.text().await.unwrap().contains("was not scored"));
    light.stop().await;
    server.stop().await;
}

/// The number that a task of `bench/counter` asks for, as a conversation says it.
pub(super) fn target(messages: &[Value]) -> String {
    let text = messages[0]["content"].as_str().unwrap();
    let rest = text.split("exactly ").nth(1).unwrap();
    rest.chars().take_while(char::is_ascii_digit).collect()
}

#[tokio::test]
async fn a_policy_of_the_server_is_served_while_it_is_measured_and_no_longer() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let trainer = worker(&server.url(), &server).await;
    // What a trainer does: one job leaves a policy, another serves it.
    let spec = json!({
        "policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "grpo"},
        "environments": [{"name": "bench/counter"}], "steps": 1,
    });
    let trained = submit(&server, "train", spec).await;
    let held = lease(&trainer, JobKind::Train).await;
    trainer.upload_artifact(held.job.id, held.fence, "model.safetensors", b"weights".to_vec()).await.unwrap();
    let register = RegisterPolicy {
        fence: held.fence,
        id: PolicyId::new(),
        parent: None,
        architecture: "transformer".to_owned(),
        environments: vec!["bench/counter@1".to_owned()],
        metrics: Map::new(),
        artifacts: vec!["model.safetensors".to_owned()],
    };
    trainer.register_policy(held.job.id, &register).await.unwrap();
    let finish = Finish { fence: held.fence, outcome: Outcome::Succeeded { result: json!({}) } };
    trainer.finish_job(held.job.id, &finish).await.unwrap();

    let spec = json!({
        "policy": {"from": trained}, "environments": [{"name": "bench/counter", "split": "test"}],
        "episodes": 5, "limits": {"max_turns": 1},
    });
    let job = submit(&server, "evaluate", spec).await;
    let served = serve(&trainer, register.id).await;
    let done = over(&server, &job).await;
    assert_eq!((&done["state"], &done["result"]["all"]["scored"]), (&json!("succeeded"), &json!(5)), "{done}");
    assert!(close(&done["result"]["all"]["mean"]["mean"], 1.0), "{done}");
    assert_eq!(done["result"]["usage"]["completion_tokens"], 15, "{done}");
    let played = lines(&server, &job, "episodes.jsonl").await;
    let path = format!("/v1/episodes/{}/trajectory", played[0]["episode"].as_str().unwrap());
    let recorded = server.get(&path).await.ok()["steps"][0]["meta"].clone();
    assert_eq!((&recorded["policy"], &recorded["token_ids"]), (&json!(register.id), &json!([1, 2, 3])), "{recorded}");
    assert_eq!(recorded["logprobs"], json!([0.0, 0.0, 0.0]), "{recorded}");
    assert_eq!(over(&server, &served).await["state"], "cancelled", "nobody needs it any more");
    light.stop().await;
    server.stop().await;
}

/// Serves a policy that answers with the number that it was asked for, until it is told to stop. Answers the job.
async fn serve(trainer: &Client, policy: PolicyId) -> String {
    let held = lease(trainer, JobKind::Serve).await;
    assert_eq!(held.job.spec["policy"], policy.to_string());
    let (id, fence, mut answers): (JobId, u64, Vec<ServedAnswer>) = (held.job.id, held.fence, Vec::new());
    loop {
        let exchange = Exchange { fence, answers: std::mem::take(&mut answers), take: 8, wait_ms: 500 };
        let exchanged = trainer.exchange(id, &exchange).await.unwrap();
        if exchanged.cancel {
            trainer.finish_job(id, &Finish { fence, outcome: Outcome::Cancelled }).await.unwrap();
            return id.to_string();
        }
        for asked in exchanged.requests {
            let answer = ActAnswer {
                action: json!({"text": target(&asked.request.messages)}),
                token_ids: vec![1, 2, 3],
                logprobs: vec![0.0; 3],
                prompt_tokens: 10,
                prompt_token_ids: Vec::new(),
                finish_reason: "stop".to_owned(),
            };
            answers.push(ServedAnswer { number: asked.number, answer: Some(answer), error: None });
        }
    }
}

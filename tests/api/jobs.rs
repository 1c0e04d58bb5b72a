//! `/v1/jobs`.

use std::time::Duration;

use futures::StreamExt;
use palestra_client::Client;
use palestra_protocol::id::JobId;
use palestra_protocol::job::JobEvent;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::worker::{finish, lease, succeeded, tell};
use crate::support::server::{ADMIN_KEY, TestServer, read};

/// Longest wait for anything here.
const PATIENCE: Duration = Duration::from_secs(20);

/// A job of the lightest kind. Nobody takes it but the test: these servers have no workers of their own.
pub fn check() -> Value {
    json!({"kind": "check", "spec": {"environment": "bench/counter"}, "attempts_max": 1})
}

/// Queues a job and answers its id.
pub async fn queue(server: &TestServer, body: &Value) -> String {
    server.post("/v1/jobs", body).await.ok()["id"].as_str().unwrap().to_owned()
}

/// Waits until a worker for these jobs asked: what it cannot do says so.
pub async fn until_a_worker_waits(server: &TestServer) {
    let mut needs_gpu = check();
    needs_gpu["resources"] = json!({"device": "gpu"});
    let id = queue(server, &needs_gpu).await;
    let asked = async {
        loop {
            let job = server.get(&format!("/v1/jobs/{id}")).await.ok();
            if job["waiting"].as_str().unwrap().contains("no worker with a gpu") {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, asked).await.expect("a worker asks");
    server.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).await.ok();
}

/// Reads an event stream until `enough` of what was read, or its end.
pub(super) async fn follow(response: Response, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut body, mut text, mut events) = (response.bytes_stream(), String::new(), Vec::new());
    while let Some(piece) = timeout(PATIENCE, body.next()).await.expect("something happens") {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n").map(|(event, rest)| (event.to_owned(), rest.to_owned()))
        {
            text = rest;
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let Some(data) = field("data:") else { continue };
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(field("id:").unwrap(), data["number"].to_string());
            assert_eq!(field("event:").unwrap(), data["kind"].as_str().unwrap());
            events.push(data);
        }
        if enough(&events) {
            break;
        }
    }
    events
}

fn states(events: &[Value]) -> Vec<&str> {
    let states = events.iter().filter(|event| event["kind"] == "state");
    states.map(|event| event["data"]["state"].as_str().unwrap()).collect()
}

fn assert_without_holes(events: &[Value]) {
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["number"], json!(index + 1), "{events:?}");
    }
}

#[tokio::test]
async fn a_job_goes_to_one_of_two_workers_and_is_followed_over_a_lost_connection() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let events = format!("/v1/jobs/{id}/events");
    let (one, other) = tokio::join!(lease(&server, "one"), lease(&server, "other"));
    let held = match (one, other) {
        (Some(held), None) | (None, Some(held)) => held,
        both => panic!("one of two gets it: {both:?}"),
    };
    assert_eq!(held["job"]["id"], id.as_str());
    let fence = &held["fence"];
    let first = follow(server.request(Method::GET, &events).send().await.unwrap(), |seen| {
        states(seen) == ["queued", "running"]
    });
    let mut seen = first.await;

    let progress = json!({"done": 1, "total": 4, "unit": "tasks", "remaining_ms": 300});
    let beaten = tell(&server, &id, "heartbeat", &json!({"fence": fence, "progress": progress})).await.ok();
    assert_eq!(beaten["cancel"], false);
    assert_eq!(server.get(&format!("/v1/jobs/{id}")).await.ok()["progress"], progress);
    let report = json!({"fence": fence, "events": [
        {"kind": "metric", "data": {"step": 1, "values": {"score": 0.5}}},
        {"kind": "log", "data": {"level": "info", "message": "half of it"}},
    ]});
    tell(&server, &id, "events", &report).await.ok();

    let last = seen.last().unwrap()["number"].to_string();
    let rest = server.request(Method::GET, &events).header("last-event-id", last).send().await.unwrap();
    let (rest, done) =
        tokio::join!(follow(rest, |_| false), finish(&server, &held, succeeded(&json!({"passed": true}))));
    assert_eq!((&done.ok()["state"], states(&rest)), (&json!("succeeded"), vec!["succeeded"]));
    seen.extend(rest);
    assert_without_holes(&seen);
    let kinds: Vec<&str> = seen.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["state", "state", "progress", "metric", "log", "state"]);

    let job = server.get(&format!("/v1/jobs/{id}")).await.ok();
    assert_eq!((&job["result"], &job["attempts"]), (&json!({"passed": true}), &json!(1)));
    // The same end again gets the same answer, another one does not.
    assert_eq!(finish(&server, &held, succeeded(&json!({"passed": true}))).await.ok()["state"], "succeeded");
    assert_eq!(finish(&server, &held, succeeded(&json!({"passed": false}))).await.code(), "lease_lost");
    let metrics = server.get(&format!("/v1/jobs/{id}/metrics")).await.ok();
    assert_eq!(metrics["data"][0]["data"]["values"]["score"], 0.5);
    server.stop().await;
}

#[tokio::test]
async fn a_report_whose_answer_was_lost_is_written_once() {
    let mut server = TestServer::start().await;
    let mut body = check();
    body["attempts_max"] = json!(2);
    let id = queue(&server, &body).await;
    let held = lease(&server, "a").await.unwrap();
    let report = |held: &Value, number: Value, step: u32| {
        let events = json!([{"kind": "metric", "data": {"step": step, "values": {"score": 0.5}}}]);
        json!({"fence": held["fence"], "number": number, "events": events})
    };
    let steps = async |server: &TestServer| {
        let page = server.get(&format!("/v1/jobs/{id}/metrics")).await.ok();
        let steps = page["data"].as_array().unwrap().iter().map(|event| event["data"]["step"].as_u64().unwrap());
        steps.collect::<Vec<u64>>()
    };
    for (number, step) in [(1, 1), (1, 1), (2, 2), (1, 1), (2, 2), (5, 3)] {
        tell(&server, &id, "events", &report(&held, json!(number), step)).await.ok();
    }
    assert_eq!(steps(&server).await, [1, 2, 3]);
    // Also where the server was away in between.
    let data = server.stop().await;
    server = TestServer::start_in(data, |_| {}).await;
    tell(&server, &id, "events", &report(&held, json!(5), 3)).await.ok();
    assert_eq!(steps(&server).await, [1, 2, 3]);
    for number in [json!(0), json!(1_u64 << 53)] {
        let answer = tell(&server, &id, "events", &report(&held, number, 4)).await;
        assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!("number")));
    }
    assert_eq!(tell(&server, &id, "events", &report(&held, json!("six"), 4)).await.code(), "invalid");

    // The next lease counts from the beginning, and what came without a number counts for none.
    finish(&server, &held, json!({"is": "released"})).await.ok();
    let next = lease(&server, "b").await.unwrap();
    assert_eq!(tell(&server, &id, "events", &report(&held, json!(5), 3)).await.code(), "lease_lost");
    for number in [Value::Null, json!(1), json!(1)] {
        tell(&server, &id, "events", &report(&next, number, 4)).await.ok();
    }
    assert_eq!(steps(&server).await, [1, 2, 3, 4, 4]);
    server.stop().await;
}

#[tokio::test]
async fn the_newest_metrics_are_one_page() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let metric = |step: u32| json!({"kind": "metric", "data": {"step": step, "values": {"score": 0.5}}});
    let line = json!({"kind": "log", "data": {"level": "info", "message": "done"}});
    let events: Vec<Value> = (1..=9).map(metric).chain([line]).collect();
    tell(&server, &id, "events", &json!({"fence": held["fence"], "events": events})).await.ok();
    let page = server.get(&format!("/v1/jobs/{id}/metrics?newest=true&limit=2")).await.ok();
    let steps: Vec<&Value> = page["data"].as_array().unwrap().iter().map(|event| &event["data"]["step"]).collect();
    assert_eq!((steps, &page["next_cursor"]), (vec![&json!(9), &json!(8)], &Value::Null));
    for query in ["newest=true&cursor=1", "newest=maybe", "newest=true&limit=0"] {
        assert_eq!(server.get(&format!("/v1/jobs/{id}/metrics?{query}")).await.code(), "malformed", "{query}");
    }
    let last = server.client().last_job_metrics(id.parse().unwrap(), 1).await.unwrap();
    assert_eq!(last[0].data["step"], 9);
    server.stop().await;
}

/// Passes connections on to a server, and cuts the first `cuts` of them after so many bytes of answers.
async fn cut_answers(server: &TestServer, cuts: usize, bytes: u64) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (target, mut tasks) = (server.address(), JoinSet::new());
    tasks.spawn(async move {
        let mut relays = JoinSet::new();
        let mut number = 0;
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let most = if number < cuts { bytes } else { u64::MAX };
            number += 1;
            relays.spawn(async move {
                let mut upstream = tokio::net::TcpStream::connect(target).await.unwrap();
                let (mut from_client, mut to_client) = client.split();
                let (from_server, mut to_server) = upstream.split();
                let mut from_server = from_server.take(most);
                tokio::select! {
                    _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
                    _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                }
            });
        }
    });
    (url, tasks)
}

#[tokio::test]
async fn the_client_watches_a_job_over_as_many_connections_as_it_takes() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let line = |number: u32| json!({"kind": "log", "data": {"level": "info", "message": format!("line {number}")}});
    let report = json!({"fence": held["fence"], "events": (0..40).map(line).collect::<Vec<_>>()});
    tell(&server, &id, "events", &report).await.ok();
    let (url, _proxy) = cut_answers(&server, 3, 2_000).await;
    let client = Client::new(&url, Some(ADMIN_KEY)).unwrap();
    let mut watched = client.job_events(id.parse().unwrap(), 0).map(Result::unwrap);
    let begun = timeout(PATIENCE, watched.by_ref().take(42).collect::<Vec<JobEvent>>()).await;
    let mut events = begun.expect("what happened so far is told");
    finish(&server, &held, succeeded(&Value::Null)).await.ok();
    events.extend(timeout(PATIENCE, watched.collect::<Vec<JobEvent>>()).await.expect("it ends with the job"));
    let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=43).collect::<Vec<u64>>());
    // A job that is over is told from any point on, and a job that is none is refused at once.
    let rest: Vec<_> = client.job_events(id.parse().unwrap(), 42).collect().await;
    assert_eq!(rest.len(), 1);
    let over: Vec<_> = timeout(PATIENCE, client.job_events(id.parse().unwrap(), 43).collect()).await.unwrap();
    assert!(over.is_empty(), "{over:?}");
    let refused: Vec<_> = client.job_events(JobId::new(), 0).collect().await;
    assert!(matches!(refused.as_slice(), [Err(_)]), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_repeated_creation_queues_one_job() {
    let server = TestServer::start().await;
    let mut body = check();
    body["id"] = json!(JobId::new());
    let first = server.post("/v1/jobs", &body).await;
    assert_eq!(first.status, 201);
    assert_eq!(first.headers["location"], format!("/v1/jobs/{}", body["id"].as_str().unwrap()));
    assert_eq!(server.post("/v1/jobs", &body).await.ok()["id"], body["id"]);
    body["priority"] = json!(7);
    assert_eq!(server.post("/v1/jobs", &body).await.code(), "job_conflict");

    let keyed = |key: &str, body: Value| {
        read(server.request(Method::POST, "/v1/jobs").header("idempotency-key", key).json(&body))
    };
    let (first, again) = (keyed("a", check()).await.ok(), keyed("a", check()).await.ok());
    assert_eq!(first["id"], again["id"]);
    let mut other = check();
    other["priority"] = json!(1);
    assert_eq!(keyed("a", other).await.code(), "key_reused");
    assert_eq!(server.get("/v1/jobs").await.ok()["data"].as_array().unwrap().len(), 2);
    server.stop().await;
}

#[tokio::test]
async fn jobs_are_listed_in_pages_and_by_what_they_are() {
    let server = TestServer::start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, queue(&server, &check()).await);
    }
    let rescore = json!({"kind": "rescore", "spec": {"environment": "bench/counter"}});
    let rescore = queue(&server, &rescore).await;
    server.post(&format!("/v1/jobs/{rescore}/cancel"), &json!({})).await.ok();
    let listed = async |query: &str| {
        let page = server.get(&format!("/v1/jobs{query}")).await.ok();
        let ids: Vec<String> =
            page["data"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().into()).collect();
        (ids, page["next_cursor"].clone())
    };
    assert_eq!(listed("?kind=rescore").await.0, std::slice::from_ref(&rescore));
    assert_eq!(listed("?state=cancelled").await.0, [rescore]);
    assert_eq!(listed("?state=queued").await.0, ids);
    assert_eq!(listed("?dead_letter=true").await.0, Vec::<String>::new());
    let (first, cursor) = listed("?kind=check&limit=2").await;
    assert_eq!(first, ids[..2]);
    let (rest, end) = listed(&format!("?kind=check&limit=2&cursor={}", cursor.as_str().unwrap())).await;
    assert_eq!((rest, end), (ids[2..].to_vec(), Value::Null));
    for query in ["?state=tired", "?kind=cook", "?limit=0", "?cursor=x", "?colour=red", "?dead_letter=maybe"] {
        assert_eq!(server.get(&format!("/v1/jobs{query}")).await.code(), "malformed", "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn cancelling_reaches_a_running_worker_and_ends_a_waiting_job_at_once() {
    let server = TestServer::start().await;
    let (running, waiting) = (queue(&server, &check()).await, queue(&server, &check()).await);
    let held = lease(&server, "a").await.unwrap();
    assert_eq!(held["job"]["id"], running.as_str());
    let cancel = async |id: &str| server.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).await.ok();
    assert_eq!(cancel(&waiting).await["state"], "cancelled");
    let asked = cancel(&running).await;
    assert_eq!((&asked["state"], &asked["cancel_requested"]), (&json!("running"), &json!(true)));
    let told = tell(&server, &running, "heartbeat", &json!({"fence": held["fence"]})).await.ok();
    assert_eq!(told["cancel"], true);
    assert_eq!(finish(&server, &held, json!({"is": "cancelled"})).await.ok()["state"], "cancelled");
    // Over is over, and asking again changes nothing.
    assert_eq!(cancel(&running).await["state"], "cancelled");
    assert!(lease(&server, "b").await.is_none());
    server.stop().await;
}

#[tokio::test]
async fn dead_letters_are_listed_and_tried_again() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let path = format!("/v1/jobs/{id}");
    assert_eq!(server.post(&format!("{path}/retry"), &json!({})).await.code(), "job_over");
    let held = lease(&server, "a").await.unwrap();
    let failed = json!({"is": "failed", "error": {"code": "device", "detail": "it broke"}, "retry": true});
    let job = finish(&server, &held, failed).await.ok();
    assert_eq!((&job["state"], &job["error"]["code"]), (&json!("failed"), &json!("device")));
    let dead = server.get("/v1/jobs?dead_letter=true").await.ok();
    assert_eq!(dead["data"][0]["id"], id.as_str());

    let again = server.post(&format!("{path}/retry"), &json!({})).await.ok();
    assert_eq!((&again["state"], &again["attempts"]), (&json!("queued"), &json!(0)));
    assert_eq!(server.get("/v1/jobs?dead_letter=true").await.ok()["data"], json!([]));
    let held = lease(&server, "a").await.unwrap();
    assert_eq!(server.delete(&path).await.code(), "job_over");
    finish(&server, &held, succeeded(&Value::Null)).await.ok();
    assert_eq!(server.post(&format!("{path}/retry"), &json!({})).await.code(), "job_over");
    // One stream tells both lives of it.
    let events = server.request(Method::GET, &format!("{path}/events")).send().await.unwrap();
    let events = follow(events, |_| false).await;
    assert_eq!(states(&events), ["queued", "running", "failed", "queued", "running", "succeeded"]);
    assert_eq!(server.delete(&path).await.status, 204);
    assert_eq!(server.get(&path).await.code(), "not_found");
    server.stop().await;
}

#[tokio::test]
async fn other_tenants_do_not_learn_that_a_job_exists() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let request = serde_json::from_value(json!({"name": "other", "scopes": ["admin"]})).unwrap();
    let stranger = server.app.auth().create_key("other", request).await.unwrap().secret;
    let ask = |method: Method, path: String, body: Value| {
        read(server.http.request(method, format!("{}{path}", server.url())).bearer_auth(&stranger).json(&body))
    };
    let path = format!("/v1/jobs/{id}");
    for (method, call) in [
        (Method::GET, ""),
        (Method::DELETE, ""),
        (Method::POST, "/cancel"),
        (Method::POST, "/retry"),
        (Method::GET, "/events"),
        (Method::GET, "/metrics"),
        (Method::GET, "/checkpoints"),
        (Method::GET, "/artifacts"),
        (Method::GET, "/artifacts/a.json"),
    ] {
        assert_eq!(ask(method, format!("{path}{call}"), json!({})).await.code(), "not_found", "{call}");
    }
    assert_eq!(ask(Method::GET, "/v1/jobs".to_owned(), json!({})).await.ok()["data"], json!([]));
    // Its workers are given none of this tenant's work, and cannot say anything about it.
    let wanted = json!({"worker": "stranger", "kinds": ["check"], "device": "cpu", "memory_bytes": 0});
    queue(&server, &check()).await;
    assert_eq!(ask(Method::POST, "/v1/worker/lease".to_owned(), wanted).await.status, 204);
    let beat = ask(Method::POST, format!("/v1/worker/jobs/{id}/heartbeat"), json!({"fence": held["fence"]}));
    assert_eq!(beat.await.code(), "not_found");
    let after = json!({"kind": "check", "spec": {"environment": "bench/counter"}, "after": [id]});
    let answer = ask(Method::POST, "/v1/jobs".to_owned(), after).await;
    assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!("after")));
    server.stop().await;
}

#[tokio::test]
async fn a_reader_that_is_slow_misses_nothing_and_hinders_nobody() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let response = server.request(Method::GET, &format!("/v1/jobs/{id}/events")).send().await.unwrap();
    let line = |_| json!({"kind": "log", "data": {"level": "info", "message": "x".repeat(4_000)}});
    let report = json!({"fence": held["fence"], "events": (0..200).map(line).collect::<Vec<_>>()});
    // Far more than sockets hold; nobody reads it.
    for _ in 0..20 {
        timeout(PATIENCE, tell(&server, &id, "events", &report)).await.expect("the worker is not held up").ok();
    }
    finish(&server, &held, succeeded(&Value::Null)).await.ok();
    let events = follow(response, |_| false).await;
    assert_eq!(events.len(), 2 + 20 * 200 + 1);
    assert_without_holes(&events);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_open_streams_and_keeps_its_jobs() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let mut stream = server.request(Method::GET, &format!("/v1/jobs/{id}/events")).send().await.unwrap().bytes_stream();
    assert!(stream.next().await.unwrap().is_ok());
    let data = server.stop().await;
    let server = TestServer::start_in(data, |_| {}).await;
    let job = server.get(&format!("/v1/jobs/{id}")).await.ok();
    assert_eq!(job["state"], "running");
    // The worker goes on where it was, and nobody else gets the job.
    assert!(lease(&server, "b").await.is_none());
    tell(&server, &id, "heartbeat", &json!({"fence": held["fence"]})).await.ok();
    finish(&server, &held, succeeded(&Value::Null)).await.ok();
    server.stop().await;
}

#[tokio::test]
async fn every_mistake_in_a_job_is_named_by_its_field() {
    let server = TestServer::start().await;
    let train = json!({"kind": "train", "spec": {
        "policy": {"from": "builtin:tiny-transformer"},
        "environments": [{"name": "puzzle/countdown"}],
        "algorithm": {"name": "grpo"},
        "rollout": {}, "reward": {}, "optimizer": {}, "checkpoint": {},
        "steps": 10,
    }});
    let lora = json!({"rank": 8, "alpha": 16.0, "targets": ["q_proj"]});
    let no_job = JobId::new().to_string();
    let mut wrong = Vec::new();
    for (pointer, value, field) in [
        ("/kind", json!("cook"), "kind"),
        ("/priority", json!(101), "priority"),
        ("/priority", json!("high"), "priority"),
        ("/attempts_max", json!(0), "attempts_max"),
        ("/after", json!([no_job]), "after"),
        ("/after", json!(["ses_1"]), "after[0]"),
        ("/metadata", json!({"a": "x".repeat(1 << 20)}), "metadata"),
        ("/resources", json!({"device": "tpu"}), "resources.device"),
        ("/resources", json!({"memory_bytes": -1}), "resources.memory_bytes"),
        ("/colour", json!("red"), "colour"),
        ("/spec", json!(7), "spec"),
        ("/spec/colour", json!("red"), "spec.colour"),
        ("/spec/steps", json!(0), "spec.steps"),
        ("/spec/steps", json!("many"), "spec.steps"),
        ("/spec/policy/from", json!("builtin:nothing"), "spec.policy.from"),
        ("/spec/policy/from", json!("builtin:oracle"), "spec.policy.from"),
        ("/spec/policy/from", json!("pol_0197a3c2f2a87c53b0a1d5e6f7089abc"), "spec.policy"),
        ("/spec/policy/lora", lora, "spec.policy.lora"),
        ("/spec/policy/size", json!({"width": 7}), "spec.policy.size.width"),
        ("/spec/environments", json!([]), "spec.environments"),
        ("/spec/environments/0/name", json!("nofamily"), "spec.environments[0].name"),
        ("/spec/environments/0/weight", json!(0.0), "spec.environments[0].weight"),
        ("/spec/environments/0/difficulty", json!([0.9, 0.1]), "spec.environments[0].difficulty"),
        ("/spec/algorithm/name", json!("alchemy"), "spec.algorithm.name"),
        ("/spec/algorithm/group_size", json!(1), "spec.algorithm.group_size"),
        ("/spec/algorithm/lambda", json!(0.9), "spec.algorithm.lambda"),
        ("/spec/algorithm/gamma", json!(0.9), "spec.algorithm.gamma"),
        ("/spec/algorithm/epochs", json!(65), "spec.algorithm.epochs"),
        ("/spec/algorithm/entropy", json!(-1.0), "spec.algorithm.entropy"),
        ("/spec/algorithm/clip", json!({"low": 2.0, "high": 0.2}), "spec.algorithm.clip.low"),
        ("/spec/algorithm/kl", json!({"beta": -1.0}), "spec.algorithm.kl.beta"),
        ("/spec/algorithm/advantage", json!({"name": "role_baseline"}), "spec.algorithm.advantage"),
        (
            "/spec/algorithm/aggregation",
            json!({"name": "token_sum_over_constant", "constant": 0.0}),
            "spec.algorithm.aggregation.constant",
        ),
        ("/spec/algorithm/auxiliary", json!([{"name": "echo", "weight": -1.0}]), "spec.algorithm.auxiliary[0].weight"),
        ("/spec/rollout/temperature", json!(0.0), "spec.rollout.temperature"),
        ("/spec/rollout/max_turns", json!(0), "spec.rollout.max_turns"),
        ("/spec/rollout/concurrent_sessions", json!(5_000), "spec.rollout.concurrent_sessions"),
        ("/spec/rollout/masked_share_max", json!(1.5), "spec.rollout.masked_share_max"),
        ("/spec/rollout/colour", json!("red"), "spec.rollout.colour"),
        ("/spec/reward/from", json!("luck"), "spec.reward.from"),
        ("/spec/reward/length_cost", json!(-1.0), "spec.reward.length_cost"),
        ("/spec/data", json!({"lines": "{}"}), "spec.data"),
        ("/spec/optimizer/lr", json!(11.0), "spec.optimizer.lr"),
        ("/spec/optimizer/beta1", json!(1.0), "spec.optimizer.beta1"),
        ("/spec/optimizer/examples_per_step", json!(0), "spec.optimizer.examples_per_step"),
        ("/spec/optimizer/name", json!("sgd"), "spec.optimizer.name"),
        ("/spec/evaluate", json!({"every": 5, "split": "train", "episodes": 8}), "spec.evaluate.split"),
        ("/spec/evaluate", json!({"every": 0, "split": "test", "episodes": 8}), "spec.evaluate.every"),
        ("/spec/checkpoint/keep", json!(0), "spec.checkpoint.keep"),
    ] {
        let mut body = train.clone();
        set(&mut body, pointer, value.clone());
        let answer = server.post("/v1/jobs", &body).await;
        let fields: Vec<&str> = answer.body["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|fault| fault["field"].as_str())
            .collect();
        if answer.status != 422 || fields != [field] {
            wrong.push(format!("{pointer} {value:.60}: {field} expected, not {}", answer.body));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let sft = json!({"kind": "train", "spec": {"policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "sft"}, "steps": 0}});
    let both = server.post("/v1/jobs", &sft).await;
    assert_eq!(both.body["errors"].as_array().unwrap().len(), 2, "every fault is told at once: {}", both.body);
    assert_eq!(server.get("/v1/jobs").await.ok()["data"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn environments_that_a_job_cannot_play_are_refused_with_the_name_that_was_meant() {
    let server = TestServer::start().await;
    let train = |name: &str, policy: &str, algorithm: &str, split: &str| {
        json!({"kind": "train", "spec": {
            "policy": {"from": policy}, "environments": [{"name": name}], "algorithm": {"name": algorithm}, "steps": 1,
            "evaluate": {"every": 1, "split": split, "episodes": 1},
        }})
    };
    let small = "builtin:tiny-transformer";
    let evaluate = json!({"kind": "evaluate", "spec": {
        "policy": {"from": "builtin:null"}, "environments": [{"name": "bench/counter", "split": "tset"}], "episodes": 1}});
    let check = json!({"kind": "check", "spec": {"environment": "bench/countre"}});
    for (body, field, words) in [
        (
            train("puzzle/cuontdown", small, "grpo", "test"),
            "spec.environments[0].name",
            "did you mean \"puzzle/countdown\"?",
        ),
        (train("puzzle/countdown@99", small, "grpo", "test"), "spec.environments[0].name", "it has version 1 alone"),
        (train("puzzle/countdown", small, "grpo", "tests"), "spec.evaluate.split", "did you mean \"test\"?"),
        (train("puzzle/countdown", "builtin:mlp", "ppo", "test"), "spec.environments[0].name", "data.vector"),
        (train("control/cartpole", "builtin:mlp", "grpo", "test"), "spec.algorithm.name", "by ppo alone"),
        (evaluate, "spec.environments[0].split", "did you mean \"test\"?"),
        (check, "spec.environment", "did you mean \"bench/counter\"?"),
    ] {
        let answer = server.post("/v1/jobs", &body).await;
        let fault = &answer.body["errors"][0];
        assert_eq!((answer.status.as_u16(), &fault["field"]), (422, &json!(field)), "{}", answer.body);
        assert!(fault["detail"].as_str().unwrap().contains(words), "{fault}");
    }
    assert_eq!(server.get("/v1/jobs").await.ok()["data"], json!([]));
    server.post("/v1/jobs", &train("control/cartpole", "builtin:mlp", "ppo", "test")).await.ok();
    server.stop().await;
}

#[tokio::test]
async fn a_job_carries_a_megabyte_of_metadata() {
    let server = TestServer::start().await;
    let mut body = check();
    body["metadata"] = json!({"notes": "x".repeat((1 << 20) - 100)});
    let id = queue(&server, &body).await;
    assert_eq!(server.get(&format!("/v1/jobs/{id}")).await.ok()["metadata"], body["metadata"]);
    server.stop().await;
}

/// Sets what a pointer names, also where nothing was before.
fn set(body: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[name] = value;
}

#[tokio::test]
async fn what_follows_a_job_waits_for_it_and_falls_with_it() {
    let server = TestServer::start().await;
    let first = queue(&server, &check()).await;
    let mut follower = check();
    follower["after"] = json!([first]);
    let follower = queue(&server, &follower).await;
    let held = lease(&server, "a").await.unwrap();
    assert!(lease(&server, "b").await.is_none(), "the follower waits");
    let waiting = server.get(&format!("/v1/jobs/{follower}")).await.ok();
    assert!(waiting["waiting"].as_str().unwrap().contains(&first), "{waiting}");
    let failed = json!({"is": "failed", "error": {"code": "bad_data", "detail": "x"}, "retry": false});
    finish(&server, &held, failed).await.ok();
    let fallen = server.get(&format!("/v1/jobs/{follower}")).await.ok();
    assert_eq!((&fallen["state"], &fallen["error"]["code"]), (&json!("failed"), &json!("dependency")));
    server.stop().await;
}

#[tokio::test]
async fn a_key_needs_the_scope_for_jobs() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    for (scope, reads, works) in [("sessions", false, false), ("jobs", true, false), ("worker", false, true)] {
        let key = server.post("/v1/keys", &json!({"name": scope, "scopes": [scope]})).await.ok();
        let key = key["secret"].as_str().unwrap();
        let url = format!("{}/v1/jobs/{id}", server.url());
        let answer = read(server.http.get(url).bearer_auth(key)).await;
        assert_eq!(answer.status == 200, reads, "{scope}: {}", answer.body);
        let wanted = json!({"worker": "a", "kinds": ["serve"], "device": "cpu", "memory_bytes": 0});
        let url = format!("{}/v1/worker/lease", server.url());
        let answer = read(server.http.post(url).bearer_auth(key).json(&wanted)).await;
        assert_eq!(answer.status == 204, works, "{scope}: {}", answer.body);
        assert!(works || answer.code() == "forbidden");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_worker_that_hangs_up_while_it_waits_takes_no_job_with_it() {
    let server = TestServer::start().await;
    let body =
        json!({"worker": "a", "kinds": ["check"], "device": "cpu", "memory_bytes": 0, "wait_ms": 20_000}).to_string();
    let mut socket = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "POST /v1/worker/lease HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {ADMIN_KEY}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    until_a_worker_waits(&server).await;
    // The answer to whoever closes its side is the end of the connection: then the server knows.
    socket.shutdown().await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, socket.read_to_end(&mut answer)).await.expect("the server lets go").unwrap();
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    let id = queue(&server, &check()).await;
    let held = lease(&server, "b").await.expect("the job is there for another");
    assert_eq!(held["job"]["id"], id.as_str());
    server.stop().await;
}

//! `/v1/worker`.

use std::time::Duration;

use palestra_client::ClientError;
use palestra_protocol::problem::Code;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::jobs::{check, queue, until_a_worker_waits};
use super::policies::policy;
use super::sessions::add;
use crate::support::server::{ADMIN_KEY, Answer, TestServer, read};

/// Asks for a job of any kind.
pub async fn lease(server: &TestServer, worker: &str) -> Option<Value> {
    let kinds = ["train", "evaluate", "collect", "rescore", "check", "serve"];
    let wanted = json!({"worker": worker, "kinds": kinds, "device": "cpu", "memory_bytes": 1_u64 << 30, "wait_ms": 0});
    Some(server.post("/v1/worker/lease", &wanted).await.ok()).filter(|lease| !lease.is_null())
}

/// Says something about a job.
pub async fn tell(server: &TestServer, job: &str, call: &str, body: &Value) -> Answer {
    server.post(&format!("/v1/worker/jobs/{job}/{call}"), body).await
}

/// Ends a lease.
pub async fn finish(server: &TestServer, lease: &Value, outcome: Value) -> Answer {
    let id = lease["job"]["id"].as_str().unwrap();
    tell(server, id, "finish", &json!({"fence": lease["fence"], "outcome": outcome})).await
}

pub fn succeeded(result: &Value) -> Value {
    json!({"is": "succeeded", "result": result})
}

/// Keeps a file for a job.
pub async fn upload(server: &TestServer, lease: &Value, name: &str, bytes: &[u8]) -> Answer {
    read(server.request(Method::PUT, &artifact(lease, name)).body(bytes.to_vec())).await
}

fn artifact(lease: &Value, name: &str) -> String {
    format!("/v1/worker/jobs/{}/artifacts/{name}?fence={}", lease["job"]["id"].as_str().unwrap(), lease["fence"])
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

async fn artifacts(server: &TestServer, job: &str) -> Vec<Value> {
    server.get(&format!("/v1/jobs/{job}/artifacts")).await.ok()["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_is_uploaded_is_downloaded_with_its_digest() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let kept = upload(&server, &held, "policy/model.safetensors", &bytes).await;
    assert_eq!((kept.status.as_u16(), &kept.body["digest"]), (201, &json!(digest(&bytes))));
    assert_eq!(kept.body["size_bytes"], bytes.len());

    let path = format!("/v1/jobs/{id}/artifacts/policy/model.safetensors");
    let response = server.request(Method::GET, &path).send().await.unwrap();
    let headers = response.headers().clone();
    assert_eq!(headers["content-length"], bytes.len().to_string());
    assert_eq!(headers["x-content-sha256"], digest(&bytes));
    assert_eq!(response.bytes().await.unwrap(), bytes);
    let known = server.request(Method::GET, &path).header("if-none-match", &headers["etag"]).send().await.unwrap();
    assert_eq!(known.status(), 304);

    // A later file takes the place of an earlier one of the same name.
    upload(&server, &held, "notes.txt", b"one").await.ok();
    upload(&server, &held, "notes.txt", b"two").await.ok();
    let names: Vec<Value> = artifacts(&server, &id).await.iter().map(|file| file["name"].clone()).collect();
    assert_eq!(names, [json!("notes.txt"), json!("policy/model.safetensors")]);
    let mut into = Vec::new();
    let client = server.client();
    let job = id.parse().unwrap();
    let downloaded = client.download_artifact(job, "notes.txt", &mut into).await.unwrap();
    assert_eq!((into.as_slice(), downloaded.digest), (&b"two"[..], digest(b"two")));
    assert_eq!(server.delete(&artifact(&held, "notes.txt")).await.status, 204);
    assert_eq!(server.get(&format!("/v1/jobs/{id}/artifacts/notes.txt")).await.code(), "not_found");

    // The same over the client, from a file.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big.bin");
    std::fs::write(&file, &bytes).unwrap();
    let fence = held["fence"].as_u64().unwrap();
    let kept = client.upload_artifact_file(job, fence, "big.bin", &file).await.unwrap();
    assert_eq!((kept.digest, kept.size_bytes), (digest(&bytes), bytes.len() as u64));
    server.stop().await;
}

#[tokio::test]
async fn an_upload_that_is_cut_or_is_not_what_was_announced_leaves_nothing() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let request = server.request(Method::PUT, &artifact(&held, "a.bin")).header("x-content-sha256", digest(b"other"));
    let answer = read(request.body("this")).await;
    assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!("x-content-sha256")));
    let request = server.request(Method::PUT, &artifact(&held, "a.bin")).header("x-content-sha256", "nonsense");
    assert_eq!(read(request.body("this")).await.code(), "malformed");

    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "PUT {} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {ADMIN_KEY}\r\ncontent-length: 1000000\r\n\r\n",
        artifact(&held, "a.bin")
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&[7; 500_000]).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    // An answer is not needed where nobody waits for it.
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(artifacts(&server, &id).await.is_empty());
    // No half of a file lies around either.
    let left = bytes_below(&server.app.config().data.join("artifacts"));
    assert_eq!(left, 0, "bytes are left of what was refused");
    server.stop().await;
}

fn bytes_below(folder: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.map(|entry| {
        let entry = entry.unwrap();
        if entry.path().is_dir() { bytes_below(&entry.path()) } else { entry.metadata().unwrap().len() }
    });
    sizes.sum()
}

#[tokio::test]
async fn names_that_would_lead_elsewhere_are_refused() {
    let server = TestServer::start().await;
    queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    for name in ["a%2F..%2Fb", "a%20b", "%2e%2e%2fsecret", "a%00b", "a/b/c/d/e/f/g/h/i", &"x".repeat(201), "a%5Cb"] {
        let answer = upload(&server, &held, name, b"x").await;
        assert!(matches!(answer.code(), "invalid" | "not_found"), "{name}: {}", answer.body);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_tenant_keeps_no_more_than_its_quota() {
    let server = TestServer::start_with(|config| config.artifact_quota_bytes = 1_000).await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    upload(&server, &held, "a.bin", &[1; 600]).await.ok();
    let refused = upload(&server, &held, "b.bin", &[2; 600]).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (413, "quota_exceeded"));
    assert_eq!(refused.body["quota_bytes"], 1_000);
    upload(&server, &held, "c.bin", &[3; 300]).await.ok();
    assert_eq!(artifacts(&server, &id).await.len(), 2);
    server.stop().await;

    let server = TestServer::start_with(|config| config.artifact_bytes_max = 1_000).await;
    queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    assert_eq!(upload(&server, &held, "a.bin", &[1; 1_001]).await.code(), "too_large");
    let pieces = futures::stream::iter((0..20).map(|_| Ok::<_, std::io::Error>(vec![1_u8; 100])));
    let request = server.request(Method::PUT, &artifact(&held, "a.bin")).body(reqwest::Body::wrap_stream(pieces));
    assert_eq!(read(request).await.code(), "too_large", "also where the size is not announced");
    server.stop().await;
}

#[tokio::test]
async fn whoever_lost_the_lease_writes_nothing_any_more() {
    let server = TestServer::start_with(|config| config.job_lease_ms = 1_000).await;
    let mut body = check();
    body["attempts_max"] = json!(2);
    let id = queue(&server, &body).await;
    let slow = lease(&server, "slow").await.unwrap();
    let client = server.client();
    let token = slow["token"].as_str().unwrap();
    let whoami = || read(server.http.get(format!("{}/v1/whoami", server.url())).bearer_auth(token));
    assert_eq!(whoami().await.ok()["tenant"], "default");

    // The lease ends; the job waits for its back-off, and its error says why.
    let lost = async {
        loop {
            let job = server.get(&format!("/v1/jobs/{id}")).await.ok();
            if job["state"] == "queued" {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let job = tokio::time::timeout(Duration::from_secs(10), lost).await.expect("the lease ends");
    assert_eq!(job["error"]["code"], "lease_lost");
    let fence = &slow["fence"];
    for (call, body) in [
        ("heartbeat", json!({"fence": fence})),
        ("events", json!({"fence": fence, "events": [{"kind": "log", "data": {"level": "info", "message": "x"}}]})),
        ("finish", json!({"fence": fence, "outcome": {"is": "succeeded", "result": null}})),
        ("exchange", json!({"fence": fence, "take": 0})),
        (
            "policies",
            json!({"fence": fence, "id": "pol_0197a3c2f2a87c53b0a1d5e6f7089abc", "architecture": "mlp", "environments": [], "artifacts": ["a.bin"]}),
        ),
    ] {
        let answer = tell(&server, &id, call, &body).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (409, "lease_lost"), "{call}");
    }
    assert_eq!(upload(&server, &slow, "a.bin", b"x").await.code(), "lease_lost");
    let refused = client.upload_artifact(id.parse().unwrap(), fence.as_u64().unwrap(), "a.bin", vec![1]).await;
    assert_eq!(refused.unwrap_err().code(), Some(Code::LeaseLost));
    let none = json!({"job": {"id": id}, "fence": u64::MAX});
    assert!(matches!(upload(&server, &none, "a.bin", b"x").await.code(), "lease_lost" | "invalid"));
    assert_eq!(whoami().await.code(), "unauthorized", "the token ended with the lease");
    assert!(artifacts(&server, &id).await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_lease_brings_a_token_that_plays_and_does_nothing_else() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    let held = lease(&server, "a").await.unwrap();
    let token = held["token"].as_str().unwrap();
    let ask = |method: Method, path: &str, body: Value| {
        read(server.http.request(method, format!("{}{path}", server.url())).bearer_auth(token).json(&body))
    };
    ask(Method::POST, "/v1/runs", json!({"id": held["run"], "lease_ms": 60_000})).await.ok();
    let session = json!({"environment": "bench/counter", "run": held["run"], "config": {"target": 3}});
    let session = ask(Method::POST, "/v1/sessions", session).await.ok();
    let step = format!("/v1/sessions/{}/step", session["id"].as_str().unwrap());
    assert_eq!(ask(Method::POST, &step, add(1, 3)).await.ok()["terminated"], true);
    assert_eq!(ask(Method::GET, &format!("/v1/jobs/{id}"), json!({})).await.ok()["state"], "running");
    for (method, path, body) in [
        (Method::GET, "/v1/keys", json!({})),
        (Method::POST, "/v1/environments", json!({})),
        (
            Method::POST,
            "/v1/worker/lease",
            json!({"worker": "a", "kinds": ["check"], "device": "cpu", "memory_bytes": 0}),
        ),
    ] {
        assert_eq!(ask(method, path, body).await.code(), "forbidden", "{path}");
    }
    finish(&server, &held, succeeded(&Value::Null)).await.ok();
    assert_eq!(ask(Method::GET, "/v1/jobs", json!({})).await.code(), "unauthorized");
    server.stop().await;
}

#[tokio::test]
async fn a_lease_reaches_what_its_job_names_and_nothing_else() {
    let server = TestServer::start().await;
    let ((plays, trained), (strange, other)) = (policy(&server).await, policy(&server).await);
    let spec = json!({"policy": {"from": trained}, "environments": [{"name": "bench/counter"}], "episodes": 1});
    let own = queue(&server, &json!({"kind": "evaluate", "spec": spec})).await;
    let held = lease(&server, "a").await.unwrap();
    assert_eq!(held["job"]["id"], own.as_str());
    let token = held["token"].as_str().unwrap();
    let ask = |method: Method, path: String, body: Value| {
        read(server.http.request(method, format!("{}{path}", server.url())).bearer_auth(token).json(&body))
    };
    for path in [
        format!("/v1/jobs/{own}"),
        format!("/v1/jobs/{trained}"),
        format!("/v1/jobs/{trained}/artifacts"),
        format!("/v1/jobs/{trained}/checkpoints"),
        format!("/v1/policies?job={trained}"),
        format!("/v1/policies/{plays}"),
    ] {
        ask(Method::GET, path, json!({})).await.ok();
    }
    let act = json!({"messages": [{"role": "user", "content": "2 + 2?"}]});
    assert_eq!(ask(Method::POST, format!("/v1/policies/{plays}/act"), act.clone()).await.code(), "policy_cold");
    let run = held["run"].as_str().unwrap().split_once('_').unwrap().1;
    let serve =
        |policy: &str, run: &str| json!({"kind": "serve", "spec": {"policy": policy}, "metadata": {"for": run}});
    for (method, path, body) in [
        (Method::GET, "/v1/jobs".to_owned(), json!({})),
        (Method::GET, format!("/v1/jobs/{other}"), json!({})),
        (Method::GET, format!("/v1/jobs/{other}/events"), json!({})),
        (Method::GET, format!("/v1/jobs/{other}/metrics"), json!({})),
        (Method::GET, format!("/v1/jobs/{other}/artifacts"), json!({})),
        (Method::GET, format!("/v1/jobs/{other}/artifacts/policy/config.json"), json!({})),
        (Method::DELETE, format!("/v1/jobs/{trained}"), json!({})),
        (Method::POST, format!("/v1/jobs/{trained}/cancel"), json!({})),
        (Method::POST, format!("/v1/jobs/{own}/cancel"), json!({})),
        (Method::POST, format!("/v1/jobs/{own}/retry"), json!({})),
        (Method::POST, "/v1/jobs".to_owned(), check()),
        (Method::POST, "/v1/jobs".to_owned(), serve(&strange, run)),
        (Method::POST, "/v1/jobs".to_owned(), serve(&plays, "another")),
        (Method::GET, "/v1/policies".to_owned(), json!({})),
        (Method::GET, format!("/v1/policies?job={other}"), json!({})),
        (Method::GET, format!("/v1/policies/{strange}"), json!({})),
        (Method::GET, format!("/v1/policies/{strange}/download"), json!({})),
        (Method::POST, format!("/v1/policies/{strange}/act"), act),
        (Method::GET, "/v1/fine_tuning/jobs".to_owned(), json!({})),
        (Method::GET, format!("/v1/fine_tuning/jobs/{other}"), json!({})),
    ] {
        let refused = ask(method.clone(), path.clone(), body).await;
        assert_eq!(refused.status.as_u16(), 403, "{method} {path}: {}", refused.body);
    }
    // What serves the policy that it plays, it queues and ends.
    let queued = ask(Method::POST, "/v1/jobs".to_owned(), serve(&plays, run)).await.ok();
    let serving = format!("/v1/jobs/{}", queued["id"].as_str().unwrap());
    assert_eq!(ask(Method::GET, serving.clone(), json!({})).await.ok()["state"], "queued");
    assert_eq!(ask(Method::POST, format!("{serving}/cancel"), json!({})).await.ok()["state"], "cancelled");
    server.stop().await;
}

#[tokio::test]
async fn what_workers_say_is_checked() {
    let server = TestServer::start().await;
    let id = queue(&server, &check()).await;
    for (body, field) in [
        (json!({"worker": "", "kinds": ["check"], "device": "cpu", "memory_bytes": 0}), "worker"),
        (json!({"worker": "a", "kinds": [], "device": "cpu", "memory_bytes": 0}), "kinds"),
        (json!({"worker": "a", "kinds": ["cook"], "device": "cpu", "memory_bytes": 0}), "kinds[0]"),
        (json!({"worker": "a", "kinds": ["check"], "device": "any", "memory_bytes": 0}), "device"),
        (json!({"worker": "a", "kinds": ["check"], "device": "cpu", "memory_bytes": 0, "wait_ms": 30_001}), "wait_ms"),
    ] {
        let answer = server.post("/v1/worker/lease", &body).await;
        assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!(field)), "{body}");
    }
    let held = lease(&server, "a").await.unwrap();
    let fence = &held["fence"];
    let event = |kind: &str, data: Value| json!({"fence": fence, "events": [{"kind": kind, "data": data}]});
    for (call, body) in [
        ("heartbeat", json!({"fence": fence, "progress": {"done": 2, "total": 1, "unit": "steps"}})),
        ("events", event("state", json!({"state": "succeeded"}))),
        ("events", event("artifact", json!({"name": "a"}))),
        ("events", event("metric", json!({"step": 1, "values": {"a": "high"}}))),
        ("events", event("log", json!({"level": "loud", "message": "x"}))),
        ("events", event("log", json!({"level": "info", "message": "x".repeat(70_000)}))),
        ("events", event("checkpoint", json!({"step": 1, "artifacts": ["nowhere.bin"]}))),
        ("finish", json!({"fence": fence, "outcome": {"is": "finished"}})),
        ("exchange", json!({"fence": fence, "take": 2_000})),
    ] {
        assert_eq!(tell(&server, &id, call, &body).await.code(), "invalid", "{call} {body:.120}");
    }
    let job = server.get(&format!("/v1/jobs/{id}")).await.ok();
    assert_eq!((&job["state"], &job["progress"]), (&json!("running"), &Value::Null));
    server.stop().await;
}

#[tokio::test]
async fn a_checkpoint_counts_once_its_files_are_there_and_is_handed_to_the_next_worker() {
    let server = TestServer::start().await;
    let mut body = check();
    body["attempts_max"] = json!(3);
    let id = queue(&server, &body).await;
    let held = lease(&server, "a").await.unwrap();
    assert_eq!(held["checkpoint"], Value::Null);
    upload(&server, &held, "checkpoint-20/state.json", b"{}").await.ok();
    let report = json!({"fence": held["fence"], "events": [
        {"kind": "checkpoint", "data": {"step": 20, "artifacts": ["checkpoint-20/state.json"]}}]});
    tell(&server, &id, "events", &report).await.ok();
    let listed = server.get(&format!("/v1/jobs/{id}/checkpoints")).await.ok();
    assert_eq!(listed["data"][0]["step"], 20);
    // A worker that stops hands the job back; that is no failed attempt.
    assert_eq!(finish(&server, &held, json!({"is": "released"})).await.ok()["attempts"], 0);
    let next = lease(&server, "b").await.unwrap();
    assert!(next["fence"].as_u64() > held["fence"].as_u64());
    assert_eq!(next["checkpoint"]["artifacts"][0]["name"], "checkpoint-20/state.json");
    server.stop().await;
}

#[tokio::test]
async fn a_worker_that_waits_gets_a_job_as_soon_as_it_is_queued() {
    let server = TestServer::start().await;
    let client = server.client();
    let wanted = serde_json::from_value(
        json!({"worker": "a", "kinds": ["check"], "device": "cpu", "memory_bytes": 0, "wait_ms": 20_000}),
    );
    let wanted = wanted.unwrap();
    #[expect(clippy::disallowed_methods, reason = "it is waited for below")]
    let waiting = tokio::spawn(async move { client.lease_job(&wanted).await });
    until_a_worker_waits(&server).await;
    let begun = std::time::Instant::now();
    let id = queue(&server, &check()).await;
    let held = waiting.await.unwrap().unwrap().expect("a job");
    assert_eq!(held.job.id.to_string(), id);
    assert!(begun.elapsed() < Duration::from_secs(10), "woken, not found at the end of the wait");
    let beat = serde_json::from_value(json!({"fence": held.fence + 1})).unwrap();
    let lost = server.client().heartbeat_job(held.job.id, &beat).await.unwrap_err();
    assert!(matches!(&lost, ClientError::Problem(problem) if problem.code == Code::LeaseLost), "{lost}");
    server.stop().await;
}

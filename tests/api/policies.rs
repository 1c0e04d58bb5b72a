//! `/v1/policies`.

use palestra_client::Client;
use palestra_protocol::id::PolicyId;
use palestra_protocol::worker::{Exchange, Exchanged};
use serde_json::{Value, json};

use super::jobs::{check, queue};
use super::worker::{finish, lease, succeeded, tell, upload};
use crate::support::server::TestServer;

/// A policy that a job registered, and that job.
pub async fn policy(server: &TestServer) -> (String, String) {
    let job = queue(server, &check()).await;
    let held = lease(server, "trainer").await.unwrap();
    upload(server, &held, "policy/model.safetensors", b"weights").await.ok();
    upload(server, &held, "policy/config.json", b"{}").await.ok();
    let id = PolicyId::new().to_string();
    let request = json!({
        "fence": held["fence"], "id": id, "architecture": "transformer", "environments": ["puzzle/countdown@1"],
        "metrics": {"score": 0.9}, "artifacts": ["policy/model.safetensors", "policy/config.json"],
    });
    let made = tell(server, &job, "policies", &request).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(tell(server, &job, "policies", &request).await.ok(), made.body, "registering again is the same");
    finish(server, &held, succeeded(&Value::Null)).await.ok();
    (id, job)
}

#[tokio::test]
async fn a_policy_outlives_its_job_and_is_downloaded() {
    let server = TestServer::start().await;
    let (id, job) = policy(&server).await;
    let path = format!("/v1/policies/{id}");
    let described = server.get(&path).await.ok();
    assert_eq!((&described["job"], &described["metrics"]["score"]), (&json!(job), &json!(0.9)));
    let mut names: Vec<&str> =
        described["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["config.json", "model.safetensors"]);
    assert_eq!(server.get("/v1/policies").await.ok()["data"][0]["id"], id.as_str());

    assert_eq!(server.delete(&format!("/v1/jobs/{job}")).await.status, 204);
    let url = format!("{}{path}/download", server.url());
    let download = async |query: &str| {
        let request = server.http.get(format!("{url}{query}")).bearer_auth(server.key());
        request.send().await.unwrap()
    };
    let weights = download("").await;
    assert_eq!(weights.headers()["content-length"], "7");
    assert_eq!(weights.bytes().await.unwrap(), "weights");
    assert_eq!(download("?file=config.json").await.text().await.unwrap(), "{}");
    for query in ["?file=nothing.bin", "?file=..%2Fconfig.json"] {
        assert_eq!(download(query).await.status(), 404, "{query}");
    }
    let mut into = Vec::new();
    server.client().download_policy_file(id.parse().unwrap(), "model.safetensors", &mut into).await.unwrap();
    assert_eq!(into, b"weights");
    server.stop().await;
}

/// A training that kept checkpoints after these updates and still runs: the job and its lease.
async fn training(server: &TestServer, steps: &[u64]) -> (String, Value) {
    let spec = json!({"policy": {"from": "builtin:tiny-transformer"}, "environments": [{"name": "puzzle/countdown"}],
                      "algorithm": {"name": "grpo"}, "steps": 100});
    let job = queue(server, &json!({"kind": "train", "spec": spec})).await;
    let held = lease(server, "trainer").await.unwrap();
    for step in steps {
        let names = ["model.safetensors", "policy/config.json"].map(|name| format!("checkpoints/{step}/{name}"));
        for name in &names {
            upload(server, &held, name, format!("{step}").as_bytes()).await.ok();
        }
        let policy = json!({"architecture": "transformer", "environments": ["puzzle/countdown@1"], "artifacts": names});
        let event = json!({"kind": "checkpoint", "data": {"step": step, "artifacts": names, "policy": policy}});
        tell(server, &job, "events", &json!({"fence": held["fence"], "events": [event]})).await.ok();
    }
    (job, held)
}

#[tokio::test]
async fn a_checkpoint_of_a_running_training_becomes_a_policy() {
    let server = TestServer::start().await;
    let (job, held) = training(&server, &[20, 40]).await;
    let made = server.post("/v1/policies", &json!({"job": job, "step": 20})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.body["id"].as_str().unwrap();
    assert_eq!(made.headers["location"], format!("/v1/policies/{id}"));
    assert_eq!((&made.body["job"], &made.body["step"]), (&json!(job), &json!(20)));
    assert_eq!(server.post("/v1/policies", &json!({"job": job, "step": 20})).await.ok(), made.body);
    assert_eq!(server.post("/v1/policies", &json!({"job": job})).await.ok()["step"], 40);
    let checkpoints = server.get(&format!("/v1/jobs/{job}/checkpoints")).await.ok();
    assert_eq!(checkpoints["data"][0]["policy"]["architecture"], "transformer", "{checkpoints}");
    let none = server.post("/v1/policies", &json!({"job": job, "step": 30})).await;
    assert_eq!((none.status.as_u16(), none.body["errors"][0]["field"].as_str()), (422, Some("step")), "{}", none.body);
    assert!(none.body["detail"].as_str().unwrap().contains("20, 40"), "{}", none.body);
    // The token of a lease registers what its attempt makes, by other means.
    let token = held["token"].as_str().unwrap();
    let url = format!("{}/v1/policies", server.url());
    let narrow = server.http.post(url).bearer_auth(token).json(&json!({"job": job})).send().await.unwrap();
    assert_eq!(narrow.status(), 403);
    server.stop().await;
}

#[tokio::test]
async fn a_policy_is_deleted_unless_a_job_uses_it() {
    let server = TestServer::start().await;
    let (id, _) = policy(&server).await;
    let path = format!("/v1/policies/{id}");
    let serving = queue(&server, &json!({"kind": "serve", "spec": {"policy": id}})).await;
    let refused = server.delete(&path).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "job_over"));
    assert!(refused.body["detail"].as_str().unwrap().contains(&serving), "{}", refused.body);
    server.post(&format!("/v1/jobs/{serving}/cancel"), &json!({})).await.ok();
    assert_eq!(server.delete(&path).await.status, 204);
    assert_eq!(server.delete(&path).await.status, 404);
    assert_eq!(server.get(&path).await.status, 404);
    server.stop().await;
}

/// One exchange of a worker that serves.
async fn exchange(client: &Client, lease: &Value, answers: Value, wait_ms: u64) -> Exchanged {
    let body = json!({"fence": lease["fence"], "answers": answers, "take": 8, "wait_ms": wait_ms});
    let exchange: Exchange = serde_json::from_value(body).unwrap();
    client.exchange(lease["job"]["id"].as_str().unwrap().parse().unwrap(), &exchange).await.unwrap()
}

#[tokio::test]
async fn a_policy_acts_while_a_worker_serves_it() {
    let server = TestServer::start().await;
    let (id, _) = policy(&server).await;
    let act = format!("/v1/policies/{id}/act");
    let request = json!({"messages": [{"role": "user", "content": "2 + 2?"}], "max_tokens": 8});
    let cold = server.post(&act, &request).await;
    assert_eq!((cold.status.as_u16(), cold.code()), (503, "policy_cold"));
    assert!(cold.headers.contains_key("retry-after"));

    queue(&server, &json!({"kind": "serve", "spec": {"policy": id}})).await;
    let held = lease(&server, "server").await.unwrap();
    let client = server.client();
    assert!(exchange(&client, &held, json!([]), 0).await.requests.is_empty());
    let answer = json!({"action": {"text": "4"}, "token_ids": [52], "logprobs": [-0.1], "prompt_tokens": 9, "finish_reason": "stop"});
    let serve = async {
        let taken = exchange(&client, &held, json!([]), 10_000).await;
        assert_eq!(taken.requests.len(), 1);
        assert_eq!(taken.requests[0].request.max_tokens, Some(8));
        let answers = json!([{"number": taken.requests[0].number, "answer": answer}]);
        exchange(&client, &held, answers, 0).await
    };
    let (acted, _) = tokio::join!(server.post(&act, &request), serve);
    let acted = acted.ok();
    assert_eq!((&acted["action"], &acted["token_ids"]), (&json!({"text": "4"}), &json!([52])));

    let fail = async {
        let taken = exchange(&client, &held, json!([]), 10_000).await;
        let error = json!({"code": "out_of_memory", "detail": "too long"});
        exchange(&client, &held, json!([{"number": taken.requests[0].number, "error": error}]), 0).await
    };
    let (failed, _) = tokio::join!(server.post(&act, &request), fail);
    assert_eq!((failed.code(), &failed.body["worker_code"]), ("policy_failed", &json!("out_of_memory")));

    let refuse = async {
        let taken = exchange(&client, &held, json!([]), 10_000).await;
        let error = json!({"code": "bad_request", "detail": "it has 9 tokens of at most 8: shorten it"});
        exchange(&client, &held, json!([{"number": taken.requests[0].number, "error": error}]), 0).await
    };
    let (refused, _) = tokio::join!(server.post(&act, &request), refuse);
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "invalid"));
    assert!(refused.body["detail"].as_str().unwrap().contains("shorten it"), "{}", refused.body);

    // A worker that takes a request and goes away leaves nobody waiting.
    let leave = async {
        assert_eq!(exchange(&client, &held, json!([]), 10_000).await.requests.len(), 1);
        finish(&server, &held, json!({"is": "released"})).await.ok();
    };
    let (left, ()) = tokio::join!(server.post(&act, &request), leave);
    assert!(!left.status.is_success(), "{}", left.body);
    assert!(matches!(left.code(), "policy_failed" | "policy_cold"), "{}", left.body);
    assert_eq!(server.post(&act, &request).await.code(), "policy_cold");
    server.stop().await;
}

//! `/v1/fine_tuning/jobs`: training jobs as clients of OpenAI see them.

use palestra_protocol::id::{FileId, PolicyId};
use reqwest::Method;
use serde_json::{Value, json};

use super::files::{LINE, assert_refused, part, send, upload};
use super::jobs::{check, queue};
use super::worker::{finish, lease, tell, upload as upload_artifact};
use crate::support::server::{TestServer, read};

const JOBS: &str = "/v1/fine_tuning/jobs";

/// A training by playing that needs no file.
fn playing() -> Value {
    json!({"model": "builtin:tiny-transformer", "method": {"type": "reinforcement"},
        "metadata": {"environment": "bench/counter", "palestra.steps": "4"}})
}

/// The same with other metadata.
fn playing_with(pairs: &[(&str, &str)]) -> Value {
    let mut body = playing();
    for (name, value) in pairs {
        body["metadata"][*name] = json!(value);
    }
    body
}

async fn create(server: &TestServer, body: &Value) -> Value {
    server.post(JOBS, body).await.ok()
}

async fn spec(server: &TestServer, job: &Value) -> Value {
    server.get(&format!("/v1/jobs/{}", job["id"].as_str().unwrap())).await.ok()["spec"].clone()
}

async fn list(server: &TestServer, query: &str) -> Vec<Value> {
    server.get(&format!("{JOBS}{query}")).await.ok()["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_supervised_job_goes_from_its_file_to_its_results() {
    let server = TestServer::start().await;
    let (data, held_out) = (upload(&server, &LINE.repeat(5)).await, upload(&server, LINE).await);
    let hyperparameters = json!({"n_epochs": 2, "batch_size": 4, "learning_rate_multiplier": 0.5});
    let method = json!({"type": "supervised", "supervised": {"hyperparameters": hyperparameters}});
    let body = json!({"model": "builtin:tiny-transformer", "training_file": data, "validation_file": held_out,
        "method": method, "seed": 7, "suffix": "first", "metadata": {"team": "a", "palestra.layers": "1"}});
    let job = create(&server, &body).await;
    let id = job["id"].as_str().unwrap();
    for (field, expected) in [
        ("object", json!("fine_tuning.job")),
        ("status", json!("queued")),
        ("model", json!("builtin:tiny-transformer")),
        ("training_file", json!(data)),
        ("validation_file", json!(held_out)),
        ("method", method),
        ("hyperparameters", hyperparameters),
        ("metadata", body["metadata"].clone()),
        ("seed", json!(7)),
        ("user_provided_suffix", json!("first")),
        ("organization_id", json!("default")),
        ("result_files", json!([])),
        ("fine_tuned_model", Value::Null),
        ("finished_at", Value::Null),
        ("error", Value::Null),
    ] {
        assert_eq!(job[field], expected, "{field}");
    }
    let made = spec(&server, &job).await;
    assert_eq!((&made["steps"], &made["optimizer"]["examples_per_step"]), (&json!(3), &json!(4)));
    assert_eq!((&made["data"], &made["policy"]["size"]), (&json!({"file": data}), &json!({"layers": 1})));
    assert_eq!(made["validation"]["data"], json!({"file": held_out}));

    let path = format!("{JOBS}/{id}");
    let held = lease(&server, "trainer").await.unwrap();
    assert_eq!(server.get(&path).await.ok()["status"], "validating_files");
    upload_artifact(&server, &held, "checkpoints/3/state.json", b"{}").await.ok();
    upload_artifact(&server, &held, "policy/config.json", b"{}").await.ok();
    let report = json!({"fence": held["fence"], "events": [
        {"kind": "progress", "data": {"done": 1, "total": 3, "unit": "steps", "remaining_ms": 60_000}},
        {"kind": "metric", "data": {"step": 3, "values": {"loss": 0.25, "validation_loss": 0.5, "tokens_learnt": 11}}},
        {"kind": "log", "data": {"level": "warn", "message": "slow"}},
        {"kind": "checkpoint", "data": {"step": 3, "artifacts": ["checkpoints/3/state.json"]}},
    ]});
    tell(&server, id, "events", &report).await.ok();
    let running = server.get(&path).await.ok();
    assert_eq!(running["status"], "running");
    assert!(running["estimated_finish"].as_i64() > running["created_at"].as_i64());
    let policy = PolicyId::new().to_string();
    let registered = json!({"fence": held["fence"], "id": policy, "architecture": "transformer", "environments": [],
        "metrics": {}, "artifacts": ["policy/config.json"]});
    tell(&server, id, "policies", &registered).await.ok();
    finish(&server, &held, json!({"is": "succeeded", "result": {"policy": policy, "steps": 3}})).await.ok();

    let done = server.get(&path).await.ok();
    assert_eq!((&done["status"], &done["fine_tuned_model"]), (&json!("succeeded"), &json!(policy)));
    assert_eq!((&done["trained_tokens"], &done["estimated_finish"]), (&json!(11), &Value::Null));
    assert!(done["finished_at"].as_i64() >= done["created_at"].as_i64());
    let files = done["result_files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    let content = |file: &Value| format!("/v1/files/{}/content", file.as_str().unwrap());
    let table = server.request(Method::GET, &content(&files[0])).send().await.unwrap().text().await.unwrap();
    assert_eq!(table, "step,attempt,loss,tokens_learnt,validation_loss\n3,1,0.25,11,0.5\n");
    assert_eq!(server.get(&content(&files[1])).await.ok(), json!({}));
    let listed = server.get("/v1/files?purpose=fine-tune-results").await.ok();
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);

    let points = server.get(&format!("{path}/checkpoints")).await.ok();
    let point = &points["data"][0];
    assert_eq!((&point["step_number"], &point["fine_tuned_model_checkpoint"]), (&json!(3), &json!(policy)));
    assert_eq!((&point["metrics"]["train_loss"], &point["metrics"]["valid_loss"]), (&json!(0.25), &json!(0.5)));
    assert_eq!((&point["object"], &points["has_more"]), (&json!("fine_tuning.job.checkpoint"), &json!(false)));
    server.stop().await;
}

#[tokio::test]
async fn events_come_newest_first_page_by_page() {
    let server = TestServer::start().await;
    let job = create(&server, &playing()).await;
    let id = job["id"].as_str().unwrap();
    let held = lease(&server, "trainer").await.unwrap();
    let report = json!({"fence": held["fence"], "events": [
        {"kind": "metric", "data": {"step": 1, "values": {"loss": 0.25, "reward_mean": 0.5}}},
        {"kind": "log", "data": {"level": "warn", "message": "slow"}},
    ]});
    tell(&server, id, "events", &report).await.ok();
    let path = format!("{JOBS}/{id}/events");
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("{path}?limit=3{after}")).await.ok();
        let rows = page["data"].as_array().unwrap();
        seen.extend(rows.clone());
        if page["has_more"] == false {
            break;
        }
        assert_eq!(rows.len(), 3);
        after = format!("&after={}", rows[2]["id"].as_str().unwrap());
    }
    let told: Vec<&str> = seen.iter().map(|event| event["message"].as_str().unwrap()).collect();
    assert_eq!(told, ["slow", "Step 1: training loss=0.2500", "The job is running", "The job is queued"]);
    assert_eq!((&seen[0]["level"], &seen[0]["type"]), (&json!("warn"), &json!("message")));
    assert_eq!(seen[1]["type"], "metrics");
    assert_eq!(seen[1]["data"], json!({"step": 1, "train_loss": 0.25, "reward_mean": 0.5}));
    for after in ["x", "ftevent-1", "ftevent-0197a3c2f2a87c53b0a1d5e6f7089abc-1"] {
        assert_refused(&server.get(&format!("{path}?after={after}")).await, 400, "invalid", Some("after"));
    }
    finish(&server, &held, json!({"is": "failed", "retry": false, "error": {"code": "bad_data", "detail": "line 3"}}))
        .await
        .ok();
    let failed = server.get(&format!("{JOBS}/{id}")).await.ok();
    let error = json!({"code": "bad_data", "message": "line 3", "param": "training_file"});
    assert_eq!((&failed["status"], &failed["error"]), (&json!("failed"), &error));
    let last = &server.get(&format!("{path}?limit=1")).await.ok()["data"][0];
    assert_eq!((&last["level"], &last["message"]), (&json!("error"), &json!("The job is failed: line 3")));
    server.stop().await;
}

#[tokio::test]
async fn a_training_by_playing_takes_its_environment_from_metadata_or_a_file() {
    let server = TestServer::start().await;
    let job = create(&server, &playing_with(&[("palestra.algorithm", "rloo"), ("palestra.group_size", "4")])).await;
    assert_eq!((&job["training_file"], &job["hyperparameters"]["n_epochs"]), (&json!(""), &Value::Null));
    let made = spec(&server, &job).await;
    assert_eq!(made["algorithm"], json!({"name": "rloo", "group_size": 4}));
    assert_eq!(made["environments"][0]["name"], "bench/counter");

    let lines = "{\"weight\": 3}\n{\"environment\": \"bench/counter\", \"split\": \"train\", \"weight\": 1}\n";
    let file = upload(&server, lines).await;
    let mut body = playing();
    body["training_file"] = json!(file);
    body["method"]["reinforcement"] = json!({"grader": {"type": "environment"}, "hyperparameters": {"batch_size": 2}});
    let job = create(&server, &body).await;
    assert_eq!((&job["training_file"], &job["method"]), (&json!(file), &body["method"]));
    let made = spec(&server, &job).await;
    assert_eq!((&made["environments"][0]["weight"], &made["environments"][1]["weight"]), (&json!(3.0), &json!(1.0)));
    assert_eq!(made["algorithm"]["tasks_per_step"], 2);

    body["training_file"] = json!(upload(&server, &LINE.repeat(2)).await);
    let refused = server.post(JOBS, &body).await;
    assert_refused(&refused, 400, "invalid", Some("training_file"));
    assert_eq!(refused.body["errors"][1]["line"], 2);
    for (line, word) in [
        (json!({"environment": "no/such"}), "no/such"),
        (json!({"split": "nowhere"}), "nowhere"),
        (json!({"weight": -1}), "weight"),
        (json!({"difficulty": [0.9, 0.1]}), "difficulty"),
    ] {
        body["training_file"] = json!(upload(&server, &format!("{{}}\n\n{line}\n")).await);
        let refused = server.post(JOBS, &body).await;
        assert_refused(&refused, 400, "invalid", Some("training_file"));
        let fault = &refused.body["errors"][0];
        assert!(fault["line"] == 3 && fault["detail"].as_str().unwrap().contains(word), "{fault}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_job_needs_the_file_that_named_its_environments() {
    let server = TestServer::start().await;
    let file = upload(&server, "{}\n").await;
    let mut body = playing();
    body["training_file"] = json!(file);
    let ask = || read(server.request(Method::POST, JOBS).header("idempotency-key", "once").json(&body));
    let job = ask().await.ok();
    let id = job["id"].as_str().unwrap();
    assert_refused(&server.delete(&format!("/v1/files/{file}")).await, 409, "job_over", None);
    server.post(&format!("{JOBS}/{id}/cancel"), &json!({})).await.ok();
    server.delete(&format!("/v1/files/{file}")).await.ok();
    let retried = server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await;
    assert_eq!((retried.status.as_u16(), retried.code()), (409, "job_over"), "{}", retried.body);

    // The key answers for the job that it made, and for no other.
    assert_eq!(ask().await.ok()["id"], job["id"]);
    let other = playing_with(&[("team", "b")]);
    let reused = read(server.request(Method::POST, JOBS).header("idempotency-key", "once").json(&other)).await;
    assert_eq!(reused.code(), "key_reused", "{}", reused.body);
    server.stop().await;
}

#[tokio::test]
async fn broken_examples_are_those_of_the_file_that_holds_them() {
    let server = TestServer::start().await;
    let (data, held_out) = (upload(&server, LINE).await, upload(&server, &LINE.repeat(2)).await);
    let body = json!({"model": "builtin:tiny-transformer", "training_file": data, "validation_file": held_out});
    for (detail, parameter) in [
        ("1 broken lines, correct each:\nline 2: of validation.data: no answer", "validation_file"),
        ("1 broken lines, correct each:\nline 2: no answer", "training_file"),
    ] {
        let job = create(&server, &body).await;
        let held = lease(&server, "trainer").await.unwrap();
        let error = json!({"code": "bad_data", "detail": detail});
        finish(&server, &held, json!({"is": "failed", "error": error, "retry": false})).await.ok();
        let failed = server.get(&format!("{JOBS}/{}", job["id"].as_str().unwrap())).await.ok();
        assert_eq!(failed["error"], json!({"code": "bad_data", "message": detail, "param": parameter}));
    }
    server.stop().await;
}

#[tokio::test]
async fn every_mistake_is_refused_with_its_parameter_and_queues_nothing() {
    let server = TestServer::start().await;
    let data = upload(&server, LINE).await;
    let blank = upload(&server, "\n \n").await;
    let parts = &[part("purpose", None, b"user_data"), part("file", Some("data.jsonl"), b"{}\n")];
    let kept = send(&server, parts).await.ok()["id"].clone();
    let supervised = |more: Value| {
        let mut body = json!({"model": "builtin:tiny-transformer", "training_file": data});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let reinforced = |settings: Value| {
        let mut body = playing();
        body["method"]["reinforcement"] = json!({"hyperparameters": settings});
        body
    };
    let many: serde_json::Map<_, _> = (0..17).map(|number| (format!("n{number}"), json!("x"))).collect();
    let hyper = |settings: Value| {
        supervised(json!({"method": {"type": "supervised", "supervised": {"hyperparameters": settings}}}))
    };
    for (body, parameter) in [
        (json!({"training_file": data}), None),
        (supervised(json!({"colour": "red"})), Some("colour")),
        (supervised(json!({"model": "gpt-4o-mini"})), Some("model")),
        (supervised(json!({"model": "builtin:oracle"})), Some("model")),
        (supervised(json!({"model": PolicyId::new()})), Some("model")),
        (supervised(json!({"training_file": null})), Some("training_file")),
        (supervised(json!({"training_file": "file-abc"})), Some("training_file")),
        (supervised(json!({"training_file": FileId::new()})), Some("training_file")),
        (supervised(json!({"training_file": blank})), Some("training_file")),
        (supervised(json!({"training_file": kept})), Some("training_file")),
        (supervised(json!({"model": "builtin:mlp"})), Some("model")),
        (supervised(json!({"hyperparameters": {"n_epochs": 0}})), Some("hyperparameters.n_epochs")),
        (supervised(json!({"validation_file": FileId::new()})), Some("validation_file")),
        (supervised(json!({"validation_file": blank})), Some("validation_file")),
        (supervised(json!({"validation_file": kept})), Some("validation_file")),
        (supervised(json!({"validation_file": data})), Some("validation_file")),
        (supervised(json!({"integrations": [{"type": "wandb"}]})), Some("integrations")),
        (supervised(json!({"suffix": "s".repeat(65)})), Some("suffix")),
        (supervised(json!({"seed": -1})), Some("seed")),
        (supervised(json!({"method": {"type": "dpo"}})), Some("method.dpo")),
        (supervised(json!({"method": {"type": "luck"}})), Some("method.type")),
        (supervised(json!({"method": {"type": "supervised", "reinforcement": {}}})), Some("method.reinforcement")),
        (
            supervised(json!({"method": {"type": "supervised"}, "hyperparameters": {"n_epochs": 1}})),
            Some("hyperparameters"),
        ),
        (hyper(json!({"n_epochs": 0})), Some("method.supervised.hyperparameters.n_epochs")),
        (hyper(json!({"n_epochs": "many"})), Some("method.supervised.hyperparameters.n_epochs")),
        (hyper(json!({"n_epochs": u64::MAX})), Some("method.supervised.hyperparameters.n_epochs")),
        (
            hyper(json!({"learning_rate_multiplier": 1e5})),
            Some("method.supervised.hyperparameters.learning_rate_multiplier"),
        ),
        (supervised(json!({"metadata": {"palestra.learning_rate": "-1"}})), Some("metadata.palestra.learning_rate")),
        (hyper(json!({"batch_size": 0})), Some("method.supervised.hyperparameters.batch_size")),
        (hyper(json!({"batch_size": 100_000})), Some("method.supervised.hyperparameters.batch_size")),
        (
            hyper(json!({"learning_rate_multiplier": 0})),
            Some("method.supervised.hyperparameters.learning_rate_multiplier"),
        ),
        (supervised(json!({"metadata": many})), Some("metadata")),
        (supervised(json!({"metadata": {"a": 1}})), Some("metadata.a")),
        (supervised(json!({"metadata": {"palestra.colour": "red"}})), Some("metadata.palestra.colour")),
        (supervised(json!({"metadata": {"palestra.steps": "many"}})), Some("metadata.palestra.steps")),
        (supervised(json!({"metadata": {"palestra.steps": "0"}})), Some("metadata.palestra.steps")),
        (supervised(json!({"metadata": {"palestra.lora_rank": "8"}})), Some("metadata.palestra.lora_rank")),
        (supervised(json!({"metadata": {"palestra.group_size": "8"}})), Some("metadata.palestra.group_size")),
        (supervised(json!({"metadata": {"environment": "bench/counter"}})), Some("metadata.environment")),
        (playing_with(&[("environment", "no/such")]), Some("metadata.environment")),
        (playing_with(&[("split", "nowhere")]), Some("metadata.split")),
        (playing_with(&[("palestra.evaluation_split", "nowhere")]), Some("metadata.palestra.evaluation_split")),
        (playing_with(&[("palestra.evaluation_split", "train")]), Some("metadata.palestra.evaluation_split")),
        (playing_with(&[("palestra.algorithm", "sft")]), Some("metadata.palestra.algorithm")),
        (playing_with(&[("palestra.group_size", "1")]), Some("metadata.palestra.group_size")),
        (
            json!({"model": "builtin:tiny-transformer", "method": {"type": "reinforcement"}}),
            Some("metadata.environment"),
        ),
        (reinforced(json!({"n_epochs": 3})), Some("method.reinforcement.hyperparameters.n_epochs")),
        (
            reinforced(json!({"compute_multiplier": 2.0})),
            Some("method.reinforcement.hyperparameters.compute_multiplier"),
        ),
        (
            reinforced(json!({"reasoning_effort": "high"})),
            Some("method.reinforcement.hyperparameters.reasoning_effort"),
        ),
        (reinforced(json!({"colour": "red"})), Some("method.reinforcement.hyperparameters.colour")),
        (
            {
                let mut body = playing();
                body["method"]["reinforcement"] = json!({"grader": {"type": "string_check"}});
                body
            },
            Some("method.reinforcement.grader"),
        ),
        (
            {
                let mut body = playing();
                body["training_file"] = kept.clone();
                body
            },
            Some("training_file"),
        ),
        (
            {
                let mut body = playing();
                body["validation_file"] = json!(data);
                body
            },
            Some("validation_file"),
        ),
    ] {
        assert_refused(&server.post(JOBS, &body).await, 400, "invalid", parameter);
    }
    let twice = "{\"model\": \"builtin:mlp\", \"metadata\": {\"a\": \"x\", \"a\": \"y\"}}";
    let text = read(server.request(Method::POST, JOBS).header("content-type", "application/json").body(twice)).await;
    assert_refused(&text, 400, "invalid", Some("metadata"));
    let text = read(server.request(Method::POST, JOBS).header("content-type", "application/json").body("{")).await;
    assert_refused(&text, 400, "malformed", None);
    assert!(list(&server, "").await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn it_is_the_same_queue_seen_from_two_sides() {
    let server = TestServer::start().await;
    let asked = server.request(Method::POST, JOBS).header("idempotency-key", "once");
    let first = read(asked.json(&playing_with(&[("team", "a")]))).await.ok();
    let again = server.request(Method::POST, JOBS).header("idempotency-key", "once");
    assert_eq!(read(again.json(&playing_with(&[("team", "a")]))).await.ok()["id"], first["id"]);
    let spec = json!({"policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "sft"},
        "data": {"lines": LINE}, "steps": 1});
    let own = json!({"kind": "train", "spec": spec, "metadata": {"team": "b", "size": 3}});
    let second = queue(&server, &own).await;
    let plain = queue(&server, &json!({"kind": "train", "spec": spec})).await;
    let other = queue(&server, &check()).await;

    let ids = |rows: Vec<Value>| rows.into_iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let first_id = first["id"].as_str().unwrap().to_owned();
    assert_eq!(ids(list(&server, "").await), [plain.clone(), second.clone(), first_id.clone()]);
    assert_eq!(ids(list(&server, &format!("?limit=1&after={plain}")).await), std::slice::from_ref(&second));
    assert_eq!(ids(list(&server, "?metadata[team]=a").await), std::slice::from_ref(&first_id));
    assert_eq!(ids(list(&server, "?metadata%5Bteam%5D=b").await), std::slice::from_ref(&second));
    assert_eq!(ids(list(&server, "?metadata=null").await), std::slice::from_ref(&plain));
    let viewed = server.get(&format!("{JOBS}/{second}")).await.ok();
    assert_eq!((&viewed["metadata"], &viewed["method"]["type"]), (&json!({"team": "b"}), &json!("supervised")));
    assert_refused(&server.get(&format!("{JOBS}/{other}")).await, 404, "not_found", None);
    for (query, code) in [("?colour=red", "malformed"), ("?limit=0", "invalid"), ("?metadata=x", "malformed")] {
        let answer = server.get(&format!("{JOBS}{query}")).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, code), "{query}: {}", answer.body);
    }

    for call in ["pause", "resume"] {
        let answer = server.post(&format!("{JOBS}/{second}/{call}"), &json!({})).await;
        assert_refused(&answer, 405, "method_not_allowed", None);
    }
    let cancelled = server.post(&format!("{JOBS}/{first_id}/cancel"), &json!({})).await.ok();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(server.get(&format!("/v1/jobs/{first_id}")).await.ok()["state"], "cancelled");
    server.stop().await;
}

#[tokio::test]
async fn what_is_said_of_a_job_comes_back_as_it_was_sent() {
    let server = TestServer::start().await;
    let longest: serde_json::Map<_, _> =
        (0..14).map(|number| (format!("{number:0>64}"), json!("\u{1f600}".repeat(512)))).collect();
    let mut body = playing();
    body["metadata"].as_object_mut().unwrap().extend(longest);
    let job = create(&server, &body).await;
    assert_eq!(job["metadata"], body["metadata"]);
    let again = server.get(&format!("{JOBS}/{}", job["id"].as_str().unwrap())).await.ok();
    assert_eq!(again["metadata"], body["metadata"]);
    server.stop().await;
}

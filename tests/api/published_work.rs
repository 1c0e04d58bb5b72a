//! Light work on what was published: it is played by those who know what solves it, and proven, while a lease learns no more than its
//! job needs.

use palestra::config::SandboxChoice;
use palestra_client::{ActionQuery, Client, ClientError};
use palestra_protocol::environment::ProveTask;
use palestra_protocol::job::JobKind;
use palestra_protocol::problem::Code;
use palestra_protocol::worker::{Finish, Outcome};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::light_work::{LightWorker, close, lease, lines, over, submit, succeeded, worker};
use super::sql;
use crate::support::server::TestServer;

const TOOLSHED: &str = include_str!("../apps/toolshed/app.yaml");
const SUMS: &str = "{\"prompt\":\"6 times 7?\",\"answer\":\"42\"}\n{\"prompt\":\"6 plus 7?\",\"answer\":\"13\"}\n\
                    {\"prompt\":\"7 minus 6?\",\"answer\":\"1\"}\n";

/// Publishes the app `app/toolshed` and the data set `dataset/sums`.
async fn publish(server: &TestServer) {
    let request = server.request(Method::POST, "/v1/environments").header("content-type", "application/yaml");
    assert_eq!(request.body(TOOLSHED).send().await.unwrap().status(), StatusCode::CREATED);
    let request = server.request(Method::POST, "/v1/environments?name=dataset/sums&verifier=number");
    let published = request.header("content-type", "application/jsonl").body(SUMS).send().await.unwrap();
    assert_eq!(published.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn what_was_published_is_collected_and_measured_by_its_solutions() {
    let server = TestServer::start().await;
    publish(&server).await;
    let light = LightWorker::start(&server, &[]).await;
    let environments = json!([{"name": "app/toolshed"}, {"name": "dataset/sums"}]);
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "environments": environments, "episodes": 6, "score_min": 1.0, "seed": 2,
    });
    let (job, result) = succeeded(&server, "collect", spec).await;
    assert_eq!((&result["scored"], &result["exported"]), (&json!(6), &json!(6)), "{result}");
    let exported = lines(&server, &job, "episodes.jsonl").await;
    assert_eq!(exported.len(), 6);
    for line in &exported {
        assert_eq!(line["metadata"]["score"], 1.0, "{line}");
        assert!(line["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{line}");
        let said = line["messages"].as_array().unwrap().iter().find(|message| message["role"] == "assistant").unwrap();
        assert!(said["tool_calls"][0]["function"]["name"].is_string(), "{line}");
    }
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "baseline": {"policy": {"from": "builtin:random"}},
        "environments": environments, "episodes": 3, "samples_per_task": 2,
    });
    let (_, result) = succeeded(&server, "evaluate", spec).await;
    assert!(close(&result["all"]["mean"]["mean"], 1.0), "{result}");
    let baseline = &result["baseline"];
    assert_eq!((&baseline["all"]["scored"], &baseline["comparison"]["pairs"]), (&json!(12), &json!(12)), "{result}");
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn an_app_that_was_published_is_proven_from_its_definition() {
    let server = TestServer::start().await;
    publish(&server).await;
    let light = LightWorker::start(&server, &[]).await;
    let (_, result) = succeeded(&server, "check", json!({"environment": "app/toolshed", "tasks": 5})).await;
    assert_eq!((&result["failures"], &result["skipped"]), (&json!([]), &json!([])), "{result}");
    assert!(result["proof"]["templates"]["lend_tool"]["tasks"].as_u64().is_some_and(|tasks| tasks > 0), "{result}");
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn databases_that_were_published_are_played_and_proven() {
    let server = TestServer::start_with(sql::with_workers).await;
    let (status, published) = sql::publish(&server, "sql/pond", &sql::folder()).await;
    assert_eq!(status, 201, "{published}");
    let split = published["environment"]["splits"].as_object().unwrap().keys().next().unwrap().clone();
    let light = LightWorker::start(&server, &[]).await;
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "environments": [{"name": "sql/pond", "split": split}], "episodes": 2,
    });
    let (_, result) = succeeded(&server, "evaluate", spec).await;
    assert!(close(&result["all"]["mean"]["mean"], 1.0), "{result}");
    let (_, result) = succeeded(&server, "check", json!({"environment": "sql/pond", "tasks": 5})).await;
    assert_eq!(result["proof"], json!({"tasks": 2, "failures": []}), "{result}");
    assert_eq!((&result["passed"], &result["skipped"]), (&json!(true), &json!([])), "{result}");
    light.stop().await;
    server.stop().await;
}

/// Answers about an environment to a credential: the oracle's actions, the definition, a proof; each as the code of its refusal.
async fn told(client: &Client, name: &str) -> [Option<Code>; 3] {
    let query =
        ActionQuery { policy: "builtin:oracle".to_owned(), task: "train-0".to_owned(), seed: 0, offset: 0, limit: 10 };
    let code = |error: Option<ClientError>| error.map(|error| error.code().expect("a refusal"));
    let task = ProveTask { split: "train".to_owned(), number: 0 };
    [
        code(client.actions(name, &query).await.err()),
        code(client.definition(name).await.err()),
        code(client.prove_task(name, &task).await.err()),
    ]
}

#[tokio::test]
async fn a_lease_learns_what_its_job_needs_and_nothing_else() {
    let server = TestServer::start().await;
    publish(&server).await;
    let owner = worker(&server.url(), &server).await;
    let played =
        |policy: &str| json!({"policy": {"from": policy}, "environments": [{"name": "app/toolshed"}], "episodes": 1});
    let (no, unproven) = (Some(Code::Forbidden), Some(Code::NotSupported));
    for (kind, name, spec, expected) in [
        (JobKind::Collect, "collect", played("builtin:oracle"), [None, no, no]),
        (JobKind::Evaluate, "evaluate", played("builtin:null"), [no, no, no]),
        (JobKind::Check, "check", json!({"environment": "app/toolshed@1"}), [None, None, unproven]),
    ] {
        submit(&server, name, spec).await;
        let held = lease(&owner, kind).await;
        let client = Client::new(&server.url(), Some(&held.token)).unwrap();
        assert_eq!(told(&client, "app/toolshed@1").await, expected, "{name}");
        for other in ["app/mail", "dataset/sums@1"] {
            assert_eq!(told(&client, other).await, [no, no, no], "{name}: {other} is none of its business");
        }
        let finish = Finish { fence: held.fence, outcome: Outcome::Succeeded { result: json!({}) } };
        owner.finish_job(held.job.id, &finish).await.unwrap();
        assert_eq!(told(&client, "app/toolshed@1").await, [Some(Code::Unauthorized); 3], "the lease is over");
    }
    // Neither who runs sessions nor who acts in one learns anything of it.
    let key = server.post("/v1/keys", &json!({"name": "runner", "scopes": ["sessions", "jobs"]})).await.ok();
    let runner = Client::new(&server.url(), key["secret"].as_str()).unwrap();
    assert_eq!(told(&runner, "app/toolshed@1").await, [no, no, no]);
    let session = server.post("/v1/sessions", &json!({"environment": "app/toolshed"})).await.ok();
    let token = session["token"].as_str().expect("a session comes with a token");
    let actor = Client::new(&server.url(), Some(token)).unwrap();
    assert_eq!(told(&actor, "app/toolshed@1").await, [no, no, no]);
    server.stop().await;
}

#[tokio::test]
async fn actions_come_in_pages_and_are_those_of_the_policy() {
    let server = TestServer::start().await;
    publish(&server).await;
    let path = |query: &str| format!("/v1/environments/app/toolshed/actions?{query}");
    let whole = server.get(&path("policy=builtin:random&task=train-0&seed=7&limit=9")).await.ok();
    let whole = whole["data"].as_array().unwrap();
    assert_eq!(whole.len(), 9);
    let rest = server.get(&path("policy=builtin:random&task=train-0&seed=7&offset=4&limit=5")).await.ok();
    assert_eq!(rest["data"].as_array().unwrap(), &whole[4..]);
    let oracle = server.get(&path("policy=builtin:oracle&task=train-0")).await.ok();
    assert_eq!(oracle["data"].as_array().unwrap().last().unwrap()["tool"], "submit", "{oracle}");
    for (query, code) in [
        ("policy=builtin:best&task=train-0", "malformed"),
        ("policy=builtin:oracle", "malformed"),
        ("policy=builtin:oracle&task=train-0&limit=0", "malformed"),
        ("policy=builtin:oracle&task=train-0&offset=3997", "malformed"),
        ("policy=builtin:oracle&task=exam-0", "unknown_task"),
        ("policy=builtin:oracle&task=first", "unknown_task"),
    ] {
        assert_eq!(server.get(&path(query)).await.code(), code, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_check_fails_with_what_the_server_lacks() {
    let server = TestServer::start().await;
    let light = LightWorker::start(&server, &[]).await;
    let wanted = json!({"kind": "check", "spec": {"environment": "terminal/files", "tasks": 1}, "attempts_max": 1});
    let job = server.post("/v1/jobs", &wanted).await.ok();
    let job = over(&server, job["id"].as_str().unwrap()).await;
    assert_eq!((&job["state"], &job["error"]["code"]), (&json!("failed"), &json!("environment")), "{job}");
    assert!(job["error"]["detail"].as_str().unwrap().contains("palestra doctor"), "{job}");
    for (name, task, code) in [
        ("terminal/files", json!({"split": "train", "number": 0}), "unavailable"),
        ("terminal/files", json!({"split": "train", "number": 100_000}), "unknown_task"),
        ("terminal/files", json!({"split": "exam", "number": 0}), "unknown_task"),
        ("terminal/files", json!({"split": "train"}), "invalid"),
        ("bench/counter", json!({"split": "train", "number": 0}), "not_supported"),
        ("bench/nothing", json!({"split": "train", "number": 0}), "unknown_environment"),
    ] {
        let answer = server.post(&format!("/v1/environments/{name}/proof"), &task).await;
        assert_eq!(answer.code(), code, "{name} {task}");
    }
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_task_in_a_sandbox_is_proven_by_doing_it() {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES") else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    };
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        config.images = Some(images.into());
    })
    .await;
    let task = json!({"split": "train", "number": 0});
    let proven: Value = server.post("/v1/environments/terminal/files/proof", &task).await.ok();
    assert_eq!(proven["faults"], json!([]), "{proven}");
    assert!(!proven["name"].as_str().unwrap().is_empty(), "{proven}");
    server.stop().await;
}

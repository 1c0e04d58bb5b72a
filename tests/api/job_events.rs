//! Events of jobs against the schema that is published of them.

use palestra_protocol::id::PolicyId;
use palestra_protocol::job_event::TypedJobEvent;
use reqwest::Method;
use serde_json::{Value, json};

use super::jobs::{check, follow, queue};
use super::worker::{finish, lease, succeeded, tell, upload};
use crate::support::server::TestServer;

/// Checks values against a schema of the committed API document.
fn validator(name: &str) -> jsonschema::Validator {
    let text = include_str!("../../openapi/openapi.json");
    let mut document: Value = serde_json::from_str(text).expect("JSON");
    document["$ref"] = json!(format!("#/components/schemas/{name}"));
    jsonschema::validator_for(&document).expect("a schema")
}

async fn events_of(server: &TestServer, id: &str) -> Vec<Value> {
    let response = server.request(Method::GET, &format!("/v1/jobs/{id}/events")).send().await.expect("an answer");
    follow(response, |_| false).await
}

/// A job that meets nearly everything that can happen to one.
async fn eventful(server: &TestServer) -> String {
    let mut body = check();
    body["attempts_max"] = json!(2);
    let id = queue(server, &body).await;
    let held = lease(server, "one").await.expect("a lease");
    let fence = &held["fence"];
    let progress = json!({"done": 1, "total": 4, "unit": "tasks", "message": "Zoë", "remaining_ms": 300});
    tell(server, &id, "heartbeat", &json!({"fence": fence, "progress": progress})).await.ok();
    upload(server, &held, "checkpoint-20/state.json", b"{}").await.ok();
    upload(server, &held, "policy/config.json", b"{}").await.ok();
    let lines = ["debug", "info", "warn", "error"]
        .map(|level| json!({"kind": "log", "data": {"level": level, "message": "\u{1b}[2J \u{202e}"}}));
    let mut report = vec![
        json!({"kind": "progress", "data": {"done": 0, "total": 0, "unit": ""}}),
        json!({"kind": "metric", "data": {"step": 1, "values": {"score": 0.5, "lost": null, "whole": 3, "small": 1e-300}}}),
        json!({"kind": "metric", "data": {"step": 0, "values": {}}}),
        json!({"kind": "checkpoint", "data": {"step": 20, "artifacts": ["checkpoint-20/state.json"]}}),
    ];
    report.extend(lines);
    tell(server, &id, "events", &json!({"fence": fence, "events": report})).await.ok();
    let policy = json!({"fence": fence, "id": PolicyId::new().to_string(), "architecture": "mlp", "environments": [],
        "metrics": {}, "artifacts": ["policy/config.json"]});
    assert_eq!(tell(server, &id, "policies", &policy).await.status, 201);
    finish(server, &held, json!({"is": "released"})).await.ok();

    let held = lease(server, "two").await.expect("it was given back");
    server.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).await.ok();
    finish(server, &held, json!({"is": "cancelled"})).await.ok();
    server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await.ok();
    let held = lease(server, "three").await.expect("it was queued again");
    let error = json!({"code": "device", "detail": "no such device\n\u{1b}[0m"});
    finish(server, &held, json!({"is": "failed", "error": error, "retry": true})).await.ok();
    // It waits for its next attempt; nobody waits for that here.
    server.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).await.ok();
    server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await.ok();
    let held = lease(server, "four").await.expect("it was queued again");
    finish(server, &held, json!({"is": "failed", "error": error, "retry": false})).await.ok();
    id
}

#[tokio::test]
async fn every_event_of_a_job_fits_its_published_schema() {
    let server = TestServer::start().await;
    let schema = validator("JobEvent");
    let failed = eventful(&server).await;
    let done = queue(&server, &check()).await;
    let held = lease(&server, "five").await.expect("a lease");
    finish(&server, &held, succeeded(&json!({"passed": true}))).await.ok();
    let mut events = events_of(&server, &failed).await;
    events.extend(events_of(&server, &done).await);
    for event in &events {
        let faults: Vec<String> = schema.iter_errors(event).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{event}: {faults:?}");
        let typed: TypedJobEvent =
            serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{event}: {error}"));
        assert_eq!(serde_json::to_value(&typed).expect("JSON")["kind"], event["kind"]);
    }
    let kinds = ["state", "progress", "metric", "log", "artifact", "checkpoint", "policy"];
    for kind in kinds {
        assert!(events.iter().any(|event| event["kind"] == kind), "there was a {kind}");
    }
    for member in ["worker", "error", "not_before", "cancel_requested", "released", "retried"] {
        assert!(events.iter().any(|event| event["data"].get(member).is_some()), "there was a state with {member}");
    }
    let page = server.get(&format!("/v1/jobs/{failed}/metrics")).await.ok();
    assert!(validator("Page_JobEvent").is_valid(&page), "{page}");
    assert_eq!(page["data"].as_array().map(Vec::len), Some(2));

    // The schema tells what each kind holds: an event with what another kind holds does not fit.
    for event in &events {
        for kind in kinds.iter().filter(|kind| event["kind"] != **kind) {
            let mut other = event.clone();
            other["kind"] = json!(kind);
            assert!(!schema.is_valid(&other), "{other}");
        }
    }
    server.stop().await;
}

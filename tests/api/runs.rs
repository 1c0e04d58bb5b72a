//! `/v1/runs`.

use serde_json::json;

use crate::support::server::TestServer;

#[tokio::test]
async fn a_run_that_ends_closes_its_sessions() {
    let server = TestServer::start().await;
    let run = server.post("/v1/runs", &json!({"lease_ms": 60_000})).await.ok();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let session = server.post("/v1/sessions", &json!({"environment": "bench/counter", "run": run["id"]})).await.ok();
    assert_eq!(server.post(&format!("{path}/heartbeat"), &json!({})).await.ok()["state"], "active");
    assert_eq!(server.get(&path).await.ok()["state"], "active");
    assert_eq!(server.delete(&path).await.ok()["state"], "deleted");
    let session = server.get(&format!("/v1/sessions/{}", session["id"].as_str().unwrap())).await.ok();
    assert_eq!((&session["state"], &session["closed_reason"]), (&json!("closed"), &json!("run_ended")));
    assert_eq!(server.post("/v1/runs", &json!({"lease_ms": 1})).await.code(), "invalid");
    server.stop().await;
}

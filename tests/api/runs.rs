//! `/v1/runs`.

use reqwest::Method;
use serde_json::json;

use crate::support::server::{TestServer, read};

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

#[tokio::test]
async fn runs_are_listed_with_what_their_episodes_came_to() {
    let server = TestServer::start().await;
    let run = server.post("/v1/runs", &json!({"lease_ms": 60_000})).await.ok();
    let empty = server.post("/v1/runs", &json!({"lease_ms": 60_000})).await.ok();
    let session = server.post("/v1/sessions", &json!({"environment": "bench/counter", "run": run["id"]})).await.ok();
    let finish = format!("/v1/sessions/{}/finish", session["id"].as_str().unwrap());
    server.post(&finish, &json!({"reason": "gave_up"})).await.ok();
    server.delete(&format!("/v1/runs/{}", run["id"].as_str().unwrap())).await.ok();

    let listed = server.get("/v1/runs").await.ok();
    let seen: Vec<_> = listed["data"].as_array().unwrap().iter().map(|run| (&run["id"], &run["episodes"])).collect();
    assert_eq!(seen, [(&empty["id"], &json!(0)), (&run["id"], &json!(1))], "{listed}");
    assert_eq!((&listed["data"][1]["scored"], &listed["data"][1]["mean_score"]), (&json!(1), &json!(0.0)));
    assert_eq!(listed["data"][0]["mean_score"], json!(null));
    let ended = server.get("/v1/runs?state=deleted&limit=1").await.ok();
    assert_eq!((&ended["data"][0]["id"], &ended["next_cursor"]), (&run["id"], &json!(null)));
    assert_eq!(server.get("/v1/runs?state=tired").await.code(), "malformed");
    server.stop().await;
}

#[tokio::test]
async fn a_run_keeps_its_plan() {
    let server = TestServer::start().await;
    let run = server.post("/v1/runs", &json!({"lease_ms": 60_000})).await.ok();
    assert_eq!(run["plan"], json!(null));
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let put =
        async |plan: &serde_json::Value| read(server.request(Method::PUT, &format!("{path}/plan")).json(plan)).await;
    let plan = json!({"policy": "builtin:null", "split": "test", "seed": 3, "episodes": 10});
    assert_eq!(put(&plan).await.ok()["plan"], plan);
    assert_eq!(server.get(&path).await.ok()["plan"], plan);
    assert_eq!(server.get("/v1/runs").await.ok()["data"][0]["plan"], plan);
    let mixed = json!({"policy": "builtin:null", "split": null, "seed": null, "episodes": 0});
    assert_eq!(put(&json!({"policy": "builtin:null", "episodes": 0})).await.ok()["plan"], mixed);
    // An evaluation names its policy and its baseline, and each may be the longest address.
    let long = json!({"policy": "x".repeat(2 * 4_100 + 5), "split": null, "seed": null, "episodes": 1});
    assert_eq!(put(&long).await.ok()["plan"], long);
    for (wrong, code) in [
        (json!({"policy": "", "episodes": 1}), "invalid"),
        (json!({"policy": "x".repeat(10_001), "episodes": 1}), "invalid"),
        (json!({"policy": "x", "episodes": 1_u64 << 53}), "invalid"),
        (json!({"policy": "x", "episodes": 1, "polcy": "y"}), "invalid"),
    ] {
        assert_eq!(put(&wrong).await.code(), code, "{wrong}");
    }
    server.delete(&path).await.ok();
    assert_eq!(put(&plan).await.code(), "run_over");
    server.stop().await;
}

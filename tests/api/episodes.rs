//! `/v1/episodes`.

use serde_json::json;

use super::sessions::{add, counter};
use crate::support::server::TestServer;

#[tokio::test]
async fn the_record_outlives_the_session_and_the_server() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let session = format!("/v1/sessions/{}", created["id"].as_str().unwrap());
    server.post(&format!("{session}/step"), &add(1, 1)).await.ok();
    server.post(&format!("{session}/step"), &add(2, 2)).await.ok();
    server.delete(&session).await.ok();
    let data = server.stop().await;

    let server = TestServer::start_in(data, |_| {}).await;
    let episode = format!("/v1/episodes/{}", created["episode"].as_str().unwrap());
    assert_eq!(server.get(&episode).await.ok()["verdict"]["status"], "scored");
    let trajectory = server.get(&format!("{episode}/trajectory")).await.ok();
    assert_eq!(trajectory["steps"].as_array().unwrap().len(), 2);
    assert_eq!(server.get(&format!("{episode}/steps/2")).await.ok()["seq"], 2);
    assert_eq!(server.get(&format!("{episode}/steps/3")).await.code(), "not_found");
    assert_eq!(server.get(&format!("{episode}/steps/99999999999999999999")).await.code(), "not_found");
    assert_eq!(server.get(&format!("{episode}/verdicts")).await.ok()["data"].as_array().unwrap().len(), 1);
    assert_eq!(server.post(&format!("{episode}/verify"), &json!({})).await.ok()["status"], "scored");
    let listed = server.get("/v1/episodes?status=scored&state=ended&environment=bench/counter").await.ok();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let list = async |filter: &str| server.get(&format!("/v1/episodes?{filter}")).await;
    let score = &listed["data"][0]["verdict"]["score"];
    for (filter, found) in [(format!("score_min={score}&score_max={score}"), 1), ("score_min=1".to_owned(), 0)] {
        assert_eq!(list(&filter).await.ok()["data"].as_array().unwrap().len(), found, "{filter}: {listed}");
    }
    for filter in ["score_min=1.5", "score_max=-0.1", "score_min=NaN", "score_min=high"] {
        assert_eq!(list(filter).await.code(), "malformed", "{filter}");
    }
    let lines =
        server.request(reqwest::Method::GET, &format!("{episode}/trajectory?format=jsonl")).send().await.unwrap();
    assert_eq!(lines.headers()["content-type"], "application/jsonl");
    assert_eq!(lines.text().await.unwrap().lines().count(), 3);
    server.stop().await;
}

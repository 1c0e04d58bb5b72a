//! `/v1/keys` and tokens over restarts.

use serde_json::json;

use super::sessions::{add, counter};
use crate::support::server::{TestServer, read};

#[tokio::test]
async fn keys_and_session_tokens_survive_a_restart() {
    let server = TestServer::start().await;
    let key = server.post("/v1/keys", &json!({"name": "runner", "scopes": ["sessions"]})).await.ok();
    let created = counter(&server).await;
    let data = server.stop().await;

    let server = TestServer::start_in(data, |_| {}).await;
    let (id, token) = (created["id"].as_str().unwrap(), created["token"].as_str().unwrap());
    let url = format!("{}/v1/sessions/{id}/step", server.url());
    read(server.http.post(url).bearer_auth(token).json(&add(1, 1))).await.ok();
    let secret = key["secret"].as_str().unwrap();
    let me = read(server.http.get(format!("{}/v1/whoami", server.url())).bearer_auth(secret)).await.ok();
    assert_eq!(me["key"], key["id"]);
    server.stop().await;
}

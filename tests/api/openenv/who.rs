//! Permissions of players, their view of an episode, and the secrecy of their keys.

use serde_json::json;

use super::{COUNTER, connect, counter, get_as, hear, key, open, path, post, reset, state, step};
use crate::support::server::{ADMIN_KEY, TestServer, read};

#[tokio::test]
async fn only_keys_that_run_sessions_play() {
    let server = TestServer::start().await;
    let (_, reader) = key(&server, &["state:read"]).await;
    let token = server.post("/v1/sessions", &json!({"environment": COUNTER})).await.ok()["token"].clone();
    let token = token.as_str().unwrap();
    for (credential, status) in [(None, 401), (Some("nonsense"), 401), (Some(reader.as_str()), 403), (Some(token), 403)]
    {
        assert_eq!(connect(&server, &path(COUNTER, "ws"), credential).await.unwrap_err(), status);
        for call in ["schema", "health", "state"] {
            let answer = get_as(&server, credential.unwrap_or("none"), &path(COUNTER, call)).await;
            assert_eq!(answer.status.as_u16(), status, "{call} {credential:?}");
        }
        for call in ["reset", "step", "mcp", "counter/tasks"] {
            let url = format!("{}{}", server.url(), path(COUNTER, call));
            let request = server.http.post(url).bearer_auth(credential.unwrap_or("none")).json(&json!({}));
            assert_eq!(read(request).await.status.as_u16(), status, "{call} {credential:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_key_in_the_path_plays_and_can_do_nothing_else() {
    let server = TestServer::start().await;
    let (_, trainer) = key(&server, &["sessions"]).await;
    let (_, both) = key(&server, &["sessions", "state:read"]).await;
    let keyed = |key: &str, rest: &str| path(COUNTER, &format!("t/{key}/{rest}"));
    let mut socket = connect(&server, &keyed(&trainer, "ws"), None).await.unwrap();
    let begun = reset(&mut socket, &counter("ep-1")).await;
    let last = step(&mut socket, &json!({"text": "3"})).await;
    assert!(last["reward"].is_number());
    for call in ["schema", "health", "metadata", "list_environments", "counter/splits", "openapi.json"] {
        let answer = read(server.http.get(format!("{}{}", server.url(), keyed(&trainer, call)))).await;
        assert!(answer.status.is_success(), "{call} {}", answer.body);
    }
    let url = format!("{}{}", server.url(), keyed(&trainer, "reset"));
    assert_eq!(read(server.http.post(url).json(&json!({"seed": 1}))).await.ok()["done"], false);
    // The path counts, not the header.
    for (key, status) in [(ADMIN_KEY, 403), (both.as_str(), 403), ("nonsense", 401)] {
        assert_eq!(connect(&server, &keyed(key, "ws"), Some(&trainer)).await.unwrap_err(), status);
    }
    let token = server.post("/v1/sessions", &json!({"environment": COUNTER})).await.ok()["token"].clone();
    assert_eq!(connect(&server, &keyed(token.as_str().unwrap(), "ws"), None).await.unwrap_err(), 403);
    assert_eq!(begun["metadata"]["episode_id"], "ep-1");
    // Metrics name routes, and never what stood in their place.
    let url = format!("{}/metrics", server.url());
    let metrics = server.http.get(url).bearer_auth(ADMIN_KEY).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("/openenv/{family}/{name}/t/{key}/schema"), "the route is there");
    assert!(!metrics.contains(&trainer) && !metrics.contains("pk_"));
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_shared_between_tenants() {
    let server = TestServer::start().await;
    let made = server
        .app
        .auth()
        .create_key("other", serde_json::from_value(json!({"name": "theirs", "scopes": ["sessions"]})).unwrap());
    let theirs = made.await.unwrap().secret;
    let mut mine = open(&server, COUNTER, "").await;
    let begun = reset(&mut mine, &counter("same")).await;
    step(&mut mine, &json!({"text": "1"})).await;
    let id = begun["metadata"]["session_id"].as_str().unwrap().to_owned();
    // The same id means another episode.
    let mut socket = connect(&server, &path(COUNTER, "ws"), Some(&theirs)).await.unwrap();
    let other = reset(&mut socket, &counter("same")).await;
    assert_ne!(other["metadata"]["session_id"], id.as_str());
    assert_eq!(state(&mut socket).await["step_count"], 0);
    drop(mine);
    let mut thief =
        connect(&server, &path(COUNTER, &format!("ws?session_id={id}&resume=true")), Some(&theirs)).await.unwrap();
    assert_eq!(hear(&mut thief).await.unwrap()["data"]["code"], "SESSION_ERROR");
    let url = format!("{}{}", server.url(), path(COUNTER, "step"));
    let stolen = json!({"session_id": id, "action": {"text": "1"}});
    assert_eq!(read(server.http.post(url).bearer_auth(&theirs).json(&stolen)).await.code(), "not_found");
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "openenv/session/close", "params": {"session_id": id}});
    let url = format!("{}{}", server.url(), path(COUNTER, "mcp"));
    let refused = read(server.http.post(url).bearer_auth(&theirs).json(&rpc)).await.ok();
    assert_eq!(refused["error"]["code"], -32_602);
    assert_eq!(get_as(&server, &theirs, &path(COUNTER, &format!("state?session_id={id}"))).await.code(), "not_found");
    // Mine is where I left it.
    let mut mine = open(&server, COUNTER, &format!("?session_id={id}&resume=true")).await;
    assert_eq!(state(&mut mine).await["step_count"], 1);
    assert_eq!(post(&server, "step", &stolen).await.ok()["metadata"]["step_count"], 2);
    server.stop().await;
}

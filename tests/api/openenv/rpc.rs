//! `/mcp`: JSON-RPC over HTTP and in frames.

use serde_json::{Value, json};

use super::{COUNTER, ask, close, open, path, post, reset, state, step};
use crate::support::server::TestServer;

async fn call(server: &TestServer, method: &str, params: &Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = post(server, "mcp", &request).await.ok();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
    assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
    answer
}

#[tokio::test]
async fn a_session_is_made_used_joined_and_closed() {
    let server = TestServer::start().await;
    let made = call(&server, "openenv/session/create", &json!({})).await;
    let id = made["result"]["session_id"].as_str().unwrap().to_owned();
    let tools = call(&server, "tools/list", &json!({"session_id": id})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "add");
    assert!(tools["result"]["tools"][0]["inputSchema"].is_object());
    let add = json!({"name": "add", "arguments": {"amount": 2}, "session_id": id});
    let called = call(&server, "tools/call", &add).await["result"].clone();
    assert_eq!((&called["data"], &called["is_error"]), (&json!("Count: 2."), &json!(false)));
    assert_eq!(called["content"][0]["text"], "Count: 2.");
    // The same session over a socket: a reset stays in it.
    let mut socket = open(&server, COUNTER, &format!("?session_id={id}")).await;
    assert_eq!(state(&mut socket).await["step_count"], 1);
    let begun = reset(&mut socket, &json!({"seed": 3})).await;
    assert_eq!(begun["metadata"]["session_id"], id.as_str());
    call(&server, "tools/call", &add).await;
    assert_eq!(step(&mut socket, &json!({"text": "1"})).await["observation"]["data"]["count"], 3);
    // What a socket holds is closed when the socket leaves it.
    let closing = call(&server, "openenv/session/close", &json!({"session_id": id})).await;
    assert_eq!(closing["result"], json!({"session_id": id, "closed": false, "closing": true}));
    assert_eq!(state(&mut socket).await["open"], true);
    close(socket).await;
    super::until("it is closed", || async { super::session(&server, &begun).await["state"] == "closed" }).await;
    assert_eq!(super::episode(&server, &begun).await["verdict"]["status"], "scored");
    let again = call(&server, "openenv/session/close", &json!({"session_id": id})).await;
    assert_eq!(again["result"]["closed"], true);
    server.stop().await;
}

#[tokio::test]
async fn closing_a_live_session_scores_it_and_a_socket_that_leaves_does_not() {
    let server = TestServer::start().await;
    let made = call(&server, "openenv/session/create", &json!({"seed": 1})).await;
    let id = made["result"]["session_id"].as_str().unwrap();
    let socket = open(&server, COUNTER, &format!("?session_id={id}")).await;
    assert_eq!(close(socket).await, Some(1000));
    let found = server.get(&format!("/v1/sessions/{id}")).await.ok();
    assert_eq!(found["state"], "open");
    let closed = call(&server, "openenv/session/close", &json!({"session_id": id})).await;
    assert_eq!(closed["result"]["closed"], true);
    let episode = server.get(&format!("/v1/episodes/{}", found["episode"].as_str().unwrap())).await.ok();
    assert_eq!(episode["verdict"]["status"], "scored");
    server.stop().await;
}

#[tokio::test]
async fn what_is_refused_is_an_error_with_status_200() {
    let server = TestServer::start_with(|config| config.openenv_sessions_max = 1).await;
    for (body, code) in [
        (json!({}), -32_600),
        (json!([]), -32_600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "a", "colour": "red"}), -32_600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "a", "params": []}), -32_600),
    ] {
        assert_eq!(post(&server, "mcp", &body).await.ok()["error"]["code"], code, "{body}");
    }
    let url = format!("{}{}", server.url(), path(COUNTER, "mcp"));
    let broken = server.http.post(url).bearer_auth(server.key()).body("{").send().await.unwrap();
    assert_eq!(broken.status().as_u16(), 200);
    let unknown = "ses_0197a3c2f2a87c53b0a1d5e6f7089abc";
    for (method, params, code) in [
        ("dance", json!({}), -32_601),
        ("tools/call", json!({"name": "add"}), -32_602),
        ("tools/call", json!({"name": "add", "session_id": unknown}), -32_602),
        ("tools/call", json!({"session_id": unknown}), -32_602),
        ("tools/list", json!({"session_id": "nonsense"}), -32_602),
        ("openenv/session/close", json!({}), -32_602),
        ("openenv/session/close", json!({"session_id": unknown}), -32_602),
        ("openenv/session/create", json!({"seed": -1}), -32_602),
    ] {
        assert_eq!(call(&server, method, &params).await["error"]["code"], code, "{method} {params}");
    }
    assert!(call(&server, "tools/list", &json!({})).await["result"]["tools"].is_array());
    call(&server, "openenv/session/create", &json!({})).await;
    let full = call(&server, "openenv/session/create", &json!({})).await["error"].clone();
    assert_eq!((&full["code"], &full["data"]["max_sessions"]), (&json!(-32_000), &json!(1)));
    server.stop().await;
}

#[tokio::test]
async fn frames_of_the_socket_carry_requests() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let request = |method: &str, params: Value| json!({"type": "mcp", "data": {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}});
    let tools = ask(&mut socket, &request("tools/list", json!({}))).await;
    assert_eq!((&tools["type"], &tools["data"]["id"]), (&json!("mcp"), &json!("a")));
    assert_eq!(tools["data"]["result"]["tools"][0]["name"], "add");
    let early = ask(&mut socket, &request("tools/call", json!({"name": "add", "arguments": {"amount": 1}}))).await;
    assert!(early["data"]["error"].is_object());
    let begun = reset(&mut socket, &json!({"seed": 1})).await;
    let called = ask(&mut socket, &request("tools/call", json!({"name": "add", "arguments": {"amount": 1}}))).await;
    assert_eq!(called["data"]["result"]["data"], "Count: 1.");
    let own = ask(&mut socket, &request("openenv/session/create", json!({}))).await;
    assert_eq!(own["data"]["result"]["session_id"], begun["metadata"]["session_id"]);
    let closing = json!({"session_id": begun["metadata"]["session_id"]});
    assert!(ask(&mut socket, &request("openenv/session/close", closing)).await["data"]["error"].is_object());
    assert_eq!(state(&mut socket).await["step_count"], 1);
    server.stop().await;
}

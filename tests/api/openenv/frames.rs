//! The frames of `/ws`: what is asked, what is answered, and with which codes.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{
    COUNTER, add, ask, ask_text, close, connect, counter, episode, hear, open, refused, reset, session, state, step,
};
use crate::support::server::{ADMIN_KEY, TestServer};
use futures::SinkExt;

#[tokio::test]
async fn an_episode_is_played_to_its_score() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    assert_eq!(state(&mut socket).await, json!({"episode_id": null, "step_count": 0}));
    let first = reset(&mut socket, &counter("ep-1")).await;
    assert_eq!((&first["reward"], &first["done"]), (&Value::Null, &json!(false)));
    assert_eq!(first["observation"]["metadata"], json!({}));
    assert!(first["observation"]["text"].as_str().unwrap().contains("Count: 0."));
    assert_eq!(first["metadata"]["episode_id"], "ep-1");
    let second = step(&mut socket, &json!({"text": "1"})).await;
    assert_eq!((&second["reward"], &second["done"]), (&Value::Null, &json!(false)));
    assert_eq!(second["observation"]["data"], json!({"count": 1}));
    let now = state(&mut socket).await;
    assert_eq!((&now["episode_id"], &now["step_count"], &now["done"]), (&json!("ep-1"), &json!(1), &json!(false)));
    let last = step(&mut socket, &json!({"tool": "add", "arguments": {"amount": 2}})).await;
    assert_eq!((&last["done"], &last["metadata"]["terminated"]), (&json!(true), &json!(true)));
    let ends = |reply: &Value| (reply["terminated"].clone(), reply["truncated"].clone());
    assert_eq!([ends(&second), ends(&last)], [(json!(false), json!(false)), (json!(true), json!(false))]);
    let verdict = episode(&server, &last).await["verdict"].clone();
    assert_eq!((&verdict["status"], &verdict["score"]), (&json!("scored"), &last["reward"]));
    assert_eq!(last["metadata"]["score"], last["reward"]);
    let over = state(&mut socket).await;
    assert_eq!((&over["done"], &over["score"], &over["step_count"]), (&json!(true), &last["reward"], &json!(2)));
    assert_eq!(refused(&mut socket, &json!({"type": "step", "data": {"text": "1"}})).await, "EXECUTION_ERROR");
    // What a policy is shown holds neither reward nor verdict nor names.
    for shown in [&first, &second, &last] {
        let text = shown["observation"].to_string();
        for word in ["ses_", "epi_", "ep-1", "score", "reward"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
    assert_eq!(close(socket).await, Some(1000));
    assert_eq!(session(&server, &last).await["state"], "closed");
    server.stop().await;
}

#[tokio::test]
async fn tools_are_listed_and_called_as_openenv_does() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let listed = step(&mut socket, &json!({"type": "list_tools"})).await;
    let tool = &listed["observation"]["tools"][0];
    assert_eq!(tool["name"], "add");
    assert!(tool["description"].is_string() && tool["input_schema"]["properties"]["amount"].is_object());
    assert_eq!(tool.as_object().unwrap().len(), 3);
    assert!(listed["metadata"].as_object().unwrap().is_empty());
    reset(&mut socket, &counter("tools")).await;
    let called = step(&mut socket, &add(1)).await["observation"].clone();
    assert_eq!((&called["tool_name"], &called["error"]), (&json!("add"), &Value::Null));
    assert_eq!(called["result"]["data"], "Count: 1.");
    assert_eq!(called["result"]["structured_content"], json!({"count": 1}));
    let misfit = json!({"type": "call_tool", "tool_name": "add", "arguments": {"amount": "x"}});
    assert_eq!(step(&mut socket, &misfit).await["observation"]["error"]["error_type"], "invalid_args");
    let unknown = json!({"type": "call_tool", "tool_name": "dance"});
    assert_eq!(step(&mut socket, &unknown).await["observation"]["error"]["error_type"], "tool_not_found");
    // Calls that do not fit are turns; looking at the tools is none.
    step(&mut socket, &json!({"type": "list_tools"})).await;
    assert_eq!(state(&mut socket).await["step_count"], 3);
    server.stop().await;
}

#[tokio::test]
async fn every_fault_has_its_code_and_leaves_the_socket_open() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    for (frame, code) in [
        ("{", "INVALID_JSON"),
        (r#"{"type":"reset","data":{"seed":NaN}}"#, "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        (r#"{"type":"dance"}"#, "UNKNOWN_TYPE"),
        (r#"{"type":"reset","data":{},"seed":7}"#, "VALIDATION_ERROR"),
        (r#"{"type":"reset","data":{"seed":-1}}"#, "VALIDATION_ERROR"),
        (r#"{"type":"reset","data":{"split":"nowhere"}}"#, "VALIDATION_ERROR"),
        (r#"{"type":"reset","data":{"index":99999999}}"#, "VALIDATION_ERROR"),
        (r#"{"type":"reset","data":{"config":{"colour":"red"}}}"#, "VALIDATION_ERROR"),
        (r#"{"type":"reset","data":{"run":"run_0197a3c2f2a87c53b0a1d5e6f7089abc"}}"#, "SESSION_ERROR"),
        (r#"{"type":"reset","data":{"episode_id":"never","resume":true}}"#, "SESSION_ERROR"),
        (r#"{"type":"step","data":{"text":"1"}}"#, "EXECUTION_ERROR"),
        (r#"{"type":"step","data":{"colour":"red"}}"#, "VALIDATION_ERROR"),
        (r#"{"type":"step"}"#, "VALIDATION_ERROR"),
    ] {
        let reply = ask_text(&mut socket, frame).await;
        assert_eq!((&reply["type"], &reply["data"]["code"]), (&json!("error"), &json!(code)), "{frame} {reply}");
    }
    socket.send(Message::binary(vec![1_u8, 2])).await.unwrap();
    assert_eq!(hear(&mut socket).await.unwrap()["data"]["code"], "INVALID_JSON");
    let reply = ask(&mut socket, &json!({"type": "reset", "data": {"episode_id": "x".repeat(256)}})).await;
    assert_eq!(reply["data"]["errors"][0]["loc"], json!(["data", "episode_id"]));
    assert_eq!(reply["data"]["errors"][0]["type"], "string_too_long");
    // None of this has changed anything, and the socket still works.
    reset(&mut socket, &counter("after")).await;
    let reply = ask(&mut socket, &json!({"type": "step", "data": {"text": {}}})).await;
    assert_eq!(reply["data"]["errors"][0]["loc"], json!(["data", "text"]));
    assert_eq!(step(&mut socket, &json!({"text": "3"})).await["done"], true);
    server.stop().await;
}

#[tokio::test]
async fn an_environment_that_is_not_there_is_told_before_the_upgrade() {
    let server = TestServer::start().await;
    for name in ["bench/nothing", "bench/counter@99", "a/b"] {
        assert_eq!(connect(&server, &super::path(name, "ws"), Some(ADMIN_KEY)).await.unwrap_err(), 404);
    }
    let mut socket = open(&server, "bench/counter@1", "").await;
    reset(&mut socket, &counter("versioned")).await;
    server.stop().await;
}

#[tokio::test]
async fn a_reset_begins_anew_and_leaves_what_was_before() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let first = reset(&mut socket, &json!({"seed": 1})).await;
    step(&mut socket, &json!({"text": "1"})).await;
    let again = reset(&mut socket, &json!({"seed": 1})).await;
    assert_eq!(again["observation"], first["observation"]);
    assert_ne!(again["metadata"]["session_id"], first["metadata"]["session_id"]);
    assert_eq!(state(&mut socket).await["step_count"], 0);
    let other = reset(&mut socket, &json!({"seed": 2})).await;
    assert_ne!(other["observation"], first["observation"]);
    let split = reset(&mut socket, &json!({"split": "test", "index": 3})).await;
    assert_eq!(split["metadata"]["task"], "test-3");
    // A reset that is refused leaves the episode as it is.
    let wrong = json!({"type": "reset", "data": {"split": "nowhere"}});
    assert_eq!(refused(&mut socket, &wrong).await, "VALIDATION_ERROR");
    assert_eq!(
        step(&mut socket, &json!({"text": "1"})).await["metadata"]["session_id"],
        split["metadata"]["session_id"]
    );
    super::until("the one before is closed", || async { session(&server, &first).await["state"] == "closed" }).await;
    let left = episode(&server, &first).await;
    assert_eq!((&left["stop_reason"], &left["verdict"]), (&json!("left"), &Value::Null));
    server.stop().await;
}

#[tokio::test]
async fn closing_a_live_episode_finishes_and_scores_it() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("closed")).await;
    step(&mut socket, &json!({"text": "1"})).await;
    assert_eq!(close(socket).await, Some(1000));
    assert_eq!(session(&server, &begun).await["closed_reason"], "deleted");
    let episode = episode(&server, &begun).await;
    assert_eq!((&episode["state"], &episode["truncated"]), (&json!("ended"), &json!(true)));
    assert_eq!((&episode["verdict"]["status"], &episode["verdict"]["seq"]), (&json!("scored"), &json!(1)));
    server.stop().await;
}

#[tokio::test]
async fn a_limit_truncates_and_the_score_comes_with_it() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    reset(&mut socket, &json!({"seed": 1, "limits": {"steps": 2}})).await;
    assert_eq!(step(&mut socket, &json!({"text": "1"})).await["done"], false);
    let last = step(&mut socket, &json!({"text": "1"})).await;
    assert_eq!((&last["done"], &last["metadata"]["truncated"]), (&json!(true), &json!(true)));
    assert_eq!((&last["terminated"], &last["truncated"]), (&json!(false), &json!(true)));
    assert_eq!(last["metadata"]["terminated"], false);
    assert!(last["reward"].is_number());
    server.stop().await;
}

#[tokio::test]
async fn an_episode_without_a_score_is_an_error_and_never_a_reward() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &json!({"episode_id": "doomed", "seed": 1, "config": {"panic_at": 2}})).await;
    step(&mut socket, &json!({"text": "1"})).await;
    let reply = ask(&mut socket, &json!({"type": "step", "data": {"text": "1"}})).await;
    assert_eq!((&reply["type"], &reply["data"]["code"]), (&json!("error"), &json!("EXECUTION_ERROR")));
    assert_eq!((&reply["data"]["status"], &reply["data"]["episode_id"]), (&json!("infra_error"), &json!("doomed")));
    assert!(reply["data"].get("reward").is_none() && reply["data"].get("done").is_none());
    let now = state(&mut socket).await;
    assert_eq!((&now["status"], &now["score"], &now["done"]), (&json!("infra_error"), &Value::Null, &json!(true)));
    assert_eq!(episode(&server, &begun).await["verdict"]["status"], "infra_error");
    // The next episode is healthy.
    reset(&mut socket, &counter("healthy")).await;
    assert_eq!(step(&mut socket, &json!({"text": "3"})).await["done"], true);
    server.stop().await;
}

#[tokio::test]
async fn sessions_behind_the_mount_are_ordinary_ones() {
    let server = TestServer::start().await;
    let run = server.post("/v1/runs", &json!({"lease_ms": 60_000})).await.ok()["id"].clone();
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &json!({"episode_id": "owned", "seed": 1, "run": run})).await;
    step(&mut socket, &json!({"text": "2", "metadata": {"tokens": [1, 2]}})).await;
    let found = session(&server, &begun).await;
    assert_eq!((&found["run"], &found["metadata"]["openenv"]["episode_id"]), (&run, &json!("owned")));
    let id = found["id"].as_str().unwrap();
    let forks = server.post(&format!("/v1/sessions/{id}/fork"), &json!({"count": 2})).await.ok();
    assert_eq!(forks["data"].as_array().unwrap().len(), 2);
    let recorded = server.get(&format!("/v1/episodes/{}/steps/1", found["episode"].as_str().unwrap())).await.ok();
    assert_eq!((&recorded["action"], &recorded["meta"]), (&json!({"text": "2"}), &json!({"tokens": [1, 2]})));
    server.stop().await;
}

//! The calls over HTTP: episodes that are found by their id, descriptions, and the task API.

use serde_json::{Value, json};

use super::{COUNTER, add, counter, episode, path, post};
use crate::support::server::TestServer;

#[tokio::test]
async fn an_episode_is_played_by_its_id() {
    let server = TestServer::start().await;
    let first = post(&server, "reset", &counter("ep-1")).await.ok();
    assert_eq!((&first["reward"], &first["done"]), (&Value::Null, &json!(false)));
    assert_eq!(first["metadata"]["episode_id"], "ep-1");
    let body = json!({"episode_id": "ep-1", "action": add(1), "timeout_s": 30.0, "request_id": "r1", "render": true});
    let moved = post(&server, "step", &body).await.ok();
    assert_eq!((&moved["reward"], &moved["metadata"]["step_count"]), (&Value::Null, &json!(1)));
    let state = server.get(&path(COUNTER, "state?episode_id=ep-1")).await.ok();
    assert_eq!((&state["episode_id"], &state["step_count"]), (&json!("ep-1"), &json!(1)));
    // With its number a step is safe to repeat.
    let last = json!({"episode_id": "ep-1", "action": {"text": "2"}, "seq": 2});
    let ended = post(&server, "step", &last).await.ok();
    assert_eq!(post(&server, "step", &last).await.ok(), ended);
    assert_eq!(ended["done"], true);
    assert_eq!(ended["reward"], episode(&server, &ended).await["verdict"]["score"]);
    let recorded = format!("/v1/episodes/{}/steps/1", moved["metadata"]["episode"].as_str().unwrap());
    assert_eq!(server.get(&recorded).await.ok()["meta"], json!({"request_id": "r1"}));
    let after = json!({"episode_id": "ep-1", "action": {"text": "2"}});
    assert_eq!(post(&server, "step", &after).await.code(), "episode_over");
    server.stop().await;
}

#[tokio::test]
async fn episodes_side_by_side_do_not_mix_and_a_reset_begins_anew() {
    let server = TestServer::start().await;
    let nameless = post(&server, "reset", &json!({"seed": 1})).await.ok();
    let name = nameless["metadata"]["episode_id"].as_str().unwrap();
    let other = post(&server, "reset", &counter("other")).await.ok();
    for (id, amount) in [(name, 5), ("other", 1), (name, 5)] {
        post(&server, "step", &json!({"episode_id": id, "action": add(amount)})).await.ok();
    }
    let count = async |session: &Value| {
        let id = session["metadata"]["session_id"].as_str().unwrap();
        server.get(&format!("/v1/sessions/{id}/state?pointer=/count")).await.ok()["state"].clone()
    };
    assert_eq!((count(&nameless).await, count(&other).await), (json!(10), json!(1)));
    let again = post(&server, "reset", &counter("other")).await.ok();
    assert_ne!(again["metadata"]["session_id"], other["metadata"]["session_id"]);
    assert_eq!(server.get(&path(COUNTER, "state?episode_id=other")).await.ok()["step_count"], 0);
    // By its session, an episode can be told apart from what came after it.
    let id = nameless["metadata"]["session_id"].as_str().unwrap();
    let moved = post(&server, "step", &json!({"session_id": id, "action": {"text": "1"}})).await.ok();
    assert_eq!(moved["metadata"]["step_count"], 3);
    server.stop().await;
}

#[tokio::test]
async fn faults_are_told_as_fastapi_tells_them() {
    let server = TestServer::start().await;
    post(&server, "reset", &counter("ep-1")).await.ok();
    for (call, body, kind, place) in [
        ("reset", json!({"seed": -1}), "greater_than_equal", json!(["body", "seed"])),
        ("reset", json!({"episode_id": "x".repeat(256)}), "string_too_long", json!(["body", "episode_id"])),
        ("reset", json!([1]), "dict_type", json!(["body"])),
        ("reset", json!({"config": {"colour": 1}}), "value_error", json!(["body", "config", "colour"])),
        ("step", json!({}), "missing", json!(["body", "action"])),
        ("step", json!({"action": {"text": "1"}}), "missing", json!(["body", "episode_id"])),
        ("step", json!({"episode_id": "ep-1", "action": 7}), "dict_type", json!(["body", "action"])),
        (
            "step",
            json!({"episode_id": "ep-1", "action": {"text": {}}}),
            "value_error",
            json!(["body", "action", "text"]),
        ),
        ("step", json!({"action": {"text": "1"}, "timeout_s": 0}), "greater_than", json!(["body", "timeout_s"])),
        ("step", json!({"action": {"text": "1"}, "seq": 0}), "greater_than_equal", json!(["body", "seq"])),
        ("counter/task", json!({"split": "train"}), "missing", json!(["body", "index"])),
        ("counter/tasks", json!({}), "missing", json!(["body", "split"])),
        ("counter/task", json!({"split": "train", "index": -1}), "greater_than_equal", json!(["body", "index"])),
        ("counter/task_range", json!({"split": "train", "start": 0}), "value_error", json!(["body", "stop"])),
    ] {
        let answer = post(&server, call, &body).await;
        assert_eq!(answer.status.as_u16(), 422, "{call} {body} {}", answer.body);
        assert_eq!(answer.headers["content-type"], "application/json");
        let detail = &answer.body["detail"][0];
        assert_eq!((&detail["type"], &detail["loc"]), (&json!(kind), &place), "{call} {body}");
        assert!(detail["msg"].is_string() && detail.get("input").is_some());
    }
    let url = format!("{}{}", server.url(), path(COUNTER, "reset"));
    let broken = server.http.post(url).bearer_auth(server.key()).body("{").send().await.unwrap();
    assert_eq!(broken.status().as_u16(), 422);
    for (call, body, code) in [
        ("step", json!({"episode_id": "never", "action": {"text": "1"}}), "not_found"),
        ("step", json!({"session_id": "nonsense", "action": {"text": "1"}}), "not_found"),
        ("reset", json!({"split": "nowhere"}), "unknown_task"),
        ("counter/task", json!({"split": "train", "index": 9_999_999}), "malformed"),
        ("counter/tasks", json!({"split": "nowhere"}), "unknown_task"),
        ("other/tasks", json!({"split": "train"}), "unknown_environment"),
    ] {
        assert_eq!(post(&server, call, &body).await.code(), code, "{call} {body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_episode_without_a_score_is_an_error_over_http_too() {
    let server = TestServer::start().await;
    post(&server, "reset", &json!({"episode_id": "d", "seed": 1, "config": {"panic_at": 1}})).await.ok();
    let answer = post(&server, "step", &json!({"episode_id": "d", "action": {"text": "1"}})).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (500, "unscored"));
    assert_eq!((&answer.body["verdict"], &answer.body["episode_id"]), (&json!("infra_error"), &json!("d")));
    assert!(answer.body.get("reward").is_none());
    server.stop().await;
}

#[tokio::test]
async fn an_environment_describes_itself() {
    let server = TestServer::start().await;
    assert_eq!(server.get(&path(COUNTER, "health")).await.ok(), json!({"status": "healthy"}));
    let about = server.get(&path(COUNTER, "metadata")).await.ok();
    assert_eq!((&about["name"], &about["version"]), (&json!(COUNTER), &json!("1")));
    let schema = server.get(&path(COUNTER, "schema")).await.ok();
    assert_eq!(schema["action"]["required"], json!(["text"]));
    assert_eq!(schema["action"]["$defs"]["tool"]["anyOf"][0]["properties"]["tool"]["const"], "add");
    let state = server.get(&path(COUNTER, "state")).await.ok();
    assert_eq!(state, json!({"episode_id": null, "step_count": 0}));
    // What is shown fits what is promised.
    let (observations, states) = (
        jsonschema::validator_for(&schema["observation"]).unwrap(),
        jsonschema::validator_for(&schema["state"]).unwrap(),
    );
    let actions = jsonschema::validator_for(&schema["action"]).unwrap();
    assert!(actions.is_valid(&json!({"text": "1"})));
    let mut shown = vec![post(&server, "reset", &counter("ep-1")).await.ok()];
    for action in [json!({"text": "1"}), add(1), json!({"type": "list_tools"}), add(1)] {
        shown.push(post(&server, "step", &json!({"episode_id": "ep-1", "action": action})).await.ok());
    }
    assert_eq!(shown[4]["done"], true);
    for shown in shown {
        let mut whole = shown["observation"].clone();
        (whole["reward"], whole["done"]) = (shown["reward"].clone(), shown["done"].clone());
        assert!(observations.is_valid(&whole), "{whole}");
    }
    assert!(
        states.is_valid(&server.get(&path(COUNTER, "state?episode_id=ep-1")).await.ok()) && states.is_valid(&state)
    );
    for call in ["health", "metadata", "schema", "state", "list_environments", "openapi.json", "nothing/splits"] {
        assert_eq!(server.get(&path("bench/nothing", call)).await.code(), "unknown_environment", "{call}");
    }
    server.stop().await;
}

#[tokio::test]
async fn tasks_are_listed_and_chosen_by_their_place() {
    let server = TestServer::start().await;
    assert_eq!(server.get(&path(COUNTER, "list_environments")).await.ok(), json!(["counter"]));
    let splits = server.get(&path(COUNTER, "Counter/splits")).await.ok();
    let train = json!({"name": "train", "type": "train", "num_tasks": 1_000_000});
    assert!(splits.as_array().unwrap().contains(&train), "{splits}");
    let count = post(&server, "counter/num_tasks", &json!({"split": "test"})).await.ok();
    assert_eq!(count, json!({"num_tasks": 100_000}));
    let preview = post(&server, "counter/tasks", &json!({"split": "test"})).await.ok();
    assert_eq!((preview["tasks"].as_array().unwrap().len(), &preview["env_name"]), (100, &json!("counter")));
    let third = post(&server, "counter/task", &json!({"split": "test", "index": 3})).await.ok()["task"].clone();
    assert_eq!(third, preview["tasks"][3]);
    let range = post(&server, "counter/task_range", &json!({"split": "test", "start": 2, "stop": 5})).await.ok();
    assert_eq!(range["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(range["tasks"][1], third);
    let end = json!({"split": "test", "start": 99_999, "stop": 100_005});
    assert_eq!(post(&server, "counter/task_range", &end).await.ok()["tasks"].as_array().unwrap().len(), 1);
    let played = post(&server, "reset", &json!({"split": "test", "index": 3})).await.ok();
    assert_eq!(played["metadata"]["task"], third["id"]);
    server.stop().await;
}

#[tokio::test]
async fn an_episode_that_nobody_asks_for_is_given_up() {
    let server = TestServer::start_with(|config| {
        config.idle_ms = 400;
        config.openenv_sessions_max = 1;
    })
    .await;
    let begun = post(&server, "reset", &counter("ep-1")).await.ok();
    assert_eq!(post(&server, "reset", &counter("ep-2")).await.code(), "capacity");
    super::until("it is closed", || async { super::session(&server, &begun).await["state"] == "closed" }).await;
    assert_eq!(episode(&server, &begun).await["verdict"]["status"], "invalid");
    super::until("its place is free", || async { post(&server, "reset", &counter("ep-2")).await.status.is_success() })
        .await;
    server.stop().await;
}

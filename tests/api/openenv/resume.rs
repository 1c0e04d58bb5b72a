//! Connections that are lost and come back: no episode is lost with them, and none is gone on with by mistake.

use futures::SinkExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{COUNTER, ask, close, counter, episode, hear, open, path, refused, reset, session, state, step, until};
use crate::support::server::TestServer;

#[tokio::test]
async fn the_same_reset_after_a_drop_goes_on_where_the_episode_stands() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("ep-1")).await;
    let seen = step(&mut socket, &json!({"text": "1"})).await;
    drop(socket);
    let mut socket = open(&server, COUNTER, "").await;
    let back = reset(&mut socket, &counter("ep-1")).await;
    assert_eq!(back["metadata"]["session_id"], begun["metadata"]["session_id"]);
    assert_eq!((&back["metadata"]["resumed"], &back["metadata"]["step_count"]), (&json!(true), &json!(1)));
    assert_eq!(
        (&back["observation"], &back["reward"], &back["done"]),
        (&seen["observation"], &Value::Null, &json!(false))
    );
    assert_eq!(step(&mut socket, &json!({"text": "2"})).await["done"], true);
    assert_eq!(state(&mut socket).await["step_count"], 2);
    server.stop().await;
}

#[tokio::test]
async fn a_step_whose_answer_was_lost_is_taken_once_and_its_reward_is_told() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("ep-1")).await;
    // The frame that ends the episode arrives, its answer does not.
    socket.send(Message::text(r#"{"type":"step","data":{"text":"3"}}"#)).await.unwrap();
    until("the step is taken", || async { session(&server, &begun).await["seq"] == 1 }).await;
    drop(socket);
    let mut socket = open(&server, COUNTER, "").await;
    let back = reset(&mut socket, &counter("ep-1")).await;
    let verdict = episode(&server, &begun).await["verdict"].clone();
    assert_eq!((&back["done"], &back["reward"]), (&json!(true), &verdict["score"]));
    assert_eq!((&back["metadata"]["resumed"], &back["metadata"]["terminated"]), (&json!(true), &json!(true)));
    // Having been told, the client goes on: on this socket a reset begins anew.
    let anew = reset(&mut socket, &counter("ep-1")).await;
    assert_ne!(anew["metadata"]["session_id"], begun["metadata"]["session_id"]);
    assert_eq!((&anew["done"], anew["metadata"].get("resumed")), (&json!(false), None));
    server.stop().await;
}

#[tokio::test]
async fn an_end_without_a_score_is_told_once_to_the_one_who_comes_back() {
    let server = TestServer::start().await;
    let doomed = json!({"type": "reset", "data": {"episode_id": "d", "seed": 1, "config": {"panic_at": 2}}});
    let mut socket = open(&server, COUNTER, "").await;
    let begun = super::observation(&ask(&mut socket, &doomed).await);
    socket.send(Message::text(r#"{"type":"step","data":{"text":"2"}}"#)).await.unwrap();
    until("the episode is over", || async { episode(&server, &begun).await["state"] == "ended" }).await;
    drop(socket);
    let mut socket = open(&server, COUNTER, "").await;
    let told = ask(&mut socket, &doomed).await;
    assert_eq!((&told["data"]["code"], &told["data"]["status"]), (&json!("EXECUTION_ERROR"), &json!("infra_error")));
    let anew = super::observation(&ask(&mut socket, &doomed).await);
    assert_ne!(anew["metadata"]["session_id"], begun["metadata"]["session_id"]);
    server.stop().await;
}

#[tokio::test]
async fn whoever_wants_another_episode_gets_one() {
    let server = TestServer::start().await;
    let play = async |query: &Value| {
        let mut socket = open(&server, COUNTER, "").await;
        let shown = reset(&mut socket, query).await;
        let moved = step(&mut socket, &json!({"text": "1"})).await;
        assert_eq!(moved["metadata"]["step_count"], 1, "{moved}");
        shown["metadata"]["session_id"].clone()
    };
    let first = play(&counter("ep-1")).await;
    // Another seed, a plain reset, and a reset that says so.
    let mut other = counter("ep-1");
    other["seed"] = json!(8);
    let second = play(&other).await;
    assert_ne!(second, first);
    assert_ne!(play(&json!({"seed": 7})).await, first);
    let mut anew = other.clone();
    anew["resume"] = json!(false);
    let third = play(&anew).await;
    assert_ne!(third, second);
    // Whoever said `close` is done with the episode.
    let mut socket = open(&server, COUNTER, "").await;
    let back = reset(&mut socket, &other).await;
    assert_eq!((&back["metadata"]["session_id"], &back["metadata"]["step_count"]), (&third, &json!(1)));
    close(socket).await;
    assert_ne!(play(&other).await, third);
    server.stop().await;
}

#[tokio::test]
async fn two_who_use_one_id_at_the_same_time_play_two_episodes() {
    let server = TestServer::start().await;
    let (mut one, mut two) = (open(&server, COUNTER, "").await, open(&server, COUNTER, "").await);
    let (first, second) = (reset(&mut one, &counter("same")).await, reset(&mut two, &counter("same")).await);
    assert_ne!(first["metadata"]["session_id"], second["metadata"]["session_id"]);
    assert_eq!(first["observation"], second["observation"]);
    step(&mut one, &json!({"text": "1"})).await;
    assert_eq!(step(&mut two, &json!({"text": "2"})).await["observation"]["data"]["count"], 2);
    assert_eq!(
        (&state(&mut one).await["episode_id"], &state(&mut two).await["episode_id"]),
        (&json!("same"), &json!("same"))
    );
    server.stop().await;
}

#[tokio::test]
async fn a_connection_that_only_seems_alive_can_be_replaced_by_demand() {
    let server = TestServer::start().await;
    let mut stale = open(&server, COUNTER, "").await;
    let begun = reset(&mut stale, &counter("ep-1")).await;
    step(&mut stale, &json!({"text": "1"})).await;
    let mut fresh = open(&server, COUNTER, "").await;
    let mut demand = counter("ep-1");
    demand["resume"] = json!(true);
    let back = reset(&mut fresh, &demand).await;
    assert_eq!(back["metadata"]["session_id"], begun["metadata"]["session_id"]);
    assert_eq!(back["metadata"]["step_count"], 1);
    assert_eq!(hear(&mut stale).await.unwrap_err(), Some(1008));
    assert_eq!(step(&mut fresh, &json!({"text": "2"})).await["done"], true);
    server.stop().await;
}

#[tokio::test]
async fn a_session_is_joined_by_its_id() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("ep-1")).await;
    step(&mut socket, &json!({"text": "1"})).await;
    let query = format!("?session_id={}", begun["metadata"]["session_id"].as_str().unwrap());
    // Not while another holds it, unless it is demanded.
    let mut refused = open(&server, COUNTER, &query).await;
    assert_eq!(hear(&mut refused).await.unwrap()["data"]["code"], "SESSION_ERROR");
    assert_eq!(hear(&mut refused).await.unwrap_err(), Some(1000));
    drop(socket);
    let mut socket = open(&server, COUNTER, &format!("{query}&resume=true")).await;
    assert_eq!(state(&mut socket).await["step_count"], 1);
    assert_eq!(step(&mut socket, &json!({"text": "2"})).await["done"], true);
    // A reset stays in the session, which keeps its settings.
    let again = reset(&mut socket, &json!({"seed": 9, "episode_id": "ep-2"})).await;
    assert_eq!(again["metadata"]["session_id"], begun["metadata"]["session_id"]);
    assert_eq!(state(&mut socket).await["episode_id"], "ep-2");
    let settings = json!({"type": "reset", "data": {"config": {"target": 9}}});
    assert_eq!(super::refused(&mut socket, &settings).await, "VALIDATION_ERROR");
    assert_eq!(close(socket).await, Some(1000));
    assert_eq!(session(&server, &begun).await["state"], "closed");
    for id in ["ses_0197a3c2f2a87c53b0a1d5e6f7089abc", "nonsense", begun["metadata"]["session_id"].as_str().unwrap()] {
        let mut socket = open(&server, COUNTER, &format!("?session_id={id}")).await;
        assert_eq!(hear(&mut socket).await.unwrap()["data"]["code"], "SESSION_ERROR", "{id}");
        assert_eq!(hear(&mut socket).await.unwrap_err(), Some(1000));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_session_of_the_api_is_lent_and_not_taken() {
    let server = TestServer::start().await;
    let made = server.post("/v1/sessions", &json!({"environment": COUNTER, "config": {"target": 3}})).await.ok();
    let query = format!("?session_id={}", made["id"].as_str().unwrap());
    let mut socket = open(&server, COUNTER, &query).await;
    step(&mut socket, &json!({"text": "1"})).await;
    assert_eq!(close(socket).await, Some(1000));
    let path = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    let found = server.get(&path).await.ok();
    assert_eq!((&found["state"], &found["seq"]), (&json!("open"), &json!(1)));
    // Under another environment's address it is not there.
    let mut elsewhere = open(&server, "puzzle/countdown", &query).await;
    assert_eq!(hear(&mut elsewhere).await.unwrap()["data"]["code"], "SESSION_ERROR");
    server.stop().await;
}

#[tokio::test]
async fn an_episode_survives_the_server() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("ep-1")).await;
    step(&mut socket, &json!({"text": "1"})).await;
    server.app.shutdown().cancel();
    assert_eq!(hear(&mut socket).await.unwrap_err(), Some(1001));
    let data = server.stop().await;
    let server = TestServer::start_in(data, |_| {}).await;
    let mut socket = open(&server, COUNTER, "").await;
    let back = reset(&mut socket, &counter("ep-1")).await;
    assert_eq!(back["metadata"]["session_id"], begun["metadata"]["session_id"]);
    assert_eq!(step(&mut socket, &json!({"text": "2"})).await["done"], true);
    server.stop().await;
}

#[tokio::test]
async fn who_does_not_come_back_in_time_has_lost_the_episode_and_it_is_no_sample() {
    let server = TestServer::start_with(|config| config.openenv_linger_ms = 300).await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("ep-1")).await;
    step(&mut socket, &json!({"text": "1"})).await;
    drop(socket);
    until("the session is closed", || async { session(&server, &begun).await["state"] == "closed" }).await;
    let verdict = episode(&server, &begun).await["verdict"].clone();
    assert_eq!((&verdict["status"], &verdict["score"]), (&json!("invalid"), &Value::Null));
    let mut socket = open(&server, COUNTER, "").await;
    let demand = json!({"type": "reset", "data": {"episode_id": "ep-1", "resume": true}});
    assert_eq!(refused(&mut socket, &demand).await, "SESSION_ERROR");
    assert_eq!(reset(&mut socket, &counter("ep-1")).await["metadata"].get("resumed"), None);
    server.stop().await;
}

#[tokio::test]
async fn ids_may_be_used_again_and_again() {
    let server = TestServer::start().await;
    let mut sessions = std::collections::HashSet::new();
    for _ in 0..20 {
        let mut socket = open(&server, COUNTER, "").await;
        let shown = reset(&mut socket, &counter("always")).await;
        assert_eq!(shown["metadata"].get("resumed"), None);
        assert!(sessions.insert(shown["metadata"]["session_id"].to_string()));
        assert_eq!(step(&mut socket, &json!({"text": "3"})).await["done"], true);
        close(socket).await;
    }
    // The newest of them is the one that the id means.
    let state = server.get(&path(COUNTER, "state?episode_id=always")).await.ok();
    assert!(sessions.contains(&state["session_id"].to_string()));
    assert_eq!((&state["done"], &state["open"]), (&json!(true), &json!(false)));
    server.stop().await;
}

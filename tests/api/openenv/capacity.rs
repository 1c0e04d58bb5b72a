//! The limit of concurrent players, and that it is freed.

use serde_json::json;

use super::{COUNTER, ask, close, counter, hear, open, path, post, reset, step, until};
use crate::support::server::TestServer;

#[tokio::test]
async fn whoever_finds_no_room_is_told_and_room_comes_back() {
    let server = TestServer::start_with(|config| config.openenv_sessions_max = 2).await;
    let mut first = open(&server, COUNTER, "").await;
    let mut second = open(&server, COUNTER, "").await;
    reset(&mut first, &json!({"seed": 1})).await;
    // The second has not begun, and its place is kept for it.
    let mut third = open(&server, COUNTER, "").await;
    let told = hear(&mut third).await.unwrap();
    assert_eq!((&told["type"], &told["data"]["code"]), (&json!("error"), &json!("CAPACITY_REACHED")));
    assert_eq!((&told["data"]["active_sessions"], &told["data"]["max_sessions"]), (&json!(2), &json!(2)));
    assert_eq!(hear(&mut third).await.unwrap_err(), Some(1000));
    reset(&mut second, &json!({"seed": 2})).await;
    // A session of its own for every reset takes no second place.
    reset(&mut second, &json!({"seed": 3})).await;
    assert_eq!(post(&server, "reset", &json!({})).await.code(), "capacity");
    // The place is free as soon as the close frame is answered.
    for seed in 0..10 {
        assert_eq!(close(second).await, Some(1000));
        second = open(&server, COUNTER, "").await;
        reset(&mut second, &json!({"seed": seed})).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn dropped_sessions_make_room_for_new_ones_and_not_before() {
    let server = TestServer::start_with(|config| config.openenv_sessions_max = 2).await;
    let mut sockets = Vec::new();
    for name in ["a", "b"] {
        let mut socket = open(&server, COUNTER, "").await;
        reset(&mut socket, &counter(name)).await;
        step(&mut socket, &json!({"text": "1"})).await;
        sockets.push(socket);
    }
    drop(sockets);
    // Both come back, however full it is.
    let mut sockets = Vec::new();
    for name in ["b", "a"] {
        let mut socket = open(&server, COUNTER, "").await;
        let mut back = ask(&mut socket, &json!({"type": "reset", "data": counter(name)})).await;
        if back["data"]["metadata"]["resumed"].is_null() {
            // The server had not heard of the drop yet.
            let mut demand = counter(name);
            demand["resume"] = json!(true);
            back = ask(&mut socket, &json!({"type": "reset", "data": demand})).await;
        }
        assert_eq!(back["data"]["metadata"]["step_count"], 1, "{back}");
        sockets.push(socket);
    }
    drop(sockets);
    // New ones come, and the dropped ones give way.
    let mut sockets = Vec::new();
    for seed in 0..2 {
        let mut socket = None;
        until("a dropped session gives way", || async {
            let mut found = open(&server, COUNTER, "").await;
            let reply = ask(&mut found, &json!({"type": "reset", "data": {"seed": seed}})).await;
            reply["type"] == "observation"
        })
        .await;
        socket.get_or_insert(open(&server, COUNTER, "").await);
        sockets.extend(socket);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_storm_of_reconnects_leaves_nothing_behind() {
    let server = TestServer::start_with(|config| {
        // Those of one round that are being ended, those of the next, and some.
        config.openenv_sessions_max = 100;
        config.openenv_linger_ms = 200;
    })
    .await;
    for _ in 0..4 {
        let storm = (0..40).map(|number| {
            let server = &server;
            async move {
                let mut socket = open(server, COUNTER, "").await;
                reset(&mut socket, &json!({"episode_id": format!("storm-{number}"), "seed": 1})).await;
                step(&mut socket, &json!({"text": "1"})).await;
            }
        });
        futures::future::join_all(storm).await;
    }
    until("everything is given up", || async {
        let open = server.get("/v1/sessions?state=open&limit=1000").await.ok();
        open["data"].as_array().unwrap().is_empty()
    })
    .await;
    // All places are free again.
    let mut sockets = Vec::new();
    for seed in 0..100 {
        let mut socket = open(&server, COUNTER, "").await;
        reset(&mut socket, &json!({"seed": seed})).await;
        sockets.push(socket);
    }
    assert!(server.get(&path(COUNTER, "health")).await.status.is_success());
    server.stop().await;
}

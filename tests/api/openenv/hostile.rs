//! Clients that mean no good, or know no better.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

use super::{COUNTER, ask, counter, hear, open, reset, state, step, until};
use crate::support::server::{ADMIN_KEY, TestServer};

#[tokio::test]
async fn frames_up_to_the_bound_are_read_and_larger_ones_end_the_socket() {
    let server = TestServer::start_with(|config| config.openenv_frame_bytes_max = 1 << 20).await;
    let mut socket = open(&server, COUNTER, "").await;
    let begun = reset(&mut socket, &counter("large")).await;
    let large = format!("{}1", " ".repeat((1 << 20) - 200));
    assert_eq!(step(&mut socket, &json!({"text": large})).await["observation"]["data"]["count"], 1);
    // The server may hang up before all of it has left.
    let _ = socket.send(Message::text("x".repeat(2 << 20))).await;
    assert!(matches!(hear(&mut socket).await, Err(Some(1009) | None)));
    // The episode waits for the client to come back.
    let mut socket = open(&server, COUNTER, "").await;
    let back = reset(&mut socket, &counter("large")).await;
    assert_eq!(back["metadata"]["session_id"], begun["metadata"]["session_id"]);
    server.stop().await;
}

#[tokio::test]
async fn a_flood_without_reading_costs_nobody_else_anything() {
    let server = TestServer::start_with(|config| config.send_timeout_ms = 500).await;
    let mut flooder = open(&server, COUNTER, "").await;
    reset(&mut flooder, &json!({"seed": 1})).await;
    let flood = async {
        for _ in 0..100_000 {
            if flooder.feed(Message::text(r#"{"type":"state"}"#)).await.is_err() {
                return;
            }
        }
        let _ = flooder.flush().await;
    };
    let others = async {
        for seed in 0..20 {
            let mut socket = open(&server, COUNTER, "").await;
            reset(&mut socket, &json!({"seed": seed, "config": {"target": 1}})).await;
            assert_eq!(step(&mut socket, &json!({"text": "1"})).await["done"], true);
        }
    };
    let (flooded, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(20), flood), others);
    drop(flooded);
    server.stop().await;
}

#[tokio::test]
async fn requests_sent_at_once_are_answered_one_by_one_in_order() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    reset(&mut socket, &json!({"seed": 1})).await;
    for _ in 0..200 {
        socket.feed(Message::text(r#"{"type":"step","data":{"text":"1"}}"#)).await.unwrap();
    }
    socket.flush().await.unwrap();
    for count in 1..=200 {
        assert_eq!(hear(&mut socket).await.unwrap()["data"]["observation"]["data"]["count"], count);
    }
    server.stop().await;
}

#[tokio::test]
async fn pings_are_answered() {
    let server = TestServer::start().await;
    let mut socket = open(&server, COUNTER, "").await;
    for number in 0..10_u8 {
        socket.send(Message::Ping(vec![number].into())).await.unwrap();
        let Some(Ok(Message::Pong(bytes))) = socket.next().await else { panic!("no pong") };
        assert_eq!(bytes.as_ref(), [number]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_half_closed_connection_frees_its_seat() {
    let server = TestServer::start_with(|config| {
        config.openenv_sessions_max = 1;
        config.openenv_linger_ms = 100;
    })
    .await;
    let mut raw = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "GET /openenv/{COUNTER}/ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nauthorization: Bearer {ADMIN_KEY}\r\n\r\n"
    );
    raw.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    raw.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 101");
    // An unmasked frame, which no client may send, and then nothing more.
    raw.write_all(&[0x81, 0x02, b'{', b'}']).await.unwrap();
    raw.shutdown().await.unwrap();
    until("the seat is free", || async {
        let mut socket = open(&server, COUNTER, "").await;
        ask_or_closed(&mut socket).await
    })
    .await;
    server.stop().await;
}

async fn ask_or_closed(socket: &mut super::Socket) -> bool {
    let sent = socket.send(Message::text(json!({"type": "reset", "data": {"seed": 1}}).to_string())).await;
    sent.is_ok() && hear(socket).await.is_ok_and(|reply| reply["type"] == "observation")
}

#[tokio::test]
async fn many_reset_one_id_at_once_and_each_has_an_episode_of_its_own() {
    let server = TestServer::start().await;
    let crowd = (0..30).map(|_| async {
        let mut socket = open(&server, COUNTER, "").await;
        let shown = reset(&mut socket, &counter("crowd")).await;
        let moved = step(&mut socket, &json!({"text": "1"})).await;
        assert_eq!(moved["observation"]["data"]["count"], 1);
        assert_eq!(state(&mut socket).await["step_count"], 1);
        (shown["metadata"]["session_id"].to_string(), socket)
    });
    let played = futures::future::join_all(crowd).await;
    let sessions: std::collections::HashSet<&String> = played.iter().map(|(session, _)| session).collect();
    assert_eq!(sessions.len(), 30);
    server.stop().await;
}

#[tokio::test]
async fn ids_are_text_of_any_kind() {
    let server = TestServer::start().await;
    for id in ["a/b", "../..", "ü", "a\0b", "' OR 1=1 --", "%00", "\u{202e}"] {
        let mut socket = open(&server, COUNTER, "").await;
        reset(&mut socket, &counter(id)).await;
        assert_eq!(state(&mut socket).await["episode_id"], id);
        let reply = ask(&mut socket, &json!({"type": "step", "data": {"text": id}})).await;
        assert_eq!(reply["type"], "observation");
    }
    server.stop().await;
}

//! Connections below HTTP: slow heads, slow bodies, too many of them, and their end.

use std::time::Duration;

use palestra::config::Config;
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};

use super::sessions::counter;
use crate::support::server::{ADMIN_KEY, TestServer};

/// Longest wait for what has to happen within a fraction of it.
const PATIENCE: Duration = Duration::from_secs(20);
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";

async fn connect(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.address()).await.unwrap()
}

/// Whatever comes until the server hangs up.
async fn rest(connection: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, connection.read_to_end(&mut bytes)).await.expect("the server hangs up");
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// True if a request on this connection is answered.
async fn is_served(connection: &mut TcpStream) -> bool {
    if connection.write_all(HEALTH).await.is_err() {
        return false;
    }
    let mut answer = [0; 512];
    match timeout(PATIENCE, connection.read(&mut answer)).await.expect("an answer or an end") {
        Ok(length) => answer[..length].starts_with(b"HTTP/1.1 200"),
        Err(_) => false,
    }
}

async fn start(change: impl FnOnce(&mut Config)) -> TestServer {
    TestServer::start_with(|config| {
        config.drain_ms = 1_000;
        change(config);
    })
    .await
}

#[tokio::test]
async fn heads_that_never_end_are_cut_and_hinder_nobody() {
    let server = start(|config| config.head_timeout_ms = 500).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut connection = connect(&server).await;
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
        slow.push(connection);
    }
    assert_eq!(server.get("/v1/sessions").await.status, StatusCode::OK);
    for connection in &mut slow {
        assert!(!rest(connection).await.starts_with("HTTP/1.1 200"));
    }
    // So is one that says nothing at all, and one that says nothing more.
    let (mut silent, mut idle) = (connect(&server).await, connect(&server).await);
    assert!(is_served(&mut idle).await);
    rest(&mut silent).await;
    rest(&mut idle).await;
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_trickles_is_cut_with_408() {
    let server = start(|config| config.request_timeout_ms = 500).await;
    let id = counter(&server).await["id"].as_str().unwrap().to_owned();
    // The second route may take long for its answer, but not for its body.
    for path in ["/v1/sessions".to_owned(), format!("/v1/sessions/{id}/verify")] {
        let mut connection = connect(&server).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {ADMIN_KEY}\r\n\
             content-type: application/json\r\ncontent-length: 100000\r\n\r\n{{"
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        let (mut incoming, mut outgoing) = connection.split();
        let mut answer = [0; 2_048];
        let mut drops = interval(Duration::from_millis(20));
        let trickle = async {
            loop {
                drops.tick().await;
                if outgoing.write_all(b" ").await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let length = tokio::select! {
            length = timeout(PATIENCE, incoming.read(&mut answer)) => length.expect("an answer").unwrap(),
            () = trickle => unreachable!("it trickles on"),
        };
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
        assert!(answer.contains("request_timeout"), "{path}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn connections_have_a_bound_and_their_room_comes_back() {
    let server = start(|config| config.connections_max = 2).await;
    let (mut first, mut second) = (connect(&server).await, connect(&server).await);
    assert!(is_served(&mut first).await && is_served(&mut second).await);
    let mut third = connect(&server).await;
    assert!(!is_served(&mut third).await);
    drop(first);
    timeout(PATIENCE, async { while !is_served(&mut connect(&server).await).await {} }).await.expect("room comes back");
    assert!(is_served(&mut second).await);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_connections_that_wait() {
    let server = start(|_| {}).await;
    let (mut idle, mut half, mut silent) = (connect(&server).await, connect(&server).await, connect(&server).await);
    half.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    assert!(is_served(&mut idle).await);
    server.stop().await;
    for connection in [&mut idle, &mut half, &mut silent] {
        assert_eq!(rest(connection).await, "");
    }
}

//! `/v1/stream` over a real port.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::sessions::counter;
use crate::support::server::{ADMIN_KEY, TestServer};

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub async fn connect(server: &TestServer, protocols: &str) -> (Socket, Option<String>) {
    let mut request = server.url().replace("http", "ws").into_client_request().unwrap();
    *request.uri_mut() = format!("{}/v1/stream", server.url().replace("http", "ws")).parse().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
    let (socket, response) = tokio_tungstenite::connect_async(request).await.unwrap();
    let echoed = response.headers().get("sec-websocket-protocol").map(|value| value.to_str().unwrap().to_owned());
    (socket, echoed)
}

pub async fn open(server: &TestServer) -> Socket {
    connect(server, &format!("palestra.json, bearer.{ADMIN_KEY}")).await.0
}

pub async fn send(socket: &mut Socket, frame: &Value) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

pub async fn receive(socket: &mut Socket) -> Value {
    loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub async fn ask(socket: &mut Socket, frame: Value) -> Value {
    send(socket, &frame).await;
    loop {
        let answer = receive(socket).await;
        if answer["id"] == frame["id"] {
            return answer;
        }
    }
}

#[tokio::test]
async fn a_close_frame_is_answered_by_one() {
    let server = TestServer::start().await;
    let mut socket = open(&server).await;
    let goodbye = CloseFrame { code: CloseCode::Normal, reason: "done".into() };
    socket.send(Message::Close(Some(goodbye))).await.unwrap();
    let answered = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(Message::Ping(_))) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    let frame = timeout(Duration::from_secs(20), answered).await.expect("an answer");
    assert_eq!(frame.map(|frame| frame.code), Some(CloseCode::Normal));
    server.stop().await;
}

#[tokio::test]
async fn a_whole_episode_runs_over_one_socket() {
    let server = TestServer::start().await;
    let (mut socket, echoed) = connect(&server, &format!("bearer.{ADMIN_KEY}, palestra.json")).await;
    assert_eq!(echoed.as_deref(), Some("palestra.json"));
    let created =
        ask(&mut socket, json!({"id": 1, "op": "create", "environment": "bench/counter", "config": {"target": 3}}))
            .await;
    let session = &created["ok"]["id"];
    for seq in 1..=3_u64 {
        let stepped = ask(
            &mut socket,
            json!({"id": 1 + seq, "op": "step", "session": session, "seq": seq, "action": {"text": "1"}}),
        )
        .await;
        assert_eq!(stepped["ok"]["terminated"], seq == 3, "{stepped}");
    }
    let verdict = ask(&mut socket, json!({"id": 9, "op": "verify", "session": session})).await;
    assert_eq!(verdict["ok"]["status"], "scored");
    let forks = ask(&mut socket, json!({"id": 10, "op": "fork", "session": session, "count": 2, "at_seq": 1})).await;
    assert_eq!(forks["ok"]["data"].as_array().unwrap().len(), 2);
    assert_eq!(ask(&mut socket, json!({"id": 11, "op": "reset", "session": session})).await["ok"]["attempt"], 2);
    assert_eq!(ask(&mut socket, json!({"id": 12, "op": "close", "session": session})).await["ok"]["state"], "closed");
    server.stop().await;
}

#[tokio::test]
async fn pipelined_steps_are_answered_in_order() {
    let server = TestServer::start().await;
    let session = server.post("/v1/sessions", &json!({"environment": "bench/counter"})).await.ok()["id"].clone();
    let mut socket = open(&server).await;
    for seq in 1..=50_u64 {
        send(&mut socket, &json!({"id": seq, "op": "step", "session": session, "seq": seq, "action": {"text": "1"}}))
            .await;
    }
    for seq in 1..=50_u64 {
        let answer = receive(&mut socket).await;
        assert_eq!((&answer["id"], &answer["ok"]["seq"]), (&json!(seq), &json!(seq)));
    }
    server.stop().await;
}

#[tokio::test]
async fn dropping_the_socket_closes_nothing() {
    let server = TestServer::start().await;
    let session = counter(&server).await["id"].clone();
    let mut socket = open(&server).await;
    send(&mut socket, &json!({"id": 1, "op": "step", "session": session, "seq": 1, "action": {"text": "1"}})).await;
    receive(&mut socket).await;
    drop(socket);
    let mut socket = open(&server).await;
    let again =
        ask(&mut socket, json!({"id": 1, "op": "step", "session": session, "seq": 1, "action": {"text": "1"}})).await;
    assert_eq!(again["ok"]["seq"], 1);
    server.stop().await;
}

#[tokio::test]
async fn subscribers_see_what_others_do() {
    let server = TestServer::start().await;
    let session = counter(&server).await["id"].clone();
    let (mut watcher, mut actor) = (open(&server).await, open(&server).await);
    assert!(ask(&mut watcher, json!({"id": 1, "op": "subscribe", "session": session})).await["ok"].is_object());
    ask(&mut actor, json!({"id": 1, "op": "step", "session": session, "seq": 1, "action": {"text": "3"}})).await;
    ask(&mut actor, json!({"id": 2, "op": "close", "session": session})).await;
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "closed") {
        kinds.push(receive(&mut watcher).await["event"]["type"].as_str().unwrap().to_owned());
    }
    assert!(kinds.contains(&"step".to_owned()), "{kinds:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_says_so() {
    let server = TestServer::start().await;
    let mut socket = open(&server).await;
    server.app.shutdown().cancel();
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else { panic!("no close frame") };
    assert_eq!(u16::from(frame.code), 1001);
    server.stop().await;
}

#[tokio::test]
async fn a_frame_that_is_too_large_ends_the_socket_with_its_bound() {
    // Small enough that the server has read all of it when it hangs up: the reason cannot be lost on its way then.
    let server = TestServer::start_with(|config| config.body_bytes_max = 2_000).await;
    let mut socket = open(&server).await;
    socket.send(Message::text("x".repeat(2_001))).await.unwrap();
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else { panic!("no close frame") };
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1009, "a frame must have at most 2000 bytes"));
    server.stop().await;
}

#[tokio::test]
async fn a_batch_answers_for_every_item_also_for_those_that_cannot_be_read() {
    let server = TestServer::start().await;
    let session = counter(&server).await["id"].clone();
    let mut socket = open(&server).await;
    let step = |seq: u64| json!({"session": session, "seq": seq, "action": {"text": "1"}});
    let broken = json!({"session": session, "seq": 1.5, "action": {"text": "1"}});
    let answer = ask(&mut socket, json!({"id": 1, "op": "steps", "items": [broken, step(1), 7, step(2)]})).await;
    let data = answer["ok"]["data"].as_array().unwrap();
    assert_eq!((&data[0]["error"]["code"], &data[2]["error"]["code"]), (&json!("invalid"), &json!("invalid")));
    assert_eq!((&data[1]["ok"]["seq"], &data[3]["ok"]["seq"]), (&json!(1), &json!(2)));
    server.stop().await;
}

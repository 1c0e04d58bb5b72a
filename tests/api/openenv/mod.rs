//! `/openenv`: every environment as a server of OpenEnv. What they share: sockets that ask and are answered.

mod capacity;
mod frames;
mod hostile;
mod rest;
mod resume;
mod rpc;
mod slow;
mod who;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::support::server::{ADMIN_KEY, Answer, TestServer, read};

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The counter, which ends at its configured target.
pub const COUNTER: &str = "bench/counter";

pub fn path(environment: &str, rest: &str) -> String {
    format!("/openenv/{environment}/{rest}")
}

/// Opens `/ws` and what follows it in the query.
pub async fn open(server: &TestServer, environment: &str, query: &str) -> Socket {
    connect(server, &path(environment, &format!("ws{query}")), Some(ADMIN_KEY)).await.expect("a socket")
}

/// The status that an upgrade was refused with.
pub async fn connect(server: &TestServer, path: &str, key: Option<&str>) -> Result<Socket, u16> {
    let url = format!("{}{path}", server.url().replace("http", "ws"));
    let mut request = url.into_client_request().unwrap();
    if let Some(key) = key {
        request.headers_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

/// The next frame that holds data, or the code of the close frame.
pub async fn hear(socket: &mut Socket) -> Result<Value, Option<u16>> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| frame.code.into())),
            Some(Ok(other)) => panic!("{other:?}"),
            Some(Err(_)) | None => return Err(None),
        }
    }
}

/// The reply to a frame.
pub async fn ask(socket: &mut Socket, frame: &Value) -> Value {
    ask_text(socket, &frame.to_string()).await
}

pub async fn ask_text(socket: &mut Socket, frame: &str) -> Value {
    socket.send(Message::text(frame)).await.unwrap();
    hear(socket).await.expect("a reply")
}

/// The data of the observation that answers a frame.
#[track_caller]
pub fn observation(reply: &Value) -> Value {
    assert_eq!(reply["type"], "observation", "{reply}");
    reply["data"].clone()
}

pub async fn reset(socket: &mut Socket, data: &Value) -> Value {
    observation(&ask(socket, &json!({"type": "reset", "data": data})).await)
}

pub async fn step(socket: &mut Socket, action: &Value) -> Value {
    observation(&ask(socket, &json!({"type": "step", "data": action})).await)
}

pub async fn state(socket: &mut Socket) -> Value {
    let reply = ask(socket, &json!({"type": "state"})).await;
    assert_eq!(reply["type"], "state", "{reply}");
    reply["data"].clone()
}

/// The code of the error that answers a frame.
pub async fn refused(socket: &mut Socket, frame: &Value) -> String {
    let reply = ask(socket, frame).await;
    assert_eq!(reply["type"], "error", "{reply}");
    assert!(!reply["data"]["message"].as_str().unwrap().is_empty());
    reply["data"]["code"].as_str().unwrap().to_owned()
}

/// Says goodbye and reads the code that the server closes with.
pub async fn close(mut socket: Socket) -> Option<u16> {
    socket.send(Message::text(r#"{"type":"close"}"#)).await.unwrap();
    hear(&mut socket).await.expect_err("a close frame")
}

/// Adds to the count.
pub fn add(amount: i64) -> Value {
    json!({"type": "call_tool", "tool_name": "add", "arguments": {"amount": amount}})
}

/// A reset of a counter that ends at 3.
pub fn counter(episode_id: &str) -> Value {
    json!({"episode_id": episode_id, "seed": 7, "config": {"target": 3}})
}

pub async fn post(server: &TestServer, rest: &str, body: &Value) -> Answer {
    server.post(&path(COUNTER, rest), body).await
}

/// A key with some scopes, as the admin makes it.
pub async fn key(server: &TestServer, scopes: &[&str]) -> (String, String) {
    let made = server.post("/v1/keys", &json!({"name": "a trainer", "scopes": scopes})).await.ok();
    let text = |field: &str| made[field].as_str().unwrap_or_default().to_owned();
    (made["key"]["id"].as_str().or(made["id"].as_str()).unwrap().to_owned(), text("secret"))
}

/// The session of an observation, as the API tells of it.
pub async fn session(server: &TestServer, shown: &Value) -> Value {
    let id = shown["metadata"]["session_id"].as_str().unwrap();
    server.get(&format!("/v1/sessions/{id}")).await.ok()
}

/// The episode of an observation, as the API tells of it.
pub async fn episode(server: &TestServer, shown: &Value) -> Value {
    let id = shown["metadata"]["episode"].as_str().unwrap();
    server.get(&format!("/v1/episodes/{id}")).await.ok()
}

/// Looks again and again until it is so.
pub async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let patience = std::time::Duration::from_secs(10);
    let begun = std::time::Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < patience, "{what}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Sends a request with another key.
pub async fn get_as(server: &TestServer, key: &str, path: &str) -> Answer {
    read(server.http.get(format!("{}{path}", server.url())).bearer_auth(key)).await
}

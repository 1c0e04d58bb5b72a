//! The stream against a small server that cuts connections where it is told.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use futures::{SinkExt, StreamExt};
use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::{Code, Problem};
use palestra_protocol::step::Step;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::{Options, Stream};
use crate::error::ClientError;

/// State of the server over all connections.
#[derive(Default)]
struct World {
    /// Number of times that each (session, seq) acted.
    acted: BTreeMap<(String, u64), u64>,
    /// Answers by idempotency key.
    created: HashMap<String, String>,
    connections: u64,
}

struct Server {
    url: String,
    world: Arc<Mutex<World>>,
    _tasks: JoinSet<()>,
}

/// Serves connections one after the other; connection k is cut after `cuts[k]` messages in both directions together.
async fn serve(cuts: Vec<usize>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let world = Arc::new(Mutex::new(World::default()));
    let mut tasks = JoinSet::new();
    let shared = Arc::clone(&world);
    tasks.spawn(async move {
        let mut cuts = cuts.into_iter();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            shared.lock().unwrap().connections += 1;
            let left = cuts.next().unwrap_or(usize::MAX);
            // A cut connection is an error for this side as well, and says nothing.
            let _ = converse(socket, left, &shared).await;
        }
    });
    Server { url, world, _tasks: tasks }
}

#[expect(clippy::result_large_err, reason = "the signature of the handshake's callback")]
async fn converse(
    socket: tokio::net::TcpStream,
    mut left: usize,
    world: &Mutex<World>,
) -> Result<(), Box<tokio_tungstenite::tungstenite::Error>> {
    let echo = |_: &Request, mut response: Response| {
        response.headers_mut().insert("sec-websocket-protocol", "palestra.json".parse().unwrap());
        Ok(response)
    };
    let mut socket = tokio_tungstenite::accept_hdr_async(socket, echo).await?;
    while let Some(Message::Text(text)) = socket.next().await.transpose()? {
        if left == 0 {
            return Ok(());
        }
        let answer = act(&serde_json::from_str(&text).unwrap(), &mut world.lock().unwrap());
        if left == 1 {
            return Ok(());
        }
        left -= 2;
        socket.send(Message::text(answer.to_string())).await?;
    }
    Ok(())
}

fn act(frame: &Value, world: &mut World) -> Value {
    let id = &frame["id"];
    let session = frame["session"].as_str().unwrap_or_default().to_owned();
    match frame["op"].as_str().unwrap() {
        "step" => {
            let seq = frame["seq"].as_u64().unwrap_or(0);
            let next = world.acted.keys().filter(|(other, _)| *other == session).count() as u64 + 1;
            if seq > next {
                return json!({"id": id, "error": Problem::new(Code::StepAhead, "ahead").with("expected", next)});
            }
            world.acted.entry((session, seq)).or_insert(1);
            json!({"id": id, "ok": {"seq": seq}})
        }
        "fork" => {
            let key = frame["key"].as_str().unwrap().to_owned();
            let made = world.created.len().to_string();
            json!({"id": id, "ok": {"made": world.created.entry(key).or_insert(made).clone()}})
        }
        "leave" => json!({"id": id, "error": Problem::new(Code::Draining, "leaving")}),
        _ => json!({"id": id, "error": Problem::new(Code::NotFound, "no such op")}),
    }
}

fn quick() -> Options {
    Options { backoff_ms: 1, backoff_max_ms: 4, give_up_ms: 10_000, ..Options::default() }
}

fn numbered(seq: Option<u64>) -> Step {
    Step { seq, action: Action::Text("go".to_owned()), episode: None, observe: None, meta: None }
}

#[tokio::test]
async fn every_cut_leaves_pipelined_steps_in_order_and_acted_once() {
    const STEPS: u64 = 6;
    for cut in 0..(2 * STEPS as usize + 2) {
        let server = serve(vec![cut, cut + 1, cut / 2]).await;
        let stream = Stream::connect(&server.url, Some("key"), quick()).await.unwrap();
        let session = SessionId::new();
        let mut pending = Vec::new();
        for seq in 1..=STEPS {
            let sent = stream.submit::<Value>("step", Some(session), None, &numbered(Some(seq))).await.unwrap();
            pending.push((seq, sent));
        }
        for (seq, sent) in pending {
            assert_eq!(sent.answer().await.unwrap()["seq"], seq, "cut after {cut}");
        }
        let world = server.world.lock().unwrap();
        assert_eq!(world.acted.len() as u64, STEPS, "cut after {cut}");
        assert!(cut >= 2 * STEPS as usize || world.connections > 1, "the cut after {cut} was never made");
    }
}

#[tokio::test]
async fn a_creation_whose_answer_was_cut_is_repeated_with_its_key() {
    let server = serve(vec![1, 1, 1]).await;
    let stream = Stream::connect(&server.url, None, quick()).await.unwrap();
    let body = serde_json::Map::new();
    let sent = stream.submit::<Value>("fork", Some(SessionId::new()), Some("one key"), &body).await.unwrap();
    assert_eq!(sent.answer().await.unwrap()["made"], "0");
    assert_eq!(server.world.lock().unwrap().created.len(), 1);
    assert_eq!(stream.reconnects(), 3);
}

#[tokio::test]
async fn a_step_without_seq_is_never_sent_twice() {
    let server = serve(vec![1]).await;
    let stream = Stream::connect(&server.url, None, quick()).await.unwrap();
    let session = SessionId::new();
    let sent = stream.submit::<Value>("step", Some(session), None, &numbered(None)).await.unwrap();
    assert!(matches!(sent.answer().await, Err(ClientError::Interrupted)));
    let sent = stream.submit::<Value>("step", Some(session), None, &numbered(Some(1))).await.unwrap();
    assert_eq!(sent.answer().await.unwrap()["seq"], 1);
}

#[tokio::test]
async fn refusals_reach_their_own_frame() {
    let server = serve(Vec::new()).await;
    let stream = Stream::connect(&server.url, None, quick()).await.unwrap();
    let wrong = stream.submit::<Value>("dance", None, None, &json!({})).await.unwrap();
    let right = stream.submit::<Value>("step", Some(SessionId::new()), None, &numbered(Some(1))).await.unwrap();
    assert_eq!(wrong.answer().await.unwrap_err().code(), Some(Code::NotFound));
    assert!(right.answer().await.is_ok());
    assert!(matches!(stream.submit::<Value>("step", None, None, &1).await, Err(ClientError::Unsendable(_))));
}

#[tokio::test]
async fn more_frames_than_fit_wait_their_turn() {
    let server = serve(Vec::new()).await;
    let stream = Stream::connect(&server.url, None, Options { in_flight_max: 2, ..quick() }).await.unwrap();
    let session = SessionId::new();
    let all = (1..=100).map(|seq| {
        let stream = stream.clone();
        async move {
            let sent = stream.submit::<Value>("step", Some(session), None, &numbered(Some(seq))).await?;
            sent.answer().await
        }
    });
    let answers = futures::future::join_all(all).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

#[tokio::test]
async fn a_server_that_stays_away_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let options = Options { give_up_ms: 30, ..quick() };
    let refused = Stream::connect(&url, None, options).await.err();
    assert!(matches!(refused, Some(ClientError::GaveUp { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_connection_that_brings_nothing_counts_as_a_failure() {
    let server = serve(vec![1; 10_000]).await;
    let options = Options { give_up_ms: 100, ..quick() };
    let stream = Stream::connect(&server.url, None, options).await.unwrap();
    let sent = stream.submit::<Value>("step", Some(SessionId::new()), None, &numbered(Some(1))).await.unwrap();
    assert!(matches!(sent.answer().await, Err(ClientError::GaveUp { .. })));
    let late = stream.submit::<Value>("step", Some(SessionId::new()), None, &numbered(Some(1))).await;
    assert!(matches!(late, Err(ClientError::GaveUp { .. })));
}

#[tokio::test]
async fn a_refused_credential_is_final_and_says_why() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4_096];
        let _ = socket.read(&mut request).await.unwrap();
        let body = serde_json::to_string(&Problem::new(Code::Unauthorized, "unknown key")).unwrap();
        let head = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n", body.len());
        socket.write_all((head + &body).as_bytes()).await.unwrap();
    });
    let refused = Stream::connect(&url, Some("wrong"), quick()).await.err().unwrap();
    assert_eq!(refused.code(), Some(Code::Unauthorized), "{refused}");
}

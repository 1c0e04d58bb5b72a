//! The socket loop over channels, with an engine whose commands finish when a test says so.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::ws::Message;
use futures::channel::mpsc;
use futures::{FutureExt, SinkExt};
use palestra_protocol::episode::EventKind;
use palestra_protocol::session::CloseReason;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::socket::COMMANDS_IN_FLIGHT_MAX;
use super::*;

/// The session of a command, and the number of its step.
type Place = (SessionId, Option<u64>);

/// Refuses every command, as soon as its session is released; notes in which order commands took their places.
#[derive(Clone)]
struct Scripted {
    held: Arc<watch::Sender<HashSet<SessionId>>>,
    places: Arc<Mutex<Vec<Place>>>,
    running: Arc<AtomicUsize>,
    valid: Arc<watch::Sender<bool>>,
    events: Arc<Mutex<HashMap<SessionId, mpsc::Receiver<Event>>>>,
}

impl Scripted {
    fn new() -> Self {
        Self {
            held: Arc::new(watch::Sender::default()),
            places: Arc::default(),
            running: Arc::default(),
            valid: Arc::new(watch::Sender::new(true)),
            events: Arc::default(),
        }
    }

    fn hold(&self, session: SessionId) {
        self.held.send_modify(|held| {
            held.insert(session);
        });
    }

    fn release(&self, session: SessionId) {
        self.held.send_modify(|held| {
            held.remove(&session);
        });
    }
}

impl Engine for Scripted {
    fn begin(&self, command: Command) -> Begun {
        let engine = self.clone();
        let running = async move {
            let session = command.session().unwrap();
            let seq = if let Command::Step { step, .. } = &command { step.seq } else { None };
            engine.places.lock().push((session, seq));
            engine.running.fetch_add(1, Ordering::SeqCst);
            let mut held = engine.held.subscribe();
            held.wait_for(|held| !held.contains(&session)).await.unwrap();
            engine.running.fetch_sub(1, Ordering::SeqCst);
            Err(Failure::not_found("session"))
        };
        Begun::Running(running.boxed())
    }

    fn events(
        &self,
        session: SessionId,
        _: Option<String>,
    ) -> BoxFuture<'static, Result<BoxStream<'static, Event>, Failure>> {
        let events = self.events.lock().remove(&session);
        std::future::ready(events.map(StreamExt::boxed).ok_or_else(|| Failure::not_found("session"))).boxed()
    }

    fn is_still_valid(&self) -> BoxFuture<'static, bool> {
        std::future::ready(*self.valid.borrow()).boxed()
    }
}

struct Peer {
    frames: mpsc::UnboundedSender<Result<Message, axum::Error>>,
    answers: mpsc::Receiver<Message>,
    socket: JoinHandle<()>,
    shutdown: CancellationToken,
}

fn open(engine: &Scripted) -> Peer {
    let (frames, mut incoming) = mpsc::unbounded();
    let (mut outgoing, answers) = mpsc::channel(1);
    let shutdown = CancellationToken::new();
    let mut socket = Socket::new(engine.clone(), shutdown.clone(), Duration::from_secs(10));
    #[expect(clippy::disallowed_methods, reason = "the test awaits it")]
    let socket = tokio::spawn(async move { socket.run(&mut outgoing, &mut incoming).await });
    Peer { frames, answers, socket, shutdown }
}

impl Peer {
    fn send(&self, frame: &Value) {
        self.send_text(&frame.to_string());
    }

    fn send_text(&self, text: &str) {
        self.frames.unbounded_send(Ok(Message::Text(text.into()))).unwrap();
    }

    async fn message(&mut self) -> Message {
        loop {
            match self.answers.next().await.expect("the socket is open") {
                Message::Ping(_) => {}
                message => return message,
            }
        }
    }

    async fn read(&mut self) -> Value {
        match self.message().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn read_close(&mut self) -> (u16, String) {
        match self.message().await {
            Message::Close(Some(frame)) => (frame.code, frame.reason.to_string()),
            other => panic!("{other:?}"),
        }
    }
}

fn step(id: u64, session: SessionId, seq: u64) -> Value {
    json!({"id": id, "op": "step", "session": session, "seq": seq, "action": {"text": "a"}})
}

#[tokio::test]
async fn a_frame_is_answered_under_its_id() {
    let mut peer = open(&Scripted::new());
    peer.send(&step(7, SessionId::new(), 1));
    let answer = peer.read().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!("not_found")));
}

#[tokio::test]
async fn answers_keep_their_order_within_a_session_and_overtake_across_sessions() {
    let engine = Scripted::new();
    let (slow, fast) = (SessionId::new(), SessionId::new());
    engine.hold(slow);
    let mut peer = open(&engine);
    for (id, session) in [(1, slow), (2, slow), (3, fast), (4, slow)] {
        peer.send(&step(id, session, id));
    }
    assert_eq!(peer.read().await["id"], 3);
    assert_eq!(*engine.places.lock(), [(slow, Some(1)), (slow, Some(2)), (fast, Some(3)), (slow, Some(4))]);
    engine.release(slow);
    for id in [1, 2, 4] {
        assert_eq!(peer.read().await["id"], id);
    }
}

#[tokio::test]
async fn a_batch_of_steps_takes_places_in_order_and_answers_once() {
    let engine = Scripted::new();
    let (slow, fast) = (SessionId::new(), SessionId::new());
    engine.hold(slow);
    let mut peer = open(&engine);
    let item = |session, seq| json!({"session": session, "seq": seq, "action": {"text": "a"}});
    peer.send(&json!({"id": 1, "op": "steps", "items": [item(slow, 1), item(fast, 2), item(slow, 3)]}));
    peer.send(&step(2, fast, 4));
    peer.send(&step(3, SessionId::new(), 5));
    // The second frame concerns a session of the first and must not overtake it; the third may.
    assert_eq!(peer.read().await["id"], 3);
    engine.release(slow);
    let batch = peer.read().await;
    assert_eq!(batch["id"], 1);
    assert_eq!(batch["ok"]["data"].as_array().unwrap().len(), 3);
    assert_eq!(batch["ok"]["data"][1]["error"]["code"], "not_found");
    assert_eq!(peer.read().await["id"], 2);
    let seqs: Vec<_> = engine.places.lock().iter().filter_map(|(_, seq)| *seq).take(3).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

#[tokio::test]
async fn malformed_frames_are_answered_and_keep_the_socket() {
    let mut peer = open(&Scripted::new());
    for (text, id, code) in [
        ("{", Value::Null, "malformed"),
        (r#"{"id":1,"op":"dance"}"#, json!(1), "invalid"),
        (r#"{"op":"step"}"#, Value::Null, "invalid"),
    ] {
        peer.send_text(text);
        let answer = peer.read().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{text}");
    }
    peer.send(&step(2, SessionId::new(), 1));
    assert_eq!(peer.read().await["id"], 2);
}

#[tokio::test]
async fn reading_stops_while_too_many_commands_run() {
    let engine = Scripted::new();
    let session = SessionId::new();
    engine.hold(session);
    let mut peer = open(&engine);
    let flood = 5 * COMMANDS_IN_FLIGHT_MAX as u64;
    for id in 0..flood {
        peer.send(&step(id, session, id));
    }
    while engine.running.load(Ordering::SeqCst) < COMMANDS_IN_FLIGHT_MAX {
        tokio::task::yield_now().await;
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        assert!(engine.running.load(Ordering::SeqCst) <= COMMANDS_IN_FLIGHT_MAX);
    }
    engine.release(session);
    for id in 0..flood {
        assert_eq!(peer.read().await["id"], id);
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_floods_and_never_reads_is_disconnected_with_a_reason() {
    let engine = Scripted::new();
    let mut peer = open(&engine);
    for id in 0..100_000 {
        peer.send(&step(id, SessionId::new(), 1));
    }
    // Time is paused, so it runs on to the timeout as soon as nothing else can happen. The first answers lie in the channel.
    (&mut peer.socket).await.unwrap();
    let read = engine.places.lock().len();
    assert!(read < 10_000, "{read} frames were read for a peer that reads nothing");
    assert_eq!(engine.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn binary_frames_end_the_socket() {
    let mut peer = open(&Scripted::new());
    peer.frames.send(Ok(Message::Binary(vec![1].into()))).await.unwrap();
    assert_eq!(peer.read_close().await.0, 1003);
    peer.socket.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_revoked_credential_ends_the_socket_at_the_next_ping() {
    let engine = Scripted::new();
    let mut peer = open(&engine);
    peer.send(&step(1, SessionId::new(), 1));
    assert_eq!(peer.read().await["id"], 1);
    engine.valid.send_replace(false);
    let (code, reason) = peer.read_close().await;
    assert_eq!(code, 1008);
    assert!(reason.contains("credential"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_without_any_sign_of_life_is_given_up() {
    let mut peer = open(&Scripted::new());
    let (code, reason) = peer.read_close().await;
    assert_eq!(code, 1008);
    assert!(reason.contains("pings"), "{reason}");
}

#[tokio::test]
async fn shutdown_answers_what_runs_and_says_why_it_leaves() {
    let engine = Scripted::new();
    let session = SessionId::new();
    engine.hold(session);
    let mut peer = open(&engine);
    peer.send(&step(1, session, 1));
    while engine.running.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    peer.shutdown.cancel();
    tokio::task::yield_now().await;
    engine.release(session);
    assert_eq!(peer.read().await["id"], 1);
    assert_eq!(peer.read_close().await.0, 1001);
}

#[tokio::test]
async fn events_flow_until_the_peer_has_enough() {
    let engine = Scripted::new();
    let session = SessionId::new();
    let (mut happen, events) = mpsc::channel(8);
    engine.events.lock().insert(session, events);
    let mut peer = open(&engine);
    peer.send(&json!({"id": 1, "op": "subscribe", "session": session}));
    assert_eq!(peer.read().await["ok"]["session"], json!(session));
    let event = Event { id: "1".to_owned(), session, kind: EventKind::Closed { reason: CloseReason::Deleted } };
    happen.send(event.clone()).await.unwrap();
    assert_eq!(peer.read().await["event"]["type"], "closed");
    peer.send(&json!({"id": 2, "op": "unsubscribe", "session": session}));
    assert_eq!(peer.read().await["id"], 2);
    // The stream is dropped with the subscription.
    while happen.send(event.clone()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    peer.send(&json!({"id": 3, "op": "subscribe", "session": session}));
    loop {
        let answer = peer.read().await;
        if answer["id"] == 3 {
            assert_eq!(answer["error"]["code"], "not_found");
            break;
        }
    }
}

#[tokio::test]
async fn a_dropped_socket_drops_the_commands_that_wait() {
    let engine = Scripted::new();
    let session = SessionId::new();
    engine.hold(session);
    let peer = open(&engine);
    peer.send(&step(1, session, 1));
    while engine.running.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    drop(peer.frames);
    peer.socket.await.unwrap();
}

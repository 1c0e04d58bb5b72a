//! Unanswered frames and subscriptions, which have to survive a connection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palestra_protocol::episode::Event;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::{Code, Problem};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::{Outgoing, RawAnswer};
use crate::error::ClientError;

/// Unanswered frames by id, subscriptions by session, and why the stream ended.
pub(super) struct Table {
    next_id: AtomicU64,
    reconnects: AtomicU64,
    inner: Mutex<Inner>,
    events: broadcast::Sender<Arc<Event>>,
}

#[derive(Default)]
struct Inner {
    unanswered: BTreeMap<u64, Outgoing>,
    /// The last event seen of each session.
    subscriptions: BTreeMap<SessionId, Option<String>>,
    end: Option<ClientError>,
}

/// A message that arrives: an answer or an event.
#[derive(Deserialize)]
struct Incoming {
    id: Option<u64>,
    ok: Option<Box<RawValue>>,
    error: Option<Problem>,
    event: Option<Event>,
}

/// The meaning of a message for the connection that it came over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// An answer or an event.
    Progress,
    /// The server is leaving: the frame stays unanswered and belongs to the next connection.
    Leaving,
    /// This is no Palestra server, or it does not understand this client.
    Breach(String),
}

impl Table {
    pub(super) fn new(events_max: usize) -> Self {
        Self {
            next_id: AtomicU64::new(1),
            reconnects: AtomicU64::new(0),
            inner: Mutex::default(),
            events: broadcast::channel(events_max.max(1)).0,
        }
    }

    /// The lock is held for map operations alone, none of which panics; a poisoned one is as good.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }

    pub(super) fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    pub(super) fn unsubscribe(&self, session: SessionId) {
        self.lock().subscriptions.remove(&session);
    }

    /// Keeps a frame until it is answered.
    pub(super) fn keep(&self, frame: Outgoing) {
        self.lock().unanswered.insert(frame.id, frame);
    }

    /// Prepares the next connection: frames that must not be repeated fail; the others are answered in the order in which they
    /// were made, after a frame for each subscription.
    pub(super) fn begin_again(&self) -> Vec<Utf8Bytes> {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.lock();
        let lost = inner.unanswered.extract_if(.., |_, frame| !frame.repeatable || frame.answer.is_none());
        for (_, frame) in lost.collect::<Vec<_>>() {
            reply(frame, Err(ClientError::Interrupted));
        }
        let subscriptions: Vec<_> =
            inner.subscriptions.iter().map(|(session, after)| (*session, after.clone())).collect();
        let mut texts = Vec::with_capacity(subscriptions.len() + inner.unanswered.len());
        for (session, after) in subscriptions {
            let mut fields = cursor(after.as_deref());
            let id = self.next_id();
            fields.insert("id".to_owned(), Value::from(id));
            fields.insert("op".to_owned(), Value::from("subscribe"));
            fields.insert("session".to_owned(), Value::String(session.to_string()));
            let text = Utf8Bytes::from(Value::Object(fields).to_string());
            texts.push(text.clone());
            let subscribes = Some((session, after));
            inner.unanswered.insert(id, Outgoing { text, repeatable: false, id, subscribes, answer: None });
        }
        texts.extend(inner.unanswered.values().filter(|frame| frame.answer.is_some()).map(|frame| frame.text.clone()));
        texts
    }

    /// Takes a message from the server.
    pub(super) fn receive(&self, text: &str) -> Received {
        let incoming: Incoming = match serde_json::from_str(text) {
            Ok(incoming) => incoming,
            Err(error) => return Received::Breach(error.to_string()),
        };
        match incoming {
            Incoming { event: Some(event), .. } => self.event(event),
            Incoming { error: Some(problem), .. } if problem.code == Code::Draining => return Received::Leaving,
            Incoming { id: Some(id), ok: Some(ok), .. } => self.answer(id, Ok(ok)),
            Incoming { id: Some(id), error: Some(problem), .. } => self.answer(id, Err(problem.into())),
            Incoming { error: Some(problem), .. } => return Received::Breach(problem.detail),
            _ => return Received::Breach("a message is an answer or an event".to_owned()),
        }
        Received::Progress
    }

    fn answer(&self, id: u64, answer: RawAnswer) {
        let mut inner = self.lock();
        // A frame that is not known was answered before.
        let Some(frame) = inner.unanswered.remove(&id) else { return };
        match (&frame.subscribes, &answer) {
            (Some((session, after)), Ok(_)) => {
                inner.subscriptions.entry(*session).or_insert_with(|| after.clone());
            }
            (Some((session, _)), Err(_)) => drop(inner.subscriptions.remove(session)),
            (None, _) => {}
        }
        reply(frame, answer);
    }

    fn event(&self, event: Event) {
        if let Some(after) = self.lock().subscriptions.get_mut(&event.session) {
            *after = Some(event.id.clone());
        }
        // Nobody listening is no error.
        let _ = self.events.send(Arc::new(event));
    }

    /// Fails every frame, and those to come.
    pub(super) fn give_up(&self, error: &ClientError) {
        let mut inner = self.lock();
        inner.end.get_or_insert_with(|| error.clone());
        for (_, frame) in std::mem::take(&mut inner.unanswered) {
            reply(frame, Err(error.clone()));
        }
    }

    /// Why nothing can be sent any more.
    pub(super) fn end(&self) -> ClientError {
        self.lock().end.clone().unwrap_or(ClientError::Closed)
    }
}

fn reply(frame: Outgoing, answer: RawAnswer) {
    if let Some((sender, _permit)) = frame.answer {
        // The caller may have stopped waiting.
        let _ = sender.send(answer);
    }
}

/// The fields of a subscription that goes on after an event.
pub(super) fn cursor(after: Option<&str>) -> Map<String, Value> {
    after.map(|after| ("after".to_owned(), Value::from(after))).into_iter().collect()
}

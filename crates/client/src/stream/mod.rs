//! The stream: one WebSocket for many sessions, with pipelined requests, that survives lost connections.
//!
//! Every frame that has no answer yet is kept and sent again, in order, after a reconnect. Nothing acts twice by that: steps
//! carry `seq`, creating frames carry a `key`, and the other frames say the same thing however often they are said.

mod backoff;
mod connection;
mod driver;
mod table;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use palestra_protocol::episode::Event;
use palestra_protocol::id::SessionId;
use palestra_protocol::list::List;
use palestra_protocol::problem::{Code, Problem};
use palestra_protocol::session::{CreateSession, Created, Fork, Opened, Reset, Session, Verify};
use palestra_protocol::step::{Finish, FinishReason, Finished, Step, Stepped};
use palestra_protocol::stream::{Outcome, StepItem};
use palestra_protocol::verdict::Verdict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::error::ClientError;
use backoff::Backoff;
use connection::Endpoint;
use table::Table;

/// The largest frame that is sent or read, in bytes.
pub const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Options of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Most frames without an answer; a further request waits.
    pub in_flight_max: usize,
    /// Wait before the first reconnect, in milliseconds; doubled by every further failure.
    pub backoff_ms: u64,
    /// Longest wait between two reconnects, in milliseconds.
    pub backoff_max_ms: u64,
    /// Time without any success after which every open request fails, in milliseconds.
    pub give_up_ms: u64,
    /// Time that a silent connection counts as alive, in milliseconds. The server pings every 20 s.
    pub silence_max_ms: u64,
    /// Events that are kept for a slow receiver; it then misses the oldest and is told so.
    pub events_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            in_flight_max: 1_024,
            backoff_ms: 50,
            backoff_max_ms: 5_000,
            give_up_ms: 120_000,
            silence_max_ms: 60_000,
            events_max: 4_096,
        }
    }
}

/// The answer to a frame: the JSON below `ok`, or its problem.
type RawAnswer = Result<Box<RawValue>, ClientError>;

/// A frame on its way to the driver.
struct Outgoing {
    text: Utf8Bytes,
    /// True where sending it again is harmless.
    repeatable: bool,
    id: u64,
    /// The subscription that begins with a good answer: its session and the event that it goes on after.
    subscribes: Option<(SessionId, Option<String>)>,
    /// Nobody waits for the answers of frames that the driver makes itself.
    answer: Option<(oneshot::Sender<RawAnswer>, OwnedSemaphorePermit)>,
}

/// A connection to `/v1/stream` that reconnects by itself. Cheap to clone; it ends with its last clone.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

struct Shared {
    outgoing: mpsc::Sender<Outgoing>,
    permits: Arc<Semaphore>,
    table: Arc<Table>,
    /// Bytes of the largest frame that the server reads.
    frame_bytes_max: Arc<AtomicUsize>,
    /// Aborts the driver with the last handle.
    _driver: JoinSet<()>,
}

/// A request whose answer has not been waited for yet. Dropping it does not take the request back.
#[must_use = "the answer is read by waiting for it"]
pub struct Pending<T> {
    answer: oneshot::Receiver<RawAnswer>,
    form: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Pending<T> {
    /// Waits for the answer, over as many reconnects as it takes.
    ///
    /// # Errors
    /// [`ClientError::Problem`] when the server refused, [`ClientError::GaveUp`] when it could not be reached for too long.
    pub async fn answer(self) -> Result<T, ClientError> {
        let raw = self.answer.await.map_err(|_| ClientError::Closed)??;
        serde_json::from_str(raw.get())
            .map_err(|error| ClientError::Unexpected { status: 200, excerpt: error.to_string() })
    }
}

impl Stream {
    /// Opens the stream of the server at `url`, such as `http://127.0.0.1:7070`, with an API key or a session token.
    ///
    /// # Errors
    /// [`ClientError::Problem`] when the credential is refused, [`ClientError::GaveUp`] when no connection came about in
    /// `options.give_up_ms`.
    pub async fn connect(url: &str, key: Option<&str>, options: Options) -> Result<Self, ClientError> {
        crate::tls::prepare();
        let endpoint = Endpoint::new(url, key)?;
        let mut backoff = Backoff::new(&options);
        let socket = driver::connect(&endpoint, &mut backoff).await?;
        let in_flight_max = options.in_flight_max.clamp(1, Semaphore::MAX_PERMITS);
        let (outgoing, incoming) = mpsc::channel(in_flight_max);
        let table = Arc::new(Table::new(options.events_max));
        let frame_bytes_max = endpoint.frame_bytes_max();
        let mut driver = JoinSet::new();
        let silence = Duration::from_millis(options.silence_max_ms);
        driver.spawn(driver::drive(endpoint, socket, backoff, silence, incoming, Arc::clone(&table)));
        let permits = Arc::new(Semaphore::new(in_flight_max));
        Ok(Self { shared: Arc::new(Shared { outgoing, permits, table, frame_bytes_max, _driver: driver }) })
    }

    /// Sends one frame, `op` with the fields of `body`, and answers what to wait for. Frames leave in the order in which these
    /// calls complete. Waits while `in_flight_max` frames are unanswered.
    ///
    /// # Errors
    /// When `body` is no JSON object or too large, or when the stream is closed.
    pub async fn submit<T: DeserializeOwned>(
        &self,
        op: &str,
        session: Option<SessionId>,
        key: Option<&str>,
        body: &impl Serialize,
    ) -> Result<Pending<T>, ClientError> {
        let mut fields = object(body)?;
        // A step without `seq` means "whatever is next": twice sent, it would act twice.
        let repeatable = op != "step" || fields.get("seq").is_some_and(|seq| !seq.is_null());
        if let Some(session) = session {
            fields.insert("session".to_owned(), Value::String(session.to_string()));
        }
        if let Some(key) = key {
            fields.insert("key".to_owned(), Value::String(key.to_owned()));
        }
        self.send(op, fields, repeatable, None).await
    }

    async fn send<T>(
        &self,
        op: &str,
        mut fields: Map<String, Value>,
        repeatable: bool,
        subscribes: Option<(SessionId, Option<String>)>,
    ) -> Result<Pending<T>, ClientError> {
        let id = self.shared.table.next_id();
        fields.insert("op".to_owned(), Value::String(op.to_owned()));
        fields.insert("id".to_owned(), Value::from(id));
        let text = Value::Object(fields).to_string();
        let most = self.shared.frame_bytes_max.load(Ordering::Relaxed);
        if text.len() > most {
            let detail = format!(
                "a frame of {} bytes is larger than the {most} that the server reads: send less, or start it with a larger --body-bytes-max",
                text.len()
            );
            return Err(ClientError::from(Problem::new(Code::TooLarge, detail)));
        }
        let permit = Arc::clone(&self.shared.permits).acquire_owned().await.map_err(|_| ClientError::Closed)?;
        let (answer, receiver) = oneshot::channel();
        let frame = Outgoing { text: text.into(), repeatable, id, subscribes, answer: Some((answer, permit)) };
        self.shared.outgoing.send(frame).await.map_err(|_| self.shared.table.end())?;
        Ok(Pending { answer: receiver, form: PhantomData })
    }

    /// Opens one session, or several with `count`, exactly once.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn create(&self, request: &CreateSession) -> Result<Created, ClientError> {
        self.submit("create", None, Some(&new_key()), request).await?.answer().await
    }

    /// Begins a new episode, exactly once.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn reset(&self, session: SessionId, request: &Reset) -> Result<Opened, ClientError> {
        self.submit("reset", Some(session), Some(&new_key()), request).await?.answer().await
    }

    /// Takes a turn.
    ///
    /// # Errors
    /// As [`Pending::answer`]; [`ClientError::Interrupted`] for a step without `seq` that was lost with its connection.
    pub async fn step(&self, session: SessionId, step: &Step) -> Result<Stepped, ClientError> {
        self.submit("step", Some(session), None, step).await?.answer().await
    }

    /// Takes many turns in one frame; outcomes stand in the order of the items.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn steps(&self, items: &[StepItem]) -> Result<Vec<Outcome<Stepped>>, ClientError> {
        let repeatable = items.iter().all(|item| item.seq.is_some());
        let items = serde_json::to_value(items).map_err(|error| ClientError::Unsendable(error.to_string()))?;
        let fields = Map::from_iter([("items".to_owned(), items)]);
        let list: List<Outcome<Stepped>> = self.send("steps", fields, repeatable, None).await?.answer().await?;
        Ok(list.data)
    }

    /// Ends the episode.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn finish(&self, session: SessionId, reason: FinishReason) -> Result<Finished, ClientError> {
        self.submit("finish", Some(session), None, &Finish { reason, detail: None, episode: None })
            .await?
            .answer()
            .await
    }

    /// Ends the episode as no sample, for a cause that its verdict keeps.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn abort(&self, session: SessionId, cause: String) -> Result<Finished, ClientError> {
        let finish = Finish { reason: FinishReason::Aborted, detail: Some(cause), episode: None };
        self.submit("finish", Some(session), None, &finish).await?.answer().await
    }

    /// Judges the episode; a live one is finished first.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn verify(&self, session: SessionId) -> Result<Verdict, ClientError> {
        self.submit("verify", Some(session), None, &Verify::default()).await?.answer().await
    }

    /// Copies the session, exactly once.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn fork(&self, session: SessionId, request: &Fork) -> Result<Vec<Opened>, ClientError> {
        let list: List<Opened> = self.submit("fork", Some(session), Some(&new_key()), request).await?.answer().await?;
        Ok(list.data)
    }

    /// Closes the session; its record stays.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn close(&self, session: SessionId) -> Result<Session, ClientError> {
        self.submit("close", Some(session), None, &Map::new()).await?.answer().await
    }

    /// Asks for the events of a session after the event `after`, from the beginning where left out; they arrive at
    /// [`Stream::events`]. The subscription survives reconnects without gaps or repetitions.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn subscribe(&self, session: SessionId, after: Option<&str>) -> Result<(), ClientError> {
        let mut fields = table::cursor(after);
        fields.insert("session".to_owned(), Value::String(session.to_string()));
        let subscribes = Some((session, after.map(str::to_owned)));
        self.send::<Value>("subscribe", fields, true, subscribes).await?.answer().await.map(drop)
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// As [`Pending::answer`].
    pub async fn unsubscribe(&self, session: SessionId) -> Result<(), ClientError> {
        self.shared.table.unsubscribe(session);
        self.submit::<Value>("unsubscribe", Some(session), None, &Map::new()).await?.answer().await.map(drop)
    }

    /// A receiver of every event from now on of the sessions that this stream subscribed to.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.shared.table.events()
    }

    /// Number of times that the connection was lost and made again.
    #[must_use]
    pub fn reconnects(&self) -> u64 {
        self.shared.table.reconnects()
    }
}

/// A key that no other creation carries.
fn new_key() -> String {
    SessionId::new().uuid().to_string()
}

fn object(body: &impl Serialize) -> Result<Map<String, Value>, ClientError> {
    match serde_json::to_value(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ClientError::Unsendable("the body of a frame must be a JSON object".to_owned())),
        Err(error) => Err(ClientError::Unsendable(error.to_string())),
    }
}

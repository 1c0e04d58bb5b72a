//! The DevTools protocol over a pipe: commands with numbers out, answers and events in, each message ended by a zero byte.
//!
//! The pipe is Chromium's `--remote-debugging-pipe`, so that no port listens which a page could reach. The messages are few and their
//! types are read where they are used. A client with a type for each of the protocol's thousand takes nine times as long to compile
//! (chromiumoxide 0.9.1: 276 s of CPU, this one in a program of its own: 30) and speaks over a port. Every byte that arrives may be a page's: messages and queues are bounded.

mod events;
mod reader;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use palestra_sandbox::sandbox::{Pipe, PipeInput};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub(crate) use events::{Arrivals, Event, EventQueue, Events};
use reader::Reader;

/// Longest wait for the answer to a command.
const CALL_MAX: Duration = Duration::from_secs(20);
/// Messages that wait to be written; beyond them, who sends waits.
const MESSAGES_WAITING_MAX: usize = 64;

/// A command failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CdpError {
    /// The connection ended.
    #[error("{0}")]
    Gone(String),
    /// The browser refused it.
    #[error("{method}: {message}")]
    Refused {
        /// The command.
        method: &'static str,
        /// The browser's words.
        message: String,
    },
    /// No answer came in time.
    #[error("{method}: Chromium did not answer within {} s: open a new session", CALL_MAX.as_secs())]
    Late {
        /// The command.
        method: &'static str,
    },
}

/// A connection to a browser.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Inner>);

struct Inner {
    /// Messages on their way to the browser, in their order. Whoever sent one may stop waiting, and it is written whole all the same.
    input: mpsc::Sender<Vec<u8>>,
    state: Arc<Mutex<State>>,
    reader: JoinHandle<()>,
}

/// Calls that wait and who is told of events.
#[derive(Default)]
struct State {
    last: u64,
    calls: HashMap<u64, Waiting>,
    sessions: HashMap<String, Events>,
    /// The listener to the browser's own events.
    browser: Option<Events>,
    /// Reason why the connection ended.
    gone: Option<String>,
}

impl State {
    /// Takes note of the end, and tells all who wait.
    fn end(&mut self, why: String) {
        self.gone.get_or_insert(why);
        self.calls.clear();
        self.sessions.clear();
        self.browser = None;
    }
}

struct Waiting {
    method: &'static str,
    answer: oneshot::Sender<Result<Value, CdpError>>,
}

/// A call whose answer is not waited for any more is forgotten.
struct Pending<'a> {
    connection: &'a Connection,
    id: u64,
    answer: oneshot::Receiver<Result<Value, CdpError>>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.connection.0.state.lock().calls.remove(&self.id);
    }
}

impl Connection {
    /// Speaks over the pipe of a browser. `complain` gets what it prints to standard error.
    pub(crate) fn new(pipe: Pipe, complain: impl FnMut(&[u8]) + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let reader = Reader::new(Arc::clone(&state), complain);
        #[expect(clippy::disallowed_methods, reason = "the last handle of the connection ends it")]
        let reader = tokio::spawn(reader.run(pipe.output));
        let (input, waiting) = mpsc::channel(MESSAGES_WAITING_MAX);
        #[expect(clippy::disallowed_methods, reason = "it ends with the last handle of the connection")]
        tokio::spawn(write_all(pipe.input, waiting, Arc::clone(&state)));
        Self(Arc::new(Inner { input, state, reader }))
    }

    /// Reason why the connection ended; `None` while it stands.
    pub(crate) fn gone(&self) -> Option<String> {
        self.0.state.lock().gone.clone()
    }

    /// Tells `events` of what happens in a session from now on; without one, of the browser's own events.
    pub(crate) fn listen(&self, session: Option<&str>, events: Events) {
        let mut state = self.0.state.lock();
        match session {
            Some(session) => drop(state.sessions.insert(session.to_owned(), events)),
            None => state.browser = Some(events),
        }
    }

    /// Stops telling of a session.
    pub(crate) fn forget(&self, session: &str) {
        self.0.state.lock().sessions.remove(session);
    }

    /// Sends commands in one go, whose answers nobody waits for.
    ///
    /// # Errors
    /// When the connection ended.
    pub(crate) async fn post(&self, session: Option<&str>, commands: &[(&'static str, Value)]) -> Result<(), CdpError> {
        let mut bytes = Vec::new();
        for (method, params) in commands {
            write_message(&mut bytes, self.next_id(), session, method, params);
        }
        self.write(bytes).await
    }

    /// Carries out a command.
    ///
    /// # Errors
    /// See [`CdpError`].
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
    ) -> Result<Value, CdpError> {
        self.call_after(session, &[], (method, params)).await
    }

    /// Carries out a command right behind others, whose answers nobody waits for.
    async fn call_after(
        &self,
        session: Option<&str>,
        before: &[(&'static str, Value)],
        (method, params): (&'static str, Value),
    ) -> Result<Value, CdpError> {
        let mut bytes = Vec::new();
        let mut pending = self.open(method)?;
        for (method, params) in before {
            let id = self.next_id();
            write_message(&mut bytes, id, session, method, params);
        }
        write_message(&mut bytes, pending.id, session, method, &params);
        self.write(bytes).await?;
        match tokio::time::timeout(CALL_MAX, &mut pending.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CdpError::Gone(self.gone().unwrap_or_else(|| "the connection ended".to_owned()))),
            Err(_) => Err(CdpError::Late { method }),
        }
    }

    fn open(&self, method: &'static str) -> Result<Pending<'_>, CdpError> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.0.state.lock();
        if let Some(gone) = &state.gone {
            return Err(CdpError::Gone(gone.clone()));
        }
        state.last += 1;
        let id = state.last;
        state.calls.insert(id, Waiting { method, answer: sender });
        Ok(Pending { connection: self, id, answer })
    }

    fn next_id(&self) -> u64 {
        let mut state = self.0.state.lock();
        state.last += 1;
        state.last
    }

    async fn write(&self, bytes: Vec<u8>) -> Result<(), CdpError> {
        let gone = |_| CdpError::Gone(self.gone().unwrap_or_else(|| "the connection ended".to_owned()));
        self.0.input.send(bytes).await.map_err(gone)
    }
}

/// Writes messages until the last handle is gone, or the browser takes no more.
async fn write_all(input: PipeInput, mut waiting: mpsc::Receiver<Vec<u8>>, state: Arc<Mutex<State>>) {
    while let Some(bytes) = waiting.recv().await {
        if let Err(error) = input.write(&bytes).await {
            return state.lock().end(error.to_string());
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn write_message(bytes: &mut Vec<u8>, id: u64, session: Option<&str>, method: &str, params: &Value) {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    bytes.extend_from_slice(message.to_string().as_bytes());
    bytes.push(0);
}

/// One session of the protocol: a tab, a frame or a worker.
#[derive(Clone)]
pub(crate) struct Channel {
    pub(crate) connection: Connection,
    pub(crate) session: Arc<str>,
}

impl Channel {
    /// Carries out a command in the session.
    ///
    /// # Errors
    /// See [`CdpError`].
    pub(crate) async fn call(&self, method: &'static str, params: Value) -> Result<Value, CdpError> {
        self.connection.call(Some(&self.session), method, params).await
    }

    /// Carries out a command right behind others, whose answers nobody waits for.
    ///
    /// # Errors
    /// See [`CdpError`].
    pub(crate) async fn call_after(
        &self,
        before: &[(&'static str, Value)],
        command: (&'static str, Value),
    ) -> Result<Value, CdpError> {
        self.connection.call_after(Some(&self.session), before, command).await
    }

    /// Carries out a command several times at once. What the browser refuses stands in its place.
    ///
    /// # Errors
    /// When the connection ended, or the browser does not answer.
    pub(crate) async fn call_all(
        &self,
        method: &'static str,
        params: Vec<Value>,
    ) -> Result<Vec<Result<Value, CdpError>>, CdpError> {
        let answers = join_all(params.into_iter().map(|params| self.call(method, params))).await;
        let broken = |answer: &Result<Value, CdpError>| {
            answer.as_ref().err().filter(|error| !matches!(error, CdpError::Refused { .. })).cloned()
        };
        answers.iter().find_map(broken).map_or(Ok(answers), Err)
    }

    /// Sends commands whose answers nobody waits for.
    ///
    /// # Errors
    /// When the connection ended.
    pub(crate) async fn post(&self, commands: &[(&'static str, Value)]) -> Result<(), CdpError> {
        self.connection.post(Some(&self.session), commands).await
    }
}

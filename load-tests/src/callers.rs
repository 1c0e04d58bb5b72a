//! The callers: what one connection of each case sends.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use palestra_protocol::id::{RunId, SessionId};

use crate::body;
use crate::http::{Connection, head};
use crate::load::Caller;
use crate::socket::{Place, Socket};

/// Milliseconds that a run of sessions lives without a call that names it.
const LEASE_MS: u64 = 600_000;
/// First bytes of a refusal in an answer of the stream or of a batch.
const ERROR: &str = r#""error":{"#;

/// Sends the same request over one connection.
pub(crate) struct SameRequest {
    connection: Connection,
    head: String,
    body: &'static str,
}

impl SameRequest {
    pub(crate) async fn new(address: SocketAddr, head: String, body: &'static str) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(address).await?, head, body })
    }
}

impl Caller for SameRequest {
    async fn connect(&mut self) -> anyhow::Result<()> {
        self.connection.reopen().await
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        self.connection.call(&self.head, self.body).await?.ok()?;
        Ok(1)
    }
}

/// Sends the same frame over one socket, after a first one that prepares it.
pub(crate) struct SameFrame {
    place: Place,
    first: Option<&'static str>,
    frame: &'static str,
    /// Text that every answer contains.
    expected: &'static str,
    socket: Option<Socket>,
}

impl SameFrame {
    pub(crate) const fn new(
        place: Place,
        first: Option<&'static str>,
        frame: &'static str,
        expected: &'static str,
    ) -> Self {
        Self { place, first, frame, expected, socket: None }
    }

    async fn ask(&mut self, frame: &str) -> anyhow::Result<()> {
        let socket = self.socket.as_mut().context("no socket is open")?;
        let answer = socket.call(frame.to_owned()).await?;
        ensure!(answer.contains(self.expected), "{frame} was answered by {answer:.500}");
        Ok(())
    }
}

impl Caller for SameFrame {
    async fn connect(&mut self) -> anyhow::Result<()> {
        self.socket = Some(self.place.open().await?);
        match self.first {
            Some(first) => self.ask(first).await,
            None => Ok(()),
        }
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        self.ask(self.frame).await?;
        Ok(1)
    }
}

/// Opens a socket, resets and closes, again and again: how an OpenEnv episode begins.
pub(crate) struct ConnectAndReset {
    pub(crate) place: Place,
    pub(crate) frame: &'static str,
    pub(crate) expected: &'static str,
}

impl Caller for ConnectAndReset {
    async fn connect(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        let mut socket = self.place.open().await?;
        let answer = socket.call(self.frame.to_owned()).await?;
        ensure!(answer.contains(self.expected), "{} was answered by {answer:.500}", self.frame);
        socket.close().await?;
        Ok(1)
    }
}

/// Steps sessions in turn over one connection.
pub(crate) struct HttpSteps {
    connection: Connection,
    sessions: Vec<Stepping>,
    next: usize,
    body: fn(u64) -> String,
}

/// A session on its way.
struct Stepping {
    head: String,
    seq: u64,
}

impl HttpSteps {
    pub(crate) async fn new(
        address: SocketAddr,
        key: &str,
        sessions: &[SessionId],
        body: fn(u64) -> String,
    ) -> anyhow::Result<Self> {
        let sessions = sessions
            .iter()
            .map(|id| Stepping { head: head("POST", &format!("/v1/sessions/{id}/step"), Some(key)), seq: 0 })
            .collect();
        Ok(Self { connection: Connection::open(address).await?, sessions, next: 0, body })
    }
}

impl Caller for HttpSteps {
    async fn connect(&mut self) -> anyhow::Result<()> {
        self.connection.reopen().await
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        self.next = (self.next + 1) % self.sessions.len();
        let session = &mut self.sessions[self.next];
        session.seq += 1;
        self.connection.call(&session.head, &(self.body)(session.seq)).await?.ok()?;
        Ok(1)
    }
}

/// Steps all its sessions with every request of `POST /v1/sessions:step`.
pub(crate) struct HttpBatches {
    connection: Connection,
    head: String,
    sessions: Vec<SessionId>,
    seq: u64,
}

impl HttpBatches {
    pub(crate) async fn new(address: SocketAddr, key: &str, sessions: &[SessionId]) -> anyhow::Result<Self> {
        let head = head("POST", "/v1/sessions:step", Some(key));
        Ok(Self { connection: Connection::open(address).await?, head, sessions: sessions.to_vec(), seq: 0 })
    }
}

impl Caller for HttpBatches {
    async fn connect(&mut self) -> anyhow::Result<()> {
        self.connection.reopen().await
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        self.seq += 1;
        let items = format!(r#"{{"items":{}}}"#, body::step_items(&self.sessions, self.seq));
        let answer = self.connection.call(&self.head, &items).await?;
        expect_no_error(&String::from_utf8_lossy(answer.ok()?))?;
        Ok(self.sessions.len() as u64)
    }
}

/// Steps its sessions over the stream: one session in a frame, or all of them.
pub(crate) struct StreamSteps {
    place: Place,
    socket: Socket,
    sessions: Vec<SessionId>,
    seq: u64,
}

impl StreamSteps {
    pub(crate) async fn new(address: SocketAddr, key: &str, sessions: &[SessionId]) -> anyhow::Result<Self> {
        let place = Place::stream(address, key);
        Ok(Self { socket: place.open().await?, place, sessions: sessions.to_vec(), seq: 0 })
    }
}

impl Caller for StreamSteps {
    async fn connect(&mut self) -> anyhow::Result<()> {
        self.socket = self.place.open().await?;
        Ok(())
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        self.seq += 1;
        let frame = match self.sessions.as_slice() {
            [only] => body::step_frame(1, *only, self.seq),
            all => body::steps_frame(1, all, self.seq),
        };
        expect_no_error(&self.socket.call(frame).await?)?;
        Ok(self.sessions.len() as u64)
    }
}

/// Creates sessions, each of which begins its first episode.
pub(crate) struct Creations {
    connection: Connection,
    key: String,
    head: String,
    /// Owns what was created since the last settlement, where it is closed, outside of what is measured.
    run: RunId,
}

impl Creations {
    pub(crate) async fn new(address: SocketAddr, key: &str) -> anyhow::Result<Self> {
        let head = head("POST", "/v1/sessions", Some(key));
        let connection = Connection::open(address).await?;
        let mut caller = Self { connection, key: key.to_owned(), head, run: RunId::new() };
        caller.begin_run().await?;
        Ok(caller)
    }

    async fn begin_run(&mut self) -> anyhow::Result<()> {
        self.run = RunId::new();
        let body = format!(r#"{{"id":"{}","lease_ms":{LEASE_MS}}}"#, self.run);
        self.connection.call(&head("POST", "/v1/runs", Some(&self.key)), &body).await?.ok()?;
        Ok(())
    }
}

impl Caller for Creations {
    async fn connect(&mut self) -> anyhow::Result<()> {
        self.connection.reopen().await
    }

    async fn call(&mut self) -> anyhow::Result<u64> {
        let body =
            format!(r#"{{"environment":"bench/counter","task":{{"split":"train","index":0}},"run":"{}"}}"#, self.run);
        self.connection.call(&self.head, &body).await?.ok()?;
        Ok(1)
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        let head = head("DELETE", &format!("/v1/runs/{}", self.run), Some(&self.key));
        self.connection.call(&head, "").await?.ok()?;
        self.begin_run().await
    }
}

fn expect_no_error(answer: &str) -> anyhow::Result<()> {
    ensure!(!answer.contains(ERROR), "a step was refused: {answer:.500}");
    Ok(())
}

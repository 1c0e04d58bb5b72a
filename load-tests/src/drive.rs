//! Takes steps of `bench/counter` in a server inside this process, on one thread: what is counted when instructions are.
//!
//! HTTP steps are calls of the application's service, without sockets. Steps of the stream go through a pipe in memory, so
//! that the frames of the server are read and written; the client's side of them is counted with it.

use anyhow::{Context, bail, ensure};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderValue, Request};
use clap::{Args, ValueEnum};
use futures::future::{LocalBoxFuture, try_join_all};
use futures::{FutureExt, SinkExt, StreamExt};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use palestra::app::App;
use palestra::config::Config;
use palestra_protocol::id::SessionId;
use palestra_protocol::stream::SUBPROTOCOL;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tower::ServiceExt;

use crate::body;

/// Sessions that step at the same time.
const SESSIONS: usize = 32;
/// Steps in a frame of the batch form.
const STEPS_PER_FRAME: usize = 256;
/// Sessions that are created at once: the store has a time limit, and valgrind none.
const SESSIONS_PER_CREATION: usize = 16;
/// Bytes of state of the session that is forked.
const STATE_BYTES: usize = 1_000_000;
/// Bytes of the pipe of a stream, in each direction.
const PIPE_BYTES: usize = 64 << 10;
/// Bytes of an answer that is read.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Rounds before anything counts: caches fill and clocks are calibrated.
const WARM_ROUNDS: u64 = 16;
/// Milliseconds for a request: valgrind makes everything slow.
const REQUEST_TIMEOUT_MS: u64 = 600_000;
/// The credential with which the driver makes its key.
const ADMIN_KEY: &str = "an-admin-key-for-load-tests";

/// A way that an operation takes through the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// Over HTTP, recorded nowhere.
    HttpNone,
    /// Over HTTP as a tool call, recorded nowhere.
    HttpToolNone,
    /// Over HTTP, recorded in groups.
    HttpGroup,
    /// One step per frame, recorded nowhere.
    StreamNone,
    /// One step per frame, recorded in groups.
    StreamGroup,
    /// 256 steps per frame, recorded nowhere.
    BatchNone,
    /// 256 steps per frame, recorded in groups.
    BatchGroup,
    /// Creating a session, which begins its first episode, over HTTP.
    Create,
    /// Another reset of a session, over HTTP.
    Reset,
    /// Forking a session with 1 MB of state, 32 times in each request.
    Fork,
}

impl Way {
    const fn record(self) -> &'static str {
        match self {
            Self::HttpNone | Self::HttpToolNone | Self::StreamNone | Self::BatchNone => "none",
            Self::HttpGroup | Self::StreamGroup | Self::BatchGroup | Self::Create | Self::Reset | Self::Fork => "group",
        }
    }

    /// Operations of a round, which are under way at the same time.
    pub(crate) const fn operations_per_round(self) -> u64 {
        match self {
            Self::BatchNone | Self::BatchGroup => STEPS_PER_FRAME as u64,
            _ => SESSIONS as u64,
        }
    }
}

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The way of the operations.
    way: Way,
    /// Number of rounds; every session takes one step in each.
    rounds: u64,
}

/// Drives.
///
/// # Errors
/// When the server does not start or answers with a problem.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let config = Config {
        data: folder.path().to_owned(),
        admin_key: Some(ADMIN_KEY.into()),
        request_timeout_ms: REQUEST_TIMEOUT_MS,
        ..Config::default()
    };
    palestra::telemetry::start_log(&config)?;
    let app = runtime.block_on(App::open(config))?;
    let router = palestra::http::router(app.clone());
    let mut driver = runtime.block_on(Driver::prepare(router, arguments.way))?;
    runtime.block_on(driver.take(WARM_ROUNDS))?;
    counted(&runtime, driver.take(arguments.rounds).boxed_local())?;
    runtime.block_on(app.close());
    Ok(true)
}

/// Operations that are counted: everything that all threads do between entering and leaving this function, which valgrind
/// finds by its name.
#[inline(never)]
fn counted(runtime: &Runtime, rounds: LocalBoxFuture<'_, anyhow::Result<()>>) -> anyhow::Result<()> {
    runtime.block_on(rounds)
}

/// The application, a credential and the sessions that step.
struct Driver {
    router: Router,
    bearer: HeaderValue,
    sessions: Vec<SessionId>,
    /// The step that each of them took last.
    seq: u64,
    line: Line,
}

/// Connections of operations to the application.
enum Line {
    /// As calls of its service.
    Http { paths: Vec<String>, body: fn(u64) -> String },
    /// As frames with one step each.
    Stream(Box<WebSocketStream<DuplexStream>>),
    /// As frames with a step of every session.
    Batches(Box<WebSocketStream<DuplexStream>>),
    /// As calls that create a session.
    Creations { body: String },
    /// As one call that forks.
    Forks { path: String, body: String },
}

impl Driver {
    async fn prepare(router: Router, way: Way) -> anyhow::Result<Self> {
        let admin = HeaderValue::from_str(&format!("Bearer {ADMIN_KEY}"))?;
        let line = Line::Http { paths: Vec::new(), body: body::step };
        let mut driver = Self { router, bearer: admin, sessions: Vec::new(), seq: 0, line };
        let key = driver.call("/v1/keys", json!({"name": "load", "scopes": ["sessions"]}).to_string()).await?;
        let secret = key["secret"].as_str().context("a key without its secret")?;
        driver.bearer = HeaderValue::from_str(&format!("Bearer {secret}"))?;
        let count = usize::try_from(way.operations_per_round())?;
        let mut request = body::create("bench/counter", way.record(), SESSIONS_PER_CREATION);
        if way == Way::Fork {
            request = body::create("bench/document", way.record(), 1);
            request["config"] = json!({"bytes": STATE_BYTES});
        }
        let wanted = if way == Way::Fork { 1 } else { count };
        while driver.sessions.len() < wanted {
            let opened = driver.call("/v1/sessions", request.to_string()).await?;
            for one in opened["data"].as_array().context("no list of sessions")? {
                driver.sessions.push(serde_json::from_value(one["id"].clone())?);
            }
        }
        driver.line = match way {
            Way::HttpNone | Way::HttpGroup => driver.http("step", body::step),
            Way::HttpToolNone => driver.http("step", body::tool_step),
            Way::Reset => driver.http("reset", |_| "{}".to_owned()),
            Way::StreamNone | Way::StreamGroup => Line::Stream(Box::new(driver.open_stream().await?)),
            Way::BatchNone | Way::BatchGroup => Line::Batches(Box::new(driver.open_stream().await?)),
            Way::Create => {
                let body = json!({"environment": "bench/counter", "task": {"split": "train", "index": 0}});
                Line::Creations { body: body.to_string() }
            }
            Way::Fork => {
                let parent = driver.sessions.first().context("no session")?;
                Line::Forks { path: format!("/v1/sessions/{parent}/fork"), body: json!({"count": count}).to_string() }
            }
        };
        Ok(driver)
    }

    fn http(&self, call: &str, body: fn(u64) -> String) -> Line {
        Line::Http { paths: self.sessions.iter().map(|id| format!("/v1/sessions/{id}/{call}")).collect(), body }
    }

    /// Does the operations of so many rounds.
    async fn take(&mut self, rounds: u64) -> anyhow::Result<()> {
        for _ in 0..rounds {
            self.seq += 1;
            match &mut self.line {
                Line::Http { paths, body } => {
                    let (router, bearer, seq) = (&self.router, &self.bearer, self.seq);
                    try_join_all(paths.iter().map(|path| post(router, bearer, path, body(seq)))).await?;
                }
                Line::Stream(socket) => {
                    for (id, session) in self.sessions.iter().enumerate() {
                        socket.feed(Message::text(body::step_frame(id, *session, self.seq))).await?;
                    }
                    socket.flush().await?;
                    for _ in &self.sessions {
                        expect_no_error(socket).await?;
                    }
                }
                Line::Batches(socket) => {
                    socket.send(Message::text(body::steps_frame(0, &self.sessions, self.seq))).await?;
                    expect_no_error(socket).await?;
                }
                Line::Creations { body } => {
                    let (router, bearer) = (&self.router, &self.bearer);
                    try_join_all((0..SESSIONS).map(|_| post(router, bearer, "/v1/sessions", body.clone()))).await?;
                }
                Line::Forks { path, body } => {
                    post(&self.router, &self.bearer, path, body.clone()).await?;
                }
            }
        }
        Ok(())
    }

    async fn call(&self, path: &str, body: String) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&post(&self.router, &self.bearer, path, body).await?)?)
    }

    async fn open_stream(&self) -> anyhow::Result<WebSocketStream<DuplexStream>> {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let service = TowerToHyperService::new(self.router.clone());
        let exchange = http1::Builder::new().serve_connection(TokioIo::new(far), service).with_upgrades();
        let mut request = "ws://localhost/v1/stream".into_client_request()?;
        request.headers_mut().insert(AUTHORIZATION, self.bearer.clone());
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        // The exchange ends where the connection becomes a socket.
        let (socket, exchanged) = tokio::join!(tokio_tungstenite::client_async(request, near), exchange);
        exchanged?;
        Ok(socket?.0)
    }
}

/// One request through every layer of the application; answers the bytes of the body.
async fn post(router: &Router, bearer: &HeaderValue, path: &str, body: String) -> anyhow::Result<axum::body::Bytes> {
    let request = Request::post(path)
        .header(AUTHORIZATION, bearer.clone())
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(Body::from(body))?;
    let (head, body) = router.clone().oneshot(request).await?.into_parts();
    let bytes = to_bytes(body, ANSWER_BYTES_MAX).await?;
    ensure!(head.status.is_success(), "{path} answered {}: {}", head.status, String::from_utf8_lossy(&bytes));
    Ok(bytes)
}

async fn expect_no_error(socket: &mut WebSocketStream<DuplexStream>) -> anyhow::Result<()> {
    let Some(message) = socket.next().await else { bail!("the socket ended") };
    let text = message?.into_text()?;
    ensure!(!text.contains(r#""error":{"#), "a step was refused: {text:.2000}");
    Ok(())
}

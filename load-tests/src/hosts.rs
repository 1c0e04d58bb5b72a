//! The servers of one comparison, and the load that each case puts on its server.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use palestra_protocol::id::SessionId;
use serde_json::{Value, json};

use crate::body;
use crate::callers::{ConnectAndReset, Creations, HttpBatches, HttpSteps, SameFrame, SameRequest, StreamSteps};
use crate::http::head;
use crate::load::Load;
use crate::peers::Peer;
use crate::postgres::{Postgres, Times};
use crate::process::Server;
use crate::socket::Place;
use crate::subject::Palestra;
use crate::targets::{Case, Host};

/// Connections that wait for an answer at the same time.
pub(crate) const CALLERS: usize = 32;
/// Connections of the batch cases, each with sessions of its own.
const BATCH_CALLERS: usize = 4;
/// Steps of a batch.
const STEPS_PER_BATCH: usize = 256;
/// Where OpenEnv's frames are answered.
const MOUNT: &str = "/openenv/bench/counter";
const MOUNT_SOCKET: &str = "/openenv/bench/counter/ws";

/// Request that the bare server parses and answers: a step.
const ECHO: &str = r#"{"seq":1,"action":{"text":"1"}}"#;
const FASTAPI_STEP: &str = r#"{"session":"one","amount":1}"#;
const OPENENV_HTTP_STEP: &str = r#"{"action":{"amount":1}}"#;
const OPENENV_RESET: &str = r#"{"type":"reset","data":{}}"#;
const OPENENV_STEP: &str = r#"{"type":"step","data":{"amount":1}}"#;
const MOUNT_STEP: &str = r#"{"type":"step","data":{"text":"1"}}"#;
const OPENENV_ANSWER: &str = r#""observation""#;

/// All servers; those that cannot run here are missing.
pub(crate) struct Hosts {
    bare: Server,
    embedded: Palestra,
    database: Option<(Postgres, Palestra)>,
    fastapi: Option<Server>,
    openenv: Option<Server>,
    /// Missing servers with their reasons, for the reader of the table.
    pub(crate) missing: Vec<String>,
}

/// Processor time at one moment.
pub(crate) struct Clock {
    server: Duration,
    database: Option<Times>,
}

/// Processor time between two moments.
pub(crate) struct Used {
    pub(crate) server: Duration,
    pub(crate) database: Option<Duration>,
}

/// Starts the bare server.
///
/// # Errors
/// When it does not start.
fn start_bare() -> anyhow::Result<Server> {
    Server::start(Command::new(std::env::current_exe()?).arg("reference"))
}

/// Callers that step one session each over HTTP, or share `sessions` evenly.
///
/// # Errors
/// When the server refuses connections.
pub(crate) async fn http_steps(
    palestra: &Palestra,
    sessions: &[SessionId],
    body: fn(u64) -> String,
) -> anyhow::Result<Vec<HttpSteps>> {
    let mut callers = Vec::new();
    for share in sessions.chunks(sessions.len().div_ceil(CALLERS).max(1)) {
        callers.push(HttpSteps::new(palestra.address(), palestra.key(), share, body).await?);
    }
    Ok(callers)
}

impl Hosts {
    /// Starts everything that can run here.
    ///
    /// # Errors
    /// When what has to run does not.
    pub(crate) async fn start(program: &Path) -> anyhow::Result<Self> {
        let mut missing = Vec::new();
        let database = match Postgres::start() {
            Ok(postgres) => {
                let palestra = Palestra::start(program, Some(postgres.url())).await?;
                Some((postgres, palestra))
            }
            Err(reason) => {
                missing.push(format!("PostgreSQL: {reason}"));
                None
            }
        };
        let mut peer = |peer: Peer, name: &str| {
            let started = peer.start()?;
            if started.is_none() {
                missing.push(format!("{name}: not installed; load-tests/peers/prepare installs it"));
            }
            anyhow::Ok(started)
        };
        let (fastapi, openenv) = (peer(Peer::FastApi, "FastAPI")?, peer(Peer::OpenEnv, "OpenEnv")?);
        let embedded = Palestra::start(program, None).await?;
        Ok(Self { bare: start_bare()?, embedded, database, fastapi, openenv, missing })
    }

    fn server(&self, host: Host) -> Option<&Server> {
        match host {
            Host::Bare => Some(&self.bare),
            Host::FastApi => self.fastapi.as_ref(),
            Host::OpenEnv => self.openenv.as_ref(),
            Host::Embedded => Some(self.embedded.server()),
            Host::Postgres => self.database.as_ref().map(|(_, palestra)| palestra.server()),
        }
    }

    /// Processor time of a host until now; `None` where it is missing.
    ///
    /// # Errors
    /// When the host is gone.
    pub(crate) fn clock(&self, host: Host) -> anyhow::Result<Option<Clock>> {
        let Some(server) = self.server(host) else { return Ok(None) };
        let database = match (&self.database, host) {
            (Some((postgres, _)), Host::Postgres) => Some(postgres.cpu()?),
            _ => None,
        };
        Ok(Some(Clock { server: server.cpu()?, database }))
    }

    /// The load of a case; `None` where its host is missing, or does not offer it.
    ///
    /// # Errors
    /// When the host refuses what the case needs.
    pub(crate) async fn load(&mut self, case: Case, host: Host) -> anyhow::Result<Option<Box<dyn Load>>> {
        let Some(address) = self.server(host).map(Server::address) else { return Ok(None) };
        let palestra = match (&self.database, host) {
            (Some((_, palestra)), Host::Postgres) => palestra,
            _ => &self.embedded,
        };
        let load: Box<dyn Load> = match case {
            Case::BareHttp => Box::new(same_requests(address, "/echo", ECHO).await?),
            Case::BareSocket => Box::new(same_frames(address, "/ws", None, ECHO, "action")),
            Case::FastApiHttp => Box::new(same_requests(address, "/step", FASTAPI_STEP).await?),
            Case::FastApiSocket => Box::new(same_frames(address, "/ws", None, FASTAPI_STEP, "count")),
            Case::OpenEnvHttp => Box::new(same_requests(address, "/step", OPENENV_HTTP_STEP).await?),
            Case::OpenEnvSocket => {
                Box::new(same_frames(address, "/ws", Some(OPENENV_RESET), OPENENV_STEP, OPENENV_ANSWER))
            }
            Case::OpenEnvReset => Box::new(connects(address)),
            Case::HttpNone => Box::new(palestra_http(palestra, "none", body::step).await?),
            Case::HttpTool => Box::new(palestra_http(palestra, "none", body::tool_step).await?),
            Case::HttpGroup | Case::HttpPostgres => Box::new(palestra_http(palestra, "group", body::step).await?),
            Case::StreamNone => Box::new(palestra_stream(palestra, "none", CALLERS, 1).await?),
            Case::StreamGroup | Case::StreamPostgres => Box::new(palestra_stream(palestra, "group", CALLERS, 1).await?),
            Case::StreamBatchNone => Box::new(palestra_stream(palestra, "none", BATCH_CALLERS, STEPS_PER_BATCH).await?),
            Case::StreamBatchGroup | Case::StreamBatchPostgres => {
                Box::new(palestra_stream(palestra, "group", BATCH_CALLERS, STEPS_PER_BATCH).await?)
            }
            Case::HttpBatchNone => Box::new(palestra_batches(palestra, "none").await?),
            Case::HttpBatchGroup => Box::new(palestra_batches(palestra, "group").await?),
            Case::CreateReset => Box::new(creations(palestra).await?),
            Case::Reset => Box::new(resets(palestra).await?),
            Case::MountStep => match mount(palestra).await? {
                Some(load) => Box::new(load),
                None => {
                    self.missing.push(format!("this server offers nothing at {MOUNT}"));
                    return Ok(None);
                }
            },
        };
        Ok(Some(load))
    }
}

async fn same_requests(address: SocketAddr, path: &str, body: &'static str) -> anyhow::Result<Vec<SameRequest>> {
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        callers.push(SameRequest::new(address, head("POST", path, None), body).await?);
    }
    Ok(callers)
}

fn same_frames(
    address: SocketAddr,
    path: &'static str,
    first: Option<&'static str>,
    frame: &'static str,
    expected: &'static str,
) -> Vec<SameFrame> {
    (0..CALLERS).map(|_| SameFrame::new(Place::bare(address, path), first, frame, expected)).collect()
}

fn connects(address: SocketAddr) -> Vec<ConnectAndReset> {
    let connect =
        || ConnectAndReset { place: Place::bare(address, "/ws"), frame: OPENENV_RESET, expected: OPENENV_ANSWER };
    (0..CALLERS).map(|_| connect()).collect()
}

fn counters(record: &str) -> Value {
    json!({"environment": "bench/counter", "task": {"split": "train", "index": 0}, "record": record})
}

async fn palestra_http(palestra: &Palestra, record: &str, body: fn(u64) -> String) -> anyhow::Result<Vec<HttpSteps>> {
    http_steps(palestra, &palestra.open(&counters(record), CALLERS).await?, body).await
}

async fn palestra_stream(
    palestra: &Palestra,
    record: &str,
    callers: usize,
    steps_per_frame: usize,
) -> anyhow::Result<Vec<StreamSteps>> {
    let sessions = palestra.open(&counters(record), callers * steps_per_frame).await?;
    let mut load = Vec::new();
    for share in sessions.chunks(steps_per_frame) {
        load.push(StreamSteps::new(palestra.address(), palestra.key(), share).await?);
    }
    Ok(load)
}

async fn palestra_batches(palestra: &Palestra, record: &str) -> anyhow::Result<Vec<HttpBatches>> {
    let sessions = palestra.open(&counters(record), BATCH_CALLERS * STEPS_PER_BATCH).await?;
    let mut load = Vec::new();
    for share in sessions.chunks(STEPS_PER_BATCH) {
        load.push(HttpBatches::new(palestra.address(), palestra.key(), share).await?);
    }
    Ok(load)
}

async fn creations(palestra: &Palestra) -> anyhow::Result<Vec<Creations>> {
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        callers.push(Creations::new(palestra.address(), palestra.key()).await?);
    }
    Ok(callers)
}

async fn resets(palestra: &Palestra) -> anyhow::Result<Vec<SameRequest>> {
    let mut callers = Vec::new();
    for id in palestra.open(&counters("group"), CALLERS).await? {
        let head = head("POST", &format!("/v1/sessions/{id}/reset"), Some(palestra.key()));
        callers.push(SameRequest::new(palestra.address(), head, "{}").await?);
    }
    Ok(callers)
}

/// Sockets of the OpenEnv mount; `None` where this server has no such mount.
async fn mount(palestra: &Palestra) -> anyhow::Result<Option<Vec<SameFrame>>> {
    if palestra.call("GET", &format!("{MOUNT}/health"), "").await.is_err() {
        return Ok(None);
    }
    let place = Place { bearer: Some(palestra.key().to_owned()), ..Place::bare(palestra.address(), MOUNT_SOCKET) };
    let caller = || SameFrame::new(place.clone(), Some(OPENENV_RESET), MOUNT_STEP, OPENENV_ANSWER);
    Ok(Some((0..CALLERS).map(|_| caller()).collect()))
}

impl Clock {
    /// Usage since `before`.
    pub(crate) fn since(&self, before: &Self) -> Used {
        let database = self.database.as_ref().zip(before.database.as_ref()).map(|(now, then)| now.since(then));
        Used { server: self.server.saturating_sub(before.server), database }
    }
}

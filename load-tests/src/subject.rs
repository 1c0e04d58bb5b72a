//! A Palestra server under load, and what is asked of it besides.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use palestra_protocol::id::SessionId;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Connection, head};
use crate::process::Server;

/// The credential with which keys are made.
const ADMIN_KEY: &str = "an-admin-key-for-load-tests";
/// The root secret; PostgreSQL asks for one.
const SECRET: &str = "a-root-secret-for-load-tests-0123456789abcdef";
/// Sessions of one request.
pub(crate) const SESSIONS_PER_REQUEST: usize = 1_000;
/// Bytes of a request: state of a megabyte is asked for as a number, but batches of steps are long.
const BODY_BYTES_MAX: &str = "8388608";

/// A running Palestra with a key for sessions.
pub(crate) struct Palestra {
    server: Server,
    key: String,
    /// The data folder, which goes with the server.
    _data: TempDir,
}

impl Palestra {
    /// Starts a server with a data folder of its own, on the embedded store or on a database.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) async fn start(program: &Path, database_url: Option<&str>) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let server = serve(program, data.path(), database_url)?;
        let mut palestra = Self { server, key: ADMIN_KEY.to_owned(), _data: data };
        let request = json!({"name": "load", "scopes": ["sessions", "state:read"]});
        let key = palestra.post("/v1/keys", &request).await?;
        palestra.key = key["secret"].as_str().context("a key without its secret")?.to_owned();
        Ok(palestra)
    }

    pub(crate) const fn server(&self) -> &Server {
        &self.server
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// One call over a connection of its own.
    ///
    /// # Errors
    /// When it is refused.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Value> {
        let mut connection = Connection::open(self.address()).await?;
        let answer = connection.call(&head(method, path, Some(&self.key)), body).await?;
        let bytes = answer.ok().with_context(|| format!("{method} {path}"))?;
        Ok(if bytes.is_empty() { Value::Null } else { serde_json::from_slice(bytes)? })
    }

    /// A call with a body.
    ///
    /// # Errors
    /// When it is refused.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.call("POST", path, &body.to_string()).await
    }

    /// Opens `count` sessions as `request` says, beside `count` itself.
    ///
    /// # Errors
    /// When they are refused.
    pub(crate) async fn open(&self, request: &Value, count: usize) -> anyhow::Result<Vec<SessionId>> {
        let mut sessions = Vec::with_capacity(count);
        while sessions.len() < count {
            let mut request = request.clone();
            request["count"] = json!(SESSIONS_PER_REQUEST.min(count - sessions.len()));
            let opened = self.post("/v1/sessions", &request).await?;
            let opened = opened["data"].as_array().context("an answer without sessions")?;
            for one in opened {
                sessions.push(serde_json::from_value(one["id"].clone())?);
            }
        }
        ensure!(sessions.len() == count, "{} sessions were opened, not {count}", sessions.len());
        Ok(sessions)
    }
}

/// Starts the program on a data folder that may hold something already.
///
/// # Errors
/// When it does not start.
pub(crate) fn serve(program: &Path, data: &Path, database_url: Option<&str>) -> anyhow::Result<Server> {
    let mut command = Command::new(program.canonicalize()?);
    // Settings of the caller must not change what is measured.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PALESTRA_")) {
        command.env_remove(name);
    }
    command
        .current_dir(data)
        .args(["serve", "--listen", "127.0.0.1:0", "--body-bytes-max", BODY_BYTES_MAX, "--data"])
        .arg(data)
        .env("PALESTRA_ADMIN_KEY", ADMIN_KEY)
        .env("PALESTRA_SECRET", SECRET);
    if let Some(url) = database_url {
        command.env("PALESTRA_DATABASE_URL", url);
    }
    Server::start(&mut command)
}

/// The program under load: the one that is named, or the one that was built beside this one.
///
/// # Errors
/// When it is not there.
pub(crate) fn program(named: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    let path = match named {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("palestra"),
    };
    ensure!(
        path.is_file(),
        "there is no program {}: cargo build --profile dist, or name one with --palestra",
        path.display()
    );
    Ok(path)
}

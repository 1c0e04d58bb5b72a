//! One configuration from flags, environment variables and an optional file, checked once.
//!
//! A flag wins over an environment variable, that over a line of `palestra.toml`, and that over the default.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use serde::{Deserialize, Serialize};

use crate::jobs::{ArtifactPlace, JobSettings};
use crate::session::SessionSettings;

mod error;

pub use error::{ConfigError, Origin};

/// The file that is read from the working folder where no other is named.
const FILE: &str = "palestra.toml";
/// Fewest bytes of a root secret that is given rather than made.
const SECRET_BYTES_MIN: usize = 32;
/// Fewest bytes of an admin key that is given rather than made.
const ADMIN_KEY_BYTES_MIN: usize = 16;
/// Fewest bytes that a body limit leaves for a request to be useful at all.
const BODY_BYTES_MIN: usize = 1_024;
/// Shortest lease of a job: three heartbeats have to come through in it.
const JOB_LEASE_MS_MIN: u64 = 1_000;

/// Text that is never shown: debugging output says that it is there, not what it is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One line of text per event, for people.
    #[default]
    Text,
    /// One JSON object per event, for machines.
    Json,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Address and port to listen on; port 0 lets the system choose.
    pub listen: String,
    /// Folder of the embedded store, the root secret and the node's identity.
    pub data: PathBuf,
    /// PostgreSQL to use instead of the embedded store.
    pub database_url: Option<Secret>,
    /// Root secret that tokens are signed from and keys are hashed with; `data/secret` where left out.
    pub secret: Option<Secret>,
    /// A bearer credential that is always the admin of tenant `default`.
    pub admin_key: Option<Secret>,
    /// Sessions in memory.
    pub sessions_max: usize,
    /// Milliseconds from a session's creation to its end.
    pub session_ttl_ms: u64,
    /// `limits.idle_ms` where neither caller nor environment names one.
    pub idle_ms: u64,
    /// Bytes of a request's body or a frame of the stream.
    pub body_bytes_max: usize,
    /// Bytes of a published definition.
    pub publish_bytes_max: usize,
    /// Milliseconds for a request's body to arrive.
    pub request_timeout_ms: u64,
    /// Milliseconds for an answer; waits for verdicts and streams are not bounded by this. What runs goes on all the same.
    pub answer_timeout_ms: u64,
    /// Milliseconds for a publication to arrive and be stored.
    pub publish_timeout_ms: u64,
    /// Open streams (WebSocket and event streams) at once.
    pub streams_max: usize,
    /// Open connections at once, WebSockets not counted; further ones are closed at once.
    pub connections_max: usize,
    /// Milliseconds for a request's head to arrive, and for a connection to stay open without requests.
    pub head_timeout_ms: u64,
    /// Milliseconds for the reader of a WebSocket to take a message before it is disconnected.
    pub send_timeout_ms: u64,
    /// Sessions that are played over the OpenEnv mounts at once, those that wait for a lost connection included.
    pub openenv_sessions_max: usize,
    /// Milliseconds that a session waits for an OpenEnv connection that dropped to come back.
    pub openenv_linger_ms: u64,
    /// Bytes of a frame that an OpenEnv client sends.
    pub openenv_frame_bytes_max: usize,
    /// Origins whose pages may call the API; none where empty.
    pub cors_origins: Vec<String>,
    /// Whether `/metrics` is readable without an admin key.
    pub metrics_public: bool,
    /// What is logged, as in `info,palestra=debug`.
    pub log: String,
    /// How it is logged.
    pub log_format: LogFormat,
    /// Milliseconds that shutdown waits for what is running.
    pub drain_ms: u64,
    /// Where sandboxes run.
    pub sandbox: SandboxChoice,
    /// The Docker engine, as `unix:///var/run/docker.sock`; `DOCKER_HOST` or the usual socket where left out.
    pub docker_host: Option<String>,
    /// The runtime of containers, as `runsc`; the engine's own where left out.
    pub docker_runtime: Option<String>,
    /// Folder of the images that sandboxes are made from; `data/images` where left out.
    pub images: Option<PathBuf>,
    /// Sandboxes at once, warm ones included.
    pub sandboxes_max: usize,
    /// Sandboxes of each kind in use that are kept warm.
    pub sandboxes_warm: usize,
    /// Processes in which SQLite runs; as many as there are cores, eight at most, where 0.
    pub sqlite_workers: usize,
    /// Databases of SQLite at once, those of judges included.
    pub sqlite_sessions_max: usize,
    /// The program whose command `sqlite-worker` runs SQLite; this one where left out.
    pub sqlite_worker: Option<PathBuf>,
    /// The PostgreSQL cluster in which SQL is played, by a role that may create databases and roles; a private one where left out.
    pub sql_postgres_url: Option<Secret>,
    /// Databases of PostgreSQL that are played at once, those of judges included.
    pub sql_postgres_sessions_max: usize,
    /// Databases of PostgreSQL of each sort in use that are kept ready.
    pub sql_postgres_warm: usize,
    /// Milliseconds that a worker's lease of a job lasts without a heartbeat.
    pub job_lease_ms: u64,
    /// Jobs of a tenant that may be queued at once.
    pub jobs_queued_max: u64,
    /// Milliseconds that a job is kept after it was over.
    pub job_retention_ms: u64,
    /// Where the bytes of artefacts lie.
    pub artifacts: ArtifactPlace,
    /// Bytes of one artefact.
    pub artifact_bytes_max: u64,
    /// Bytes of artefacts and policies that a tenant may keep, equal contents counted once.
    pub artifact_quota_bytes: u64,
    /// Folder in which `bench/effects` leaves its marks; without one that environment does not exist.
    pub bench_effects: Option<PathBuf>,
}

/// Where sandboxes run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SandboxChoice {
    /// In namespaces of this machine, and in containers where an engine answers; a session chooses, the first is the default.
    #[default]
    Auto,
    /// In namespaces of this machine alone.
    Local,
    /// In containers alone.
    Docker,
    /// Nowhere.
    None,
}

impl Default for Config {
    fn default() -> Self {
        let (sessions, jobs) = (SessionSettings::default(), JobSettings::default());
        Self {
            listen: "127.0.0.1:7070".to_owned(),
            data: PathBuf::from("palestra-data"),
            database_url: None,
            secret: None,
            admin_key: None,
            sessions_max: sessions.sessions_max,
            session_ttl_ms: sessions.session_ttl_ms,
            idle_ms: sessions.idle_ms,
            body_bytes_max: 1 << 20,
            publish_bytes_max: 256 << 20,
            request_timeout_ms: 30_000,
            answer_timeout_ms: 600_000,
            publish_timeout_ms: 600_000,
            streams_max: 10_000,
            connections_max: 20_000,
            head_timeout_ms: 60_000,
            send_timeout_ms: 10_000,
            openenv_sessions_max: 10_000,
            openenv_linger_ms: 300_000,
            openenv_frame_bytes_max: 100 << 20,
            cors_origins: Vec::new(),
            metrics_public: false,
            log: "info".to_owned(),
            log_format: LogFormat::Text,
            drain_ms: 10_000,
            sandbox: SandboxChoice::Auto,
            docker_host: None,
            docker_runtime: None,
            images: None,
            sandboxes_max: 1_000,
            sandboxes_warm: 2,
            sqlite_workers: 0,
            sqlite_sessions_max: 20_000,
            sqlite_worker: None,
            sql_postgres_url: None,
            sql_postgres_sessions_max: 200,
            sql_postgres_warm: 2,
            job_lease_ms: jobs.lease_ms,
            jobs_queued_max: jobs.queued_max,
            job_retention_ms: jobs.retention_ms,
            artifacts: jobs.artifacts,
            artifact_bytes_max: jobs.artifact_bytes_max,
            artifact_quota_bytes: jobs.quota_bytes,
            bench_effects: None,
        }
    }
}

/// The flags of [`Config`], each of which is also an environment variable.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct ConfigArguments {
    /// Settings file; palestra.toml in the working folder is read where this is left out.
    #[arg(long, env = "PALESTRA_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Address and port to listen on; port 0 lets the system choose [default: 127.0.0.1:7070].
    #[arg(long, env = "PALESTRA_LISTEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    listen: Option<String>,
    /// Folder of the embedded store, the root secret and the node's identity [default: ./palestra-data].
    #[arg(long, env = "PALESTRA_DATA", value_name = "FOLDER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<PathBuf>,
    /// PostgreSQL to use instead of the embedded store: postgres://user:password@host/database.
    #[arg(long, env = "PALESTRA_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    database_url: Option<Secret>,
    /// Root secret, at least 32 bytes; made and kept in the data folder where left out, required with PostgreSQL.
    #[arg(long, env = "PALESTRA_SECRET", hide_env_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<Secret>,
    /// A credential that is always the admin of tenant `default`, at least 16 bytes.
    #[arg(long, env = "PALESTRA_ADMIN_KEY", hide_env_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    admin_key: Option<Secret>,
    /// Sessions in memory [default: 200000].
    #[arg(long, env = "PALESTRA_SESSIONS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions_max: Option<usize>,
    /// Milliseconds from a session's creation to its end [default: 86400000].
    #[arg(long, env = "PALESTRA_SESSION_TTL_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    session_ttl_ms: Option<u64>,
    /// Milliseconds without a command after which a session is parked or ended [default: 900000].
    #[arg(long, env = "PALESTRA_IDLE_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_ms: Option<u64>,
    /// Bytes of a request's body or a frame of the stream [default: 1048576].
    #[arg(long, env = "PALESTRA_BODY_BYTES_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes_max: Option<usize>,
    /// Bytes of a published definition [default: 268435456].
    #[arg(long, env = "PALESTRA_PUBLISH_BYTES_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    publish_bytes_max: Option<usize>,
    /// Milliseconds for a request's body to arrive [default: 30000].
    #[arg(long, env = "PALESTRA_REQUEST_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    request_timeout_ms: Option<u64>,
    /// Milliseconds for an answer; what runs goes on all the same [default: 600000].
    #[arg(long, env = "PALESTRA_ANSWER_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_timeout_ms: Option<u64>,
    /// Milliseconds for a publication to arrive and be stored [default: 600000].
    #[arg(long, env = "PALESTRA_PUBLISH_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    publish_timeout_ms: Option<u64>,
    /// Open streams (WebSocket and event streams) at once [default: 10000].
    #[arg(long, env = "PALESTRA_STREAMS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    streams_max: Option<usize>,
    /// Open connections at once, WebSockets not counted [default: 20000].
    #[arg(long, env = "PALESTRA_CONNECTIONS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    connections_max: Option<usize>,
    /// Milliseconds for a request's head, and for a connection without requests [default: 60000].
    #[arg(long, env = "PALESTRA_HEAD_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    head_timeout_ms: Option<u64>,
    /// Milliseconds for the reader of a WebSocket to take a message [default: 10000].
    #[arg(long, env = "PALESTRA_SEND_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    send_timeout_ms: Option<u64>,
    /// Sessions played over the OpenEnv mounts at once [default: 10000].
    #[arg(long, env = "PALESTRA_OPENENV_SESSIONS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    openenv_sessions_max: Option<usize>,
    /// Milliseconds that a session waits for an OpenEnv connection that dropped [default: 300000].
    #[arg(long, env = "PALESTRA_OPENENV_LINGER_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    openenv_linger_ms: Option<u64>,
    /// Bytes of a frame that an OpenEnv client sends [default: 104857600].
    #[arg(long, env = "PALESTRA_OPENENV_FRAME_BYTES_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    openenv_frame_bytes_max: Option<usize>,
    /// Origins whose pages may call the API, separated by commas [default: none].
    #[arg(long, env = "PALESTRA_CORS_ORIGINS", value_delimiter = ',', value_name = "ORIGINS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cors_origins: Option<Vec<String>>,
    /// Whether /metrics is readable without an admin key [default: false].
    #[arg(long, env = "PALESTRA_METRICS_PUBLIC", num_args = 0..=1, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_public: Option<bool>,
    /// What is logged, as in info,palestra=debug [default: info].
    #[arg(long, env = "PALESTRA_LOG", value_name = "FILTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// How it is logged [default: text].
    #[arg(long, env = "PALESTRA_LOG_FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<LogFormat>,
    /// Milliseconds that shutdown waits for what is running [default: 10000].
    #[arg(long, env = "PALESTRA_DRAIN_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    drain_ms: Option<u64>,
    /// Where sandboxes run [default: auto].
    #[arg(long, env = "PALESTRA_SANDBOX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxChoice>,
    /// Docker engine of sandboxes, as unix:///var/run/docker.sock [default: DOCKER_HOST, or the usual socket].
    #[arg(long, env = "PALESTRA_DOCKER_HOST", value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    docker_host: Option<String>,
    /// Runtime of containers, as runsc [default: the engine's].
    #[arg(long, env = "PALESTRA_DOCKER_RUNTIME", value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    docker_runtime: Option<String>,
    /// Folder of the images that sandboxes are made from [default: DATA/images].
    #[arg(long, env = "PALESTRA_IMAGES", value_name = "FOLDER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<PathBuf>,
    /// Sandboxes at once, warm ones included [default: 1000].
    #[arg(long, env = "PALESTRA_SANDBOXES_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes_max: Option<usize>,
    /// Sandboxes of each kind in use that are kept warm [default: 2].
    #[arg(long, env = "PALESTRA_SANDBOXES_WARM")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes_warm: Option<usize>,
    /// Processes in which SQLite runs; 0 follows the cores [default: 0].
    #[arg(long, env = "PALESTRA_SQLITE_WORKERS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlite_workers: Option<usize>,
    /// Databases of SQLite at once [default: 20000].
    #[arg(long, env = "PALESTRA_SQLITE_SESSIONS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlite_sessions_max: Option<usize>,
    /// Program whose command sqlite-worker runs SQLite [default: this one].
    #[arg(long, env = "PALESTRA_SQLITE_WORKER", value_name = "FILE", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlite_worker: Option<PathBuf>,
    /// PostgreSQL cluster in which SQL is played [default: a private one, from the installed programs].
    #[arg(long, env = "PALESTRA_SQL_POSTGRES_URL", hide_env_values = true, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sql_postgres_url: Option<Secret>,
    /// Databases of PostgreSQL that are played at once [default: 200].
    #[arg(long, env = "PALESTRA_SQL_POSTGRES_SESSIONS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sql_postgres_sessions_max: Option<usize>,
    /// Databases of PostgreSQL of each sort in use that are kept ready [default: 2].
    #[arg(long, env = "PALESTRA_SQL_POSTGRES_WARM")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sql_postgres_warm: Option<usize>,
    /// Milliseconds that a worker's lease of a job lasts without a heartbeat [default: 60000].
    #[arg(long, env = "PALESTRA_JOB_LEASE_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    job_lease_ms: Option<u64>,
    /// Jobs of a tenant that may be queued at once [default: 10000].
    #[arg(long, env = "PALESTRA_JOBS_QUEUED_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs_queued_max: Option<u64>,
    /// Milliseconds that a job is kept after it was over [default: 7776000000, 90 days].
    #[arg(long, env = "PALESTRA_JOB_RETENTION_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    job_retention_ms: Option<u64>,
    /// Where the bytes of artefacts lie: on disk, or in the store for several nodes without a folder in common [default: disk].
    #[arg(long, env = "PALESTRA_ARTIFACTS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<ArtifactPlace>,
    /// Bytes of one artefact [default: 17179869184, 16 GiB].
    #[arg(long, env = "PALESTRA_ARTIFACT_BYTES_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_bytes_max: Option<u64>,
    /// Bytes of artefacts and policies that a tenant may keep [default: 68719476736, 64 GiB].
    #[arg(long, env = "PALESTRA_ARTIFACT_QUOTA_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_quota_bytes: Option<u64>,
    /// Folder in which bench/effects leaves its marks; without one that environment does not exist.
    #[arg(long, env = "PALESTRA_BENCH_EFFECTS", value_name = "FOLDER", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    bench_effects: Option<PathBuf>,
}

fn invalid(name: &'static str, detail: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { name, origin: Origin::Unknown, detail: detail.into() }
}

impl Config {
    /// The configuration that flags and environment variables, a file and the defaults make together.
    ///
    /// # Errors
    /// When a value has the wrong type or range, the file has an unknown key, or a file that was named is not there.
    pub fn load(arguments: &ConfigArguments) -> Result<Self, ConfigError> {
        let file = match &arguments.config {
            Some(named) if !named.is_file() => return Err(ConfigError::NoFile(named.clone())),
            Some(named) => Some(named.as_path()),
            None => Some(Path::new(FILE)).filter(|file| file.is_file()),
        };
        let mut settings = Figment::from(Serialized::defaults(Self::default()));
        if let Some(file) = file {
            settings = settings.merge(Toml::file_exact(file));
        }
        let settings = settings.merge(Serialized::defaults(arguments));
        let config: Self = settings.extract()?;
        config.check().map_err(|error| error.located_by(|name| origin(name, arguments, &settings)))?;
        Ok(config)
    }

    /// Refuses values that no server can run with.
    ///
    /// # Errors
    /// With the first such value.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.listen.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
            return Err(invalid("listen", format!("{:?} is no address with a port, as 127.0.0.1:7070", self.listen)));
        }
        if self.secret.as_ref().is_some_and(|secret| secret.reveal().len() < SECRET_BYTES_MIN) {
            return Err(invalid(
                "secret",
                format!("needs at least {SECRET_BYTES_MIN} bytes, as `openssl rand -hex 32` gives"),
            ));
        }
        if self.admin_key.as_ref().is_some_and(|key| !is_usable_key(key.reveal())) {
            return Err(invalid("admin_key", format!("needs at least {ADMIN_KEY_BYTES_MIN} visible ASCII characters")));
        }
        match &self.database_url {
            Some(url) if !url.reveal().starts_with("postgres://") && !url.reveal().starts_with("postgresql://") => {
                return Err(invalid("database_url", "must begin with postgres://"));
            }
            Some(_) if self.secret.is_none() => {
                return Err(invalid(
                    "secret",
                    "is required with PostgreSQL, so that every node signs alike: set PALESTRA_SECRET",
                ));
            }
            _ => {}
        }
        if self.body_bytes_max < BODY_BYTES_MIN {
            return Err(invalid("body_bytes_max", format!("must be at least {BODY_BYTES_MIN}")));
        }
        for (name, value) in [
            ("sessions_max", self.sessions_max as u64),
            ("session_ttl_ms", self.session_ttl_ms),
            ("idle_ms", self.idle_ms),
            ("publish_bytes_max", self.publish_bytes_max as u64),
            ("request_timeout_ms", self.request_timeout_ms),
            ("answer_timeout_ms", self.answer_timeout_ms),
            ("publish_timeout_ms", self.publish_timeout_ms),
            ("streams_max", self.streams_max as u64),
            ("connections_max", self.connections_max as u64),
            ("head_timeout_ms", self.head_timeout_ms),
            ("send_timeout_ms", self.send_timeout_ms),
            ("openenv_sessions_max", self.openenv_sessions_max as u64),
            ("openenv_linger_ms", self.openenv_linger_ms),
            ("openenv_frame_bytes_max", self.openenv_frame_bytes_max as u64),
            ("jobs_queued_max", self.jobs_queued_max),
            ("job_retention_ms", self.job_retention_ms),
            ("artifact_bytes_max", self.artifact_bytes_max),
            ("artifact_quota_bytes", self.artifact_quota_bytes),
        ] {
            if value == 0 {
                return Err(invalid(name, "must be at least 1"));
            }
        }
        if self.job_lease_ms < JOB_LEASE_MS_MIN {
            return Err(invalid("job_lease_ms", format!("must be at least {JOB_LEASE_MS_MIN}")));
        }
        if let Some(origin) = self.cors_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(invalid("cors_origins", format!("{origin:?} is no origin, as https://example.org")));
        }
        Ok(())
    }

    /// The part that concerns sessions.
    #[must_use]
    pub fn session_settings(&self) -> SessionSettings {
        SessionSettings {
            sessions_max: self.sessions_max,
            session_ttl_ms: self.session_ttl_ms,
            idle_ms: self.idle_ms,
            ..SessionSettings::default()
        }
    }

    /// The part that concerns jobs.
    #[must_use]
    pub fn job_settings(&self) -> JobSettings {
        JobSettings {
            lease_ms: self.job_lease_ms,
            queued_max: self.jobs_queued_max,
            retention_ms: self.job_retention_ms,
            artifacts: self.artifacts,
            artifact_bytes_max: self.artifact_bytes_max,
            quota_bytes: self.artifact_quota_bytes,
            ..JobSettings::default()
        }
    }
}

/// Where a setting comes from.
fn origin(name: &'static str, arguments: &ConfigArguments, settings: &Figment) -> Origin {
    if serde_json::to_value(arguments).is_ok_and(|flags| flags.get(name).is_some()) {
        return Origin::Flag(name);
    }
    let file = settings.find_metadata(name).and_then(|metadata| metadata.source.as_ref()?.file_path());
    file.map_or(Origin::Unknown, |file| Origin::File(file.to_owned()))
}

/// Whether a key can stand in an `Authorization` header.
fn is_usable_key(key: &str) -> bool {
    key.len() >= ADMIN_KEY_BYTES_MIN && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether browsers could send this as `Origin`: a scheme and a host, and nothing behind them.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https")
            && !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: ConfigArguments,
    }

    fn load(file: &str, flags: &[&str]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.toml");
        std::fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        let program = Program::parse_from([&["palestra", "--config", path], flags].concat());
        Config::load(&program.arguments)
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let config = load("drain_ms = 5\nidle_ms = 6", &["--drain-ms", "7"]).unwrap();
        assert_eq!((config.drain_ms, config.idle_ms), (7, 6));
        assert_eq!(config.sessions_max, Config::default().sessions_max);
    }

    #[test]
    fn an_unknown_key_in_the_file_is_named() {
        let error = load("lisen = \"127.0.0.1:1\"", &[]).unwrap_err().to_string();
        assert!(error.contains("no setting lisen (set in ") && error.contains("settings.toml"), "{error}");
    }

    #[test]
    fn a_wrong_type_in_the_file_is_named() {
        let error = load("drain_ms = \"soon\"", &[]).unwrap_err().to_string();
        assert!(error.starts_with("setting drain_ms (set in ") && error.contains("settings.toml"), "{error}");
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_name_of_the_setting() {
        for (file, name) in [
            ("listen = \"nowhere\"", "listen"),
            ("secret = \"short\"", "secret"),
            ("admin_key = \"short\"", "admin_key"),
            ("admin_key = \"with a space in the middle\"", "admin_key"),
            ("database_url = \"mysql://x\"", "database_url"),
            ("database_url = \"postgres://x\"", "secret"),
            ("sessions_max = 0", "sessions_max"),
            ("body_bytes_max = 10", "body_bytes_max"),
            ("job_lease_ms = 999", "job_lease_ms"),
            ("cors_origins = [\"*\"]", "cors_origins"),
            ("cors_origins = [\"https://a.org/path\"]", "cors_origins"),
        ] {
            let error = load(file, &[]).unwrap_err().to_string();
            let place = if file.starts_with(name) { " (set in " } else { ": " };
            assert!(error.starts_with(&format!("setting {name}{place}")), "{file}: {error}");
        }
    }

    #[test]
    fn a_wrong_value_of_a_flag_is_refused_with_the_flag() {
        let error = load("listen = \"127.0.0.1:1\"", &["--listen", "nowhere"]).unwrap_err().to_string();
        assert!(error.starts_with("setting listen (set by --listen or PALESTRA_LISTEN): "), "{error}");
        let error = load("", &["--idle-ms", "0"]).unwrap_err().to_string();
        assert!(error.starts_with("setting idle_ms (set by --idle-ms or PALESTRA_IDLE_MS): "), "{error}");
    }

    #[test]
    fn a_file_that_is_no_toml_is_named_and_secrets_are_never_repeated() {
        let error = load("listen = ", &[]).unwrap_err().to_string();
        assert!(error.contains("settings.toml") && !error.contains("default"), "{error}");
        let error = load("secret = 8675309", &[]).unwrap_err().to_string();
        assert!(error.starts_with("setting secret (set in ") && !error.contains("8675309"), "{error}");
    }

    #[test]
    fn a_file_that_was_named_has_to_be_there() {
        let program = Program::parse_from(["palestra", "--config", "/nowhere/palestra.toml"]);
        assert!(matches!(Config::load(&program.arguments), Err(ConfigError::NoFile(_))));
    }

    #[test]
    fn debugging_output_shows_no_secret() {
        let config = load("", &["--secret", "0123456789abcdef0123456789abcdef"]).unwrap();
        assert!(!format!("{config:?}").contains("0123456789"));
    }
}

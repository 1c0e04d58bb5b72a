//! One configuration from flags, environment variables and an optional file, checked once.
//!
//! A flag wins over an environment variable, that over a line of `palestra.toml`, and that over the default.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use figment::Figment;
use figment::providers::{Format, Serialized};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use palestra_jobs::{ArtifactStorage, JobSettings};
use palestra_session::SessionSettings;

mod arguments;
mod check;
mod error;
mod secret;
#[cfg(test)]
mod tests;

pub use arguments::ConfigArguments;
pub use error::{ConfigError, Origin};
pub use secret::Secret;

/// The file that is read from the working folder where no other is named.
const FILE: &str = "palestra.toml";

/// The form of the file.
struct Toml;

impl Format for Toml {
    type Error = toml::de::Error;

    const NAME: &'static str = "TOML";

    fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Self::Error> {
        toml::from_str(text)
    }
}

/// The form of the log.
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
    /// True if `/metrics` is readable without an admin key.
    pub metrics_public: bool,
    /// The filter of the log, as in `info,palestra=debug`.
    pub log: String,
    /// The log's form.
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
    /// File of aliases of base images, in the form of `sandboxes/aliases.toml`; they go before the shipped ones.
    pub image_aliases: Option<PathBuf>,
    /// Which sandboxes reach what this machine reaches.
    pub sandbox_network: SandboxNetwork,
    /// True if root inside sandboxes of public task folders has rights over their files and users.
    pub sandbox_root_rights: bool,
    /// Most megabytes of memory that a task may ask for; those of the profile where 0.
    pub sandbox_memory_max: u64,
    /// Most cores that a task may ask for; those of the profile where 0.
    pub sandbox_cores_max: u64,
    /// Most megabytes of disk that a task may ask for; those of the profile where 0.
    pub sandbox_disk_max: u64,
    /// Sandboxes at once, warm ones included.
    pub sandboxes_max: usize,
    /// Sandboxes of each kind in use that are kept warm.
    pub sandboxes_warm: usize,
    /// The Chromium that browsers are started from; the one of this machine where left out.
    pub chromium: Option<PathBuf>,
    /// Processes of Chromium at once.
    pub browsers_max: usize,
    /// Sessions in one process of Chromium.
    pub browser_sessions_max: usize,
    /// Empty contexts of each process of Chromium that are kept ready.
    pub browser_warm: usize,
    /// Real hosts that pages may reach, as `docs.example.org`, `*.example.org` or `shop.test:8080=127.0.0.1`; none where empty.
    pub browser_hosts: Vec<String>,
    /// Hosts that upstreams of tenants besides the operator's may lead to, as `host` or `host:port`; none where empty.
    pub upstream_hosts: Vec<String>,
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
    pub artifacts: ArtifactStorage,
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

/// Sandboxes that reach what this machine reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    /// None.
    #[default]
    None,
    /// Those in which images of tasks are built, so that packages can be installed.
    Build,
    /// Those of tasks that ask for a network too.
    All,
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
            image_aliases: None,
            sandbox_network: SandboxNetwork::None,
            sandbox_root_rights: false,
            sandbox_memory_max: 0,
            sandbox_cores_max: 0,
            sandbox_disk_max: 0,
            sandboxes_max: 1_000,
            sandboxes_warm: 2,
            chromium: None,
            browsers_max: 4,
            browser_sessions_max: 20,
            browser_hosts: Vec::new(),
            upstream_hosts: Vec::new(),
            browser_warm: 2,
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

//! The command line's and the environment's part of a configuration.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{LogFormat, SandboxChoice, SandboxNetwork, Secret};
use palestra_jobs::ArtifactStorage;

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
    /// Lets /metrics be read without a key of the operator [default: false].
    #[arg(long, env = "PALESTRA_METRICS_PUBLIC", num_args = 0..=1, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_public: Option<bool>,
    /// The filter of the log, as in info,palestra=debug [default: info].
    #[arg(long, env = "PALESTRA_LOG", value_name = "FILTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// The log's form [default: text].
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
    /// File of aliases of base images, as sandboxes/aliases.toml; they go before the shipped ones.
    #[arg(long, env = "PALESTRA_IMAGE_ALIASES", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    image_aliases: Option<PathBuf>,
    /// Which sandboxes reach what this machine reaches [default: none].
    #[arg(long, env = "PALESTRA_SANDBOX_NETWORK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_network: Option<SandboxNetwork>,
    /// Gives root inside sandboxes of public task folders rights over their files and users, as containers do [default: false].
    #[arg(long, env = "PALESTRA_SANDBOX_ROOT_RIGHTS", num_args = 0..=1, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_root_rights: Option<bool>,
    /// Most megabytes of memory that a task may ask for; 0 leaves the profile's [default: 0].
    #[arg(long, env = "PALESTRA_SANDBOX_MEMORY_MAX", value_name = "MB")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_memory_max: Option<u64>,
    /// Most cores that a task may ask for; 0 leaves the profile's [default: 0].
    #[arg(long, env = "PALESTRA_SANDBOX_CORES_MAX", value_name = "CORES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_cores_max: Option<u64>,
    /// Most megabytes of disk that a task may ask for; 0 leaves the profile's [default: 0].
    #[arg(long, env = "PALESTRA_SANDBOX_DISK_MAX", value_name = "MB")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_disk_max: Option<u64>,
    /// Sandboxes at once, warm ones included [default: 1000].
    #[arg(long, env = "PALESTRA_SANDBOXES_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes_max: Option<usize>,
    /// Sandboxes of each kind in use that are kept warm [default: 2].
    #[arg(long, env = "PALESTRA_SANDBOXES_WARM")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes_warm: Option<usize>,
    /// Chromium that browsers are started from [default: the one of this machine].
    #[arg(long, env = "PALESTRA_CHROMIUM", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    chromium: Option<PathBuf>,
    /// Processes of Chromium at once [default: 4].
    #[arg(long, env = "PALESTRA_BROWSERS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    browsers_max: Option<usize>,
    /// Sessions in one process of Chromium [default: 20].
    #[arg(long, env = "PALESTRA_BROWSER_SESSIONS_MAX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    browser_sessions_max: Option<usize>,
    /// Empty contexts of each process of Chromium that are kept ready [default: 2].
    #[arg(long, env = "PALESTRA_BROWSER_WARM")]
    #[serde(skip_serializing_if = "Option::is_none")]
    browser_warm: Option<usize>,
    /// Real hosts that pages may reach, separated by commas, as docs.example.org, *.example.org or shop.test:8080=127.0.0.1 [default:
    /// none].
    #[arg(long, env = "PALESTRA_BROWSER_HOSTS", value_delimiter = ',', value_name = "HOSTS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    browser_hosts: Option<Vec<String>>,
    /// Hosts that upstreams of other tenants than the operator's may lead to, as host or host:port, separated by commas [default: none].
    #[arg(long, env = "PALESTRA_UPSTREAM_HOSTS", value_delimiter = ',', value_name = "HOSTS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_hosts: Option<Vec<String>>,
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
    artifacts: Option<ArtifactStorage>,
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

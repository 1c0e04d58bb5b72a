//! The back ends of a configuration: sandboxes with their images and profiles, evidence by digest, and engines of SQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use palestra_browser::{Browsers, PoolSettings};
use palestra_families::databases::{self, Databases};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::session::SessionState;
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::docker::{Docker, Options};
use palestra_sandbox::image::{Aliases, Images};
use palestra_sandbox::local::Local;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Allowance, Backend, NetworkAllowance, SandboxError, Sandboxes, shipped};
use palestra_state::Digest;
use palestra_workbench::work::Workbench;

use crate::config::{Config, SandboxChoice, SandboxNetwork};
use palestra_store::{Store, StoreError};

/// The profile that a back end is tried with.
pub const PROFILE: &str = "terminal";
/// Characters that tell the servers of a PostgreSQL cluster apart.
const NODE_LENGTH: usize = 16;
/// Where a Docker engine usually listens.
const DOCKER_HOST: &str = "unix:///var/run/docker.sock";

/// Why sandboxes cannot be had where they were asked for.
#[derive(Debug, thiserror::Error)]
pub enum BackendsError {
    /// A back end that was named cannot be used.
    #[error("sandboxes cannot run as asked for: {0}")]
    Backend(#[from] SandboxError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The desk of a configuration; what sandboxes of an earlier process left is removed, but for the disks of open sessions.
///
/// # Errors
/// When a back end that the configuration names cannot be used. Where it leaves the choice, those that cannot are left out.
pub async fn open_desk(config: &Config, store: &Store, node: &str) -> Result<Workbench, BackendsError> {
    let sandboxes = sandboxes(config, node).await?;
    for backend in sandboxes.backends() {
        let mut keep = BTreeSet::new();
        for disk in backend.disks() {
            if belongs_to_open_session(store, &disk).await? {
                keep.insert(disk);
            }
        }
        let swept = backend.sweep(&keep).await?;
        tracing::debug!(backend = backend.name(), ?swept, kept = keep.len(), "looked for what an earlier server left");
    }
    Ok(Workbench { sandboxes, blobs: Blobs::new(config.data.join("blobs")) })
}

/// The sandboxes of a configuration.
///
/// # Errors
/// As [`open_desk`].
pub async fn sandboxes(config: &Config, node: &str) -> Result<Sandboxes, SandboxError> {
    let profiles = shipped::profiles().map_err(SandboxError::Unavailable)?;
    let mut backends: Vec<Arc<dyn Backend>> = Vec::new();
    for candidate in candidates(config) {
        let tried = async {
            let backend = connect(candidate, config, node).await?;
            if let Some(profile) = profiles.get(PROFILE) {
                backend.examine(profile).await?;
            }
            Ok::<_, SandboxError>(backend)
        };
        match tried.await {
            Ok(backend) => backends.push(backend),
            Err(error) if config.sandbox == SandboxChoice::Auto => {
                tracing::info!(%error, "a back end of sandboxes is left out");
            }
            Err(error) => return Err(error),
        }
    }
    let bounds = Bounds { sandboxes_max: config.sandboxes_max, warm_min: config.sandboxes_warm };
    Ok(Sandboxes::allowing(backends, named_images(config)?, profiles, bounds, allowance(config)))
}

/// A back end by its sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidate {
    /// Namespaces of this machine.
    Local,
    /// Containers.
    Docker,
}

impl Candidate {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Docker => "docker",
        }
    }
}

/// The back ends that a configuration admits, in the order in which they serve.
#[must_use]
pub const fn candidates(config: &Config) -> &'static [Candidate] {
    match config.sandbox {
        SandboxChoice::Auto => &[Candidate::Local, Candidate::Docker],
        SandboxChoice::Local => &[Candidate::Local],
        SandboxChoice::Docker => &[Candidate::Docker],
        SandboxChoice::None => &[],
    }
}

/// A back end, which may turn out to be of no use here only when it is examined.
///
/// # Errors
/// When it cannot be used, with what to do about it.
pub async fn connect(candidate: &Candidate, config: &Config, node: &str) -> Result<Arc<dyn Backend>, SandboxError> {
    Ok(match candidate {
        Candidate::Local => Arc::new(Local::new(&config.data.join("sandbox"))?),
        Candidate::Docker => Arc::new(Docker::connect(docker_options(config, node)).await?),
    })
}

/// The address of the Docker engine of a configuration.
#[must_use]
pub fn docker_options(config: &Config, node: &str) -> Options {
    let host = config.docker_host.clone().or_else(|| std::env::var("DOCKER_HOST").ok());
    Options {
        host: host.unwrap_or_else(|| DOCKER_HOST.to_owned()),
        server: node.to_owned(),
        folder: config.data.join("sandbox"),
        runtime: config.docker_runtime.clone(),
    }
}

/// The images of a configuration.
#[must_use]
pub fn images(config: &Config) -> Images {
    Images::new(config.images.clone().unwrap_or_else(|| config.data.join("images")))
}

/// The images of a configuration, with the operator's aliases.
fn named_images(config: &Config) -> Result<Images, SandboxError> {
    match &config.image_aliases {
        None => Ok(images(config)),
        Some(file) => {
            let aliases = Aliases::read(file).map_err(SandboxError::Unavailable)?;
            Ok(images(config).with_aliases(aliases))
        }
    }
}

/// Allowance of a configuration for tasks.
fn allowance(config: &Config) -> Allowance {
    let limit = |value: u64, unit: u64| Some(value.saturating_mul(unit)).filter(|value| *value > 0);
    Allowance {
        root_rights: config.sandbox_root_rights,
        memory_bytes_max: limit(config.sandbox_memory_max, 1 << 20),
        cpu_thousandths_max: limit(config.sandbox_cores_max, 1_000),
        disk_bytes_max: limit(config.sandbox_disk_max, 1 << 20),
        network: match config.sandbox_network {
            SandboxNetwork::None => NetworkAllowance::None,
            SandboxNetwork::Build => NetworkAllowance::Build,
            SandboxNetwork::All => NetworkAllowance::All,
        },
    }
}

/// The engines of SQL of a configuration, for the server of `node`; each starts when it is first needed.
#[must_use]
pub fn databases(config: &Config, node: &str) -> Databases {
    let worker = config.sqlite_worker.clone().or_else(|| std::env::current_exe().ok());
    Databases::new(databases::Settings {
        worker: worker.map(|program| vec![program.into_os_string(), databases::WORKER_COMMAND.into()]),
        workers: config.sqlite_workers,
        postgres_url: config.sql_postgres_url.as_ref().map(|url| url.reveal().to_owned()),
        postgres_folder: Some(config.data.join("postgres")),
        node: Digest::of(node.as_bytes()).to_string().chars().rev().take(NODE_LENGTH).collect(),
        warm: config.sql_postgres_warm,
        sqlite_max: config.sqlite_sessions_max,
        postgres_max: config.sql_postgres_sessions_max,
    })
}

/// The browsers of a configuration; each process starts when it is first needed.
#[must_use]
pub fn browsers(config: &Config, sandboxes: Sandboxes) -> Browsers {
    let settings = PoolSettings {
        program: config.chromium.clone(),
        processes_max: config.browsers_max,
        contexts_max: config.browser_sessions_max,
        warm_min: config.browser_warm,
        // A configuration is checked before it is used.
        hosts: config.browser_hosts.iter().filter_map(|host| host.parse().ok()).collect(),
    };
    Browsers::new(sandboxes, settings)
}

async fn belongs_to_open_session(store: &Store, disk: &str) -> Result<bool, StoreError> {
    let Ok(id) = disk.parse::<EpisodeId>() else { return Ok(false) };
    let Some(episode) = store.episode_of_any_tenant(id).await? else { return Ok(false) };
    let session = store.session(&episode.tenant, episode.session).await?;
    Ok(session.is_some_and(|session| session.state == SessionState::Open && session.episode == id))
}

//! Sandboxes as containers of a Docker engine on this machine. A container is nearly empty and read-only; the agent, its first
//! process, mounts the image's volume under a bounded layer of its own (see the agent's mode `stage`).

mod attached;
mod build;
mod channel;
mod container;
mod end;
mod engine;
mod volume;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use palestra_sandbox_agent::staging::Staging;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use self::container::{ContainerHandle, Leftovers};
use self::engine::{Abilities, Container, Engine};
use self::volume::Volumes;
use crate::backend::{Backend, Start, Swept};
use crate::embedded;
use crate::error::SandboxError;
use crate::handle::SandboxHandle as _;
use crate::ids::FIRST_ID;
use crate::isolation::Isolation;
use crate::link::Link;
use crate::profile::{Network, Profile};
use crate::sandbox::Sandbox;
use crate::seccomp::Filters;

/// Label of everything of a server, with its id.
const SERVER: &str = "palestra.server";
/// Label of everything of one process of a server.
const PROCESS: &str = "palestra.process";
/// Label with the sandbox's id.
const SANDBOX: &str = "palestra.sandbox";
/// Where containers see the agent.
const AGENT: &str = "/palestra/agent";
/// Where containers see the image's volume.
const IMAGE: &str = "/palestra/image";
/// The image's root file system in the volume.
const TREE: &str = "/palestra/image/tree";
/// The last file that is copied into the volume.
const WHOLE: &str = "/palestra/image/whole";
/// Where the agent mounts.
const PLACE: &str = "/palestra/place";
/// Memory of the agent itself.
const AGENT_BYTES: u64 = 16 << 20;
/// Threads of the agent itself.
const AGENT_PROCESSES: u64 = 8;
/// Shared memory of a sandbox, a part of its memory.
const SHARED_BYTES: u64 = 64 << 20;

/// Address of an engine, and settings of its sandboxes.
#[derive(Debug, Clone)]
pub struct Options {
    /// `unix://PATH`, as in `DOCKER_HOST`.
    pub host: String,
    /// The server's id: letters, digits, `_` and `-`. The same after each start of the server.
    pub server: String,
    /// Where the agent's program is put: a folder that the engine sees at the same path.
    pub folder: PathBuf,
    /// The runtime by name (`runsc`, ...); the engine's own choice where left out.
    pub runtime: Option<String>,
}

/// A Docker engine.
pub struct Docker {
    engine: Engine,
    options: Options,
    abilities: Abilities,
    /// The agent's program.
    agent: String,
    /// The filter that agents load.
    filters: Filters,
    /// Tells this process from earlier ones of the same server.
    process: String,
    volumes: Volumes,
    leftovers: Arc<Leftovers>,
    /// Removes what is left over.
    _cleaning: JoinSet<()>,
    /// Containers that are being made.
    making: Mutex<JoinSet<()>>,
}

impl Docker {
    /// Connects to an engine.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`], with what to do about it.
    pub async fn connect(options: Options) -> Result<Self, SandboxError> {
        if !is_word(&options.server) {
            return Err(SandboxError::Unavailable(format!(
                "{:?} cannot be the id of a server: use letters, digits and -",
                options.server
            )));
        }
        let engine = Engine::connect(&options.host).await?;
        let abilities = engine.abilities().await?;
        if let Some(runtime) = options.runtime.as_ref().filter(|runtime| !abilities.runtimes.contains(runtime)) {
            let known = abilities.runtimes.join(", ");
            return Err(SandboxError::Unavailable(format!(
                "the Docker engine knows no runtime {runtime:?}, only {known}: add it to the engine's daemon.json"
            )));
        }
        let agent = std::path::absolute(&options.folder).and_then(|folder| embedded::place(&folder));
        let agent =
            agent.map_err(|error| SandboxError::Unavailable(format!("{}: {error}", options.folder.display())))?;
        let filters = Filters::new(true).map_err(SandboxError::Unavailable)?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let process = format!("{}-{started:x}", std::process::id());
        let leftovers = Arc::new(Leftovers::default());
        let mut cleaning = JoinSet::new();
        cleaning.spawn(Arc::clone(&leftovers).clean(engine.clone()));
        let volumes = Volumes::new(&options.server, &process, if abilities.remaps_ids { 0 } else { FIRST_ID });
        let agent = agent.display().to_string();
        Ok(Self {
            engine,
            options,
            abilities,
            agent,
            filters,
            process,
            volumes,
            leftovers,
            _cleaning: cleaning,
            making: Mutex::default(),
        })
    }

    /// Number of containers that are being made or still have to be removed: those whose start was given up, and those that were
    /// destroyed while the engine did not answer.
    #[must_use]
    pub fn pending(&self) -> usize {
        let mut making = self.making.lock();
        while making.try_join_next().is_some() {}
        making.len() + self.leftovers.count()
    }

    /// Removes the copies of images that the engine holds for digests which are not in `keep`; answers how many. Those in use stay.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub async fn prune(&self, keep: &BTreeSet<String>) -> Result<u64, SandboxError> {
        self.volumes.prune(&self.engine, keep).await
    }

    /// Isolation that the engine puts in force, with the part that the agent adds when it starts.
    fn isolation(&self, profile: &Profile) -> Isolation {
        let mut isolation = Isolation::of("docker");
        let ids = if self.volumes.first_id() == 0 {
            "a user namespace; the engine keeps its ids apart from the host's".to_owned()
        } else {
            format!("a user namespace; its ids are those from {FIRST_ID} on outside")
        };
        isolation.enforced("user", ids);
        isolation.enforced("mount", "a mount namespace; nothing of the host but the agent's program, read-only");
        for line in ["pid", "ipc", "uts", "cgroup"] {
            isolation.enforced(line, "a namespace of the container");
        }
        match profile.network.value {
            Network::None => isolation.enforced("net", "a network namespace with a loopback device alone"),
            Network::Host => isolation.lacking("net", "the engine's network, which the operator allows"),
        }
        isolation.enforced("root", "the container is read-only; an overlay takes what differs from the image");
        let (memory, disk) = (profile.memory_bytes.value, profile.disk_bytes.value);
        // A kernel with control groups of version 1 has a further limit for them, which the engine's interface no longer has.
        let connections = if self.abilities.counts_connections {
            ""
        } else {
            "; buffers of connections count apart, within the machine's tcp_mem"
        };
        let memory = format!(
            "{} bytes of processes and of what differs from the image together, since that lies in memory; setrlimit allows a process {memory}{connections}",
            memory.saturating_add(disk)
        );
        let limits = [
            ("memory", self.abilities.memory, memory.as_str()),
            ("cpu", self.abilities.cpu, "by quota"),
            ("processes", self.abilities.processes, "threads too"),
        ];
        for (line, able, how) in limits {
            if able {
                isolation.enforced(line, format!("the container's control group: {how}"));
            } else {
                isolation.lacking(line, "the engine's kernel has no such control group");
            }
        }
        let (bytes, inodes) = (profile.disk_bytes.value, profile.disk_inodes.value);
        isolation.enforced("disk", format!("a tmpfs of {bytes} bytes, which ends with the sandbox"));
        isolation.enforced("inodes", format!("a tmpfs of {inodes} files"));
        isolation.enforced("file_bytes", "setrlimit");
        isolation.enforced("open_files", "setrlimit");
        let runtime = self.options.runtime.as_ref().unwrap_or(&self.abilities.default_runtime);
        isolation.enforced("runtime", format!("{runtime}, Docker {}", self.abilities.version));
        isolation
    }

    fn container(&self, start: &Start, volume: String) -> Result<Container, SandboxError> {
        let profile = &start.profile;
        let staging = Staging {
            image: TREE.to_owned(),
            whole: WHOLE.to_owned(),
            place: PLACE.to_owned(),
            first_id: self.volumes.first_id(),
            disk_bytes: profile.disk_bytes.value,
            disk_inodes: profile.disk_inodes.value,
            network: profile.network.value == Network::Host,
            shared_bytes: SHARED_BYTES.min(profile.memory_bytes.value),
            // The start and the setup may take that long each, then this server gives up.
            setup_ms: 2 * profile.start_ms.value,
        };
        let staging = serde_json::to_string(&staging).map_err(|error| SandboxError::Start(error.to_string()))?;
        let labels = [(SERVER, &self.options.server), (PROCESS, &self.process), (SANDBOX, &start.id)];
        // To give up id 0 of the container for another takes no more rights than these; to keep it takes one more.
        let keeps_ids = self.volumes.first_id() == 0;
        let rights: &[&str] = if keeps_ids { &["SETUID", "SETGID", "SETFCAP"] } else { &["SETUID", "SETGID"] };
        Ok(Container {
            name: format!("palestra-{}-{}-{}", self.options.server, self.process, start.id),
            labels: labels.map(|(label, value)| (label.to_owned(), value.clone())).into(),
            image: volume::BASE.to_owned(),
            command: vec![AGENT.to_owned(), "stage".to_owned(), staging],
            program: Some((self.agent.clone(), AGENT.to_owned())),
            volume: Some((volume, IMAGE.to_owned(), false)),
            capabilities: rights.iter().map(|&right| right.to_owned()).collect(),
            memory_bytes: profile
                .memory_bytes
                .value
                .saturating_add(profile.disk_bytes.value)
                .saturating_add(AGENT_BYTES),
            data_bytes: profile.memory_bytes.value,
            // An engine refuses more than its machine has.
            cpu_thousandths: profile.cpu_thousandths.value.min(self.abilities.cores.saturating_mul(1_000)),
            processes: profile.processes.value.saturating_add(AGENT_PROCESSES),
            network: profile.network.value,
            runtime: self.options.runtime.clone(),
        })
    }

    /// Makes the container.
    async fn make(&self, container: Container) -> Result<ContainerHandle, SandboxError> {
        let (taken, made) = oneshot::channel();
        {
            let mut making = self.making.lock();
            while making.try_join_next().is_some() {}
            making.spawn(container::make(self.engine.clone(), Arc::clone(&self.leftovers), container, taken));
        }
        made.await.unwrap_or_else(|_| Err(SandboxError::Start("nobody makes the container".to_owned())))
    }

    /// Runs a container; answers the connection to its agent, and where the agent complains.
    async fn begin(&self, name: &str) -> Result<(Link, attached::Complaints), SandboxError> {
        let streams = self.engine.attach(name).await?;
        let complaints = streams.output.complaints();
        let link = Link::new(streams.output, streams.input);
        self.engine.start(name).await?;
        Ok((link, complaints))
    }
}

/// True if a text is made of letters, digits, `_` and `-`.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

#[async_trait]
impl Backend for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn keeps_disks(&self) -> bool {
        false
    }

    async fn examine(&self, profile: &Profile) -> Result<Isolation, SandboxError> {
        // The engine may have gone since it was connected to.
        self.engine.abilities().await?;
        let mut isolation = self.isolation(profile);
        isolation.enforced("seccomp", "allow list, loaded by the agent at the start");
        isolation.enforced("uid", "commands run under another user id than the agent");
        isolation.enforced("capabilities", "none");
        isolation.enforced("no_new_privileges", "prctl");
        Ok(isolation)
    }

    async fn fault(&self) -> Option<String> {
        self.engine.abilities().await.err().map(|error| error.to_string())
    }

    async fn start(&self, start: Start) -> Result<Sandbox, SandboxError> {
        if start.disk.is_some() {
            return Err(container::no_disk());
        }
        if !is_word(&start.id) {
            return Err(SandboxError::Start(format!("{:?} cannot be the id of a sandbox", start.id)));
        }
        let volume = self.volumes.ready(&self.engine, &start.image).await?;
        let container = self.container(&start, volume)?;
        let name = container.name.clone();
        let limit = Duration::from_millis(start.profile.start_ms.value);
        let late = |_| SandboxError::Start(format!("it took longer than {limit:?}"));
        let mut container = tokio::time::timeout(limit, self.make(container)).await.map_err(late)??;
        let (link, complaints) = match tokio::time::timeout(limit, self.begin(&name)).await.map_err(late).flatten() {
            Ok(begun) => begun,
            Err(error) => {
                container.destroy(true).await;
                return Err(error);
            }
        };
        let isolation = self.isolation(&start.profile);
        let Start { image, profile, .. } = start;
        let filter = self.filters.of(&profile);
        let set_up = Sandbox::set_up(link, Box::new(container), isolation, Arc::clone(&image), profile, filter).await;
        match set_up {
            Ok(sandbox) => Ok(sandbox),
            Err((error, mut handle)) => {
                handle.destroy(true).await;
                // Its volume may be gone, with all that the engine held.
                self.volumes.forget(&image);
                Err(complaints.text().map_or(error, SandboxError::Start))
            }
        }
    }

    async fn sweep(&self, _keep: &BTreeSet<String>) -> Result<Swept, SandboxError> {
        let mut swept = Swept::default();
        for (container, labels) in self.engine.containers(&format!("{SERVER}={}", self.options.server)).await? {
            if labels.get(PROCESS) != Some(&self.process) {
                match self.engine.remove(&container).await {
                    Ok(found) => swept.sandboxes += u64::from(found && labels.contains_key(SANDBOX)),
                    // One that is stuck must not keep a server from starting.
                    Err(error) => {
                        tracing::warn!(container, %error, "an earlier container is left over; it is tried again");
                        self.leftovers.add(&container);
                    }
                }
            }
        }
        Ok(swept)
    }
}

/// Labels of what belongs to a process of a server.
fn labels(server: &str, process: &str) -> HashMap<String, String> {
    [(SERVER, server), (PROCESS, process)].map(|(label, value)| (label.to_owned(), value.to_owned())).into()
}

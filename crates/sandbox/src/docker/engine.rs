//! The Docker Engine's API, as far as sandboxes need it. Nothing else names the library that speaks it.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount, MountType,
    MountVolumeOptions, ResourcesUlimits, SystemInfoCgroupVersionEnum, VolumeCreateRequest,
};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, BuildImageOptionsBuilder, ContainerArchiveInfoOptions,
    CreateContainerOptionsBuilder, CreateImageOptionsBuilder, ListContainersOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveImageOptions, RemoveVolumeOptions, UploadToContainerOptionsBuilder,
    WaitContainerOptionsBuilder,
};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tokio::io::AsyncWrite;

use super::attached::Attached;
use crate::error::SandboxError;
use crate::profile::Network;

/// Longest wait for the beginning of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Between two requests to remove what is being removed already.
const AGAIN: Duration = Duration::from_millis(50);
/// Longest wait for a file system to be taken or an image to be built.
const COPY_MAX: Duration = Duration::from_secs(30 * 60);

/// A connection to an engine: every request opens its own.
#[derive(Clone)]
pub(super) struct Engine {
    docker: bollard::Docker,
    host: String,
}

/// Features of an engine.
#[derive(Debug, Clone, Default)]
pub(super) struct Abilities {
    /// Its version.
    pub(super) version: String,
    /// True if containers' ids are not the host's.
    pub(super) remaps_ids: bool,
    /// True if it limits memory, cpu and processes.
    pub(super) memory: bool,
    pub(super) cpu: bool,
    pub(super) processes: bool,
    /// True if buffers of connections count as memory.
    pub(super) counts_connections: bool,
    /// Cores of its machine.
    pub(super) cores: u64,
    /// The runtimes that it knows, and the one it takes where none is named.
    pub(super) runtimes: Vec<String>,
    pub(super) default_runtime: String,
}

/// A container as sandboxes want it. All else follows: no rights, nothing of the host.
#[derive(Debug, Clone)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) labels: HashMap<String, String>,
    pub(super) image: String,
    pub(super) command: Vec<String>,
    /// A file of the host, and where it is seen; read-only.
    pub(super) program: Option<(String, String)>,
    /// A volume, where it is seen, and whether it can be written to.
    pub(super) volume: Option<(String, String, bool)>,
    pub(super) capabilities: Vec<String>,
    /// Of all processes, with what lies in their file systems.
    pub(super) memory_bytes: u64,
    /// Of each process.
    pub(super) data_bytes: u64,
    pub(super) cpu_thousandths: u64,
    pub(super) processes: u64,
    pub(super) network: Network,
    pub(super) runtime: Option<String>,
}

/// State of a removal.
enum Removal {
    Done,
    Running,
}

/// Reason why a container was not made.
pub(super) struct NotMade {
    pub(super) error: SandboxError,
    /// True if it may have been made all the same: the request was sent, and no answer came.
    pub(super) perhaps: bool,
}

impl From<NotMade> for SandboxError {
    fn from(not_made: NotMade) -> Self {
        not_made.error
    }
}

/// Both directions of a container's standard streams.
pub(super) struct Streams {
    pub(super) input: Pin<Box<dyn AsyncWrite + Send>>,
    pub(super) output: Attached,
}

impl Engine {
    /// The engine at `unix://PATH`, with the newest version of the API that both sides know.
    pub(super) async fn connect(host: &str) -> Result<Self, SandboxError> {
        if !host.starts_with("unix://") {
            return Err(SandboxError::Unavailable(format!(
                "the Docker engine {host:?} is not on this machine: name one at unix://PATH"
            )));
        }
        let unusable = |error: Error| SandboxError::Unavailable(unusable(host, &error));
        let docker = bollard::Docker::connect_with_unix(host, ANSWER_MAX.as_secs(), bollard::API_DEFAULT_VERSION)
            .map_err(unusable)?;
        let docker = docker.negotiate_version().await.map_err(unusable)?;
        Ok(Self { docker, host: host.to_owned() })
    }

    /// The client that speaks to it.
    pub(super) fn client(&self) -> &bollard::Docker {
        &self.docker
    }

    /// Its address.
    pub(super) fn socket(&self) -> &str {
        self.host.trim_start_matches("unix://")
    }

    /// Says that it cannot be used, and why.
    pub(super) fn unreachable(&self, error: &dyn std::error::Error) -> SandboxError {
        SandboxError::Unavailable(unusable(&self.host, error))
    }

    /// Checks that it knows a container of this name.
    pub(super) async fn knows(&self, name: &str) -> Result<bool, SandboxError> {
        match self.docker.inspect_container(name, None).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(self.gone(&error)),
        }
    }

    /// Its features.
    pub(super) async fn abilities(&self) -> Result<Abilities, SandboxError> {
        let info = self.docker.info().await.map_err(|error| self.gone(&error))?;
        let options = info.security_options.unwrap_or_default();
        let remaps_ids = options.iter().any(|option| option == "name=userns" || option == "name=rootless");
        let mut runtimes: Vec<String> = info.runtimes.unwrap_or_default().into_keys().collect();
        runtimes.sort();
        Ok(Abilities {
            version: info.server_version.unwrap_or_default(),
            remaps_ids,
            memory: info.memory_limit == Some(true),
            cpu: info.cpu_cfs_quota == Some(true),
            processes: info.pids_limit == Some(true),
            counts_connections: info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_2),
            cores: info.ncpu.and_then(|cores| u64::try_from(cores).ok()).filter(|cores| *cores > 0).unwrap_or(1),
            runtimes,
            default_runtime: info.default_runtime.unwrap_or_default(),
        })
    }

    /// Makes a container, which does not run yet; false where there is one of this name already.
    pub(super) async fn create(&self, container: Container) -> Result<bool, NotMade> {
        let options = CreateContainerOptionsBuilder::default().name(&container.name).build();
        match self.docker.create_container(Some(options), body(container)).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(409) => Ok(false),
            Err(error) => {
                let unsent = matches!(&error, Error::HyperLegacyError { err } if err.is_connect());
                let perhaps = status(&error).is_none() && !unsent;
                Err(NotMade { error: self.failed("the container", &error), perhaps })
            }
        }
    }

    /// Connects to the standard streams of a container.
    pub(super) async fn attach(&self, name: &str) -> Result<Streams, SandboxError> {
        let options =
            AttachContainerOptionsBuilder::default().stdin(true).stdout(true).stderr(true).stream(true).build();
        let attached = self.docker.attach_container(name, Some(options)).await;
        let attached = attached.map_err(|error| self.failed("the container's streams", &error))?;
        let output = attached.output.map_err(io::Error::other);
        let output = output.map_ok(|piece| match piece {
            bollard::container::LogOutput::StdErr { message } => super::attached::Piece::Complaint(message.into()),
            bollard::container::LogOutput::StdOut { message }
            | bollard::container::LogOutput::StdIn { message }
            | bollard::container::LogOutput::Console { message } => super::attached::Piece::Output(message.into()),
        });
        Ok(Streams { input: attached.input, output: Attached::new(output.boxed()) })
    }

    /// Starts a container.
    pub(super) async fn start(&self, name: &str) -> Result<(), SandboxError> {
        let started = self.docker.start_container(name, None).await;
        started.map_err(|error| self.failed("the container's start", &error))
    }

    /// Kills a container and removes it, and returns when it is gone; false where there was none.
    pub(super) async fn remove(&self, name: &str) -> Result<bool, SandboxError> {
        let removing = async {
            let mut found = false;
            while let Removal::Running = self.remove_once(name, &mut found).await? {
                self.removed(name).await;
                tokio::time::sleep(AGAIN).await;
            }
            Ok(found)
        };
        let late = |_| Err(SandboxError::Lost(format!("the container {name} is not removed")));
        tokio::time::timeout(ANSWER_MAX, removing).await.unwrap_or_else(late)
    }

    async fn remove_once(&self, name: &str, found: &mut bool) -> Result<Removal, SandboxError> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        let answer = self.docker.remove_container(name, Some(options)).await;
        *found |= !matches!(&answer, Err(error) if status(error) == Some(404));
        match answer {
            Ok(()) => Ok(Removal::Done),
            Err(error) if status(&error) == Some(404) => Ok(Removal::Done),
            // By its own end, or by another request; which may fail, so that this one has to be made again.
            Err(error) if status(&error) == Some(409) => Ok(Removal::Running),
            Err(error) => Err(self.failed("the container's removal", &error)),
        }
    }

    /// Waits until a removal came to its end, whichever.
    async fn removed(&self, name: &str) {
        let options = WaitContainerOptionsBuilder::default().condition("removed").build();
        drop(self.docker.wait_container(name, Some(options)).next().await);
    }

    /// The containers with a label, running or not: their names and labels.
    pub(super) async fn containers(&self, label: &str) -> Result<Vec<(String, HashMap<String, String>)>, SandboxError> {
        let filters = HashMap::from([("label", vec![label])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let found = self.docker.list_containers(Some(options)).await.map_err(|error| self.gone(&error))?;
        let named =
            found.into_iter().filter_map(|container| Some((container.id?, container.labels.unwrap_or_default())));
        Ok(named.collect())
    }

    /// Makes a volume where there is none of this name.
    pub(super) async fn create_volume(&self, name: &str, labels: HashMap<String, String>) -> Result<(), SandboxError> {
        let volume =
            VolumeCreateRequest { name: Some(name.to_owned()), labels: Some(labels), ..VolumeCreateRequest::default() };
        self.docker.create_volume(volume).await.map(|_| ()).map_err(|error| self.failed("the image's volume", &error))
    }

    /// The volumes with a label.
    pub(super) async fn volumes(&self, label: &str) -> Result<Vec<String>, SandboxError> {
        let filters = HashMap::from([("label", vec![label])]);
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let found = self.docker.list_volumes(Some(options)).await.map_err(|error| self.gone(&error))?;
        Ok(found.volumes.unwrap_or_default().into_iter().map(|volume| volume.name).collect())
    }

    /// Removes a volume; false where a container uses it.
    pub(super) async fn remove_volume(&self, name: &str) -> Result<bool, SandboxError> {
        match self.docker.remove_volume(name, None::<RemoveVolumeOptions>).await {
            Ok(()) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(true),
            Err(error) if status(&error) == Some(409) => Ok(false),
            Err(error) => Err(self.failed("the volume's removal", &error)),
        }
    }

    /// Unpacks an archive in a folder of a container.
    pub(super) async fn upload(
        &self,
        name: &str,
        folder: &str,
        archive: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static,
    ) -> Result<(), SandboxError> {
        let options = UploadToContainerOptionsBuilder::default().path(folder).build();
        let body = bollard::body_try_stream(archive.map_ok(Into::into));
        let patient = self.docker.clone().with_timeout(COPY_MAX);
        let taken = patient.upload_to_container(name, Some(options), body).await;
        taken.map_err(|error| self.failed("the copy of the image", &error))
    }

    /// Checks that a path is there in a container.
    pub(super) async fn has(&self, name: &str, path: &str) -> Result<bool, SandboxError> {
        let options = ContainerArchiveInfoOptions { path: path.to_owned() };
        match self.docker.get_container_archive_info(name, Some(options)).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(self.failed("a look into the image's volume", &error)),
        }
    }

    /// Checks that an image is there.
    pub(super) async fn has_image(&self, name: &str) -> Result<bool, SandboxError> {
        match self.docker.inspect_image(name).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(self.gone(&error)),
        }
    }

    /// Makes an image of an archive of files.
    pub(super) async fn import_image(&self, repository: &str, tag: &str, archive: Vec<u8>) -> Result<(), SandboxError> {
        let options = CreateImageOptionsBuilder::default().from_src("-").repo(repository).tag(tag).build();
        let mut steps = self.docker.create_image(Some(options), Some(bollard::body_full(archive.into())), None);
        while let Some(step) = steps.next().await {
            step.map_err(|error| self.failed("the base image", &error))?;
        }
        Ok(())
    }

    /// Removes an image that this engine built.
    pub(super) async fn remove_image(&self, name: &str) -> Result<(), SandboxError> {
        let removed = self.docker.remove_image(name, None::<RemoveImageOptions>, None).await;
        removed.map(|_| ()).map_err(|error| self.failed("the image's removal", &error))
    }

    /// Builds the image of a container file; `archive` holds the folder that it copies from. Answers the image's id, its environment
    /// and its working folder.
    pub(super) async fn build(
        &self,
        tag: &str,
        dockerfile: &str,
        archive: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(String, Vec<String>, String), SandboxError> {
        let options = BuildImageOptionsBuilder::default().t(tag).dockerfile(dockerfile).rm(true).forcerm(true).build();
        let patient = self.docker.clone().with_timeout(COPY_MAX);
        let mut steps = patient.build_image(options, None, Some(bollard::body_try_stream(archive.map_ok(Into::into))));
        while let Some(step) = steps.next().await {
            let step = step.map_err(|error| self.failed("the build", &error))?;
            if let Some(line) = step.stream.as_deref().map(str::trim_end).filter(|line| !line.is_empty()) {
                progress(line);
            }
            if let Some(detail) = step.error_detail.and_then(|detail| detail.message) {
                return Err(SandboxError::Start(format!("the build failed: {detail}")));
            }
        }
        let image = self.docker.inspect_image(tag).await.map_err(|error| self.failed("the built image", &error))?;
        let config = image.config.unwrap_or_default();
        Ok((
            image.id.unwrap_or_default(),
            config.env.unwrap_or_default(),
            config.working_dir.filter(|folder| !folder.is_empty()).unwrap_or_else(|| "/".to_owned()),
        ))
    }

    /// The files of a container as an archive.
    pub(super) fn export(&self, name: &str) -> impl Stream<Item = io::Result<Vec<u8>>> + Send + use<> {
        let docker = self.docker.clone();
        let name = name.to_owned();
        futures::stream::once(async move { docker.export_container(&name).boxed() })
            .flatten()
            .map_ok(Into::into)
            .map_err(io::Error::other)
    }

    fn failed(&self, what: &str, error: &Error) -> SandboxError {
        match status(error) {
            Some(code) => SandboxError::Start(format!("{what}: the Docker engine says {code}: {error}")),
            None => self.gone(error),
        }
    }

    fn gone(&self, error: &Error) -> SandboxError {
        self.unreachable(error)
    }
}

fn unusable(host: &str, error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(deeper) = error.source() {
        error = deeper;
    }
    format!("the Docker engine at {host} cannot be used ({error}): start it, or use the local back end")
}

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn body(container: Container) -> ContainerCreateBody {
    let strings = |values: &[&str]| Some(values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>());
    let mut mounts = Vec::new();
    if let Some((from, to)) = container.program {
        let read_only = Some(true);
        let typ = Some(MountType::BIND);
        mounts.push(Mount { source: Some(from), target: Some(to), read_only, typ, ..Mount::default() });
    }
    if let Some((volume, to, writable)) = container.volume {
        let volume_options = Some(MountVolumeOptions { no_copy: Some(true), ..MountVolumeOptions::default() });
        let (source, target, typ) = (Some(volume), Some(to), Some(MountType::VOLUME));
        mounts.push(Mount { source, target, typ, read_only: Some(!writable), volume_options, ..Mount::default() });
    }
    let host_config = HostConfig {
        memory: positive(container.memory_bytes),
        memory_swap: positive(container.memory_bytes),
        nano_cpus: positive(container.cpu_thousandths.saturating_mul(1_000_000)),
        pids_limit: positive(container.processes),
        ulimits: positive(container.data_bytes).map(|bytes| {
            vec![ResourcesUlimits { name: Some("data".to_owned()), soft: Some(bytes), hard: Some(bytes) }]
        }),
        mounts: Some(mounts),
        // The container goes when its first process ends, so that a server which was killed leaves none.
        auto_remove: Some(true),
        cap_drop: strings(&["ALL"]),
        cap_add: Some(container.capabilities),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        ipc_mode: Some("private".to_owned()),
        // Or else every frame would be kept in a file.
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        // Left out, it is the engine's usual one.
        network_mode: (container.network == Network::None).then(|| "none".to_owned()),
        readonly_rootfs: Some(true),
        // The program inside makes namespaces and mounts before it takes a stricter filter for itself and all that it starts.
        security_opt: strings(&["no-new-privileges", "seccomp=unconfined", "apparmor=unconfined"]),
        runtime: container.runtime,
        ..HostConfig::default()
    };
    ContainerCreateBody {
        hostname: Some("sandbox".to_owned()),
        image: Some(container.image),
        cmd: Some(container.command),
        labels: Some(container.labels),
        network_disabled: Some(container.network == Network::None),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(true),
        // When the server is gone, the program inside reads the end of its input and ends the sandbox.
        stdin_once: Some(true),
        tty: Some(false),
        // A first process without handlers hears no other, and an engine that stops or starts would wait for it.
        stop_signal: Some("SIGKILL".to_owned()),
        host_config: Some(host_config),
        ..ContainerCreateBody::default()
    }
}

fn positive(value: u64) -> Option<i64> {
    (value > 0).then(|| i64::try_from(value).unwrap_or(i64::MAX))
}

//! Handle of this machine on a sandbox: processes, control groups, a disk. However it ends, nothing of it is left.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use palestra_sandbox_agent::plan::Upper;
use tokio::process::Child;
use tokio::task::JoinHandle;

use super::disk::Disk;
use super::watch::Excess;
use super::{Inner, watch};
use crate::cgroup::Group;
use crate::ending::{Ending, FirstProcess, OwnLimit};
use crate::error::SandboxError;
use crate::handle::SandboxHandle;
use crate::profile::Profile;

/// Time that an agent whose pipe is closed may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest wait for what was killed.
const KILL_MAX: Duration = Duration::from_secs(10);
/// Interval of the polls for a free disk: the kernel tells nobody.
const DISK_POLL: Duration = Duration::from_millis(10);
/// Interval of the polls for the end of a process group: only its parent is told.
const GROUP_POLL: Duration = Duration::from_millis(2);

/// Resources of a sandbox. When it is dropped before it is destroyed, it is destroyed in the background.
pub(super) struct LocalHandle(Option<Parts>);

struct Parts {
    inner: Arc<Inner>,
    group: Group,
    disk: Disk,
    disk_is_new: bool,
    /// The name under which the disk is marked as used.
    disk_name: Option<String>,
    child: Option<Child>,
    /// The process group of all that was started.
    process_group: Option<Pid>,
    /// Excess for which the watched folder was ended.
    excess: Arc<OnceLock<Excess>>,
    /// Tasks that end with the sandbox: what reads its complaints, what watches its folder.
    tasks: Vec<JoinHandle<()>>,
}

/// Input of a launch.
pub(super) struct Prepared {
    pub(super) cgroup_files: Vec<String>,
    pub(super) upper: Upper,
    /// True if the disk was made for this sandbox.
    pub(super) disk_is_new: bool,
}

impl LocalHandle {
    /// Makes control groups and disk; waits for what is left of an earlier sandbox on the disk.
    pub(super) fn prepare(
        inner: &Arc<Inner>,
        id: &str,
        disk: Option<String>,
        profile: &Profile,
    ) -> Result<(Self, Prepared), SandboxError> {
        let failed = |error: std::io::Error| SandboxError::Start(error.to_string());
        let group = inner.cgroups.make(id, profile).map_err(failed)?;
        let disk_is_new = disk.as_ref().is_none_or(|name| !inner.disks.has(name));
        let found = claim(inner, id, disk.as_deref(), profile);
        let found = found.inspect_err(|_| group.remove())?;
        let prepared = Prepared { cgroup_files: group.files(), upper: found.upper(), disk_is_new };
        let inner = Arc::clone(inner);
        let parts = Parts {
            inner,
            group,
            disk: found,
            disk_is_new,
            disk_name: disk,
            child: None,
            process_group: None,
            excess: Arc::default(),
            tasks: Vec::new(),
        };
        let processes = Self(Some(parts));
        if disk_is_new || processes.wait_for_disk() {
            Ok((processes, prepared))
        } else {
            Err(SandboxError::Start("an earlier sandbox has the disk mounted and does not end".to_owned()))
        }
    }

    /// True if nobody has the disk mounted, at least after a while.
    fn wait_for_disk(&self) -> bool {
        let mounted = || self.0.as_ref().is_some_and(|parts| parts.disk.mounted());
        let until = Instant::now() + KILL_MAX;
        while mounted() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(DISK_POLL);
        }
        true
    }

    /// The same with the processes that were started.
    pub(super) fn with_processes(mut self, child: Child, listening: JoinHandle<()>, profile: &Profile) -> Self {
        if let Some(parts) = &mut self.0 {
            parts.tasks.push(listening);
            parts.process_group = group_of(&child);
            if let (Some(folder), Some(process)) = (parts.disk.folder(), parts.process_group) {
                parts.tasks.push(watch::watch(folder.join("upper"), profile, process, Arc::clone(&parts.excess)));
            }
            parts.child = Some(child);
        }
        self
    }
}

/// Finds or makes the disk of a sandbox, and marks a named one as used.
fn claim(inner: &Inner, id: &str, name: Option<&str>, profile: &Profile) -> Result<Disk, SandboxError> {
    let failed = |error: std::io::Error| SandboxError::Start(error.to_string());
    let (bytes, inodes) = (profile.disk_bytes.value, profile.disk_inodes.value);
    let Some(name) = name else { return inner.disks.ephemeral(id, bytes, inodes).map_err(failed) };
    if !inner.used.lock().insert(name.to_owned()) {
        return Err(SandboxError::Start(format!("the disk {name:?} is in use")));
    }
    inner.disks.named(name, bytes, inodes).map_err(|error| {
        inner.used.lock().remove(name);
        failed(error)
    })
}

#[async_trait]
impl SandboxHandle for LocalHandle {
    async fn keep_disk(&mut self, disk: &str) -> Result<(), SandboxError> {
        let Some(parts) = &mut self.0 else { return Err(SandboxError::Lost("it was destroyed".to_owned())) };
        named(disk)?;
        if !parts.inner.used.lock().insert(disk.to_owned()) {
            return Err(SandboxError::Unavailable(format!("the disk {disk:?} is in use: wait until its sandbox ends")));
        }
        if let Err(error) = parts.inner.disks.keep(&mut parts.disk, disk) {
            parts.inner.used.lock().remove(disk);
            return Err(SandboxError::Unavailable(format!(
                "the disk cannot be kept, check the free space of the data folder: {error}"
            )));
        }
        if let Some(former) = parts.disk_name.replace(disk.to_owned()) {
            parts.inner.used.lock().remove(&former);
        }
        Ok(())
    }

    async fn ending(&mut self) -> Ending {
        match &mut self.0 {
            Some(parts) => parts.ending().await,
            None => Ending::Host("this server destroyed it".to_owned()),
        }
    }

    async fn destroy(&mut self, with_disk: bool) {
        if let Some(parts) = self.0.take() {
            parts.end(with_disk).await;
        }
    }
}

impl Drop for LocalHandle {
    fn drop(&mut self) {
        let Some(parts) = self.0.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                // A disk that was made for a start which came to nothing holds nothing.
                let unused = parts.disk_is_new && parts.child.is_none();
                runtime.spawn(parts.end(unused));
            }
            // The runtime is gone, and this process with it: its pipe ends the agent, and a later sweep does the rest.
            Err(_) => tracing::debug!("a sandbox is left to the next sweep"),
        }
    }
}

impl Parts {
    /// Cause of the end, by the server's own files and the kernel's counts.
    async fn ending(&mut self) -> Ending {
        if let Some(fault) = self.inner.fault() {
            return Ending::Host(fault);
        }
        match self.excess.get() {
            Some(Excess::Disk(why)) => return Ending::OwnLimit(OwnLimit::Disk, why.clone()),
            Some(Excess::Unmeasured(why)) => return Ending::Unknown(why.clone()),
            None => {}
        }
        let Some(child) = &mut self.child else { return Ending::Unknown("it never ran".to_owned()) };
        let first = match tokio::time::timeout(PATIENCE, child.wait()).await {
            Ok(Ok(status)) => first_process(status),
            Ok(Err(error)) => return Ending::Host(format!("its first process cannot be asked for: {error}")),
            Err(_) => FirstProcess::Runs,
        };
        Ending::of(first, self.group.ran_out_of_memory())
    }

    /// The pipe to the agent is closed by now, so it ends by itself, and everything mounted is gone with it.
    async fn end(mut self, with_disk: bool) {
        let Some(mut child) = self.child.take() else {
            let _ = tokio::task::spawn_blocking(move || self.finish(with_disk)).await;
            return;
        };
        let group = self.process_group;
        if tokio::time::timeout(PATIENCE, child.wait()).await.is_err()
            && let Some(group) = group
        {
            let _ = killpg(group, Signal::SIGKILL);
        }
        let freed = tokio::task::spawn_blocking(move || {
            self.group.kill();
            reap(&mut child);
            if let Some(group) = group {
                wait_for(group);
            }
            self.finish(with_disk);
        });
        let _ = freed.await;
    }

    fn finish(self, with_disk: bool) {
        for task in self.tasks {
            task.abort();
        }
        self.group.remove();
        if let Err(error) = self.disk.release(with_disk) {
            tracing::warn!(%error, "the disk of a sandbox cannot be removed");
        }
        if let Some(name) = &self.disk_name {
            self.inner.used.lock().remove(name);
        }
    }
}

/// The launcher becomes bubblewrap, which hands on how the agent ended.
fn first_process(status: ExitStatus) -> FirstProcess {
    match (status.code(), status.signal()) {
        (Some(code), _) => FirstProcess::of_code(code),
        (None, signal) => FirstProcess::Killed(signal.unwrap_or_default()),
    }
}

/// The launcher leads a process group, in which bubblewrap and the agent are too.
fn group_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw)
}

/// Takes note of the end of a process, without which its control groups cannot be removed.
fn reap(child: &mut Child) {
    let until = Instant::now() + KILL_MAX;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(GROUP_POLL);
    }
}

fn wait_for(group: Pid) {
    let until = Instant::now() + KILL_MAX;
    while killpg(group, None) != Err(Errno::ESRCH) && Instant::now() < until {
        std::thread::sleep(GROUP_POLL);
    }
}

/// Names become names of files.
pub(super) fn named(name: &str) -> Result<(), SandboxError> {
    let sane = (1..=100).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if sane { Ok(()) } else { Err(SandboxError::Start(format!("{name:?} is no name of a sandbox or a disk"))) }
}

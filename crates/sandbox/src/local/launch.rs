//! Starting the processes of a sandbox.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox_agent::plan::{Ids, Plan};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Inner;
use super::processes::{LocalHandle, Prepared, named};
use crate::backend::Start;
use crate::error::SandboxError;
use crate::ids::{FIRST_ID, IDS};
use crate::image::{Image, host};
use crate::link::Link;
use crate::profile::Network;

/// Most that is kept of what a start complains about.
const COMPLAINT_BYTES_MAX: usize = 4_096;
/// Time for which the processes of a start may go on writing to standard error once it does not listen any more.
const COMPLAINT_MAX: Duration = Duration::from_secs(2);

/// Processes that were started.
pub(super) struct Launched {
    pub(super) handle: LocalHandle,
    pub(super) link: Link,
    pub(super) complaint: Complaint,
    pub(super) disk_is_new: bool,
}

/// Standard error of the processes of a sandbox: why a start failed.
#[derive(Clone)]
pub(super) struct Complaint {
    said: Arc<Mutex<Vec<u8>>>,
    /// True once all was read.
    is_over: watch::Receiver<bool>,
}

impl Complaint {
    fn listen(mut stderr: impl AsyncRead + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (over, is_over) = watch::channel(false);
        let complaint = Self { said: Arc::clone(&kept), is_over };
        let reading = async move {
            let mut buffer = vec![0; 1_024];
            while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
                let mut kept = kept.lock();
                let room = COMPLAINT_BYTES_MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..read.min(room)]);
            }
            over.send_replace(true);
        };
        (complaint, tokio::runtime::Handle::current().spawn(reading))
    }

    /// Waits until all was said of a start that came to nothing: who closes one pipe may not have written to the other yet.
    pub(super) async fn end(&mut self) {
        // What goes on for longer has nothing to do with it.
        let _ = tokio::time::timeout(COMPLAINT_MAX, self.is_over.wait_for(|is_over| *is_over)).await;
    }

    /// The error with what was said about it.
    pub(super) fn explain(&self, error: SandboxError) -> SandboxError {
        let said = String::from_utf8_lossy(&self.said.lock()).trim().to_owned();
        match error {
            SandboxError::Lost(why) if said.is_empty() => SandboxError::Start(why),
            SandboxError::Lost(_) => SandboxError::Start(said),
            other => other,
        }
    }
}

/// Makes what a sandbox needs and starts its processes. When this fails, nothing is left.
pub(super) async fn launch(inner: &Arc<Inner>, bwrap: &Path, start: &Start) -> Result<Launched, SandboxError> {
    let Some(root) = start.image.root.clone() else {
        let why = format!(
            "the image {:?} is not unpacked on this machine: build it, or use --sandbox docker",
            start.image.name
        );
        return Err(SandboxError::Unavailable(why));
    };
    for name in std::iter::once(&start.id).chain(&start.disk) {
        named(name)?;
    }
    let (handle, prepared) = prepare(inner, start).await?;
    let disk_is_new = prepared.disk_is_new;
    let plan = plan(inner, bwrap, start, &root, prepared);
    let plan = serde_json::to_string(&plan).map_err(|error| SandboxError::Start(error.to_string()))?;
    let spawned = Command::new(&inner.agent)
        .arg("launch")
        .arg(plan)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|error| SandboxError::Start(format!("{}: {error}", inner.agent.display())))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(SandboxError::Start("the launcher has no pipes".to_owned()));
    };
    let (complaint, listening) = Complaint::listen(stderr);
    let handle = handle.with_processes(child, listening, &start.profile);
    Ok(Launched { handle, link: Link::new(stdout, stdin), complaint, disk_is_new })
}

/// Makes control groups and disk.
async fn prepare(inner: &Arc<Inner>, start: &Start) -> Result<(LocalHandle, Prepared), SandboxError> {
    let (inner, id, disk) = (Arc::clone(inner), start.id.clone(), start.disk.clone());
    let profile = Arc::clone(&start.profile);
    let made = tokio::task::spawn_blocking(move || LocalHandle::prepare(&inner, &id, disk, &profile));
    made.await.map_err(|error| SandboxError::Start(error.to_string()))?
}

fn plan(inner: &Inner, bwrap: &Path, start: &Start, root: &Path, prepared: Prepared) -> Plan {
    let profile = &start.profile;
    let bounded = inner.cgroups.bounded();
    let user = profile.user.value;
    Plan {
        cgroup_files: prepared.cgroup_files,
        bwrap: bwrap.display().to_string(),
        agent: inner.agent.display().to_string(),
        lowers: vec![root.display().to_string()],
        upper: prepared.upper,
        ids: if inner.root {
            Ids::Range { first: FIRST_ID, count: IDS }
        } else {
            Ids::Single { uid: user.uid, gid: user.gid }
        },
        read_only: shown(&start.image),
        network: profile.network.value == Network::Host,
        // What is there counts as memory.
        shared_memory_bytes: profile.memory_bytes.value / 2,
        processes_max: (!bounded.processes).then_some(profile.processes.value),
        data_bytes_max: (!bounded.memory).then_some(profile.memory_bytes.value),
    }
}

fn shown(image: &Image) -> Vec<String> {
    if image.name == host::NAME { host::shown() } else { Vec::new() }
}

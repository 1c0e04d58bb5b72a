//! The local back end: namespaces of this machine by bubblewrap, a file system in layers, control groups.

mod disk;
mod examine;
mod fault;
mod folder;
mod launch;
mod processes;
mod watch;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nix::unistd::geteuid;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::backend::{Backend, Start, Swept};
use crate::cgroup::Cgroups;
use crate::embedded;
use crate::error::SandboxError;
use crate::incarnation::Incarnation;
use crate::isolation::Isolation;
use crate::profile::Profile;
use crate::sandbox::Sandbox;
use crate::seccomp::Filters;
use disk::Disks;

/// Starts sandboxes on this machine.
#[derive(Clone)]
pub struct Local(Arc<Inner>);

struct Inner {
    agent: PathBuf,
    disks: Disks,
    cgroups: Cgroups,
    /// True if the server is root, and so a range of user ids and disks can be had.
    root: bool,
    filters: Filters,
    /// Bubblewrap, once it was found that sandboxes can be started here.
    usable: OnceCell<PathBuf>,
    /// Names of disks that sandboxes of this server use.
    used: Mutex<BTreeSet<String>>,
}

impl Local {
    /// The back end that keeps its disks in `folder`. No other process may use it at the same time.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when the folder cannot be written.
    pub fn new(folder: &Path) -> Result<Self, SandboxError> {
        let root = geteuid().is_root();
        let unwritable = |error| SandboxError::Unavailable(format!("{}: {error}", folder.display()));
        let folder = std::path::absolute(folder).map_err(unwritable)?;
        Ok(Self(Arc::new(Inner {
            agent: embedded::place(&folder).map_err(unwritable)?,
            disks: Disks::new(&folder, root).map_err(unwritable)?,
            cgroups: Cgroups::find(Incarnation::new()),
            root,
            filters: Filters::new(root).map_err(SandboxError::Unavailable)?,
            usable: OnceCell::new(),
            used: Mutex::default(),
        })))
    }

    async fn bubblewrap(&self) -> Result<&Path, SandboxError> {
        let found = self.0.usable.get_or_try_init(|| examine::bubblewrap(&self.0.agent));
        found.await.map(PathBuf::as_path).map_err(SandboxError::Unavailable)
    }
}

#[async_trait]
impl Backend for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    async fn examine(&self, profile: &Profile) -> Result<Isolation, SandboxError> {
        self.bubblewrap().await?;
        Ok(examine::isolation(self.0.root, &self.0.cgroups, profile))
    }

    async fn start(&self, start: Start) -> Result<Sandbox, SandboxError> {
        let bwrap = self.bubblewrap().await?;
        let isolation = examine::isolation(self.0.root, &self.0.cgroups, &start.profile);
        let limit = Duration::from_millis(start.profile.start_ms.value);
        let launched = tokio::time::timeout(limit, launch::launch(&self.0, bwrap, &start)).await;
        let launched = launched.unwrap_or_else(|_| Err(SandboxError::Start(format!("it took more than {limit:?}"))))?;
        let Start { image, profile, .. } = start;
        let launch::Launched { handle, link, mut complaint, disk_is_new } = launched;
        let filter = self.0.filters.of(&profile);
        match Sandbox::set_up(link, Box::new(handle), isolation, image, profile, filter).await {
            Ok(sandbox) => Ok(sandbox),
            Err((error, mut handle)) => {
                if matches!(error, SandboxError::Lost(_)) {
                    complaint.end().await;
                }
                handle.destroy(disk_is_new).await;
                Err(complaint.explain(error))
            }
        }
    }

    async fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    fn disks(&self) -> Vec<String> {
        self.0.disks.names()
    }

    fn forget_disk(&self, disk: &str) {
        let sane = !disk.is_empty() && disk.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !sane || self.0.used.lock().contains(disk) {
            return;
        }
        if let Err(error) = self.0.disks.forget(disk) {
            tracing::warn!(disk, %error, "a disk could not be removed; the next start tries again");
        }
    }

    async fn sweep(&self, keep: &BTreeSet<String>) -> Result<Swept, SandboxError> {
        let inner = Arc::clone(&self.0);
        let mut keep = keep.clone();
        keep.extend(self.0.used.lock().iter().cloned());
        let swept = tokio::task::spawn_blocking(move || {
            let sandboxes = inner.cgroups.sweep();
            inner.disks.sweep(&keep).map(|disks| Swept { sandboxes, disks })
        });
        let failed = |error: String| {
            SandboxError::Unavailable(format!(
                "the remains of an earlier server cannot be removed, remove them by hand: {error}"
            ))
        };
        swept.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }
}

/// A program on the path, or where administrators have theirs.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/bin", "/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_absolute() && path.is_file())
}

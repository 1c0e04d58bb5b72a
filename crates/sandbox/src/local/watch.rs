//! Watching a folder that the kernel does not bound.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::folder::{FolderSize, measure};
use crate::profile::Profile;

/// Interval of the measurements.
pub(super) const EVERY: Duration = Duration::from_millis(200);

/// Reason why a watched sandbox was ended, once it was: its disk held too much, or could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Excess {
    /// It held more than its profile allows.
    Disk(String),
    /// It could not be measured.
    Unmeasured(String),
}

/// Kills a process group once the folder holds more than the profile allows, or cannot be measured; `found` then says why.
pub(super) fn watch(folder: PathBuf, profile: &Profile, group: Pid, found: Arc<OnceLock<Excess>>) -> JoinHandle<()> {
    let most = FolderSize { bytes: profile.disk_bytes.value, files: profile.disk_inodes.value };
    let watching = async move {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let folder = folder.clone();
            let Ok(broken) = tokio::task::spawn_blocking(move || excess(&folder, most)).await else { return };
            if let Some(why) = broken {
                tracing::warn!(?why, "a sandbox is ended");
                let _ = found.set(why);
                let _ = killpg(group, Signal::SIGKILL);
                return;
            }
        }
    };
    tokio::runtime::Handle::current().spawn(watching)
}

/// The excess; `None` while all is well.
fn excess(folder: &Path, most: FolderSize) -> Option<Excess> {
    match measure(folder, most) {
        Ok(held) if held.bytes > most.bytes => {
            Some(Excess::Disk(format!("its disk holds more than {} bytes", most.bytes)))
        }
        Ok(held) if held.files > most.files => {
            Some(Excess::Disk(format!("its disk holds more than {} files", most.files)))
        }
        Ok(_) => None,
        Err(error) => Some(Excess::Unmeasured(format!("its disk cannot be measured: {error}"))),
    }
}

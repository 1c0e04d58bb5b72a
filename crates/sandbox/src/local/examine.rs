//! Examination of this machine: which sandboxes can be started, and the isolation then in force.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::{program, watch};
use crate::cgroup::Cgroups;
use crate::ids::{FIRST_ID, IDS};
use crate::isolation::Isolation;
use crate::profile::{Network, Profile};

/// Finds bubblewrap, and tries out the namespaces and mounts of a sandbox.
///
/// # Errors
/// What is missing and what to do about it.
pub(super) async fn bubblewrap(agent: &Path) -> Result<PathBuf, String> {
    let Some(bwrap) = program("bwrap") else {
        return Err("bubblewrap not found: install the package bubblewrap, or use --sandbox docker".to_owned());
    };
    let probe = Command::new(agent).args(["launch", "probe"]).env_clear().stdin(Stdio::null()).output();
    let probe = probe.await.map_err(|error| format!("{}: {error}", agent.display()))?;
    if probe.status.success() {
        return Ok(bwrap);
    }
    let why = String::from_utf8_lossy(&probe.stderr);
    Err(format!(
        "this user cannot make sandboxes here ({}): run the server as root, or use --sandbox docker",
        why.trim()
    ))
}

/// Isolation in force, but for the part that the agent adds.
pub(super) fn isolation(root: bool, cgroups: &Cgroups, profile: &Profile) -> Isolation {
    let mut isolation = Isolation::of("local");
    if root {
        isolation.enforced("user", format!("namespace, ids {FIRST_ID} to {} of the host", FIRST_ID + IDS - 1));
        isolation.enforced("disk", "ext4 file system of its own on a loop device");
        isolation.enforced("inodes", "ext4 file system of its own on a loop device");
    } else {
        isolation.enforced("user", "namespace with one id, which is the server's on the host");
        let watched = format!("watched: measured every {} ms, and what holds more is ended", watch::EVERY.as_millis());
        isolation.lacking("disk", watched.clone());
        isolation.lacking("inodes", watched);
    }
    for namespace in ["mount", "pid", "ipc", "uts", "cgroup"] {
        isolation.enforced(namespace, "namespace, by bubblewrap");
    }
    match profile.network.value {
        Network::None => isolation.enforced("net", "namespace with a loopback device alone, by bubblewrap"),
        Network::Host => isolation.lacking("net", "the machine's network, which the operator allows"),
    }
    isolation.enforced("root", "overlay, whose lower layers are never written");
    isolation.enforced("file_bytes", "setrlimit");
    isolation.enforced("open_files", "setrlimit");
    cgroups.describe(&mut isolation);
    isolation
}

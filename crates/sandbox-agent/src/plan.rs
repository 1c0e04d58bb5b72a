//! Arguments of the launch mode: how to make the namespaces and mounts of a sandbox on this machine.

use serde::{Deserialize, Serialize};

/// A sandbox to be launched. All paths are absolute and the host's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Files of control groups into which the process writes itself before anything else.
    pub cgroup_files: Vec<String>,
    /// Bubblewrap.
    pub bwrap: String,
    /// This program, as it is to run inside.
    pub agent: String,
    /// Root file systems, the uppermost first.
    pub lowers: Vec<String>,
    /// Layer of changes.
    pub upper: Upper,
    /// Users inside.
    pub ids: Ids,
    /// Paths of the host that are shown read-only at the same place.
    pub read_only: Vec<String>,
    /// True if programs see the network of this machine, with its resolver and certificates.
    pub network: bool,
    /// Size of `/dev/shm`.
    pub shared_memory_bytes: u64,
    /// Most processes of each user, where no control group bounds them.
    pub processes_max: Option<u64>,
    /// Most bytes of data of each process, where no control group bounds memory.
    pub data_bytes_max: Option<u64>,
}

/// Layer of changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upper {
    /// The file holds an ext4 file system, which is mounted by a loop device.
    Disk(String),
    /// A folder.
    Folder(String),
}

/// Users inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ids {
    /// As many as this, from this one of the host on. Needs root.
    Range {
        /// Host id of user id 0.
        first: u32,
        /// Number of consecutive ids.
        count: u32,
    },
    /// This one alone, which is the caller on the host.
    Single {
        /// Its number inside.
        uid: u32,
        /// Its group inside.
        gid: u32,
    },
}

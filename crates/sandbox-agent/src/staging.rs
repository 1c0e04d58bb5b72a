//! Argument of the mode `stage`, as JSON.

use serde::{Deserialize, Serialize};

/// Recipe of a container's file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Staging {
    /// The image's root file system, which nothing changes: a folder of a volume that is mounted read-only.
    pub image: String,
    /// A file that is there when the image was copied whole.
    pub whole: String,
    /// An empty folder of the container over which the new file system is mounted.
    pub place: String,
    /// Id in the container of the sandbox's id 0; the others follow.
    pub first_id: u32,
    /// Bytes that may differ from the image.
    pub disk_bytes: u64,
    /// Files that may differ from the image.
    pub disk_inodes: u64,
    /// True if programs see the network of the container, with its resolver.
    pub network: bool,
    /// Bytes of shared memory.
    pub shared_bytes: u64,
    /// Milliseconds until the server must have sent its setup. An engine that is killed while it starts a container forgets it, and
    /// keeps its standard input open.
    pub setup_ms: u64,
}

/// Number of ids that a sandbox has.
pub const IDS: u32 = 65_536;

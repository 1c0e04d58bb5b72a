//! Back ends, which start sandboxes.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::SandboxError;
use crate::image::Image;
use crate::isolation::Isolation;
use crate::profile::Profile;
use crate::sandbox::Sandbox;

/// Starts sandboxes on one kind of infrastructure.
#[async_trait]
pub trait Backend: Send + Sync {
    /// `local` or `docker`.
    fn name(&self) -> &'static str;

    /// Isolation that would be in force in a sandbox of this profile.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`], with what to do about it.
    async fn examine(&self, profile: &Profile) -> Result<Isolation, SandboxError>;

    /// Starts one.
    ///
    /// # Errors
    /// When the back end cannot, or when the profile requires what is not enforced; then nothing is left.
    async fn start(&self, start: Start) -> Result<Sandbox, SandboxError>;

    /// Present fault in the ground of its sandboxes: the engine, the disk of the server. `None` where nothing is.
    async fn fault(&self) -> Option<String>;

    /// True if disks can outlive their sandbox and the server.
    fn keeps_disks(&self) -> bool {
        true
    }

    /// The names of all disks that are there, kept ones and those in use.
    fn disks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Removes a kept disk that no sandbox uses. What cannot be removed is left to the next sweep.
    fn forget_disk(&self, _disk: &str) {}

    /// Removes what sandboxes of an earlier process left: processes, containers, mounts, control groups and disks, but for the
    /// disks named in `keep`.
    ///
    /// # Errors
    /// When something could not be removed.
    async fn sweep(&self, keep: &BTreeSet<String>) -> Result<Swept, SandboxError>;
}

/// Settings of a new sandbox.
#[derive(Debug, Clone)]
pub struct Start {
    /// Names it among those of this server: letters, digits, `_` and `-`.
    pub id: String,
    /// Image of its file system.
    pub image: Arc<Image>,
    /// Profile with its limits.
    pub profile: Arc<Profile>,
    /// The name of the disk that holds what differs from the image; a disk of this name that is there already is gone on with. Such
    /// a disk outlives the sandbox (and the server) until it is removed. Without a name, the disk goes with the sandbox.
    pub disk: Option<String>,
}

/// Result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Sandboxes: containers, control groups.
    pub sandboxes: u64,
    /// Disks.
    pub disks: u64,
}

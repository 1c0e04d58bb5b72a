//! Handle of a back end on a running sandbox.

use async_trait::async_trait;

use crate::ending::Ending;
use crate::error::SandboxError;

/// Handle of a back end on a running sandbox.
#[async_trait]
pub trait SandboxHandle: Send + Sync {
    /// Renames the disk, which then outlives the sandbox and the server.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] where disks of this back end cannot outlive their sandbox.
    async fn keep_disk(&mut self, disk: &str) -> Result<(), SandboxError>;

    /// Cause of the end of the sandbox, by facts that nothing inside can write. Asked once it was lost, and before it is destroyed.
    async fn ending(&mut self) -> Ending;

    /// Ends all processes and frees everything, a kept disk excepted unless `with_disk`.
    async fn destroy(&mut self, with_disk: bool);
}

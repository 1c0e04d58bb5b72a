//! Faults of this machine that end sandboxes or keep them from working: a full disk under their disks, an agent that is gone.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::Inner;

/// Bytes below which the file system under the disks counts as full: disks are sparse, and what is written to them has to fit.
const FREE_BYTES_MIN: u64 = 16 << 20;
/// Files below which it does.
const FREE_FILES_MIN: u64 = 64;

impl Inner {
    /// Present fault; `None` where nothing is.
    pub(super) fn fault(&self) -> Option<String> {
        if !self.agent.is_file() {
            return Some(format!("the agent {} is gone: restart the server", self.agent.display()));
        }
        full(self.disks.folder()).or_else(|| self.cgroups.fault())
    }
}

/// Says where a file system is full, or cannot be asked.
fn full(folder: &Path) -> Option<String> {
    let found = match statvfs(folder) {
        Ok(found) => found,
        Err(error) => return Some(format!("{} cannot be looked at: {error}", folder.display())),
    };
    let free = found.blocks_available().saturating_mul(found.fragment_size());
    // Some file systems count no files at all.
    let files = (found.files() > 0).then(|| found.files_available());
    if free >= FREE_BYTES_MIN && files.is_none_or(|files| files >= FREE_FILES_MIN) {
        return None;
    }
    let files = files.map_or_else(String::new, |files| format!(" and {files} files"));
    Some(format!("the disk of the server is full: {free} bytes{files} are free below {}", folder.display()))
}

//! Profiles: what a sandbox may use, as data, each line with its reason. One profile drives both back ends.

use std::sync::Arc;

use palestra_sandbox_agent::wire::{Rlimits, User};
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::isolation::Isolation;

/// A profile, read from `sandboxes/<name>/profile.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Purpose.
    pub description: String,
    /// Lines of [`Isolation`] without whose enforcement no sandbox starts.
    #[serde(default)]
    pub require: Vec<String>,
    /// User of commands inside.
    pub user: Line<User>,
    /// Bytes of memory of the whole sandbox.
    pub memory_bytes: Line<u64>,
    /// Thousandths of a core.
    pub cpu_thousandths: Line<u64>,
    /// Processes and threads of the whole sandbox.
    pub processes: Line<u64>,
    /// Bytes of each file.
    pub file_bytes: Line<u64>,
    /// Open files of each process.
    pub open_files: Line<u64>,
    /// Bytes of what differs from the image.
    pub disk_bytes: Line<u64>,
    /// Files of what differs from the image.
    pub disk_inodes: Line<u64>,
    /// Bytes of output that a command's record keeps.
    pub output_bytes: Line<u64>,
    /// Longest run of one command.
    pub command_ms: Line<u64>,
    /// Longest start of a sandbox.
    pub start_ms: Line<u64>,
    /// Time for which a start may wait for another sandbox to end, where no more fit.
    pub wait_ms: Line<u64>,
    /// Reachable network of programs.
    pub network: Line<Network>,
    /// Folders that are made at the start for the user.
    pub folders: Line<Vec<String>>,
    /// Environment of every command.
    pub env: Line<Vec<(String, String)>>,
    /// True if user 0 has rights over the files and users of the sandbox, as set-ups of packages need them; no rights where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owns_files: Option<Line<bool>>,
    /// True if programs may make user, pid and network namespaces of their own, as browsers do for their pages; not where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Line<bool>>,
}

/// A line of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line<T> {
    /// The value.
    pub value: T,
    /// The reason.
    pub reason: String,
}

/// Reachable network of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nowhere but inside the sandbox: a network namespace with a loopback device alone.
    None,
    /// All that the machine of the back end reaches.
    Host,
}

impl Profile {
    /// Reads one.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(text: &str) -> Result<Arc<Self>, String> {
        toml::from_str(text).map(Arc::new).map_err(|error| error.to_string())
    }

    /// Arguments of `setrlimit` for every command.
    #[must_use]
    pub fn rlimits(&self) -> Rlimits {
        Rlimits {
            file_bytes: Some(self.file_bytes.value),
            open_files: Some(self.open_files.value),
            ..Rlimits::default()
        }
    }

    /// Refuses an isolation that lacks what is required.
    ///
    /// # Errors
    /// Names the first line that is not enforced.
    pub fn check(&self, isolation: &Isolation) -> Result<(), SandboxError> {
        for line in &self.require {
            match isolation.lines.get(line) {
                Some(enforcement) if enforcement.enforced => {}
                found => {
                    let by = found.map_or_else(|| "nothing".to_owned(), |enforcement| enforcement.by.clone());
                    return Err(SandboxError::Unenforced { line: line.clone(), by });
                }
            }
        }
        Ok(())
    }
}

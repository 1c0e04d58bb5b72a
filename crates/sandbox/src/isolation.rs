//! Isolation of a sandbox, as it is really in force.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Isolation that is in force in a sandbox, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The back end.
    pub backend: String,
    /// Every line of the profile by name: `user`, `mount`, `pid`, `ipc`, `uts`, `net`, `cgroup` (namespaces), `uid`,
    /// `capabilities`, `no_new_privileges`, `seccomp`, `root`, `memory`, `cpu`, `processes`, `disk`, `inodes`, `file_bytes`,
    /// `open_files`.
    pub lines: BTreeMap<String, Enforcement>,
}

/// Enforcement of a line of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// True if the kernel enforces it.
    pub enforced: bool,
    /// The enforcing part, or its substitute.
    pub by: String,
}

impl Isolation {
    /// Nothing yet.
    #[must_use]
    pub fn of(backend: &str) -> Self {
        Self { backend: backend.to_owned(), lines: BTreeMap::new() }
    }

    /// A line that the kernel enforces.
    pub fn enforced(&mut self, line: &str, by: impl Into<String>) {
        self.lines.insert(line.to_owned(), Enforcement { enforced: true, by: by.into() });
    }

    /// A line that nothing enforces; `by` says what there is instead.
    pub fn lacking(&mut self, line: &str, by: impl Into<String>) {
        self.lines.insert(line.to_owned(), Enforcement { enforced: false, by: by.into() });
    }
}

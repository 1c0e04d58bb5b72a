//! Faults of a definition: what is wrong, and where it stands.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// A position in the files of a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// The file's name within the definition.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// One thing that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[error("{position}: {path}{}{message}", if path.is_empty() { "" } else { ": " })]
pub struct Fault {
    /// Its position.
    pub position: Position,
    /// The part of the definition: `actions.lend.guards[1].check`; empty for the whole.
    pub path: String,
    /// Description of the fault and of the expected form.
    pub message: String,
}

/// Every fault that was found, in the order of the definition; never empty.
pub type Faults = Vec<Fault>;

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

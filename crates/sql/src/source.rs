//! Sources that databases are cloned from.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The content of a database, from which an engine makes a template once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Hex of the SHA-256 of the content: the same content is the same template.
    pub digest: String,
    /// Content.
    pub content: Content,
}

/// Content of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Statements in the engine's own dialect.
    Script(Arc<str>),
    /// A database file of SQLite. Only SQLite takes it.
    SqliteFile(Arc<[u8]>),
}

impl Source {
    /// The source of a script.
    #[must_use]
    pub fn script(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self { digest: hex::encode(Sha256::digest(text.as_bytes())), content: Content::Script(text) }
    }

    /// The source of a database file.
    #[must_use]
    pub fn sqlite_file(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { digest: hex::encode(Sha256::digest(&bytes)), content: Content::SqliteFile(bytes) }
    }
}

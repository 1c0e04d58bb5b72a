//! Protocol between the server and a worker: frames on the worker's standard input and output.
//!
//! A frame is its length (four bytes, little end first) and that many bytes of a [`Request`] or [`Response`] in postcard's form. The
//! server numbers its requests; answers come in any order, one for each request. Requests about the same session are carried out in
//! the order in which they came. A worker ends when its standard input does.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Bytes of the largest frame.
pub const FRAME_MAX: usize = 256 << 20;

/// Request of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the server; the answer carries it.
    pub id: u64,
    /// The request.
    pub ask: Ask,
}

/// Requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Makes a template. Answered by [`Answer::Prepared`].
    Prepare {
        /// Its name; an existing one is kept as it is.
        template: String,
        /// Its contents.
        content: Content,
        /// Milliseconds and bytes that making it may take.
        limits: Limits,
    },
    /// Forgets a template; sessions on it go on. Answered by [`Answer::Done`].
    Forget {
        /// Its name.
        template: String,
    },
    /// Opens a session on a template.
    Open {
        /// Chosen by the server, never used twice.
        session: u64,
        /// The template's name.
        template: String,
        /// Access rights of statements.
        access: Access,
        /// Resource limits of statements.
        limits: Limits,
        /// Random functions follow from it and the step.
        seed: u64,
    },
    /// Runs statements. Answered by [`Answer::Ran`].
    Run {
        /// The session.
        session: u64,
        /// The mark that stands afterwards.
        seq: u64,
        /// One or several statements.
        sql: String,
        /// Values of the parameters, where there is one statement.
        parameters: Vec<Value>,
        /// Now, in milliseconds since 1970.
        now_ms: i64,
    },
    /// Returns to a mark. Answered by [`Answer::Rewound`].
    Rewind {
        /// The session.
        session: u64,
        /// The mark; 0 is the beginning.
        seq: u64,
    },
    /// Copies a session. Answered by [`Answer::Rewound`]: whether it could be done.
    Fork {
        /// The session.
        session: u64,
        /// The copy, as chosen by the server.
        copy: u64,
    },
    /// Answered by [`Answer::Explained`].
    Explain {
        /// The session.
        session: u64,
        /// One statement.
        sql: String,
        /// Values of its parameters.
        parameters: Vec<Value>,
    },
    /// Runs queries of the server's own, PRAGMA among them, which change nothing: they leave no mark, count as no step and are not
    /// held to the session's access, nor to its rows, bytes and number of statements. Answered by [`Answer::Ran`].
    Look {
        /// The session.
        session: u64,
        /// Queries, any number.
        sql: String,
        /// Bytes of values that are given back. More is an error.
        bytes_max: u64,
    },
    /// Cuts off what the session runs now, and leaves the session usable. Answered at once, before that.
    Interrupt {
        /// The session.
        session: u64,
    },
    /// Ends a session.
    Close {
        /// The session.
        session: u64,
    },
    /// The database file of a template or session, as it would be on a disk. Answered by [`Answer::File`].
    File {
        /// The session.
        session: u64,
    },
    /// Asks for the usage. Answered by [`Answer::Usage`].
    Usage,
}

/// Contents of a template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Content {
    /// Statements.
    Script(Arc<str>),
    /// A database file.
    File(#[serde(with = "whole")] Arc<[u8]>),
}

/// Access rights of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Read.
    Read,
    /// Also change rows, and use temporary tables and transactions.
    Write,
    /// Also change the schema.
    Define,
}

/// Resource limits of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds of one statement.
    pub statement_ms: u64,
    /// Rows that are given back of one statement.
    pub rows_max: u64,
    /// Bytes of values that are given back of one step.
    pub bytes_max: u64,
    /// Bytes of SQLite's memory for the session.
    pub memory_max: u64,
    /// Bytes by which the database may grow beyond its template.
    pub growth_max: u64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Of the request.
    pub id: u64,
    /// Its answer.
    pub answer: Answer,
}

/// Answers to requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// The worker has no such template or session, or the request makes no sense; a fault of the server.
    Wrong(String),
    /// The template stands, or its content is broken.
    Prepared(Result<TemplateSize, String>),
    /// Outcome of statements.
    Ran(StepResult),
    /// True if it was done; where not, nothing has changed.
    Rewound(bool),
    /// The rows of EXPLAIN QUERY PLAN: id, parent, detail.
    Explained(Result<Vec<PlanRow>, SqlError>),
    /// A database file.
    File(#[serde(with = "whole")] Arc<[u8]>),
    /// The usage.
    Usage(Usage),
}

/// A row of EXPLAIN QUERY PLAN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRow {
    /// The node.
    pub id: i64,
    /// The node above it; 0 for none.
    pub parent: i64,
    /// In words.
    pub detail: String,
}

/// Size of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateSize {
    /// Bytes of its pages.
    pub bytes: u64,
}

/// Outcome of statements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Of each statement that succeeded, in order.
    pub results: Vec<StatementResult>,
    /// Reason why the next one did not.
    pub error: Option<SqlError>,
    /// Certainly nothing has changed.
    pub pure: bool,
    /// A transaction is open afterwards.
    pub in_transaction: bool,
}

/// Result of one statement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementResult {
    /// Command tag, as PostgreSQL writes it.
    pub command: String,
    /// Names and declared types.
    pub columns: Vec<(String, String)>,
    /// Rows, up to the limits.
    pub rows: Vec<Vec<Value>>,
    /// True if there are more.
    pub truncated: bool,
    /// Rows that it changed.
    pub affected: Option<u64>,
    /// Instructions of the virtual machine.
    pub vm_steps: u64,
}

/// A value of SQLite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// NULL.
    Null,
    /// INTEGER.
    Integer(i64),
    /// REAL.
    Real(f64),
    /// TEXT; what is no UTF-8 is replaced.
    Text(String),
    /// BLOB.
    Blob(#[serde(with = "whole")] Vec<u8>),
}

/// Bytes at once: serde takes them one by one by itself.
mod whole {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes.as_ref())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T: From<Vec<u8>>>(deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_byte_buf(Bytes).map(T::from)
    }

    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
}

/// An error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlError {
    /// The name of SQLite's extended code.
    pub code: String,
    /// SQLite's message.
    pub message: String,
    /// Index of the statement, from 0.
    pub statement: u64,
    /// Bytes of the SQL before the place.
    pub offset: Option<u64>,
    /// Set where the session's limits or rules ended it.
    pub cut: Option<CutReason>,
}

/// Limit or rule that ended a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CutReason {
    /// It may not be done here.
    Refused,
    /// It took too long, or was interrupted.
    Time,
    /// A value is too large.
    Size,
    /// It took too much memory.
    Memory,
    /// The database would be too large.
    Growth,
}

/// Resource usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Open sessions.
    pub sessions: u64,
    /// Templates.
    pub templates: u64,
    /// Bytes of SQLite's own memory.
    pub heap_bytes: u64,
    /// Bytes of pages, each counted once however many share it.
    pub page_bytes: u64,
}

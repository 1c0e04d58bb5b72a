//! Measured rows of an app, and their targets.

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    Task,
    FirstHash,
    Begin,
    Fork,
    ForkWrite,
    ForkMemory,
    Write,
    Read,
    Hash,
    Judge,
    IdleMemory,
    EditedMemory,
    HashedMemory,
}

/// Name of a row, and its largest value.
pub(crate) struct Described {
    pub(crate) row: Row,
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) most: Option<f64>,
}

const fn described(
    row: Row,
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    most: Option<f64>,
) -> Described {
    Described { row, id, title, unit, most }
}

/// Every row, in the order in which they are printed.
#[rustfmt::skip]
pub(crate) const ROWS: &[Described] = &[
    described(Row::Task, "task", "draw a new task, with its solution and checks", "us", None),
    described(Row::FirstHash, "first-hash", "state hash of a new task", "us", None),
    described(Row::Begin, "begin", "begin an episode of a drawn task", "us", None),
    described(Row::Write, "write", "an action that writes", "us", Some(20.0)),
    described(Row::Read, "read", "a view", "us", None),
    described(Row::Fork, "fork", "fork, and drop it", "us", Some(10.0)),
    described(Row::ForkWrite, "fork-write", "fork, write, and drop it", "us", None),
    described(Row::Hash, "hash", "state hash after a write", "us", Some(200.0)),
    described(Row::Judge, "judge", "judge a solved episode", "us", None),
    described(Row::IdleMemory, "idle-memory", "memory of a live episode", "KB", Some(6.0)),
    described(Row::EditedMemory, "edited-memory", "memory of a live episode that was written to once", "KB", Some(30.0)),
    described(Row::HashedMemory, "hashed-memory", "the same, with its state hashed", "KB", None),
    described(Row::ForkMemory, "fork-memory", "memory of a fork that was written to once", "KB", Some(32.0)),
];

//! The acting side's transactions, as it believes them to be. Underneath there is one transaction that does not end: what the acting
//! side begins and sets are savepoints in it, and what it commits stays behind a savepoint that nobody goes back to, except a rewind.

/// A savepoint of the outer transaction. They are numbered as they are set, and no number is used twice.
pub(super) type Savepoint = u64;

/// Transaction state of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    pub(super) block: Option<Block>,
}

/// A transaction block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Where it began.
    pub(super) beginning: Savepoint,
    /// The time that it sees as now.
    pub(super) now_ms: i64,
    /// A statement failed: nothing is done until it is rolled back.
    pub(super) failed: bool,
    /// True if it may only read.
    pub(super) read_only: bool,
    /// Savepoints that were named in it, the latest last. A name may be there several times; the latest counts.
    pub(super) named: Vec<(String, Savepoint)>,
    /// Settings that it changed for itself, with what they were.
    pub(super) local: Vec<(String, String)>,
}

impl Transaction {
    /// The block, when statements in it fail without being looked at.
    pub(super) fn failed(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.failed)
    }

    /// True if statements may only read.
    pub(super) fn read_only(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.read_only)
    }

    /// Remembers that a statement failed.
    pub(super) fn fail(&mut self) {
        if let Some(block) = &mut self.block {
            block.failed = true;
        }
    }
}

impl Block {
    /// A block that begins here.
    pub(super) const fn new(beginning: Savepoint, now_ms: i64, read_only: bool) -> Self {
        Self { beginning, now_ms, failed: false, read_only, named: Vec::new(), local: Vec::new() }
    }

    /// Goes back to a savepoint by its name and forgets those after it: the savepoint, or `None` where there is none of this name.
    pub(super) fn go_back(&mut self, name: &str) -> Option<Savepoint> {
        let at = self.named.iter().rposition(|(known, _)| known == name)?;
        self.named.truncate(at + 1);
        self.failed = false;
        Some(self.named[at].1)
    }

    /// Forgets a savepoint and those after it; false where there is none of this name.
    pub(super) fn release(&mut self, name: &str) -> bool {
        let at = self.named.iter().rposition(|(known, _)| known == name);
        self.named.truncate(at.unwrap_or(self.named.len()));
        at.is_some()
    }
}

/// Savepoints that stand in the outer transaction, in the order in which they were set.
#[derive(Debug, Default)]
pub(super) struct Savepoints {
    points: Vec<Savepoint>,
    next: Savepoint,
}

impl Savepoints {
    /// A number for a savepoint that is about to be set.
    pub(super) const fn next(&mut self) -> Savepoint {
        self.next += 1;
        self.next
    }

    /// A savepoint was set.
    pub(super) fn set(&mut self, point: Savepoint) {
        self.points.push(point);
    }

    /// True if it stands.
    pub(super) fn stands(&self, point: Savepoint) -> bool {
        self.points.binary_search(&point).is_ok()
    }

    /// The outer transaction went back to one that stands: later ones are gone.
    pub(super) fn went_back(&mut self, point: Savepoint) {
        self.points.retain(|standing| *standing <= point);
    }

    /// The outer transaction ended: none stands.
    pub(super) fn clear(&mut self) {
        self.points.clear();
    }

    /// Their number.
    pub(super) fn count(&self) -> usize {
        self.points.len()
    }
}

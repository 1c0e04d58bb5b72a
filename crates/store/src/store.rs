//! The store itself: commits of the recorder, and the transactions that all other writes go through.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use super::engine::{Engine, Reader};
use super::row::NodeRow;
use super::statement::{Bulk, BulkRow, Statement};
use super::transaction::Transaction;
use super::{Durability, Groups, StoreError};

/// Sessions, steps, scores and all else that outlives the process. Reads are methods of [`Reader`], which this dereferences to.
pub struct Store {
    engine: Box<dyn Engine>,
    /// True when something was committed that the disk may not have yet.
    unflushed: AtomicBool,
}

impl Deref for Store {
    type Target = dyn Reader;

    fn deref(&self) -> &Self::Target {
        &*self.engine
    }
}

impl Store {
    pub(super) fn new(engine: Box<dyn Engine>) -> Self {
        // What an earlier process left behind may not have reached the disk either.
        Self { engine, unflushed: AtomicBool::new(true) }
    }

    /// The name of the engine: `sqlite` or `postgres`.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// Runs a query that reads no table.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.all(Statement::new("SELECT 1 AS alive", Vec::new()), |_| Ok(())).await.map(drop)
    }

    /// Commits groups of records in one transaction, in order: all of them or none.
    ///
    /// Called by one task at a time. A call whose future is dropped is rolled back, unless it was at its end already.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when `node` is not held by its incarnation any more, [`StoreError::Exists`] when a key is taken.
    pub async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError> {
        self.engine.commit(node, groups, durability).await?;
        self.unflushed.fetch_or(durability == Durability::Process, Ordering::AcqRel);
        Ok(())
    }

    /// Makes everything committed so far survive the loss of power.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn flush(&self) -> Result<(), StoreError> {
        // Cleared before the commit: what comes after it sets it again.
        if !self.unflushed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let mark = Statement::new("UPDATE marks SET written = written + 1 WHERE id = 1", Vec::new());
        let flushed = self.execute(mark, Durability::Disk).await.map(drop);
        if flushed.is_err() {
            self.unflushed.store(true, Ordering::Release);
        }
        flushed
    }

    /// Closes every connection; later calls fail.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    /// Begins a write transaction.
    pub(super) async fn begin(&self, durability: Durability) -> Result<Transaction<'_>, StoreError> {
        Ok(Transaction::new(self.engine.begin(durability).await?, durability, &self.unflushed))
    }

    /// Runs one statement in a transaction of its own; answers how many rows it changed.
    pub(super) async fn execute(&self, statement: Statement<'_>, durability: Durability) -> Result<u64, StoreError> {
        let mut transaction = self.begin(durability).await?;
        let done = transaction.execute(statement).await;
        transaction.settle(done).await
    }

    /// Runs one statement for many rows in a transaction of its own.
    pub(super) async fn bulk(
        &self,
        bulk: &Bulk,
        rows: &[BulkRow<'_>],
        durability: Durability,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin(durability).await?;
        let done = transaction.bulk(bulk, rows).await;
        transaction.settle(done).await
    }
}

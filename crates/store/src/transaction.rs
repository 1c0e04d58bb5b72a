//! Write transactions.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use super::engine::{EngineTransaction, Reader};
use super::statement::{Bulk, BulkRow, Statement};
use super::{Durability, StoreError};

/// A write transaction, which sees its own writes. Dropped without an end, it is rolled back.
///
/// Reads are methods of [`Reader`], which this dereferences to. The one that [`Store::lock_jobs`](crate::Store::lock_jobs) begins
/// holds the lock of the job queue until its end.
pub struct Transaction<'a> {
    engine: Box<dyn EngineTransaction>,
    durability: Durability,
    /// The flag of the store.
    unflushed: &'a AtomicBool,
}

impl Deref for Transaction<'_> {
    type Target = dyn Reader;

    fn deref(&self) -> &Self::Target {
        &*self.engine
    }
}

impl<'a> Transaction<'a> {
    pub(super) const fn new(
        engine: Box<dyn EngineTransaction>,
        durability: Durability,
        unflushed: &'a AtomicBool,
    ) -> Self {
        Self { engine, durability, unflushed }
    }

    /// Commits.
    ///
    /// # Errors
    /// When the engine fails; nothing is written then.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.engine.commit().await?;
        self.unflushed.fetch_or(self.durability == Durability::Process, Ordering::AcqRel);
        Ok(())
    }

    /// Rolls everything back.
    pub async fn rollback(self) {
        self.engine.rollback().await;
    }

    /// Commits, or rolls back after an error, which is answered.
    pub(super) async fn settle<T>(self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        match done {
            Ok(value) => self.commit().await.map(|()| value),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    /// Runs a statement; answers how many rows it changed.
    pub(super) async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        self.engine.execute(statement).await
    }

    /// Runs a statement for many rows; fails with [`StoreError::Exists`] when a key is taken.
    pub(super) async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
        self.engine.bulk(bulk, rows).await
    }

    /// Waits until no other transaction holds the lock of this name, and holds it until the end.
    pub(super) async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.engine.lock(name).await
    }
}

//! The store: the only package of the server with SQL. One [`Store`] over two engines, one conformance suite for both.
//!
//! A query is one method, in the file of its noun, with its SQL: reads are methods of `dyn` [`Reader`], which the store and its
//! transactions dereference to, and writes are methods of [`Store`] or [`Transaction`]. What the two databases do differently is
//! behind the traits of `engine.rs`.
//!
//! Sessions are written as [`Record`]s in groups that are committed whole or not at all, by the recorder alone. Jobs change in
//! transactions that hold the lock of the queue. Keys, definitions, runs and nodes have methods of their own.

pub mod clock;
pub mod row;

mod answer;
mod artifact;
mod blob;
mod cell;
mod commit;
#[cfg(test)]
mod conformance;
mod definition;
mod engine;
mod episode;
mod field;
mod file;
mod filter;
mod job;
mod job_event;
mod key;
mod migration;
mod model_call;
mod node;
mod policy;
mod postgres;
mod run;
mod session;
mod snapshot;
mod sqlite;
mod statement;
mod step;
mod store;
mod transaction;
mod upstream;
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;

pub use engine::Reader;
use postgres::PostgresEngine;
use row::Record;
use sqlite::SqliteEngine;
pub use store::Store;
pub use transaction::Transaction;

/// The name of a tenant, who owns data.
pub type Tenant = Arc<str>;

/// The location of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// In a file on this machine.
    Sqlite(PathBuf),
    /// In a PostgreSQL database: `postgres://user:password@host:port/database`.
    Postgres(String),
}

/// Opens a store and migrates it to the newest schema.
///
/// # Errors
/// When it cannot be reached, is no store, or was written by a newer version.
pub async fn open(target: &Target) -> Result<Arc<Store>, StoreError> {
    Ok(Arc::new(match target {
        Target::Sqlite(path) => Store::new(Box::new(SqliteEngine::open(path).await?)),
        Target::Postgres(url) => Store::new(Box::new(PostgresEngine::connect(url).await?)),
    }))
}

/// A failure of the store, or its refusal.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A row with this key exists.
    #[error("{0} exists already: choose another name")]
    Exists(&'static str),
    /// This process does not own its node any more: another incarnation took over.
    #[error("this node was taken over by another process: stop one of the two")]
    Fenced,
    /// The engine did not answer in time; the change may have been made all the same.
    #[error("the store did not answer within {0} ms: check that it runs, and its load")]
    TimedOut(u64),
    /// No server answers at the address.
    #[error(
        "no PostgreSQL answers at {address} ({detail}): check that it runs and listens there, that nothing between blocks \
         the connection, and host and port in the database URL"
    )]
    Unreachable {
        /// Host and port.
        address: String,
        /// The error of the connection.
        detail: String,
    },
    /// A value does not have the form that its column stores.
    #[error("stored data is broken, restore a backup: {0}")]
    Broken(String),
    /// The engine failed or could not be reached.
    #[error("the store failed, check that it runs and has free space: {0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A migration failed.
    #[error("a migration failed, restore a backup or use the version that wrote the store: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error.into())
    }
}

/// Groups of records on their way into the store, shared with the thread that writes them.
pub type Groups = Arc<[Vec<Record>]>;

/// The failure that a commit survives before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the end of this process; the disk follows within about a second.
    Process,
    /// Survives the loss of power.
    Disk,
}

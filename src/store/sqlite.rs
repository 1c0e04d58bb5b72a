//! SQLite, the embedded engine: one connection writes, a few read beside it (write-ahead log).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Row as _, Sqlite};

use super::cell::Cell;
use super::engine::{Bulk, BulkRow, Engine, Statement, Transaction, implement_transaction};
use super::field::broken;
use super::relational::Relational;
use super::{Durability, StoreError, migration};

/// A store in one file.
pub type SqliteStore = Relational<SqliteEngine>;

/// Readers beside the one writer.
const READ_CONNECTIONS: u32 = 4;
/// How long a statement waits for another process that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a caller waits for a connection; above the longest that one transaction may take.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(60);
/// Prepared statements kept per connection: every bulk statement in every size, and the rest.
const STATEMENTS_CACHED: usize = 256;
/// How many rows one bulk statement takes. Few sizes, so that the prepared statements are used again.
const BULK_ROWS: [usize; 5] = [256, 64, 16, 4, 1];

impl SqliteStore {
    /// Opens the file, makes it where there is none, and brings it to the newest form.
    ///
    /// # Errors
    /// When the file cannot be opened, is no database, or was written by a newer version.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .statement_cache_capacity(STATEMENTS_CACHED);
        let writer = pool(options.clone(), 1).await?;
        migration::sqlite().run(&writer).await?;
        let readers = pool(options.pragma("query_only", "on"), READ_CONNECTIONS).await?;
        Ok(Self::new(SqliteEngine { writer, readers }))
    }
}

async fn pool(options: SqliteConnectOptions, connections: u32) -> Result<SqlitePool, sqlx::Error> {
    use sqlx::ConnectOptions as _;
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // Local connections do not go stale, so neither age nor a test before each use makes sense.
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options.disable_statement_logging())
        .await
}

/// Connections to one file.
pub struct SqliteEngine {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Engine for SqliteEngine {
    const NAME: &'static str = "sqlite";
    // There is one writer at a time, so nothing can change beside it.
    const HOLD: &'static str = "";
    type Row = SqliteRow;
    type Transaction = SqliteTransaction;

    async fn read(&self, query: Statement<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        Ok(bind(query).fetch_all(&self.readers).await?)
    }

    async fn begin(&self, durability: Durability) -> Result<SqliteTransaction, StoreError> {
        let begin = match durability {
            Durability::Process => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
            // The whole log is synchronised, so this makes all earlier commits durable too.
            Durability::Disk => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
        };
        SqliteTransaction::begin(&self.writer, begin).await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

implement_transaction!(SqliteTransaction, Sqlite, SqliteRow);

impl SqliteTransaction {
    async fn bulk_rows(&mut self, bulk: &Bulk, mut rows: &[BulkRow<'_>]) -> Result<(), sqlx::Error> {
        for size in BULK_ROWS {
            if rows.len() < size {
                continue;
            }
            let sql: Arc<str> = bulk.sql(&values(bulk, size)).into();
            while rows.len() >= size {
                let (now, later) = rows.split_at(size);
                let query = sqlx::query(AssertSqlSafe(Arc::clone(&sql)));
                let query = now.iter().flatten().fold(query, |query, cell| bind_cell(query, cell.clone()));
                query.execute(&mut *self.connection).await?;
                rows = later;
            }
        }
        Ok(())
    }

    // Being the one writer is the only lock there is.
    #[expect(clippy::unused_async, reason = "the other engine waits here")]
    async fn take_lock(&mut self, _name: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// `size` rows of values as a table `r`.
fn values(bulk: &Bulk, size: usize) -> String {
    let width = bulk.columns.len();
    let names: Vec<String> =
        bulk.columns.iter().enumerate().map(|(place, (name, _))| format!("column{} AS {name}", place + 1)).collect();
    let rows: Vec<String> = (0..size)
        .map(|row| {
            let values: Vec<String> = (1..=width).map(|place| format!("${}", row * width + place)).collect();
            format!("({})", values.join(","))
        })
        .collect();
    format!("(SELECT {} FROM (VALUES {})) AS r", names.join(", "), rows.join(","))
}

type SqliteQuery = Query<'static, Sqlite, SqliteArguments>;

fn bind(statement: Statement<'_>) -> SqliteQuery {
    statement.cells.into_iter().fold(sqlx::query(statement.sql), bind_cell)
}

fn bind_cell(query: SqliteQuery, cell: Cell<'_>) -> SqliteQuery {
    match cell {
        Cell::Text(text) => query.bind(text.map(std::borrow::Cow::into_owned)),
        Cell::Integer(number) => query.bind(number),
        Cell::Real(number) => query.bind(number),
        Cell::Boolean(flag) => query.bind(flag),
        Cell::Bytes(bytes) => query.bind(bytes.to_vec()),
    }
}

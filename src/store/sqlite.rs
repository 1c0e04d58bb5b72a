//! SQLite, the embedded engine: one connection writes, a few read beside it (write-ahead log).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Row as _, Sqlite};

use super::engine::{Bulk, BulkRow, Engine, Statement, Transaction, check_width, exists, implement_transaction};
use super::field::broken;
use super::relational::Relational;
use super::row::NodeRow;
use super::{Durability, StoreError, migration, node};

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
/// Pages kept in memory per connection, in KiB. The default of 2 MiB makes every commit of many sessions read pages again.
const CACHE_KIB: u32 = 32 * 1024;
/// Pages of 4 KiB in the log after which a commit moves them into the file.
const CHECKPOINT_PAGES: u32 = 4_000;
/// What is kept of the log's file after a burst, in bytes.
const LOG_BYTES_KEPT: u64 = 64 * 1024 * 1024;
/// How many rows one bulk statement takes at most. It takes a power of two, so that few prepared statements serve all.
const BULK_ROWS_MAX: usize = 256;

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
            // As [`Waits::INITIAL`] says.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .statement_cache_capacity(STATEMENTS_CACHED)
            .pragma("temp_store", "MEMORY")
            .pragma("cache_size", format!("-{CACHE_KIB}"))
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string())
            .pragma("journal_size_limit", LOG_BYTES_KEPT.to_string());
        let waits = Waits(Arc::new(AtomicBool::new(true)));
        let opened = waits.clone();
        let writers = SqlitePoolOptions::new().after_connect(move |_, _| {
            opened.swap(Waits::INITIAL);
            Box::pin(std::future::ready(Ok(())))
        });
        let writer = pool(writers, options.clone(), 1).await?;
        migration::sqlite().run(&writer).await?;
        let readers = pool(SqlitePoolOptions::new(), options.pragma("query_only", "on"), READ_CONNECTIONS).await?;
        Ok(Self::new(SqliteEngine { writer, readers, waits }))
    }
}

async fn pool(
    pool: SqlitePoolOptions,
    options: SqliteConnectOptions,
    connections: u32,
) -> Result<SqlitePool, sqlx::Error> {
    use sqlx::ConnectOptions as _;
    pool.max_connections(connections)
        .min_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // Local connections do not go stale, so neither age nor a test before each use makes sense.
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options.disable_statement_logging())
        .await
}

/// What the commits of the one connection that writes wait for as it is set now. Only who holds the connection changes it, and
/// where setting it fails the connection is closed.
#[derive(Clone)]
struct Waits(Arc<AtomicBool>);

impl Waits {
    /// As connections are opened.
    const INITIAL: Durability = Durability::Disk;

    fn swap(&self, durability: Durability) -> Durability {
        let for_disk = self.0.swap(durability == Durability::Disk, Ordering::Relaxed);
        if for_disk { Durability::Disk } else { Durability::Process }
    }
}

/// Connections to one file.
pub struct SqliteEngine {
    writer: SqlitePool,
    readers: SqlitePool,
    waits: Waits,
}

impl Engine for SqliteEngine {
    const NAME: &'static str = "sqlite";
    type Row = SqliteRow;
    type Transaction = SqliteTransaction;

    async fn read(&self, query: Statement<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        Ok(bind(query).fetch_all(&self.readers).await?)
    }

    async fn begin(&self, durability: Durability) -> Result<SqliteTransaction, StoreError> {
        let mut transaction = self.ready(durability).await?;
        transaction.script("BEGIN IMMEDIATE").await?;
        Ok(transaction)
    }

    async fn begin_as(&self, node: &NodeRow, durability: Durability) -> Result<(SqliteTransaction, bool), StoreError> {
        // There is one writer at a time, so nothing can change beside it. Both in one go: each is a way to another thread
        // and back, which costs more than what is done there.
        let held = "BEGIN IMMEDIATE; SELECT 1 AS held FROM nodes WHERE id = $1 AND incarnation = $2";
        let mut transaction = self.ready(durability).await?;
        let rows = transaction.fetch(node::held(held, node)).await?;
        Ok((transaction, !rows.is_empty()))
    }

    async fn insert_as(
        &self,
        node: &NodeRow,
        bulk: &Bulk,
        rows: &[BulkRow<'_>],
        durability: Durability,
    ) -> Result<Option<bool>, StoreError> {
        if rows.len() > BULK_ROWS_MAX {
            return Ok(None);
        }
        check_width(bulk, rows)?;
        // One statement is a transaction by itself, and so takes but one way to the thread of the connection and back.
        let mut transaction = self.ready(durability).await?;
        let inserted = transaction.insert_as(node, bulk, rows).await;
        transaction.settled = inserted.is_ok();
        inserted.map(|inserted| Some(inserted > 0)).map_err(exists(bulk.what))
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

impl SqliteEngine {
    /// The connection that writes, with its commits waiting for what is asked.
    async fn ready(&self, durability: Durability) -> Result<SqliteTransaction, StoreError> {
        let mut transaction = SqliteTransaction::on(&self.writer).await?;
        if self.waits.swap(durability) != durability {
            let level = match durability {
                Durability::Process => "PRAGMA synchronous = NORMAL",
                // The whole log is synchronised, so this makes all earlier commits durable too.
                Durability::Disk => "PRAGMA synchronous = FULL",
            };
            // Takes effect when it is prepared, so it is never one that was prepared before.
            sqlx::raw_sql(level).execute(&mut *transaction.connection).await?;
        }
        Ok(transaction)
    }
}

implement_transaction!(SqliteTransaction, Sqlite, SqliteRow);

impl SqliteTransaction {
    /// Prepared once per connection.
    async fn script(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(sql).execute(&mut *self.connection).await.map(drop)
    }

    async fn bulk_rows(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), sqlx::Error> {
        for rows in rows.chunks(BULK_ROWS_MAX) {
            // Rows without values stay empty, and empty rows change nothing.
            let size = rows.len().next_power_of_two();
            let sql = bulk.sql((SqliteEngine::NAME, size), |bulk| text(bulk, size));
            bind_rows(sqlx::query(AssertSqlSafe(sql)), rows).execute(&mut *self.connection).await?;
        }
        Ok(())
    }

    /// Inserts rows if the node is held; answers how many.
    async fn insert_as(&mut self, node: &NodeRow, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<u64, sqlx::Error> {
        let size = rows.len().next_power_of_two();
        let sql = bulk.sql((HELD, size), |bulk| format!("{}{HELD}{}{}", bulk.before, values(bulk, size), bulk.after));
        let query = sqlx::query(AssertSqlSafe(sql)).bind(node.id.clone()).bind(node.incarnation.clone());
        Ok(bind_rows(query, rows).execute(&mut *self.connection).await?.rows_affected())
    }

    // Being the one writer is the only lock there is.
    #[expect(clippy::unused_async, reason = "the other engine waits here")]
    async fn take_lock(&mut self, _name: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Comes before the rows of a statement that does nothing unless a node is held by its incarnation.
const HELD: &str = "(SELECT 1 FROM nodes WHERE id = ? AND incarnation = ?) AS held CROSS JOIN ";

fn bind_rows(query: BoundQuery, rows: &[BulkRow<'_>]) -> BoundQuery {
    rows.iter().flatten().fold(query, |query, cell| bind_cell(query, cell.clone()))
}

/// A statement over `size` rows.
fn text(bulk: &Bulk, size: usize) -> String {
    // Where a statement fails the whole transaction is undone, so what it changed need not be kept to undo it alone.
    let before = bulk.before.replacen("INSERT INTO", "INSERT OR FAIL INTO", 1);
    format!("{before}{}{}", values(bulk, size), bulk.after)
}

/// `size` rows of values as a table `r`. The parameters have no names: each value is bound by a search through all names
/// there are, which made binding the better half of a commit's time.
fn values(bulk: &Bulk, size: usize) -> String {
    let names: Vec<String> =
        bulk.columns.iter().enumerate().map(|(place, (name, _))| format!("column{} AS {name}", place + 1)).collect();
    let row = format!("({})", vec!["?"; bulk.columns.len()].join(","));
    format!("(SELECT {} FROM (VALUES {})) AS r", names.join(", "), vec![row; size].join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::store::Store as _;
    use crate::store::row::{NodeRow, Record};

    async fn store() -> (tempfile::TempDir, SqliteStore, NodeRow) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = SqliteStore::open(&folder.path().join("palestra.db")).await.expect("a fresh store opens");
        let node = NodeRow { id: "node-1".to_owned(), incarnation: "first".to_owned() };
        store.claim_node(&node).await.expect("the node is free");
        (folder, store, node)
    }

    fn state(digest: &str, bytes: usize) -> Record {
        Record::State { digest: digest.to_owned(), state: Value::String("x".repeat(bytes)) }
    }

    /// Runs a statement on the file, past the store.
    async fn meddle(folder: &tempfile::TempDir, sql: &'static str) {
        use sqlx::Connection as _;
        let options = SqliteConnectOptions::new().filename(folder.path().join("palestra.db"));
        let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("the file opens");
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("the statement runs");
        connection.close().await.expect("the connection closes");
    }

    #[tokio::test]
    async fn a_full_disk_undoes_the_commit_and_nothing_else() {
        let (_folder, store, node) = store().await;
        let writer = &store.inner().writer;
        sqlx::raw_sql("PRAGMA max_page_count = 64").execute(writer).await.expect("a limit can be set");
        let groups = [vec![state("small", 10)], vec![state("large", 4_000_000)]];
        let groups = groups.iter().map(Vec::as_slice).collect::<Vec<_>>();
        let full = store.commit(&node, &groups, Durability::Process).await;
        assert!(matches!(full, Err(StoreError::Engine(_))), "{full:?}");
        assert_eq!(store.state("small").await.expect("a query"), None);
        store.commit(&node, &groups[..1], Durability::Disk).await.expect("what fits is stored");
        assert!(store.state("small").await.expect("a query").is_some());
    }

    #[tokio::test]
    async fn a_commit_waits_for_what_it_says() {
        let (_folder, store, _node) = store().await;
        for (durability, level) in [(Durability::Process, 1), (Durability::Disk, 2), (Durability::Process, 1)] {
            let mut transaction = store.inner().begin(durability).await.expect("a transaction");
            let rows = transaction.fetch(Statement::new("PRAGMA synchronous", Vec::new())).await.expect("a row");
            assert_eq!(rows[0].get::<i64, _>(0), level);
            transaction.rollback().await;
        }
    }

    #[tokio::test]
    async fn broken_data_is_an_error() {
        let (folder, store, node) = store().await;
        store.commit(&node, &[&[state("a", 1)]], Durability::Process).await.expect("it is new");
        meddle(&folder, "UPDATE states SET state = '{'").await;
        let broken = store.state("a").await;
        assert!(matches!(broken, Err(StoreError::Broken(_))), "{broken:?}");
        meddle(&folder, "UPDATE states SET state = x'ff00'").await;
        let broken = store.state("a").await;
        assert!(matches!(broken, Err(StoreError::Broken(_))), "{broken:?}");
    }

    #[tokio::test]
    async fn a_file_that_is_no_store_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("palestra.db");
        std::fs::write(&path, "this is no database, but it is long enough to be read as one".repeat(99))
            .expect("written");
        assert!(matches!(SqliteStore::open(&path).await, Err(StoreError::Engine(_))));
        assert!(matches!(SqliteStore::open(&folder.path().join("no/such")).await, Err(StoreError::Engine(_))));
    }

    #[tokio::test]
    async fn a_newer_store_is_refused() {
        let (folder, store, _node) = store().await;
        store.close().await;
        meddle(
            &folder,
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (999, 'from the future', TRUE, x'00', 0)",
        )
        .await;
        let newer = SqliteStore::open(&folder.path().join("palestra.db")).await;
        assert!(matches!(newer, Err(StoreError::Migration(_))));
    }

    #[tokio::test]
    async fn changes_of_many_rows_look_rows_up_by_key() {
        let (_folder, store, _node) = store().await;
        let writer = &store.inner().writer;
        for (sql, table) in [
            ("UPDATE episodes SET seq = r.seq FROM {} WHERE episodes.id = r.episode", "episodes"),
            ("DELETE FROM intents WHERE (episode, seq) IN (SELECT r.episode, r.seq FROM {})", "intents"),
        ] {
            let rows = "(SELECT column1 AS episode, column2 AS seq FROM (VALUES ('a', 1), ('b', 2))) AS r";
            let plan = format!("EXPLAIN QUERY PLAN {}", sql.replace("{}", rows));
            let plan = sqlx::query(AssertSqlSafe(plan)).fetch_all(writer).await.expect("a plan");
            let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
            assert!(!plan.contains(&format!("SCAN {table}")), "{plan:?}");
        }
    }
}

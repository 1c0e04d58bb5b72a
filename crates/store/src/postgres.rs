//! PostgreSQL, the engine for production.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Postgres, Row as _};
use tokio::sync::Mutex;

use super::cell::{Cell, Kind};
use super::commit::Batch;
use super::engine::{Engine, EngineTransaction, Reader, StepOrder, Visit, implement_driver};
use super::field::broken;
use super::row::NodeRow;
use super::statement::{Bulk, BulkRow, Form, Statement, check_width};
use super::{Durability, Groups, StoreError, migration, node};

const READ_CONNECTIONS: u32 = 8;
/// The recorder commits on one; the others serve definitions, keys, runs and nodes.
const WRITE_CONNECTIONS: u32 = 4;
/// Longest wait for a connection, a reconnection after the server restarted included.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// A transaction whose process hangs must not hold the row of the node for ever.
const IDLE_IN_TRANSACTION_MS: &str = "15000";
/// Longest wait of a statement for the locks of other transactions: longer than one that hangs may stay idle.
const LOCK_TIMEOUT_MS: &str = "20000";
/// Rows of one bulk statement; bounds the memory of its arrays.
const BULK_ROWS: usize = 4096;

/// Connections to one database.
pub(super) struct PostgresEngine {
    writers: PgPool,
    readers: PgPool,
}

impl PostgresEngine {
    /// Connects to `postgres://user:password@host:port/database` and migrates the database to the newest schema.
    ///
    /// # Errors
    /// When the URL is malformed, the server cannot be reached, or the database was written by a newer version.
    pub(super) async fn connect(url: &str) -> Result<Self, StoreError> {
        use sqlx::ConnectOptions as _;
        let options = PgConnectOptions::from_str(url)?
            .application_name("palestra")
            .options([
                ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MS),
                ("lock_timeout", LOCK_TIMEOUT_MS),
            ])
            .disable_statement_logging();
        let address = format!("{}:{}", options.get_host(), options.get_port());
        let first = pool(options.clone(), WRITE_CONNECTIONS).await;
        let writers = first.map_err(|error| unreachable_at(&address, error))?;
        migration::postgres().run(&writers).await?;
        let readers = pool(options, READ_CONNECTIONS).await?;
        Ok(Self { writers, readers })
    }

    async fn open(&self, durability: Durability) -> Result<PostgresTransaction, StoreError> {
        let begin = match durability {
            Durability::Process => "BEGIN; SET LOCAL synchronous_commit = off",
            // The log is written in order, so this makes all earlier commits durable too.
            Durability::Disk => "BEGIN; SET LOCAL synchronous_commit = on",
        };
        let connection = Mutex::new(self.writers.acquire().await?);
        let mut transaction = PostgresTransaction { connection, settled: false };
        transaction.script(begin).await?;
        Ok(transaction)
    }
}

/// The error of a connection, with the address if no server answered.
fn unreachable_at(address: &str, error: sqlx::Error) -> StoreError {
    let detail = match &error {
        // Refused connections are tried again until the time is over.
        sqlx::Error::PoolTimedOut => format!("no connection within {} s", ACQUIRE_TIMEOUT.as_secs()),
        sqlx::Error::Io(error) => error.to_string(),
        _ => return error.into(),
    };
    StoreError::Unreachable { address: address.to_owned(), detail }
}

async fn pool(options: PgConnectOptions, connections: u32) -> Result<PgPool, sqlx::Error> {
    PgPoolOptions::new().max_connections(connections).acquire_timeout(ACQUIRE_TIMEOUT).connect_with(options).await
}

#[async_trait]
impl Reader for PostgresEngine {
    fn step_order(&self) -> StepOrder {
        StepOrder::ByEpisode
    }

    async fn fetch(&self, query: Statement<'_>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let rows = bind(query).fetch_all(&self.readers).await?;
        rows.iter().try_for_each(|row| visit(row))
    }
}

#[async_trait]
impl Engine for PostgresEngine {
    fn name(&self) -> &'static str {
        "postgres"
    }

    async fn begin(&self, durability: Durability) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(Box::new(self.open(durability).await?))
    }

    async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError> {
        // Complete before the transaction begins, so that a value that cannot be stored is found while no lock is held.
        let batch = Batch::sort(groups)?;
        let mut transaction = self.open(durability).await?;
        let written = transaction.write_fenced(node, &batch).await;
        transaction.end(written).await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

implement_driver!(Postgres, PgRow);

/// A write transaction. One that is dropped half way closes its connection, which rolls it back: a connection whose transaction
/// failed is never used again unless the server confirmed the rollback.
struct PostgresTransaction {
    /// In a mutex because reads borrow the transaction shared, as they do the pool.
    connection: Mutex<PoolConnection<Postgres>>,
    settled: bool,
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        if !self.settled {
            self.connection.get_mut().close_on_drop();
        }
    }
}

impl PostgresTransaction {
    async fn script(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut **self.connection.get_mut()).await.map(drop)
    }

    /// Writes a batch, if the node is held by its incarnation.
    async fn write_fenced(&mut self, node: &NodeRow, batch: &Batch<'_>) -> Result<(), StoreError> {
        let connection = &mut **self.connection.get_mut();
        // Shared, so that the row cannot change until the transaction ends.
        let held = "SELECT 1 AS held FROM nodes WHERE id = $1 AND incarnation = $2 FOR SHARE";
        if bind(node::held(held, node)).fetch_optional(&mut *connection).await?.is_none() {
            return Err(StoreError::Fenced);
        }
        for (bulk, rows) in batch.statements() {
            run_bulk(connection, bulk, rows).await?;
        }
        Ok(())
    }

    /// Commits, or rolls back after an error, which is answered.
    async fn end(mut self, done: Result<(), StoreError>) -> Result<(), StoreError> {
        if done.is_err() {
            self.settled = self.script("ROLLBACK").await.is_ok();
            return done;
        }
        self.script("COMMIT").await?;
        self.settled = true;
        Ok(())
    }
}

#[async_trait]
impl Reader for PostgresTransaction {
    fn step_order(&self) -> StepOrder {
        StepOrder::ByEpisode
    }

    async fn fetch(&self, query: Statement<'_>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let rows = bind(query).fetch_all(&mut **self.connection.lock().await).await?;
        rows.iter().try_for_each(|row| visit(row))
    }
}

#[async_trait]
impl EngineTransaction for PostgresTransaction {
    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        Ok(bind(statement).execute(&mut **self.connection.get_mut()).await?.rows_affected())
    }

    async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
        run_bulk(self.connection.get_mut(), bulk, rows).await
    }

    async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        let sql = "SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) AS taken";
        self.execute(Statement::new(sql, vec![super::cell::text(name)])).await.map(drop)
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.end(Ok(())).await
    }

    async fn rollback(self: Box<Self>) {
        // The answer is the error that is passed.
        let _error = self.end(Err(StoreError::Fenced)).await;
    }
}

async fn run_bulk(connection: &mut PgConnection, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
    check_width(bulk, rows)?;
    let sql: Arc<str> = text(bulk).into();
    for rows in rows.chunks(BULK_ROWS) {
        let query = sqlx::query(AssertSqlSafe(Arc::clone(&sql)));
        let query =
            (0..bulk.columns.len()).fold(query, |query, index| bind_column(query, bulk.columns[index].1, index, rows));
        query.execute(&mut *connection).await.map_err(|error| match error.as_database_error() {
            Some(database) if database.is_unique_violation() => StoreError::Exists(bulk.what),
            _ => error.into(),
        })?;
    }
    Ok(())
}

/// A statement over many rows.
fn text(bulk: &Bulk) -> String {
    let names = bulk.names();
    match bulk.form {
        Form::Insert { table, conflict } => {
            format!("INSERT INTO {table} ({names}) SELECT {names} FROM {} {conflict}", arrays(bulk))
        }
        Form::Change { before, after } => format!("{before}{}{after}", arrays(bulk)),
    }
}

/// One array per column, unnested to a table `r`.
fn arrays(bulk: &Bulk) -> String {
    let arrays: Vec<String> = bulk
        .columns
        .iter()
        .enumerate()
        .map(|(index, (_, kind))| format!("${}::{}[]", index + 1, type_name(*kind)))
        .collect();
    format!("UNNEST({}) AS r ({})", arrays.join(", "), bulk.names())
}

const fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Integer => "bigint",
        Kind::Real => "double precision",
        Kind::Boolean => "boolean",
        Kind::Bytes => "bytea",
    }
}

/// Binds the cells at `index` of all rows as one array. Cells of another kind than the column's were refused before.
fn bind_column(query: BoundQuery, kind: Kind, index: usize, rows: &[BulkRow<'_>]) -> BoundQuery {
    let cells = rows.iter().map(|row| &row[index]);
    macro_rules! column {
        ($pattern:pat => $value:expr) => {
            cells.filter_map(|cell| if let $pattern = cell { Some($value) } else { None }).collect::<Vec<_>>()
        };
    }
    match kind {
        Kind::Text => query.bind(column!(Cell::Text(text) => text.as_deref())),
        Kind::Integer => query.bind(column!(Cell::Integer(number) => *number)),
        Kind::Real => query.bind(column!(Cell::Real(number) => *number)),
        Kind::Boolean => query.bind(column!(Cell::Boolean(flag) => *flag)),
        Kind::Bytes => query.bind(column!(Cell::Bytes(bytes) => bytes.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Target, open};
    use palestra_test_support::postgres::Database;

    #[tokio::test]
    async fn a_lost_server_is_found_again() {
        let Some(database) = Database::create().await else { return };
        let store = open(&Target::Postgres(database.url())).await.expect("a fresh store opens");
        database.disconnect_all().await;
        store.ping().await.expect("readers connect again");
        store.flush().await.expect("writers connect again");
        store.close().await;
        database.remove().await;
    }

    #[tokio::test]
    async fn a_commit_waits_for_what_it_says() {
        let Some(database) = Database::create().await else { return };
        let store = open(&Target::Postgres(database.url())).await.expect("a fresh store opens");
        for (durability, level) in [(Durability::Process, "off"), (Durability::Disk, "on")] {
            let transaction = store.begin(durability).await.expect("a transaction");
            let query = Statement::new("SELECT current_setting('synchronous_commit') AS level", Vec::new());
            let found = transaction.one(query, |row| row.text("level")).await.expect("a row");
            assert_eq!(found.as_deref(), Some(level));
            transaction.commit().await.expect("it ends");
        }
        store.close().await;
        database.remove().await;
    }

    #[tokio::test]
    async fn two_processes_may_open_a_fresh_database_at_once() {
        let Some(database) = Database::create().await else { return };
        let url = database.url();
        let (first, second) = tokio::join!(PostgresEngine::connect(&url), PostgresEngine::connect(&url));
        let (first, second) = (first.expect("one of them migrates"), second.expect("the other one waits"));
        tokio::join!(first.close(), second.close());
        database.remove().await;
    }

    #[test]
    fn a_server_that_is_not_there_is_named_without_its_password() {
        let error = unreachable_at("db.example:5432", sqlx::Error::PoolTimedOut).to_string();
        assert!(error.contains("db.example:5432") && error.contains("database URL"), "{error}");
        let refused = sqlx::Error::Protocol("refused".to_owned());
        assert!(matches!(unreachable_at("db.example:5432", refused), StoreError::Engine(_)));
    }

    #[tokio::test]
    async fn a_database_that_is_not_there_is_an_error() {
        assert!(matches!(PostgresEngine::connect("no url").await, Err(StoreError::Engine(_))));
        let Some(database) = Database::create().await else { return };
        let missing = format!("{}_missing", database.url());
        assert!(matches!(PostgresEngine::connect(&missing).await, Err(StoreError::Engine(_))));
        database.remove().await;
    }
}

//! PostgreSQL, the engine for production.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Postgres, Row as _};

use super::cell::{Cell, Kind};
use super::commit::Batch;
use super::engine::{Bulk, BulkRow, Engine, Form, Statement, StepOrder, Transaction, check_width, implement_driver};
use super::field::broken;
use super::relational::Relational;
use super::row::NodeRow;
use super::{Durability, Groups, StoreError, migration, node};

/// A store in a PostgreSQL database.
pub type PostgresStore = Relational<PostgresEngine>;

const READ_CONNECTIONS: u32 = 8;
/// The recorder commits on one; the others serve definitions, keys, runs and nodes.
const WRITE_CONNECTIONS: u32 = 4;
/// How long a caller waits for a connection, a reconnection after the server restarted included.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// A transaction whose process hangs must not hold the node's row for ever.
const IDLE_IN_TRANSACTION_MS: &str = "15000";
/// How long a statement waits for another transaction's locks: until after a hanging one was ended.
const LOCK_TIMEOUT_MS: &str = "20000";
/// Rows of one bulk statement; bounds the memory of its arrays.
const BULK_ROWS: usize = 4096;

impl PostgresStore {
    /// Connects to `postgres://user:password@host:port/database` and brings the database to the newest form.
    ///
    /// # Errors
    /// When the URL is no such URL, the server cannot be reached, or the database was written by a newer version.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
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
        Ok(Self::new(PostgresEngine { writers, readers }))
    }
}

/// The same error, with the address where it says that nobody answered.
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

/// Connections to one database.
pub struct PostgresEngine {
    writers: PgPool,
    readers: PgPool,
}

impl Engine for PostgresEngine {
    const NAME: &'static str = "postgres";
    type Row = PgRow;
    type Transaction = PostgresTransaction;
    const STEPS: StepOrder = StepOrder::ByEpisode;

    async fn read(&self, query: Statement<'_>) -> Result<Vec<PgRow>, StoreError> {
        Ok(bind(query).fetch_all(&self.readers).await?)
    }

    async fn begin(&self, durability: Durability) -> Result<PostgresTransaction, StoreError> {
        let begin = match durability {
            Durability::Process => "BEGIN; SET LOCAL synchronous_commit = off",
            // The log is written in order, so this makes all earlier commits durable too.
            Durability::Disk => "BEGIN; SET LOCAL synchronous_commit = on",
        };
        let mut transaction = PostgresTransaction { connection: self.writers.acquire().await?, settled: false };
        transaction.script(begin).await?;
        Ok(transaction)
    }

    async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError> {
        // Complete before the transaction begins, so that a value that cannot be stored is found while nothing is held.
        let batch = Batch::sort(groups)?;
        let mut transaction = self.begin(durability).await?;
        let written = transaction.write_as(node, &batch).await;
        transaction.end(written).await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

implement_driver!(Postgres, PgRow);

/// A write transaction. One that is dropped half way closes its connection, which undoes it: a connection whose transaction
/// failed is never used again unless it said that it was rolled back.
pub(super) struct PostgresTransaction {
    connection: PoolConnection<Postgres>,
    settled: bool,
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        if !self.settled {
            self.connection.close_on_drop();
        }
    }
}

impl PostgresTransaction {
    async fn script(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut *self.connection).await.map(drop)
    }

    /// Writes a batch, if the node is held by its incarnation.
    async fn write_as(&mut self, node: &NodeRow, batch: &Batch<'_>) -> Result<(), StoreError> {
        // Shared, so that the row cannot change until the transaction ends.
        let held = "SELECT 1 AS held FROM nodes WHERE id = $1 AND incarnation = $2 FOR SHARE";
        if self.fetch(node::held(held, node)).await?.is_empty() {
            return Err(StoreError::Fenced);
        }
        for (bulk, rows) in batch.statements() {
            self.bulk(bulk, rows).await?;
        }
        Ok(())
    }
}

impl Transaction for PostgresTransaction {
    type Row = PgRow;

    async fn fetch(&mut self, query: Statement<'_>) -> Result<Vec<PgRow>, StoreError> {
        Ok(bind(query).fetch_all(&mut *self.connection).await?)
    }

    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        Ok(bind(statement).execute(&mut *self.connection).await?.rows_affected())
    }

    async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
        check_width(bulk, rows)?;
        let sql: Arc<str> = text(bulk).into();
        for rows in rows.chunks(BULK_ROWS) {
            let query = sqlx::query(AssertSqlSafe(Arc::clone(&sql)));
            let query = (0..bulk.columns.len())
                .fold(query, |query, place| bind_column(query, bulk.columns[place].1, place, rows));
            query.execute(&mut *self.connection).await.map_err(|error| match error.as_database_error() {
                Some(database) if database.is_unique_violation() => StoreError::Exists(bulk.what),
                _ => error.into(),
            })?;
        }
        Ok(())
    }

    async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        let sql = "SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) AS taken";
        self.fetch(Statement::new(sql, vec![super::cell::text(name)])).await.map(drop)
    }

    async fn end<T: Send>(mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if done.is_err() {
            self.settled = self.script("ROLLBACK").await.is_ok();
            return done;
        }
        self.script("COMMIT").await?;
        self.settled = true;
        done
    }
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
        .map(|(place, (_, kind))| format!("${}::{}[]", place + 1, type_name(*kind)))
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

/// Binds the cells at `place` of all rows as one array. Cells of another kind than the column's were refused before.
fn bind_column(query: BoundQuery, kind: Kind, place: usize, rows: &[BulkRow<'_>]) -> BoundQuery {
    let cells = rows.iter().map(|row| &row[place]);
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
    use crate::Store as _;
    use palestra_test_support::postgres::Database;

    #[tokio::test]
    async fn a_lost_server_is_found_again() {
        let Some(database) = Database::create().await else { return };
        let store = PostgresStore::connect(&database.url()).await.expect("a fresh store opens");
        database.disconnect_all().await;
        store.ping().await.expect("readers connect again");
        store.flush().await.expect("writers connect again");
        store.close().await;
        database.remove().await;
    }

    #[tokio::test]
    async fn a_commit_waits_for_what_it_says() {
        let Some(database) = Database::create().await else { return };
        let store = PostgresStore::connect(&database.url()).await.expect("a fresh store opens");
        for (durability, level) in [(Durability::Process, "off"), (Durability::Disk, "on")] {
            let mut transaction = store.inner().begin(durability).await.expect("a transaction");
            let query = Statement::new("SELECT current_setting('synchronous_commit') AS level", Vec::new());
            let rows = transaction.fetch(query).await.expect("a row");
            assert_eq!(rows[0].get::<String, _>("level"), level);
            transaction.end(Ok(())).await.expect("it ends");
        }
        store.close().await;
        database.remove().await;
    }

    #[tokio::test]
    async fn two_processes_may_open_a_fresh_database_at_once() {
        let Some(database) = Database::create().await else { return };
        let url = database.url();
        let (first, second) = tokio::join!(PostgresStore::connect(&url), PostgresStore::connect(&url));
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
        assert!(matches!(PostgresStore::connect("no url").await, Err(StoreError::Engine(_))));
        let Some(database) = Database::create().await else { return };
        let missing = format!("{}_missing", database.url());
        assert!(matches!(PostgresStore::connect(&missing).await, Err(StoreError::Engine(_))));
        database.remove().await;
    }
}

//! The one connection that writes, on a thread of its own. SQLite's calls block, and a round trip to another thread costs more than
//! most statements: so a commit is one task there, in which each row is one run of a prepared statement.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use async_trait::async_trait;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql, ffi};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use super::{BUSY_TIMEOUT, CACHE_KIB};
use crate::cell::Cell;
use crate::commit::Batch;
use crate::engine::{EngineTransaction, Reader, StepOrder, Visit};
use crate::field::{Fields, broken};
use crate::row::NodeRow;
use crate::statement::{Bulk, BulkRow, Form, Statement, check_width};
use crate::{Durability, Groups, StoreError, node};

/// Prepared statements that are kept: every kind of row, and the rest.
const STATEMENTS_CACHED: usize = 64;
/// Pages of 4 KiB in the log after which a commit moves them into the file.
const CHECKPOINT_PAGES: u32 = 4_000;
/// Bytes to which the log's file is truncated after a burst.
const LOG_BYTES_KEPT: u64 = 64 * 1024 * 1024;

/// Work for the thread.
type Task = Box<dyn FnOnce(&mut WriteConnection) + Send>;

/// A handle to the thread. One caller at a time uses it, in order of arrival.
pub(super) struct Writer(Arc<Mutex<Option<Thread>>>);

struct Thread {
    tasks: Sender<Task>,
    handle: JoinHandle<()>,
}

impl Writer {
    /// Opens a file that exists.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let connection = WriteConnection { connection: connect(path)?, durability: WriteConnection::INITIAL };
        let (tasks, received) = channel();
        let thread = std::thread::Builder::new().name("sqlite".to_owned());
        let handle =
            thread.spawn(move || connection.work(&received)).map_err(|error| StoreError::Engine(error.into()))?;
        Ok(Self(Arc::new(Mutex::new(Some(Thread { tasks, handle })))))
    }

    /// Commits groups of records, if the node is held by its incarnation.
    pub(super) async fn commit(&self, node: NodeRow, groups: Groups, durability: Durability) -> Result<(), StoreError> {
        let work = move |connection: &mut WriteConnection, is_cancelled: &dyn Fn() -> bool| {
            // Complete before the transaction begins, so that a value that cannot be stored is found while no lock is held.
            let batch = Batch::sort(&groups)?;
            connection.begin(durability)?;
            let written = connection.write_fenced(&node, &batch);
            connection.end(if is_cancelled() { Err(closed()) } else { written })
        };
        self.lock().await.run(work).await
    }

    /// Begins a transaction of several tasks.
    pub(super) async fn begin(&self, durability: Durability) -> Result<SqliteTransaction, StoreError> {
        let transaction = SqliteTransaction { thread: self.lock().await, settled: false };
        transaction.run(move |connection| connection.begin(durability)).await?;
        Ok(transaction)
    }

    /// Ends the thread after all tasks that were sent to it.
    pub(super) async fn close(&self) {
        let Some(Thread { tasks, handle }) = self.lock().await.0.take() else { return };
        drop(tasks);
        if !matches!(tokio::task::spawn_blocking(|| handle.join()).await, Ok(Ok(()))) {
            tracing::error!("the thread that writes to the store ended by a panic");
        }
    }

    async fn lock(&self) -> LockedThread {
        LockedThread(Arc::clone(&self.0).lock_owned().await)
    }
}

fn closed() -> StoreError {
    StoreError::Engine("the connection that writes is closed".into())
}

/// The thread, for one caller alone.
struct LockedThread(OwnedMutexGuard<Option<Thread>>);

impl LockedThread {
    /// Runs work on the thread and waits for it. Work whose caller left before it began is skipped; work that runs can ask.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteConnection, &dyn Fn() -> bool) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(move |connection| {
            if !reply.is_closed() {
                let done = work(connection, &|| reply.is_closed());
                let _cancelled = reply.send(done);
            }
        }))?;
        answer.await.map_err(|_| closed())?
    }

    fn send(&self, task: Task) -> Result<(), StoreError> {
        let thread = self.0.as_ref().ok_or_else(closed)?;
        thread.tasks.send(task).map_err(|_| closed())
    }
}

/// The connection, on its thread.
struct WriteConnection {
    connection: Connection,
    /// The current setting of the connection.
    durability: Durability,
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{CACHE_KIB}; \
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA journal_size_limit = {LOG_BYTES_KEPT};"
    ))?;
    Ok(connection)
}

impl WriteConnection {
    /// The setting of a connection that was just opened.
    const INITIAL: Durability = Durability::Disk;

    fn work(mut self, tasks: &Receiver<Task>) {
        while let Ok(task) = tasks.recv() {
            task(&mut self);
        }
    }

    /// Begins a transaction with this durability.
    fn begin(&mut self, durability: Durability) -> Result<(), StoreError> {
        self.rollback()?;
        if self.durability != durability {
            let level = match durability {
                Durability::Process => "PRAGMA synchronous = NORMAL",
                // The whole log is synchronised, so this makes all earlier commits durable too.
                Durability::Disk => "PRAGMA synchronous = FULL",
            };
            self.connection.execute_batch(level)?;
            self.durability = durability;
        }
        self.script("BEGIN IMMEDIATE")
    }

    /// Commits, or rolls back after an error.
    fn end<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let ended = done.and_then(|value| self.script("COMMIT").map(|()| value));
        if ended.is_err() {
            self.rollback()?;
        }
        ended
    }

    /// Rolls back what was begun and not committed, if SQLite has not done so already.
    fn rollback(&self) -> Result<(), StoreError> {
        if self.connection.is_autocommit() { Ok(()) } else { self.script("ROLLBACK") }
    }

    /// Runs a statement without values, which is prepared once.
    fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }

    /// Writes a batch, if the node is held by its incarnation.
    fn write_fenced(&self, node: &NodeRow, batch: &Batch<'_>) -> Result<(), StoreError> {
        // There is one writer at a time, so the row cannot change during the transaction.
        let held = "SELECT 1 AS held FROM nodes WHERE id = $1 AND incarnation = $2";
        if self.fetch(node::held(held, node))?.is_empty() {
            return Err(StoreError::Fenced);
        }
        batch.statements().try_for_each(|(bulk, rows)| self.bulk(bulk, rows))
    }

    fn bulk(&self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
        check_width(bulk, rows)?;
        let mut statement = self.connection.prepare_cached(&text(bulk))?;
        for row in rows {
            for (number, cell) in (1..).zip(row) {
                statement.raw_bind_parameter::<usize, _>(number, cell)?;
            }
            statement
                .raw_execute()
                .map_err(|error| if is_taken(&error) { StoreError::Exists(bulk.what) } else { error.into() })?;
        }
        Ok(())
    }

    fn prepare(&self, statement: Statement<'_>) -> Result<CachedStatement<'_>, StoreError> {
        let mut prepared = self.connection.prepare_cached(statement.sql.as_str())?;
        for (number, cell) in (1..).zip(statement.cells) {
            prepared.raw_bind_parameter(format!("${number}").as_str(), cell)?;
        }
        Ok(prepared)
    }

    fn execute(&self, statement: Statement<'_>) -> Result<u64, StoreError> {
        Ok(self.prepare(statement)?.raw_execute()? as u64)
    }

    fn fetch(&self, statement: Statement<'_>) -> Result<Vec<WriterRow>, StoreError> {
        let mut prepared = self.prepare(statement)?;
        let columns: Arc<[String]> = prepared.column_names().into_iter().map(str::to_owned).collect();
        let mut found = prepared.raw_query();
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns.len()).map(|index| row.get(index)).collect::<Result<_, _>>()?;
            rows.push(WriterRow { columns: Arc::clone(&columns), values });
        }
        Ok(rows)
    }
}

/// The text of a statement for one row. Its parameters have no names: each would be found by a search through all of them.
fn text(bulk: &Bulk) -> String {
    match bulk.form {
        Form::Insert { table, conflict } => {
            let values = vec!["?"; bulk.columns.len()].join(", ");
            format!("INSERT INTO {table} ({}) VALUES ({values}) {conflict}", bulk.names())
        }
        Form::Change { before, after } => {
            let cells: Vec<String> = bulk.columns.iter().map(|(name, _)| format!("? AS {name}")).collect();
            format!("{before}(SELECT {}) AS r{after}", cells.join(", "))
        }
    }
}

/// True when the key of a row is taken.
fn is_taken(error: &rusqlite::Error) -> bool {
    let taken = [ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_UNIQUE];
    error.sqlite_error().is_some_and(|error| taken.contains(&error.extended_code))
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) => text.as_deref().map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes())),
            Self::Integer(number) => number.map_or(ValueRef::Null, ValueRef::Integer),
            Self::Real(number) => number.map_or(ValueRef::Null, ValueRef::Real),
            Self::Boolean(flag) => ValueRef::Integer(i64::from(*flag)),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// A row that was read inside a transaction.
struct WriterRow {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl WriterRow {
    fn value(&self, name: &str) -> Result<&Value, StoreError> {
        let index = self.columns.iter().position(|column| column == name);
        index.and_then(|index| self.values.get(index)).ok_or_else(|| broken(name, "there is no such column"))
    }
}

/// Reads one kind of value, or none where there is NULL.
macro_rules! read {
    ($row:expr, $name:expr, $($pattern:pat => $value:expr),+) => {
        match $row.value($name)? {
            Value::Null => Ok(None),
            $($pattern => Ok(Some($value)),)+
            other => Err(broken($name, format!("it holds {}", other.data_type()))),
        }
    };
}

impl Fields for WriterRow {
    fn text_or_none(&self, name: &str) -> Result<Option<String>, StoreError> {
        read!(self, name, Value::Text(text) => text.clone())
    }

    fn integer_or_none(&self, name: &str) -> Result<Option<i64>, StoreError> {
        read!(self, name, Value::Integer(number) => *number)
    }

    fn real_or_none(&self, name: &str) -> Result<Option<f64>, StoreError> {
        read!(self, name, Value::Real(number) => *number)
    }

    fn flag(&self, name: &str) -> Result<bool, StoreError> {
        let flag: Result<_, StoreError> = read!(self, name, Value::Integer(number) => *number != 0);
        flag?.ok_or_else(|| broken(name, "it is missing"))
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let bytes: Result<_, StoreError> = read!(self, name, Value::Blob(bytes) => bytes.clone());
        bytes?.ok_or_else(|| broken(name, "it is missing"))
    }
}

/// A transaction of several tasks. One that is dropped half way is rolled back before the next caller has the thread.
pub(super) struct SqliteTransaction {
    thread: LockedThread,
    settled: bool,
}

impl SqliteTransaction {
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.thread.run(|connection, _| work(connection)).await
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if !self.settled {
            // Where this fails, the next transaction begins with it.
            let _closed = self.thread.send(Box::new(|connection| drop(connection.rollback())));
        }
    }
}

#[async_trait]
impl Reader for SqliteTransaction {
    fn step_order(&self) -> StepOrder {
        StepOrder::BySeq
    }

    async fn fetch(&self, query: Statement<'_>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let query = query.into_owned();
        let rows = self.run(move |connection| connection.fetch(query)).await?;
        rows.iter().try_for_each(|row| visit(row))
    }
}

#[async_trait]
impl EngineTransaction for SqliteTransaction {
    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        let statement = statement.into_owned();
        self.run(move |connection| connection.execute(statement)).await
    }

    async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
        let bulk = *bulk;
        let rows: Vec<BulkRow<'static>> =
            rows.iter().map(|row| row.iter().cloned().map(Cell::into_owned).collect()).collect();
        self.run(move |connection| connection.bulk(&bulk, &rows)).await
    }

    // There is one writer at a time, so every transaction holds every lock.
    async fn lock(&mut self, _name: &str) -> Result<(), StoreError> {
        Ok(())
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.settled = true;
        self.run(|connection| connection.end(Ok(()))).await
    }

    async fn rollback(mut self: Box<Self>) {
        self.settled = true;
        // Where this fails, the next transaction begins with it.
        let _failed = self.run(|connection| connection.rollback()).await;
    }
}

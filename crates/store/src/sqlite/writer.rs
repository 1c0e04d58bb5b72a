//! The one connection that writes, on a thread of its own. SQLite's calls block, and the way to another thread and back costs
//! more than most statements: so a commit is one errand there, in which each row is one run of a prepared statement.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql, ffi};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use super::{BUSY_TIMEOUT, CACHE_KIB};
use crate::cell::Cell;
use crate::commit::Batch;
use crate::engine::{Bulk, BulkRow, Form, Statement, Transaction, check_width};
use crate::field::{Fields, broken};
use crate::row::NodeRow;
use crate::{Durability, Groups, StoreError, node};

/// Prepared statements that are kept: every kind of row, and the rest.
const STATEMENTS_CACHED: usize = 64;
/// Pages of 4 KiB in the log after which a commit moves them into the file.
const CHECKPOINT_PAGES: u32 = 4_000;
/// What is kept of the log's file after a burst, in bytes.
const LOG_BYTES_KEPT: u64 = 64 * 1024 * 1024;

/// Work for the thread.
type Errand = Box<dyn FnOnce(&mut Desk) + Send>;

/// The way to the thread. One caller at a time has its turn, in order of arrival.
pub(super) struct Writer(Arc<Mutex<Option<Thread>>>);

struct Thread {
    errands: Sender<Errand>,
    handle: JoinHandle<()>,
}

impl Writer {
    /// Opens a file that exists.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let desk = Desk { connection: connect(path)?, waits: Desk::INITIAL };
        let (errands, received) = channel();
        let thread = std::thread::Builder::new().name("sqlite".to_owned());
        let handle = thread.spawn(move || desk.work(&received)).map_err(|error| StoreError::Engine(error.into()))?;
        Ok(Self(Arc::new(Mutex::new(Some(Thread { errands, handle })))))
    }

    /// Commits groups of records, if the node is held by its incarnation.
    pub(super) async fn commit(&self, node: NodeRow, groups: Groups, durability: Durability) -> Result<(), StoreError> {
        let work = move |desk: &mut Desk, given_up: &dyn Fn() -> bool| {
            // Complete before the transaction begins, so that a value that cannot be stored is found while nothing is held.
            let batch = Batch::sort(&groups)?;
            desk.begin(durability)?;
            let written = desk.write_as(&node, &batch);
            desk.end(if given_up() { Err(closed()) } else { written })
        };
        self.turn().await.run(work).await
    }

    /// Begins a transaction of several errands.
    pub(super) async fn begin(&self, durability: Durability) -> Result<SqliteTransaction, StoreError> {
        let transaction = SqliteTransaction { turn: self.turn().await, settled: false };
        transaction.run(move |desk| desk.begin(durability)).await?;
        Ok(transaction)
    }

    /// Ends the thread once it has done what it was asked for.
    pub(super) async fn close(&self) {
        let Some(Thread { errands, handle }) = self.turn().await.0.take() else { return };
        drop(errands);
        if !matches!(tokio::task::spawn_blocking(|| handle.join()).await, Ok(Ok(()))) {
            tracing::error!("the thread that writes to the store ended by a panic");
        }
    }

    async fn turn(&self) -> Turn {
        Turn(Arc::clone(&self.0).lock_owned().await)
    }
}

fn closed() -> StoreError {
    StoreError::Engine("the connection that writes is closed".into())
}

/// What nobody else has meanwhile.
struct Turn(OwnedMutexGuard<Option<Thread>>);

impl Turn {
    /// Has work done and waits for it. Work that was given up before its turn came is not begun; what has begun can ask.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk, &dyn Fn() -> bool) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(move |desk| {
            if !reply.is_closed() {
                let done = work(desk, &|| reply.is_closed());
                let _given_up = reply.send(done);
            }
        }))?;
        answer.await.map_err(|_| closed())?
    }

    fn send(&self, errand: Errand) -> Result<(), StoreError> {
        let thread = self.0.as_ref().ok_or_else(closed)?;
        thread.errands.send(errand).map_err(|_| closed())
    }
}

/// Where the errands are done.
pub(crate) struct Desk {
    connection: Connection,
    /// What commits wait for as the connection is set now.
    waits: Durability,
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

impl Desk {
    /// As connections are opened.
    const INITIAL: Durability = Durability::Disk;

    fn work(mut self, errands: &Receiver<Errand>) {
        while let Ok(errand) = errands.recv() {
            errand(&mut self);
        }
    }

    /// Begins a transaction whose commit waits for what is asked.
    fn begin(&mut self, durability: Durability) -> Result<(), StoreError> {
        self.undo()?;
        if self.waits != durability {
            let level = match durability {
                Durability::Process => "PRAGMA synchronous = NORMAL",
                // The whole log is synchronised, so this makes all earlier commits durable too.
                Durability::Disk => "PRAGMA synchronous = FULL",
            };
            self.connection.execute_batch(level)?;
            self.waits = durability;
        }
        self.script("BEGIN IMMEDIATE")
    }

    /// Commits, or undoes everything where it failed.
    fn end<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let ended = done.and_then(|value| self.script("COMMIT").map(|()| value));
        if ended.is_err() {
            self.undo()?;
        }
        ended
    }

    /// Undoes what was begun and not committed, if SQLite has not done so already.
    fn undo(&self) -> Result<(), StoreError> {
        if self.connection.is_autocommit() { Ok(()) } else { self.script("ROLLBACK") }
    }

    /// Prepared once.
    fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }

    fn write_as(&self, node: &NodeRow, batch: &Batch<'_>) -> Result<(), StoreError> {
        // There is one writer at a time, so nothing can change beside it.
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
            for (place, cell) in (1..).zip(row) {
                statement.raw_bind_parameter::<usize, _>(place, cell)?;
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
            let values = (0..columns.len()).map(|place| row.get(place)).collect::<Result<_, _>>()?;
            rows.push(WriterRow { columns: Arc::clone(&columns), values });
        }
        Ok(rows)
    }
}

/// A statement for one row. Its parameters have no names: each would be found by a search through all of them.
fn text(bulk: &Bulk) -> String {
    match bulk.form {
        Form::Insert { table, conflict } => {
            let places = vec!["?"; bulk.columns.len()].join(", ");
            format!("INSERT INTO {table} ({}) VALUES ({places}) {conflict}", bulk.names())
        }
        Form::Change { before, after } => {
            let cells: Vec<String> = bulk.columns.iter().map(|(name, _)| format!("? AS {name}")).collect();
            format!("{before}(SELECT {}) AS r{after}", cells.join(", "))
        }
    }
}

/// Whether a row's identity is taken.
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
pub(crate) struct WriterRow {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl WriterRow {
    fn value(&self, name: &str) -> Result<&Value, StoreError> {
        let place = self.columns.iter().position(|column| column == name);
        place.and_then(|place| self.values.get(place)).ok_or_else(|| broken(name, "there is no such column"))
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

/// A transaction of several errands. One that is dropped half way is undone before the next caller's turn.
pub(crate) struct SqliteTransaction {
    turn: Turn,
    settled: bool,
}

impl SqliteTransaction {
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.turn.run(|desk, _| work(desk)).await
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if !self.settled {
            // Where this fails the next transaction begins with it.
            let _closed = self.turn.send(Box::new(|desk| drop(desk.undo())));
        }
    }
}

impl Transaction for SqliteTransaction {
    type Row = WriterRow;

    async fn fetch(&mut self, query: Statement<'_>) -> Result<Vec<WriterRow>, StoreError> {
        let query = query.into_owned();
        self.run(move |desk| desk.fetch(query)).await
    }

    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        let statement = statement.into_owned();
        self.run(move |desk| desk.execute(statement)).await
    }

    async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
        let bulk = *bulk;
        let rows: Vec<BulkRow<'static>> =
            rows.iter().map(|row| row.iter().cloned().map(Cell::into_owned).collect()).collect();
        self.run(move |desk| desk.bulk(&bulk, &rows)).await
    }

    // Being the one writer is the only lock there is.
    async fn lock(&mut self, _name: &str) -> Result<(), StoreError> {
        Ok(())
    }

    async fn end<T: Send>(mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.settled = true;
        let failed = done.is_err();
        let ended = self.run(move |desk| if failed { desk.undo() } else { desk.end(Ok(())) }).await;
        done.and_then(|value| ended.map(|()| value))
    }
}

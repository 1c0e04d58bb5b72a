//! What an engine must offer. Everything else about the store is written once, on top of this.

use std::sync::Arc;

use parking_lot::RwLock;
use sqlx::SqlStr;

use super::cell::{Cell, Column, Kind};
use super::field::Fields;
use super::row::NodeRow;
use super::{Durability, StoreError};

/// A statement with its values.
pub(super) struct Statement<'a> {
    pub(super) sql: SqlStr,
    pub(super) cells: Vec<Cell<'a>>,
}

impl<'a> Statement<'a> {
    /// A fixed statement whose values are `$1`, `$2` and so on.
    pub(super) fn new(sql: &'static str, cells: Vec<Cell<'a>>) -> Self {
        use sqlx::SqlSafeStr;
        Self { sql: sql.into_sql_str(), cells }
    }
}

/// Builds a SELECT whose conditions depend on what is asked for. Only constants reach the text; values are bound.
pub(super) struct Select<'a> {
    sql: String,
    cells: Vec<Cell<'a>>,
}

impl<'a> Select<'a> {
    /// All columns of a table.
    pub(super) fn from(table: &Table) -> Self {
        Self { sql: format!("SELECT {} FROM {}", table.names(), table.name), cells: Vec::new() }
    }

    /// Only rows for which `condition`, followed by the value, holds: `"seq >="`.
    pub(super) fn only(mut self, condition: &'static str, value: Cell<'a>) -> Self {
        self.cells.push(value);
        let keyword = if self.cells.len() == 1 { "WHERE" } else { "AND" };
        self.sql.push_str(&format!(" {keyword} {condition} ${}", self.cells.len()));
        self
    }

    /// The same, where there is a value.
    pub(super) fn only_if(self, condition: &'static str, value: Option<Cell<'a>>) -> Self {
        match value {
            Some(value) => self.only(condition, value),
            None => self,
        }
    }

    /// The end: a condition without value, an order.
    pub(super) fn then(mut self, rest: &'static str) -> Self {
        self.sql.push(' ');
        self.sql.push_str(rest);
        self
    }

    /// At most `limit` rows.
    pub(super) fn limit(mut self, limit: u32) -> Statement<'a> {
        self.cells.push(Cell::Integer(Some(i64::from(limit))));
        self.sql.push_str(&format!(" LIMIT ${}", self.cells.len()));
        self.build()
    }

    /// As many rows as there are.
    pub(super) fn build(self) -> Statement<'a> {
        use sqlx::SqlSafeStr;
        Statement { sql: sqlx::AssertSqlSafe(self.sql).into_sql_str(), cells: self.cells }
    }
}

/// A table, and the columns in which its rows are written and read.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
}

impl Table {
    /// The names of all columns, separated by commas.
    pub(super) fn names(&self) -> String {
        names(self.columns)
    }

    /// Inserts rows; `conflict` says what happens to those that exist, and `what` names them where that is an error.
    pub(super) fn insert(&self, conflict: &str, what: &'static str) -> Bulk {
        let names = self.names();
        let (key, _) = self.columns[0];
        // The first column is part of every table's key, so a row without it is one that an engine has left empty. The condition
        // also keeps SQLite from reading ON CONFLICT as that of a join.
        Bulk {
            before: format!("INSERT INTO {} ({names}) SELECT {names} FROM ", self.name),
            columns: self.columns,
            after: format!(" WHERE r.{key} IS NOT NULL {conflict}"),
            what,
            texts: RwLock::default(),
        }
    }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// A statement over many rows at once: `before`, the rows as a table `r` with `columns`, `after`.
pub(super) struct Bulk {
    pub(super) before: String,
    pub(super) columns: &'static [Column],
    pub(super) after: String,
    /// What exists already when a row's identity is taken.
    pub(super) what: &'static str,
    /// The whole statement, by engine and by how many rows it takes: writing it costs more than running it.
    texts: RwLock<Vec<(Form, Arc<str>)>>,
}

/// In which form a [`Bulk`] is wanted: the engine's name, and how many rows the statement takes.
pub(super) type Form = (&'static str, usize);

impl Bulk {
    /// A change of rows that exist.
    pub(super) fn change(before: &str, columns: &'static [Column], after: &str) -> Self {
        let texts = RwLock::default();
        Self { before: before.to_owned(), columns, after: after.to_owned(), what: "row", texts }
    }

    /// The names of the passed columns, separated by commas.
    pub(super) fn names(&self) -> String {
        names(self.columns)
    }

    /// The statement in a form, which `write` writes once.
    pub(super) fn sql(&self, form: Form, write: impl FnOnce(&Self) -> String) -> Arc<str> {
        let known = self.texts.read().iter().find(|(known, _)| *known == form).map(|(_, text)| Arc::clone(text));
        known.unwrap_or_else(|| {
            let text: Arc<str> = write(self).into();
            self.texts.write().push((form, Arc::clone(&text)));
            text
        })
    }
}

/// A row that is passed to a [`Bulk`].
pub(super) type BulkRow<'a> = Vec<Cell<'a>>;

/// Fails when a row does not have the form that its statement expects, which only a bug can cause.
pub(super) fn check_width(bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
    let fits = |row: &BulkRow<'_>| {
        row.len() == bulk.columns.len() && row.iter().zip(bulk.columns).all(|(cell, (_, kind))| cell.kind() == *kind)
    };
    if rows.iter().all(fits) {
        Ok(())
    } else {
        Err(StoreError::Broken(format!("a row does not fit the statement {:?}", bulk.before)))
    }
}

impl Cell<'_> {
    const fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Integer(_) => Kind::Integer,
            Self::Real(_) => Kind::Real,
            Self::Boolean(_) => Kind::Boolean,
            Self::Bytes(_) => Kind::Bytes,
        }
    }
}

/// An engine.
pub(super) trait Engine: Send + Sync + 'static {
    /// For people.
    const NAME: &'static str;
    /// Its rows.
    type Row: Fields;
    /// Its write transactions.
    type Transaction: Transaction<Row = Self::Row>;

    /// Answers a query outside of any transaction.
    fn read(&self, query: Statement<'_>) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Begins a write transaction.
    fn begin(&self, durability: Durability) -> impl Future<Output = Result<Self::Transaction, StoreError>> + Send;

    /// Begins a write transaction, and says whether the node is held by its incarnation, until the transaction ends.
    fn begin_as(
        &self,
        node: &NodeRow,
        durability: Durability,
    ) -> impl Future<Output = Result<(Self::Transaction, bool), StoreError>> + Send;

    /// Inserts new rows as a transaction of its own, and says whether the node is held by its incarnation: where it is not,
    /// nothing is inserted. None where the engine has no shorter way for these rows than a transaction.
    fn insert_as(
        &self,
        node: &NodeRow,
        bulk: &Bulk,
        rows: &[BulkRow<'_>],
        durability: Durability,
    ) -> impl Future<Output = Result<Option<bool>, StoreError>> + Send;

    /// Closes every connection.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A write transaction. Dropped without an end, it is undone.
pub(super) trait Transaction: Send {
    /// Rows of the engine.
    type Row: Fields;

    /// Answers a query inside the transaction.
    fn fetch(&mut self, query: Statement<'_>) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Runs a statement; answers how many rows it changed.
    fn execute(&mut self, statement: Statement<'_>) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a statement over many rows; fails with [`StoreError::Exists`] when a row's identity is taken.
    fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Waits until no other transaction holds the lock of this name, and holds it until the end.
    fn lock(&mut self, name: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Commits.
    fn commit(self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Undoes everything.
    fn rollback(self) -> impl Future<Output = ()> + Send;
}

/// Maps the violation of a unique constraint to [`StoreError::Exists`].
pub(super) fn exists(what: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| match error.as_database_error() {
        Some(database) if database.is_unique_violation() => StoreError::Exists(what),
        _ => StoreError::Engine(error),
    }
}

/// Implements [`Fields`] and [`Transaction`] for one engine's types, which sqlx keeps apart although they behave alike. The
/// transaction type has the fields `connection` and `settled`, and methods `script`, `bulk_rows` and `take_lock` of its own.
macro_rules! implement_transaction {
    ($transaction:ident, $database:ty, $row:ty) => {
        impl $crate::store::field::Fields for $row {
            fn text_or_none(&self, name: &str) -> Result<Option<String>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn integer_or_none(&self, name: &str) -> Result<Option<i64>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn real_or_none(&self, name: &str) -> Result<Option<f64>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn flag(&self, name: &str) -> Result<bool, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }
        }

        type BoundQuery = sqlx::query::Query<'static, $database, <$database as sqlx::Database>::Arguments>;

        fn bind(statement: Statement<'_>) -> BoundQuery {
            statement.cells.into_iter().fold(sqlx::query(statement.sql), bind_cell)
        }

        fn bind_cell(query: BoundQuery, cell: $crate::store::cell::Cell<'_>) -> BoundQuery {
            use $crate::store::cell::Cell;
            match cell {
                Cell::Text(text) => query.bind(text.map(std::borrow::Cow::into_owned)),
                Cell::Integer(number) => query.bind(number),
                Cell::Real(number) => query.bind(number),
                Cell::Boolean(flag) => query.bind(flag),
                Cell::Bytes(bytes) => query.bind(bytes.to_vec()),
            }
        }

        /// A write transaction. One that is dropped half way closes its connection, which undoes it: a connection whose
        /// transaction failed is never used again unless it said that it was rolled back.
        pub(super) struct $transaction {
            connection: sqlx::pool::PoolConnection<$database>,
            settled: bool,
        }

        impl $transaction {
            /// A connection that is closed unless what is begun on it ends.
            async fn on(pool: &sqlx::Pool<$database>) -> Result<Self, StoreError> {
                Ok(Self { connection: pool.acquire().await?, settled: false })
            }
        }

        impl Drop for $transaction {
            fn drop(&mut self) {
                if !self.settled {
                    self.connection.close_on_drop();
                }
            }
        }

        impl Transaction for $transaction {
            type Row = $row;

            async fn fetch(&mut self, query: Statement<'_>) -> Result<Vec<$row>, StoreError> {
                Ok(bind(query).fetch_all(&mut *self.connection).await?)
            }

            async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
                Ok(bind(statement).execute(&mut *self.connection).await?.rows_affected())
            }

            async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
                $crate::store::engine::check_width(bulk, rows)?;
                self.bulk_rows(bulk, rows).await.map_err($crate::store::engine::exists(bulk.what))
            }

            async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
                self.take_lock(name).await
            }

            async fn commit(mut self) -> Result<(), StoreError> {
                self.script("COMMIT").await?;
                self.settled = true;
                Ok(())
            }

            async fn rollback(mut self) {
                self.settled = self.script("ROLLBACK").await.is_ok();
            }
        }
    };
}
pub(super) use implement_transaction;

//! What an engine must offer. Everything else about the store is written once, on top of this.

use sqlx::SqlStr;

use super::cell::{Cell, Column, Kind};
use super::field::Fields;
use super::row::NodeRow;
use super::{Durability, Groups, StoreError};

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

    /// A statement that was put together from constants.
    pub(super) fn built(sql: String, cells: Vec<Cell<'a>>) -> Self {
        use sqlx::SqlSafeStr;
        Self { sql: sqlx::AssertSqlSafe(sql).into_sql_str(), cells }
    }

    /// The same statement, for another thread.
    pub(super) fn into_owned(self) -> Statement<'static> {
        Statement { sql: self.sql, cells: self.cells.into_iter().map(Cell::into_owned).collect() }
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

    /// These columns of a table, or of several that are joined.
    pub(super) fn named(columns: &str, tables: &'static str) -> Self {
        Self { sql: format!("SELECT {columns} FROM {tables}"), cells: Vec::new() }
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
        Statement::built(self.sql, self.cells)
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
    pub(super) const fn insert(&self, conflict: &'static str, what: &'static str) -> Bulk {
        Bulk { form: Form::Insert { table: self.name, conflict }, columns: self.columns, what }
    }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// A statement that is run for many rows.
#[derive(Clone, Copy)]
pub(super) struct Bulk {
    pub(super) form: Form,
    /// What is passed for each row.
    pub(super) columns: &'static [Column],
    /// What exists already when a row's identity is taken.
    pub(super) what: &'static str,
}

/// What a [`Bulk`] does.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// New rows of a table.
    Insert { table: &'static str, conflict: &'static str },
    /// A change of rows that exist: the passed rows stand between the two as a table `r`.
    Change { before: &'static str, after: &'static str },
}

impl Bulk {
    /// A change of rows that exist.
    pub(super) const fn change(before: &'static str, columns: &'static [Column], after: &'static str) -> Self {
        Self { form: Form::Change { before, after }, columns, what: "row" }
    }

    /// The names of the passed columns, separated by commas.
    pub(super) fn names(&self) -> String {
        names(self.columns)
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
        Err(StoreError::Broken(format!("a row does not fit the statement about a {}: {}", bulk.what, bulk.names())))
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

/// How an engine keeps steps, which decides how those of one episode are found.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepOrder {
    /// By episode.
    ByEpisode,
    /// By number, and only then by episode: episodes that advance together share the pages that a commit changes. An
    /// episode is walked along its numbers, which have no holes.
    BySeq,
}

/// An engine.
pub(super) trait Engine: Send + Sync + 'static {
    /// For people.
    const NAME: &'static str;
    /// Its rows.
    type Row: Fields;
    /// Its write transactions.
    type Transaction: Transaction;
    /// How its steps lie.
    const STEPS: StepOrder;

    /// Answers a query outside of any transaction.
    fn read(&self, query: Statement<'_>) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Begins a write transaction.
    fn begin(&self, durability: Durability) -> impl Future<Output = Result<Self::Transaction, StoreError>> + Send;

    /// Commits groups of records, if the node is held by its incarnation.
    fn commit(
        &self,
        node: &NodeRow,
        groups: &Groups,
        durability: Durability,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

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

    /// Commits what was done, or undoes everything where it failed.
    fn end<T: Send>(self, done: Result<T, StoreError>) -> impl Future<Output = Result<T, StoreError>> + Send;
}

/// Implements [`Fields`] for one database's rows and defines `bind`, which hands it a statement with its values: sqlx keeps the
/// types of databases apart although they behave alike.
macro_rules! implement_driver {
    ($database:ty, $row:ty) => {
        impl $crate::field::Fields for $row {
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
            statement.cells.into_iter().fold(sqlx::query(statement.sql), |query, cell| match cell {
                Cell::Text(text) => query.bind(text.map(std::borrow::Cow::into_owned)),
                Cell::Integer(number) => query.bind(number),
                Cell::Real(number) => query.bind(number),
                Cell::Boolean(flag) => query.bind(flag),
                Cell::Bytes(bytes) => query.bind(bytes.into_owned()),
            })
        }
    };
}
pub(super) use implement_driver;

//! SQL statements with their values, and the few forms that are put together from parts.

use sqlx::SqlStr;

use super::StoreError;
use super::cell::{Cell, Column, Kind};

/// A statement with its values.
pub struct Statement<'a> {
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

/// Builds a SELECT whose conditions depend on the request. Only constants reach the text; values are bound.
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
    pub(super) fn filter(mut self, condition: &'static str, value: Cell<'a>) -> Self {
        self.cells.push(value);
        let keyword = if self.cells.len() == 1 { "WHERE" } else { "AND" };
        self.sql.push_str(&format!(" {keyword} {condition} ${}", self.cells.len()));
        self
    }

    /// The same, where there is a value.
    pub(super) fn filter_if(self, condition: &'static str, value: Option<Cell<'a>>) -> Self {
        match value {
            Some(value) => self.filter(condition, value),
            None => self,
        }
    }

    /// Appends the end of the query: a condition without a value, an order.
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

    /// The finished query, without a limit.
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

    /// An insertion of rows. `conflict` is the clause for keys that exist; without it, an existing key is an error about `what`.
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
    /// The columns that are passed for each row.
    pub(super) columns: &'static [Column],
    /// The noun for the error when a key is taken.
    pub(super) what: &'static str,
}

/// The two forms of a [`Bulk`].
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// New rows of a table.
    Insert { table: &'static str, conflict: &'static str },
    /// A change of existing rows: the passed rows are a table `r` between the two parts.
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

/// Fails when the cells of a row do not match the columns of its statement, which only a bug can cause.
pub(super) fn check_width(bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError> {
    let fits = |row: &BulkRow<'_>| {
        row.len() == bulk.columns.len() && row.iter().zip(bulk.columns).all(|(cell, (_, kind))| cell.kind() == *kind)
    };
    if rows.iter().all(fits) {
        Ok(())
    } else {
        Err(StoreError::Broken(format!(
            "a row does not match the columns of the statement about a {}: {}",
            bulk.what,
            bulk.names()
        )))
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

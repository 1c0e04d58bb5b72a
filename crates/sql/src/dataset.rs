//! Data that is the same in both dialects: tables with keys and rows, from which a script is written in either.

mod affinity;
mod literal;
mod name;
mod script;

use serde::{Deserialize, Serialize};

pub use affinity::Affinity;
pub use literal::sqlite_text_of_real;
pub use name::{is_plain, quoted};
pub use script::Unwritable;

use crate::value::Value;

/// A database, whatever engine holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Tables, those that are referred to before those that refer to them where there is no circle.
    pub tables: Vec<Table>,
    /// Statements after tables and rows: views, triggers, functions, grants of policies.
    #[serde(default)]
    pub after: crate::task::Spoken,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name: lower case in what we make ourselves, any in what is imported.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// Columns of the primary key; may be empty.
    #[serde(default)]
    pub primary_key: Vec<String>,
    /// Sets of columns that are unique.
    #[serde(default)]
    pub unique: Vec<Vec<String>>,
    /// References.
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKey>,
    /// Conditions that every row meets, in SQL that both dialects speak.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Indexes.
    #[serde(default)]
    pub indexes: Vec<Index>,
    /// Rows, each with a value per column.
    #[serde(default)]
    pub rows: Vec<Vec<Value>>,
}

impl Dataset {
    /// A table by its name, in any case.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }
}

impl Table {
    /// The place of a column, by its name in any case.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of the values.
    pub sort: Sort,
    /// True if NULL is refused.
    #[serde(default)]
    pub not_null: bool,
    /// Its default, as an expression of both dialects.
    #[serde(default)]
    pub default: Option<String>,
    /// The type that the import declared, kept for SQLite, whose affinities follow from it.
    #[serde(default)]
    pub declared: Option<String>,
}

/// Logical type of a column, and its type in SQLite and PostgreSQL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// `INTEGER`, `bigint`.
    #[default]
    Integer,
    /// `REAL`, `double precision`.
    Real,
    /// `NUMERIC` (SQLite: cents are better kept as integers), `numeric`.
    Decimal,
    /// `TEXT`, `text`.
    Text,
    /// `INTEGER` with 0 and 1, `boolean`.
    Boolean,
    /// `TEXT` as `2025-01-31`, `date`.
    Date,
    /// `TEXT` as `2025-01-31 08:00:00`, `timestamp`.
    Timestamp,
    /// `BLOB`, `bytea`.
    Blob,
}

/// A reference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignKey {
    /// Columns here.
    pub columns: Vec<String>,
    /// The table there.
    pub table: String,
    /// Columns there.
    pub references: Vec<String>,
    /// `CASCADE`, `SET NULL`, `RESTRICT`; empty for none.
    #[serde(default)]
    pub on_delete: String,
    /// Rows break it, or nothing unique is there to refer to. SQLite declares it all the same and does not mind until rows change;
    /// PostgreSQL, which would refuse the rows, leaves it out.
    #[serde(default)]
    pub unenforced: bool,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<String>,
    /// True if it is unique.
    #[serde(default)]
    pub unique: bool,
}

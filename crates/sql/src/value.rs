//! Values of columns, as both engines give them.

use serde::{Deserialize, Serialize};

/// Dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// SQLite's.
    Sqlite,
    /// PostgreSQL's.
    Postgres,
}

impl Dialect {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// `sqlite` or `postgres`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// A value of a column or of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// NULL.
    Null,
    /// True or false (PostgreSQL alone).
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A floating-point number; may be NaN or infinite.
    Real(f64),
    /// An exact number, as digits (PostgreSQL's `numeric`).
    Decimal(String),
    /// Text; also dates, times, uuids, JSON and everything else, in the engine's text form.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type that was declared (SQLite; empty where there is none) or that the engine gives it (PostgreSQL, `int4`).
    pub type_name: String,
}

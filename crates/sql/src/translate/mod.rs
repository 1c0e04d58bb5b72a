//! Queries of SQLite in PostgreSQL's words: what SQLite understands silently is written out, so that both give the same rows.
//!
//! Names are written as [`crate::dataset::quoted`] writes them in scripts. Where SQLite's answer depends on which row it happens to
//! visit last, or on an order of values that PostgreSQL does not have, there is no translation. A translation is a claim: who uses
//! one runs both and compares.

mod build;
mod coerce;
mod expression;
mod from;
mod functions;
mod grouping;
mod order;
mod scope;
mod select;

use sqlparser::ast::Statement;

use crate::dataset::Dataset;
use crate::parse;
use crate::value::Dialect;

/// Reason why there is no translation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untranslatable {
    /// The parser does not read it.
    #[error("not read: {0}")]
    Syntax(String),
    /// A table or column that is not in the dataset.
    #[error("unknown name: {0}")]
    Name(String),
    /// A construct without a counterpart.
    #[error("no counterpart: {0}")]
    Construct(String),
    /// A function without a counterpart.
    #[error("no counterpart of the function {0}")]
    Function(String),
    /// Values of a group from one of its rows, and the data does not say which.
    #[error("{0} is neither grouped nor determined by the groups: SQLite takes it from any row")]
    AnyRow(String),
    /// A comparison of text with numbers that PostgreSQL's types cannot make.
    #[error("text is compared with numbers: {0}")]
    Comparison(String),
}

impl Untranslatable {
    /// The reason alone, without the place: for counts.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "not read by the parser",
            Self::Name(_) => "unknown name",
            Self::Construct(_) => "construct without a counterpart",
            Self::Function(_) => "function without a counterpart",
            Self::AnyRow(_) => "value from any row of a group",
            Self::Comparison(_) => "text compared with numbers",
        }
    }
}

/// Translates one query.
///
/// # Errors
/// [`Untranslatable`], with the reason.
pub fn to_postgres(sqlite_sql: &str, dataset: &Dataset) -> Result<String, Untranslatable> {
    parse::statements(sqlite_sql, Dialect::Sqlite, |statements| {
        let Ok([Statement::Query(mut query)]) = <[Statement; 1]>::try_from(statements) else {
            return Err(Untranslatable::Construct("anything but one query".into()));
        };
        scope::Translator::new(dataset).query(&mut query, None)?;
        Ok(query.to_string())
    })
    .unwrap_or_else(|fault| Err(Untranslatable::Syntax(fault.to_string())))
}

#[cfg(test)]
mod tests;

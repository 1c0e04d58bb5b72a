//! Form in which worlds write tables and rows.

use jiff::civil::{Date, DateTime};

use crate::dataset::{Column, ForeignKey, Index, Sort, Table};
use crate::value::Value;

/// Nullability of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It does.
    Must,
    /// It does not.
    May,
}

impl Table {
    /// An empty table. A first column named `id` is its primary key.
    #[must_use]
    pub fn of(name: &str, columns: &[(&str, Sort, Need)]) -> Self {
        let primary_key = match columns.first() {
            Some(("id", ..)) => vec!["id".to_owned()],
            _ => Vec::new(),
        };
        let columns = columns
            .iter()
            .map(|(name, sort, need)| Column {
                name: (*name).to_owned(),
                sort: *sort,
                not_null: *need == Need::Must,
                ..Column::default()
            })
            .collect();
        Self { name: name.to_owned(), columns, primary_key, ..Self::default() }
    }

    /// With this primary key.
    #[must_use]
    pub fn key(mut self, columns: &[&str]) -> Self {
        self.primary_key = owned(columns);
        self
    }

    /// With a set of columns that is unique.
    #[must_use]
    pub fn distinct(mut self, columns: &[&str]) -> Self {
        self.unique.push(owned(columns));
        self
    }

    /// With a reference of one column to the `id` of another table.
    #[must_use]
    pub fn refers(mut self, column: &str, table: &str) -> Self {
        self.foreign_keys.push(ForeignKey {
            columns: owned(&[column]),
            table: table.to_owned(),
            references: owned(&["id"]),
            ..ForeignKey::default()
        });
        self
    }

    /// With a condition that both dialects understand.
    #[must_use]
    pub fn check(mut self, condition: &str) -> Self {
        self.checks.push(condition.to_owned());
        self
    }

    /// With an index.
    #[must_use]
    pub fn index(mut self, columns: &[&str]) -> Self {
        let name = format!("{}_{}", self.name, columns.join("_"));
        self.indexes.push(Index { name, columns: owned(columns), unique: false });
        self
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A row of a table: `row![1, "Ada", None::<i64>]`.
#[macro_export]
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$($crate::value::Value::from($value)),*] };
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&&str> for Value {
    fn from(value: &&str) -> Self {
        Self::Text((*value).to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<Date> for Value {
    fn from(value: Date) -> Self {
        Self::Text(value.to_string())
    }
}

/// To the second.
impl From<DateTime> for Value {
    fn from(value: DateTime) -> Self {
        Self::Text(value.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

//! Types of columns in PostgreSQL, from their declarations and their values.

use crate::dataset::{Affinity, Column, Sort, Table};
use crate::value::Value;

/// Whole numbers up to this are exact as floating-point ones.
const EXACT: u64 = 1 << 53;

/// Gives every column the narrowest sort that holds all its rows unchanged, and says in words where values of several kinds
/// share a column.
pub(super) fn settle(table: &mut Table, notes: &mut Vec<String>) {
    for (position, column) in table.columns.iter_mut().enumerate() {
        let held = Held::of(table.rows.iter().filter_map(|row| row.get(position)));
        column.sort = held.sort(column);
        if held.mixed() {
            notes.push(format!(
                "{}.{}: text beside other values; PostgreSQL holds all of them as {}",
                table.name,
                column.name,
                if column.sort == Sort::Blob { "bytes" } else { "text" }
            ));
        }
        if column.default.as_deref().is_some_and(|default| !fits(default, column.sort)) {
            notes.push(format!("{}.{}: the default is left out", table.name, column.name));
            column.default = None;
        }
    }
}

/// Kinds of values in a column.
#[derive(Default)]
struct Held {
    integers: bool,
    beyond_exact: bool,
    reals: bool,
    texts: bool,
    blobs: bool,
}

impl Held {
    fn of<'a>(values: impl Iterator<Item = &'a Value>) -> Self {
        let mut held = Self::default();
        for value in values {
            match value {
                Value::Null => {}
                Value::Boolean(_) => held.integers = true,
                Value::Integer(value) => {
                    held.integers = true;
                    held.beyond_exact |= value.unsigned_abs() > EXACT;
                }
                Value::Real(_) | Value::Decimal(_) => held.reals = true,
                Value::Text(_) => held.texts = true,
                Value::Blob(_) => held.blobs = true,
            }
        }
        held
    }

    const fn mixed(&self) -> bool {
        (self.texts as u8) + (self.blobs as u8) + ((self.integers || self.reals) as u8) > 1
    }

    fn sort(&self, column: &Column) -> Sort {
        match self {
            Self { blobs: true, .. } => Sort::Blob,
            Self { texts: true, .. } => Sort::Text,
            Self { reals: true, beyond_exact: true, .. } => Sort::Decimal,
            Self { reals: true, .. } => Sort::Real,
            Self { integers: true, .. } => Sort::Integer,
            _ => of_empty(column),
        }
    }
}

/// The sort of a column without values.
fn of_empty(column: &Column) -> Sort {
    let declared = column.declared.as_deref().unwrap_or_default().to_ascii_uppercase();
    match column.affinity() {
        Affinity::Integer => Sort::Integer,
        Affinity::Real => Sort::Real,
        Affinity::Text => Sort::Text,
        Affinity::Blob if declared.is_empty() => Sort::Text,
        Affinity::Blob => Sort::Blob,
        Affinity::Numeric if declared.contains("BOOL") => Sort::Integer,
        Affinity::Numeric if declared.contains("DATE") || declared.contains("TIME") => Sort::Text,
        Affinity::Numeric => Sort::Real,
    }
}

/// True if a default means the same in both dialects for a column of this sort.
fn fits(default: &str, sort: Sort) -> bool {
    let default = default.trim();
    let is_string = default.len() >= 2
        && default.starts_with('\'')
        && default.ends_with('\'')
        && !default[1..default.len() - 1].replace("''", "").contains('\'');
    let inner = default.trim_matches('\'');
    match sort {
        _ if default.eq_ignore_ascii_case("null") => true,
        Sort::Integer => inner.parse::<i64>().is_ok(),
        Sort::Real | Sort::Decimal => inner.parse::<f64>().is_ok_and(f64::is_finite),
        Sort::Text => is_string,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(declared: &str, values: Vec<Value>) -> (Sort, usize) {
        let column = Column { name: "c".into(), declared: Some(declared.into()), ..Column::default() };
        let rows = values.into_iter().map(|value| vec![value]).collect();
        let mut table = Table { name: "t".into(), columns: vec![column], rows, ..Table::default() };
        let mut notes = Vec::new();
        settle(&mut table, &mut notes);
        (table.columns[0].sort, notes.len())
    }

    #[test]
    fn rows_decide_before_declarations() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(sort("int", vec![Value::Integer(1), Value::Null]), (Sort::Integer, 0));
        assert_eq!(sort("int", vec![Value::Integer(1), text("")]), (Sort::Text, 1));
        assert_eq!(sort("datetime", vec![text("2018-01-01")]), (Sort::Text, 0));
        assert_eq!(sort("decimal(9,2)", vec![Value::Integer(98), Value::Real(0.5)]), (Sort::Real, 0));
        assert_eq!(sort("decimal(9,2)", vec![Value::Integer(1 << 60), Value::Real(0.5)]), (Sort::Decimal, 0));
        assert_eq!(sort("datetime", vec![]), (Sort::Text, 0));
        assert_eq!(sort("", vec![Value::Blob(vec![1]), text("a")]), (Sort::Blob, 1));
    }

    #[test]
    fn defaults_stay_where_both_dialects_mean_the_same() {
        for (default, sort, kept) in [
            ("'0.00'", Sort::Real, true),
            ("''", Sort::Integer, false),
            ("'it''s'", Sort::Text, true),
            ("'a' || 'b'", Sort::Text, false),
            ("CURRENT_TIMESTAMP", Sort::Text, false),
            ("NULL", Sort::Blob, true),
        ] {
            assert_eq!(fits(default, sort), kept, "{default}");
        }
    }
}

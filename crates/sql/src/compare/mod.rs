//! Comparison of two results by the aspects that a task names, with the first difference.
//!
//! NULL is the same as NULL. Unless types are strict, numbers are the same when they lie within the tolerance, whatever their type;
//! two whole numbers must be equal; text that is plainly a number (`12`, `-0.5`, not `007` or `1e3`) is the same as that number,
//! while two texts are compared as texts; `true` is 1; dates and times are compared by what they mean (`2025-01-01` is
//! `2025-01-01 00:00:00` and `2025-01-01T00:00:00Z`).

mod cell;
mod columns;
mod difference;
mod matching;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;

use crate::engine::StatementResult;
use crate::task::Compare;
use crate::value::{Column, Value};

use cell::Cell;
pub(crate) use cell::Reading;
use difference::Pair;
use matching::{Row, same_row, unmatched, unmatched_sets};

/// A result: every row has a value per column.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    /// Columns in order.
    pub columns: &'a [Column],
    /// Rows in order.
    pub rows: &'a [Vec<Value>],
}

impl<'a> From<&'a StatementResult> for Grid<'a> {
    fn from(result: &'a StatementResult) -> Self {
        Self { columns: &result.columns, rows: &result.rows }
    }
}

/// Where results differ first, in words. It quotes what was expected, and is never for the acting side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference(pub String);

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Compares what was found with what is expected; `None` when they are the same.
#[must_use]
pub fn difference(expected: Grid<'_>, found: Grid<'_>, how: &Compare) -> Option<Difference> {
    let reading = if how.strict_types { Reading::Exact } else { Reading::Meaning };
    difference_by_column(expected, found, how, &|_| reading)
}

/// As [`difference`], with a reading for each column by its name; `strict_types` counts for nothing.
pub(crate) fn difference_by_column(
    expected: Grid<'_>,
    found: Grid<'_>,
    how: &Compare,
    reading: &dyn Fn(&str) -> Reading,
) -> Option<Difference> {
    if how.distinct {
        let (wanted, given) = (without_repeats(&expected, reading), without_repeats(&found, reading));
        let expected = Grid { rows: &wanted, ..expected };
        return compared(&expected, &Grid { rows: &given, ..found }, how, reading);
    }
    compared(&expected, &found, how, reading)
}

fn compared(
    expected: &Grid<'_>,
    found: &Grid<'_>,
    how: &Compare,
    reading: &dyn Fn(&str) -> Reading,
) -> Option<Difference> {
    let expected_rows = read(expected, reading);
    let found_rows = read(found, reading);
    let places = match columns::arrange(expected, found, (&expected_rows, &found_rows), how) {
        Ok(places) => places,
        Err(difference) => return Some(difference),
    };
    let found_rows = columns::pick(&found_rows, &places);
    let pair = Pair {
        expected,
        found,
        places: &places,
        expected_rows: &expected_rows,
        found_rows: &found_rows,
        tolerance: how.tolerance,
    };
    if how.ordered {
        return pair.in_order();
    }
    let unmatched = if how.distinct { unmatched_sets } else { unmatched };
    pair.as_multisets(&unmatched(&expected_rows, &found_rows, how.tolerance))
}

/// True if rows differ, for columns that are being matched.
fn rows_differ(expected: &[Row<'_>], found: &[Row<'_>], how: &Compare) -> bool {
    if how.distinct && !how.ordered {
        return !unmatched_sets(expected, found, how.tolerance).is_empty();
    }
    if expected.len() != found.len() {
        return true;
    }
    if how.ordered {
        return !expected.iter().zip(found).all(|(a, b)| same_row(a, b, how.tolerance));
    }
    !unmatched(expected, found, how.tolerance).is_empty()
}

/// Rows without those that equal an earlier one.
fn without_repeats(grid: &Grid<'_>, reading: &dyn Fn(&str) -> Reading) -> Vec<Vec<Value>> {
    let mut seen = HashSet::new();
    let rows = read(grid, reading);
    let new = rows.iter().map(|row| seen.insert(row.iter().map(Cell::key).collect::<Vec<_>>()));
    new.zip(grid.rows).filter(|(new, _)| *new).map(|(_, row)| row.clone()).collect()
}

fn read<'a>(grid: &Grid<'a>, reading: &dyn Fn(&str) -> Reading) -> Vec<Row<'a>> {
    let readings: Vec<Reading> = grid.columns.iter().map(|column| reading(&column.name)).collect();
    let rows = grid.rows.iter();
    rows.map(|row| {
        let cells = row.iter().zip(&readings).map(|(value, reading)| Cell::read(value, *reading));
        let mut cells: Row<'a> = cells.collect();
        cells.resize(readings.len(), Cell::Null);
        cells
    })
    .collect()
}

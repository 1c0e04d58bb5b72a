//! The first difference, in words.

use super::matching::{Row, Unmatched, same_row};
use super::{Difference, Grid};
use crate::value::Value;

const SHOWN_CHARS: usize = 80;
const SHOWN_CELLS: usize = 12;

/// Text that is not too long to show.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn show(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "NULL".to_owned(),
        Some(Value::Boolean(value)) => value.to_string(),
        Some(Value::Integer(value)) => value.to_string(),
        Some(Value::Real(value)) => format!("{value:?}"),
        Some(Value::Decimal(digits)) => cut(digits),
        Some(Value::Text(text)) => format!("'{}'", cut(text)),
        Some(Value::Blob(bytes)) => format!("x'{}'", cut(&hex::encode(&bytes[..bytes.len().min(SHOWN_CHARS)]))),
    }
}

fn show_row(row: &[Value], places: Option<&[usize]>) -> String {
    let cells: Vec<String> = match places {
        Some(places) => places.iter().take(SHOWN_CELLS).map(|place| show(row.get(*place))).collect(),
        None => row.iter().take(SHOWN_CELLS).map(|value| show(Some(value))).collect(),
    };
    let more = if row.len() > SHOWN_CELLS { ", …" } else { "" };
    format!("({}{more})", cells.join(", "))
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Both results with their cells in the expected order of columns.
pub(super) struct Pair<'a> {
    pub(super) expected: &'a Grid<'a>,
    pub(super) found: &'a Grid<'a>,
    pub(super) places: &'a [usize],
    pub(super) expected_rows: &'a [Row<'a>],
    pub(super) found_rows: &'a [Row<'a>],
    pub(super) tolerance: f64,
}

impl Pair<'_> {
    /// The first row that is another one, where order counts.
    pub(super) fn in_order(&self) -> Option<Difference> {
        let (wanted, given) = (self.expected_rows, self.found_rows);
        let differing =
            (0..wanted.len().min(given.len())).find(|at| !same_row(&wanted[*at], &given[*at], self.tolerance));
        if let Some(at) = differing {
            return Some(Difference(self.cell(at, at)));
        }
        if wanted.len() == given.len() {
            return None;
        }
        Some(Difference(format!("expected {}, found {}", plural(wanted.len(), "row"), given.len())))
    }

    /// Rows that are missing or too many, where order does not count.
    pub(super) fn as_multisets(&self, unmatched: &Unmatched) -> Option<Difference> {
        match (unmatched.missing.as_slice(), unmatched.extra.as_slice()) {
            ([], []) => None,
            ([wanted], [given]) => Some(Difference(self.cell(*wanted, *given))),
            (missing, extra) => {
                let mut parts = Vec::new();
                if let Some(first) = missing.first() {
                    let row = show_row(&self.expected.rows[*first], None);
                    parts.push(format!("{} missing, such as {row}", plural(missing.len(), "row")));
                }
                if let Some(first) = extra.first() {
                    let row = show_row(&self.found.rows[*first], Some(self.places));
                    parts.push(format!("{} too many, such as {row}", plural(extra.len(), "row")));
                }
                let (wanted, given) = (self.expected_rows.len(), self.found_rows.len());
                Some(Difference(format!("{} (expected {}, found {given})", parts.join("; "), plural(wanted, "row"))))
            }
        }
    }

    fn cell(&self, wanted: usize, given: usize) -> String {
        let (expected, found) = (&self.expected_rows[wanted], &self.found_rows[given]);
        let differing: Vec<usize> =
            (0..expected.len()).filter(|column| !expected[*column].same(&found[*column], self.tolerance)).collect();
        match differing.as_slice() {
            [column] => format!(
                "row {}, column \"{}\": expected {}, found {}",
                wanted + 1,
                cut(&self.expected.columns[*column].name),
                show(self.expected.rows[wanted].get(*column)),
                show(self.found.rows[given].get(self.places[*column])),
            ),
            _ => format!(
                "row {}: expected {}, found {}",
                wanted + 1,
                show_row(&self.expected.rows[wanted], None),
                show_row(&self.found.rows[given], Some(self.places)),
            ),
        }
    }
}

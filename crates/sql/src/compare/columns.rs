//! Matching of the columns of a result with those of the expected one.

use super::cell::{Cell, Key};
use super::matching::Row;
use super::{Difference, Grid, rows_differ};
use crate::task::{Columns, Compare};

/// Orders of columns that are tried at most, counted by the columns that are put in place.
const TRIES_MAX: usize = 5_000;

/// For each expected column the place of the one that was found.
pub(super) fn arrange(
    expected: &Grid<'_>,
    found: &Grid<'_>,
    rows: (&[Row<'_>], &[Row<'_>]),
    how: &Compare,
) -> Result<Vec<usize>, Difference> {
    let (wanted, given) = (expected.columns.len(), found.columns.len());
    if wanted != given {
        return Err(Difference(format!("expected {}, found {given}: {}", counted(wanted), names(found))));
    }
    match how.columns {
        Columns::Position => Ok((0..wanted).collect()),
        Columns::Name => by_name(expected, found),
        Columns::Any => Ok(Search::new(rows.0, rows.1, how, wanted).run().unwrap_or_else(|| (0..wanted).collect())),
    }
}

fn counted(columns: usize) -> String {
    if columns == 1 { "1 column".to_owned() } else { format!("{columns} columns") }
}

fn names(grid: &Grid<'_>) -> String {
    let names: Vec<String> = grid.columns.iter().take(20).map(|column| super::difference::cut(&column.name)).collect();
    names.join(", ")
}

/// Of several columns with the same name the first belongs to the first.
fn by_name(expected: &Grid<'_>, found: &Grid<'_>) -> Result<Vec<usize>, Difference> {
    let mut free: Vec<Option<String>> = found.columns.iter().map(|column| Some(column.name.to_lowercase())).collect();
    let mut places = Vec::with_capacity(free.len());
    for column in expected.columns {
        let name = column.name.to_lowercase();
        let Some(place) = free.iter().position(|other| other.as_deref() == Some(&name)) else {
            return Err(Difference(format!("no column \"{}\" among {}", column.name, names(found))));
        };
        free[place] = None;
        places.push(place);
    }
    Ok(places)
}

/// Depth-first search for an order that makes the results equal, one column after another. A prefix of columns that differs already
/// as a multiset of shorter rows is given up.
struct Search<'a, 'b> {
    expected: &'a [Row<'b>],
    found: &'a [Row<'b>],
    how: &'a Compare,
    candidates: Vec<Vec<usize>>,
    order: Vec<usize>,
    tries_left: usize,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(expected: &'a [Row<'b>], found: &'a [Row<'b>], how: &'a Compare, width: usize) -> Self {
        let content = |rows: &'a [Row<'b>], column: usize| {
            let mut keys: Vec<Key<'b>> = rows.iter().map(|row| row[column].key()).collect();
            keys.sort_unstable();
            keys
        };
        let contents: Vec<_> = (0..width).map(|column| content(found, column)).collect();
        let candidates: Vec<Vec<usize>> = (0..width)
            .map(|column| {
                let wanted = content(expected, column);
                let mut fitting: Vec<usize> = (0..width)
                    .filter(|other| {
                        contents[*other] == wanted
                            || !rows_differ(&pick(expected, &[column]), &pick(found, &[*other]), how)
                    })
                    .collect();
                // Exact content first, then the same place.
                fitting.sort_by_key(|other| (contents[*other] != wanted, *other != column));
                fitting
            })
            .collect();
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by_key(|column| candidates[*column].len());
        Self { expected, found, how, candidates, order, tries_left: TRIES_MAX }
    }

    fn run(mut self) -> Option<Vec<usize>> {
        if self.candidates.iter().any(Vec::is_empty) {
            return None;
        }
        let mut chosen = Vec::new();
        if !self.place(&mut chosen) {
            return None;
        }
        let mut places = vec![0; chosen.len()];
        for (column, place) in self.order.iter().zip(chosen) {
            places[*column] = place;
        }
        Some(places)
    }

    fn place(&mut self, chosen: &mut Vec<usize>) -> bool {
        let Some(column) = self.order.get(chosen.len()).copied() else { return true };
        for place in self.candidates[column].clone() {
            if chosen.contains(&place) {
                continue;
            }
            if self.tries_left == 0 {
                return false;
            }
            self.tries_left -= 1;
            chosen.push(place);
            let columns = &self.order[..chosen.len()];
            if !rows_differ(&pick(self.expected, columns), &pick(self.found, chosen), self.how) && self.place(chosen) {
                return true;
            }
            chosen.pop();
        }
        false
    }
}

/// Rows with these columns alone.
pub(super) fn pick<'a>(rows: &[Row<'a>], columns: &[usize]) -> Vec<Row<'a>> {
    rows.iter()
        .map(|row| columns.iter().map(|column| row.get(*column).copied().unwrap_or(Cell::Null)).collect())
        .collect()
}

//! Rows without a partner: a largest matching between two multisets of rows.
//!
//! Within a tolerance "the same" is not transitive, so that pairing rows one by one, or rounding, can leave rows over that another
//! pairing would match. Equal rows are paired first; what is left then looks for augmenting paths (C. Berge, 1957), which ends in a
//! largest matching whatever the beginning was.

use std::collections::{HashMap, HashSet, VecDeque};

use super::cell::{Cell, Class, Key};

/// A row as it is compared.
pub(super) type Row<'a> = Vec<Cell<'a>>;

/// Rows that are looked at in all searches of one comparison. Only values that lie closer together than the tolerance need more
/// than a few per row.
const LOOKS_MAX: usize = 20_000_000;

/// Rows of either side that have no partner.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unmatched {
    pub(super) missing: Vec<usize>,
    pub(super) extra: Vec<usize>,
}

impl Unmatched {
    pub(super) fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty()
    }
}

pub(super) fn same_row(a: &[Cell<'_>], b: &[Cell<'_>], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b, tolerance))
}

/// Rows as multisets.
pub(super) fn unmatched(expected: &[Row<'_>], found: &[Row<'_>], tolerance: f64) -> Unmatched {
    let mut pairs = Pairs::equal(expected, found);
    let lonely: Vec<usize> = (0..expected.len()).filter(|row| pairs.of_expected[*row].is_none()).collect();
    if !lonely.is_empty() && pairs.of_found.iter().any(Option::is_none) {
        let near = Near::new(found, tolerance);
        let mut looks_left = LOOKS_MAX;
        for row in lonely {
            pairs.augment(row, expected, &near, &mut looks_left);
        }
    }
    let without =
        |partners: &[Option<usize>]| (0..partners.len()).filter(|row| partners[*row].is_none()).collect::<Vec<_>>();
    Unmatched { missing: without(&pairs.of_expected), extra: without(&pairs.of_found) }
}

/// Rows as sets: each needs some partner, which others may share.
pub(super) fn unmatched_sets(expected: &[Row<'_>], found: &[Row<'_>], tolerance: f64) -> Unmatched {
    let without = |rows: &[Row<'_>], others: &[Row<'_>]| {
        let known: HashSet<Vec<Key<'_>>> = others.iter().map(keys).collect();
        let near = Near::new(others, tolerance);
        let lonely = |row: &Row<'_>| !known.contains(&keys(row)) && near.of(row).next().is_none();
        (0..rows.len()).filter(|at| lonely(&rows[*at])).collect::<Vec<_>>()
    };
    Unmatched { missing: without(expected, found), extra: without(found, expected) }
}

fn keys<'a>(row: &Row<'a>) -> Vec<Key<'a>> {
    row.iter().map(Cell::key).collect()
}

struct Pairs {
    of_expected: Vec<Option<usize>>,
    of_found: Vec<Option<usize>>,
}

impl Pairs {
    fn equal(expected: &[Row<'_>], found: &[Row<'_>]) -> Self {
        let mut waiting: HashMap<Vec<Key<'_>>, Vec<usize>> = HashMap::with_capacity(found.len());
        for (at, row) in found.iter().enumerate().rev() {
            waiting.entry(keys(row)).or_default().push(at);
        }
        let mut pairs = Self { of_expected: vec![None; expected.len()], of_found: vec![None; found.len()] };
        for (at, row) in expected.iter().enumerate() {
            if let Some(partner) = waiting.get_mut(&keys(row)).and_then(Vec::pop) {
                pairs.of_expected[at] = Some(partner);
                pairs.of_found[partner] = Some(at);
            }
        }
        pairs
    }

    /// Finds a partner for a row, if need be by finding others new ones: breadth first over alternating paths.
    fn augment(&mut self, start: usize, expected: &[Row<'_>], near: &Near<'_>, looks_left: &mut usize) {
        let mut reached_from: HashMap<usize, usize> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(row) = queue.pop_front() {
            for partner in near.of(&expected[row]) {
                if *looks_left == 0 {
                    return;
                }
                *looks_left -= 1;
                if reached_from.contains_key(&partner) {
                    continue;
                }
                reached_from.insert(partner, row);
                match self.of_found[partner] {
                    Some(taken_by) => queue.push_back(taken_by),
                    None => return self.flip(partner, &reached_from),
                }
            }
        }
    }

    fn flip(&mut self, end: usize, reached_from: &HashMap<usize, usize>) {
        let mut free = Some(end);
        while let Some(partner) = free {
            let row = reached_from[&partner];
            self.of_found[partner] = Some(row);
            free = self.of_expected[row].replace(partner);
        }
    }
}

/// Finds the rows that are the same as a given one within the tolerance.
struct Near<'a> {
    rows: &'a [Row<'a>],
    tolerance: f64,
    groups: HashMap<Vec<Class<'a>>, Group>,
}

/// Rows that agree in everything but numbers, sorted by the number that tells most of them apart.
struct Group {
    column: Option<usize>,
    sorted: Vec<(f64, usize)>,
}

impl<'a> Near<'a> {
    fn new(rows: &'a [Row<'a>], tolerance: f64) -> Self {
        let mut members: HashMap<Vec<Class<'a>>, Vec<usize>> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            members.entry(row.iter().map(Cell::class).collect()).or_default().push(at);
        }
        let groups = members.into_iter().map(|(class, members)| (class, Group::new(rows, &members))).collect();
        Self { rows, tolerance, groups }
    }

    fn of<'b>(&'b self, row: &'b Row<'_>) -> impl Iterator<Item = usize> + 'b {
        let class: Vec<Class<'_>> = row.iter().map(Cell::class).collect();
        let window = self.groups.get(class.as_slice()).map_or(&[][..], |group| group.window(row, self.tolerance));
        window.iter().map(|(_, at)| *at).filter(|at| same_row(row, &self.rows[*at], self.tolerance))
    }
}

impl Group {
    fn new(rows: &[Row<'_>], members: &[usize]) -> Self {
        let numbers = |column: usize| members.iter().map(move |at| (number(&rows[*at][column]), *at));
        let sorted = |column: usize| {
            let mut sorted: Vec<(f64, usize)> = numbers(column).filter_map(|(n, at)| Some((n?, at))).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            sorted
        };
        let distinct = |sorted: &[(f64, usize)]| sorted.chunk_by(|a, b| a.0 == b.0).count();
        let width = members.first().map_or(0, |at| rows[*at].len());
        // A NaN has no place in an order, so a column with one is not searched by.
        let best = (0..width)
            .map(|column| (column, sorted(column)))
            .filter(|(_, sorted)| sorted.len() == members.len())
            .max_by_key(|(_, sorted)| distinct(sorted));
        match best {
            Some((column, sorted)) => Self { column: Some(column), sorted },
            None => Self { column: None, sorted: members.iter().map(|at| (0.0, *at)).collect() },
        }
    }

    /// Rows among which every partner of `row` is.
    fn window(&self, row: &[Cell<'_>], tolerance: f64) -> &[(f64, usize)] {
        let Some(value) = self.column.and_then(|column| number(&row[column])).filter(|value| value.is_finite()) else {
            return &self.sorted;
        };
        // |a - b| <= t max(1, |a|, |b|) with |b| <= |a| + |a - b|: |a - b| <= t max(1, |a|) / (1 - t).
        let reach =
            if tolerance < 0.5 { 1.000_001 * tolerance * value.abs().max(1.0) / (1.0 - tolerance) } else { f64::MAX };
        let from = self.sorted.partition_point(|(other, _)| *other < value - reach);
        let to = self.sorted.partition_point(|(other, _)| *other <= value + reach);
        &self.sorted[from..to]
    }
}

fn number(cell: &Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Number(number) if !number.value.is_nan() => Some(number.value),
        _ => None,
    }
}

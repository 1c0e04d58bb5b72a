//! Thought about mines: an open number with its closed neighbours is a rule, and rules within each other give new ones.

use std::collections::BTreeSet;

use super::Mines;
use crate::Outcome;
use crate::rules::Rules as _;

/// Closed cells, as bits, and how many of them have mines.
type Rule = (u128, u32);

/// Cells to open one after the other, each known to be safe by then; `None` where thought does not lead to the end.
pub(super) fn safe_clicks(start: &Mines) -> Option<Vec<usize>> {
    let mut field = start.clone();
    let mut clicks = Vec::new();
    while field.outcome() == Outcome::Open {
        let safe = safe_cells(&field);
        if safe == 0 {
            return None;
        }
        for cell in (0..field.cells.len()).filter(|cell| safe & bit(*cell) != 0) {
            field.cells[cell].marked = false;
            if field.open(cell) {
                clicks.push(cell);
            }
        }
    }
    (field.outcome() == Outcome::Won).then_some(clicks)
}

/// Closed cells that are known to be safe, as bits; fields have up to 128 cells.
fn safe_cells(field: &Mines) -> u128 {
    let mut rules: BTreeSet<Rule> = (0..field.cells.len()).filter_map(|cell| rule(field, cell)).collect();
    loop {
        let safe = rules.iter().filter(|(_, mines)| *mines == 0).fold(0, |all, (cells, _)| all | cells);
        if safe != 0 {
            return safe;
        }
        let found: Vec<Rule> = rules
            .iter()
            .flat_map(|inner| rules.iter().filter_map(|outer| difference(*inner, *outer)))
            .filter(|rule| !rules.contains(rule))
            .collect();
        if found.is_empty() {
            return 0;
        }
        rules.extend(found);
    }
}

/// The rule that two rules give together, if one lies within the other, or if all that the other has besides are mines.
fn difference((inner, few): Rule, (outer, many): Rule) -> Option<Rule> {
    let rest = outer & !inner;
    let shared = inner & outer;
    if rest == 0 || shared == 0 {
        return None;
    }
    if shared == inner {
        return Some((rest, many.checked_sub(few)?));
    }
    // All cells of the outer rule alone have mines, so the inner one alone has none.
    (many.checked_sub(few)? == rest.count_ones()).then_some((inner & !outer, 0))
}

/// The rule of an open number.
fn rule(field: &Mines, cell: usize) -> Option<Rule> {
    let is_number = field.cells[cell].open && !field.cells[cell].mine;
    let closed = field.grid().around(cell).filter(|other| !field.cells[*other].open);
    let cells = closed.fold(0, |all, other| all | bit(other));
    let mines = u32::try_from(field.near(cell)).unwrap_or_default();
    (is_number && cells != 0).then_some((cells, mines))
}

const fn bit(cell: usize) -> u128 {
    1 << cell
}

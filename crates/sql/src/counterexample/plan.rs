//! Plan of a database before rows are drawn: keys, references, domains, constraints.

use super::constraint::{Condition, Constraint, Test, constraint};
use super::domain::Domain;
use crate::dataset::{Dataset, Table};
use crate::value::Value;

/// Columns that refer to columns of another table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) columns: Vec<usize>,
    pub(super) parent: usize,
    pub(super) to: Vec<usize>,
    /// True if a row without its counterpart is refused.
    pub(super) hard: bool,
}

/// A table, ready for drawing.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    pub(super) domains: Vec<Domain>,
    /// Sets of columns that are unique, the primary key first where there is one.
    pub(super) keys: Vec<Vec<usize>>,
    pub(super) has_primary: bool,
    pub(super) links: Vec<Link>,
    /// Columns that conditions of the table speak of, and what rows that meet them hold there.
    pub(super) bound: Vec<usize>,
    pub(super) together: Vec<Vec<Value>>,
}

impl Shape {
    /// True unless the value is NULL and the column is NOT NULL or of the primary key.
    pub(super) fn allows(&self, column: usize, value: &Value) -> bool {
        *value != Value::Null || self.domains[column].nullable
    }
}

/// A database, ready for drawing.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) shapes: Vec<Shape>,
    /// Tables, those that are referred to first.
    pub(super) order: Vec<usize>,
    pub(super) constraints: Vec<Constraint>,
}

impl Plan {
    pub(super) fn new(dataset: &Dataset, references: &[&str]) -> Self {
        let constraints: Vec<Constraint> =
            references.iter().filter_map(|reference| constraint(reference, dataset)).collect();
        let mut shapes: Vec<Shape> = dataset.tables.iter().map(|table| shape(table, dataset)).collect();
        for constraint in &constraints {
            for condition in &constraint.conditions {
                learn(condition, constraint, &mut shapes);
            }
            for ((left_row, left), (right_row, right)) in &constraint.equal {
                link(&mut shapes, (constraint.tables[*left_row], *left), (constraint.tables[*right_row], *right));
            }
        }
        let order = order(&shapes);
        Self { shapes, order, constraints }
    }
}

fn place(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
}

fn places(table: &Table, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|name| place(table, name)).collect()
}

fn shape(table: &Table, dataset: &Dataset) -> Shape {
    let primary = places(table, &table.primary_key).filter(|key| !key.is_empty());
    let has_primary = primary.is_some();
    let indexes = table.indexes.iter().filter(|index| index.unique).map(|index| &index.columns);
    let keys: Vec<Vec<usize>> = primary
        .into_iter()
        .chain(table.unique.iter().chain(indexes).filter_map(|names| places(table, names)))
        .collect();
    let domains = table.columns.iter().enumerate().map(|(at, column)| {
        let in_primary = has_primary && keys[0].contains(&at);
        let nullable = !column.not_null && !in_primary;
        Domain::new(column.sort, nullable, table.rows.iter().filter_map(|row| row.get(at)))
    });
    let links = table.foreign_keys.iter().filter_map(|key| {
        let parent = dataset.tables.iter().position(|other| other.name.eq_ignore_ascii_case(&key.table))?;
        let (columns, to) = (places(table, &key.columns)?, places(&dataset.tables[parent], &key.references)?);
        let same = columns.len() == to.len() && !columns.is_empty();
        same.then_some(Link { columns, parent, to, hard: !key.unenforced })
    });
    let words = |check: &String| {
        check.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).collect::<Vec<_>>()
    };
    let spoken: Vec<String> = table.checks.iter().flat_map(words).collect();
    let mut shape = Shape {
        domains: domains.collect(),
        keys,
        has_primary,
        links: Vec::new(),
        bound: Vec::new(),
        together: Vec::new(),
    };
    for link in links {
        if !shape.links.iter().any(|other| other.columns == link.columns && other.parent == link.parent) {
            shape.links.push(link);
        }
    }
    let settled = |at: &usize| {
        shape.keys.iter().flatten().chain(shape.links.iter().flat_map(|link| &link.columns)).any(|other| other == at)
    };
    let named = |at: &usize| spoken.contains(&table.columns[*at].name.to_lowercase());
    shape.bound = (0..table.columns.len()).filter(|at| named(at) && !settled(at)).collect();
    shape.together = table.rows.iter().map(|row| shape.bound.iter().map(|at| row[*at].clone()).collect()).collect();
    shape
}

fn learn(condition: &Condition, constraint: &Constraint, shapes: &mut [Shape]) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| learn(part, constraint, shapes)),
        Condition::Test((row, column), test) => {
            if !matches!(test, Test::Compare(_, Value::Null)) {
                shapes[constraint.tables[*row]].domains[*column].learn(test);
            }
        }
    }
}

/// Columns that references join although nothing is declared: the one that is no key takes its values from the other.
fn link(shapes: &mut [Shape], left: (usize, usize), right: (usize, usize)) {
    let key = |(table, column): (usize, usize)| shapes[table].keys.iter().any(|key| *key == [column]);
    let (child, parent) = if key(right) || !key(left) { (left, right) } else { (right, left) };
    let joined = |shape: &Shape| shape.links.iter().any(|link| link.columns.contains(&child.1));
    if child.0 != parent.0
        && !key(child)
        && !joined(&shapes[child.0])
        && !shapes[parent.0].links.iter().any(|link| link.parent == child.0)
    {
        shapes[child.0].links.push(Link { columns: vec![child.1], parent: parent.0, to: vec![parent.1], hard: false });
    }
}

fn order(shapes: &[Shape]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < shapes.len() {
        let waiting: Vec<usize> = (0..shapes.len()).filter(|table| !order.contains(table)).collect();
        let ready = waiting.iter().find(|table| {
            shapes[**table].links.iter().all(|link| link.parent == **table || order.contains(&link.parent))
        });
        // In a circle the first one begins.
        order.push(*ready.unwrap_or(&waiting[0]));
    }
    order
}

//! Rows, drawn from a seed: some at random, and some that a reference brings together, or would but for one detail.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::constraint::{ColumnRef, Condition, Constraint, Test};
use super::domain::{Domain, holds};
use super::plan::{Link, Plan};
use crate::dataset::Sort;
use crate::value::Value;

/// Style of the drawn rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Rows per table that are drawn at random, about.
    pub(super) base: usize,
    /// Rows per table at most.
    pub(super) most: usize,
    /// Probability that a value repeats, in [0, 1].
    pub(super) ties: f64,
    /// Number of times that a value is NULL where it may be.
    pub(super) nulls: f64,
    /// Number of times that each reference brings its rows.
    pub(super) rounds: usize,
}

/// Values by column.
type Given = BTreeMap<usize, Value>;

/// Depth to which rows may ask for rows that they refer to.
const DEPTH: usize = 6;

/// Tables being filled.
pub(super) struct Draft<'p> {
    plan: &'p Plan,
    style: Style,
    rng: ChaCha8Rng,
    rows: Vec<Vec<Vec<Value>>>,
    taken: Vec<Vec<BTreeMap<String, usize>>>,
    /// A few values per column, so that they repeat.
    usual: Vec<Vec<Vec<Value>>>,
    fresh: i64,
}

impl<'p> Draft<'p> {
    pub(super) fn new(plan: &'p Plan, style: Style, mut rng: ChaCha8Rng) -> Self {
        let usual =
            plan.shapes.iter().map(|shape| shape.domains.iter().map(|domain| usual(domain, &mut rng)).collect());
        let usual = usual.collect();
        let taken = plan.shapes.iter().map(|shape| vec![BTreeMap::new(); shape.keys.len()]).collect();
        let fresh = rng.random_range(1..40);
        Self { plan, style, rng, rows: vec![Vec::new(); plan.shapes.len()], taken, usual, fresh }
    }

    /// The rows of every table.
    pub(super) fn fill(mut self) -> Vec<Vec<Vec<Value>>> {
        for table in self.plan.order.clone() {
            let count = self.rng.random_range(self.style.base * 2 / 3..=self.style.base * 4 / 3);
            for _ in 0..count {
                self.add(table, &Given::new(), 0);
            }
        }
        let mut places: Vec<usize> = (0..self.plan.constraints.len()).collect();
        for _ in 0..self.style.rounds {
            places.shuffle(&mut self.rng);
            for place in &places {
                self.witness(&self.plan.constraints[*place]);
            }
        }
        for rows in &mut self.rows {
            rows.shuffle(&mut self.rng);
        }
        self.rows
    }

    /// Adds a row, with these values where they are given; its place, or that of the row that already has its primary key. `None`
    /// where no such row can be.
    fn add(&mut self, table: usize, given: &Given, depth: usize) -> Option<usize> {
        let plan = self.plan;
        let shape = &plan.shapes[table];
        if shape.has_primary
            && let Some(values) =
                shape.keys[0].iter().map(|column| given.get(column).cloned()).collect::<Option<Vec<_>>>()
            && let Some(place) = self.taken[table][0].get(&written(values.iter()))
        {
            return Some(*place);
        }
        if self.rows[table].len() >= self.style.most || depth > DEPTH {
            return None;
        }
        for attempt in 0..6 {
            let row = self.row(table, given, attempt, depth)?;
            let keys: Vec<String> =
                shape.keys.iter().map(|key| written(key.iter().map(|column| &row[*column]))).collect();
            let free = shape.keys.iter().zip(&keys).enumerate().all(|(at, (key, text))| {
                key.iter().any(|column| row[*column] == Value::Null) || !self.taken[table][at].contains_key(text)
            });
            if free {
                let place = self.rows[table].len();
                for (at, text) in keys.into_iter().enumerate() {
                    self.taken[table][at].insert(text, place);
                }
                self.rows[table].push(row);
                return Some(place);
            }
        }
        None
    }

    fn row(&mut self, table: usize, given: &Given, attempt: usize, depth: usize) -> Option<Vec<Value>> {
        let plan = self.plan;
        let shape = &plan.shapes[table];
        let mut set = given.clone();
        for link in &shape.links {
            self.refer(table, link, &mut set, depth)?;
        }
        if !shape.together.is_empty() {
            let sample = &shape.together[self.rng.random_range(0..shape.together.len())];
            set.extend(shape.bound.iter().copied().zip(sample.iter().cloned()));
        }
        let mut row = Vec::with_capacity(shape.domains.len());
        for column in 0..shape.domains.len() {
            let key = shape.keys.iter().any(|key| key.contains(&column));
            row.push(match set.remove(&column) {
                Some(value) => value,
                None if key => self.key(table, column, attempt),
                None => self.value(table, column),
            });
        }
        Some(row)
    }

    /// Settles the columns of a reference. `None` where a counterpart is needed and cannot be.
    fn refer(&mut self, table: usize, link: &Link, set: &mut Given, depth: usize) -> Option<()> {
        let own: Vec<Option<Value>> = link.columns.iter().map(|column| set.get(column).cloned()).collect();
        if own.iter().flatten().any(|value| *value == Value::Null) {
            return Some(());
        }
        let asked: Given = link.to.iter().zip(&own).filter_map(|(to, value)| Some((*to, value.clone()?))).collect();
        let shape = &self.plan.shapes[table];
        let fits = |row: &Vec<Value>| {
            asked.iter().all(|(column, value)| row[*column] == *value)
                && link.columns.iter().zip(&link.to).all(|(column, to)| shape.allows(*column, &row[*to]))
        };
        let fitting: Vec<usize> =
            (0..self.rows[link.parent].len()).filter(|place| fits(&self.rows[link.parent][*place])).collect();
        if own.iter().all(Option::is_some) {
            return match (link.hard && fitting.is_empty(), link.parent == table) {
                (false, _) => Some(()),
                (true, true) => None,
                (true, false) => self.add(link.parent, &asked, depth + 1).map(|_| ()),
            };
        }
        if !link.hard && self.rng.random_bool(0.1) {
            return Some(());
        }
        let nullable = link.columns.iter().all(|column| self.plan.shapes[table].domains[*column].nullable);
        if nullable && (fitting.is_empty() || self.rng.random_bool(self.style.nulls)) {
            set.insert(link.columns[0], Value::Null);
            return Some(());
        }
        let parent = if !fitting.is_empty() {
            // Some have many counterparts, and the last ones none.
            let spread = self.rng.random::<f64>().powf(1.0 + self.style.ties * 1.5);
            fitting[((fitting.len() as f64 * 0.85 * spread) as usize).min(fitting.len() - 1)]
        } else if link.hard && link.parent != table {
            self.add(link.parent, &asked, depth + 1)?
        } else {
            return Some(());
        };
        for (column, to) in link.columns.iter().zip(&link.to) {
            let value = self.rows[link.parent][parent][*to].clone();
            set.insert(*column, value);
        }
        Some(())
    }

    /// A value for a column of a key.
    fn key(&mut self, table: usize, column: usize, attempt: usize) -> Value {
        let shape = &self.plan.shapes[table];
        let domain = &shape.domains[column];
        let alone = shape.keys.iter().any(|key| *key == [column]);
        if attempt < 4 && !alone && self.rng.random_bool(self.style.ties) {
            let usual = &self.usual[table][column];
            return usual[self.rng.random_range(0..usual.len())].clone();
        }
        if attempt < 2 && self.rng.random_bool(0.5) && !domain.observed.is_empty() {
            return domain.observed[self.rng.random_range(0..domain.observed.len())].clone();
        }
        self.fresh += 1;
        domain.fresh(self.fresh, &mut self.rng)
    }

    fn value(&mut self, table: usize, column: usize) -> Value {
        let domain = &self.plan.shapes[table].domains[column];
        let nulls = if domain.held_null { self.style.nulls } else { self.style.nulls / 2.0 };
        if domain.nullable && self.rng.random_bool(nulls) {
            return Value::Null;
        }
        if !domain.near.is_empty() && self.rng.random_bool(0.3) {
            return domain.near[self.rng.random_range(0..domain.near.len())].clone();
        }
        let usual = &self.usual[table][column];
        if domain.category || self.rng.random_bool(self.style.ties) {
            return usual[self.rng.random_range(0..usual.len())].clone();
        }
        if !domain.observed.is_empty() && self.rng.random_bool(0.3) {
            return domain.observed[self.rng.random_range(0..domain.observed.len())].clone();
        }
        self.fresh += self.rng.random_range(1..4);
        domain.fresh(self.fresh, &mut self.rng)
    }

    /// Rows that a reference brings together, several times where it groups them; or rows that lack one detail of it.
    fn witness(&mut self, constraint: &Constraint) {
        let mut tests = Vec::new();
        for condition in &constraint.conditions {
            self.choose(condition, &mut tests);
        }
        let details = tests.len() + constraint.equal.len();
        let missed = (details > 0 && self.rng.random_bool(0.4)).then(|| self.rng.random_range(0..details));
        let mut classes = Classes::default();
        for (at, (left, right)) in constraint.equal.iter().enumerate() {
            if missed != Some(tests.len() + at) {
                classes.join(*left, *right);
            }
        }
        let mut fixed: BTreeMap<ColumnRef, Value> = BTreeMap::new();
        for (at, ((row, column), test)) in tests.iter().enumerate() {
            let domain = &self.plan.shapes[constraint.tables[*row]].domains[*column];
            let class = classes.of((*row, *column));
            if fixed.get(&class).is_none_or(|value| !holds(test, value))
                && let Some(value) = domain.meeting(test, missed != Some(at), &mut self.rng)
            {
                fixed.insert(class, value);
            }
        }
        let times = match (constraint.keys.is_empty(), constraint.threshold) {
            (true, _) => 1,
            (false, Some(size)) => (size + self.rng.random_range(-1..=1)).max(1),
            (false, None) => self.rng.random_range(1..=3),
        };
        for _ in 0..times {
            let mut values = fixed.clone();
            if self.bring(constraint, &mut classes, &mut values).is_none() {
                return;
            }
            for key in &constraint.keys {
                let class = classes.of(*key);
                if let Some(value) = values.get(&class) {
                    fixed.insert(class, value.clone());
                }
            }
        }
    }

    /// Adds one row per table of a clue, each with the values that its columns share with others.
    fn bring(
        &mut self,
        constraint: &Constraint,
        classes: &mut Classes,
        values: &mut BTreeMap<ColumnRef, Value>,
    ) -> Option<()> {
        let mut rows: Vec<usize> = (0..constraint.tables.len()).collect();
        let rank = |table: usize| self.plan.order.iter().position(|other| *other == table);
        rows.sort_by_key(|row| rank(constraint.tables[*row]));
        for row in rows {
            let table = constraint.tables[row];
            let shape = &self.plan.shapes[table];
            let columns = shape.domains.len();
            // NULL equals nothing: where the row must hold a value, it holds one of its own.
            let given: Given = (0..columns)
                .filter_map(|column| Some((column, values.get(&classes.of((row, column)))?.clone())))
                .filter(|(column, value)| shape.allows(*column, value))
                .collect();
            let place = self.add(table, &given, 0)?;
            for column in 0..columns {
                values.entry(classes.of((row, column))).or_insert_with(|| self.rows[table][place][column].clone());
            }
        }
        Some(())
    }

    fn choose(&mut self, condition: &Condition, tests: &mut Vec<(ColumnRef, Test)>) {
        match condition {
            Condition::All(parts) => parts.iter().for_each(|part| self.choose(part, tests)),
            Condition::Any(parts) if parts.is_empty() => {}
            Condition::Any(parts) => {
                let part = self.rng.random_range(0..parts.len());
                self.choose(&parts[part], tests);
            }
            Condition::Test(spot, test) => tests.push((*spot, test.clone())),
        }
    }
}

/// Some values that a column held; for numbers also some that it did not, so that the greatest is another one.
fn usual(domain: &Domain, rng: &mut ChaCha8Rng) -> Vec<Value> {
    let mut values = domain.observed.clone();
    values.shuffle(rng);
    // Of few values some are missing now and then, so that it shows who counts them.
    let few = values.len() <= 4 && !values.is_empty() && rng.random_bool(0.5);
    values.truncate(if few { rng.random_range(1..=values.len()) } else { rng.random_range(3..=9) });
    let numbers = matches!(domain.sort, Sort::Integer | Sort::Real | Sort::Decimal) && values.len() > 2;
    let more = if values.is_empty() { 4 } else { 2 * usize::from(numbers) };
    for number in 1..=more {
        let value = domain.fresh(number as i64, rng);
        values.push(value);
    }
    values
}

/// Columns that hold the same value.
#[derive(Debug, Default)]
struct Classes(Vec<BTreeSet<ColumnRef>>);

impl Classes {
    fn of(&self, spot: ColumnRef) -> ColumnRef {
        self.0.iter().find(|class| class.contains(&spot)).and_then(|class| class.first()).copied().unwrap_or(spot)
    }

    fn join(&mut self, left: ColumnRef, right: ColumnRef) {
        let (mut joined, apart): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|class| class.contains(&left) || class.contains(&right));
        joined.push(BTreeSet::from([left, right]));
        self.0 = apart;
        self.0.push(joined.into_iter().flatten().collect());
    }
}

/// Values as a key by which they are found again.
fn written<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    values.map(|value| format!("{value:?}\u{1f}")).collect()
}

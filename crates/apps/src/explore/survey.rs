//! The calls that stand for all others: found by trying random ones at the beginning and keeping those that meet guards
//! otherwise than any before them, by the whole vector of their truths.
//!
//! Rows are drawn near rows that were drawn before, along references in both directions, since what fits together in an app is
//! mostly what refers to each other. A call that was kept is tried again with one value exchanged, which leads from guard to
//! guard.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};

use super::alphabet::{Alphabet, ExtraValues};
use super::hints::Hint;
use crate::app::{Parameter, Role};
use crate::data::{ChangeKind, changes};
use crate::kinds::{TableId, Type};
use crate::run::draw::Draws;
use crate::run::{CallError, World};
use crate::value::{RowKey, Value};

/// Calls of one action that are kept.
const KEPT_MAX: usize = 24;
/// Calls that are kept though they meet guards and change tables as another does, where they succeed.
const ALIKE_MAX: usize = 2;
/// Rows near another that are looked at.
const NEAR_MAX: usize = 64;
/// Number of references within which a row is near.
const NEAR_STEPS: usize = 3;
/// Rows that refer to one row and are near it.
const REFERRERS_MAX: usize = 4;

/// Coverage by a call: the truths of the guards, and what came of it if all held.
type CallCoverage = (Vec<Option<bool>>, String);

/// Fills an alphabet with calls of actions, by their place and who makes them, from so many tries of each.
pub(super) fn survey(world: &World, alphabet: &mut Alphabet, actions: &[(usize, Role)], tries: usize) {
    let app = world.app();
    for (action, role) in actions {
        let name = app.actions[*action].name.as_bytes();
        let random = Draws::of(&[b"survey", app.name.as_bytes(), name]).random().clone();
        Survey { world, alphabet, action: *action, role: *role, random, near: Vec::new() }.run(tries);
    }
}

struct Survey<'a> {
    world: &'a World,
    alphabet: &'a mut Alphabet,
    action: usize,
    role: Role,
    random: ChaCha8Rng,
    /// Rows of the call that is put together.
    near: Vec<RowKey>,
}

impl Survey<'_> {
    fn run(&mut self, tries: usize) {
        let mut met: BTreeMap<CallCoverage, usize> = BTreeMap::new();
        let (mut succeeding, mut failing) = (Vec::new(), Vec::new());
        let mut known = BTreeSet::new();
        let tries = if self.world.app().actions[self.action].parameters.is_empty() { 1 } else { tries };
        for _ in 0..tries {
            let kept = succeeding.len() + failing.len();
            let arguments = match self.random.random_range(0..=kept * 2) {
                fresh if fresh >= kept => self.arguments(None),
                place => {
                    let kept: &Map<String, Json> =
                        succeeding.get(place).unwrap_or_else(|| &failing[place - succeeding.len()]);
                    self.arguments(Some(&kept.clone()))
                }
            };
            if kept >= KEPT_MAX || !known.insert(Json::Object(arguments.clone()).to_string()) {
                continue;
            }
            let Some(meeting) = self.meet(&arguments) else { continue };
            let succeeds = meeting.1.starts_with('+');
            let count = met.entry(meeting).or_insert(0);
            *count += 1;
            if *count <= if succeeds { ALIKE_MAX } else { 1 } {
                self.alphabet.add_rows(self.near.iter().copied());
                if succeeds { succeeding.push(arguments) } else { failing.push(arguments) }
            }
        }
        succeeding.append(&mut failing);
        self.alphabet.corpus[self.action] = succeeding;
    }

    /// Coverage by a call; none for one that does not come to the guards.
    fn meet(&self, arguments: &Map<String, Json>) -> Option<CallCoverage> {
        let action = &self.world.app().actions[self.action];
        let truths = self.world.probe(self.role, action, arguments).ok()?;
        if truths.iter().any(|truth| *truth != Some(true)) {
            return Some((truths, String::new()));
        }
        let mut after = self.world.clone();
        let outcome = match after.call(self.role, &action.name, arguments) {
            Ok(_) => {
                let changed = changes(self.world.data(), after.data()).into_iter().map(|change| match change.kind {
                    ChangeKind::Created => format!("+{}", change.row.table.0),
                    ChangeKind::Deleted => format!("-{}", change.row.table.0),
                    ChangeKind::Updated { columns } => {
                        format!("={}.{:?}", change.row.table.0, columns.iter().map(|(column, ..)| column.0).max())
                    }
                });
                format!("+{:?}", changed.collect::<BTreeSet<_>>())
            }
            Err(CallError::Raised(raised)) => raised.code.to_string(),
            Err(CallError::Crashed(error)) => error.to_string(),
        };
        Some((truths, outcome))
    }

    /// Arguments of the action; like others but for one of them, if others are given.
    fn arguments(&mut self, like: Option<&Map<String, Json>>) -> Map<String, Json> {
        self.near.clear();
        let parameters = &self.world.app().actions[self.action].parameters;
        let other = if parameters.is_empty() { 0 } else { self.random.random_range(0..parameters.len()) };
        let mut arguments = Map::new();
        if let Some(like) = like {
            for (place, parameter) in parameters.iter().enumerate().filter(|(place, _)| *place != other) {
                if let Some(value) = like.get(&*parameter.name) {
                    self.note(&parameters[place].kind, value);
                    arguments.insert(parameter.name.to_string(), value.clone());
                }
            }
        }
        for (place, parameter) in parameters.iter().enumerate() {
            if like.is_some() && place != other {
                continue;
            }
            let hint = self.alphabet.hint(self.action, place).clone();
            let left_out = !parameter.required() && self.random.random_range(0..2) == 0;
            if let (false, Some(value)) = (left_out, self.value(parameter, &hint)) {
                arguments.insert(parameter.name.to_string(), value);
            }
        }
        arguments
    }

    /// Notes the rows of a value.
    fn note(&mut self, kind: &Type, value: &Json) {
        match (kind.present(), value) {
            (Type::Row(table), Json::String(id)) => self.near.extend(self.world.data().by_id(*table, id)),
            (Type::List(element), Json::Array(values)) => values.iter().for_each(|value| self.note(element, value)),
            (Type::Record(fields), Json::Object(values)) => fields
                .iter()
                .filter_map(|(name, kind)| Some((kind, values.get(&**name)?)))
                .for_each(|(kind, value)| self.note(kind, value)),
            _ => {}
        }
    }

    /// A value for a parameter; none where there is none.
    fn value(&mut self, parameter: &Parameter, hint: &Hint) -> Option<Json> {
        match parameter.kind.present() {
            Type::Row(table) => {
                let row = self.row(*table)?;
                self.near.push(row);
                self.world.data().id(row).map(|id| json!(&**id))
            }
            Type::List(_) => {
                let element = parameter.inner.first()?;
                let least = parameter.bounds.least.and_then(|least| u64::try_from(least).ok()).unwrap_or(0);
                let length = self.random.random_range(least..=least + 2);
                Some(Json::Array((0..length).filter_map(|_| self.value(element, hint)).collect()))
            }
            Type::Record(_) => {
                let mut record = Map::new();
                for field in &parameter.inner {
                    if field.required() || self.random.random_range(0..2) == 0 {
                        record.insert(field.name.to_string(), self.value(field, hint)?);
                    }
                }
                Some(Json::Object(record))
            }
            _ => {
                let mut fresh: BTreeMap<TableId, Vec<RowKey>> = BTreeMap::new();
                self.near.iter().for_each(|row| fresh.entry(row.table).or_default().push(*row));
                let around = ExtraValues { world: self.world, fresh: &fresh, narrow: true };
                let choices: Vec<Json> =
                    self.alphabet.choices(parameter, hint, &around).into_iter().flatten().collect();
                (!choices.is_empty()).then(|| choices[self.random.random_range(0..choices.len())].clone())
            }
        }
    }

    /// A row of a table: near those of the call, among those that were kept, or any.
    fn row(&mut self, table: TableId) -> Option<RowKey> {
        let near = if self.random.random_range(0..2) == 0 { self.near(table) } else { Vec::new() };
        let kept = self.alphabet.rows.get(&table).map(Vec::as_slice).unwrap_or_default();
        let rows = match (near.is_empty(), kept.is_empty()) {
            (false, _) => near.as_slice(),
            (true, false) if self.random.random_range(0..2) == 0 => kept,
            _ => {
                let count = self.world.data().len(table);
                return if count == 0 {
                    None
                } else {
                    self.world.data().rows(table).nth(self.random.random_range(0..count))
                };
            }
        };
        Some(rows[self.random.random_range(0..rows.len())])
    }

    /// Rows of a table that the rows of the call refer to, or that refer to them, a few references away.
    fn near(&self, table: TableId) -> Vec<RowKey> {
        let data = self.world.data();
        let mut seen: Vec<RowKey> = self.near.clone();
        let mut from = 0;
        for _ in 0..NEAR_STEPS {
            let until = seen.len();
            for place in from..until {
                let row = seen[place];
                let refers = data.row(row).into_iter().flat_map(|row| row.cells.iter());
                let refers = refers.filter_map(|value| if let Value::Row(other) = value { Some(*other) } else { None });
                let value = Value::Row(row);
                let referrers = data.schema().referrers(row.table).iter().flat_map(|(table, column)| {
                    data.matching(*table, *column, &value).take(REFERRERS_MAX).collect::<Vec<_>>()
                });
                for other in refers.chain(referrers) {
                    if seen.len() < NEAR_MAX && !seen.contains(&other) {
                        seen.push(other);
                    }
                }
            }
            from = until;
        }
        seen.into_iter().filter(|row| row.table == table).collect()
    }
}

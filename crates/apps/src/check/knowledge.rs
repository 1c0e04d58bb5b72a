//! Knowledge that the solution of a task could have. Columns of the data are changed throughout, and the same calls are made
//! again: where the text and everything that they answer stay the same, whoever reads them acts the same, and the goal has to
//! hold as before.
//!
//! Each task is tried with all columns changed at once that no call of a task has shown so far. Tasks that are solved in a new way
//! are tried column by column.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::hidden;
use super::replies::{Effect, compared, replies};
use crate::app::App;
use crate::app::task::Draw;
use crate::data::Data;
use crate::kinds::{ColumnId, TableId, Type};
use crate::task::call::Call;
use crate::task::draw_key::{DrawKey, Order};
use crate::task::instance::Instance;
use crate::task::parameter::Drawing;
use crate::value::{RowKey, Value};

/// Tasks that are tried column by column in any case.
const TASKS_IN_FULL: u64 = 3;
/// Tasks whose data are changed behind their set-up.
const TASKS_BEHIND: u64 = 20;
/// Tasks that are tried column by column because they are solved in a new way, or because something is shown for the first time.
const MORE_IN_FULL_MAX: u64 = 24;

/// Distance by which values are moved: by the smallest step, and so far that comparisons come out otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Near,
    Far,
}

impl Move {
    const ALL: [Self; 2] = [Self::Near, Self::Far];

    /// Numbers, in units of their type.
    const fn units(self) -> i64 {
        match self {
            Self::Near => 1,
            Self::Far => 100_000,
        }
    }

    const fn days(self) -> i64 {
        match self {
            Self::Near => 1,
            Self::Far => 400,
        }
    }

    /// Places in a list of words or rows, forwards.
    const fn places(self, length: usize) -> usize {
        match self {
            Self::Near => 1,
            Self::Far => length.saturating_sub(1),
        }
    }
}

/// Seconds of a day.
const DAY: i64 = 86_400;
/// A day where there was none, since 1970-01-01.
const SOME_DAY: i64 = 20_000;

type Spot = (TableId, ColumnId);

/// Facts found out about columns.
pub(super) struct Knowledge {
    /// Columns that no task has shown so far.
    silent: BTreeSet<(Move, Spot)>,
    /// Initial databases in which all of these are changed: by move and variant.
    bases: BTreeMap<(Move, usize), Data>,
    /// Ways of solving that were tried column by column: the calls, with the arguments that they have.
    ways: BTreeSet<BTreeSet<String>>,
    tasks: u64,
    more: u64,
    /// Tasks that were not tried column by column though their way is new, or though something was shown for the first time.
    pub(super) passed_over: u64,
}

impl Knowledge {
    pub(super) fn of(app: &App) -> Self {
        let spots = app.schema.ids().flat_map(|(table, described)| described.columns().map(move |(at, _)| (table, at)));
        let silent = spots.flat_map(|spot| Move::ALL.map(|by| (by, spot))).collect();
        Self { silent, bases: BTreeMap::new(), ways: BTreeSet::new(), tasks: 0, more: 0, passed_over: 0 }
    }

    /// A column, as `table.column`, that the goal of a task follows from and that neither text nor calls have shown.
    pub(super) fn unseen(&mut self, draw_key: DrawKey<'_>, instance: &Arc<Instance>) -> Option<String> {
        instance.template().solution.as_ref()?;
        let seen = replies(instance, instance.solution())?;
        self.tasks += 1;
        if self.tasks <= TASKS_BEHIND
            && let Some(hidden) = hidden::hidden(draw_key, instance, &seen)
        {
            return Some(hidden);
        }
        let new_way = self.ways.insert(way(instance.solution()));
        if self.tasks <= TASKS_IN_FULL || new_way && self.may_go_on() {
            return self.column_by_column(draw_key, instance, &seen);
        }
        for by in Move::ALL {
            let Some(base) = self.base(draw_key, by) else { continue };
            match effect(draw_key, instance, &seen, base) {
                Effect::None => {}
                Effect::Hidden => return self.column_by_column(draw_key, instance, &seen),
                Effect::Observable if self.may_go_on() => return self.column_by_column(draw_key, instance, &seen),
                Effect::Observable => {}
            }
        }
        None
    }

    fn may_go_on(&mut self) -> bool {
        let goes_on = self.more < MORE_IN_FULL_MAX;
        self.more += u64::from(goes_on);
        self.passed_over += u64::from(!goes_on);
        goes_on
    }

    fn column_by_column(
        &mut self,
        draw_key: DrawKey<'_>,
        instance: &Arc<Instance>,
        seen: &(Vec<Json>, bool),
    ) -> Option<String> {
        let app = draw_key.app;
        let base = draw_key.base().ok()?;
        for (table, described) in app.schema.ids() {
            for (column, about) in described.columns() {
                for by in Move::ALL {
                    let spot = (table, column);
                    let Some(changed) = changed(app, base, spot, by) else { continue };
                    match effect(draw_key, instance, seen, &changed) {
                        Effect::None => {}
                        Effect::Hidden => return Some(format!("{}.{}", described.name, about.name)),
                        Effect::Observable => {
                            if self.silent.remove(&(by, spot)) {
                                self.bases.clear();
                            }
                        }
                    }
                }
            }
        }
        None
    }

    /// The initial database of a task with every silent column changed.
    fn base(&mut self, draw_key: DrawKey<'_>, by: Move) -> Option<&Data> {
        let key = (by, draw_key.variant());
        if !self.bases.contains_key(&key) {
            let base = draw_key.base().ok()?;
            let spots = self.silent.iter().filter(|(moved, _)| *moved == by).map(|(_, spot)| *spot);
            let all = spots.fold(base.clone(), |data, spot| changed(draw_key.app, &data, spot, by).unwrap_or(data));
            self.bases.insert(key, all);
        }
        self.bases.get(&key)
    }
}

/// The calls of a solution with the arguments that they have, however often each is made.
fn way(calls: &[Call]) -> BTreeSet<String> {
    let named = |call: &Call| {
        let names: Vec<&str> = call.arguments.keys().map(String::as_str).collect();
        let status = call.arguments.get("status").filter(|_| &*call.name == "submit").map(Json::to_string);
        format!("{} {} {}", call.name, names.join(" "), status.unwrap_or_default())
    };
    calls.iter().map(named).collect()
}

/// Effect of changed data on a task.
fn effect(draw_key: DrawKey<'_>, instance: &Arc<Instance>, seen: &(Vec<Json>, bool), base: &Data) -> Effect {
    let Some(values) = followed(draw_key, instance, base) else { return Effect::Observable };
    let Ok(other) = draw_key.prepare_from(base, values, Order::None) else { return Effect::Observable };
    compared(draw_key, instance, seen, other)
}

/// The data with one column changed in every row; none where that cannot be.
fn changed(app: &App, base: &Data, (table, column): Spot, by: Move) -> Option<Data> {
    let kind = &app.schema.table(table).describe(column).kind;
    let target: Vec<RowKey> =
        if let Type::Row(target) = kind.present() { base.rows(*target).collect() } else { Vec::new() };
    let moved = |row| Some((row, moved(base.cell(row, column)?, kind, &target, by)?));
    let cells: Vec<(RowKey, Value)> = base.rows(table).filter_map(moved).collect();
    let mut data = base.clone();
    // In the opposite order numbers that are moved upwards never meet one that has not moved yet.
    for (row, value) in cells.iter().rev() {
        data.update(*row, &[(column, value.clone())]).ok()?;
    }
    (!cells.is_empty()).then_some(data)
}

/// Another value of the same type; `rows` are those that a reference can be to.
fn moved(value: &Value, kind: &Type, rows: &[RowKey], by: Move) -> Option<Value> {
    match (kind.present(), value) {
        // What is missing stays so once, and is there once.
        (_, Value::Null) if by == Move::Near => None,
        (Type::Bool, Value::Null) => Some(Value::Bool(true)),
        (Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration, Value::Null) => Some(Value::Int(1)),
        (Type::Date, Value::Null) => Some(Value::Int(SOME_DAY)),
        (Type::Instant, Value::Null) => Some(Value::Int(SOME_DAY * DAY)),
        (Type::Text, Value::Null) => Some(Value::text("zq")),
        (Type::Enum(words), Value::Null) => words.first().map(|word| Value::Text(Arc::clone(word))),
        (Type::Row(_), Value::Null) => rows.first().copied().map(Value::Row),
        (Type::Bool, Value::Bool(flag)) => Some(Value::Bool(!flag)),
        (Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration, Value::Int(number)) => {
            number.checked_add(by.units()).map(Value::Int)
        }
        (Type::Date, Value::Int(day)) => day.checked_add(by.days()).map(Value::Int),
        (Type::Instant, Value::Int(time)) => time.checked_add(by.days() * DAY).map(Value::Int),
        (Type::Text, Value::Text(text)) => Some(Value::text(&format!("{text} zq"))).filter(|_| by == Move::Near),
        (Type::Enum(words), Value::Text(word)) => {
            let place = words.iter().position(|known| known == word)?;
            Some(Value::Text(Arc::clone(cycled(words, place, by)?)))
        }
        (Type::Row(_), Value::Row(row)) => {
            let place = rows.binary_search(row).ok()?;
            cycled(rows, place, by).copied().map(Value::Row)
        }
        _ => None,
    }
}

/// Another element, from the end on from the beginning.
fn cycled<T>(values: &[T], place: usize, by: Move) -> Option<&T> {
    let other = (place + by.places(values.len())) % values.len().max(1);
    values.get(other).filter(|_| other != place)
}

/// The parameters of a task on other data: what follows from the data follows anew, all else stays.
fn followed(draw_key: DrawKey<'_>, instance: &Instance, data: &Data) -> Option<Vec<Value>> {
    let mut values: Vec<Value> = Vec::new();
    for (param, has) in draw_key.template().params.iter().zip(&instance.values) {
        let follows = match &param.draw {
            Draw::Let(value) => value.asks().is_empty(),
            Draw::First { .. } => true,
            _ => false,
        };
        let mut draws = draw_key.draws(&format!("param {}", param.name));
        let drawing = Drawing { app: draw_key.app, data, values: &values, draws: &mut draws };
        let value = if follows { drawing.value(param).ok()? } else { has.clone() };
        values.push(value);
    }
    Some(values)
}

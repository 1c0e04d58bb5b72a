//! Distribution of the values of a parameter over the draws, and over those of them that became tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::app::App;
use crate::app::task::{Draw, Param};
use crate::data::Data;
use crate::json::Codec;
use crate::kinds::{ColumnId, Type};
use crate::task::draw_key::DrawKey;
use crate::task::parameter::STEPS_LISTED_MAX;
use crate::value::{RowKey, Value};

/// Parts that a long range is cut into.
const PARTS: u64 = 8;
/// Values of a column of a picked row up to which they are kinds of rows, each of whose draws counts; words of an enum and truth
/// values always are. Of more values the rows count.
const KINDS_MAX: usize = 4;
/// Values that are told one by one of a parameter that has no list of them.
const VALUES_TOLD_MAX: usize = 16;
/// The chance below which a value that is in no task has not been missed by bad luck.
const LUCK: f64 = 1e-6;

/// Distribution of one parameter.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Distribution {
    /// The parameter; where it is a row, with the column that is counted.
    pub parameter: String,
    /// Its values, or parts of its range, with how often each was drawn.
    pub values: Vec<Share>,
    /// Draws with values that are not told one by one.
    pub others: u64,
    /// Accepted draws among them.
    pub others_accepted: u64,
}

/// Share of draws that gave one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The value, or the part of the range, as it is shown.
    pub value: String,
    /// Draws that had it.
    pub drawn: u64,
    /// Tasks that have it.
    pub accepted: u64,
}

/// Allowed statement about a value that does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// It is listed in the definition: it has to be drawn and to survive.
    Listed,
    /// It was drawn by chance: it has to survive.
    Drawn,
    /// It follows from others, and nothing is demanded of it.
    Nothing,
}

/// One counted feature of a parameter.
pub(super) struct Counting {
    parameter: usize,
    name: String,
    kind: Type,
    column: Option<ColumnId>,
    /// True if it is the place of a row in its table that is counted: that of a table with few rows is a value.
    place: bool,
    demand: Demand,
    /// Lowest, step, number of steps and of parts of a range that is cut.
    cut: Option<(i64, i64, u64)>,
    counted: BTreeMap<String, CallCounter>,
    /// Listed values in the definition's order.
    order: Vec<String>,
    reached: u64,
    /// Ordered values; of ranges of which no part may be lost.
    ordered: Option<BTreeMap<i64, Ordered>>,
    /// True if its table has too many rows for each to be a value.
    many: bool,
}

/// A value that has an order.
#[derive(Default)]
struct Ordered {
    drawn: u64,
    accepted: u64,
    /// The rows that have it, by the number of their database: their draws live and die together.
    rows: BTreeSet<(usize, RowKey)>,
    seed: u64,
}

impl Ordered {
    /// Chances to come through.
    fn chances(&self) -> u64 {
        if self.rows.is_empty() { self.drawn } else { self.rows.len() as u64 }
    }
}

#[derive(Default)]
struct CallCounter {
    drawn: u64,
    accepted: u64,
    /// The rows that have it, by the number of their database, and whether any draw of each is a task.
    rows: BTreeMap<(usize, RowKey), bool>,
    /// A draw with it that was thrown away: its seed.
    lost: Option<u64>,
}

/// A value that is in no task.
pub(super) struct Missing {
    pub(super) parameter: usize,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) drawn: u64,
    /// The seed of a draw that had it.
    pub(super) seed: Option<u64>,
}

impl Counting {
    /// Counts of the parameters of a template.
    pub(super) fn of(app: &App, params: &[Param]) -> Vec<Self> {
        params.iter().enumerate().flat_map(|(place, param)| Self::one(app, place, param)).collect()
    }

    fn one(app: &App, parameter: usize, param: &Param) -> Vec<Self> {
        let plain = |demand, cut, order| Self {
            parameter,
            name: param.name.to_string(),
            kind: param.kind.clone(),
            column: None,
            place: false,
            demand,
            cut,
            counted: BTreeMap::new(),
            order,
            reached: 0,
            ordered: None,
            many: false,
        };
        let demand = match &param.draw {
            Draw::Choice(_) | Draw::Range(..) => Demand::Listed,
            Draw::Days(..) | Draw::First { .. } => Demand::Nothing,
            Draw::Pick(_) => Demand::Drawn,
            Draw::Let(value) if value.asks().is_empty() => Demand::Nothing,
            Draw::Let(_) => Demand::Drawn,
        };
        match (&param.draw, param.kind.present()) {
            (Draw::Choice(values), kind) => {
                let shown = |value: &Value| Codec::new(&app.schema).show(value, kind, &empty(app));
                vec![plain(demand, None, values.iter().map(shown).collect())]
            }
            (Draw::Range(low, high, step), _) => {
                let steps = high.abs_diff(*low) / step.unsigned_abs().max(1);
                let mut counting = plain(demand, Some((*low, *step, steps)), Vec::new()).ordered();
                counting.order = (0..counting.parts()).map(|part| counting.part(app, part)).collect();
                vec![counting]
            }
            (_, Type::Row(table)) => {
                let table = app.schema.table(*table);
                let plain_kind = |kind: &Type| !matches!(kind.present(), Type::List(_) | Type::Record(_));
                let columns = table.columns.iter().enumerate().filter(|(_, column)| plain_kind(&column.kind));
                let counted = columns.filter_map(|(place, column)| {
                    let name = format!("{}.{}", param.name, column.name);
                    let place = ColumnId(u16::try_from(place).ok()?);
                    Some(Self {
                        name,
                        kind: column.kind.clone(),
                        column: Some(place),
                        ..plain(demand, None, Vec::new())
                    })
                    .map(|counting| if demand == Demand::Drawn { counting.ordered() } else { counting })
                });
                let rows =
                    Self { name: format!("{} (row)", param.name), place: true, ..plain(demand, None, Vec::new()) };
                counted.chain((demand == Demand::Drawn).then_some(rows)).collect()
            }
            (_, Type::List(_) | Type::Record(_)) => Vec::new(),
            (Draw::Days(..), _) => vec![plain(demand, None, Vec::new()).ordered()],
            _ if demand == Demand::Drawn => vec![plain(demand, None, Vec::new()).ordered()],
            _ => vec![plain(demand, None, Vec::new())],
        }
    }

    /// The same with its values kept in their order, where they have one.
    fn ordered(self) -> Self {
        let numbers = matches!(
            self.kind.present(),
            Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration | Type::Date | Type::Instant
        );
        Self { ordered: numbers.then(BTreeMap::new), ..self }
    }

    fn parts(&self) -> u64 {
        let Some((_, _, steps)) = self.cut else { return 0 };
        if steps < STEPS_LISTED_MAX { steps + 1 } else { PARTS }
    }

    /// The part of a range that a number lies in.
    fn place(&self, number: i64) -> u64 {
        let Some((low, step, steps)) = self.cut else { return 0 };
        let offset = number.abs_diff(low) / step.unsigned_abs().max(1);
        let place = u128::from(offset) * u128::from(self.parts()) / (u128::from(steps) + 1);
        u64::try_from(place).unwrap_or(0)
    }

    /// A part of a range as it is shown: its value, or its first.
    fn part(&self, app: &App, part: u64) -> String {
        let Some((low, step, steps)) = self.cut else { return String::new() };
        let first = (u128::from(part) * (u128::from(steps) + 1)).div_ceil(u128::from(self.parts()));
        let first = low.saturating_add(step.saturating_mul(i64::try_from(first).unwrap_or(0)));
        let shown = Codec::new(&app.schema).show(&Value::Int(first), &self.kind, &empty(app));
        if steps < STEPS_LISTED_MAX { shown } else { format!("from {shown}") }
    }

    /// Counts a draw.
    pub(super) fn count(&mut self, draw_key: DrawKey<'_>, data: &Data, values: &[Value], accepted: bool) {
        let Some(value) = values.get(self.parameter) else { return };
        let (app, seed) = (draw_key.app, draw_key.seed);
        let cell = match (self.column, value) {
            (Some(column), Value::Row(row)) => data.cell(*row, column),
            (Some(_), _) => None,
            (None, value) => Some(value),
        };
        if let (Some(ordered), Some(Value::Int(number))) = (&mut self.ordered, cell) {
            let at = ordered.entry(*number).or_insert_with(|| Ordered { seed, ..Ordered::default() });
            at.drawn += 1;
            at.accepted += u64::from(accepted);
            if let Value::Row(row) = value {
                at.rows.insert((draw_key.variant(), *row));
            }
        }
        let row = if let (Some(_), Value::Row(row)) = (self.column, value) { Some(*row) } else { None };
        let Some(value) = cell else { return };
        let key = match (self.cut, value) {
            (_, Value::Row(row)) if self.place => {
                self.many |= data.len(row.table) > VALUES_TOLD_MAX;
                let place = data.rows(row.table).take(VALUES_TOLD_MAX).position(|known| known == *row);
                let Some(place) = place.filter(|_| !self.many) else { return };
                format!("number {}", place + 1)
            }
            (Some(_), Value::Int(number)) => self.part(app, self.place(*number)),
            // Ids differ from one database to the next.
            (_, Value::Row(row)) if data.len(row.table) <= VALUES_TOLD_MAX => {
                let place = data.rows(row.table).position(|known| known == *row).unwrap_or(0);
                format!("number {}", place + 1)
            }
            _ => Codec::new(&app.schema).show(value, &self.kind, data),
        };
        self.reached += 1;
        let counted = self.counted.entry(key).or_default();
        counted.drawn += 1;
        counted.accepted += u64::from(accepted);
        if let Some(row) = row {
            *counted.rows.entry((draw_key.variant(), row)).or_default() |= accepted;
        }
        if !accepted && counted.lost.is_none() {
            counted.lost = Some(seed);
        }
    }

    /// Values that should be in tasks and are in none, `share` of all draws being accepted.
    pub(super) fn missing(&self, share: f64) -> Vec<Missing> {
        let many = self.many || self.demand != Demand::Listed && self.counted.len() > VALUES_TOLD_MAX;
        if self.demand == Demand::Nothing || many || share <= 0.0 {
            return Vec::new();
        }
        let missing = |value: &String, drawn, seed| Missing {
            parameter: self.parameter,
            name: self.name.clone(),
            value: value.clone(),
            drawn,
            seed,
        };
        // What has an order is told with its neighbours. A value that is drawn n times survives none of them by chance with
        // (1 - share)^n.
        let alone = self.ordered.is_none() || self.column.is_some();
        let unlucky = self.unlucky_rows();
        let by_luck = |counted: &CallCounter| {
            if self.counted.len() <= self.values_most() {
                (1.0 - share).max(0.0).powf(counted.drawn as f64)
            } else {
                // Draws of one row live and die together, and any of the values could have been the unlucky one.
                self.counted.len() as f64 * unlucky.powf(counted.rows.len() as f64)
            }
        };
        let lost = self.counted.iter().filter(|(_, counted)| alone && counted.accepted == 0 && by_luck(counted) < LUCK);
        let mut found: Vec<Missing> =
            lost.map(|(value, counted)| missing(value, counted.drawn, counted.lost)).collect();
        let evenly = 1.0 - 1.0 / self.order.len().max(1) as f64;
        if self.demand == Demand::Listed && evenly.powf(self.reached as f64) < LUCK {
            let never = self.order.iter().filter(|value| !self.counted.contains_key(*value));
            found.extend(never.map(|value| missing(value, 0, None)));
        }
        found
    }

    /// The share of the drawn rows that are in no task.
    fn unlucky_rows(&self) -> f64 {
        let rows = || self.counted.values().flat_map(|counted| counted.rows.values());
        rows().filter(|accepted| !**accepted).count() as f64 / rows().count().max(1) as f64
    }

    /// Neighbouring values of which none is in a task, and with them all of a range.
    pub(super) fn lost_runs(&self, app: &App, share: f64) -> Vec<Missing> {
        let Some(ordered) = &self.ordered else { return Vec::new() };
        let all: u64 = ordered.values().map(Ordered::chances).sum();
        let lost: u64 = ordered.values().filter(|value| value.accepted == 0).map(Ordered::chances).sum();
        // A row that is thrown away once is so every time.
        let unlucky = if self.column.is_some() { lost as f64 / all.max(1) as f64 } else { 1.0 - share };
        let values: Vec<(&i64, &Ordered)> = ordered.iter().collect();
        let runs = values.chunk_by(|(_, one), (_, other)| (one.accepted == 0) == (other.accepted == 0));
        let lost = runs.filter(|run| {
            let chances: u64 = run.iter().map(|(_, value)| value.chances()).sum();
            // It could have begun at any value.
            run.iter().all(|(_, value)| value.accepted == 0)
                && values.len() as f64 * unlucky.clamp(0.0, 1.0).powf(chances as f64) < LUCK
        });
        let show = |number: i64| Codec::new(&app.schema).show(&Value::Int(number), &self.kind, &empty(app));
        let missing = |run: &[(&i64, &Ordered)]| {
            let ((from, first), (to, _)) = (run.first()?, run.last()?);
            let value = if from == to { show(**from) } else { format!("from {} to {}", show(**from), show(**to)) };
            Some(Missing {
                parameter: self.parameter,
                name: self.name.clone(),
                value,
                drawn: run.iter().map(|(_, value)| value.drawn).sum(),
                seed: Some(first.seed),
            })
        };
        lost.filter_map(missing).collect()
    }

    /// Values beyond which they are no kinds.
    fn values_most(&self) -> usize {
        let few = matches!(self.kind.present(), Type::Bool | Type::Enum(_));
        if self.column.is_some() && !few { KINDS_MAX } else { VALUES_TOLD_MAX }
    }

    /// True if its values are kinds, so that how they are spread tells something.
    pub(super) fn tells(&self) -> bool {
        !self.place && self.column.is_none() || self.column.is_some() && self.counted.len() <= self.values_most()
    }

    /// Part of the report.
    pub(super) fn spread(&self) -> Distribution {
        let mut spread = Distribution { parameter: self.name.clone(), ..Distribution::default() };
        let share = |value: &String| {
            let counted = self.counted.get(value);
            Share {
                value: value.clone(),
                drawn: counted.map_or(0, |counted| counted.drawn),
                accepted: counted.map_or(0, |counted| counted.accepted),
            }
        };
        let mut values: Vec<Share> = match self.order.as_slice() {
            [] => self.counted.keys().map(share).collect(),
            order => order.iter().map(share).collect(),
        };
        if self.order.is_empty() {
            values.sort_by_key(|share| std::cmp::Reverse(share.drawn));
            let told = if values.len() > VALUES_TOLD_MAX { VALUES_TOLD_MAX - 1 } else { VALUES_TOLD_MAX };
            for share in values.split_off(told.min(values.len())) {
                spread.others += share.drawn;
                spread.others_accepted += share.accepted;
            }
        }
        spread.values = values;
        spread
    }
}

/// Data without rows, for values that are none.
fn empty(app: &App) -> Data {
    Data::new(Arc::clone(&app.schema), 0)
}

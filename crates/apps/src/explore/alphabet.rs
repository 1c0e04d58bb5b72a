//! Calls tried in a state: the values that stand for all others, put together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::hints::{Hint, hints};
use crate::app::{App, Parameter};
use crate::kinds::{TableId, Type};
use crate::run::World;
use crate::value::{RowKey, Value};

/// Numbers that are tried for one parameter.
const NUMBERS_MAX: usize = 12;
/// Words, texts and entries of lists that are tried for one parameter.
const CHOICES_MAX: usize = 8;
/// Records that are tried for one parameter.
const RECORDS_MAX: usize = 48;

/// Values that stand for all others.
#[derive(Debug)]
pub(super) struct Alphabet {
    /// Rows of the beginning, by table.
    pub(super) rows: BTreeMap<TableId, Vec<RowKey>>,
    /// Values of a task, with their types; tried before all others.
    pub(super) values: Vec<(Type, Value)>,
    /// True if values of the task take the place of others of their type.
    pub(super) lean: bool,
    /// Calls that were found to be unlike each other, by action.
    pub(super) corpus: Vec<Vec<Map<String, Json>>>,
    /// Arguments that are tried of one action in one state.
    pub(super) arguments_max: usize,
    /// True if texts must differ from each other.
    distinct: bool,
    hints: Vec<Vec<Hint>>,
}

/// Values that may be tried beside the rows of the beginning.
pub(super) struct ExtraValues<'a> {
    pub(super) world: &'a World,
    /// Rows that were created or changed.
    pub(super) fresh: &'a BTreeMap<TableId, Vec<RowKey>>,
    /// True if values are taken from those rows alone.
    pub(super) narrow: bool,
}

impl Alphabet {
    pub(super) fn new(app: &App, arguments_max: usize) -> Self {
        let texts = |kind: &Type| *kind.present() == Type::Text;
        let columns = app.schema.tables.iter().flat_map(|table| &table.columns);
        Self {
            rows: BTreeMap::new(),
            values: Vec::new(),
            lean: false,
            corpus: vec![Vec::new(); app.actions.len()],
            arguments_max,
            distinct: columns.into_iter().any(|column| column.unique && texts(&column.kind)),
            hints: app.actions.iter().map(hints).collect(),
        }
    }

    /// Adds rows of the beginning.
    pub(super) fn add_rows(&mut self, rows: impl IntoIterator<Item = RowKey>) {
        for row in rows {
            let known = self.rows.entry(row.table).or_default();
            if !known.contains(&row) {
                known.push(row);
            }
        }
    }

    /// Arguments of an action that are worth a try: all combinations where they are few, otherwise those found to be unlike
    /// each other with one value exchanged at a time.
    pub(super) fn arguments(&self, app: &App, action: usize, around: &ExtraValues<'_>) -> Vec<Map<String, Json>> {
        let parameters = &app.actions[action].parameters;
        let choices: Vec<Vec<Option<Json>>> = (0..parameters.len())
            .map(|place| self.choices(&parameters[place], &self.hints[action][place], around))
            .collect();
        let combinations = choices
            .iter()
            .try_fold(1_usize, |product, choices| product.checked_mul(choices.len()))
            .unwrap_or(usize::MAX);
        let corpus = &self.corpus[action];
        if combinations <= self.arguments_max || corpus.is_empty() {
            return product(parameters, &choices, self.arguments_max);
        }
        let (mut found, mut known) = (Vec::new(), BTreeSet::new());
        let mut push = |arguments: Map<String, Json>| {
            if found.len() < self.arguments_max && known.insert(Json::Object(arguments.clone()).to_string()) {
                found.push(arguments);
            }
        };
        corpus.iter().cloned().for_each(&mut push);
        for arguments in corpus {
            for (parameter, choices) in parameters.iter().zip(&choices) {
                for choice in choices {
                    let mut other = arguments.clone();
                    match choice {
                        Some(value) => other.insert(parameter.name.to_string(), value.clone()),
                        None => other.remove(&*parameter.name),
                    };
                    push(other);
                }
            }
        }
        found
    }

    /// Values tried for a parameter; none is to leave it out.
    pub(super) fn choices(&self, parameter: &Parameter, hint: &Hint, around: &ExtraValues<'_>) -> Vec<Option<Json>> {
        let present = self.values(parameter, hint, around, 0);
        if parameter.required() {
            return present.into_iter().map(Some).collect();
        }
        let meant = hint.mentioned || self.meant(&parameter.kind);
        let count = if meant { present.len() } else { 1 };
        let left_out = if meant && self.lean { [present.len(), 0] } else { [0, count] };
        // What a task names comes before leaving it out, and everything else behind it.
        let mut choices: Vec<Option<Json>> = present.iter().take(left_out[0]).cloned().map(Some).collect();
        choices.push(None);
        if !self.lean {
            choices.extend(present.into_iter().take(left_out[1]).map(Some));
        }
        choices
    }

    /// The hint of a parameter.
    pub(super) fn hint(&self, action: usize, parameter: usize) -> &Hint {
        &self.hints[action][parameter]
    }

    fn meant(&self, kind: &Type) -> bool {
        self.values.iter().any(|(known, _)| known == kind.present()) || matches!(kind.present(), Type::Row(_))
    }

    /// Values of a parameter's type.
    fn values(&self, parameter: &Parameter, hint: &Hint, around: &ExtraValues<'_>, depth: usize) -> Vec<Json> {
        let world = around.world;
        let kind = parameter.kind.present();
        let codec = world.codec();
        let json = |value: &Value| codec.to_json(value, kind, world.data());
        let mut values: Vec<Json> =
            self.values.iter().filter(|(known, _)| known == kind).map(|(_, value)| json(value)).collect();
        if self.lean && !values.is_empty() && !matches!(kind, Type::Row(_) | Type::List(_)) {
            return values;
        }
        match kind {
            Type::Null | Type::Opt(_) => values.push(Json::Null),
            Type::Bool => values.extend([json!(false), json!(true)]),
            Type::Enum(words) => values.extend(words.iter().take(CHOICES_MAX).map(|word| json!(&**word))),
            Type::Text => values.extend(self.texts(parameter, hint, around)),
            Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Date | Type::Instant | Type::Duration => {
                let numbers = self.numbers(parameter, hint, around);
                values.extend(numbers.into_iter().map(|number| json(&Value::Int(number))));
            }
            Type::Row(table) => {
                let rows = self.rows.get(table).into_iter().chain(around.fresh.get(table)).flatten();
                values.extend(rows.filter_map(|row| world.data().id(*row)).map(|id| json!(&**id)));
                let single = world.app().schema.table(*table).single;
                if single && values.is_empty() {
                    values.extend(world.data().id(world.data().single(*table)).map(|id| json!(&**id)));
                }
            }
            Type::Record(_) if depth < 2 => {
                let choices: Vec<Vec<Option<Json>>> = parameter
                    .inner
                    .iter()
                    .map(|field| {
                        let present = self.values(field, hint, around, depth + 1).into_iter().map(Some);
                        let left_out = (!field.required()).then_some(None);
                        present.chain(left_out).collect()
                    })
                    .collect();
                values.extend(product(&parameter.inner, &choices, RECORDS_MAX).into_iter().map(Json::Object));
            }
            Type::List(_) if depth < 2 => values.extend(self.lists(parameter, hint, around, depth)),
            Type::Record(_) | Type::List(_) => {}
        }
        let mut known = BTreeSet::new();
        values.retain(|value| known.insert(value.to_string()));
        values
    }

    /// The shortest lists: as many entries as must be, one more, the same one twice.
    fn lists(&self, parameter: &Parameter, hint: &Hint, around: &ExtraValues<'_>, depth: usize) -> Vec<Json> {
        let Some(element) = parameter.inner.first() else { return Vec::new() };
        let entries = self.values(element, hint, around, depth + 1);
        let fits = |length: usize| {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            parameter.bounds.least.is_none_or(|least| length >= least)
                && parameter.bounds.most.is_none_or(|most| length <= most)
        };
        let mut lists: Vec<Vec<Json>> = entries.iter().map(|entry| vec![entry.clone()]).collect();
        lists.extend(entries.windows(2).map(<[Json]>::to_vec));
        if self.lean {
            lists.push(entries.clone());
        } else {
            lists.extend(entries.first().map(|entry| vec![entry.clone(), entry.clone()]));
            lists.push(Vec::new());
        }
        if let Some(least) =
            parameter.bounds.least.and_then(|least| usize::try_from(least).ok()).filter(|least| *least > 2)
        {
            lists.push(entries.iter().take(least).cloned().collect());
        }
        lists.into_iter().filter(|list| fits(list.len())).map(Json::Array).collect()
    }

    fn texts(&self, parameter: &Parameter, hint: &Hint, around: &ExtraValues<'_>) -> Vec<Json> {
        let mut texts: Vec<String> = hint.texts.iter().take(CHOICES_MAX).cloned().collect();
        if hint.mentioned {
            texts.extend(self.cells(&Type::Text, around).into_iter().filter_map(|value| match value {
                Value::Text(text) => Some(text.to_string()),
                _ => None,
            }));
            texts.truncate(CHOICES_MAX);
        }
        let created: usize = around.fresh.values().map(Vec::len).sum();
        texts.push(if self.distinct { format!("text {created}") } else { "text".to_owned() });
        let bound = |bound: Option<i64>| bound.and_then(|bound| usize::try_from(bound).ok());
        let (least, most) = (bound(parameter.bounds.least), bound(parameter.bounds.most));
        let fit = |text: String| {
            let length = text.chars().count();
            let padded = text + &"x".repeat(least.unwrap_or(0).saturating_sub(length));
            json!(padded.chars().take(most.unwrap_or(usize::MAX)).collect::<String>())
        };
        texts.into_iter().map(fit).collect()
    }

    /// The ends of what is allowed, the constants of guards, and what rows hold, each with its two neighbours.
    fn numbers(&self, parameter: &Parameter, hint: &Hint, around: &ExtraValues<'_>) -> Vec<i64> {
        let (world, kind, bounds) = (around.world, parameter.kind.present(), parameter.bounds);
        let today = world.app().calendar.date(world.now());
        let (plain, unit) = match kind {
            Type::Date => (today, 1),
            Type::Instant => (world.now() + 3_600, 60),
            Type::Duration => (3_600, 60),
            Type::Money(_) | Type::Decimal(_) => (100, 1),
            _ => (1, 1),
        };
        let within = |number: &i64| {
            bounds.least.is_none_or(|least| *number >= least) && bounds.most.is_none_or(|most| *number <= most)
        };
        let clamped = plain.clamp(bounds.least.unwrap_or(i64::MIN), bounds.most.unwrap_or(i64::MAX));
        if !hint.mentioned {
            return vec![clamped];
        }
        let ends = [bounds.least, bounds.most, Some(clamped)].into_iter().flatten();
        let constants = hint.numbers.iter().filter(|_| !matches!(kind, Type::Date | Type::Instant)).copied();
        let cells = self.cells(kind, around).into_iter().filter_map(|value| match value {
            Value::Int(number) => Some(number),
            _ => None,
        });
        let mut numbers = BTreeSet::new();
        for number in ends.chain(constants).chain(cells) {
            let near = [number.saturating_sub(unit), number, number.saturating_add(unit)];
            numbers.extend(near.into_iter().filter(within));
            if numbers.len() >= NUMBERS_MAX {
                break;
            }
        }
        numbers.into_iter().collect()
    }

    /// Values that columns of a type hold in the rows that are tried.
    fn cells(&self, kind: &Type, around: &ExtraValues<'_>) -> Vec<Value> {
        let data = around.world.data();
        let mut cells = BTreeSet::new();
        let others = if around.narrow { None } else { Some(self.rows.values()) };
        for row in around.fresh.values().chain(others.into_iter().flatten()).flatten() {
            let table = data.schema().table(row.table);
            let Some(row) = data.row(*row) else { continue };
            let meant = table.columns.iter().zip(&row.cells).filter(|(column, _)| column.kind.present() == kind);
            cells.extend(meant.map(|(_, value)| value.clone()).filter(|value| !value.is_null()));
        }
        cells.into_iter().collect()
    }
}

/// The first combinations of choices, in lexicographic order.
fn product(parameters: &[Parameter], choices: &[Vec<Option<Json>>], most: usize) -> Vec<Map<String, Json>> {
    let mut found = vec![Map::new()];
    for (parameter, choices) in parameters.iter().zip(choices) {
        let longer = found.iter().flat_map(|arguments| {
            choices.iter().map(move |choice| {
                let mut arguments = arguments.clone();
                if let Some(value) = choice {
                    arguments.insert(parameter.name.to_string(), value.clone());
                }
                arguments
            })
        });
        found = longer.take(most).collect();
    }
    found
}

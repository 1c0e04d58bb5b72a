//! Parameters: what is drawn for a task.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::fill::{Filled, Filling, Manner, fill, value};
use super::form::{Draught, Slip, Values};
use crate::dataset::Table;
use crate::mutate;
use crate::value::{Dialect, Value};
use crate::world::{Draw, World};

/// The worlds of a task.
pub(super) struct Ground<'a> {
    /// The one that it is played on.
    pub(super) world: &'a World,
    /// Those on which it is judged as well.
    pub(super) others: &'a [std::sync::Arc<World>],
}

/// Draws every parameter, each from a stream of its own: first those that stand alone, then those that refer to them.
///
/// # Errors
/// In words, with the parameter, when there is nothing to draw from.
pub(super) fn draw_all(
    draughts: &BTreeMap<String, Draught>,
    ground: &Ground<'_>,
    stream: impl Fn(&str) -> Draw,
) -> Result<Filling, String> {
    let mut filling = Filling::new();
    for referring in [false, true] {
        for (name, draught) in draughts.iter().filter(|(_, draught)| matches!(draught, Draught::Slip(_)) == referring) {
            let drawn = draw(draught, ground, &filling, &mut stream(name));
            filling.insert(name.clone(), drawn.map_err(|detail| format!("parameters.{name}: {detail}"))?);
        }
    }
    Ok(filling)
}

fn draw(draught: &Draught, ground: &Ground<'_>, filling: &Filling, chance: &mut Draw) -> Result<Filled, String> {
    match draught {
        Draught::Fixed(json) => Filled::of(json),
        Draught::Choice(choices) if choices.is_empty() => Err("there is nothing to choose from".to_owned()),
        Draught::Choice(choices) => Filled::of(chance.pick(choices)),
        Draught::Range(range) => {
            if range.step < 1 || range.from > range.to {
                return Err("the range is empty".to_owned());
            }
            let steps = (range.to - range.from) / range.step;
            Ok(Filled::Value(Value::Integer(range.from + range.step * chance.between(0, steps))))
        }
        Draught::Column(values) => {
            let mut candidates = occurring(ground.world, values)?;
            for other in ground.others {
                let there = occurring(other, values)?;
                candidates.retain(|candidate| there.contains(candidate));
            }
            match candidates.as_slice() {
                [] => Err(format!("no value of {}.{} occurs so often in every world", values.table, values.column)),
                some => Ok(Filled::Value(chance.pick(some).0.clone())),
            }
        }
        Draught::Row(rows) => {
            let table = table(ground.world, &rows.table)?;
            let matching = matching(table, &rows.matching)?;
            match matching.as_slice() {
                [] => Err(format!("no row of {} is of that sort", rows.table)),
                some => Ok(named(table, some[chance.below(some.len())])),
            }
        }
        Draught::Fact(sort) => match ground.world.facts.get(sort).map(Vec::as_slice) {
            None | Some([]) => Err(format!("the world has no fact {sort:?}")),
            Some(facts) => {
                let fact = chance.pick(facts);
                let named = fact.iter().map(|(name, value)| (name.clone(), Filled::Value(value.clone())));
                Ok(Filled::Named(named.collect()))
            }
        },
        Draught::Slip(slip) => slipped(slip, ground, filling, chance),
    }
}

/// A query with one slip: first a sort is drawn, then a slip of that sort.
fn slipped(slip: &Slip, ground: &Ground<'_>, filling: &Filling, chance: &mut Draw) -> Result<Filled, String> {
    let query = fill(&slip.of, Manner::Sql(Dialect::Sqlite), filling)?;
    let mutants = mutate::mutants(&query, Dialect::Sqlite, &ground.world.dataset);
    let mut by_kind: BTreeMap<mutate::Kind, Vec<&mutate::Mutant>> = BTreeMap::new();
    for mutant in mutants.iter().filter(|mutant| slip.kinds.contains(&mutant.kind)) {
        by_kind.entry(mutant.kind).or_default().push(mutant);
    }
    let kinds: Vec<&Vec<&mutate::Mutant>> = by_kind.values().collect();
    if kinds.is_empty() {
        return Err("the query allows no slip of these kinds".to_owned());
    }
    let mutants = kinds[chance.below(kinds.len())];
    let mutant = mutants[chance.below(mutants.len())];
    let text = |text: &str| Filled::Value(Value::Text(text.to_owned()));
    Ok(Filled::Named(BTreeMap::from([
        ("sql".to_owned(), text(&mutant.sql)),
        ("symptom".to_owned(), text(mutant.kind.symptom())),
    ])))
}

/// A value with an order, so that sets of them can be made.
#[derive(Debug, Clone, PartialEq)]
struct Candidate(Value);

/// Values of a column that occur often enough, in a fixed order.
fn occurring(world: &World, values: &Values) -> Result<Vec<Candidate>, String> {
    let table = table(world, &values.table)?;
    let column = position(table, &values.column)?;
    let mut counts: BTreeMap<String, (Value, usize)> = BTreeMap::new();
    for row in matching(table, &values.matching)? {
        let value = &row[column];
        if *value != Value::Null {
            counts.entry(format!("{value:?}")).or_insert_with(|| (value.clone(), 0)).1 += 1;
        }
    }
    Ok(counts.into_values().filter(|(_, count)| *count >= values.at_least).map(|(value, _)| Candidate(value)).collect())
}

/// Rows that meet every condition.
fn matching<'a>(table: &'a Table, conditions: &BTreeMap<String, Json>) -> Result<Vec<&'a Vec<Value>>, String> {
    let conditions: Vec<(usize, Condition)> = conditions
        .iter()
        .map(|(column, json)| Ok((position(table, column)?, Condition::of(json)?)))
        .collect::<Result<_, String>>()?;
    Ok(table
        .rows
        .iter()
        .filter(|row| conditions.iter().all(|(column, condition)| condition.holds(&row[*column])))
        .collect())
}

/// What a value of a column must be.
enum Condition {
    /// One of these.
    Among(Vec<Value>),
    /// Within these bounds.
    Within { least: Option<Value>, most: Option<Value> },
}

impl Condition {
    fn of(json: &Json) -> Result<Self, String> {
        match json {
            Json::Array(items) => items.iter().map(value).collect::<Result<_, _>>().map(Self::Among),
            Json::Object(bounds) => {
                let known: BTreeSet<&str> = BTreeSet::from(["least", "most"]);
                if let Some(unknown) = bounds.keys().find(|name| !known.contains(name.as_str())) {
                    return Err(format!("{unknown:?} is no bound: say `least` or `most`"));
                }
                let bound = |name: &str| bounds.get(name).map(value).transpose();
                Ok(Self::Within { least: bound("least")?, most: bound("most")? })
            }
            scalar => Ok(Self::Among(vec![value(scalar)?])),
        }
    }

    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Among(values) => values.contains(value),
            Self::Within { least, most } => {
                *value != Value::Null
                    && least.as_ref().is_none_or(|least| !less(value, least))
                    && most.as_ref().is_none_or(|most| !less(most, value))
            }
        }
    }
}

/// The order of numbers among numbers and texts among texts.
fn less(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => one < other,
        (Value::Real(one), Value::Real(other)) => one < other,
        (Value::Text(one), Value::Text(other)) => one < other,
        _ => false,
    }
}

fn named(table: &Table, row: &[Value]) -> Filled {
    let fields = table.columns.iter().zip(row);
    Filled::Named(fields.map(|(column, value)| (column.name.clone(), Filled::Value(value.clone()))).collect())
}

fn table<'a>(world: &'a World, name: &str) -> Result<&'a Table, String> {
    world
        .dataset
        .tables
        .iter()
        .find(|table| table.name == name)
        .ok_or_else(|| format!("the world has no table {name:?}"))
}

fn position(table: &Table, column: &str) -> Result<usize, String> {
    table.position(column).ok_or_else(|| format!("the table {} has no column {column:?}", table.name))
}

//! Parameters: what is drawn for a task.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::fill::{Filled, Filling, Notation, fill, value};
use super::form::{ParameterSource, Range, Slip, Values};
use crate::dataset::Table;
use crate::mutate;
use crate::value::{Dialect, Value};
use crate::world::{Draw, World};

/// The worlds of a task.
pub(super) struct TaskWorlds<'a> {
    /// The one that it is played on.
    pub(super) world: &'a World,
    /// Those on which it is judged as well.
    pub(super) others: &'a [std::sync::Arc<World>],
}

/// Reason why nothing was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DrawFailure {
    /// The world has nothing of that sort: another draw may find something.
    TaskWorlds(String),
    /// The template is wrong: so is every draw that comes here.
    Fault(String),
}

impl DrawFailure {
    fn in_parameter(self, name: &str) -> Self {
        match self {
            Self::TaskWorlds(detail) => Self::TaskWorlds(format!("parameters.{name}: {detail}")),
            Self::Fault(detail) => Self::Fault(format!("parameters.{name}: {detail}")),
        }
    }

    /// In words.
    pub(super) fn words(self) -> String {
        match self {
            Self::TaskWorlds(detail) | Self::Fault(detail) => detail,
        }
    }
}

/// A fault of the template.
impl From<String> for DrawFailure {
    fn from(detail: String) -> Self {
        Self::Fault(detail)
    }
}

/// Draws every parameter, each from a stream of its own: first those that stand alone, then those that refer to them.
///
/// # Errors
/// With the parameter, when there is nothing to draw from.
pub(super) fn draw_all(
    draughts: &BTreeMap<String, ParameterSource>,
    ground: &TaskWorlds<'_>,
    stream: impl Fn(&str) -> Draw,
) -> Result<Filling, DrawFailure> {
    let mut filling = Filling::new();
    for (name, source) in in_order(draughts) {
        let drawn = Pool::of(source, ground, &filling).and_then(|pool| pool.pick(&mut stream(name)));
        filling.insert(name.clone(), drawn.map_err(|miss| miss.in_parameter(name))?);
    }
    Ok(filling)
}

/// The parameters in the order in which they are drawn.
pub(super) fn in_order(
    draughts: &BTreeMap<String, ParameterSource>,
) -> impl Iterator<Item = (&String, &ParameterSource)> {
    let of =
        |referring| draughts.iter().filter(move |(_, source)| matches!(source, ParameterSource::Slip(_)) == referring);
    of(false).chain(of(true))
}

/// Values that a parameter is drawn from.
#[derive(Debug, Clone)]
pub(super) enum Pool<'a> {
    /// This alone.
    Fixed(&'a Json),
    /// One of these.
    Choice(&'a [Json]),
    /// A number.
    Range(Range),
    /// Values of a column that occur in every world.
    Values(Vec<Value>),
    /// Rows of a table.
    Rows(&'a Table, Vec<&'a Vec<Value>>),
    /// Facts of the world.
    Facts(&'a [BTreeMap<String, Value>]),
    /// Queries with a slip, by the sort of the slip.
    Slips(Vec<Vec<mutate::Mutant>>),
}

impl<'a> Pool<'a> {
    /// Values to draw from. `filling` has what a slip may refer to.
    pub(super) fn of(
        source: &'a ParameterSource,
        ground: &TaskWorlds<'a>,
        filling: &Filling,
    ) -> Result<Self, DrawFailure> {
        Ok(match source {
            ParameterSource::Fixed(json) => Self::Fixed(json),
            ParameterSource::Choice(choices) if choices.is_empty() => {
                return Err(DrawFailure::Fault("there is nothing to choose from".to_owned()));
            }
            ParameterSource::Choice(choices) => Self::Choice(choices),
            ParameterSource::Range(range) if range.step < 1 || range.from > range.to => {
                return Err(DrawFailure::Fault("the range is empty".to_owned()));
            }
            ParameterSource::Range(range) => Self::Range(*range),
            ParameterSource::Column(values) => {
                let mut candidates = occurring(ground.world, values)?;
                for other in ground.others {
                    // By key: a column of a large world has thousands of values.
                    let there = occurring(other, values)?;
                    candidates.retain(|key, _| there.contains_key(key));
                }
                if candidates.is_empty() {
                    let detail =
                        format!("no value of {}.{} occurs so often in every world", values.table, values.column);
                    return Err(DrawFailure::TaskWorlds(detail));
                }
                Self::Values(candidates.into_values().collect())
            }
            ParameterSource::Row(rows) => {
                let table = table(ground.world, &rows.table)?;
                let matching = matching(table, &rows.matching)?;
                if matching.is_empty() {
                    return Err(DrawFailure::TaskWorlds(format!("no row of {} is of that sort", rows.table)));
                }
                Self::Rows(table, matching)
            }
            ParameterSource::Fact(sort) => match ground.world.facts.get(sort).map(Vec::as_slice) {
                None | Some([]) => return Err(DrawFailure::TaskWorlds(format!("the world has no fact {sort:?}"))),
                Some(facts) => Self::Facts(facts),
            },
            ParameterSource::Slip(slip) => Self::Slips(slips(slip, ground, filling)?),
        })
    }

    /// One of what there is.
    pub(super) fn pick(&self, chance: &mut Draw) -> Result<Filled, DrawFailure> {
        Ok(match self {
            Self::Fixed(json) => Filled::of(json)?,
            Self::Choice(choices) => Filled::of(chance.pick(choices))?,
            Self::Range(range) => {
                let steps = (range.to - range.from) / range.step;
                Filled::Value(Value::Integer(range.from + range.step * chance.between(0, steps)))
            }
            Self::Values(values) => Filled::Value(chance.pick(values).clone()),
            Self::Rows(table, rows) => named(table, rows[chance.below(rows.len())]),
            Self::Facts(facts) => {
                let fact = chance.pick(facts);
                Filled::Named(fact.iter().map(|(name, value)| (name.clone(), Filled::Value(value.clone()))).collect())
            }
            // First a sort is drawn, then a slip of that sort.
            Self::Slips(kinds) => {
                let mutants = &kinds[chance.below(kinds.len())];
                slipped(&mutants[chance.below(mutants.len())])
            }
        })
    }
}

impl Pool<'_> {
    /// The first of what there is, in a fixed order. Slips are left out: each is a query of its own.
    pub(super) fn values(&self, most: usize) -> Vec<Filled> {
        match self {
            Self::Fixed(_) | Self::Slips(_) => Vec::new(),
            Self::Choice(choices) => choices.iter().take(most).filter_map(|choice| Filled::of(choice).ok()).collect(),
            Self::Range(range) => {
                let all = (range.from..=range.to).step_by(usize::try_from(range.step).unwrap_or(1));
                all.take(most).map(|number| Filled::Value(Value::Integer(number))).collect()
            }
            Self::Values(values) => values.iter().take(most).cloned().map(Filled::Value).collect(),
            Self::Rows(table, rows) => rows.iter().take(most).map(|row| named(table, row)).collect(),
            Self::Facts(facts) => {
                let named = |fact: &BTreeMap<String, Value>| {
                    Filled::Named(
                        fact.iter().map(|(name, value)| (name.clone(), Filled::Value(value.clone()))).collect(),
                    )
                };
                facts.iter().take(most).map(named).collect()
            }
        }
    }
}

/// Queries with one slip, by its sort.
fn slips(slip: &Slip, ground: &TaskWorlds<'_>, filling: &Filling) -> Result<Vec<Vec<mutate::Mutant>>, DrawFailure> {
    let query = fill(&slip.of, Notation::Sql(Dialect::Sqlite), filling)?;
    let mutants = mutate::mutants(&query, Dialect::Sqlite, &ground.world.dataset);
    let mut by_kind: BTreeMap<mutate::Kind, Vec<mutate::Mutant>> = BTreeMap::new();
    for mutant in mutants.into_iter().filter(|mutant| slip.kinds.contains(&mutant.kind)) {
        by_kind.entry(mutant.kind).or_default().push(mutant);
    }
    if by_kind.is_empty() {
        return Err(DrawFailure::TaskWorlds("the query allows no slip of these kinds".to_owned()));
    }
    Ok(by_kind.into_values().collect())
}

fn slipped(mutant: &mutate::Mutant) -> Filled {
    let text = |text: &str| Filled::Value(Value::Text(text.to_owned()));
    Filled::Named(BTreeMap::from([
        ("sql".to_owned(), text(&mutant.sql)),
        ("symptom".to_owned(), text(mutant.kind.symptom())),
    ]))
}

/// Values of a column that occur often enough, by their notation, which tells values apart and gives a fixed order.
pub(super) fn occurring(world: &World, values: &Values) -> Result<BTreeMap<String, Value>, String> {
    let table = table(world, &values.table)?;
    let column = position(table, &values.column)?;
    let mut counts: BTreeMap<String, (Value, usize)> = BTreeMap::new();
    for row in matching(table, &values.matching)? {
        let value = &row[column];
        if *value != Value::Null {
            counts.entry(format!("{value:?}")).or_insert_with(|| (value.clone(), 0)).1 += 1;
        }
    }
    counts.retain(|_, (_, count)| *count >= values.at_least);
    Ok(counts.into_iter().map(|(key, (value, _))| (key, value)).collect())
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

/// Condition on a value of a column.
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

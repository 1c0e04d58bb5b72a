//! Calls about what a task is given, and whether they are refused as its answer says.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};

use crate::app::{Parameter, Role};
use crate::check::contradictions::holds as tells;
use crate::check::random;
use crate::check::unstated::tells_number;
use crate::data::Data;
use crate::json::Codec;
use crate::kinds::{TableId, Type};
use crate::run::{CallError, Raised, World};
use crate::task::draw_key::DrawKey;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::value::{RowKey, Value};

/// Number of references that are followed to rows that a call may be about.
const HOPS: usize = 2;
/// Calls that are tried of each action.
const CALLS_TRIED: usize = 1_000;
/// Other arguments that a refused call is given.
const OTHERS_TRIED: usize = 60;
/// Texts of answers that are looked at for ids.
const TEXTS_SHOWN: usize = 200;

/// Claimed refusal of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimedRefusal {
    /// Refused with other arguments.
    Always,
    /// Not with some.
    Sometimes,
    /// By none.
    Never,
}

/// True if a call with what the task speaks of is refused as is claimed.
pub(super) fn tried(
    draw_key: DrawKey<'_>,
    instance: &Arc<Instance>,
    meant: &dyn Fn(&Raised) -> bool,
) -> Option<ClaimedRefusal> {
    let mut episode = Episode::begin(instance, 0).ok()?;
    let mut answers = Vec::new();
    for call in instance.solution().iter().filter(|call| &*call.name != "submit") {
        answers.push(episode.call(&call.name, &call.arguments).ok()?.data);
    }
    let world = episode.world();
    let own = own(instance, world);
    let pool = pool(instance, world, &own, &answers);
    let named = named(world, &pool);
    let spoken = |value: &Json| own.iter().any(|(_, known)| holds(value, known));
    let mut random = draw_key.draws("refusal").random().clone();
    let mut found = ClaimedRefusal::Never;
    for action in draw_key.app.actions.iter().filter(|action| action.who.contains(&Role::AGENT)) {
        let make = |given: &Map<String, Json>| world.clone().call(Role::AGENT, &action.name, given);
        for _ in 0..CALLS_TRIED {
            let given = arguments(world, &action.parameters, &pool, &mut random);
            let rows = rows(world, given.values());
            let about = given.values().any(spoken) || rows.is_empty();
            if !about
                || !rows.is_subset(&named)
                || !matches!(make(&given), Err(CallError::Raised(raised)) if meant(&raised))
            {
                continue;
            }
            let otherwise = |random: &mut ChaCha8Rng| {
                let kept = |value: &Json| spoken(value) || value.is_array() || is_row(world, value);
                let fixed = |name: &str| given.get(name).is_some_and(kept);
                let others = arguments(world, &action.parameters, &pool, random);
                let kept =
                    given.iter().filter(|(name, _)| fixed(name)).map(|(name, value)| (name.clone(), value.clone()));
                others.into_iter().filter(|(name, _)| !fixed(name)).chain(kept).collect::<Map<_, _>>()
            };
            if (0..OTHERS_TRIED).all(|_| make(&otherwise(&mut random)).is_err()) {
                return Some(ClaimedRefusal::Always);
            }
            // What is refused for an argument that nobody asks for is refused for that.
            if given.values().all(|value| spoken(value) || is_row(world, value) || is_told(instance, value)) {
                found = ClaimedRefusal::Sometimes;
            }
        }
    }
    Some(found)
}

/// The rows of values, whatever they are within.
fn rows<'a>(world: &World, values: impl Iterator<Item = &'a Json>) -> BTreeSet<RowKey> {
    let mut texts = Vec::new();
    values.for_each(|value| strings(value, &mut texts));
    let data = world.data();
    texts
        .into_iter()
        .flat_map(|text| data.schema().ids().filter_map(move |(table, _)| data.by_id(table, text)))
        .collect()
}

/// The rows of a pool.
fn named(world: &World, pool: &[(Type, Json)]) -> BTreeSet<RowKey> {
    rows(world, pool.iter().filter(|(kind, _)| matches!(kind, Type::Row(_))).map(|(_, value)| value))
}

/// True if a value is the id of a row.
fn is_row(world: &World, value: &Json) -> bool {
    let data = world.data();
    value.as_str().is_some_and(|id| data.schema().ids().any(|(table, _)| data.by_id(table, id).is_some()))
}

/// True if a value is another or has it within.
fn holds(value: &Json, known: &Json) -> bool {
    match value {
        Json::Array(values) => values.iter().any(|value| holds(value, known)),
        Json::Object(members) => members.values().any(|value| holds(value, known)),
        value => value == known,
    }
}

/// Values given by the task itself: its values, with the cells of its rows, by type.
fn own(instance: &Instance, world: &World) -> Vec<(Type, Json)> {
    let codec = Codec::new(&instance.app.schema);
    let mut own = Vec::new();
    for (param, value) in instance.template().params.iter().zip(&instance.values) {
        own.push((param.kind.present().clone(), codec.to_json(value, &param.kind, world.data())));
        let Value::Row(row) = value else { continue };
        let cells = world.data().row(*row).into_iter().flat_map(|row| row.cells.iter());
        let kinds = instance.app.schema.table(row.table).columns().map(|(_, column)| &column.kind);
        // Smaller values stand in other rows too.
        let telling = |kind: &Type| matches!(kind.present(), Type::Text | Type::Instant);
        let cells = kinds.zip(cells).filter(|(kind, cell)| telling(kind) && **cell != Value::Null);
        own.extend(cells.map(|(kind, cell)| (kind.present().clone(), codec.to_json(cell, kind, world.data()))));
    }
    own
}

/// Possible arguments of calls: what the task is given, the cells of its rows that its solution was shown, and the rows that its
/// solution was shown. Of a table that the task draws rows from, only those that it has drawn or that its text names: what is refused
/// of another row says nothing of this one.
fn pool(instance: &Instance, world: &World, own: &[(Type, Json)], answers: &[Json]) -> Vec<(Type, Json)> {
    let data = world.data();
    let schema = &instance.app.schema;
    let codec = Codec::new(schema);
    let mut pool = own.to_vec();
    let row = |value: &Value| if let Value::Row(row) = value { Some(*row) } else { None };
    let mut rows: Vec<RowKey> = instance.values.iter().filter_map(row).collect();
    let drawn: BTreeSet<TableId> = rows.iter().map(|row| row.table).collect();
    let own_rows: BTreeSet<RowKey> = rows.iter().copied().collect();
    for _ in 0..HOPS {
        let cells = rows.iter().filter_map(|row| data.row(*row)).flat_map(|row| row.cells.iter());
        let referred: Vec<RowKey> = cells.filter_map(row).collect();
        rows.extend(referred);
    }
    for row in &rows {
        let table = schema.table(row.table);
        let cells =
            table.columns().filter_map(|(column, about)| Some((about.kind.present(), data.cell(*row, column)?)));
        // Rows come by themselves below.
        let cells = cells.filter(|(kind, _)| !matches!(kind, Type::Row(_)));
        let cells = cells.map(|(kind, cell)| (kind.clone(), codec.to_json(cell, kind, data)));
        pool.extend(cells.filter(|(_, value)| answers.iter().any(|answer| holds(answer, value))));
        let stays = own_rows.contains(row) || !drawn.contains(&row.table) || is_named(instance, data, *row);
        pool.extend(data.id(*row).filter(|_| stays).map(|id| (Type::Row(row.table), json!(&**id))));
    }
    let mut texts = Vec::new();
    answers.iter().for_each(|answer| strings(answer, &mut texts));
    for text in texts.into_iter().take(TEXTS_SHOWN) {
        let found = schema.ids().filter_map(|(table, _)| data.by_id(table, text));
        let found = found.filter(|row| !drawn.contains(&row.table) || is_named(instance, data, *row));
        pool.extend(found.map(|row| (Type::Row(row.table), json!(text))));
    }
    pool
}

/// True if the text of a task tells an argument. Flags and texts are in nobody's words.
fn is_told(instance: &Instance, value: &Json) -> bool {
    match value {
        Json::Number(number) => tells_number(&instance.text, &number.to_string()),
        Json::String(text) => tells(&instance.text, text) || tells_number(&instance.text, text),
        Json::Array(values) => values.iter().all(|value| is_told(instance, value)),
        Json::Object(members) => members.values().all(|value| is_told(instance, value)),
        Json::Null | Json::Bool(_) => true,
    }
}

/// True if the text of a task names a row by one of its texts.
fn is_named(instance: &Instance, data: &Data, row: RowKey) -> bool {
    let cells = data.row(row).into_iter().flat_map(|row| row.cells.iter());
    cells.into_iter().any(|cell| matches!(cell, Value::Text(text) if tells(&instance.text, text)))
}

/// Every text of an answer.
fn strings<'a>(answer: &'a Json, found: &mut Vec<&'a str>) {
    match answer {
        Json::String(text) => found.push(text),
        Json::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Json::Object(members) => members.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

fn arguments(
    world: &World,
    parameters: &[Parameter],
    pool: &[(Type, Json)],
    random: &mut ChaCha8Rng,
) -> Map<String, Json> {
    let mut given = Map::new();
    for parameter in parameters {
        if parameter.required() || random.random_range(0..2) == 0 {
            given.insert(parameter.name.to_string(), argument(world, parameter, pool, random));
        }
    }
    given
}

/// A value of a parameter: mostly one that the task speaks of.
fn argument(world: &World, parameter: &Parameter, pool: &[(Type, Json)], random: &mut ChaCha8Rng) -> Json {
    let known: Vec<&Json> =
        pool.iter().filter(|(kind, _)| kind == parameter.kind.present()).map(|(_, value)| value).collect();
    if !known.is_empty() && random.random_range(0..4) > 0 {
        return known[random.random_range(0..known.len())].clone();
    }
    match (parameter.kind.present(), parameter.inner.as_slice()) {
        (Type::List(_), [element]) => json!([argument(world, element, pool, random)]),
        (Type::Record(_), fields) => Json::Object(arguments(world, fields, pool, random)),
        _ => random::value(world, parameter, random),
    }
}

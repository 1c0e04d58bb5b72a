//! Whether what is said to be impossible is. A refusal is proven by a call about the row that it names, which has to raise the
//! error of the answer: a call of the solution of the feasible twin, with the values of the task taken over, or any other that
//! the agent may make with them.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};

use super::random;
use crate::app::{Parameter, Role};
use crate::json::Codec;
use crate::kinds::Type;
use crate::run::{Raised, Stop, World};
use crate::task::draw::{Instance, Ticket};
use crate::task::episode::Episode;
use crate::task::parameter::Drawing;
use crate::task::solve::{self, Call};
use crate::value::{RowKey, Value};

/// How often values are drawn for parameters of a twin that the task does not have.
const TWINS_TRIED: u64 = 8;
/// How many references are followed to rows that a call may be about.
const HOPS: usize = 2;
/// Calls that are tried of each action.
const CALLS_TRIED: usize = 1_000;
/// Other arguments that a refused call is given.
const OTHERS_TRIED: usize = 60;
/// Texts of answers that are looked at for ids.
const TEXTS_SHOWN: usize = 200;

/// What was tried of refusals.
#[derive(Default)]
pub(super) struct Refusals {
    /// Tasks whose refusal the solution of the twin meets with.
    pub(super) by_twin: u64,
    /// Tasks whose refusal another call meets with, whatever else it is given.
    pub(super) by_call: u64,
    /// Tasks whose refusal a call meets with, where the same call is not refused with some other arguments.
    pub(super) by_arguments: u64,
}

/// How a call is refused as is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    /// With whatever other arguments.
    Always,
    /// Not with some.
    Sometimes,
    /// By none.
    Never,
}

impl Refusals {
    /// What is done about the row that a task calls an obstacle, where no call is refused as the answer says.
    pub(super) fn unfounded(&mut self, ticket: Ticket<'_>, instance: &Arc<Instance>) -> Option<String> {
        let template = instance.template();
        let answer = template.goal.answer.as_ref().filter(|_| template.infeasible)?;
        let meant = |raised: &Raised| answer.code.as_ref().is_none_or(|code| *code == raised.code);
        let twin = template.twin_of.as_ref();
        let twin = twin.and_then(|name| ticket.app.templates.iter().position(|template| template.name == *name));
        let mut told = None;
        for attempt in 0..TWINS_TRIED {
            let Some(met) = twin.and_then(|twin| played(ticket, instance, twin, attempt)) else { continue };
            if matches!(&met, Met::Refused(_, raised) if meant(raised)) {
                self.by_twin += 1;
                return None;
            }
            told.get_or_insert(met);
        }
        match tried(ticket, instance, &meant)? {
            Tried::Always => self.by_call += 1,
            Tried::Sometimes => self.by_arguments += 1,
            Tried::Never => return Some(instead(told)),
        }
        None
    }
}

/// What was met with instead of the refusal.
fn instead(told: Option<Met>) -> String {
    match told {
        Some(Met::Refused(call, raised)) => {
            format!("{} {} raises {} instead", call.name, Json::Object(call.arguments), raised.code)
        }
        Some(Met::Nothing) => "the solution of its twin does what is asked for".to_owned(),
        None => "no call about it that was tried raises that error".to_owned(),
    }
}
/// How the solution of a twin ended.
enum Met {
    /// By an error.
    Refused(Call, Raised),
    /// As if nothing stood in the way.
    Nothing,
}

/// Plays the solution of another template with the values of a task; none where it cannot be.
fn played(ticket: Ticket<'_>, instance: &Arc<Instance>, twin: usize, attempt: u64) -> Option<Met> {
    let twin = Ticket { template: twin, seed: attempt, ..ticket };
    let steps = twin.template().solution.as_ref()?;
    let mut values: Vec<Value> = Vec::new();
    let mut left: Vec<_> = ticket.template().params.iter().zip(&instance.values).collect();
    for param in &twin.template().params {
        // The obstacle is what the twin would not be drawn with, so that its conditions are not asked.
        let fits = |known: &crate::task::Param| known.kind.present() == param.kind.present();
        let named = left.iter().position(|(known, _)| known.name == param.name && fits(known));
        let value = match named.or_else(|| left.iter().position(|(known, _)| fits(known))) {
            Some(place) => left.remove(place).1.clone(),
            None => {
                let mut draws = twin.draws(&format!("param {}", param.name));
                let drawing = Drawing { app: ticket.app, data: &instance.data, values: &values, draws: &mut draws };
                drawing.value(param).ok()?
            }
        };
        values.push(value);
    }
    let taken = Arc::new(instance.taken_by(twin.template, values, instance.data.clone()));
    match solve::play(Episode::begin(&taken, 0).ok()?, steps) {
        Ok(_) => Some(Met::Nothing),
        Err(halted) => halted.refused.map(|refused| Met::Refused(refused.0, refused.1)),
    }
}

/// Whether a call with what the task speaks of is refused as is claimed.
fn tried(ticket: Ticket<'_>, instance: &Arc<Instance>, meant: &dyn Fn(&Raised) -> bool) -> Option<Tried> {
    let mut episode = Episode::begin(instance, 0).ok()?;
    let mut answers = Vec::new();
    for call in instance.solution().iter().filter(|call| &*call.name != "submit") {
        answers.push(episode.call(&call.name, &call.arguments).ok()?.data);
    }
    let world = episode.world();
    let own = own(instance, world);
    let pool = pool(instance, world, &own, &answers);
    let spoken = |value: &Json| own.iter().any(|(_, known)| holds(value, known));
    let mut random = ticket.draws("refusal").random().clone();
    let mut found = Tried::Never;
    for action in ticket.app.actions.iter().filter(|action| action.who.contains(&Role::AGENT)) {
        let make = |given: &Map<String, Json>| world.clone().call(Role::AGENT, &action.name, given);
        for _ in 0..CALLS_TRIED {
            let given = arguments(world, &action.parameters, &pool, &mut random);
            let about = given.values().any(spoken) || !given.values().any(|value| is_row(world, value));
            if !about || !matches!(make(&given), Err(Stop::Raised(raised)) if meant(&raised)) {
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
                return Some(Tried::Always);
            }
            found = Tried::Sometimes;
        }
    }
    Some(found)
}

/// Whether a value is the id of a row.
fn is_row(world: &World, value: &Json) -> bool {
    let data = world.data();
    value.as_str().is_some_and(|id| data.schema().ids().any(|(table, _)| data.by_id(table, id).is_some()))
}

/// Whether a value is another or has it within.
fn holds(value: &Json, known: &Json) -> bool {
    match value {
        Json::Array(values) => values.iter().any(|value| holds(value, known)),
        Json::Object(members) => members.values().any(|value| holds(value, known)),
        value => value == known,
    }
}

/// What the task itself is given: its values, with the cells of its rows, by type.
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

/// What calls may be about: what the task is given, the cells of its rows that its solution was shown, and the rows that its solution was shown.
fn pool(instance: &Instance, world: &World, own: &[(Type, Json)], answers: &[Json]) -> Vec<(Type, Json)> {
    let data = world.data();
    let schema = &instance.app.schema;
    let codec = Codec::new(schema);
    let mut pool = own.to_vec();
    let row = |value: &Value| if let Value::Row(row) = value { Some(*row) } else { None };
    let mut rows: Vec<RowKey> = instance.values.iter().filter_map(row).collect();
    for _ in 0..HOPS {
        let cells = rows.iter().filter_map(|row| data.row(*row)).flat_map(|row| row.cells.iter());
        let referred: Vec<RowKey> = cells.filter_map(row).collect();
        rows.extend(referred);
    }
    for row in &rows {
        let table = schema.table(row.table);
        let cells =
            table.columns().filter_map(|(column, about)| Some((about.kind.present(), data.cell(*row, column)?)));
        let cells = cells.map(|(kind, cell)| (kind.clone(), codec.to_json(cell, kind, data)));
        pool.extend(cells.filter(|(_, value)| answers.iter().any(|answer| holds(answer, value))));
        pool.extend(data.id(*row).map(|id| (Type::Row(row.table), json!(&**id))));
    }
    let mut texts = Vec::new();
    answers.iter().for_each(|answer| strings(answer, &mut texts));
    for text in texts.into_iter().take(TEXTS_SHOWN) {
        let tables = schema.ids().filter(|(table, _)| data.by_id(*table, text).is_some());
        pool.extend(tables.map(|(table, _)| (Type::Row(table), json!(text))));
    }
    pool
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

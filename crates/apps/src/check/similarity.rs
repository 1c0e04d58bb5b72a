//! Tasks that nobody can tell apart, and values that make no difference.
//!
//! Of a task one parameter is drawn anew, and what follows from it. Where the text and the beginning stay the same, whoever reads
//! them cannot know which of the two tasks it is: what solves one has to solve the other. Where the text changes, what solves
//! one should, in some draw at least, not solve the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::policies;
use super::replies::replies;
use crate::app::task::Draw;
use crate::app::{Argument, Schedule, Template};
use crate::draw::accept;
use crate::task::call::Call;
use crate::task::draw_key::{DrawKey, Order, begin};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::parameter::Drawing;
use crate::value::Value;

/// Other values of one parameter that are looked at in one task.
const OTHERS_MAX: usize = 16;
/// Tasks that are told alike and are played, of one task and parameter.
const ALIKE_MAX: usize = 4;
/// Tasks that are told otherwise and are played, of one task and parameter with more values than are listed.
const UNLIKE_MAX: usize = 2;
/// Tasks in which values without effect are looked for.
const UNLIKE_TASKS: u64 = 20;
/// Comparisons without any effect from which on it is no accident.
const IN_VAIN_LEAST: u64 = 8;

/// Two tasks that are told alike.
pub(super) struct Ambiguity {
    /// By its place.
    pub(super) parameter: usize,
    /// The other value, as it is shown.
    pub(super) other: Json,
}

/// Facts found out about the parameters of a template.
pub(super) struct Similarity {
    /// Parameters that events of the task use: what happens later tells them.
    later: BTreeSet<usize>,
    effects: Vec<Effects>,
    tasks: u64,
    /// Tasks that were compared with another.
    pub(super) compared: u64,
}

/// The effect of one parameter.
#[derive(Default)]
struct Effects {
    told: bool,
    matters: bool,
    in_vain: u64,
    /// The same of pairs of values of a choice, by their places.
    pairs: BTreeMap<(usize, usize), (bool, u64)>,
    shown: Option<u64>,
}

/// A parameter that the text tells in vain.
pub(super) struct Ignored {
    pub(super) parameter: usize,
    /// The two values of a choice that are one to the goal; none where all are.
    pub(super) values: Option<(Value, Value)>,
    /// The seed of a task of which it was shown.
    pub(super) seed: u64,
    pub(super) compared: u64,
}

impl Similarity {
    pub(super) fn of(template: &Template) -> Self {
        let mut later = BTreeSet::new();
        for event in &template.events {
            if let Schedule::At(time) = &event.schedule {
                later.extend(time.locals().iter().map(|local| usize::from(*local)));
            }
            for argument in &event.arguments {
                if let Argument::Given(value) = argument {
                    later.extend(value.locals().iter().map(|local| usize::from(*local)));
                }
            }
        }
        let effects = template.params.iter().map(|_| Effects::default()).collect();
        Self { later, effects, tasks: 0, compared: 0 }
    }

    /// Looks at the tasks beside one task; answers one that is told alike and solved otherwise.
    pub(super) fn look(&mut self, draw_key: DrawKey<'_>, instance: &Arc<Instance>) -> Option<Ambiguity> {
        self.tasks += 1;
        let mut found = None;
        for parameter in 0..instance.values.len() {
            let others = others(draw_key, instance, parameter);
            let told = |values: &Vec<Value>| {
                draw_key.text(&instance.data, values).is_ok_and(|(_, text)| text != instance.text)
            };
            let (unlike, alike): (Vec<_>, Vec<_>) = others.into_iter().partition(|values| told(values));
            if !unlike.is_empty() {
                self.effects[parameter].told = true;
                self.differ(draw_key, instance, parameter, unlike);
            }
            for values in alike.into_iter().take(ALIKE_MAX) {
                if found.is_none() && self.parts(draw_key, instance, parameter, &values) {
                    let shown =
                        crate::task::instance::parameters(draw_key.app, draw_key.template(), &values, &instance.data);
                    let name = &*draw_key.template().params[parameter].name;
                    found = Some(Ambiguity { parameter, other: shown.get(name).cloned().unwrap_or_default() });
                }
            }
        }
        found
    }

    /// True if the task of other values, which is told alike, begins alike too and cannot be solved as this one.
    fn parts(&mut self, draw_key: DrawKey<'_>, instance: &Arc<Instance>, parameter: usize, values: &[Value]) -> bool {
        let Ok(other) = draw_key.prepare(values.to_vec(), Order::Any) else { return false };
        let other = Arc::new(other);
        if other.text != instance.text || self.begins_differently(instance, &other) {
            return false;
        }
        self.compared += 1;
        if policies::replays(&other, instance.solution()) {
            return false;
        }
        // It has to be a task: its goal is not reached yet, and can be, by its own solution or by this one about the other row.
        let Ok((other, held)) = begin(other) else { return false };
        let calls = exchanged(instance, parameter, &values[parameter]);
        if calls.is_some_and(|calls| policies::replays(&other, &calls)) {
            return true;
        }
        accept(other, held, draw_key.rule).is_ok()
    }

    /// True if two tasks show a difference without being told: in their data, or by what happens later.
    fn begins_differently(&self, one: &Arc<Instance>, other: &Arc<Instance>) -> bool {
        !one.data.document().same(&other.data.document()) || self.events_differ(one, other)
    }

    /// True if something else is due in one of two tasks.
    fn events_differ(&self, one: &Arc<Instance>, other: &Arc<Instance>) -> bool {
        let later = self.later.iter().any(|place| one.values.get(*place) != other.values.get(*place));
        later
            || match (Episode::begin(one, 0), Episode::begin(other, 0)) {
                (Ok(one), Ok(other)) => one.world().agenda() != other.world().agenda(),
                _ => true,
            }
    }

    /// Notes whether tasks that are told otherwise are solved otherwise.
    fn differ(&mut self, draw_key: DrawKey<'_>, instance: &Arc<Instance>, parameter: usize, unlike: Vec<Vec<Value>>) {
        if instance.template().infeasible || self.tasks > UNLIKE_TASKS {
            return;
        }
        let choices = match &draw_key.template().params[parameter].draw {
            Draw::Choice(values) => values.as_slice(),
            _ => &[],
        };
        let place = |value: &Value| choices.iter().position(|known| known == value);
        let most = if choices.is_empty() { UNLIKE_MAX } else { choices.len() };
        for values in unlike.into_iter().take(most) {
            let effects = &self.effects[parameter];
            let pair = place(&instance.values[parameter]).zip(place(&values[parameter]));
            let pair = pair.map(|(one, other)| (one.min(other), one.max(other)));
            let known =
                pair.map_or(effects.matters, |pair| effects.pairs.get(&pair).is_some_and(|(matters, _)| *matters));
            if known {
                continue;
            }
            // Near misses differ with a value that nothing else depends on, too: they stay as they are.
            let Ok(base) = draw_key.base() else { return };
            let planted = instance.values.clone();
            let Ok(other) = draw_key.prepare_beside(base, values, planted, Order::Created) else { continue };
            let other = Arc::new(other);
            let matters = self.events_differ(instance, &other) || plays_differently(instance, &other);
            self.compared += 1;
            let effects = &mut self.effects[parameter];
            effects.matters |= matters;
            effects.in_vain += u64::from(!matters);
            if !matters {
                effects.shown.get_or_insert(draw_key.seed);
            }
            if let Some(pair) = pair {
                let noted = effects.pairs.entry(pair).or_default();
                noted.0 |= matters;
                noted.1 += u64::from(!matters);
            }
        }
    }

    /// Parameters that the text tells and that never made a difference.
    pub(super) fn ignored(&self, template: &Template) -> Vec<Ignored> {
        let mut found = Vec::new();
        for (parameter, effects) in self.effects.iter().enumerate().filter(|(_, effects)| effects.told) {
            let seed = effects.shown.unwrap_or(0);
            if !effects.matters {
                if effects.in_vain >= IN_VAIN_LEAST {
                    found.push(Ignored { parameter, values: None, seed, compared: effects.in_vain });
                }
                continue;
            }
            let Draw::Choice(values) = &template.params[parameter].draw else { continue };
            for ((one, other), (matters, in_vain)) in &effects.pairs {
                if !matters && *in_vain >= IN_VAIN_LEAST {
                    let values = Some((values[*one].clone(), values[*other].clone()));
                    found.push(Ignored { parameter, values, seed, compared: *in_vain });
                }
            }
        }
        found
    }
}

/// True if the solution of one task reads something else in the other, or does not solve it.
fn plays_differently(one: &Arc<Instance>, other: &Arc<Instance>) -> bool {
    let read = |instance| replies(instance, one.solution());
    match (read(one), read(other)) {
        (Some((answers, _)), Some((others, reached))) => !reached || answers != others,
        _ => true,
    }
}

/// The parameters of the tasks that differ from one in a parameter, and in what follows from it. What can stay stays.
fn others(draw_key: DrawKey<'_>, instance: &Instance, parameter: usize) -> Vec<Vec<Value>> {
    let param = &draw_key.template().params[parameter];
    let Ok(data) = draw_key.base() else { return Vec::new() };
    let mut draws = draw_key.draws(&format!("other {}", param.name));
    let values = &instance.values[..parameter];
    let columns = draw_key.template().text[instance.wording].columns_of(u16::try_from(parameter).unwrap_or(u16::MAX));
    let like = |value: &Value| match (value, &instance.values[parameter]) {
        (Value::Row(row), Value::Row(has)) => {
            columns.iter().all(|column| data.cell(*row, *column) == data.cell(*has, *column))
        }
        _ => false,
    };
    let mut drawing = Drawing { app: draw_key.app, data, values, draws: &mut draws };
    let others = drawing.others(param, &instance.values[parameter], OTHERS_MAX, &like).unwrap_or_default();
    others.into_iter().filter_map(|other| followed(draw_key, instance, parameter, other)).collect()
}

/// All parameters with one of them exchanged; none where no draw goes on so.
fn followed(draw_key: DrawKey<'_>, instance: &Instance, parameter: usize, other: Value) -> Option<Vec<Value>> {
    let data = draw_key.base().ok()?;
    let mut values = instance.values[..parameter].to_vec();
    values.push(other);
    for (place, param) in draw_key.template().params.iter().enumerate().skip(parameter + 1) {
        let mut draws = draw_key.draws(&format!("param {}", param.name));
        let mut drawing = Drawing { app: draw_key.app, data, values: &values, draws: &mut draws };
        let has = &instance.values[place];
        let value = if drawing.allows(param, has).ok()? { has.clone() } else { drawing.value(param).ok()? };
        values.push(value);
    }
    Some(values)
}

/// The calls of a solution with the id of one row in place of that of another.
fn exchanged(instance: &Instance, parameter: usize, other: &Value) -> Option<Vec<Call>> {
    let (Value::Row(one), Value::Row(other)) = (&instance.values[parameter], other) else { return None };
    let (one, other) = (instance.data.id(*one)?, instance.data.id(*other)?);
    let exchange =
        |call: &Call| Call { name: Arc::clone(&call.name), arguments: exchange(&call.arguments, one, other) };
    Some(instance.solution().iter().map(exchange).collect())
}

fn exchange(arguments: &Map<String, Json>, one: &str, other: &str) -> Map<String, Json> {
    let value = |value: &Json| exchange_value(value, one, other);
    arguments.iter().map(|(name, argument)| (name.clone(), value(argument))).collect()
}

fn exchange_value(value: &Json, one: &str, other: &str) -> Json {
    match value {
        Json::String(text) if text == one => Json::from(other),
        Json::Array(values) => Json::Array(values.iter().map(|value| exchange_value(value, one, other)).collect()),
        Json::Object(members) => Json::Object(exchange(members, one, other)),
        value => value.clone(),
    }
}

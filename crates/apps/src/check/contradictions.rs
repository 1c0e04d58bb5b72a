//! Values that the text tells and the solution repeats as an argument. Where it repeats all values but some, which it always
//! exchanges for one that is told nowhere, goal and solution contradict the text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::app::Template;
use crate::json::Codec;
use crate::kinds::Type;
use crate::task::instance::Instance;
use crate::task::trace::parameters;

/// Tasks of one value from which on what it leads to is no accident.
const TASKS_LEAST: u64 = 3;
/// Tasks with a repeated value from which on an argument is the place of a parameter.
const REPEATED_LEAST: u64 = 8;

/// An argument: the call, its number among those of its name, and the path to the value.
type ArgumentPosition = (Arc<str>, usize, String);

/// Arguments at a position in the tasks of one value.
#[derive(Default)]
struct SeenArguments {
    tasks: u64,
    /// The arguments, as JSON.
    arguments: BTreeSet<String>,
    /// Tasks whose text holds what stands there.
    told: u64,
    /// The seed of the first.
    seed: u64,
}

/// Arguments of solutions by the parameters that texts name.
#[derive(Default)]
pub(super) struct StatedArguments(BTreeMap<(usize, ArgumentPosition), Arguments>);

/// Arguments at one position, by the value of one parameter.
#[derive(Default)]
struct Arguments {
    /// True if the place takes values of the parameter's type, so that each could be repeated.
    takes: bool,
    by_value: BTreeMap<String, SeenArguments>,
}

/// A value that is told, and another one that is done instead.
pub(super) struct Contradiction {
    pub(super) parameter: usize,
    pub(super) told: String,
    pub(super) done: String,
    pub(super) call: Arc<str>,
    pub(super) tasks: u64,
    pub(super) seed: u64,
}

impl StatedArguments {
    /// Counts a task.
    pub(super) fn count(&mut self, instance: &Instance, seed: u64) {
        let template = instance.template();
        let arguments = arguments(instance);
        let codec = Codec::new(&instance.app.schema);
        let named = template.text[instance.wording].locals();
        for (parameter, (param, value)) in template.params.iter().zip(&instance.values).enumerate() {
            let scalar = !matches!(param.kind.present(), Type::Row(_) | Type::List(_) | Type::Record(_));
            let in_text = named.iter().any(|local| usize::from(*local) == parameter)
                && holds(&instance.text, &codec.show(value, &param.kind, &instance.data));
            if !scalar || !in_text {
                continue;
            }
            let told = codec.to_json(value, &param.kind, &instance.data).to_string();
            for (place, argument, kind) in &arguments {
                let at = self.0.entry((parameter, place.clone())).or_default();
                at.takes |= kind.as_ref().is_some_and(|kind| kind.present() == param.kind.present());
                let found = at
                    .by_value
                    .entry(told.clone())
                    .or_insert_with(|| SeenArguments { seed, ..SeenArguments::default() });
                found.tasks += 1;
                found.arguments.insert(argument.to_string());
                let shown = argument.as_str().map_or_else(|| argument.to_string(), str::to_owned);
                found.told += u64::from(argument.to_string() != told && holds(&instance.text, &shown));
            }
        }
    }

    /// Named values that the solutions contradict.
    pub(super) fn contradicted(&self, template: &Template) -> Vec<Contradiction> {
        let mut all = Vec::new();
        let mut known = BTreeSet::new();
        for ((parameter, (call, ..)), at) in &self.0 {
            let Some(exchanged) = at.exchanged() else { continue };
            for (told, found, done) in exchanged {
                if *parameter < template.params.len() && known.insert((*parameter, told.clone())) {
                    all.push(Contradiction {
                        parameter: *parameter,
                        told: told.clone(),
                        done: done.clone(),
                        call: Arc::clone(call),
                        tasks: found.tasks,
                        seed: found.seed,
                    });
                }
            }
        }
        all
    }
}

impl Arguments {
    /// Values that are always exchanged for the same other one, where most others are repeated; none where it is not the
    /// parameter's place.
    fn exchanged(&self) -> Option<Vec<(&String, &SeenArguments, &String)>> {
        let (mut repeated, mut tasks, mut exchanged) = (0, 0, Vec::new());
        for (told, found) in &self.by_value {
            let only = if found.arguments.len() == 1 { found.arguments.first() } else { None };
            match only {
                Some(only) if only == told => {
                    repeated += 1;
                    tasks += found.tasks;
                }
                Some(only) if found.tasks >= TASKS_LEAST && found.told == 0 => exchanged.push((told, found, only)),
                // Too few tasks to tell.
                _ if found.tasks < TASKS_LEAST => {}
                _ => return None,
            }
        }
        // A value that always stands there is no repetition.
        let least = if self.takes { 1 } else { 2 };
        let constant = repeated == 1 && exchanged.iter().any(|(_, _, done)| self.by_value.contains_key(*done));
        let its_place = repeated >= least.max(exchanged.len()) && tasks >= REPEATED_LEAST && !constant;
        its_place.then_some(exchanged)
    }
}

/// The arguments of a solution, with the types that their calls give them.
fn arguments(instance: &Instance) -> Vec<(ArgumentPosition, &Json, Option<Type>)> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for call in instance.solution() {
        let number = numbers.entry(&call.name).or_default();
        let kinds = parameters(instance, &call.name);
        let mut leaves = Vec::new();
        members(&call.arguments, "", &mut leaves);
        for (path, value) in leaves {
            let kind = kinds.iter().find(|parameter| *parameter.name == *path).map(|parameter| parameter.kind.clone());
            found.push(((Arc::clone(&call.name), *number, path), value, kind));
        }
        *number += 1;
    }
    found
}

fn members<'a>(arguments: &'a Map<String, Json>, path: &str, found: &mut Vec<(String, &'a Json)>) {
    for (name, value) in arguments {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Json::Object(inner) => members(inner, &path, found),
            Json::Array(_) | Json::Null => {}
            scalar => found.push((path, scalar)),
        }
    }
}

/// True if a text holds words as a whole, however their parts are joined.
pub(super) fn holds(text: &str, words: &str) -> bool {
    let (text, words) = (text.replace('_', " ").to_lowercase(), words.replace('_', " ").to_lowercase());
    let edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    !words.is_empty()
        && text
            .match_indices(&words)
            .any(|(at, found)| edge(text[..at].chars().next_back()) && edge(text[at + found.len()..].chars().next()))
}

//! Numbers and words that a solution writes in every task alike, and that nothing tells: who reads the text cannot know them.

use std::sync::Arc;

use serde_json::Value as Json;

use super::told::holds;
use crate::app::Callable;
use crate::kinds::Type;
use crate::task::draw::Instance;
use crate::task::episode::Episode;
use crate::task::solve::{self, Played};
use crate::task::trace::{beginning, parameters};

/// Numbers up to which words tell them in many ways.
const IN_WORDS_MOST: f64 = 12.0;
/// Letters by which words are taken for forms of one word: `paused` and `pause`.
const STEM: usize = 4;

/// The first of them, as `set_card.limit: 250`.
pub(super) fn untold(instance: &Arc<Instance>) -> Option<String> {
    let steps = instance.template().solution.as_ref()?;
    let solved = solve::play(Episode::begin(instance, 0).ok()?, steps).ok()?;
    let mut known = beginning(instance);
    for played in &solved.calls {
        if let Some(found) = first(instance, played, &known) {
            return Some(found);
        }
        known.push('\n');
        known.push_str(&played.answer.to_string());
    }
    None
}

/// The first argument of a call that is the same in every task and that is not known.
fn first(instance: &Instance, played: &Played, known: &str) -> Option<String> {
    let app = &instance.app;
    let Some(Callable::Action(action)) = app.calls.get(&played.call.name) else { return None };
    if !app.actions[*action].writes() {
        return None;
    }
    let parameters = parameters(instance, &played.call.name);
    let constant = |name: &str| played.constant.iter().any(|constant| **constant == *name);
    let arguments = played.call.arguments.iter().filter(|(name, _)| constant(name));
    arguments
        .filter_map(|(name, value)| Some((name, value, parameters.iter().find(|found| *found.name == **name)?)))
        .find(|(_, value, parameter)| !is_known(value, parameter.kind.present(), known))
        .map(|(name, value, _)| format!("{}.{name}: {value}", played.call.name))
}

fn is_known(value: &Json, kind: &Type, known: &str) -> bool {
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match kind {
        Type::Int | Type::Money(_) | Type::Decimal(_) => {
            let few = shown.parse::<f64>().is_ok_and(|number| number.abs() <= IN_WORDS_MOST);
            let short = shown.trim_end_matches('0').trim_end_matches('.');
            few || holds(known, &shown) || shown.contains('.') && holds(known, short)
        }
        Type::Enum(_) => shown.split('_').all(|word| {
            let stem: String = word.to_lowercase().chars().take(STEM).collect();
            let mut words = known.split(|letter: char| !letter.is_alphanumeric());
            words.any(|other| other.to_lowercase().starts_with(&stem))
        }),
        // Texts are in the solution's own words, and a flag is told by what the action does.
        _ => true,
    }
}

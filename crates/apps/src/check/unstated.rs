//! Numbers and words that a solution writes in every task alike, and that nothing tells: who reads the text cannot know them.

use std::sync::Arc;

use serde_json::Value as Json;

use super::contradictions::holds;
use crate::app::Callable;
use crate::kinds::Type;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::solve::{self, Played};
use crate::task::trace::parameters;
use crate::tool::system_text;

/// Numbers up to which words tell them in many ways.
const IN_WORDS_MOST: i64 = 12;
/// Words of other numbers, and of minutes.
const WORDS: [(&str, i64); 19] = [
    ("thirteen", 13),
    ("fortnight", 14),
    ("fourteen", 14),
    ("fifteen", 15),
    ("quarter", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("half", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("hundred", 100),
];
/// Letters by which words are taken for forms of one word: `paused` and `pause`.
const STEM: usize = 4;

/// The first of them, as `set_card.limit: 250`.
pub(super) fn untold(instance: &Arc<Instance>) -> Option<String> {
    let steps = instance.template().solution.as_ref()?;
    let solved = solve::play(Episode::begin(instance, 0).ok()?, steps).ok()?;
    let mut known = known(instance);
    for played in &solved.calls {
        if let Some(found) = first(instance, played, &known) {
            return Some(found);
        }
        known.push('\n');
        known.push_str(&played.answer.to_string());
    }
    None
}

/// Knowledge before the first call: what the agent is told, and what the tools say of themselves.
fn known(instance: &Instance) -> String {
    let abouts = instance.app.actions.iter().map(|action| &*action.about);
    let told = system_text(instance);
    [told.as_str(), instance.text.as_str()].into_iter().chain(abouts).collect::<Vec<_>>().join("\n")
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

/// True if a text tells a number, in digits or in words.
pub(super) fn tells_number(text: &str, shown: &str) -> bool {
    let whole = shown.split('.').next().unwrap_or_default();
    let number = whole.parse::<i64>().unwrap_or(i64::MAX);
    let word = |wanted: i64| WORDS.iter().any(|(word, value)| *value == wanted && text.to_lowercase().contains(word));
    let in_words =
        number.abs() <= IN_WORDS_MOST || word(number) || (21..100).contains(&number) && word(number / 10 * 10);
    let text = without_separators(text);
    let short = shown.trim_end_matches('0').trim_end_matches('.');
    in_words || holds(&text, shown) || shown.contains('.') && holds(&text, short)
}

/// A text whose numbers have no separators of thousands.
fn without_separators(text: &str) -> String {
    let digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let letters: Vec<char> = text.chars().collect();
    let separates = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| letters.get(before)).copied();
        matches!(letters[at], ',' | '\'' | ' ' | '\u{a0}' | '\u{202f}')
            && digit(before)
            && (1..=3).all(|next| digit(letters.get(at + next).copied()))
            && !digit(letters.get(at + 4).copied())
    };
    (0..letters.len()).filter(|at| !separates(*at)).map(|at| letters[at]).collect()
}

/// True if what stands before a call tells an argument of it.
fn is_known(value: &Json, kind: &Type, known: &str) -> bool {
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match kind {
        Type::Int | Type::Money(_) | Type::Decimal(_) => tells_number(known, &shown),
        Type::Enum(_) => shown.split('_').all(|word| {
            let stem: String = word.to_lowercase().chars().take(STEM).collect();
            let mut words = known.split(|letter: char| !letter.is_alphanumeric());
            words.any(|other| other.to_lowercase().starts_with(&stem))
        }),
        // Texts are in the solution's own words, and a flag is told by what the action does.
        _ => true,
    }
}

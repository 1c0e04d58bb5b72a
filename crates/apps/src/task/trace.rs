//! Check that a solution could know its arguments: ids and texts must stand in the task, or in what earlier calls answered.

use serde_json::Value as Json;

use super::instance::Instance;
use super::outcome::Rule;
use super::solve::Played;
use crate::app::{Callable, Parameter};
use crate::kinds::Type;

/// An argument that stands nowhere before it is used.
#[derive(Debug)]
pub(crate) struct UnknownArgument {
    /// The call's place.
    pub(crate) call: usize,
    /// The text or the id.
    pub(crate) text: String,
    /// For people: `call 3, lend.tool: "T0412"`.
    pub(crate) shown: String,
}

/// The first argument that stands nowhere before it is used. Numbers between the words of a text may be worked out.
pub(crate) fn untraced(instance: &Instance, calls: &[Played], rule: Rule) -> Option<UnknownArgument> {
    let mut known = known_text(instance);
    for (number, played) in calls.iter().enumerate() {
        let parameters = parameters(instance, &played.call.name);
        for (name, value) in &played.call.arguments {
            let kind = parameters.iter().find(|parameter| *parameter.name == **name).map(|parameter| &parameter.kind);
            // What is the same in every task tells nothing of this one, unless it is an id.
            if played.constant.contains(&name.as_str().into()) && kind.is_none_or(|kind| *kind.present() == Type::Text)
            {
                continue;
            }
            if let Some(text) = kind.and_then(|kind| missing(value, kind, &known, rule)) {
                let shown = format!("call {}, {}.{name}: {text:?}", number + 1, played.call.name);
                return Some(UnknownArgument { call: number, text, shown });
            }
        }
        if let Some(Json::String(about)) = played.call.arguments.get("about")
            && &*played.call.name == "submit"
            && !known.contains(&fold(about))
        {
            let shown = format!("call {}, submit.about: {about:?} (look up what stands in the way)", number + 1);
            return Some(UnknownArgument { call: number, text: about.clone(), shown });
        }
        collect(&played.answer, &mut known);
    }
    None
}

/// Knowledge before the first call, folded.
fn known_text(instance: &Instance) -> String {
    let mut known = fold(&instance.text);
    if let Some(role) = instance.app.role_text(&instance.data) {
        known.push_str(&fold(&role));
    }
    known
}

/// True if a text stands in what an agent is told at the beginning of a task.
pub(crate) fn is_told(instance: &Instance, text: &str) -> bool {
    known_text(instance).contains(&fold(text))
}

/// The parameters of an action or a view.
pub(crate) fn parameters(instance: &Instance, call: &str) -> Vec<Parameter> {
    match instance.app.calls.get(call) {
        Some(Callable::Action(place)) => instance.app.actions[*place].parameters.clone(),
        Some(Callable::View(place)) => instance.app.views[*place].all_parameters(&instance.app.schema),
        None => Vec::new(),
    }
}

/// A text or an id within an argument that is not known.
fn missing(value: &Json, kind: &Type, known: &str, rule: Rule) -> Option<String> {
    match (value, kind.present()) {
        // Words that are looked for may come from several places.
        (Json::String(text), Type::Text) => {
            let folded = fold(text);
            let number = |word: &str| word.bytes().all(|letter| letter.is_ascii_digit());
            let counts = rule == Rule::Strict && !words(&folded).all(number);
            let known_text = |word: &str| known.contains(word) || counts && number(word);
            let everywhere = known.contains(&folded) || words(&folded).all(known_text);
            (!everywhere).then(|| text.clone())
        }
        (Json::String(text), Type::Row(_)) => (!known.contains(&fold(text))).then(|| text.clone()),
        (Json::Array(values), Type::List(element)) => {
            values.iter().find_map(|value| missing(value, element, known, rule))
        }
        (Json::Object(fields), Type::Record(kinds)) => kinds
            .iter()
            .find_map(|(name, kind)| fields.get(&**name).and_then(|value| missing(value, kind, known, rule))),
        _ => None,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Every text of an answer.
fn collect(answer: &Json, known: &mut String) {
    match answer {
        Json::String(text) => {
            known.push('\n');
            known.push_str(&fold(text));
        }
        Json::Array(values) => values.iter().for_each(|value| collect(value, known)),
        Json::Object(members) => members.values().for_each(|value| collect(value, known)),
        Json::Number(number) => {
            known.push('\n');
            known.push_str(&number.to_string());
        }
        Json::Null | Json::Bool(_) => {}
    }
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

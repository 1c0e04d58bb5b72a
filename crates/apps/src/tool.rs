//! Tools: what an app offers to a policy, as JSON Schemas, and what a policy is told.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::app::{App, Bounds, Parameter, Role};
use crate::json::Codec;
use crate::kinds::Type;
use crate::run::World;
use crate::task::answer::ANSWER_CHARACTERS_MAX;
use crate::task::instance::Instance;

/// Told of an action that nothing takes back.
const IRREVERSIBLE: &str = "It cannot be undone.";

/// OpenAI function tools of an app for the agent: views, then actions, `wait` where anything can happen, and `submit`.
#[must_use]
pub fn tools(app: &App) -> Vec<Json> {
    let mut tools = Vec::new();
    for view in app.views.iter().filter(|view| view.who.contains(&Role::AGENT)) {
        tools.push(function(&view.name, &view.about, &object(app, &view.all_parameters(&app.schema))));
    }
    for action in app.actions.iter().filter(|action| action.who.contains(&Role::AGENT)) {
        let parameters = object(app, &action.parameters);
        let about = if action.irreversible { &format!("{} {IRREVERSIBLE}", action.about) } else { &*action.about };
        tools.push(function(&action.name, about, &parameters));
    }
    if World::is_living(app) {
        let schema = json!({
            "type": "object", "required": ["seconds"], "additionalProperties": false,
            "properties": {"seconds": {"type": "integer", "minimum": 1, "maximum": crate::run::WAIT_SECONDS_MAX}}
        });
        tools.push(function("wait", "Lets time pass, and answers what time it is then.", &schema));
    }
    tools.push(function(
        "submit",
        "Ends the task: `ok` when it is done, `impossible` when it cannot be done, `refused` when it must not be done.",
        &submit(),
    ));
    tools
}

fn submit() -> Json {
    let text = json!({"type": "string", "maxLength": ANSWER_CHARACTERS_MAX});
    let scalar = json!({"anyOf": [text, {"type": "number"}, {"type": "boolean"}, {"type": "null"}, {"type": "array", "items": text}]});
    json!({
        "type": "object", "required": ["status"], "additionalProperties": false,
        "properties": {
            "status": {"enum": ["ok", "impossible", "refused"]},
            "code": {"type": "string", "maxLength": ANSWER_CHARACTERS_MAX, "description": "the error code that stands in the way"},
            "about": {"type": "string", "maxLength": ANSWER_CHARACTERS_MAX, "description": "the id of what stands in the way"},
            "answers": {"type": "object", "additionalProperties": scalar, "description": "what was asked for, by name"}
        }
    })
}

fn function(name: &str, description: &str, parameters: &Json) -> Json {
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

fn object(app: &App, parameters: &[Parameter]) -> Json {
    let properties: Map<String, Json> =
        parameters.iter().map(|parameter| (parameter.name.to_string(), schema(app, parameter))).collect();
    let required: Vec<&str> =
        parameters.iter().filter(|parameter| parameter.required()).map(|parameter| &*parameter.name).collect();
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

fn schema(app: &App, parameter: &Parameter) -> Json {
    let mut schema = match (parameter.kind.present(), parameter.inner.as_slice()) {
        (Type::List(_), [element]) => json!({"type": "array", "items": schema(app, element)}),
        (Type::Record(_), fields) => object(app, fields),
        (kind, _) => Codec::new(&app.schema).schema_of(kind),
    };
    if let Some(members) = schema.as_object_mut() {
        bound(members, parameter.kind.present(), parameter.bounds);
    }
    if parameter.kind.may_be_null() { nullable(schema) } else { schema }
}

/// The same schema for a value that may also be null. What can be said without alternatives is, since a fault then names what
/// is wrong rather than that no alternative fits.
fn nullable(mut schema: Json) -> Json {
    let Some(members) = schema.as_object_mut() else { return schema };
    let listed = match members.get_mut("enum") {
        Some(Json::Array(words)) => {
            words.push(Json::Null);
            true
        }
        _ => false,
    };
    match members.get_mut("type") {
        Some(kind) if kind.is_string() => *kind = json!([kind, "null"]),
        _ if listed => {}
        _ => return json!({"anyOf": [schema, {"type": "null"}]}),
    }
    schema
}

/// Bounds of numbers, texts and lists; those of amounts, which are text, are left to the engine.
fn bound(schema: &mut Map<String, Json>, kind: &Type, bounds: Bounds) {
    let names = match kind {
        Type::Int => ("minimum", "maximum"),
        Type::Text => ("minLength", "maxLength"),
        Type::List(_) => ("minItems", "maxItems"),
        _ => return,
    };
    for (name, bound) in [(names.0, bounds.least), (names.1, bounds.most)] {
        if let Some(bound) = bound {
            schema.insert(name.to_owned(), json!(bound));
        }
    }
}

/// Text for the agent before its task: who it is, the time, the rules, and how to end.
#[must_use]
pub fn system_text(instance: &Instance) -> String {
    let app = &instance.app;
    let mut text = app.role_text(&instance.data).unwrap_or_else(|| app.about.to_string());
    // Writing to a string cannot fail.
    let _ = write!(text, "\nIt is {}.", app.calendar.show_instant(app.start));
    if !app.rules.is_empty() {
        text.push_str("\nRules:");
        for rule in &app.rules {
            let _ = write!(text, "\n- {}", rule.text);
        }
    }
    text.push_str(
        "\nWhen you are done, call submit with status ok. If the task cannot be done, or a rule forbids it, change \
         nothing and call submit with status impossible or refused, the error code that stands in the way as code, and the id of what it is about \
         as about.",
    );
    if let Some(answer) = &instance.template().goal.answer
        && !answer.slots.is_empty()
    {
        let slots: Vec<&str> = answer.slots.iter().map(|(name, _)| &**name).collect();
        let _ = write!(text, "\nAnswers to give with submit: {}.", slots.join(", "));
    }
    text
}

//! Actions: the forms of the protocol, and the two by which clients of OpenEnv use tools.

use palestra_protocol::action::Action;
use serde_json::{Map, Value, json};

use super::super::super::extract::parse_value;
use super::refusal::{Detail, Refusal};

/// Up to here every whole number is read as it was written: 2^53.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The action of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// `{"type":"list_tools"}`: no turn, and possible before the first reset.
    Tools,
    /// A turn.
    Turn(Turn),
}

/// A turn to take.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) action: Action,
    /// The tool, where the turn was asked for as `call_tool`: its answer has a form of its own.
    pub(super) called: Option<Called>,
    /// Recorded, and never shown to the environment.
    pub(super) meta: Option<Value>,
}

/// A tool and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Called {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

impl Turn {
    /// A turn of one tool call.
    pub(super) fn calling(tool: String, arguments: Map<String, Value>) -> Self {
        let action = Action::Tool { tool: tool.clone(), arguments: arguments.clone() };
        Self { action, called: Some(Called { tool, arguments }), meta: None }
    }
}

/// Reads an action object.
pub(super) fn read(mut object: Map<String, Value>) -> Result<Wanted, Refusal> {
    // Every typed action of OpenEnv carries it, mostly empty.
    let meta = match object.remove("metadata") {
        None | Some(Value::Null) => None,
        Some(Value::Object(fields)) => (!fields.is_empty()).then_some(Value::Object(fields)),
        Some(other) => {
            let words = "Input should be a valid dictionary";
            return Err(Detail::new("dict_type", &["metadata"], words, &other).into());
        }
    };
    let Some(kind) = object.remove("type") else {
        if let Some(text) = object.get_mut("text") {
            *text = as_text(text.take())?;
        }
        let action = parse_value(Value::Object(object)).map_err(|failure| Refusal::below(failure, &[]))?;
        return Ok(Wanted::Turn(Turn { action, called: None, meta }));
    };
    match kind.as_str() {
        Some("list_tools") => {
            refuse_others(&object, &[])?;
            Ok(Wanted::Tools)
        }
        Some("call_tool") => {
            refuse_others(&object, &["tool_name", "arguments"])?;
            let (tool, arguments) = call(object, "tool_name")?;
            Ok(Wanted::Turn(Turn { meta, ..Turn::calling(tool, arguments) }))
        }
        _ => {
            let words = "Input should be 'list_tools' or 'call_tool'; an action of another form has no type";
            Err(Detail::new("literal_error", &["type"], words, &kind).into())
        }
    }
}

/// Programs that read every answer of a model as JSON send the number 42 where the model wrote "42". Only what can be told
/// back into the same text is taken.
fn as_text(value: Value) -> Result<Value, Refusal> {
    match &value {
        Value::Number(number) if number.as_f64().is_none_or(|number| number.abs() > EXACT_MAX) => {
            let words = "Input should be a string: the number is too large to be read exactly";
            Err(Detail::new("string_type", &["text"], words, &Value::Null).into())
        }
        Value::Number(_) | Value::Bool(_) | Value::Null | Value::Array(_) => Ok(Value::String(value.to_string())),
        Value::String(_) | Value::Object(_) => Ok(value),
    }
}

/// The tool that `name` names and its `arguments`.
pub(super) fn call(mut object: Map<String, Value>, name: &str) -> Result<(String, Map<String, Value>), Refusal> {
    let tool = match object.remove(name) {
        Some(Value::String(tool)) => tool,
        None => return Err(Detail::new("missing", &[name], "Field required", &Value::Null).into()),
        Some(other) => {
            return Err(Detail::new("string_type", &[name], "Input should be a valid string", &other).into());
        }
    };
    match object.remove("arguments") {
        None | Some(Value::Null) => Ok((tool, Map::new())),
        Some(Value::Object(arguments)) => Ok((tool, arguments)),
        Some(other) => {
            let words = "Input should be a valid dictionary";
            Err(Detail::new("dict_type", &["arguments"], words, &other).into())
        }
    }
}

/// Refuses every field but `known`.
pub(super) fn refuse_others(object: &Map<String, Value>, known: &[&str]) -> Result<(), Refusal> {
    let others: Vec<Detail> = object
        .iter()
        .filter(|(name, _)| !known.contains(&name.as_str()))
        .map(|(name, value)| Detail::new("extra_forbidden", &[name], "Extra inputs are not permitted", value))
        .collect();
    if others.is_empty() { Ok(()) } else { Err(Refusal::Invalid(others)) }
}

/// A tool in the form in which observations list them.
pub(super) fn tool_form(tool: &Value) -> Value {
    let function = &tool["function"];
    json!({
        "name": function["name"],
        "description": function["description"].as_str().unwrap_or_default(),
        "input_schema": function["parameters"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(object: &Value) -> Result<Wanted, Refusal> {
        read(object.as_object().expect("an object").clone())
    }

    fn action(object: &Value) -> Action {
        match wanted(object).expect("an action") {
            Wanted::Turn(turn) => turn.action,
            Wanted::Tools => panic!("no turn"),
        }
    }

    #[test]
    fn our_own_forms_and_those_of_openenv_are_read() {
        assert_eq!(action(&json!({"text": "a", "metadata": {}})), Action::Text("a".to_owned()));
        let add = Action::Tool { tool: "add".to_owned(), arguments: Map::from_iter([("amount".to_owned(), json!(1))]) };
        assert_eq!(action(&json!({"tool": "add", "arguments": {"amount": 1}})), add);
        assert_eq!(action(&json!({"type": "call_tool", "tool_name": "add", "arguments": {"amount": 1}})), add);
        assert_eq!(wanted(&json!({"type": "list_tools", "metadata": {}})), Ok(Wanted::Tools));
        let Ok(Wanted::Turn(turn)) = wanted(&json!({"text": "a", "metadata": {"tokens": [1]}})) else {
            panic!("a turn")
        };
        assert_eq!(turn.meta, Some(json!({"tokens": [1]})));
    }

    #[test]
    fn what_a_program_read_as_json_is_text_again() {
        for (value, text) in
            [(json!(42), "42"), (json!(-0.5), "-0.5"), (json!(true), "true"), (json!([1, "a"]), "[1,\"a\"]")]
        {
            assert_eq!(action(&json!({"text": value})), Action::Text(text.to_owned()));
        }
    }

    #[test]
    fn anything_else_is_refused_where_it_is_wrong() {
        for (object, kind, place) in [
            (json!({"type": "dance"}), "literal_error", json!(["type"])),
            (json!({"type": 7}), "literal_error", json!(["type"])),
            (json!({"type": "call_tool"}), "missing", json!(["tool_name"])),
            (json!({"type": "call_tool", "tool_name": 7}), "string_type", json!(["tool_name"])),
            (json!({"type": "call_tool", "tool_name": "a", "arguments": []}), "dict_type", json!(["arguments"])),
            (json!({"type": "call_tool", "tool_name": "a", "x": 1}), "extra_forbidden", json!(["x"])),
            (json!({"type": "list_tools", "text": "a"}), "extra_forbidden", json!(["text"])),
            (json!({"text": "a", "metadata": 7}), "dict_type", json!(["metadata"])),
            (json!({"text": {}}), "value_error", json!(["text"])),
            (json!({"text": 1e300}), "string_type", json!(["text"])),
            (json!({"colour": "red"}), "value_error", json!(["colour"])),
            (json!({}), "value_error", json!([])),
        ] {
            let errors = wanted(&object).expect_err("refused").frame_data()["errors"].clone();
            assert_eq!((&errors[0]["type"], &errors[0]["loc"]), (&json!(kind), &place), "{object}");
        }
    }
}

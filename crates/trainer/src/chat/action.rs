//! An answer's text as an action. What cannot be read as a call is text, which the environment answers.

use palestra_protocol::spec::train::ToolFormat;
use serde_json::{Deserializer, Map, Value, json};

use super::message::{CALLS_MAX, object};

/// Begins a call.
const OPEN: &str = "<tool_call>";
/// Ends a call.
const CLOSE: &str = "</tool_call>";
/// Ends a model's reasoning, which is no part of its action.
const REASONING_END: &str = "</think>";
/// Optional opening of a Llama 3 call.
const LLAMA_OPEN: &str = "<|python_tag|>";

/// The action that an answer stands for, in the form of a step: `{"tool","arguments"}`, `{"calls":[..]}` or `{"text"}`.
///
/// With [`ToolFormat::Auto`] calls are looked for where there are `tools`; with [`ToolFormat::Json`] always; with
/// [`ToolFormat::Text`] never. A call is `<tool_call>{"name":..,"arguments":{..}}</tool_call>`, one or several, or the
/// answer is nothing but JSON objects with `name` or `tool` and `arguments` or `parameters`. Text before `</think>` does
/// not count.
#[must_use]
pub fn action(text: &str, format: ToolFormat, tools: &[Value]) -> Value {
    let visible = text.rsplit_once(REASONING_END).map_or(text, |(_, visible)| visible.trim_start());
    let calls_wanted = match format {
        ToolFormat::Auto => !tools.is_empty(),
        ToolFormat::Json => true,
        ToolFormat::Text => false,
    };
    let calls = if calls_wanted { tagged(visible).or_else(|| bare(visible)) } else { None };
    match calls {
        Some(mut calls) if calls.len() == 1 => {
            let (tool, arguments) = calls.remove(0);
            json!({"tool": tool, "arguments": arguments})
        }
        Some(calls) => {
            let numbered = calls.into_iter().enumerate().map(|(place, (tool, arguments))| {
                json!({"id": format!("call_{}", place + 1), "tool": tool, "arguments": arguments})
            });
            json!({"calls": numbered.collect::<Vec<Value>>()})
        }
        None => json!({"text": visible}),
    }
}

type Call = (String, Map<String, Value>);

/// Calls between tags; the last need not be closed, since a stop may have taken the tag.
fn tagged(text: &str) -> Option<Vec<Call>> {
    let (_, mut rest) = text.split_once(OPEN)?;
    let mut calls = Vec::new();
    loop {
        let (body, behind) = rest.split_once(CLOSE).unwrap_or((rest, ""));
        calls.push(call(&serde_json::from_str(body.trim()).ok()?, false)?);
        if calls.len() > CALLS_MAX {
            return None;
        }
        match behind.split_once(OPEN) {
            Some((_, next)) => rest = next,
            None => return Some(calls),
        }
    }
}

/// An answer that is nothing but calls: objects one after the other, or a list of them, perhaps in a fence of code.
fn bare(text: &str) -> Option<Vec<Call>> {
    let mut rest = text.trim();
    rest = rest.strip_prefix(LLAMA_OPEN).unwrap_or(rest);
    if let Some(fenced) = rest.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        rest = fenced.strip_prefix("json").unwrap_or(fenced);
    }
    let mut calls = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if rest.is_empty() {
            return Some(calls).filter(|calls| !calls.is_empty());
        }
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        match values.next()?.ok()? {
            Value::Array(items) => {
                for item in &items {
                    calls.push(call(item, true)?);
                }
            }
            value => calls.push(call(&value, true)?),
        }
        if calls.len() > CALLS_MAX {
            return None;
        }
        rest = rest.get(values.byte_offset()..)?;
    }
}

/// One call. Where nothing marks the object as a call, it has to name its arguments.
fn call(value: &Value, arguments_needed: bool) -> Option<Call> {
    let fields = match value.get("function") {
        Some(Value::Object(function)) => function,
        _ => value.as_object()?,
    };
    let name = ["name", "tool"].iter().find_map(|key| fields.get(*key)?.as_str()).filter(|name| !name.is_empty())?;
    let arguments = ["arguments", "parameters"].iter().find_map(|key| fields.get(*key));
    if arguments.is_none() && arguments_needed {
        return None;
    }
    match object(arguments.unwrap_or(&Value::Null))? {
        Value::Object(arguments) => Some((name.to_owned(), arguments)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::action::Action;
    use proptest::prelude::*;

    use super::super::call_text::{CallStyle, answer};
    use super::super::message::ToolCall;
    use super::*;

    fn read(text: &str) -> Value {
        action(text, ToolFormat::Auto, &[json!({"name": "f"})])
    }

    #[test]
    fn calls_in_every_known_form_are_read() {
        let expected = json!({"tool": "f", "arguments": {"a": 1}});
        for text in [
            r#"<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>"#,
            "I will.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n",
            r#"<tool_call>{"name":"f","arguments":{"a":1}}"#,
            r#"<think>{"name":"g"}</think>

            {"name":"f","arguments":"{\"a\": 1}"}"#,
            r#"{"tool":"f","arguments":{"a":1}}"#,
            r#" <|python_tag|>{"name": "f", "parameters": {"a": 1}}"#,
            "```json\n{\"name\":\"f\",\"parameters\":{\"a\":1}}\n```",
            r#"[{"type":"function","function":{"name":"f","arguments":{"a":1}}}]"#,
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn several_calls_are_numbered() {
        let expected = json!({"calls": [
            {"id": "call_1", "tool": "f", "arguments": {}}, {"id": "call_2", "tool": "g", "arguments": {"b": []}}]});
        for text in [
            r#"<tool_call>{"name":"f"}</tool_call><tool_call>{"name":"g","arguments":{"b":[]}}</tool_call>"#,
            r#"{"name":"f","parameters":{}}; {"name":"g","parameters":{"b":[]}}"#,
            r#"[{"name":"f","arguments":{}},{"name":"g","arguments":{"b":[]}}]"#,
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_without_a_call_are_text() {
        for text in [
            "",
            "hello",
            "42",
            r#"{"name":"Ada"}"#,
            r#"{"name":"f","arguments":[1]}"#,
            r#"{"name":"f","arguments":{}} and more"#,
            "<tool_call>{</tool_call>",
            r#"<tool_call>{"name":"f"}</tool_call><tool_call>no</tool_call>"#,
            "[]",
            "[[",
        ] {
            assert_eq!(read(text), json!({"text": text}));
        }
        let call = r#"{"name":"f","arguments":{}}"#;
        assert_eq!(action(call, ToolFormat::Text, &[json!({})]), json!({"text": call}));
        assert_eq!(
            action(call, ToolFormat::Auto, &[]),
            json!({"text": call}),
            "without tools there is nothing to call"
        );
        assert_eq!(action(call, ToolFormat::Json, &[])["tool"], "f");
        assert_eq!(action("<think>a</think>\n\nb", ToolFormat::Text, &[]), json!({"text": "b"}));
    }

    #[test]
    fn deep_and_many_are_bounded() {
        let deep = "[".repeat(100_000);
        assert_eq!(read(&deep), json!({"text": deep}));
        let many = r#"{"name":"f","arguments":{}}"#.repeat(CALLS_MAX + 1);
        assert_eq!(read(&many), json!({"text": many}));
    }

    /// Pieces of which calls are made, in any order.
    const PIECES: &str =
        concat!(r#"(<tool_call>|</tool_call>|\{"name":"f"|,"arguments":\{\}|\}|"#, "[\\[\\]\";`ü \n]|</think>){0,12}");

    proptest! {
        #[test]
        fn any_text_is_an_action_that_a_step_takes(text in PIECES) {
            for format in [ToolFormat::Auto, ToolFormat::Json, ToolFormat::Text] {
                let action = action(&text, format, &[json!({})]);
                prop_assert!(serde_json::from_value::<Action>(action).is_ok());
            }
        }

        #[test]
        fn written_calls_are_read_back(
            name in "[a-z_<>\"\\\\]{1,8}",
            key in "\\PC{0,6}",
            value in "\\PC{0,9}",
            twice in any::<bool>(),
        ) {
            prop_assume!(![&name, &key, &value].iter().any(|text| text.contains("</t")));
            let call = ToolCall { id: None, name, arguments: json!({key: value}) };
            let calls = vec![call; if twice { 2 } else { 1 }];
            for style in [CallStyle::Compact, CallStyle::Tagged, CallStyle::Llama] {
                let action = read(&answer(style, "", &calls));
                let first = if twice { &action["calls"][0] } else { &action };
                prop_assert_eq!(&first["tool"], &calls[0].name);
                prop_assert_eq!(&first["arguments"], &calls[0].arguments);
            }
        }
    }
}

//! Examples to learn from: JSON Lines in OpenAI's form. Every broken line is reported, none is dropped silently.

use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use crate::chat::ChatMessage;
use crate::failure::TrainerError;

/// Longest line.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// Most lines.
pub const LINES_MAX: u64 = 4_000_000;
/// Most messages of an example.
pub const MESSAGES_MAX: usize = 10_000;
/// Most tools of an example.
pub const TOOLS_MAX: usize = 1_000;
/// Longest reason that is kept of a broken line.
const REASON_BYTES_MAX: usize = 300;

/// One line: a conversation whose answers are learnt from.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// Its number, from 1.
    pub line: u64,
    /// Messages in OpenAI's form, at least one of them an answer that counts.
    pub messages: Vec<Value>,
    /// Tools in OpenAI's form.
    pub tools: Vec<Value>,
    /// The line's own metadata; `Null` where it says nothing.
    pub metadata: Value,
}

/// A line that is no example: its number from 1, and why.
pub type BrokenLine = (u64, String);

/// Reads `{"messages":[..],"tools":[..]?,"parallel_tool_calls":bool?,"metadata":..?}`, one per line.
///
/// # Errors
/// `BadData` with every broken line: its number from 1, and why. A line is broken that is empty, too long, no UTF-8, no
/// JSON, no conversation with an answer, or that has a field that is not known. `Io` where `source` fails.
pub fn read(source: impl Read) -> Result<Vec<Example>, TrainerError> {
    let (examples, faults) = scan(source)?;
    if faults.is_empty() { Ok(examples) } else { Err(TrainerError::BadData { faults }) }
}

/// The same, with the good lines beside the broken ones.
///
/// # Errors
/// `Io` where `source` fails.
pub fn scan(source: impl Read) -> Result<(Vec<Example>, Vec<BrokenLine>), TrainerError> {
    let mut source = std::io::BufReader::new(source);
    let (mut examples, mut faults) = (Vec::new(), Vec::new());
    // Blank lines are faults only where a line follows.
    let mut blank = Vec::new();
    let mut line = 0;
    while let Some(bytes) = next_line(&mut source).map_err(TrainerError::io("reading the examples"))? {
        line += 1;
        if line > LINES_MAX {
            faults.push((line, format!("more than {LINES_MAX} lines")));
            break;
        }
        if bytes.as_ref().is_ok_and(|bytes| bytes.trim_ascii().is_empty()) {
            blank.push((line, "the line is empty".to_owned()));
            continue;
        }
        faults.append(&mut blank);
        match bytes.and_then(|bytes| parse(line, &bytes)) {
            Ok(example) => examples.push(example),
            Err(reason) => faults.push((line, shortened(reason))),
        }
    }
    if faults.is_empty() && examples.is_empty() {
        faults.push((1, "there is no example".to_owned()));
    }
    Ok((examples, faults))
}

/// The bytes of the next line without its end, or why they cannot be had. A line that is too long is passed over and
/// not kept.
fn next_line(source: &mut impl BufRead) -> std::io::Result<Option<Result<Vec<u8>, String>>> {
    let mut bytes = Vec::new();
    let read = source.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        return Ok(Some(Ok(bytes)));
    }
    if read <= LINE_BYTES_MAX {
        return Ok(Some(Ok(bytes)));
    }
    loop {
        let buffer = source.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let passed = end.map_or(buffer.len(), |end| end + 1);
        let over = end.is_some() || buffer.is_empty();
        source.consume(passed);
        if over {
            return Ok(Some(Err(format!("longer than {LINE_BYTES_MAX} bytes"))));
        }
    }
}

fn parse(line: u64, bytes: &[u8]) -> Result<Example, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 from byte {}", error.valid_up_to()))?;
    let text = if line == 1 { text.trim_start_matches('\u{FEFF}') } else { text };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(mut fields) = value else { return Err("not a JSON object".to_owned()) };
    let messages = list(&mut fields, "messages", MESSAGES_MAX)?.ok_or("messages is missing")?;
    let tools = list(&mut fields, "tools", TOOLS_MAX)?.unwrap_or_default();
    let metadata = fields.remove("metadata").unwrap_or_default();
    if fields.remove("parallel_tool_calls").is_some_and(|value| !value.is_boolean()) {
        return Err("parallel_tool_calls is true or false".to_owned());
    }
    if let Some(name) = fields.keys().next() {
        return Err(format!("the field {name:?} is not known; messages, tools, parallel_tool_calls and metadata are"));
    }
    check_messages(&messages)?;
    for (place, tool) in tools.iter().enumerate() {
        if !tool["function"]["name"].is_string() {
            return Err(format!("tools[{place}].function.name is missing"));
        }
    }
    Ok(Example { line, messages, tools, metadata })
}

fn list(fields: &mut Map<String, Value>, name: &str, most: usize) -> Result<Option<Vec<Value>>, String> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) if items.len() > most => {
            Err(format!("{name} has {} entries; at most {most}", items.len()))
        }
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(format!("{name} is a list")),
    }
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut counts = false;
    for (place, value) in messages.iter().enumerate() {
        let message = ChatMessage::read(value).map_err(|reason| format!("messages[{place}]: {reason}"))?;
        if let Some(name) = value.as_object().and_then(unknown_field) {
            return Err(format!("messages[{place}]: the field {name:?} is not known"));
        }
        if place == 0 && message.is_answer() {
            return Err("messages[0] is an answer: something has to come before it".to_owned());
        }
        let learnt = message.is_answer() && message.counts;
        if learnt && message.content.trim().is_empty() && message.calls.is_empty() {
            return Err(format!("messages[{place}]: the answer is empty: write one, or give it the weight 0"));
        }
        counts |= learnt;
    }
    if counts { Ok(()) } else { Err("no message is an assistant's answer with a weight above 0".to_owned()) }
}

/// The first field of a message that says something and is not known.
fn unknown_field(message: &Map<String, Value>) -> Option<&str> {
    const KNOWN: [&str; 6] = ["role", "content", "name", "tool_calls", "tool_call_id", "weight"];
    let mut unknown = message.iter().filter(|(name, value)| !KNOWN.contains(&name.as_str()) && !value.is_null());
    unknown.next().map(|(name, _)| name.as_str())
}

fn shortened(mut reason: String) -> String {
    let mut end = REASON_BYTES_MAX.min(reason.len());
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.truncate(end);
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"messages":[{"role":"user","content":"2+2"},{"role":"assistant","content":"4"}]}"#;

    fn faults(text: impl AsRef<[u8]>) -> Vec<(u64, String)> {
        match read(text.as_ref()) {
            Err(TrainerError::BadData { faults }) => faults,
            other => panic!("expected faults, got {other:?}"),
        }
    }

    #[test]
    fn good_lines_become_examples_with_their_numbers() {
        let tools = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},
            {"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"move","arguments":"{\"to\":1}"}}]},
            {"role":"tool","tool_call_id":"a","content":"ok"},{"role":"assistant","content":"done","weight":0}],
            "tools":[{"type":"function","function":{"name":"move"}}],"parallel_tool_calls":false,"metadata":{"task":7}}"#
            .replace('\n', " ");
        let examples = read(format!("\u{FEFF}{GOOD}\r\n{tools}\n\n").as_bytes()).expect("both lines are good");
        assert_eq!(examples.iter().map(|example| example.line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(examples[1].metadata["task"], 7);
        assert_eq!((examples[1].messages.len(), examples[1].tools.len()), (4, 1));
    }

    #[test]
    fn every_broken_line_is_told_with_its_number_and_reason() {
        let lines = [
            (GOOD, None),
            ("{", Some("not JSON")),
            ("[]", Some("not a JSON object")),
            ("", Some("the line is empty")),
            ("{}", Some("messages is missing")),
            (r#"{"messages":[]}"#, Some("no message is an assistant's answer")),
            (r#"{"messages":{}}"#, Some("messages is a list")),
            (r#"{"messages":[{"role":"user","content":"a"}]}"#, Some("no message is an assistant's answer")),
            (r#"{"messages":[{"role":"bot","content":"a"}]}"#, Some("messages[0]: role \"bot\" is not one of")),
            (r#"{"messages":[{"role":"user"}]}"#, Some("messages[0]: content is missing")),
            (r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#, Some("only text can be read")),
            (r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant"}]}"#, Some("messages[1]: content")),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":" "}]}"#,
                Some("messages[1]: the answer is empty"),
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[1"}}]}]}"#,
                Some("tool_calls[0].function.arguments"),
            ),
            (r#"{"messages":[{"role":"user","content":"a","extra":1}]}"#, Some("the field \"extra\" is not known")),
            (r#"{"messages":[],"prompt":"x"}"#, Some("the field \"prompt\" is not known")),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"tools":[{}]}"#,
                Some("tools[0].function.name"),
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","weight":0.5}]}"#,
                Some("weight is 0 or 1"),
            ),
            (r#"{"messages":[{"role":"assistant","content":"b"}]}"#, Some("messages[0] is an answer")),
            (GOOD, None),
        ];
        let text = lines.map(|(line, _)| line).join("\n");
        let reported = faults(text);
        let expected: Vec<(u64, &str)> =
            lines.iter().enumerate().filter_map(|(place, (_, reason))| Some((place as u64 + 1, (*reason)?))).collect();
        assert_eq!(
            reported.iter().map(|fault| fault.0).collect::<Vec<_>>(),
            expected.iter().map(|fault| fault.0).collect::<Vec<_>>()
        );
        for ((line, reason), (_, part)) in reported.iter().zip(expected) {
            assert!(reason.contains(part), "line {line}: {reason}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_and_endless_lines_are_told_and_the_rest_is_read() {
        let mut bytes = vec![b'x'; LINE_BYTES_MAX + 9];
        bytes.extend_from_slice(b"\n\xFF\n");
        bytes.extend_from_slice(GOOD.as_bytes());
        let reported = faults(bytes);
        assert_eq!(reported.len(), 2, "{reported:?}");
        assert!(reported[0].1.contains("longer than") && reported[1].1.contains("UTF-8"));
    }

    #[test]
    fn nothing_at_all_is_a_fault() {
        assert_eq!(faults("\n \n"), [(1, "there is no example".to_owned())]);
    }
}

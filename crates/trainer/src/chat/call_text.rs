//! Tool calls as text, the way a model writes them in its answers; `action` reads them back.

use serde_json::{Value, json};

use super::json_text::{JsonStyle, write};
use super::message::ToolCall;

/// Notation of calls in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStyle {
    /// `<tool_call>{"name":..,"arguments":{..}}</tool_call>`, one line each.
    Compact,
    /// The same with line breaks inside the tags and spaces in the JSON, as Hermes and Qwen write it.
    Tagged,
    /// `{"name": .., "parameters": {..}}`, as Llama 3 writes it.
    Llama,
}

impl CallStyle {
    /// Style of a template.
    pub(super) fn of_template(source: &str) -> Self {
        if !source.contains("<tool_call>") && source.contains("\"parameters\": ") {
            return Self::Llama;
        }
        Self::Tagged
    }
}

/// An answer's text: what it says, then its calls.
pub(super) fn answer(style: CallStyle, content: &str, calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return content.to_owned();
    }
    let written = calls.iter().map(|call| {
        let call_json = json!({"name": call.name, "arguments": call.arguments});
        match style {
            CallStyle::Compact => format!("<tool_call>{}</tool_call>", write(&call_json, JsonStyle::COMPACT)),
            CallStyle::Tagged => format!("<tool_call>\n{}\n</tool_call>", write(&call_json, JsonStyle::SPACED)),
            CallStyle::Llama => write(&json!({"name": call.name, "parameters": call.arguments}), JsonStyle::SPACED),
        }
    });
    let between = if style == CallStyle::Llama { "; " } else { "\n" };
    let calls: Vec<String> = written.collect();
    match (content, style) {
        // Llama's calls are the whole answer: text before them would not be read as a call.
        ("", _) | (_, CallStyle::Llama) => calls.join(between),
        _ => format!("{content}\n{}", calls.join(between)),
    }
}

/// Tools for a system message, where the template has no place for them.
pub(super) fn list_tools(tools: &[Value]) -> String {
    let lines: Vec<String> = tools.iter().map(|tool| write(tool, JsonStyle::SPACED)).collect();
    format!(
        "You may call these tools, each described by one line of JSON:\n{}\nTo call one, answer with \
         <tool_call>{{\"name\": ..., \"arguments\": {{...}}}}</tool_call>.",
        lines.join("\n")
    )
}

//! Bodies and frames of the calls, written as text: building them costs the generator next to nothing.

use palestra_protocol::id::SessionId;
use serde_json::{Value, json};

/// Sessions of one task of `environment`, recorded as `record` says.
pub(crate) fn create(environment: &str, record: &str, count: usize) -> Value {
    json!({"environment": environment, "task": {"split": "train", "index": 0}, "record": record, "count": count})
}

/// A step that adds 1, as text.
pub(crate) fn step(seq: u64) -> String {
    format!(r#"{{"seq":{seq},"action":{{"text":"1"}}}}"#)
}

/// A step that adds 1, as a tool call whose arguments are checked against their schema.
pub(crate) fn tool_step(seq: u64) -> String {
    format!(r#"{{"seq":{seq},"action":{{"tool":"add","arguments":{{"amount":1}}}}}}"#)
}

/// A frame of the stream with one step.
pub(crate) fn step_frame(id: usize, session: SessionId, seq: u64) -> String {
    format!(r#"{{"id":{id},"op":"step","session":"{session}","seq":{seq},"action":{{"text":"1"}}}}"#)
}

/// The items of a batch: one step of each session.
pub(crate) fn step_items(sessions: &[SessionId], seq: u64) -> String {
    let items: Vec<String> = sessions
        .iter()
        .map(|session| format!(r#"{{"session":"{session}","seq":{seq},"action":{{"text":"1"}}}}"#))
        .collect();
    format!("[{}]", items.join(","))
}

/// A frame of the stream with one step of each session.
pub(crate) fn steps_frame(id: usize, sessions: &[SessionId], seq: u64) -> String {
    format!(r#"{{"id":{id},"op":"steps","items":{}}}"#, step_items(sessions, seq))
}

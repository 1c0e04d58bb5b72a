//! The objects that responses are made of.

use serde_json::{Value, json};

use crate::answer::{Answer, CREATED};

/// The status of items and responses that are whole.
pub(super) const COMPLETED: &str = "completed";

/// A response that has only begun.
pub(super) fn begun(answer: &Answer<'_>) -> Value {
    json!({
        "id": format!("resp_{}", answer.id),
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": answer.request.model,
        "output": [],
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": null,
    })
}

pub(super) fn reasoning(answer: &Answer<'_>, summary: &Value, status: &str) -> Value {
    json!({"type": "reasoning", "id": format!("rs_{}", answer.id), "summary": summary, "status": status})
}

pub(super) fn said(answer: &Answer<'_>, content: &Value, status: &str) -> Value {
    let id = format!("msg_{}", answer.id);
    json!({"type": "message", "id": id, "status": status, "role": "assistant", "content": content})
}

pub(super) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

pub(super) fn function_call(answer: &Answer<'_>, number: usize, arguments: &str, status: &str) -> Value {
    json!({
        "type": "function_call",
        "id": format!("fc_{}_{number}", answer.id),
        "call_id": answer.call_id(number),
        "name": answer.reply.message.calls[number].tool,
        "arguments": arguments,
        "status": status,
    })
}

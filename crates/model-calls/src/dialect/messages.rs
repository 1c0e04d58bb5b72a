//! Anthropic's `messages`.

use serde_json::{Map, Value, json};

use super::{Answer, Part, count, plain_tokens, word};

pub(super) fn read(body: &Value) -> Option<Answer> {
    body.get("content")?.as_array()?;
    // What was read from a cache was read all the same.
    let read = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Some(Answer {
        finish_reason: word(body.get("stop_reason")),
        input_tokens: read.iter().map(|name| count(body["usage"].get(name))).sum(),
        output_tokens: count(body.pointer("/usage/output_tokens")),
        tokens: plain_tokens(body),
        ..Answer::default()
    })
}

/// The parts of a streamed message.
#[derive(Default)]
pub(crate) struct Parts {
    message: Map<String, Value>,
    content: Vec<Value>,
    /// Arguments of the tool use that is being written, as text.
    arguments: String,
    pub(super) stopped: bool,
}

impl Parts {
    pub(super) fn take(&mut self, event: Value) -> Part {
        let Value::Object(mut event) = event else { return Part::Pass };
        let kind = event.remove("type");
        match kind.as_ref().and_then(Value::as_str) {
            Some("message_start") => {
                if let Some(Value::Object(message)) = event.remove("message") {
                    self.message.extend(message);
                }
            }
            Some("content_block_start") => {
                self.arguments.clear();
                self.content.extend(event.remove("content_block").filter(Value::is_object));
            }
            Some("content_block_delta") => self.go_on(event.get("delta").unwrap_or(&Value::Null)),
            Some("content_block_stop") => {
                let input = serde_json::from_str(&self.arguments);
                if let (Some(block), Ok(input)) = (self.content.last_mut(), input) {
                    block["input"] = input;
                }
            }
            Some("message_delta") => self.take_end(event),
            Some("message_stop") => {
                self.stopped = true;
                return Part::Last;
            }
            _ => {}
        }
        Part::Pass
    }

    fn go_on(&mut self, delta: &Value) {
        if let Some(more) = delta.get("partial_json").and_then(Value::as_str) {
            self.arguments.push_str(more);
            return;
        }
        let Some(block) = self.content.last_mut() else { return };
        for name in ["text", "thinking", "signature"] {
            let Some(more) = delta.get(name).and_then(Value::as_str) else { continue };
            match &mut block[name] {
                Value::String(text) => text.push_str(more),
                slot => *slot = more.into(),
            }
        }
        if let Some(citation) = delta.get("citation") {
            match &mut block["citations"] {
                Value::Array(list) => list.push(citation.clone()),
                slot => *slot = json!([citation]),
            }
        }
    }

    /// Why it stopped, its usage, and tokens where they are told.
    fn take_end(&mut self, event: Map<String, Value>) {
        for (name, value) in event {
            match (name.as_str(), value) {
                ("delta", Value::Object(delta)) => self.message.extend(delta),
                ("usage", Value::Object(usage)) => {
                    let known = self.message.entry("usage").or_insert_with(|| json!({}));
                    if let Value::Object(known) = known {
                        known.extend(usage.into_iter().filter(|(_, value)| !value.is_null()));
                    }
                }
                (_, value) => drop(self.message.insert(name, value)),
            }
        }
    }

    pub(super) fn whole(mut self) -> Value {
        self.message.insert("content".to_owned(), Value::Array(self.content));
        Value::Object(self.message)
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::model_call::CallKind;
    use serde_json::json;

    use crate::dialect::{Assembly, Part, read_answer};

    #[test]
    fn parts_make_the_message_that_would_have_come_whole() {
        let message = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "hello"},
                {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 7},
            "prompt_token_ids": [1, 2], "token_ids": [3], "logprobs": [-1.0]});
        let whole = read_answer(CallKind::Messages, message.to_string().as_bytes()).unwrap();
        assert_eq!((whole.input_tokens, whole.output_tokens), (5, 7));
        let mut parts = Assembly::new(CallKind::Messages, false);
        for event in [
            json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "hel"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "lo"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "add", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\""}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ": 1}"}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 7},
                "prompt_token_ids": [1, 2], "token_ids": [3], "logprobs": [-1.0]}),
        ] {
            assert_eq!(parts.take(event.to_string().as_bytes()), Ok(Part::Pass), "{event}");
        }
        assert!(!parts.is_complete());
        assert_eq!(parts.take(br#"{"type": "message_stop"}"#), Ok(Part::Last));
        assert_eq!(parts.finish().unwrap(), whole);
    }

    #[test]
    fn an_error_among_the_parts_is_told() {
        let mut parts = Assembly::new(CallKind::Messages, false);
        let error =
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string();
        assert!(parts.take(error.as_bytes()).unwrap_err().contains("Overloaded"));
    }
}

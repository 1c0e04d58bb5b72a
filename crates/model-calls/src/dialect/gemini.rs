//! Gemini's `generateContent`, and `streamGenerateContent` with `alt=sse`.

use serde_json::{Map, Value, json};

use super::{Answer, Part, count, plain_tokens, word};

pub(super) fn read(body: &Value) -> Option<Answer> {
    let first = body.get("candidates")?.as_array()?.first()?;
    let usage = |name: &str| count(body["usageMetadata"].get(name));
    Some(Answer {
        finish_reason: word(first.get("finishReason")),
        input_tokens: usage("promptTokenCount"),
        output_tokens: usage("candidatesTokenCount") + usage("thoughtsTokenCount"),
        tokens: plain_tokens(body),
        ..Answer::default()
    })
}

/// The parts of a streamed answer, of which each has the form of a whole one.
#[derive(Default)]
pub(crate) struct Parts {
    whole: Map<String, Value>,
    candidate: Map<String, Value>,
    parts: Vec<Value>,
    pub(super) finished: bool,
}

impl Parts {
    pub(super) fn take(&mut self, event: Value) -> Part {
        let Value::Object(event) = event else { return Part::Pass };
        for (name, value) in event {
            match (name.as_str(), value) {
                ("candidates", Value::Array(candidates)) => {
                    candidates.into_iter().take(1).for_each(|candidate| self.take_candidate(candidate));
                }
                (_, value) => drop(self.whole.insert(name, value)),
            }
        }
        // No event says that it is the last, but the one with the reason is.
        if self.finished { Part::Last } else { Part::Pass }
    }

    fn take_candidate(&mut self, candidate: Value) {
        let Value::Object(mut candidate) = candidate else { return };
        if let Some(Value::Object(mut content)) = candidate.remove("content") {
            if let Some(Value::Array(parts)) = content.remove("parts") {
                parts.into_iter().for_each(|part| self.take_part(part));
            }
            self.candidate.insert("content".to_owned(), Value::Object(content));
        }
        self.finished |= candidate.get("finishReason").is_some_and(Value::is_string);
        self.candidate.extend(candidate);
    }

    /// Goes on with the text before, where it is of the same kind.
    fn take_part(&mut self, part: Value) {
        let plain = |part: &Value| {
            let members = part.as_object()?;
            members.keys().all(|name| matches!(name.as_str(), "text" | "thought")).then(|| part.get("thought").cloned())
        };
        if let (Some(last), Some(kind)) = (self.parts.last_mut(), plain(&part))
            && plain(last) == Some(kind)
            && let (Some(Value::String(text)), Some(more)) = (last.get_mut("text"), part["text"].as_str())
        {
            text.push_str(more);
            return;
        }
        self.parts.push(part);
    }

    pub(super) fn whole(mut self) -> Value {
        let content = self.candidate.entry("content").or_insert_with(|| json!({}));
        content["parts"] = Value::Array(self.parts);
        self.whole.insert("candidates".to_owned(), json!([self.candidate]));
        Value::Object(self.whole)
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::model_call::CallKind;
    use serde_json::json;

    use crate::dialect::{Assembly, Part, read_answer};

    #[test]
    fn parts_make_the_answer_that_would_have_come_whole() {
        let call = json!({"functionCall": {"name": "add", "args": {"a": 1}}});
        let whole = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}, call]}, "index": 0,
                "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 4}, "modelVersion": "m",
            "prompt_token_ids": [1], "token_ids": [2, 3], "logprobs": [-0.5, -0.5]});
        let whole = read_answer(CallKind::GenerateContent, whole.to_string().as_bytes()).unwrap();
        assert_eq!((whole.input_tokens, whole.output_tokens), (3, 6));
        let mut parts = Assembly::new(CallKind::GenerateContent, false);
        let text = |text: &str| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}], "modelVersion": "m"});
        for event in [text("hel"), text("lo")] {
            assert_eq!(parts.take(event.to_string().as_bytes()), Ok(Part::Pass));
        }
        assert!(!parts.is_complete());
        let last = json!({"candidates": [{"content": {"role": "model", "parts": [call]}, "index": 0, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 4},
            "prompt_token_ids": [1], "token_ids": [2, 3], "logprobs": [-0.5, -0.5]});
        assert_eq!(parts.take(last.to_string().as_bytes()), Ok(Part::Last));
        assert!(parts.is_complete());
        assert_eq!(parts.finish().unwrap(), whole);
    }
}

//! OpenAI's `responses`.

use serde_json::Value;

use super::{Answer, Part, count, plain_tokens, word};

pub(super) fn read(body: &Value) -> Option<Answer> {
    body.get("output")?.as_array()?;
    let cut = word(body.pointer("/incomplete_details/reason"));
    Some(Answer {
        finish_reason: cut.or_else(|| word(body.get("status"))),
        input_tokens: count(body.pointer("/usage/input_tokens")),
        output_tokens: count(body.pointer("/usage/output_tokens")),
        tokens: plain_tokens(body),
        ..Answer::default()
    })
}

/// The parts of a streamed response, of which the last holds the whole.
#[derive(Default)]
pub(crate) struct Parts {
    pub(super) response: Option<Value>,
}

impl Parts {
    pub(super) fn take(&mut self, mut event: Value) -> Result<Part, String> {
        match event.get("type").and_then(Value::as_str) {
            Some("response.completed" | "response.incomplete") => {
                self.response = event.get_mut("response").map(Value::take);
                Ok(Part::Last)
            }
            Some("response.failed" | "error") => {
                let told = event.pointer("/response/error/message").or_else(|| event.get("message"));
                let told = told.and_then(Value::as_str).unwrap_or("it says no more");
                Err(format!("the upstream failed in the middle of its answer ({told}): try again, or look at its log"))
            }
            _ => Ok(Part::Pass),
        }
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::model_call::CallKind;
    use serde_json::json;

    use crate::dialect::{Assembly, Part, read_answer};

    #[test]
    fn the_last_part_holds_the_response() {
        let response = json!({"id": "r1", "object": "response", "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}, "output": [],
            "usage": {"input_tokens": 4, "output_tokens": 2}, "prompt_token_ids": [1, 2, 3, 4], "token_ids": [5, 6],
            "logprobs": [-0.25, -0.5]});
        let whole = read_answer(CallKind::Responses, response.to_string().as_bytes()).unwrap();
        assert_eq!(whole.finish_reason.as_deref(), Some("max_output_tokens"));
        assert_eq!((whole.input_tokens, whole.output_tokens), (4, 2));
        assert_eq!(whole.tokens.logprobs, Some(vec![-0.25, -0.5]));
        let mut parts = Assembly::new(CallKind::Responses, false);
        let delta = json!({"type": "response.output_text.delta", "delta": "a"}).to_string();
        assert_eq!(parts.take(delta.as_bytes()), Ok(Part::Pass));
        let last = json!({"type": "response.incomplete", "response": response}).to_string();
        assert_eq!(parts.take(last.as_bytes()), Ok(Part::Last));
        assert_eq!(parts.finish().unwrap(), whole);
        let mut parts = Assembly::new(CallKind::Responses, false);
        let failed = json!({"type": "response.failed", "response": {"error": {"message": "no memory"}}}).to_string();
        assert!(parts.take(failed.as_bytes()).unwrap_err().contains("no memory"));
        assert!(!parts.is_complete() && parts.finish().is_err());
    }
}

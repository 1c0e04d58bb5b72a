//! The four operations as their providers define them: reading a request, and reading an answer, whole or in parts.

mod chat;
mod gemini;
mod messages;
mod refusal;
mod responses;

use palestra_protocol::model_call::{CallKind, CallTokens};
use serde_json::{Map, Value};

pub use refusal::{refusal_body, refusal_event};

/// A request, as far as forwarding needs to know it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// The body.
    pub body: Map<String, Value>,
    /// The model that the caller named.
    pub model: String,
    /// True if the answer is to come in parts.
    pub streamed: bool,
}

/// An answer, as far as it is recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    /// The body; of an answer in parts, the whole that they make.
    pub body: Value,
    pub finish_reason: Option<String>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub tokens: CallTokens,
    pub policy_version: Option<String>,
}

/// Reads a request. `path` gives model and form where the path of the operation has them.
///
/// # Errors
/// With what is wrong with it.
pub(crate) fn read_request(kind: CallKind, path: Option<(String, bool)>, body: &[u8]) -> Result<Asked, String> {
    let body: Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| format!("the body is no JSON object ({error}): send one"))?;
    if let Some((model, streamed)) = path {
        return Ok(Asked { body, model, streamed });
    }
    let Some(model) = body.get("model").and_then(Value::as_str).map(str::to_owned) else {
        return Err("`model` is missing: name one of the models that `GET models` lists".to_owned());
    };
    let streamed = match body.get("stream") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(streamed)) => *streamed,
        Some(_) => return Err("`stream` must be true or false".to_owned()),
    };
    if kind == CallKind::Responses && body.get("background") == Some(&Value::Bool(true)) {
        return Err("`background` is not forwarded, since its answer would go past the record: leave it out".to_owned());
    }
    Ok(Asked { body, model, streamed })
}

/// Puts the upstream's name of the model and its extra fields into a request. Answers whether the parts of the answer hold one more with
/// its usage, which the caller did not ask for.
pub(crate) fn prepare(kind: CallKind, asked: &mut Asked, model: &str, extra: &Map<String, Value>) -> bool {
    if kind != CallKind::GenerateContent {
        asked.body.insert("model".to_owned(), model.into());
    }
    asked.body.extend(extra.iter().map(|(name, value)| (name.clone(), value.clone())));
    kind == CallKind::ChatCompletions && asked.streamed && chat::ask_for_usage(&mut asked.body)
}

/// Reads an answer that came whole.
///
/// # Errors
/// When it is none of this operation.
pub(crate) fn read_answer(kind: CallKind, bytes: &[u8]) -> Result<Answer, String> {
    let body: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("the answer is no JSON ({error}): check URL and dialect"))?;
    read_body(kind, body)
}

fn read_body(kind: CallKind, body: Value) -> Result<Answer, String> {
    let read = match kind {
        CallKind::ChatCompletions => chat::read(&body),
        CallKind::Responses => responses::read(&body),
        CallKind::Messages => messages::read(&body),
        CallKind::GenerateContent => gemini::read(&body),
    };
    let mut answer = read.ok_or_else(|| format!("the answer is none of `{}`: check URL and dialect", kind.as_str()))?;
    // The ids are the truth where a server counts otherwise or not at all.
    let count = |ids: &Option<Vec<u32>>| ids.as_ref().map_or(0, |ids| ids.len() as u64);
    if answer.input_tokens == 0 {
        answer.input_tokens = count(&answer.tokens.prompt_token_ids);
    }
    if answer.output_tokens == 0 {
        answer.output_tokens = count(&answer.tokens.completion_token_ids);
    }
    answer.policy_version = answer.policy_version.or_else(|| version(&body));
    answer.body = body;
    Ok(answer)
}

/// The version of the weights, where a server tells it in its answer.
fn version(body: &Value) -> Option<String> {
    let found = ["policy_version", "weight_version"].iter().find_map(|name| body.get(name));
    match found.or_else(|| body.pointer("/metadata/weight_version"))? {
        Value::String(version) => Some(version.clone()),
        Value::Number(version) => Some(version.to_string()),
        _ => None,
    }
}

/// The way of a part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The caller gets it.
    Pass,
    /// The caller did not ask for it.
    Drop,
    /// The caller gets it once the call is recorded: the answer is complete with it.
    Last,
}

/// Puts an answer that comes in parts together.
pub(crate) enum Assembly {
    Chat(Box<chat::Parts>),
    Responses(responses::Parts),
    Messages(messages::Parts),
    Gemini(gemini::Parts),
}

impl Assembly {
    pub(crate) fn new(kind: CallKind, hide_usage: bool) -> Self {
        match kind {
            CallKind::ChatCompletions => Self::Chat(Box::new(chat::Parts::new(hide_usage))),
            CallKind::Responses => Self::Responses(responses::Parts::default()),
            CallKind::Messages => Self::Messages(messages::Parts::default()),
            CallKind::GenerateContent => Self::Gemini(gemini::Parts::default()),
        }
    }

    /// Takes the data of an event.
    ///
    /// # Errors
    /// When the upstream says that it failed, or it is no event of this operation.
    pub(crate) fn take(&mut self, data: &[u8]) -> Result<Part, String> {
        if let (Self::Chat(parts), b"[DONE]") = (&mut *self, data.trim_ascii()) {
            parts.done = true;
            return Ok(Part::Last);
        }
        let event: Value = serde_json::from_slice(data)
            .map_err(|error| format!("an event of the answer is no JSON ({error}): check URL and dialect"))?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            let told = error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
            return Err(format!(
                "the upstream failed in the middle of its answer ({told}): try again, or look at its log"
            ));
        }
        match self {
            Self::Chat(parts) => Ok(parts.take(event)),
            Self::Responses(parts) => parts.take(event),
            Self::Messages(parts) => Ok(parts.take(event)),
            Self::Gemini(parts) => Ok(parts.take(event)),
        }
    }

    /// True once everything is there that makes the answer complete.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Chat(parts) => parts.done,
            Self::Responses(parts) => parts.response.is_some(),
            Self::Messages(parts) => parts.stopped,
            Self::Gemini(parts) => parts.finished,
        }
    }

    /// The answer that the parts make, whole or as far as it came.
    ///
    /// # Errors
    /// When that is none.
    pub(crate) fn finish(self) -> Result<Answer, String> {
        let (kind, body) = match self {
            Self::Chat(parts) => (CallKind::ChatCompletions, parts.whole()),
            Self::Responses(parts) => (CallKind::Responses, parts.response.unwrap_or_default()),
            Self::Messages(parts) => (CallKind::Messages, parts.whole()),
            Self::Gemini(parts) => (CallKind::GenerateContent, parts.whole()),
        };
        read_body(kind, body)
    }
}

/// A list of token ids.
fn ids(value: Option<&Value>) -> Option<Vec<u32>> {
    let list = value?.as_array()?;
    list.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok())).collect()
}

/// A list of log-probabilities.
#[expect(clippy::cast_possible_truncation, reason = "engines compute them in 32 bits")]
fn floats(value: Option<&Value>) -> Option<Vec<f32>> {
    value?.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}

/// The tokens of an answer whose operation has no place of its own for them: fields beside the others.
fn plain_tokens(body: &Value) -> CallTokens {
    let completion = body.get("token_ids").or_else(|| body.get("completion_token_ids"));
    CallTokens {
        prompt_token_ids: ids(body.get("prompt_token_ids")),
        completion_token_ids: ids(completion),
        logprobs: floats(body.get("logprobs")),
    }
}

fn word(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn count(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Any JSON whose members have the names that parts are put together from.
    fn anything() -> impl Strategy<Value = Value> {
        const NAMES: &[&str] = &[
            "type",
            "index",
            "choices",
            "delta",
            "message",
            "content",
            "content_block",
            "text",
            "tool_calls",
            "function",
            "arguments",
            "logprobs",
            "token_ids",
            "usage",
            "candidates",
            "parts",
            "finishReason",
            "response",
            "partial_json",
        ];
        const WORDS: &[&str] = &[
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "a",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2_i64..3).prop_map(Value::from),
            prop::sample::select(WORDS).prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((prop::sample::select(NAMES), inner), 0..5)
                    .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn whatever_an_upstream_sends_is_taken_or_refused(events in prop::collection::vec(anything(), 0..6)) {
            for kind in CallKind::ALL {
                let mut assembly = Assembly::new(kind, true);
                for event in &events {
                    let _taken_or_refused = assembly.take(event.to_string().as_bytes());
                }
                let _an_answer_or_none = assembly.finish();
                for event in &events {
                    let _an_answer_or_none = read_answer(kind, event.to_string().as_bytes());
                }
            }
        }
    }

    #[test]
    fn parts_of_a_wrong_type_are_passed_over() {
        let mut chat = Assembly::new(CallKind::ChatCompletions, false);
        for choice in [
            json!({"message": "a"}),
            json!({"delta": {"content": "b", "tool_calls": [{"function": {"arguments": "c"}}]}}),
        ] {
            assert_eq!(chat.take(json!({"choices": [choice]}).to_string().as_bytes()), Ok(Part::Pass));
        }
        let mut messages = Assembly::new(CallKind::Messages, false);
        for event in [
            json!({"type": "content_block_start", "content_block": "a"}),
            json!({"type": "content_block_delta", "delta": {"text": "b"}}),
        ] {
            assert_eq!(messages.take(event.to_string().as_bytes()), Ok(Part::Pass));
        }
    }
}

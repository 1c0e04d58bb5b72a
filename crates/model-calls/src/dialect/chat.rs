//! OpenAI's `chat/completions`, with the fields in which engines return tokens: vLLM's and SGLang's `token_ids`, and the ids among the
//! log-probabilities of llama.cpp.

use palestra_protocol::model_call::CallTokens;
use serde_json::{Map, Value, json};

use super::{Answer, Part, count, ids, word};

/// Asks for the part with the usage. True if the caller did not.
pub(super) fn ask_for_usage(body: &mut Map<String, Value>) -> bool {
    let options = body.entry("stream_options").or_insert(Value::Null);
    if !options.is_object() {
        *options = json!({});
    }
    let asked = options["include_usage"] == true;
    options["include_usage"] = json!(true);
    !asked
}

pub(super) fn read(body: &Value) -> Option<Answer> {
    let choices = body.get("choices")?.as_array()?;
    let first = choices.first()?;
    first.get("message")?;
    Some(Answer {
        finish_reason: word(first.get("finish_reason")),
        input_tokens: count(body.pointer("/usage/prompt_tokens")),
        output_tokens: count(body.pointer("/usage/completion_tokens")),
        tokens: tokens(body, choices),
        ..Answer::default()
    })
}

fn tokens(body: &Value, choices: &[Value]) -> CallTokens {
    // Of several answers to one prompt none goes on alone.
    let [choice] = choices else { return CallTokens::default() };
    let sampled = choice.pointer("/logprobs/content").and_then(Value::as_array);
    #[expect(clippy::cast_possible_truncation, reason = "engines compute them in 32 bits")]
    let logprobs = sampled.and_then(|tokens| {
        tokens.iter().map(|token| token.get("logprob")?.as_f64().map(|logprob| logprob as f32)).collect()
    });
    let among = || sampled.filter(|tokens| !tokens.is_empty())?.iter().map(id).collect();
    CallTokens {
        prompt_token_ids: ids(body.get("prompt_token_ids").or_else(|| choice.get("prompt_token_ids"))),
        completion_token_ids: ids(choice.get("token_ids")).or_else(among),
        logprobs,
    }
}

/// The id of a token among the log-probabilities: a member, or vLLM's form `token_id:7` of the token itself.
fn id(token: &Value) -> Option<u32> {
    let told = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
    told.or_else(|| token.get("token")?.as_str()?.strip_prefix("token_id:")?.parse().ok())
}

/// The parts of a streamed completion.
pub(crate) struct Parts {
    hide_usage: bool,
    /// All but the choices.
    whole: Map<String, Value>,
    choices: Vec<Value>,
    pub(super) done: bool,
}

impl Parts {
    pub(super) fn new(hide_usage: bool) -> Self {
        Self { hide_usage, whole: Map::new(), choices: Vec::new(), done: false }
    }

    pub(super) fn take(&mut self, event: Value) -> Part {
        let Value::Object(event) = event else { return Part::Pass };
        let mut empty = true;
        for (name, value) in event {
            match (name.as_str(), value) {
                ("choices", Value::Array(choices)) => {
                    empty = choices.is_empty();
                    choices.into_iter().for_each(|choice| self.take_choice(choice));
                }
                (_, Value::Null) => {}
                (_, value) => drop(self.whole.insert(name, value)),
            }
        }
        let of_usage = empty && self.whole.contains_key("usage");
        if of_usage && self.hide_usage { Part::Drop } else { Part::Pass }
    }

    fn take_choice(&mut self, choice: Value) {
        let index = choice.get("index").and_then(Value::as_u64).unwrap_or(0);
        let position = self.choices.iter().position(|known| known["index"] == index);
        let position = position.unwrap_or_else(|| {
            self.choices.push(json!({"index": index, "message": {}}));
            self.choices.len() - 1
        });
        let known = &mut self.choices[position];
        let Value::Object(choice) = choice else { return };
        for (name, value) in choice {
            match (name.as_str(), value) {
                ("index", _) | (_, Value::Null) => {}
                ("delta", Value::Object(delta)) => delta.into_iter().for_each(|(name, value)| {
                    append(&mut known["message"], &name, value);
                }),
                ("logprobs", Value::Object(logprobs)) => {
                    if !known["logprobs"].is_object() {
                        known["logprobs"] = json!({});
                    }
                    logprobs.into_iter().for_each(|(name, value)| append(&mut known["logprobs"], &name, value));
                }
                ("token_ids", value) => append(known, &name, value),
                (_, value) => known[name] = value,
            }
        }
    }

    pub(super) fn whole(self) -> Value {
        let mut whole = self.whole;
        whole.insert("object".to_owned(), json!("chat.completion"));
        whole.insert("choices".to_owned(), Value::Array(self.choices));
        Value::Object(whole)
    }
}

/// Goes on with a member: text and lists grow, tool calls grow by their index, and what names something is said once.
fn append(known: &mut Value, name: &str, value: Value) {
    const SAID_ONCE: [&str; 4] = ["role", "id", "type", "name"];
    let Value::Object(members) = known else { return };
    let slot = members.entry(name).or_insert(Value::Null);
    match (slot, value) {
        (_, Value::Null) => {}
        (slot @ Value::Null, Value::Array(parts)) if name == "tool_calls" => {
            *slot = json!([]);
            parts.into_iter().for_each(|part| append_call(slot, part));
        }
        (slot @ Value::Array(_), Value::Array(parts)) if name == "tool_calls" => {
            parts.into_iter().for_each(|part| append_call(slot, part));
        }
        (Value::String(text), Value::String(more)) if !SAID_ONCE.contains(&name) => text.push_str(&more),
        (Value::Array(list), Value::Array(more)) => list.extend(more),
        (slot @ Value::Object(_), Value::Object(more)) => {
            more.into_iter().for_each(|(name, value)| append(slot, &name, value));
        }
        (slot, value) => *slot = value,
    }
}

fn append_call(calls: &mut Value, part: Value) {
    let Value::Array(calls) = calls else { return };
    let index = part.get("index").and_then(Value::as_u64).unwrap_or(0);
    let position = calls.iter().position(|call| call["index"] == index).unwrap_or_else(|| {
        calls.push(json!({"index": index}));
        calls.len() - 1
    });
    let Value::Object(part) = part else { return };
    part.into_iter().for_each(|(name, value)| append(&mut calls[position], &name, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Assembly;
    use palestra_protocol::model_call::CallKind;

    #[test]
    fn tokens_stand_where_engines_put_them() {
        let choice = json!({"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"});
        let with = |choice_more: Value, more: Value| {
            let mut choice = choice.clone();
            choice.as_object_mut().unwrap().extend(choice_more.as_object().unwrap().clone());
            let mut body = json!({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(&body).unwrap().tokens
        };
        let logprobs =
            json!({"content": [{"token": "h", "logprob": -0.5, "id": 8}, {"token": "i", "logprob": -1.0, "id": 9}]});
        let all = CallTokens {
            prompt_token_ids: Some(vec![1, 2, 3]),
            completion_token_ids: Some(vec![8, 9]),
            logprobs: Some(vec![-0.5, -1.0]),
        };
        let vllm = with(json!({"token_ids": [8, 9], "logprobs": logprobs}), json!({"prompt_token_ids": [1, 2, 3]}));
        assert_eq!(vllm, all);
        let sglang = with(json!({"token_ids": [8, 9], "prompt_token_ids": [1, 2, 3], "logprobs": logprobs}), json!({}));
        assert_eq!(sglang, all);
        let llama = with(json!({"logprobs": logprobs}), json!({}));
        assert_eq!(llama, CallTokens { prompt_token_ids: None, ..all.clone() });
        let named =
            json!({"content": [{"token": "token_id:8", "logprob": -0.5}, {"token": "token_id:9", "logprob": -1.0}]});
        assert_eq!(with(json!({"logprobs": named}), json!({"prompt_token_ids": [1, 2, 3]})), all);
        assert_eq!(with(json!({}), json!({})), CallTokens::default());
        assert_eq!(with(json!({"token_ids": [8, -1]}), json!({})), CallTokens::default(), "no id is guessed");
        assert!(read(&json!({"choices": []})).is_none() && read(&json!({"error": "x"})).is_none());
    }

    #[test]
    fn parts_make_the_answer_that_would_have_come_whole() {
        let mut parts = Assembly::new(CallKind::ChatCompletions, true);
        let chunk = |choice: Value, more: Value| {
            let mut chunk = json!({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]});
            chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            chunk.to_string()
        };
        let logprob = |token: &str| json!({"content": [{"token": token, "logprob": -0.5}]});
        for (text, expected) in [
            (
                chunk(
                    json!({"index": 0, "delta": {"role": "assistant", "content": ""}}),
                    json!({"prompt_token_ids": [1, 2]}),
                ),
                Part::Pass,
            ),
            (
                chunk(
                    json!({"index": 0, "delta": {"content": "he"}, "token_ids": [5], "logprobs": logprob("he")}),
                    json!({}),
                ),
                Part::Pass,
            ),
            (
                chunk(
                    json!({"index": 0, "delta": {"content": "y"}, "token_ids": [6], "logprobs": logprob("y")}),
                    json!({}),
                ),
                Part::Pass,
            ),
            (
                chunk(
                    json!({"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "t1", "type": "function",
                "function": {"name": "add", "arguments": "{\"a\""}}]}}),
                    json!({}),
                ),
                Part::Pass,
            ),
            (
                chunk(
                    json!({"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}, "finish_reason": null}),
                    json!({}),
                ),
                Part::Pass,
            ),
            (chunk(json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"}), json!({})), Part::Pass),
            (
                json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 2}}).to_string(),
                Part::Drop,
            ),
        ] {
            assert_eq!(parts.take(text.as_bytes()).unwrap(), expected, "{text}");
        }
        assert!(!parts.is_complete());
        assert_eq!(parts.take(b" [DONE]").unwrap(), Part::Last);
        assert!(parts.is_complete());
        let answer = parts.finish().unwrap();
        assert_eq!((answer.input_tokens, answer.output_tokens), (2, 2));
        assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(answer.tokens.completion_token_ids, Some(vec![5, 6]));
        assert_eq!(
            (answer.tokens.prompt_token_ids, answer.tokens.logprobs),
            (Some(vec![1, 2]), Some(vec![-0.5, -0.5]))
        );
        let message = &answer.body["choices"][0]["message"];
        assert_eq!(message["content"], "hey");
        assert_eq!(message["tool_calls"][0]["function"], json!({"name": "add", "arguments": "{\"a\":1}"}));
    }

    #[test]
    fn an_error_among_the_parts_is_told() {
        let mut parts = Assembly::new(CallKind::ChatCompletions, false);
        let told = parts.take(br#"{"error": {"message": "out of memory"}}"#).unwrap_err();
        assert!(told.contains("out of memory"), "{told}");
        assert!(parts.take(b"{").is_err());
    }

    #[test]
    fn usage_is_asked_for_and_hidden_from_whoever_did_not() {
        for (body, hidden) in [
            (json!({}), true),
            (json!({"stream_options": null}), true),
            (json!({"stream_options": {"include_usage": false, "x": 1}}), true),
            (json!({"stream_options": {"include_usage": true}}), false),
        ] {
            let Value::Object(mut body) = body else { unreachable!() };
            assert_eq!(ask_for_usage(&mut body), hidden);
            assert_eq!(body["stream_options"]["include_usage"], true);
        }
    }
}

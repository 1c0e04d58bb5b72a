//! Policies of this server as a model: asked by chat completions.

use std::sync::Arc;

use bytes::Bytes;
use palestra_protocol::action::Action;
use palestra_protocol::id::PolicyId;
use palestra_protocol::model_call::CallKind;
use palestra_protocol::time::Timestamp;
use palestra_protocol::upstream::{Dialect, PutUpstream, Spent};
use palestra_protocol::worker::{ActAnswer, ActRequest};
use serde_json::{Map, Value, json};

use super::CallError;
use super::dialect::{self, Answer};
use super::meter::Meter;
use super::target::Target;

/// A policy as the target of a call.
pub(crate) fn target(policy: PolicyId, kind: CallKind) -> Result<Arc<Target>, CallError> {
    if kind != CallKind::ChatCompletions {
        let told = format!(
            "policies of this server answer `chat/completions` alone: call {policy} there, below `/llm/openai`"
        );
        return Err(CallError::UnknownModel(told));
    }
    let definition = PutUpstream {
        dialect: Dialect::Openai,
        url: String::new(),
        key: None,
        models: [(policy.to_string(), policy.to_string())].into(),
        extra: Map::new(),
        price: None,
        budget: None,
        calls_at_once: None,
        silence_max_ms: None,
    };
    Ok(Arc::new(Target {
        name: policy.to_string(),
        definition,
        updated_at: Timestamp::from_milliseconds(0),
        key: None,
        secret: None,
        meter: Meter::new(Spent::default()),
        slots: None,
    }))
}

/// The request of a chat completion. What a policy does not know, such as stop words, is refused and not ignored.
pub(crate) fn read(body: &Map<String, Value>) -> Result<ActRequest, CallError> {
    const HARMLESS: [&str; 12] = [
        "model",
        "stream",
        "stream_options",
        "n",
        "user",
        "store",
        "metadata",
        "logprobs",
        "top_logprobs",
        "return_token_ids",
        "parallel_tool_calls",
        "tool_choice",
    ];
    let mut request = Map::new();
    for (name, value) in body {
        let name = match name.as_str() {
            "max_completion_tokens" => "max_tokens",
            known @ ("messages" | "tools" | "max_tokens" | "temperature" | "seed") => known,
            name if HARMLESS.contains(&name) => continue,
            _ if value.is_null() => continue,
            other => {
                return Err(CallError::Malformed(format!(
                    "`{other}` is not known to policies of this server: leave it out"
                )));
            }
        };
        if !value.is_null() {
            request.insert(name.to_owned(), value.clone());
        }
    }
    if body.get("n").is_some_and(|count| !count.is_null() && *count != 1) {
        return Err(CallError::Malformed("`n` must be 1: ask again for another answer".to_owned()));
    }
    if body.get("tool_choice").is_some_and(|choice| !choice.is_null() && *choice != "auto") {
        return Err(CallError::Malformed("`tool_choice` must be \"auto\": the policy decides".to_owned()));
    }
    serde_json::from_value(Value::Object(request))
        .map_err(|error| CallError::Malformed(format!("the request does not fit a policy ({error}): correct it")))
}

/// The answer of a policy as a completion: as it is recorded, and as it is sent.
pub(crate) fn completion(policy: PolicyId, answered: ActAnswer, streamed: bool) -> Result<(Answer, Bytes), String> {
    let ActAnswer { action, token_ids, logprobs, prompt_tokens, prompt_token_ids, finish_reason } = answered;
    let action: Action = serde_json::from_value(action)
        .map_err(|error| format!("the policy answered no action ({error}): look at the job that serves it"))?;
    let message = message(action);
    let finish_reason = if message.get("tool_calls").is_some() { "tool_calls" } else { &finish_reason };
    let content: Vec<Value> = token_ids
        .iter()
        .zip(&logprobs)
        .map(|(id, logprob)| json!({"token": format!("token_id:{id}"), "logprob": logprob, "bytes": null, "top_logprobs": []}))
        .collect();
    let usage = json!({"prompt_tokens": prompt_tokens, "completion_tokens": token_ids.len(),
        "total_tokens": prompt_tokens + token_ids.len() as u64});
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason, "token_ids": token_ids,
        "logprobs": {"content": content}});
    let id = format!("chatcmpl-{}", uuid::Uuid::now_v7().simple());
    let mut body = json!({"id": id, "object": "chat.completion", "created": 0, "model": policy, "choices": [choice], "usage": usage,
        "policy_version": policy});
    if !prompt_token_ids.is_empty() {
        body["prompt_token_ids"] = json!(prompt_token_ids);
    }
    let text = body.to_string();
    let answer = dialect::read_answer(CallKind::ChatCompletions, text.as_bytes())?;
    Ok((answer, if streamed { in_one_part(body) } else { text.into() }))
}

/// The message of an action.
fn message(action: Action) -> Value {
    let call = |id: String, tool: String, arguments: Map<String, Value>| json!({"id": id, "type": "function", "function": {"name": tool, "arguments": Value::Object(arguments).to_string()}});
    match action {
        Action::Text(text) => json!({"role": "assistant", "content": text}),
        Action::Tool { tool, arguments } => {
            json!({"role": "assistant", "content": null, "tool_calls": [call("call_0".to_owned(), tool, arguments)]})
        }
        Action::Calls(calls) => {
            let calls: Vec<Value> = calls.into_iter().map(|one| call(one.id, one.tool, one.arguments)).collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        }
        Action::Message(mut message) => {
            message.insert("role".to_owned(), json!("assistant"));
            message.entry("content").or_insert(Value::Null);
            Value::Object(message)
        }
    }
}

/// A completion as a stream of one part: policies answer whole.
fn in_one_part(mut body: Value) -> Bytes {
    body["object"] = json!("chat.completion.chunk");
    let mut delta = body["choices"][0]["message"].take();
    if let Some(calls) = delta.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for (index, call) in calls.iter_mut().enumerate() {
            call["index"] = json!(index);
        }
    }
    if let Some(choice) = body["choices"][0].as_object_mut() {
        choice.remove("message");
        choice.insert("delta".to_owned(), delta);
    }
    format!("data: {body}\n\ndata: [DONE]\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(action: Value) -> ActAnswer {
        ActAnswer {
            action,
            token_ids: vec![7, 8],
            logprobs: vec![-0.5, -1.0],
            prompt_tokens: 3,
            prompt_token_ids: vec![1, 2, 3],
            finish_reason: "stop".to_owned(),
        }
    }

    #[test]
    fn an_answer_is_a_completion_with_its_tokens() {
        let policy = PolicyId::new();
        let (answer, body) = completion(policy, answered(json!({"text": "hi"})), false).unwrap();
        assert_eq!(answer.tokens.prompt_token_ids, Some(vec![1, 2, 3]));
        assert_eq!(
            (answer.tokens.completion_token_ids, answer.tokens.logprobs),
            (Some(vec![7, 8]), Some(vec![-0.5, -1.0]))
        );
        assert_eq!(answer.policy_version, Some(policy.to_string()));
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["choices"][0]["message"], json!({"role": "assistant", "content": "hi"}));
        for action in [
            json!({"tool": "add", "arguments": {"amount": 1}}),
            json!({"calls": [{"id": "c1", "tool": "add", "arguments": {"amount": 1}}]}),
        ] {
            let (answer, _) = completion(policy, answered(action), false).unwrap();
            assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
            let call = &answer.body["choices"][0]["message"]["tool_calls"][0]["function"];
            assert_eq!(*call, json!({"name": "add", "arguments": "{\"amount\":1}"}));
        }
        let streamed = completion(policy, answered(json!({"text": "hi"})), true).unwrap().1;
        let mut parts = dialect::Assembly::new(CallKind::ChatCompletions, false);
        for event in std::str::from_utf8(&streamed).unwrap().split("\n\n").filter(|event| !event.is_empty()) {
            parts.take(event.strip_prefix("data: ").unwrap().as_bytes()).unwrap();
        }
        assert!(parts.is_complete());
        assert_eq!(parts.finish().unwrap().tokens.completion_token_ids, Some(vec![7, 8]));
    }

    #[test]
    fn a_request_keeps_what_a_policy_knows_and_is_refused_where_it_does_not() {
        let read = |body: Value| read(body.as_object().unwrap());
        let request =
            read(json!({"model": "x", "messages": [{"role": "user", "content": "a"}], "max_completion_tokens": 5,
            "temperature": 0.5, "seed": null, "stream": true}))
            .unwrap();
        assert_eq!((request.messages.len(), request.max_tokens, request.temperature), (1, Some(5), Some(0.5)));
        for (body, words) in [
            (json!({"messages": [], "stop": ["a"]}), "`stop`"),
            (json!({"messages": [], "n": 2}), "`n`"),
            (json!({"messages": [], "tool_choice": "required"}), "`tool_choice`"),
            (json!({"messages": "a"}), "does not fit"),
        ] {
            let told = read(body).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
    }
}

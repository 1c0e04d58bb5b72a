//! OpenAI's `chat/completions`, with the token ids as vLLM adds them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dialect, Refusal, body, content, openai_error, unnamed};
use crate::answer::{Answer, CREATED};
use crate::chunk::Delta;
use crate::conversation::{Call, Message, Request, Role, Wants};
use crate::script::Finish;
use crate::token;

/// The dialect.
pub(crate) struct Chat;

#[derive(Deserialize)]
struct Body {
    model: String,
    messages: Vec<WrittenMessage>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    n: Option<u32>,
    #[serde(default)]
    logprobs: Option<bool>,
    #[serde(default)]
    top_logprobs: Option<u32>,
    #[serde(default)]
    return_token_ids: Option<bool>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct WrittenMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default, alias = "reasoning")]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<WrittenCall>>,
}

#[derive(Deserialize)]
struct WrittenCall {
    function: WrittenFunction,
}

#[derive(Deserialize)]
struct WrittenFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

impl Dialect for Chat {
    fn read(&self, bytes: &[u8]) -> Result<Request, Refusal> {
        let body: Body = body(bytes)?;
        if body.n.is_some_and(|n| n != 1) {
            return Err(Refusal::bad("`n` must be 1: send a request for each answer"));
        }
        let tools = body.tools.unwrap_or_default();
        let name =
            |tool: &Value| tool["function"]["name"].as_str().or(tool["custom"]["name"].as_str()).map(str::to_owned);
        Ok(Request {
            model: body.model,
            messages: body.messages.into_iter().map(message).collect::<Result<_, _>>()?,
            tools: tools.iter().filter_map(name).collect(),
            stream: body.stream.unwrap_or_default(),
            wants: Wants {
                token_ids: body.return_token_ids.unwrap_or_default(),
                logprobs: body.logprobs.unwrap_or_default(),
                top_logprobs: body.top_logprobs.unwrap_or_default() > 0,
                usage: body.stream_options.and_then(|options| options.include_usage).unwrap_or_default(),
                events: true,
            },
        })
    }

    fn whole(&self, answer: &Answer<'_>) -> Value {
        let reply = &answer.reply.message;
        let text = reply.text();
        let content = if text.is_empty() && !reply.calls.is_empty() { Value::Null } else { text.into() };
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !reply.reasoning.is_empty() {
            message["reasoning_content"] = json!(reply.reasoning);
        }
        if !reply.calls.is_empty() {
            let call = |(number, call): (usize, &Call)| {
                let function = json!({"name": call.tool, "arguments": call.arguments});
                json!({"id": answer.call_id(number), "type": "function", "function": function})
            };
            message["tool_calls"] = reply.calls.iter().enumerate().map(call).collect();
        }
        let mut choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish(answer.reply.finish)});
        if answer.request.wants.logprobs {
            choice["logprobs"] = logprobs(answer, 0..answer.completion.len());
        }
        if answer.request.wants.token_ids {
            choice["token_ids"] = json!(answer.completion);
        }
        let mut object = object(answer, "chat.completion", &json!([choice]));
        object["usage"] = usage(answer);
        if answer.request.wants.token_ids {
            object["prompt_token_ids"] = json!(answer.prompt);
        }
        object
    }

    fn parts(&self, answer: &Answer<'_>) -> Vec<String> {
        let part = |choices: &Value| object(answer, "chat.completion.chunk", choices);
        let choice = |delta: Value| json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        let mut first = part(&json!([choice(json!({"role": "assistant", "content": ""}))]));
        if answer.request.wants.token_ids {
            first["prompt_token_ids"] = json!(answer.prompt);
        }
        let mut parts = vec![unnamed(&first)];
        let (chunks, mut calls) = (answer.chunks(), 0);
        let last = chunks.len().saturating_sub(1);
        for (index, chunk) in chunks.into_iter().enumerate() {
            let mut choice = choice(delta(answer, &chunk.deltas, &mut calls));
            if answer.request.wants.logprobs {
                choice["logprobs"] = logprobs(answer, chunk.tokens.clone());
            }
            if answer.request.wants.token_ids {
                choice["token_ids"] = json!(answer.completion[chunk.tokens]);
            }
            if index == last {
                choice["finish_reason"] = json!(finish(answer.reply.finish));
            }
            parts.push(unnamed(&part(&json!([choice]))));
        }
        if answer.completion.is_empty() {
            let mut choice = choice(json!({}));
            choice["finish_reason"] = json!(finish(answer.reply.finish));
            parts.push(unnamed(&part(&json!([choice]))));
        }
        if answer.request.wants.usage {
            let mut object = part(&json!([]));
            object["usage"] = usage(answer);
            parts.push(unnamed(&object));
        }
        parts.push("data: [DONE]\n\n".to_owned());
        parts
    }

    fn refuse(&self, refusal: &Refusal) -> Value {
        openai_error(refusal)
    }
}

fn message(written: WrittenMessage) -> Result<Message, Refusal> {
    let role = match written.role.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        other => {
            return Err(Refusal::bad(format!("the role `{other}` is unknown: use system, user, assistant or tool")));
        }
    };
    let mut content = content::read(&written.content)?;
    content.extend(written.refusal.as_deref().map(crate::conversation::Piece::text));
    let calls = written.tool_calls.unwrap_or_default();
    Ok(Message {
        role,
        reasoning: written.reasoning_content.unwrap_or_default(),
        content,
        calls: calls.iter().map(|call| Call::of_text(&call.function.name, &call.function.arguments)).collect(),
    })
}

/// The fields that all objects of an answer have.
fn object(answer: &Answer<'_>, kind: &str, choices: &Value) -> Value {
    let id = format!("chatcmpl-{}", answer.id);
    json!({"id": id, "object": kind, "created": CREATED, "model": answer.request.model, "choices": choices})
}

fn delta(answer: &Answer<'_>, deltas: &[Delta], calls: &mut usize) -> Value {
    let mut object = json!({});
    let mut fragments: Vec<Value> = Vec::new();
    for delta in deltas {
        match delta {
            Delta::Reasoning(text) => object["reasoning_content"] = json!(text),
            Delta::Text(text) => object["content"] = json!(text),
            Delta::Call(number) => {
                let function = json!({"name": answer.reply.message.calls[*number].tool, "arguments": ""});
                let id = answer.call_id(*number);
                fragments.push(json!({"index": number, "id": id, "type": "function", "function": function}));
                *calls = number + 1;
            }
            Delta::Arguments(text) => {
                fragments.push(json!({"index": calls.saturating_sub(1), "function": {"arguments": text}}));
            }
        }
    }
    if !fragments.is_empty() {
        object["tool_calls"] = fragments.into();
    }
    object
}

fn logprobs(answer: &Answer<'_>, tokens: std::ops::Range<usize>) -> Value {
    let one = |(id, logprob): (&u32, &f32)| {
        let bytes = token::bytes(*id);
        let mut one = json!({"token": String::from_utf8_lossy(&bytes), "logprob": logprob, "bytes": bytes});
        let top = if answer.request.wants.top_logprobs { vec![one.clone()] } else { Vec::new() };
        one["top_logprobs"] = top.into();
        one
    };
    let content: Vec<Value> = answer.completion[tokens.clone()].iter().zip(&answer.logprobs[tokens]).map(one).collect();
    json!({"content": content, "refusal": null})
}

fn usage(answer: &Answer<'_>) -> Value {
    json!({
        "prompt_tokens": answer.input_tokens(),
        "completion_tokens": answer.output_tokens(),
        "total_tokens": answer.total_tokens(),
    })
}

const fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
    }
}

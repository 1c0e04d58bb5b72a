//! Anthropic's `messages`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Dialect, Refusal, body, content, named};
use crate::answer::Answer;
use crate::chunk::Delta;
use crate::conversation::{Call, Message, Request, Role, Wants};
use crate::script::Finish;

/// The dialect.
pub(crate) struct Messages;

/// Stands for the signature of reasoning, which clients send back.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

#[derive(Deserialize)]
struct Body {
    model: String,
    #[serde(rename = "max_tokens")]
    _max_tokens: u64,
    messages: Vec<WrittenMessage>,
    #[serde(default)]
    system: Value,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    return_token_ids: Option<bool>,
}

#[derive(Deserialize)]
struct WrittenMessage {
    role: String,
    content: Value,
}

impl Dialect for Messages {
    fn read(&self, bytes: &[u8]) -> Result<Request, Refusal> {
        let body: Body = body(bytes)?;
        let mut messages = Vec::new();
        let system = content::read(&body.system)?;
        if !system.is_empty() {
            messages.push(Message::with(Role::System, system));
        }
        for message in &body.messages {
            match message.role.as_str() {
                "user" => from_user(&message.content, &mut messages)?,
                "assistant" => messages.push(from_assistant(&message.content)?),
                "system" => messages.push(Message::with(Role::System, content::read(&message.content)?)),
                other => return Err(Refusal::bad(format!("the role `{other}` is unknown: use user or assistant"))),
            }
        }
        let tools = body.tools.unwrap_or_default();
        Ok(Request {
            model: body.model,
            messages,
            tools: tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect(),
            stream: body.stream.unwrap_or_default(),
            wants: Wants { token_ids: body.return_token_ids.unwrap_or_default(), events: true, ..Wants::default() },
        })
    }

    fn whole(&self, answer: &Answer<'_>) -> Value {
        let reply = &answer.reply.message;
        let mut blocks = Vec::new();
        if !reply.reasoning.is_empty() {
            blocks.push(json!({"type": "thinking", "thinking": reply.reasoning, "signature": SIGNATURE}));
        }
        if !reply.content.is_empty() {
            blocks.push(json!({"type": "text", "text": reply.text(), "citations": null}));
        }
        blocks.extend(reply.calls.iter().enumerate().map(|(number, call)| tool_use(answer, number, &input(call))));
        let mut object = object(answer, &blocks.into(), answer.output_tokens());
        object["stop_reason"] = json!(stop_reason(answer.reply.finish));
        answer.tell_tokens(&mut object);
        object
    }

    fn parts(&self, answer: &Answer<'_>) -> Vec<String> {
        let start = json!({"type": "message_start", "message": object(answer, &json!([]), 1)});
        let mut blocks = Blocks { answer, parts: vec![named(&start)], index: 0, open: None };
        for delta in answer.chunks().into_iter().flat_map(|chunk| chunk.deltas) {
            blocks.add(delta);
        }
        blocks.close();
        let mut parts = blocks.parts;
        let reason = json!({"stop_reason": stop_reason(answer.reply.finish), "stop_sequence": null});
        let mut end = json!({"type": "message_delta", "delta": reason, "usage": usage(answer, answer.output_tokens())});
        answer.tell_tokens(&mut end);
        parts.extend([named(&end), named(&json!({"type": "message_stop"}))]);
        parts
    }

    fn refuse(&self, refusal: &Refusal) -> Value {
        let kind = match refusal.status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": null})
    }

    fn can_write(&self, message: &Message) -> bool {
        message.calls.iter().all(|call| call.object().is_some())
    }
}

/// A message of the user, in which the results of tools stand as blocks.
fn from_user(content: &Value, messages: &mut Vec<Message>) -> Result<(), Refusal> {
    let Value::Array(blocks) = content else {
        messages.push(Message::with(Role::User, content::read(content)?));
        return Ok(());
    };
    let mut pieces = Vec::new();
    for block in blocks {
        if block["type"] != "tool_result" {
            pieces.push(content::part(block)?);
            continue;
        }
        if !pieces.is_empty() {
            messages.push(Message::with(Role::User, std::mem::take(&mut pieces)));
        }
        messages.push(Message::with(Role::Tool, content::read(&block["content"])?));
    }
    if !pieces.is_empty() || blocks.is_empty() {
        messages.push(Message::with(Role::User, pieces));
    }
    Ok(())
}

fn from_assistant(content: &Value) -> Result<Message, Refusal> {
    let mut message = Message::new(Role::Assistant);
    let Value::Array(blocks) = content else {
        return Ok(Message::with(Role::Assistant, content::read(content)?));
    };
    for block in blocks {
        match block["type"].as_str() {
            Some("thinking") => message.reasoning.push_str(block["thinking"].as_str().unwrap_or_default()),
            Some("redacted_thinking") => {}
            Some("tool_use") => {
                let name = block["name"].as_str();
                let name = name.ok_or_else(|| Refusal::bad("a `tool_use` block has no `name`: add it"))?;
                message.calls.push(Call::of_json(name, &block["input"]));
            }
            _ => message.content.push(content::part(block)?),
        }
    }
    Ok(message)
}

/// A message with the fields that it always has.
fn object(answer: &Answer<'_>, content: &Value, output_tokens: u64) -> Value {
    json!({
        "id": format!("msg_{}", answer.id),
        "type": "message",
        "role": "assistant",
        "model": answer.request.model,
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(answer, output_tokens),
    })
}

fn usage(answer: &Answer<'_>, output_tokens: u64) -> Value {
    json!({
        "input_tokens": answer.input_tokens(),
        "output_tokens": output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    })
}

fn input(call: &Call) -> Map<String, Value> {
    call.object().unwrap_or_default()
}

fn tool_use(answer: &Answer<'_>, number: usize, input: &Map<String, Value>) -> Value {
    let name = &answer.reply.message.calls[number].tool;
    json!({"type": "tool_use", "id": format!("toolu_{}_{number}", answer.id), "name": name, "input": input})
}

/// Writes the blocks of a stream, one open at a time.
struct Blocks<'a> {
    answer: &'a Answer<'a>,
    parts: Vec<String>,
    index: usize,
    open: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Thinking,
    Text,
    Call,
}

impl Blocks<'_> {
    fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Reasoning(text) => {
                self.open(Kind::Thinking, &json!({"type": "thinking", "thinking": "", "signature": ""}));
                self.delta(&json!({"type": "thinking_delta", "thinking": text}));
            }
            Delta::Text(text) => {
                self.open(Kind::Text, &json!({"type": "text", "text": ""}));
                self.delta(&json!({"type": "text_delta", "text": text}));
            }
            Delta::Call(number) => {
                self.close();
                self.open(Kind::Call, &tool_use(self.answer, number, &Map::new()));
            }
            Delta::Arguments(text) => self.delta(&json!({"type": "input_json_delta", "partial_json": text})),
        }
    }

    fn open(&mut self, kind: Kind, block: &Value) {
        if self.open == Some(kind) {
            return;
        }
        self.close();
        self.open = Some(kind);
        let start = json!({"type": "content_block_start", "index": self.index, "content_block": block});
        self.parts.push(named(&start));
    }

    fn delta(&mut self, delta: &Value) {
        self.parts.push(named(&json!({"type": "content_block_delta", "index": self.index, "delta": delta})));
    }

    fn close(&mut self) {
        let Some(kind) = self.open.take() else { return };
        if kind == Kind::Thinking {
            self.delta(&json!({"type": "signature_delta", "signature": SIGNATURE}));
        }
        self.parts.push(named(&json!({"type": "content_block_stop", "index": self.index})));
        self.index += 1;
    }
}

const fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::ContentFilter => "refusal",
    }
}

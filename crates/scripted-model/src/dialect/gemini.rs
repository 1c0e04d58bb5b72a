//! Gemini's `generateContent` and `streamGenerateContent`. The model and the form of the stream stand in the address.

use serde::Deserialize;
use serde_json::{Value, json};

use super::content::excerpt;
use super::{Dialect, Refusal, body, unnamed};
use crate::answer::Answer;
use crate::chunk::Delta;
use crate::conversation::{Call, Message, Piece, Request, Role, Wants, canonical};
use crate::script::Finish;

/// The dialect, with what the address says.
pub(crate) struct Gemini {
    pub(crate) model: String,
    pub(crate) stream: bool,
    /// Parts as server-sent events (`alt=sse`), not as one array.
    pub(crate) events: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    contents: Vec<Content>,
    #[serde(default, alias = "system_instruction")]
    system_instruction: Option<Content>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default, alias = "return_token_ids")]
    return_token_ids: Option<bool>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    parts: Vec<Value>,
}

impl Dialect for Gemini {
    fn read(&self, bytes: &[u8]) -> Result<Request, Refusal> {
        let body: Body = body(bytes)?;
        let mut messages = Vec::new();
        if let Some(system) = &body.system_instruction {
            read(Role::System, &system.parts, &mut messages)?;
        }
        for content in &body.contents {
            let role = match content.role.as_deref() {
                Some("user" | "function" | "tool") | None => Role::User,
                Some("model") => Role::Assistant,
                Some("system") => Role::System,
                Some(other) => {
                    return Err(Refusal::bad(format!("the role `{other}` is unknown: use user or model")));
                }
            };
            read(role, &content.parts, &mut messages)?;
        }
        let tools = body.tools.unwrap_or_default();
        let functions = |tool: &Value| {
            let either = tool["functionDeclarations"].as_array().or(tool["function_declarations"].as_array());
            let names = either.into_iter().flatten().filter_map(|function| function["name"].as_str());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        Ok(Request {
            model: self.model.clone(),
            messages,
            tools: tools.iter().flat_map(functions).collect(),
            stream: self.stream,
            wants: Wants {
                token_ids: body.return_token_ids.unwrap_or_default(),
                events: self.events,
                ..Wants::default()
            },
        })
    }

    fn whole(&self, answer: &Answer<'_>) -> Value {
        let reply = &answer.reply.message;
        let mut parts = Vec::new();
        if !reply.reasoning.is_empty() {
            parts.push(thought(&reply.reasoning));
        }
        if !reply.content.is_empty() {
            parts.push(json!({"text": reply.text()}));
        }
        parts.extend(reply.calls.iter().map(function_call));
        end(answer, object(answer, &parts))
    }

    fn parts(&self, answer: &Answer<'_>) -> Vec<String> {
        let mut parts = Vec::new();
        let chunks = answer.chunks();
        let mut called = 0;
        let last = chunks.len().saturating_sub(1);
        for (index, chunk) in chunks.into_iter().enumerate() {
            let mut content = Vec::new();
            for delta in chunk.deltas {
                match delta {
                    Delta::Reasoning(text) => content.push(thought(&text)),
                    Delta::Text(text) => content.push(json!({"text": text})),
                    // A call is sent whole, once the next one begins or the answer ends.
                    Delta::Call(number) => {
                        content.extend(answer.reply.message.calls[called..number].iter().map(function_call));
                        called = number;
                    }
                    Delta::Arguments(_) => {}
                }
            }
            if index == last {
                content.extend(answer.reply.message.calls[called..].iter().map(function_call));
            } else if content.is_empty() {
                continue;
            }
            parts.push(object(answer, &content));
        }
        let last = parts.pop().unwrap_or_else(|| object(answer, &[]));
        parts.push(end(answer, last));
        if answer.request.wants.events {
            return parts.iter().map(unnamed).collect();
        }
        let before = |index: usize| if index == 0 { "[" } else { ",\r\n" };
        let mut array: Vec<String> =
            parts.iter().enumerate().map(|(index, part)| format!("{}{part}", before(index))).collect();
        array.push("]".to_owned());
        array
    }

    fn refuse(&self, refusal: &Refusal) -> Value {
        let status = match refusal.status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500.. => "INTERNAL",
            _ => "FAILED_PRECONDITION",
        };
        let mut error = json!({"code": refusal.status, "message": refusal.message, "status": status});
        if let Some(seconds) = refusal.retry_after {
            let kind = "type.googleapis.com/google.rpc.RetryInfo";
            error["details"] = json!([{"@type": kind, "retryDelay": format!("{seconds}s")}]);
        }
        json!({"error": error})
    }

    fn can_write(&self, message: &Message) -> bool {
        message.calls.iter().all(|call| call.object().is_some())
    }
}

/// Reads the parts of one content, in which the results of tools stand beside other parts.
fn read(role: Role, parts: &[Value], messages: &mut Vec<Message>) -> Result<(), Refusal> {
    let mut message = Message::new(role);
    for part in parts {
        let field =
            |camel: &str, snake: &str| part.get(camel).or_else(|| part.get(snake)).filter(|value| !value.is_null());
        if let Some(response) = field("functionResponse", "function_response") {
            if !message.is_empty() {
                messages.push(std::mem::replace(&mut message, Message::new(role)));
            }
            messages.push(Message::with(Role::Tool, result(&response["response"])));
        } else if let Some(call) = field("functionCall", "function_call") {
            let name = call["name"].as_str();
            let name = name.ok_or_else(|| Refusal::bad("a `functionCall` has no `name`: add it"))?;
            message.calls.push(Call::of_json(name, &call["args"]));
        } else if let Some(data) = field("inlineData", "inline_data") {
            message.content.push(Piece::of_base64(data["data"].as_str().unwrap_or_default()));
        } else if let Some(file) = field("fileData", "file_data") {
            let address = file["fileUri"].as_str().or(file["file_uri"].as_str());
            message.content.push(Piece::of_url(address.unwrap_or_default()));
        } else if let Some(text) = part["text"].as_str() {
            match (part["thought"] == true, text.is_empty()) {
                (true, _) => message.reasoning.push_str(text),
                (false, true) => {}
                (false, false) => message.content.push(Piece::text(text)),
            }
        } else if part.as_object().is_some_and(|part| part.contains_key("thoughtSignature")) {
            // A signature alone has nothing to render.
        } else {
            let part = excerpt(part);
            return Err(Refusal::bad(format!("the part {part} cannot be read: send texts, calls, results or data")));
        }
    }
    let answered = messages.last().is_some_and(|last| last.role == Role::Tool);
    if !(message.is_empty() && answered && role == Role::User) {
        messages.push(message);
    }
    Ok(())
}

/// The result of a tool: where it is one text under the usual names, that text.
fn result(response: &Value) -> Vec<Piece> {
    let only = response.as_object().filter(|members| members.len() == 1);
    let text = only.and_then(|members| members.get("result").or(members.get("output"))).and_then(Value::as_str);
    match text {
        Some("") => Vec::new(),
        Some(text) => vec![Piece::text(text)],
        None => vec![Piece::Text(canonical(response))],
    }
}

fn object(answer: &Answer<'_>, parts: &[Value]) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": answer.request.model,
        "responseId": answer.id,
    })
}

/// Adds what the last object has.
fn end(answer: &Answer<'_>, mut object: Value) -> Value {
    object["candidates"][0]["finishReason"] = json!(match answer.reply.finish {
        Finish::Stop | Finish::ToolCalls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::ContentFilter => "SAFETY",
    });
    object["usageMetadata"] = json!({
        "promptTokenCount": answer.input_tokens(),
        "candidatesTokenCount": answer.output_tokens(),
        "totalTokenCount": answer.total_tokens(),
    });
    answer.tell_tokens(&mut object);
    object
}

fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

fn function_call(call: &Call) -> Value {
    json!({"functionCall": {"name": call.tool, "args": call.object().unwrap_or_default()}})
}

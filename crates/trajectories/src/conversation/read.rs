//! Readers of requests and responses: chat completions, responses, messages and generated content.

use palestra_protocol::action::Action;
use palestra_protocol::episode::StepRecord;
use palestra_protocol::model_call::{CallKind, ModelCall};
use serde_json::Value;

use super::{Message, Role, ToolCall};

/// The messages of a call's request.
pub(crate) fn request(call: &ModelCall) -> Vec<Message> {
    let body = &call.request;
    let mut messages = Messages::default();
    match call.kind {
        CallKind::ChatCompletions => list(&body["messages"]).for_each(|message| messages.chat(message)),
        CallKind::Responses => {
            messages.text(Role::System, &body["instructions"]);
            messages.text(Role::User, body["input"].as_str().map_or(&Value::Null, |_| &body["input"]));
            list(&body["input"]).for_each(|item| messages.item(item));
        }
        CallKind::Messages => {
            messages.text(Role::System, &body["system"]);
            list(&body["messages"]).for_each(|message| messages.blocks(message));
        }
        CallKind::GenerateContent => {
            let system = if body["systemInstruction"].is_null() { "system_instruction" } else { "systemInstruction" };
            messages.text(Role::System, &body[system]["parts"]);
            list(&body["contents"]).for_each(|content| messages.parts(content));
        }
    }
    messages.0
}

/// The message of a call's answer; `None` where there is none.
pub(crate) fn answer(call: &ModelCall) -> Option<Message> {
    let body = &call.response;
    let mut messages = Messages::default();
    match call.kind {
        CallKind::ChatCompletions => messages.chat(&body["choices"][0]["message"]),
        CallKind::Responses => list(&body["output"]).for_each(|item| messages.item(item)),
        CallKind::Messages => messages.blocks(body),
        CallKind::GenerateContent => messages.parts(&body["candidates"][0]["content"]),
    }
    messages.0.into_iter().find(|message| message.role == Role::Assistant)
}

/// The message that a step of an episode stands for, and the results that it led to.
pub(crate) fn step(step: &StepRecord) -> (Message, Vec<Message>) {
    let mut said = Messages::default();
    match &step.action {
        Some(Action::Text(text)) => said.assistant().text.clone_from(text),
        Some(Action::Tool { tool, arguments }) => said.assistant().tool_calls.push(ToolCall {
            id: format!("step_{}", step.seq),
            name: tool.clone(),
            arguments: Value::Object(arguments.clone()).to_string(),
        }),
        Some(Action::Calls(calls)) => said.assistant().tool_calls.extend(calls.iter().map(|call| ToolCall {
            id: call.id.clone(),
            name: call.tool.clone(),
            arguments: Value::Object(call.arguments.clone()).to_string(),
        })),
        Some(Action::Message(message)) => {
            let mut message = message.clone();
            message.insert("role".to_owned(), Value::from("assistant"));
            said.chat(&Value::Object(message));
        }
        None => {}
    }
    let mut results = Messages::default();
    for reply in step.answer.messages.iter().filter(|message| message.role == "tool") {
        results.result(reply.tool_call_id.as_deref().unwrap_or_default(), reply.content.clone());
    }
    if results.0.is_empty() {
        let id = said.assistant().tool_calls.first().map(|call| call.id.clone()).unwrap_or_default();
        results.result(&id, step.answer.observation.text.clone());
    }
    (said.assistant().clone(), results.0)
}

/// A message of a task.
pub(crate) fn told(message: &palestra_protocol::observation::Message) -> Message {
    let role = if message.role == "system" { Role::System } else { Role::User };
    Message {
        role,
        text: message.content.clone(),
        reasoning: String::new(),
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The text of a string or of a list of parts. A part without text stands as its type in brackets.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part_text).collect(),
        _ => String::new(),
    }
}

fn part_text(part: &Value) -> String {
    match (part["text"].as_str().or_else(|| part.as_str()), part["type"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => "[part]".to_owned(),
    }
}

/// Arguments as JSON text: a string is the model's own text.
fn arguments(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A conversation while it is read.
#[derive(Default)]
struct Messages(Vec<Message>);

impl Messages {
    fn push(&mut self, role: Role, text: String) -> &mut Message {
        self.0.push(Message { role, text, reasoning: String::new(), tool_calls: Vec::new(), tool_call_id: None });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// The message of the model that parts are added to: the last, or a new one.
    fn assistant(&mut self) -> &mut Message {
        match self.0.last() {
            Some(last) if last.role == Role::Assistant => {
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
            _ => self.push(Role::Assistant, String::new()),
        }
    }

    fn text(&mut self, role: Role, content: &Value) {
        let text = text(content);
        if !text.is_empty() {
            self.push(role, text);
        }
    }

    fn result(&mut self, id: &str, text: String) {
        self.push(Role::Tool, text).tool_call_id = Some(id.to_owned()).filter(|id| !id.is_empty());
    }

    /// A message of a chat completion.
    fn chat(&mut self, message: &Value) {
        let role = match word(message, "role") {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "tool" | "function" => return self.result(word(message, "tool_call_id"), text(&message["content"])),
            "assistant" => Role::Assistant,
            _ => return,
        };
        let said = self.push(role, text(&message["content"]));
        said.reasoning = text(if message["reasoning_content"].is_null() {
            &message["reasoning"]
        } else {
            &message["reasoning_content"]
        });
        said.tool_calls = list(&message["tool_calls"])
            .map(|call| ToolCall {
                id: word(call, "id").to_owned(),
                name: word(&call["function"], "name").to_owned(),
                arguments: arguments(&call["function"]["arguments"]),
            })
            .collect();
    }

    /// An item of the Responses API.
    fn item(&mut self, item: &Value) {
        match (item["type"].as_str().unwrap_or("message"), word(item, "role")) {
            ("message", "user") => self.text(Role::User, &item["content"]),
            ("message", "system" | "developer") => self.text(Role::System, &item["content"]),
            ("message", "assistant") => {
                let said = text(&item["content"]);
                self.assistant().text.push_str(&said);
            }
            ("reasoning", _) => {
                let summary = if item["content"].is_null() { &item["summary"] } else { &item["content"] };
                let thought = text(summary);
                self.assistant().reasoning.push_str(&thought);
            }
            ("function_call", _) => self.assistant().tool_calls.push(ToolCall {
                id: word(item, "call_id").to_owned(),
                name: word(item, "name").to_owned(),
                arguments: arguments(&item["arguments"]),
            }),
            ("function_call_output", _) => self.result(word(item, "call_id"), text(&item["output"])),
            (kind, _) => self.assistant().text.push_str(&format!("[{kind}]")),
        }
    }

    /// A message of Anthropic's Messages API.
    fn blocks(&mut self, message: &Value) {
        let content = &message["content"];
        if word(message, "role") == "assistant" {
            let mut said = Message {
                role: Role::Assistant,
                text: content.as_str().unwrap_or_default().to_owned(),
                reasoning: String::new(),
                tool_calls: Vec::new(),
                tool_call_id: None,
            };
            for block in list(content) {
                match word(block, "type") {
                    "thinking" => said.reasoning.push_str(word(block, "thinking")),
                    "tool_use" => said.tool_calls.push(ToolCall {
                        id: word(block, "id").to_owned(),
                        name: word(block, "name").to_owned(),
                        arguments: arguments(&block["input"]),
                    }),
                    _ => said.text.push_str(&part_text(block)),
                }
            }
            self.0.push(said);
            return;
        }
        let (results, others): (Vec<&Value>, Vec<&Value>) =
            list(content).partition(|block| word(block, "type") == "tool_result");
        for result in results {
            self.result(word(result, "tool_use_id"), text(&result["content"]));
        }
        let said: String = others.into_iter().map(part_text).collect();
        let said = if content.is_string() { text(content) } else { said };
        if !said.is_empty() {
            self.push(Role::User, said);
        }
    }

    /// A content of Gemini. Its tool calls are named by their tool where they have no id.
    fn parts(&mut self, content: &Value) {
        let is_model = word(content, "role") == "model";
        let mut said = String::new();
        for part in list(&content["parts"]) {
            let (call, response) = (&part["functionCall"], &part["functionResponse"]);
            let id = |named: &Value| named["id"].as_str().unwrap_or(word(named, "name")).to_owned();
            if call.is_object() {
                self.assistant().tool_calls.push(ToolCall {
                    id: id(call),
                    name: word(call, "name").to_owned(),
                    arguments: arguments(&call["args"]),
                });
            } else if response.is_object() {
                self.result(&id(response), response["response"].to_string());
            } else if !is_model {
                said.push_str(&part_text(part));
            } else if part["thought"] == true {
                self.assistant().reasoning.push_str(word(part, "text"));
            } else {
                self.assistant().text.push_str(&part_text(part));
            }
        }
        if !said.is_empty() {
            self.push(Role::User, said);
        }
    }
}

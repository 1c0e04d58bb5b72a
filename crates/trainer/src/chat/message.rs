//! Messages and tools in OpenAI's form, read once.

use serde_json::{Map, Value, json};

/// Most calls of one answer.
pub(super) const CALLS_MAX: usize = 128;

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    /// As templates name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A tool call of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// An object.
    pub(crate) arguments: Value,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatMessage {
    pub(crate) role: Role,
    /// The text; empty where there is none.
    pub(crate) content: String,
    /// For an answer.
    pub(crate) calls: Vec<ToolCall>,
    /// For a tool's result: which call.
    pub(crate) tool_call_id: Option<String>,
    pub(crate) name: Option<String>,
    /// True if an answer is to be learnt from (`weight` is not 0).
    pub(crate) counts: bool,
}

impl ChatMessage {
    pub(super) fn new(role: Role, content: impl Into<String>) -> Self {
        let content = content.into();
        Self { role, content, calls: Vec::new(), tool_call_id: None, name: None, counts: true }
    }

    /// True if the assistant said it.
    pub(crate) fn is_answer(&self) -> bool {
        self.role == Role::Assistant
    }

    /// Reads a message; errors name the field.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("a message is an object")?;
        let role = match fields.get("role").and_then(Value::as_str) {
            Some("system" | "developer") => Role::System,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            Some(other) => {
                return Err(format!("role {other:?} is not one of system, developer, user, assistant, tool"));
            }
            None => return Err("role is missing".to_owned()),
        };
        let calls = match present(fields, "tool_calls") {
            None => Vec::new(),
            Some(_) if role != Role::Assistant => return Err("only an assistant has tool_calls".to_owned()),
            Some(calls) => read_calls(calls)?,
        };
        let content = match present(fields, "content") {
            Some(content) => read_content(content)?,
            None if !calls.is_empty() => String::new(),
            None => return Err("content is missing".to_owned()),
        };
        let text = |name: &str| match present(fields, name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{name} is a text")),
        };
        let counts = match present(fields, "weight").map(Value::as_f64) {
            None => true,
            Some(_) if role != Role::Assistant => return Err("only an assistant has a weight".to_owned()),
            Some(Some(weight)) if weight == 0.0 || weight == 1.0 => weight == 1.0,
            Some(_) => return Err("weight is 0 or 1".to_owned()),
        };
        Ok(Self { role, content, calls, tool_call_id: text("tool_call_id")?, name: text("name")?, counts })
    }

    /// As templates take it: `content` always a text, arguments as objects.
    pub(super) fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("role".to_owned(), self.role.name().into());
        fields.insert("content".to_owned(), self.content.clone().into());
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|call| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                match &call.id {
                    Some(id) => json!({"id": id, "type": "function", "function": function}),
                    None => json!({"type": "function", "function": function}),
                }
            });
            fields.insert("tool_calls".to_owned(), calls.collect());
        }
        for (name, text) in [("tool_call_id", &self.tool_call_id), ("name", &self.name)] {
            if let Some(text) = text {
                fields.insert(name.to_owned(), text.clone().into());
            }
        }
        Value::Object(fields)
    }
}

/// A field that is there and not null.
fn present<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

/// A text, or parts of which each is one.
fn read_content(content: &Value) -> Result<String, String> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => parts
            .iter()
            .enumerate()
            .map(|(place, part)| match (part["type"].as_str(), part["text"].as_str()) {
                (Some("text"), Some(text)) => Ok(text),
                (Some("text") | None, _) => Err(format!("content[{place}] is no text part")),
                (Some(other), _) => Err(format!("content[{place}] is of the type {other:?}; only text can be read")),
            })
            .collect(),
        _ => Err("content is a text or a list of text parts".to_owned()),
    }
}

fn read_calls(calls: &Value) -> Result<Vec<ToolCall>, String> {
    let calls = calls.as_array().ok_or("tool_calls is a list")?;
    if calls.len() > CALLS_MAX {
        return Err(format!("{} tool_calls; at most {CALLS_MAX}", calls.len()));
    }
    calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            let function = &call["function"];
            let name = function["name"].as_str().filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| format!("tool_calls[{place}].function.name is missing"))?;
            let arguments = object(&function["arguments"])
                .ok_or_else(|| format!("tool_calls[{place}].function.arguments is not the text of a JSON object"))?;
            Ok(ToolCall { id: call["id"].as_str().map(str::to_owned), name: name.to_owned(), arguments })
        })
        .collect()
}

/// An object, given as such or as its text; none at all is an empty one.
pub(super) fn object(value: &Value) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Object(Map::new())),
        Value::Object(_) => Some(value.clone()),
        Value::String(text) if text.trim().is_empty() => Some(Value::Object(Map::new())),
        Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

/// A tool in OpenAI's form, whether it was given so or as `{"name","description","input_schema"|"parameters"}`.
pub(super) fn tool(value: &Value) -> Value {
    if value["function"].is_object() || !value["name"].is_string() {
        return value.clone();
    }
    let mut function = Map::new();
    for (name, from) in [("name", &["name"][..]), ("description", &["description"]), ("parameters", &SCHEMAS)] {
        if let Some(found) = from.iter().map(|key| &value[*key]).find(|found| !found.is_null()) {
            function.insert(name.to_owned(), found.clone());
        }
    }
    json!({"type": "function", "function": function})
}

/// Names under which the schema of a tool's arguments is given.
const SCHEMAS: [&str; 3] = ["parameters", "input_schema", "inputSchema"];

//! Dialects: how requests are read and answers are written, one file each.

mod chat;
mod content;
mod gemini;
mod messages;
mod response_events;
mod response_objects;
mod responses;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::Answer;
use crate::conversation::Request;

pub(crate) use chat::Chat;
pub(crate) use gemini::Gemini;
pub(crate) use messages::Messages;
pub(crate) use responses::Responses;

/// A refusal, before it has the form of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// Seconds after which the request may be repeated.
    pub(crate) retry_after: Option<u64>,
}

impl Refusal {
    /// A request that is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), retry_after: None }
    }
}

/// A dialect.
pub(crate) trait Dialect: Send + Sync {
    /// Reads the body of a request.
    fn read(&self, body: &[u8]) -> Result<Request, Refusal>;

    /// The answer as one object.
    fn whole(&self, answer: &Answer<'_>) -> Value;

    /// The answer in parts, as they are sent.
    fn parts(&self, answer: &Answer<'_>) -> Vec<String>;

    /// The body of a refusal.
    fn refuse(&self, refusal: &Refusal) -> Value;

    /// True if the answer can be written in this dialect at all.
    fn can_write(&self, _: &crate::conversation::Message) -> bool {
        true
    }
}

/// Reads a body, whose unknown fields are ignored: they choose how a model samples, and nothing is sampled here.
fn body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::bad(format!("the body has not the form of this operation: {error}; correct it")))
}

/// A server-sent event without a name.
fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A server-sent event whose name is its type.
fn named(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// The error of OpenAI's operations.
fn openai_error(refusal: &Refusal) -> Value {
    let (kind, code) = match refusal.status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        429 => ("requests", Some("rate_limit_exceeded")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    };
    serde_json::json!({"error": {"message": refusal.message, "type": kind, "param": null, "code": code}})
}

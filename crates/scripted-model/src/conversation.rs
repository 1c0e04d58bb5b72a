//! A conversation in the one form that all dialects are read into.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Integers below this are exact as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Bytes of a digest that stand in for a medium.
const DIGEST_BYTES: usize = 8;

/// A request, whatever its dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) model: String,
    pub(crate) messages: Vec<Message>,
    /// Names of the tools that are offered.
    pub(crate) tools: Vec<String>,
    /// True if the answer is to be sent in parts.
    pub(crate) stream: bool,
    pub(crate) wants: Wants,
}

/// Additions to the answer, which are sent only if they are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub(crate) token_ids: bool,
    pub(crate) logprobs: bool,
    /// The likeliest tokens of each position; the sampled one is the only one that is known.
    pub(crate) top_logprobs: bool,
    /// The count of tokens at the end of a stream of chat completions.
    pub(crate) usage: bool,
    /// Parts as server-sent events rather than as one array; Gemini alone has the second form.
    pub(crate) events: bool,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
    /// A tool, with its result.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) reasoning: String,
    pub(crate) content: Vec<Piece>,
    pub(crate) calls: Vec<Call>,
}

/// A part of a message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// An image or another medium, by its digest.
    Medium(String),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// Canonical JSON; what is no JSON stays as it is.
    pub(crate) arguments: String,
}

impl Message {
    pub(crate) const fn new(role: Role) -> Self {
        Self { role, reasoning: String::new(), content: Vec::new(), calls: Vec::new() }
    }

    pub(crate) fn with(role: Role, content: Vec<Piece>) -> Self {
        Self { content, ..Self::new(role) }
    }

    /// The texts of its content, one after another.
    pub(crate) fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Medium(_) => None,
        });
        texts.collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.content.is_empty() && self.calls.is_empty() && self.reasoning.is_empty()
    }
}

impl Piece {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Stands for bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self::Medium(hex::encode(&Sha256::digest(bytes)[..DIGEST_BYTES]))
    }

    /// Stands for the bytes that base64 encodes; for the text itself where it encodes none.
    pub(crate) fn of_base64(text: &str) -> Self {
        let bytes = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
        Self::of_bytes(bytes.as_deref().unwrap_or(text.as_bytes()))
    }

    /// Stands for the bytes of a `data:` URL, or for another URL.
    pub(crate) fn of_url(url: &str) -> Self {
        match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
            Some((_, data)) => Self::of_base64(data),
            None => Self::of_bytes(url.as_bytes()),
        }
    }
}

impl Call {
    /// A call whose arguments are given as text.
    pub(crate) fn of_text(tool: &str, arguments: &str) -> Self {
        let arguments = match serde_json::from_str::<Value>(arguments) {
            Ok(value) => canonical(&value),
            // Some clients send nothing where a tool takes no arguments.
            Err(_) if arguments.trim().is_empty() => "{}".to_owned(),
            Err(_) => arguments.to_owned(),
        };
        Self { tool: tool.to_owned(), arguments }
    }

    /// A call whose arguments are given as JSON.
    pub(crate) fn of_json(tool: &str, arguments: &Value) -> Self {
        let arguments = if arguments.is_null() { "{}".to_owned() } else { canonical(arguments) };
        Self { tool: tool.to_owned(), arguments }
    }

    /// The arguments, where they are a JSON object.
    pub(crate) fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(&self.arguments).ok()
    }
}

/// JSON in the one form that it is rendered in, whoever wrote it: keys sorted, no spaces, whole numbers without a fraction.
pub(crate) fn canonical(value: &Value) -> String {
    plain(value).to_string()
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), plain(value))).collect::<Map<_, _>>().into()
        }
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough to be exact")]
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT => (float as i64).into(),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_have_one_form_whoever_wrote_them() {
        let one = Call::of_text("add", r#"{ "b": {"y": 1.0, "x": [1, 2.5]}, "a": "é\u0041" }"#);
        let other = Call::of_json("add", &json!({"a": "éA", "b": {"x": [1.0, 2.5], "y": 1}}));
        assert_eq!(one, other);
        assert_eq!(one.arguments, r#"{"a":"éA","b":{"x":[1,2.5],"y":1}}"#);
        assert_eq!(Call::of_text("add", "").arguments, "{}");
        assert_eq!(Call::of_text("add", "{\"a\": ").arguments, "{\"a\": ");
        assert_eq!(Call::of_text("add", "{\"a\": ").object(), None);
    }

    #[test]
    fn a_medium_has_the_same_digest_however_it_is_sent() {
        assert_eq!(Piece::of_url("data:image/png;base64,aGVsbG8="), Piece::of_base64("aGVsbG8="));
        assert_eq!(Piece::of_base64("aGVsbG8="), Piece::of_bytes(b"hello"));
        assert_ne!(Piece::of_url("https://a/1.png"), Piece::of_url("https://a/2.png"));
    }
}

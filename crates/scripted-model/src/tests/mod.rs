//! Tests of the dialects together: the same conversation in each.

mod clients;
mod conversations;
mod faults;
mod rules;

use std::sync::Arc;

use serde_json::Value;

use crate::answer::Answer;
use crate::conversation::Request;
use crate::dialect::{Chat, Dialect, Gemini, Messages, Responses};
use crate::script::{Reply, Script};

/// A script of one rule, or several.
fn script(rules: &str) -> Script {
    Script::read(&format!("rules:\n{rules}"), "test.yaml").expect(rules)
}

/// Every dialect, with the name that tests call it by.
fn dialects() -> Vec<(&'static str, Arc<dyn Dialect>)> {
    let gemini = Gemini { model: "m".to_owned(), stream: true, events: true };
    vec![
        ("chat", Arc::new(Chat)),
        ("responses", Arc::new(Responses)),
        ("messages", Arc::new(Messages)),
        ("gemini", Arc::new(gemini)),
    ]
}

/// Reads a body; panics where it is refused.
fn read(dialect: &dyn Dialect, body: &Value) -> Request {
    dialect.read(body.to_string().as_bytes()).expect("a request")
}

/// An answer with this reply.
fn answer<'a>(request: &'a Request, rules: &str, reply: &Reply) -> Answer<'a> {
    Answer::new(request, &script(rules).rules[0], reply.clone())
}

/// The data of the events in the parts of a stream.
fn events(parts: &[String]) -> Vec<Value> {
    let data = parts.iter().filter_map(|part| part.split("data: ").nth(1));
    data.filter(|data| data.trim() != "[DONE]").map(|data| serde_json::from_str(data).expect(data)).collect()
}

//! Submission of an agent, and its comparison with the required one.

use std::sync::Arc;

use palestra_state::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::amount;
use crate::data::Data;
use crate::definition::goal::Status;
use crate::json::Codec;
use crate::kinds::Type;
use crate::value::Value;

/// Slots that one submission fills.
const ANSWERS_MAX: usize = 32;
/// Characters of an error code or of an answer's text.
pub const ANSWER_CHARACTERS_MAX: usize = 4_000;
/// Entries of one answer that is a list.
const ANSWER_ENTRIES_MAX: usize = 1_000;

/// Submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// `ok`, `impossible` or `refused`.
    pub status: Arc<str>,
    /// Error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Arc<str>>,
    /// The id of what stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Arc<str>>,
    /// Values by slot.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub answers: Map<String, Json>,
}

impl Submission {
    /// Reads the arguments of `submit`.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn read(arguments: &Map<String, Json>) -> Result<Self, String> {
        let submission: Self =
            serde_json::from_value(Json::Object(arguments.clone())).map_err(|error| error.to_string())?;
        if !Status::WORDS.iter().any(|(word, _)| **word == *submission.status) {
            return Err("status is ok, impossible or refused".to_owned());
        }
        if submission.answers.len() > ANSWERS_MAX {
            return Err(format!("at most {ANSWERS_MAX} answers can be given"));
        }
        let long = |text: &str| text.chars().count() > ANSWER_CHARACTERS_MAX;
        if [&submission.code, &submission.about].into_iter().flatten().any(|text| long(text)) {
            return Err(format!("code and about have at most {ANSWER_CHARACTERS_MAX} characters"));
        }
        let plain = |value: &Json| match value {
            Json::String(text) => !long(text),
            Json::Array(_) | Json::Object(_) => false,
            _ => true,
        };
        let fits = |value: &Json| match value {
            Json::Array(values) => values.len() <= ANSWER_ENTRIES_MAX && values.iter().all(plain),
            value => plain(value),
        };
        if submission.answers.keys().any(|name| long(name)) || !submission.answers.values().all(fits) {
            return Err(format!(
                "an answer is a number, true, false, a text of at most {ANSWER_CHARACTERS_MAX} characters, or a list of \
                 at most {ANSWER_ENTRIES_MAX} of them"
            ));
        }
        Ok(submission)
    }

    /// As it stands in the state.
    #[must_use]
    pub fn document(&self) -> State {
        State::from(serde_json::to_value(self).unwrap_or_default())
    }
}

/// True if a submitted value is the expected one. Text is compared without regard to case and blanks around it, amounts
/// with or without their currency, numbers also as text.
#[must_use]
pub fn agrees(given: &Json, expected: &Value, kind: &Type, codec: &Codec<'_>, data: &Data) -> bool {
    if let (Json::String(given), Value::Text(expected)) = (given, expected) {
        return fold(given) == fold(expected);
    }
    let resolve = |table, id: &str| data.by_id(table, id);
    let reads = |json: &Json| codec.from_json(json, kind, &resolve).ok();
    let value = reads(given).or_else(|| match (given, kind.present()) {
        (Json::Number(number), Type::Text) => Some(Value::text(&number.to_string())),
        (Json::String(text), Type::Money(currency)) => {
            let digits: String = text.chars().filter(|c| c.is_ascii_digit() || "-.".contains(*c)).collect();
            amount::parse(&digits, amount::minor_digits(currency)).ok().map(Value::Int)
        }
        (Json::String(text), Type::Int) => text.trim().replace(',', "").parse().ok().map(Value::Int),
        (Json::String(text), Type::Bool) => match fold(text).as_str() {
            "yes" | "true" => Some(Value::Bool(true)),
            "no" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (Json::String(text), _) => reads(&Json::String(text.trim().to_owned())),
        _ => None,
    });
    value.as_ref() == Some(expected)
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

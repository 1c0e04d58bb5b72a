//! Reading values from JSON, with errors that say what was expected and where.

use serde_json::Value as Json;

use super::Codec;
use crate::amount::{self, NotExact};
use crate::calendar::{parse_date, parse_duration};
use crate::kinds::{TableId, Type};
use crate::limits::{self, Misfit};
use crate::value::{RowKey, Value};

/// Longest part of a refused value that a message quotes, in characters.
const QUOTED_MAX: usize = 60;

/// Reason why JSON is no value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Wrong {
    /// Where within the value, as a JSON Pointer (RFC 6901); empty for the whole.
    pub pointer: String,
    /// Kind of mistake.
    pub kind: WrongKind,
    /// Expected and found values, in words.
    pub message: String,
}

/// A kind of mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrongKind {
    /// It isn't of the type; the text says what is.
    Type(String),
    /// It names a row that isn't there.
    UnknownRow {
        /// The table.
        table: TableId,
        /// The id that was given.
        id: String,
    },
    /// It is of the type, but too large, too long or too far away.
    Range,
}

impl Wrong {
    fn range(misfit: impl std::fmt::Display) -> Self {
        Self { pointer: String::new(), kind: WrongKind::Range, message: misfit.to_string() }
    }

    fn within(mut self, part: impl std::fmt::Display) -> Self {
        let part = part.to_string().replace('~', "~0").replace('/', "~1");
        self.pointer = format!("/{part}{}", self.pointer);
        self
    }
}

impl Codec<'_> {
    /// Reads a value of a type. `resolve` gives the row of an id.
    ///
    /// # Errors
    /// The first mistake.
    pub fn from_json(
        &self,
        json: &Json,
        kind: &Type,
        resolve: &dyn Fn(TableId, &str) -> Option<RowKey>,
    ) -> Result<Value, Wrong> {
        let mismatch = || self.mismatch(json, kind);
        let value = match (kind, json) {
            (Type::Opt(_) | Type::Null, Json::Null) => return Ok(Value::Null),
            (Type::Opt(inner), _) => {
                return self.from_json(json, inner, resolve).map_err(|wrong| match &wrong.kind {
                    WrongKind::Type(_) if wrong.pointer.is_empty() => mismatch(),
                    _ => wrong,
                });
            }
            (Type::Bool, Json::Bool(flag)) => Value::Bool(*flag),
            (Type::Int | Type::Duration, Json::Number(number)) if !number.is_f64() => {
                Value::Int(number.as_i64().ok_or_else(|| Wrong::range(Misfit::Whole))?)
            }
            (Type::Text, Json::String(text)) => Value::text(text),
            (Type::Date, Json::String(text)) => Value::Int(parse_date(text).ok_or_else(mismatch)?),
            (Type::Instant, Json::String(text)) => {
                Value::Int(self.schema.calendar.parse_instant(text).ok_or_else(mismatch)?)
            }
            (Type::Duration, Json::String(text)) => Value::Int(signed_duration(text).ok_or_else(mismatch)?),
            (Type::Money(currency), _) => self.decimal(json, kind, amount::minor_digits(currency))?,
            (Type::Decimal(scale), _) => self.decimal(json, kind, *scale)?,
            // The word of the type itself, so that all its values share one text.
            (Type::Enum(words), Json::String(text)) => {
                Value::Text(words.iter().find(|word| ***word == **text).ok_or_else(mismatch)?.clone())
            }
            (Type::Row(table), Json::String(id)) => {
                return resolve(*table, id).map(Value::Row).ok_or_else(|| self.unknown(*table, id));
            }
            (Type::List(element), Json::Array(elements)) => {
                let read = |(index, json): (usize, &Json)| {
                    self.from_json(json, element, resolve).map_err(|wrong| wrong.within(index))
                };
                return elements.iter().enumerate().map(read).collect::<Result<_, _>>().map(Value::List);
            }
            (Type::Record(fields), Json::Object(members)) => {
                if let Some(unknown) = members.keys().find(|name| !fields.iter().any(|(field, _)| **field == ***name)) {
                    let names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
                    let expected = format!("one of the fields {}", names.join(", "));
                    let message = format!("there is no such field; expected {expected}");
                    let wrong = Wrong { pointer: String::new(), kind: WrongKind::Type(expected), message };
                    return Err(wrong.within(cut(unknown)));
                }
                let read = |(name, kind): &(std::sync::Arc<str>, Type)| {
                    let json = members.get(&**name).unwrap_or(&Json::Null);
                    self.from_json(json, kind, resolve).map_err(|wrong| wrong.within(name))
                };
                return fields.iter().map(read).collect::<Result<_, _>>().map(Value::Record);
            }
            _ => return Err(mismatch()),
        };
        match limits::check(&value, kind) {
            Ok(()) => Ok(value),
            Err(Misfit::Type) => Err(mismatch()),
            Err(misfit) => Err(Wrong::range(misfit)),
        }
    }

    fn decimal(&self, json: &Json, kind: &Type, digits: u8) -> Result<Value, Wrong> {
        let parsed = match json {
            Json::String(text) => amount::parse(text, digits),
            Json::Number(number) => amount::parse(&number.to_string(), digits),
            _ => Err(NotExact::Malformed),
        };
        match parsed {
            Ok(units) => Ok(Value::Int(units)),
            Err(NotExact::Malformed) => Err(self.mismatch(json, kind)),
            Err(error @ NotExact::TooLarge) => Err(Wrong::range(error)),
        }
    }

    fn mismatch(&self, json: &Json, kind: &Type) -> Wrong {
        let expected = self.expected(kind);
        let message = format!("expected {expected}, got {}", found(json));
        Wrong { pointer: String::new(), kind: WrongKind::Type(expected), message }
    }

    fn unknown(&self, table: TableId, id: &str) -> Wrong {
        let name = &self.schema.table(table).name;
        let message = format!("there is no {name} with the id {}: name one that exists", quoted(id));
        Wrong { pointer: String::new(), kind: WrongKind::UnknownRow { table, id: id.to_owned() }, message }
    }

    /// Form of a value of a type, in words.
    fn expected(&self, kind: &Type) -> String {
        match kind {
            Type::Null => "null".to_owned(),
            Type::Bool => "true or false".to_owned(),
            Type::Int => "a whole number".to_owned(),
            Type::Text => "text".to_owned(),
            Type::Date => "a date such as \"2031-05-05\"".to_owned(),
            Type::Instant => "a time such as \"2031-05-05T09:00\"".to_owned(),
            Type::Duration => "a duration such as \"1h30m\", or whole seconds".to_owned(),
            Type::Money(currency) => {
                let example = amount::show(1250, amount::minor_digits(currency));
                format!("an amount in {currency} such as \"{example}\"")
            }
            Type::Decimal(scale) => format!("an exact number such as \"{}\"", amount::show(1250, *scale)),
            Type::Enum(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Type::Row(table) => format!("the id of a {}", self.schema.table(*table).name),
            Type::List(element) => format!("a list, each element {}", self.expected(element)),
            Type::Record(fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
                format!("an object with the fields {}", names.join(", "))
            }
            Type::Opt(inner) => format!("{}, or null", self.expected(inner)),
        }
    }
}

/// As durations are written, with a minus in front of negative ones.
fn signed_duration(text: &str) -> Option<i64> {
    text.strip_prefix('-').map_or_else(|| parse_duration(text), |rest| parse_duration(rest)?.checked_neg())
}

fn found(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// The beginning of a name that somebody else chose.
fn cut(name: &str) -> &str {
    name.char_indices().nth(QUOTED_MAX).map_or(name, |(end, _)| &name[..end])
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

//! JSON as the reference writes it: members in order, and every number an amount of money.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// A JSON value whose numbers are compared by cents and whose members are compared in any order.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Cents(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An object with its members in this order.
    pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Cents(left), Self::Cents(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => {
                let right: BTreeMap<&str, &Self> = right.iter().map(|(name, value)| (name.as_str(), value)).collect();
                left.len() == right.len() && left.iter().all(|(name, value)| right.get(name.as_str()) == Some(&value))
            }
            _ => false,
        }
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => {
                // Some of the reference's sums carry the noise of binary fractions; all amounts are far below 2^53 cents.
                let cents = (number.as_f64().expect("a finite number") * 100.0).round();
                Self::Cents(format!("{cents:.0}").parse().expect("a whole number"))
            }
            Value::String(text) => Self::text(text),
            Value::Array(elements) => Self::List(elements.iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
        }
    }
}

/// The text that the reference makes of a result, of which `result_sha256` is the digest: `, ` and `: ` between parts, amounts with
/// the fewest digits but at least one behind the point.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Cents(cents) => {
                let sign = if *cents < 0 { "-" } else { "" };
                let (whole, rest) = (cents.unsigned_abs() / 100, cents.unsigned_abs() % 100);
                match rest % 10 {
                    0 => write!(f, "{sign}{whole}.{}", rest / 10),
                    _ => write!(f, "{sign}{whole}.{rest:02}"),
                }
            }
            Self::Text(text) => write!(f, "{}", Value::String(text.clone())),
            Self::List(elements) => {
                f.write_str("[")?;
                for (index, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    let name = Value::String(name.clone());
                    write!(f, "{}{name}: {value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

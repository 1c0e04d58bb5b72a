//! Results, and a key of each that is the same where a judge finds them the same.

use crate::value::Value;

/// The rows of a result.
pub type Rows = Vec<Vec<Value>>;

/// A result, or why there is none.
pub type Answer = Result<Rows, String>;

/// Numbers count up to nine digits, whatever their type; rows in their order only where it counts.
pub(super) fn outcome(result: &Answer, ordered: bool) -> Option<Vec<String>> {
    let rows = result.as_ref().ok()?;
    let mut lines: Vec<String> = rows.iter().map(|row| row.iter().map(word).collect()).collect();
    if !ordered {
        lines.sort_unstable();
    }
    Some(lines)
}

fn word(value: &Value) -> String {
    let number = |number: f64| format!("{:.8e}\u{1f}", if number == 0.0 { 0.0 } else { number });
    match value {
        Value::Integer(whole) => number(*whole as f64),
        Value::Real(real) => number(*real),
        Value::Boolean(truth) => number(f64::from(u8::from(*truth))),
        Value::Decimal(text) | Value::Text(text) => text.parse().map_or_else(|_| format!("'{text}'\u{1f}"), number),
        Value::Null => "\u{1f}".into(),
        Value::Blob(bytes) => format!("{}\u{1f}", hex::encode(bytes)),
    }
}

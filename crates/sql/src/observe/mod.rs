//! Observation of a step: a text as the engine's own client would print it, and the same as data.
//!
//! # Data
//! ```json
//! {"results": [{"command": "SELECT 1", "columns": [{"name": "id", "type": "int8"}], "rows": [[1]], "row_count": 1,
//!               "truncated": false, "affected": null}],
//!  "error": null}
//! ```
//! `rows` holds what the engine gave, up to the session's limits; `truncated` says that there are more, and `row_count` counts those that
//! are there. Values: NULL is `null`; whole numbers beyond ±2^53, exact decimals (`numeric`), NaN and infinities are strings; bytes are
//! `{"hex": "00ff", "bytes": 2}`; dates and everything else are strings in the engine's form. `error` is `null` or has `code`, `message`,
//! `detail`, `hint`, `statement` (which one, from 0; those before it have acted), `position` (characters of the SQL before the place) and `cut` (`refused`, `time`,
//! `size`, `memory`, `growth`, `lost`: set where a limit or a rule of the session ended the statement), and after a limit `in_transaction`: whether one is
//! still open, for engines end some that they interrupt.

mod agree;
mod cells;
mod failure;
mod shape;
mod table;

use serde_json::{Value as Json, json};

use crate::cut_off::CutOff;
use crate::engine::{Limits, SqlError, StatementResult, StepResult};
use crate::value::{Dialect, Value};

pub use agree::same_outcome;
pub(crate) use shape::{schema_lines, schema_text, table_text};

/// Bytes of text that an observation has at most.
pub const TEXT_BYTES_MAX: usize = 16 << 10;
/// Rows of one result that are shown in the text.
pub const ROWS_SHOWN_MAX: usize = 100;

/// Outcome of a step, as text and as data.
#[must_use]
pub fn observe(dialect: Dialect, sql: &str, ran: &StepResult, limits: &Limits) -> (String, Json) {
    (text(dialect, sql, ran, limits), data(ran))
}

fn text(dialect: Dialect, sql: &str, ran: &StepResult, limits: &Limits) -> String {
    let failure = ran.error.as_ref().map(|error| failure::text(dialect, sql, error, limits));
    let mut left = TEXT_BYTES_MAX.saturating_sub(failure.as_ref().map_or(0, String::len));
    let mut parts = Vec::new();
    for (at, result) in ran.results.iter().enumerate() {
        let part = result_text(result, left);
        left = left.saturating_sub(part.len() + 1);
        parts.push(part);
        let more = ran.results.len() - at - 1;
        if left < 200 && more > 0 {
            parts.push(format!("({more} more results not shown)"));
            break;
        }
    }
    parts.extend(failure);
    if parts.is_empty() { "(no statement)".to_owned() } else { parts.join("\n") }
}

fn result_text(result: &StatementResult, bytes: usize) -> String {
    if result.columns.is_empty() {
        return result.command.clone();
    }
    let table = table::text(result, bytes);
    // A query says how many rows it has below them; what changed rows and returns them says what it did as well.
    if result.affected.is_some() { format!("{table}\n{}", result.command) } else { table }
}

/// Lines, in at most [`TEXT_BYTES_MAX`] bytes; what is missing is counted.
#[must_use]
pub(crate) fn lines_text(lines: &[String]) -> String {
    let mut out = String::new();
    for (at, words) in lines.iter().enumerate() {
        if out.len() + words.len() > TEXT_BYTES_MAX {
            out.push_str(&format!("({} more lines)", lines.len() - at));
            break;
        }
        out.push_str(words);
        out.push('\n');
    }
    out.trim_end().to_owned()
}

fn data(ran: &StepResult) -> Json {
    let results: Vec<Json> = ran.results.iter().map(result_data).collect();
    let mut data = json!({"results": results, "error": ran.error});
    if CutOff::of(ran).is_some() {
        data["error"]["in_transaction"] = json!(ran.in_transaction);
    }
    data
}

fn result_data(result: &StatementResult) -> Json {
    let columns = result.columns.iter().map(|column| json!({"name": column.name, "type": column.type_name}));
    let rows = result.rows.iter().map(|row| row.iter().map(value_data).collect());
    json!({
        "command": result.command,
        "columns": columns.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<Vec<Json>>>(),
        "row_count": result.rows.len(),
        "truncated": result.truncated,
        "affected": result.affected,
    })
}

/// A value as JSON.
#[must_use]
pub fn value_data(value: &Value) -> Json {
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Integer(value) if value.unsigned_abs() <= EXACT => json!(value),
        Value::Integer(value) => json!(value.to_string()),
        Value::Real(value) if value.is_finite() => json!(value),
        Value::Real(value) => json!(cells::float(*value)),
        Value::Decimal(text) | Value::Text(text) => json!(text),
        Value::Blob(bytes) => json!({"hex": hex::encode(bytes), "bytes": bytes.len()}),
    }
}

/// Observation of anything but a query that failed as a statement does.
#[must_use]
pub fn failed(dialect: Dialect, sql: &str, error: &SqlError, limits: &Limits) -> (String, Json) {
    (failure::text(dialect, sql, error, limits), json!({"results": [], "error": error}))
}

/// An error that is the session's own and not the engine's, in the form of a step's observation.
#[must_use]
pub fn refusal(code: &str, message: &str) -> (String, Json) {
    let error = json!({"code": code, "message": message, "detail": null, "hint": null, "statement": null, "position": null, "cut": "refused"});
    (format!("Error: {message}"), json!({"results": [], "error": error}))
}

#[cfg(test)]
mod tests;

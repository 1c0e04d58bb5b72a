//! Values as they are printed.

use crate::value::Value;

/// Characters of a cell that are shown.
const CELL_CHARS_MAX: usize = 200;
const BLOB_BYTES_SHOWN: usize = 32;

/// Not a number and infinities in PostgreSQL's words; others so that they read back the same.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) {
        format!("{value:e}")
    } else {
        format!("{value:?}")
    }
}

/// One line without control characters, and whether numbers stand there.
pub(super) fn cell(value: &Value) -> (String, bool) {
    match value {
        Value::Null => ("NULL".to_owned(), false),
        Value::Boolean(value) => (if *value { "t" } else { "f" }.to_owned(), false),
        Value::Integer(value) => (value.to_string(), true),
        Value::Real(value) => (float(*value), true),
        Value::Decimal(digits) => (line(digits, CELL_CHARS_MAX), true),
        Value::Text(text) => (line(text, CELL_CHARS_MAX), false),
        Value::Blob(bytes) if bytes.len() <= BLOB_BYTES_SHOWN => (format!("\\x{}", hex::encode(bytes)), false),
        Value::Blob(bytes) => {
            (format!("\\x{}… ({} bytes)", hex::encode(&bytes[..BLOB_BYTES_SHOWN]), bytes.len()), false)
        }
    }
}

/// Text on one line: control characters escaped, the end cut off with a mark that says how much is missing.
pub(super) fn line(text: &str, chars_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(chars_max));
    for (at, sign) in text.chars().enumerate() {
        if at == chars_max {
            let missing = text.chars().count() - chars_max;
            out.push_str(&format!("… (+{missing} characters)"));
            break;
        }
        if sign.is_control() || is_bidirectional(sign) {
            out.extend(sign.escape_default());
        } else {
            out.push(sign);
        }
    }
    out
}

/// Signs that turn the direction of what follows, so that a line reads otherwise than it is.
fn is_bidirectional(sign: char) -> bool {
    matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

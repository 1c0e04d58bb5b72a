//! JSON as Python's `json.dumps` writes it, which is what models have read in training: `", "` and `": "` between
//! parts, no escapes but those that must be, keys in the order that tools are usually written in.

use serde_json::{Map, Value};

/// Keys that come first, in this order; the others follow by the alphabet.
const KEYS_FIRST: [&str; 11] = [
    "type",
    "function",
    "id",
    "name",
    "description",
    "parameters",
    "arguments",
    "properties",
    "items",
    "enum",
    "required",
];
/// Deepest nesting; deeper values are not written.
const DEPTH_MAX: usize = 128;

/// Separators between parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonStyle<'a> {
    /// Between two parts.
    pub(super) item: &'a str,
    /// Between key and value.
    pub(super) key: &'a str,
    /// Spaces per level, each part on a line of its own.
    pub(super) indent: Option<usize>,
}

impl JsonStyle<'static> {
    /// As Python does by itself.
    pub(super) const SPACED: Self = Self { item: ", ", key: ": ", indent: None };
    /// Without a space.
    pub(super) const COMPACT: Self = Self { item: ",", key: ":", indent: None };
}

/// Writes a value; what is nested deeper than 128 levels becomes `null`.
pub(super) fn write(value: &Value, style: JsonStyle<'_>) -> String {
    let mut text = String::new();
    write_to(&mut text, value, style, 0);
    text
}

fn write_to(text: &mut String, value: &Value, style: JsonStyle<'_>, depth: usize) {
    match value {
        _ if depth > DEPTH_MAX => text.push_str("null"),
        Value::Array(items) if items.is_empty() => text.push_str("[]"),
        Value::Object(fields) if fields.is_empty() => text.push_str("{}"),
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                begin_part(text, style, depth, place);
                write_to(text, item, style, depth + 1);
            }
            end_parts(text, style, depth, ']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (place, (key, value)) in ordered(fields).into_iter().enumerate() {
                begin_part(text, style, depth, place);
                text.push_str(&Value::from(key).to_string());
                text.push_str(style.key);
                write_to(text, value, style, depth + 1);
            }
            end_parts(text, style, depth, '}');
        }
        single => text.push_str(&single.to_string()),
    }
}

fn begin_part(text: &mut String, style: JsonStyle<'_>, depth: usize, place: usize) {
    if place > 0 {
        text.push_str(if style.indent.is_some() { style.item.trim_end() } else { style.item });
    }
    new_line(text, style, depth + 1);
}

fn end_parts(text: &mut String, style: JsonStyle<'_>, depth: usize, bracket: char) {
    new_line(text, style, depth);
    text.push(bracket);
}

fn new_line(text: &mut String, style: JsonStyle<'_>, depth: usize) {
    if let Some(spaces) = style.indent {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', spaces * depth));
    }
}

fn ordered(fields: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let rank = |key: &str| KEYS_FIRST.iter().position(|first| *first == key).unwrap_or(KEYS_FIRST.len());
    let mut fields: Vec<(&str, &Value)> = fields.iter().map(|(key, value)| (key.as_str(), value)).collect();
    fields.sort_by_key(|(key, _)| (rank(key), *key));
    fields
}

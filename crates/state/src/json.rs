//! JSON that others wrote: read so that it has one meaning alone, and compared so that 1 and 1.0 are one number.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// Reads a document in which no object has two members of one name, at any depth, also where the names are written with different
/// escapes. Readers differ in which of the two counts, so such a document answers in two ways, and is none.
///
/// # Errors
/// In words that begin well after "it is not JSON: ".
pub fn read(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Unambiguous(value)| value)
}

/// Reads a value of a type from such a document.
///
/// # Errors
/// As [`read`], or because the document is not of the type. Either way with its line and column.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    read(text)?;
    serde_json::from_str(text)
}

/// The line and the column, both from 1, of the value at a JSON Pointer (RFC 6901) in a document; of the innermost value that is there
/// where the pointer goes further.
#[must_use]
pub fn place(text: &str, pointer: &str) -> (usize, usize) {
    let mut found = text.trim_start();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let Some(inner) = member(found, &token) else { break };
        found = inner;
    }
    // Each is a part of the text before.
    let before = &text[..found.as_ptr() as usize - text.as_ptr() as usize];
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// The text of an element or a member.
fn member<'a>(text: &'a str, token: &str) -> Option<&'a str> {
    let raw: &RawValue = if text.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        elements.get(token.parse::<usize>().ok()?).copied()?
    } else {
        let members: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        members.get(token).copied()?
    };
    Some(raw.get())
}

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

macro_rules! scalars {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<Value, E> {
            Ok(Value::from(value))
        }
    )*};
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    scalars! { visit_bool(bool); visit_i64(i64); visit_u64(u64); visit_str(&str); visit_string(String); }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(element)) = elements.next_element()? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unambiguous(value))) = members.next_entry::<String, Unambiguous>()? {
            if object.contains_key(&name) {
                let shown: String = name.chars().take(SHOWN_MAX).collect();
                return Err(A::Error::custom(format_args!("an object has two members {shown:?}")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

/// Characters of a name that are shown.
const SHOWN_MAX: usize = 100;

/// True if both say the same.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unambiguous_json_is_read_as_by_any_reader() {
        for text in [
            "null",
            "true",
            "-3",
            "18446744073709551615",
            "1.5e3",
            "\"a\\u00e9\"",
            "[]",
            "{}",
            r#"{"a": [1, {"b": null}], "c": {"a": 1, "A": 2}, "": {"": [{"a": 1}, {"a": 1}]}}"#,
        ] {
            let expected: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(read(text).expect("one meaning"), expected, "{text}");
        }
        for text in ["", "{", "[1,]", "{\"a\":1} x", "NaN", "1e999"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(1 << 20)).is_err(), "depth has a bound");
        assert_eq!(read("0").expect("a number"), json!(0));
    }

    #[test]
    fn a_typed_document_is_refused_with_line_and_key_where_it_has_two_meanings() {
        #[derive(Debug, serde::Deserialize)]
        struct Row {
            #[serde(rename = "answer")]
            _answer: Value,
        }
        assert!(from_str::<Row>(r#"{"answer": 1}"#).is_ok());
        assert!(from_str::<Row>(r#"{"question": 1}"#).expect_err("no row").to_string().contains("missing field"));
        let error = from_str::<Row>("{\"answer\":\n {\"a\": 1,\n \"a\": 2}}").expect_err("two").to_string();
        assert_eq!(error, "an object has two members \"a\" at line 3 column 8");
    }

    #[test]
    fn values_are_found_in_their_text() {
        let text = "{\n  \"rooms\": {\"a/b\": {\"size\": 1}},\n  \"é\": [1,  {\"x\": null}]\n}\n";
        for (pointer, line, column) in [
            ("", 1, 1),
            ("/rooms", 2, 12),
            ("/rooms/a~1b/size", 2, 29),
            ("/rooms/a~1b/none", 2, 20),
            ("/é/1/x", 3, 19),
            ("/é/7", 3, 8),
        ] {
            assert_eq!(place(text, pointer), (line, column), "{pointer}");
        }
    }

    #[test]
    fn members_of_one_name_are_refused_at_any_depth_and_in_any_spelling() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "b": 2, "a": 3}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"[[{"x": {"y": [{"k": 1, "k": 2}]}}]]"#,
            r#"{"": 1, "": 2}"#,
            r#"{"\ud83d\ude42": 1, "🙂": 2}"#,
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("two members"), "{text}: {error}");
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}: other readers take it");
        }
    }
}

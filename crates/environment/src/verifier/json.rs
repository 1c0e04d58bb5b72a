//! `json`: the same JSON value, with numbers compared by value.

use palestra_state::json::read;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::rule::{Expected, Finding, Rule, RuleError, quote};

/// Compares JSON values: members in any order, elements in theirs, `1`, `1.0` and `1e0` the same number. The given text is
/// JSON and nothing else, but for one Markdown code fence around it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Json {}

impl Rule for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        // The parser refuses nesting beyond 128 by itself, which also bounds the comparison.
        let value = match read(unfence(given)) {
            Ok(value) => value,
            Err(error) => return Ok(Finding::wrong(format!("{} is no JSON: {error}", quote(given)))),
        };
        Ok(match difference(expected.answer, &value, &mut String::new()) {
            None => Finding { passed: true, evidence: "the values are equal".to_owned() },
            Some(place) => Finding::wrong(format!("the values differ at {}", quote(&place))),
        })
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        Ok(expected.answer.to_string())
    }
}

fn unfence(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.map_or(text, |inside| inside.strip_prefix("json").unwrap_or(inside).trim())
}

/// Where two values first differ, as a JSON Pointer below `place`.
fn difference(expected: &Value, given: &Value, place: &mut String) -> Option<String> {
    let length = place.len();
    let found = match (expected, given) {
        (Value::Number(left), Value::Number(right)) => (!same_number(left, right)).then(|| place.clone()),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).enumerate().find_map(|(index, (left, right))| {
                place.push_str(&format!("/{index}"));
                let found = difference(left, right, place);
                place.truncate(length);
                found
            })
        }
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
            left.iter().find_map(|(name, left)| {
                place.push('/');
                place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                let found = match right.get(name) {
                    Some(right) => difference(left, right, place),
                    None => Some(place.clone()),
                };
                place.truncate(length);
                found
            })
        }
        _ => (expected != given).then(|| place.clone()),
    };
    place.truncate(length);
    found
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "both ways are compared")]
fn same_number(left: &Number, right: &Number) -> bool {
    let whole = |number: &Number| number.as_i128();
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left == right,
        (Some(whole), None) => right.as_f64().is_some_and(|float| whole as f64 == float && float as i128 == whole),
        (None, Some(whole)) => left.as_f64().is_some_and(|float| whole as f64 == float && float as i128 == whole),
        (None, None) => left.as_f64() == right.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(answer: &Value, given: &str) -> bool {
        Json {}.compare(&Expected::answer(answer), given).expect("any JSON will do").passed
    }

    #[test]
    fn equal_values_pass_however_they_are_written() {
        let answer = json!({"a": [1, 2.5, null], "b/c": {"d": "é"}});
        for given in [
            r#"{"a":[1,2.5,null],"b/c":{"d":"é"}}"#,
            r#" { "b/c" : {"d":"\u00e9"}, "a" : [ 1.0, 25e-1, null ] } "#,
            "```json\n{\"a\":[1,2.5,null],\"b/c\":{\"d\":\"é\"}}\n```",
        ] {
            assert!(passes(&answer, given), "{given}");
        }
        assert!(passes(&json!(10_000_000_000_000_000_000_u64), "1e19"));
    }

    #[test]
    fn other_values_and_what_is_no_json_fail() {
        let deep = "[".repeat(1 << 20);
        for given in
            ["", "[1]", "[1,2,3]", "[2,1]", "[1,\"2\"]", "[1,2] x", "NaN", "[1,NaN]", "[1,1e999]", "[1,2,]", &deep]
        {
            assert!(!passes(&json!([1, 2]), given), "{given:.40}");
        }
        assert!(!passes(&json!({"a": 1}), r#"{"a":1,"b":2}"#));
        assert!(!passes(&json!({"a": 1}), r#"{"b":1}"#));
        // Whichever of two members a reader takes, it is no answer.
        for given in [r#"{"a":1,"a":1}"#, r#"{"a":2,"a":1}"#, r#"{"a":1,"\u0061":1}"#] {
            assert!(!passes(&json!({"a": 1}), given), "{given}");
        }
        assert!(!passes(&json!([{"a": {"b": 1}}]), r#"[{"a":{"b":2,"b":1}}]"#));
        assert!(!passes(&json!(9_007_199_254_740_993_u64), "9007199254740992.0"));
        assert!(!passes(&json!(false), "0"));
        let finding = Json {}.compare(&Expected::answer(&json!({"a": [1, {"b": 2}]})), r#"{"a":[1,{"b":3}]}"#);
        assert!(finding.expect("comparable").evidence.contains("/a/1/b"));
    }
}

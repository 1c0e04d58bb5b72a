//! `set`: the same elements in any order.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::number::Written;
use super::rule::{Expected, Finding, Rule, RuleError, quote};
use super::text::normalise;

/// A set with more elements is refused.
const ELEMENTS_MAX: usize = 10_000;

/// Compares elements without order; each as `number` where it is one, else as `text`.
///
/// Written as a JSON list of scalars, or separated by commas, semicolons or line breaks, with or without `{}`, `[]` or `()`
/// around. An element that holds a separator (and so also `1,000`) needs the JSON form.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// True if the number of times that an element occurs matters.
    #[serde(default)]
    pub multiset: bool,
}

/// The form by which elements are compared.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(String);

impl Rule for Set {
    fn name(&self) -> &'static str {
        "set"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let expected = expected_elements(expected.answer)?;
        let Some(elements) = split(given) else {
            return Ok(Finding::wrong(format!("{} is no list of at most {ELEMENTS_MAX} elements", quote(given))));
        };
        let (wanted, found) = (self.count(&expected), self.count(&elements));
        if wanted == found {
            return Ok(Finding { passed: true, evidence: format!("all {} elements match", expected.len()) });
        }
        let missing = wanted.iter().find(|(key, count)| found.get(key) != Some(count));
        let extra = found.iter().find(|(key, count)| wanted.get(key) != Some(count));
        let show = |what: &str, pair: Option<(&Key, &usize)>| {
            pair.map(|(key, _)| format!("{what} {}", quote(&key.0))).unwrap_or_default()
        };
        Ok(Finding::wrong(format!("{} {}", show("missing", missing), show("wrong", extra)).trim().to_owned()))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        Ok(Value::from(expected_elements(expected.answer)?).to_string())
    }
}

impl Set {
    fn count(&self, elements: &[String]) -> BTreeMap<Key, usize> {
        let mut counts = BTreeMap::new();
        for element in elements {
            let count = counts.entry(key(element)).or_insert(0);
            *count = if self.multiset { *count + 1 } else { 1 };
        }
        counts
    }
}

fn key(element: &str) -> Key {
    Key(match Written::parse(element) {
        Some(Written::Exact(rational)) => rational.to_string(),
        Some(Written::Long { negative, digits, exponent }) => {
            format!("{}{digits}e{exponent}", if negative { "-" } else { "" })
        }
        None => normalise(element),
    })
}

fn expected_elements(answer: &Value) -> Result<Vec<String>, RuleError> {
    let elements = match answer {
        Value::Array(list) => scalars(list),
        Value::String(text) => split(text),
        Value::Number(number) => Some(vec![number.to_string()]),
        _ => None,
    };
    elements.filter(|elements| !elements.is_empty() && elements.len() <= ELEMENTS_MAX).ok_or_else(|| {
        RuleError(format!(
            "verifier set must have an answer that is a list of 1 to {ELEMENTS_MAX} strings, numbers and booleans"
        ))
    })
}

fn scalars(list: &[Value]) -> Option<Vec<String>> {
    list.iter()
        .map(|element| match element {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        })
        .collect()
}

fn split(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if text.starts_with('[')
        && let Ok(Value::Array(list)) = serde_json::from_str(text)
    {
        return scalars(&list).filter(|elements| elements.len() <= ELEMENTS_MAX);
    }
    let inside = [('{', '}'), ('[', ']'), ('(', ')')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(text);
    let parts = inside.split([',', ';', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let elements: Vec<String> = parts.take(ELEMENTS_MAX + 1).map(str::to_owned).collect();
    (elements.len() <= ELEMENTS_MAX).then_some(elements)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(multiset: bool, answer: &Value, given: &str) -> bool {
        Set { multiset }.compare(&Expected::answer(answer), given).expect("a set").passed
    }

    #[test]
    fn order_spacing_and_separators_do_not_matter() {
        for given in ["a, B,3", "3;b;A", "b\n3.0\na", "[\"a\", \"b\", 3]", "{3, a, b}", "(a,b,3)", "a,b,b,3", "a,,b,3,"]
        {
            assert!(passes(false, &json!(["a", "b", 3]), given), "{given}");
        }
        assert!(passes(false, &json!("x, y"), "y, x"));
        assert!(passes(false, &json!(["Paris, France", "Rome"]), "[\"Rome\", \"Paris, France\"]"));
        assert!(passes(false, &json!([0.5]), "1/2"));
    }

    #[test]
    fn missing_and_extra_elements_fail() {
        let many = "a,".repeat(ELEMENTS_MAX + 1);
        let deep = "[".repeat(1 << 20);
        for given in ["", "a,b", "a,b,3,4", "a b 3", "[[\"a\"],\"b\",3]", "null", &many, &deep] {
            assert!(!passes(false, &json!(["a", "b", 3]), given), "{given:.40}");
        }
        assert!(!passes(true, &json!(["a", "b"]), "a,b,b"));
        assert!(passes(true, &json!(["b", "a", "b"]), "a,b,b"));
        for answer in [json!([]), json!(""), json!(null), json!([null]), json!({"a": 1})] {
            assert!(Set { multiset: false }.compare(&Expected::answer(&answer), "a").is_err(), "{answer}");
        }
    }
}

//! `exact`: the given text is the expected one, byte for byte.

use serde::Deserialize;

use super::rule::{Expected, Finding, Rule, RuleError, alternatives, any_of, first_alternative};

/// Compares bytes. A list of answers accepts any of them; numbers and booleans count as JSON writes them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exact {}

impl Rule for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        Ok(any_of(&alternatives("exact", expected.answer)?, given, |spelling| spelling == given))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        first_alternative("exact", expected.answer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_same_bytes_pass() {
        let passes = |answer, given: &str| {
            Exact {}.compare(&Expected::answer(&answer), given).map(|finding: Finding| finding.passed)
        };
        assert_eq!(passes(json!("Paris"), "Paris"), Ok(true));
        assert_eq!(passes(json!(["Paris", "Lutetia"]), "Lutetia"), Ok(true));
        assert_eq!(passes(json!(4), "4"), Ok(true));
        for given in ["paris", " Paris", "Paris\n", "Paris.", "", "Pari\u{301}s"] {
            assert_eq!(passes(json!("Paris"), given), Ok(false), "{given:?}");
        }
        for answer in [json!(null), json!({}), json!([]), json!([["a"]])] {
            assert!(passes(answer.clone(), "a").is_err(), "{answer}");
        }
    }
}

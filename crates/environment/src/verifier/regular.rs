//! `regex`: the given text matches a regular expression as a whole, in time linear in the text.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::rule::{Expected, Finding, Rule, RuleError, read_options};

/// A longer pattern is refused.
const PATTERN_BYTES_MAX: usize = 4096;

/// Most memory that a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Deepest nesting of groups and repetitions.
const NESTING_MAX: u32 = 50;

/// Matches the whole given text, without white space around it, against a pattern in the syntax of the `regex` crate (no
/// look-around, no back-references).
///
/// With a `pattern` option the row's answer is an example that matches. Without, the answer is
/// `{"pattern": "..", "example": ".."}`.
#[derive(Debug)]
pub struct Regular {
    pattern: Option<Regex>,
    ignore_case: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default)]
    ignore_case: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    pattern: String,
    example: String,
}

impl Regular {
    /// Reads `{"pattern": "..", "ignore_case": false}`.
    pub(super) fn parse(options: Map<String, Value>) -> Result<Self, RuleError> {
        let Options { pattern, ignore_case } = read_options("regex", options)?;
        let pattern = pattern.map(|pattern| compile(&pattern, ignore_case)).transpose()?;
        Ok(Self { pattern, ignore_case })
    }

    /// The compiled pattern and an example that it should match.
    fn read(&self, answer: &Value) -> Result<(Regex, String), RuleError> {
        if let Some(pattern) = &self.pattern {
            let example = match answer {
                Value::String(example) => example.clone(),
                Value::Number(number) => number.to_string(),
                _ => {
                    return Err(RuleError("verifier regex must have an answer that is an example to match".to_owned()));
                }
            };
            return Ok((pattern.clone(), example));
        }
        let Value::Object(fields) = answer else {
            return Err(RuleError(
                "verifier regex must have a \"pattern\" of its own, or an answer {\"pattern\": .., \"example\": ..}"
                    .to_owned(),
            ));
        };
        let answer: Answer = read_options("regex: answer", fields.clone())?;
        Ok((compile(&answer.pattern, self.ignore_case)?, answer.example))
    }
}

impl Rule for Regular {
    fn name(&self) -> &'static str {
        "regex"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let (pattern, _) = self.read(expected.answer)?;
        Ok(Finding::new(pattern.is_match(given.trim()), given, pattern.as_str()))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        self.read(expected.answer).map(|(_, example)| example)
    }
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, RuleError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(RuleError(format!("verifier regex: the pattern must be at most {PATTERN_BYTES_MAX} bytes")));
    }
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .case_insensitive(ignore_case)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX)
            .nest_limit(NESTING_MAX)
            .build()
            .map_err(|error| RuleError(format!("verifier regex: the pattern is wrong, correct it: {error}")))
    };
    // Alone it must be valid too, or `a)|(b` would break out of the anchored group.
    build(pattern)?;
    build(&format!(r"\A(?:{pattern})\z"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::super::rules::parse;
    use super::*;

    #[test]
    fn the_whole_text_must_match() {
        let rule = parse(&json!({"name": "regex", "pattern": "a|ab"})).expect("a rule");
        let example = json!("ab");
        let passes = |given| rule.compare(&Expected::answer(&example), given).expect("a pattern").passed;
        assert!(passes("a") && passes("ab") && passes(" ab\n"));
        assert!(!passes("abc") && !passes("b") && !passes("") && !passes("xa") && !passes("a\na"));
        assert_eq!(rule.own_answer(&Expected::answer(&example)).as_deref(), Ok("ab"));
    }

    #[test]
    fn a_row_can_bring_its_own_pattern() {
        let rule = parse(&json!({"name": "regex", "ignore_case": true})).expect("a rule");
        let answer = json!({"pattern": "v[0-9]+", "example": "v1"});
        assert!(rule.compare(&Expected::answer(&answer), "V22").expect("a pattern").passed);
        for answer in [json!("v1"), json!({"pattern": "a"}), json!({"pattern": "(", "example": "a"}), json!(null)] {
            assert!(rule.compare(&Expected::answer(&answer), "a").is_err(), "{answer}");
        }
    }

    #[test]
    fn broken_and_oversized_patterns_are_refused() {
        let deep = format!("{}a{}", "(".repeat(1000), ")".repeat(1000));
        let long = "a".repeat(PATTERN_BYTES_MAX + 1);
        for pattern in ["(", "a)|(b", "a{1000}{1000}{1000}", r"(a)\1", "(?=a)", &deep, &long] {
            assert!(parse(&json!({"name": "regex", "pattern": pattern})).is_err(), "{pattern:.40}");
        }
    }

    #[test]
    fn patterns_that_blow_up_elsewhere_stay_linear() {
        let rule = parse(&json!({"name": "regex", "pattern": "(a+)+b|(a|aa)+c|(.*a){20}d"})).expect("a rule");
        let begun = Instant::now();
        let given = "a".repeat(100_000);
        assert!(!rule.compare(&Expected::answer(&json!("ab")), &given).expect("a pattern").passed);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

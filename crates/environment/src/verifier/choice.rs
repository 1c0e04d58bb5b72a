//! `choice`: one of the choices that were offered, by its letter or by its text.

use serde::Deserialize;

use super::rule::{Expected, Finding, Rule, RuleError, quote};
use super::text::normalise;

/// As many choices as there are letters to name them.
pub const CHOICES_MAX: usize = 26;

/// Compares which choice is meant: `B`, `b`, `(B)`, `B.`, `B)`, `B:`, `B) its text`, or its text (compared as `text` does).
///
/// The expected answer is a choice's text or its letter. A letter that is also the text of another choice is ambiguous and
/// never accepted.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {}

impl Rule for Choice {
    fn name(&self) -> &'static str {
        "choice"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let right = expected_index(expected)?;
        let shown = || format!("({}) {}", letter(right), expected.choices[right]);
        Ok(match choose(expected.choices, given) {
            Ok(index) => Finding::new(index == right, given, &shown()),
            Err(reason) => Finding::wrong(format!("{} {reason}", quote(given))),
        })
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        expected_index(expected).map(|index| letter(index).to_string())
    }
}

/// The letter of the choice at `index`: A, B, C and so on.
#[must_use]
pub fn letter(index: usize) -> char {
    u8::try_from(index).ok().filter(|index| *index < 26).map_or('?', |index| char::from(b'A' + index))
}

/// The right choice; the choices are checked on the way, since data sets are made by hand.
fn expected_index(expected: &Expected<'_>) -> Result<usize, RuleError> {
    let choices = expected.choices;
    if choices.len() < 2 || choices.len() > CHOICES_MAX {
        let count = choices.len();
        return Err(RuleError(format!("verifier choice must have 2 to {CHOICES_MAX} \"choices\", not {count}")));
    }
    let mut texts: Vec<String> = choices.iter().map(|choice| normalise(choice)).collect();
    texts.sort_unstable();
    if let Some(pair) = texts.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(RuleError(format!("two choices are the same, write each once: {}", quote(&pair[0]))));
    }
    let text = match expected.answer {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.to_string(),
        _ => return Err(RuleError("verifier choice must have an answer that is a choice's text or letter".to_owned())),
    };
    choose(choices, &text)
        .map_err(|reason| RuleError(format!("the answer {} {reason}: write one choice's text or letter", quote(&text))))
}

/// Which choice a text means.
fn choose(choices: &[String], given: &str) -> Result<usize, &'static str> {
    let wanted = normalise(given);
    let by_text = choices.iter().position(|choice| normalise(choice) == wanted);
    let by_letter = by_letter(choices, given.trim());
    match (by_text, by_letter) {
        (Some(text), Some(letter)) if text != letter => Err("is one choice's text and another one's letter"),
        (Some(index), _) | (None, Some(index)) => Ok(index),
        (None, None) => Err("is none of the choices"),
    }
}

/// A letter alone or marked as such, and after it nothing or the text of the same choice.
fn by_letter(choices: &[String], given: &str) -> Option<usize> {
    let opened = given.strip_prefix(['(', '[']);
    let mut rest = opened.unwrap_or(given).chars();
    let letter = rest.next()?.to_ascii_uppercase();
    let index = usize::try_from(u32::from(letter).checked_sub(u32::from('A'))?).ok()?;
    let rest = rest.as_str();
    let after = if opened.is_some() {
        rest.strip_prefix([')', ']'])?
    } else {
        match rest.strip_prefix([')', '.', ':']) {
            Some(after) => after,
            None if rest.is_empty() => rest,
            None => return None,
        }
    };
    let choice = choices.get(index)?;
    let after = after.trim_start_matches([':', '.']).trim();
    (after.is_empty() || normalise(after) == normalise(choice)).then_some(index)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn choices(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn compare(answer: &Value, choices: &[String], given: &str) -> Result<bool, RuleError> {
        Choice {}.compare(&Expected { answer, choices }, given).map(|finding| finding.passed)
    }

    #[test]
    fn letter_and_text_name_a_choice() {
        let cities = choices(&["London", "Paris", "Rome"]);
        for given in ["B", "b", "(B)", "[b]", "B.", "B)", "B: Paris", "(B) paris.", "Paris", " paris ", "B) Paris"] {
            for answer in [json!("Paris"), json!("B")] {
                assert_eq!(compare(&answer, &cities, given), Ok(true), "{given}");
            }
        }
        for given in ["", "A", "(B", "B London", "B) London", "BB", "Z", "A or B", "London", "é", "2", "But A"] {
            assert_eq!(compare(&json!("B"), &cities, given), Ok(false), "{given}");
        }
        assert_eq!(compare(&json!(4), &choices(&["3", "4"]), "4"), Ok(true));
    }

    #[test]
    fn choices_that_cannot_be_told_apart_are_refused() {
        let error = |answer: Value, texts: &[&str]| compare(&answer, &choices(texts), "A").map_err(|error| error.0);
        assert!(error(json!("A"), &["B", "A"]).is_err(), "the letter of one is the text of the other");
        assert!(error(json!("x"), &["x", " X."]).is_err());
        assert!(error(json!("x"), &["x"]).is_err());
        assert!(error(json!("x"), &[]).is_err());
        assert!(error(json!("z"), &["x", "y"]).is_err());
        assert!(error(json!(["x"]), &["x", "y"]).is_err());
        assert!(error(json!("0"), &(0..27).map(|_| "0").collect::<Vec<_>>()).is_err());
    }
}

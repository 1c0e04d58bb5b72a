//! Rules that compare one given answer with the expected one: what each of them is, and what they share.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Judgement;

/// Changes with every change of any rule that could change a verdict.
pub const RULES_VERSION: u32 = 1;

/// A longer given answer never passes.
pub const GIVEN_BYTES_MAX: usize = 1 << 20;

/// Evidence is for people: longer quotations are cut.
const QUOTE_CHARS_MAX: usize = 120;

/// Decides whether a given answer is right. A pure function: it can be used without any episode.
pub trait Rule: fmt::Debug + Send + Sync {
    /// As it is named in data sets and verdicts.
    fn name(&self) -> &'static str;

    /// Compares.
    ///
    /// # Errors
    /// When the expected answer does not have a form that this rule understands.
    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError>;

    /// The expected answer as one would give it.
    ///
    /// # Errors
    /// When the expected answer does not have a form that this rule understands.
    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError>;
}

/// The right answer.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The answer, in the form that the rule needs.
    pub answer: &'a Value,
    /// The choices that were offered, in order; empty where there were none.
    pub choices: &'a [String],
}

impl<'a> Expected<'a> {
    /// An answer where nothing was offered to choose from.
    #[must_use]
    pub const fn answer(answer: &'a Value) -> Self {
        Self { answer, choices: &[] }
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// True if the given answer is right.
    pub passed: bool,
    /// Why.
    pub evidence: String,
}

impl Finding {
    /// A finding that shows both sides.
    #[must_use]
    pub fn new(passed: bool, given: &str, expected: &str) -> Self {
        let relation = if passed { "matches" } else { "does not match" };
        Self { passed, evidence: format!("{} {relation} {}", quote(given), quote(expected)) }
    }

    /// The given answer is wrong, for a reason.
    #[must_use]
    pub fn wrong(evidence: impl Into<String>) -> Self {
        Self { passed: false, evidence: evidence.into() }
    }
}

/// The expected answer, or a rule's options, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RuleError(pub String);

/// Reads the rule that stands inside another one, that many deep.
pub(super) type ParseInner = fn(&Value, usize) -> Result<Box<dyn Rule>, RuleError>;

/// Reads a rule's options, refusing unknown ones.
pub(super) fn read_options<T: DeserializeOwned>(name: &str, options: Map<String, Value>) -> Result<T, RuleError> {
    serde_json::from_value(Value::Object(options))
        .map_err(|error| RuleError(format!("verifier {name}: its options do not fit, correct them: {error}")))
}

/// Judges one answer: a single check that is named like the rule.
///
/// # Errors
/// As [`Rule::compare`].
pub fn judge(rule: &dyn Rule, expected: &Expected<'_>, given: &str) -> Result<Judgement, RuleError> {
    let finding = if given.len() > GIVEN_BYTES_MAX {
        Finding::wrong(format!("the answer is longer than {GIVEN_BYTES_MAX} bytes"))
    } else {
        rule.compare(expected, given)?
    };
    Ok(Judgement::single(rule.name(), if finding.passed { 1.0 } else { 0.0 }, finding.evidence))
}

/// The accepted spellings of an expected answer: a scalar is one, a list offers several.
///
/// # Errors
/// When there is none, or one is neither string, number nor boolean.
pub(super) fn alternatives(rule: &str, answer: &Value) -> Result<Vec<String>, RuleError> {
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    let spellings: Option<Vec<String>> = match answer {
        Value::Array(list) if !list.is_empty() => list.iter().map(scalar).collect(),
        other => scalar(other).map(|one| vec![one]),
    };
    spellings.ok_or_else(|| {
        RuleError(format!(
            "verifier {rule} must have an answer that is a string, a number or a boolean, or a list of accepted ones"
        ))
    })
}

/// The first accepted spelling.
pub(super) fn first_alternative(rule: &str, answer: &Value) -> Result<String, RuleError> {
    alternatives(rule, answer)?
        .into_iter()
        .next()
        .ok_or_else(|| RuleError(format!("verifier {rule} must have an answer")))
}

/// Accepts an answer that fits any of the accepted spellings.
pub(super) fn any_of(spellings: &[String], given: &str, fits: impl Fn(&str) -> bool) -> Finding {
    match spellings.iter().find(|spelling| fits(spelling)) {
        Some(spelling) => Finding::new(true, given, spelling),
        None => Finding::new(false, given, &spellings.join(" | ")),
    }
}

/// A text in quotation marks, cut to a length that people read.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTE_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

//! Rules that compare one given answer with the expected one: the list of them, and how a data set names one.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Judgement, choice, exact, final_answer, json, number, regular, set, text};

/// Changes with every change of any rule that could change a verdict.
pub const RULES_VERSION: u32 = 1;

/// A longer given answer never passes.
pub const GIVEN_BYTES_MAX: usize = 1 << 20;

/// How deep rules may stand inside rules.
const RULE_DEPTH_MAX: usize = 3;

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

/// What the right answer is.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The answer, in the form that the rule needs.
    pub answer: &'a Value,
    /// What could be chosen from, in order; empty where nothing was offered.
    pub choices: &'a [String],
}

impl<'a> Expected<'a> {
    /// An answer where nothing was offered to choose from.
    #[must_use]
    pub const fn answer(answer: &'a Value) -> Self {
        Self { answer, choices: &[] }
    }
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether the given answer is right.
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

type Parse = fn(Map<String, Value>, usize) -> Result<Box<dyn Rule>, RuleError>;

/// Every rule by name: a new one is a file and a line.
const RULES: &[(&str, Parse)] = &[
    ("exact", |options, _| Ok(Box::new(read_options::<exact::Exact>("exact", options)?))),
    ("text", |options, _| Ok(Box::new(read_options::<text::Text>("text", options)?))),
    ("number", |options, _| Ok(Box::new(read_options::<number::Number>("number", options)?.checked()?))),
    ("choice", |options, _| Ok(Box::new(read_options::<choice::Choice>("choice", options)?))),
    ("final", |options, depth| Ok(Box::new(final_answer::Final::parse(options, depth)?))),
    ("set", |options, _| Ok(Box::new(read_options::<set::Set>("set", options)?))),
    ("json", |options, _| Ok(Box::new(read_options::<json::Json>("json", options)?))),
    ("regex", |options, _| Ok(Box::new(regular::Regular::parse(options)?))),
];

/// The names of all rules.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// The rule that `"number"` or `{"name":"number","tolerance":1e-6}` names.
///
/// # Errors
/// When there is no such rule, or an option is unknown or out of range.
pub fn parse(named: &Value) -> Result<Arc<dyn Rule>, RuleError> {
    parse_inner(named, 0).map(Arc::from)
}

/// [`parse`] for a rule inside `depth` other ones.
pub(super) fn parse_inner(named: &Value, depth: usize) -> Result<Box<dyn Rule>, RuleError> {
    if depth > RULE_DEPTH_MAX {
        return Err(RuleError(format!("verifiers stand inside verifiers more than {RULE_DEPTH_MAX} deep")));
    }
    let (name, options) = match named {
        Value::String(name) => (name.clone(), Map::new()),
        Value::Object(fields) => {
            let mut options = fields.clone();
            match options.remove("name") {
                Some(Value::String(name)) => (name, options),
                _ => return Err(RuleError("a verifier object needs a \"name\"".to_owned())),
            }
        }
        _ => return Err(RuleError("a verifier is a name or an object with a \"name\"".to_owned())),
    };
    let known = RULES.iter().find(|(known, _)| *known == name);
    let (_, parse) = known.ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        RuleError(format!("there is no verifier {}; verifiers: {}", quote(&name), names.join(", ")))
    })?;
    parse(options, depth)
}

/// Reads a rule's options, refusing unknown ones.
pub(super) fn read_options<T: DeserializeOwned>(name: &str, options: Map<String, Value>) -> Result<T, RuleError> {
    serde_json::from_value(Value::Object(options)).map_err(|error| RuleError(format!("verifier {name}: {error}")))
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
            "verifier {rule} needs an answer that is a string, a number or a boolean, or a list of accepted ones"
        ))
    })
}

/// The first accepted spelling.
pub(super) fn first_alternative(rule: &str, answer: &Value) -> Result<String, RuleError> {
    alternatives(rule, answer)?.into_iter().next().ok_or_else(|| RuleError(format!("verifier {rule} has no answer")))
}

/// Whether any accepted spelling fits, and what to say about it.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_rule_parses_by_its_name_and_refuses_unknown_options() {
        for name in names() {
            let named = if name == "regex" { json!({"name": name, "pattern": "a"}) } else { json!(name) };
            assert_eq!(parse(&named).expect(name).name(), name);
            assert!(parse(&json!({"name": name, "no_such_option": 1})).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_list_of_rules() {
        let error = parse(&json!("nosuch")).expect_err("no rule").to_string();
        assert!(error.contains("nosuch") && error.contains("exact, text, number"), "{error}");
        for named in [json!(3), json!({}), json!({"name": 1}), json!(null), json!([])] {
            assert!(parse(&named).is_err(), "{named}");
        }
        let mut nested = json!("text");
        for _ in 0..10 {
            nested = json!({"name": "final", "inner": nested});
        }
        assert!(parse(&nested).expect_err("too deep").to_string().contains("deep"));
    }

    #[test]
    fn an_answer_over_the_limit_never_passes() {
        let long = "a".repeat(GIVEN_BYTES_MAX + 1);
        let rule = parse(&json!("exact")).expect("a rule");
        let judgement = judge(&*rule, &Expected::answer(&json!(long)), &long).expect("a judgement");
        assert_eq!(judgement.score(), Ok(0.0));
        assert!(judgement.checks[0].evidence.len() < 200);
    }
}

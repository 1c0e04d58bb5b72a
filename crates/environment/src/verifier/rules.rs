//! The list of all rules, and how a data set names one.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::rule::{Rule, RuleError, quote, read_options};
use super::{choice, date, exact, final_answer, json, number, regular, set, text};

/// Deepest nesting of rules.
const RULE_DEPTH_MAX: usize = 3;

type Parse = fn(Map<String, Value>, usize) -> Result<Box<dyn Rule>, RuleError>;

/// Every rule by name: a new one is a file and a line.
const RULES: &[(&str, Parse)] = &[
    ("exact", |options, _| Ok(Box::new(read_options::<exact::Exact>("exact", options)?))),
    ("text", |options, _| Ok(Box::new(read_options::<text::Text>("text", options)?))),
    ("number", |options, _| Ok(Box::new(read_options::<number::Number>("number", options)?.checked()?))),
    ("date", |options, _| Ok(Box::new(read_options::<date::Date>("date", options)?))),
    ("choice", |options, _| Ok(Box::new(read_options::<choice::Choice>("choice", options)?))),
    ("final", |options, depth| Ok(Box::new(final_answer::Final::parse(options, depth, parse_inner)?))),
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
fn parse_inner(named: &Value, depth: usize) -> Result<Box<dyn Rule>, RuleError> {
    if depth > RULE_DEPTH_MAX {
        return Err(RuleError(format!("verifiers must stand inside verifiers at most {RULE_DEPTH_MAX} deep")));
    }
    let (name, options) = match named {
        Value::String(name) => (name.clone(), Map::new()),
        Value::Object(fields) => {
            let mut options = fields.clone();
            match options.remove("name") {
                Some(Value::String(name)) => (name, options),
                _ => return Err(RuleError("a verifier object must have a \"name\"".to_owned())),
            }
        }
        _ => return Err(RuleError("a verifier must be a name or an object with a \"name\"".to_owned())),
    };
    let known = RULES.iter().find(|(known, _)| *known == name);
    let (_, parse) = known.ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        RuleError(format!("there is no verifier {}: use one of {}", quote(&name), names.join(", ")))
    })?;
    parse(options, depth)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::rule::{Expected, GIVEN_BYTES_MAX, judge};
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
    fn unknown_rules_are_refused_with_the_list_of_rules() {
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

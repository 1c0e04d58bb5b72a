//! A task on pages that somebody published: where it begins, what has to come of it, and how that is judged.

use std::collections::BTreeMap;

use palestra_browser::{Request, form_fields};
use palestra_environment::verifier::rule::{Expected, RuleError, judge};
use palestra_environment::verifier::rules;
use palestra_protocol::verdict::Check;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::address::{fits, plain};

/// A task, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SiteTask {
    /// Its name among the tasks of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// The task in words.
    pub(super) instruction: String,
    /// Address of the first page.
    pub(super) start: String,
    /// The answer that has to be given to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Answer>,
    /// Requests that have to be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) requests: Vec<Wanted>,
    /// True if nothing but giving up is right.
    #[serde(default)]
    pub(super) infeasible: bool,
    /// Actions that solve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) solution: Option<Vec<String>>,
    /// True if a score teaches something: a solution proved it, or the publisher answers for it.
    pub(super) trainable: bool,
}

/// An answer that is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// The expected answer, or a list of accepted ones.
    pub(super) is: Value,
    /// The rule that compares, by its name or with options.
    pub(super) by: Value,
}

/// A request that has to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// `GET`, `POST`, ...
    pub(super) method: String,
    /// Pattern of its address.
    pub(super) address: String,
    /// Fields that its form must have, each with one of these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) form: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    /// True if a request is the one that is wanted.
    pub(super) fn is_met_by(&self, request: &Request) -> bool {
        if request.method != self.method || !fits(&self.address, &plain(&request.url)) {
            return false;
        }
        let sent = if self.form.is_empty() { Vec::new() } else { fields(request) };
        self.form.iter().all(|(name, values)| {
            let mut given = sent.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
            given.next().is_some_and(|value| values.contains(value)) && given.all(|value| values.contains(value))
        })
    }
}

/// The fields of the form in a request, as URL-encoded text or as JSON.
fn fields(request: &Request) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(&request.body);
    if !request.header("content-type").is_some_and(|media| media.starts_with("application/json")) {
        return form_fields(&text);
    }
    let Ok(Value::Object(members)) = serde_json::from_str(&text) else { return Vec::new() };
    let written = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    members.into_iter().map(|(name, value)| (name, written(value))).collect()
}

/// The part of an episode that a verdict depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// The words that ended the task.
    pub(super) answer: Option<String>,
    pub(super) gave_up: bool,
    /// Which of the wanted requests were made.
    pub(super) met: Vec<bool>,
}

impl Done {
    fn read(state: &Value) -> Self {
        let met = state["met"].as_array().into_iter().flatten();
        Self {
            answer: state["answer"].as_str().map(str::to_owned),
            gave_up: state["gave_up"] == true,
            met: met.map(|met| *met == true).collect(),
        }
    }

    pub(super) fn state(&self) -> Value {
        json!({"answer": self.answer, "gave_up": self.gave_up, "met": self.met})
    }
}

impl SiteTask {
    /// True if words to the user are an answer, with which it ends.
    pub(super) const fn ends_with_an_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// The parts of the verdict on a state, of which the first counts.
    ///
    /// # Errors
    /// When rule and answer do not fit each other.
    pub(super) fn judge(&self, state: &Value) -> Result<Vec<Check>, RuleError> {
        let done = Done::read(state);
        let mut parts = Vec::new();
        if let Some(Answer { is, by }) = &self.answer {
            parts.push(match &done.answer {
                Some(given) => {
                    let judged = judge(&*rules::parse(by)?, &Expected::answer(is), given)?;
                    let passed = judged.checks.iter().all(|check| check.passed);
                    let evidence = judged.checks.into_iter().next().map(|check| check.evidence);
                    part("answer".to_owned(), passed, evidence.unwrap_or_default())
                }
                None => part("answer".to_owned(), false, "no answer was given".to_owned()),
            });
        }
        for (number, wanted) in self.requests.iter().enumerate() {
            let met = done.met.get(number).copied().unwrap_or_default();
            let evidence = if met { "it was made" } else { "it was not made" };
            let Wanted { method, address, .. } = wanted;
            parts.push(part(format!("request {} {method} {address}", number + 1), met, evidence.to_owned()));
        }
        let evidence = if done.gave_up { "the agent gave up" } else { "the agent did not give up" };
        parts.push(part("giving up".to_owned(), done.gave_up == self.infeasible, evidence.to_owned()));
        let right = parts.iter().all(|part| part.passed);
        let evidence =
            format!("{} of {} parts are right", parts.iter().filter(|part| part.passed).count(), parts.len());
        let whole = Check { weight: 1.0, ..part("right".to_owned(), right, evidence) };
        Ok(std::iter::once(whole).chain(parts).collect())
    }
}

fn part(name: String, passed: bool, evidence: String) -> Check {
    Check { name, weight: 0.0, score: if passed { 1.0 } else { 0.0 }, passed, evidence }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn task(fields: &Value) -> SiteTask {
        let mut task = json!({"instruction": "Look.", "start": "http://a.test/", "trainable": true});
        task.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(task).unwrap()
    }

    fn is_right(task: &SiteTask, answer: Option<&str>, gave_up: bool, met: &[bool]) -> bool {
        let done = Done { answer: answer.map(str::to_owned), gave_up, met: met.to_vec() };
        task.judge(&done.state()).unwrap()[0].passed
    }

    #[test]
    fn an_answer_is_compared_by_its_rule() {
        let price = task(&json!({"answer": {"is": [12.5, "13"], "by": "number"}}));
        for (answer, right) in [(Some("$12.50"), true), (Some("13"), true), (Some("12"), false), (None, false)] {
            assert_eq!(is_right(&price, answer, false, &[]), right, "{answer:?}");
        }
        assert!(!is_right(&price, Some("13"), true, &[]), "who gives up does not answer");
        let day = task(&json!({"answer": {"is": "2031-05-05", "by": "date"}}));
        assert!(is_right(&day, Some("May 5th, 2031"), false, &[]));
    }

    #[test]
    fn all_requests_have_to_be_made_beside_the_answer() {
        let both = task(&json!({
            "answer": {"is": "yes", "by": "text"},
            "requests": [{"method": "GET", "address": "http://a.test/b"}, {"method": "POST", "address": "http://a.test/c"}],
        }));
        assert!(is_right(&both, Some("Yes."), false, &[true, true]));
        for (answer, met) in [(Some("yes"), &[true, false][..]), (Some("yes"), &[]), (None, &[true, true])] {
            assert!(!is_right(&both, answer, false, met), "{answer:?} {met:?}");
        }
    }

    #[test]
    fn only_giving_up_is_right_where_nothing_can_be_done() {
        let none = task(&json!({"infeasible": true}));
        assert!(is_right(&none, None, true, &[]) && !is_right(&none, None, false, &[]));
    }

    #[test]
    fn a_request_fits_by_method_address_and_every_field() {
        let wanted: Wanted = serde_json::from_value(json!({
            "method": "POST", "address": "http://a.test/order/*", "form": {"size": ["M", "medium"], "gift": ["on"]},
        }))
        .unwrap();
        let request = |method: &str, url: &str, media: &str, body: &str| Request {
            method: method.to_owned(),
            url: Url::parse(url).unwrap(),
            headers: vec![("Content-Type".to_owned(), media.to_owned())],
            body: body.into(),
            is_document: true,
        };
        let (order, form, object) =
            ("http://a.test/order/7", "application/x-www-form-urlencoded", "application/json; charset=utf-8");
        for (method, url, media, body, met) in [
            ("POST", order, form, "size=M&gift=on&note=", true),
            ("POST", order, object, r#"{"size": "medium", "gift": "on"}"#, true),
            ("POST", order, form, "size=L&gift=on", false),
            ("POST", order, form, "size=M&size=L&gift=on", false),
            ("POST", order, form, "size=M", false),
            ("POST", order, object, "[]", false),
            ("GET", "http://a.test/order/7?size=M&gift=on", form, "", false),
            ("POST", "http://b.test/order/7", form, "size=M&gift=on", false),
        ] {
            assert_eq!(wanted.is_met_by(&request(method, url, media, body)), met, "{method} {url} {body}");
        }
    }
}

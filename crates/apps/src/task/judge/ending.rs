//! Status of an episode, and conditions beside its goal: the answer, minefields, rules and milestones.

use std::sync::Arc;

use super::{End, check, open};
use crate::app::Template;
use crate::app::task::WatchedCondition;
use crate::data::Data;
use crate::definition::goal::Status;
use crate::expression::EvalError;
use crate::json::Codec;
use crate::task::answer::{Submission, agrees};
use crate::task::verdict::Check;
use crate::value::{RowKey, Value};

impl End<'_> {
    pub(super) fn answer(&self) -> Result<Vec<Check>, EvalError> {
        let goal = &self.template.goal;
        let status = |submission: &Submission| submission.status.to_string();
        let Some(subject) = &goal.answer else {
            let other = self.submission.filter(|submission| *submission.status != *Status::Ok.word());
            return Ok(other
                .map(|submission| {
                    check("answer".to_owned(), false, &format!("expected ok, submitted {}", status(submission)))
                })
                .into_iter()
                .collect());
        };
        let expected = match &subject.code {
            None => subject.status.word().to_owned(),
            Some(code) => format!("{} {code}", subject.status.word()),
        };
        let given = self.submission.map(|given| match &given.code {
            None => status(given),
            Some(code) => format!("{} {code}", status(given)),
        });
        let right = self.submission.is_some_and(|given| {
            *given.status == *subject.status.word()
                && subject.code.as_ref().is_none_or(|code| given.code.as_ref() == Some(code))
        });
        let given = given.unwrap_or_else(|| "nothing".to_owned());
        let status = check("answer".to_owned(), right, &format!("expected {expected}, submitted {given}"));
        // To say that all is done is no part of the work where there is other work.
        let aside = subject.status == Status::Ok && !(subject.slots.is_empty() && goal.changes.is_empty());
        let mut checks = vec![Check { weight: if aside { 0.0 } else { status.weight }, ..status }];
        if let Some(obstacles) = self.obstacles() {
            let about = self.submission.and_then(|given| given.about.as_deref());
            let right = about.is_some_and(|about| obstacles.iter().any(|id| **id == *about));
            let evidence =
                format!("expected the id of what stands in the way, submitted {}", about.unwrap_or("nothing"));
            checks.push(check("answer.about".to_owned(), right, &evidence));
        }
        for (slot, expression) in &subject.slots {
            let value = match self.value(expression, std::slice::from_ref(self.task)) {
                Ok(value) => value,
                Err(error) => {
                    checks.push(check(format!("answer.{slot}"), false, &open(error)?));
                    continue;
                }
            };
            let given = self.submission.and_then(|given| given.answers.get(&**slot));
            let right = given.is_some_and(|given| {
                agrees(given, &value, expression.kind(), &Codec::new(&self.app.schema), self.data)
            });
            let given = given.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let evidence = format!("expected {}, submitted {given}", self.show(&value, expression.kind()));
            checks.push(check(format!("answer.{slot}"), right, &evidence));
        }
        Ok(checks)
    }

    /// Ids of the rows that an infeasible task is about, one of which a refusal has to name: without that, refusing would
    /// need no look at the task.
    fn obstacles(&self) -> Option<Vec<Arc<str>>> {
        let ids = obstacles(self.template, self.task, self.initial);
        (!ids.is_empty()).then_some(ids)
    }

    fn watched(&self, mine: bool) -> impl Iterator<Item = (usize, &WatchedCondition)> {
        self.template.watches.iter().enumerate().filter(move |(_, watch)| watch.weight.is_none() == mine)
    }

    pub(super) fn minefields(&self) -> Option<Check> {
        self.watched(true).next()?;
        let hit: Vec<&str> = self
            .watched(true)
            .filter(|(place, _)| self.reached.contains(place))
            .map(|(_, watch)| &*watch.name)
            .collect();
        let evidence =
            if hit.is_empty() { "none was stepped on".to_owned() } else { format!("stepped on {}", hit.join(", ")) };
        Some(Check { weight: 0.0, ..check("minefields".to_owned(), hit.is_empty(), &evidence) })
    }

    pub(super) fn rules(&self) -> Option<Check> {
        self.app.rules.iter().find(|rule| !rule.graded.is_empty())?;
        let broken: Vec<&str> = self.broken.iter().map(|rule| &**rule).collect();
        let evidence =
            if broken.is_empty() { "all were kept".to_owned() } else { format!("broken: {}", broken.join(", ")) };
        Some(Check { weight: 0.0, ..check("rules".to_owned(), broken.is_empty(), &evidence) })
    }

    /// Progress, which decides nothing.
    pub(super) fn milestones(&self) -> Option<Check> {
        let total: u32 = self.watched(false).filter_map(|(_, watch)| watch.weight).sum();
        if total == 0 {
            return None;
        }
        let reached = || self.watched(false).filter(|(place, _)| self.reached.contains(place));
        let weight: u32 = reached().filter_map(|(_, watch)| watch.weight).sum();
        let names: Vec<&str> = reached().map(|(_, watch)| &*watch.name).collect();
        let evidence =
            if names.is_empty() { "none was reached".to_owned() } else { format!("reached {}", names.join(", ")) };
        let score = f64::from(weight) / f64::from(total);
        Some(Check { name: "milestones".to_owned(), weight: 0.0, score, passed: true, evidence })
    }
}

/// Ids of the rows that an infeasible task is about.
pub(in crate::task) fn obstacles(template: &Template, task: &Value, data: &Data) -> Vec<Arc<str>> {
    let Value::Record(values) = task else { return Vec::new() };
    if !template.infeasible || template.goal.answer.is_none() {
        return Vec::new();
    }
    let single = |row: &RowKey| data.schema().table(row.table).single;
    let rows = values.iter().filter_map(|value| if let Value::Row(row) = value { Some(row) } else { None });
    rows.filter(|row| !single(row)).filter_map(|row| data.id(*row).cloned()).collect()
}

//! The judge: what a session left, in databases that the acting side never saw.
//!
//! For the task's data, and for other data with the same schema, the surviving steps are run again in a fresh database; then everything
//! that ends with a session ends: an open transaction is rolled back, temporary objects and settings are gone. What is left is
//! compared with what the task's reference leaves in another fresh database. Tables are read by their full names, and only where the
//! catalog says that they are tables. Queries that were handed in are run there, and whatever they did is undone.
//!
//! Statements of the acting side can fail a check, never the judge: only a reference that fails, and an engine that does, are errors.

mod answer;
mod closed;
mod context;
mod differential;
mod facts;
mod plan;
mod probes;
mod properties;
mod queries;
mod result;
mod schema;
mod state;
mod structure;
mod syntax;
mod whole;

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::engine::Engine;
use crate::library::Library;
use crate::session::Evidence;
use crate::task::{Check, Compare, Spoken, Task, WeightedCheck};
use crate::value::Dialect;

use context::{CheckFailure, JudgeContext, TaskDatabases};

/// Time that a judging takes at most.
const TOTAL: Duration = Duration::from_secs(300);

/// Outcome of a judging.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// In the task's order.
    pub checks: Vec<CheckResult>,
}

impl Judgement {
    /// The weighted mean of the checks, in [0, 1].
    #[must_use]
    pub fn score(&self) -> f64 {
        let total: f64 = self.checks.iter().map(|check| check.weight).sum();
        let scored: f64 = self.checks.iter().map(|check| check.weight * check.score).sum();
        if total > 0.0 { scored / total } else { 0.0 }
    }
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckResult {
    /// As in the task.
    pub name: String,
    /// As in the task.
    pub weight: f64,
    /// 1 or 0; 0 also where a required check failed.
    pub score: f64,
    /// True if this check itself passed.
    pub passed: bool,
    /// Why; never for the acting side.
    pub evidence: Json,
}

/// Reason why there is no judgement. None of it is a score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The task's own reference fails, or the evidence cannot be read.
    #[error("the task cannot be judged, correct it and publish it anew: {0}")]
    Verifier(String),
    /// No database could be had, or it was lost again and again.
    #[error("no database to judge in, judge the episode again: {0}")]
    Infra(String),
    /// It took too long.
    #[error("judging took longer than {} s: judge the episode again", TOTAL.as_secs())]
    Timeout,
}

/// Evidence for a condition that holds, or against one that does not: why it does or does not, as evidence.
type Verdict = Result<Json, Json>;

/// Judges an episode from what [`crate::session::DatabaseSession::evidence`] gave. A judging that loses its database is begun once more.
///
/// # Errors
/// See [`JudgeError`].
pub async fn judge(
    engine: &dyn Engine,
    library: &dyn Library,
    task: &Task,
    seed: u64,
    evidence: &Json,
) -> Result<Judgement, JudgeError> {
    let evidence: Evidence = serde_json::from_value(evidence.clone())
        .map_err(|error| JudgeError::Verifier(format!("the evidence cannot be read: {error}")))?;
    let judging = async {
        let first = judge_once(engine, library, task, seed, &evidence).await;
        match first {
            Err(CheckFailure::Lost(why)) => {
                tracing::info!(%why, "a judging lost its database and begins again");
                judge_once(engine, library, task, seed, &evidence).await
            }
            other => other,
        }
    };
    match tokio::time::timeout(TOTAL, judging).await {
        Ok(judged) => Ok(judged?),
        Err(_) => Err(JudgeError::Timeout),
    }
}

async fn judge_once(
    engine: &dyn Engine,
    library: &dyn Library,
    task: &Task,
    seed: u64,
    evidence: &Evidence,
) -> Result<Judgement, CheckFailure> {
    let context = JudgeContext::new(engine, library, task, seed, evidence);
    let readings: Vec<Vec<Cow<'_, Check>>> =
        task.checks.iter().map(|check| readings(&check.check, engine.dialect())).collect();
    let mut verdicts: Vec<Vec<Verdict>> = readings.iter().map(|all| vec![Ok(json!({})); all.len()]).collect();
    for (number, data) in std::iter::once(&task.data).chain(&task.others).enumerate() {
        let mut databases = TaskDatabases::new(&context, data);
        let of_checks = readings.iter().flatten().zip(verdicts.iter_mut().flatten());
        for (check, verdict) in of_checks {
            if verdict.is_err() || (number > 0 && !on_other_data(check)) {
                continue;
            }
            let found = match check_twice(&mut databases, check).await {
                Err(CheckFailure::Acting(why)) => Err(json!({"error": why})),
                found => found?,
            };
            *verdict = match found {
                Err(mut why) if number > 0 => {
                    why["other_data"] = json!(number);
                    Err(why)
                }
                found => found,
            };
        }
        databases.clear().await;
    }
    Ok(weighed(&task.checks, verdicts.into_iter().map(of_readings).collect()))
}

/// A check in every reading that is right in this dialect: one for each reference of a result. A reading passes where it holds on all data.
fn readings(check: &Check, dialect: Dialect) -> Vec<Cow<'_, Check>> {
    let Check::Result { compare, accepted, .. } = check else { return vec![Cow::Borrowed(check)] };
    let spoken = accepted.iter().filter(|other| other.gold.in_dialect(dialect).is_some());
    let others = spoken.map(|other| {
        let compare = Compare { ordered: other.ordered, ..*compare };
        Cow::Owned(Check::Result { gold: other.gold.clone(), compare, accepted: Vec::new() })
    });
    std::iter::once(Cow::Borrowed(check)).chain(others).collect()
}

/// The verdict of a check from those of its readings: the first that passes, else that of the first.
fn of_readings(mut verdicts: Vec<Verdict>) -> Verdict {
    let count = verdicts.len();
    let passed = verdicts.iter().position(Result::is_ok);
    let mut verdict = verdicts.swap_remove(passed.unwrap_or(0));
    if count > 1 {
        let evidence = verdict.as_mut().unwrap_or_else(|why| why);
        evidence["references"] = json!({"tried": count, "passed": passed.map(|place| place + 1)});
    }
    verdict
}

/// True if a check is made on every data, or on the task's own alone.
fn on_other_data(check: &Check) -> bool {
    match check {
        Check::Result { .. } | Check::State { .. } | Check::Unchanged { .. } | Check::Whole { .. } => true,
        Check::Queries { gold, .. } => *gold != Spoken::Nothing,
        Check::Answer { .. }
        | Check::Probes { .. }
        | Check::Properties { .. }
        | Check::Plan { .. }
        | Check::Schema { .. } => false,
    }
}

/// One check, and once more in fresh databases where what the acting side did has lost one: another session may have brought that
/// about. What does it twice is to blame.
async fn check_twice(databases: &mut TaskDatabases<'_>, check: &Check) -> Result<Verdict, CheckFailure> {
    match check_one(databases, check).await {
        Err(CheckFailure::Broken(why)) => tracing::info!(%why, "what the acting side did lost its database"),
        found => return found,
    }
    databases.clear().await;
    match check_one(databases, check).await {
        Err(CheckFailure::Broken(why)) => Err(databases.give_up(&why).await),
        found => found,
    }
}

async fn check_one(databases: &mut TaskDatabases<'_>, check: &Check) -> Result<Verdict, CheckFailure> {
    match check {
        Check::Result { gold, compare, .. } => result::check(databases, gold, compare).await,
        Check::Answer { accept } => Ok(answer::check(databases.context.evidence.submission.as_ref(), accept)),
        Check::State { gold, tables, compare } => state::check(databases, gold, tables, compare).await,
        Check::Unchanged { tables } => state::unchanged(databases, tables).await,
        Check::Whole { free } => whole::check(databases, free).await,
        Check::Queries { gold, queries, compare } => queries::check(databases, gold, queries, compare).await,
        Check::Probes { probes } => probes::check(databases, probes).await,
        Check::Properties { properties } => Ok(properties::check(databases, properties)),
        Check::Plan { query, baseline, budget } => {
            plan::check(databases, query.as_ref(), baseline.as_ref(), budget).await
        }
        Check::Schema { expect } => schema::check(databases, expect).await,
    }
}

/// Scores; all of them 0 where a required check failed.
fn weighed(checks: &[WeightedCheck], verdicts: Vec<Verdict>) -> Judgement {
    let required = checks.iter().zip(&verdicts).filter(|(check, verdict)| check.required && verdict.is_err());
    let failed: Vec<&str> = required.map(|(check, _)| check.name.as_str()).collect();
    let results = checks.iter().zip(verdicts).map(|(check, verdict)| {
        let passed = verdict.is_ok();
        let mut evidence = verdict.unwrap_or_else(|why| why);
        if !failed.is_empty() {
            evidence["required_failed"] = json!(failed);
        }
        CheckResult {
            name: check.name.clone(),
            weight: check.weight,
            score: if passed && failed.is_empty() { 1.0 } else { 0.0 },
            passed,
            evidence,
        }
    });
    Judgement { checks: results.collect() }
}

#[cfg(test)]
mod tests;

//! Proofs: a task is played and judged before anybody else may play it.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::engine::{Engine, EngineError, Limits};
use crate::judge::{self, Judgement};
use crate::library::Library;
use crate::parse;
use crate::session::{DatabaseSession, Input, SessionOpening};
use crate::task::{Check, Spoken, Submission, Task};
use crate::value::Dialect;

/// A call that solves a task, or part of it: the tool's name and its arguments.
pub type Call = (&'static str, Map<String, Json>);

/// The calls that solve a task in a dialect, in order; `None` where the dialect cannot play it.
#[must_use]
pub fn solution(task: &Task, dialect: Dialect) -> Option<Vec<Call>> {
    let call = |tool, arguments: Json| (tool, arguments.as_object().cloned().unwrap_or_default());
    let mut calls = Vec::new();
    for statements in &task.solution {
        calls.push(call("query", json!({"sql": statements.in_dialect(dialect)?})));
    }
    let handed_in = task.solution_submission.as_ref().and_then(|spoken| spoken.in_dialect(dialect));
    calls.push(match (task.submission, handed_in) {
        (Submission::State, _) => call("submit", json!({})),
        (Submission::Sql, Some(sql)) => call("submit", json!({"sql": sql})),
        (Submission::Answer, Some(answer)) => call("submit", json!({"answer": answer})),
        (Submission::Sql | Submission::Answer, None) => return None,
    });
    Some(calls)
}

/// Proves that a task can be played on an engine, that its queries are no larger than what is read, that its solution scores 1, and
/// that doing nothing does not.
///
/// # Errors
/// In words, what is wrong with it.
pub async fn task(engine: &Arc<dyn Engine>, library: &Arc<dyn Library>, task: &Task, seed: u64) -> Result<(), String> {
    let Some(calls) = solution(task, engine.dialect()) else {
        return Err(format!("there is no solution on {}: add one", engine.dialect().name()));
    };
    for query in queries(task).filter_map(|query| query.in_dialect(engine.dialect())) {
        parse::check_reference(query, engine.dialect())
            .map_err(|why| format!("a query of the task cannot be read, correct it: {why}"))?;
    }
    let solved = play(engine, library, task, seed, calls).await?;
    if let Some(check) = solved.checks.iter().find(|check| !check.passed) {
        return Err(format!(
            "the solution does not pass the check {:?}, correct one of them: {}",
            check.name, check.evidence
        ));
    }
    let idle = play(engine, library, task, seed, Vec::new()).await?;
    if idle.checks.iter().all(|check| check.passed) {
        return Err("doing nothing passes every check: add a check that fails".to_owned());
    }
    Ok(())
}

/// Queries of a task that are looked into and not only run.
fn queries(task: &Task) -> impl Iterator<Item = &Spoken> {
    let of_checks = task.checks.iter().flat_map(|check| match &check.check {
        Check::Result { gold, accepted, .. } => {
            std::iter::once(gold).chain(accepted.iter().map(|other| &other.gold)).collect()
        }
        Check::Plan { query, baseline, .. } => query.iter().chain(baseline).collect(),
        _ => Vec::new(),
    });
    let submitted = task.solution_submission.iter().filter(|_| task.submission == Submission::Sql);
    of_checks.chain(submitted)
}

async fn play(
    engine: &Arc<dyn Engine>,
    library: &Arc<dyn Library>,
    task: &Task,
    seed: u64,
    calls: Vec<Call>,
) -> Result<Judgement, String> {
    let broken = |error: EngineError| error.to_string();
    let opening = SessionOpening { seed, limits: Limits::default(), from: None };
    let session = DatabaseSession::open(Arc::clone(engine), Arc::clone(library), Arc::new(task.clone()), opening).await;
    let mut session = session.map_err(broken)?;
    let mut refused = None;
    for (tool, arguments) in calls {
        let seen = session.act(Input::Call { tool, arguments: &Json::Object(arguments) }).await.map_err(broken)?;
        if !seen.data["error"].is_null() {
            refused = Some(format!("a statement of the solution fails: {}", seen.text));
            break;
        }
    }
    let evidence = session.evidence();
    session.close().await;
    match refused {
        Some(refused) => Err(refused),
        None => judge::judge(&**engine, &**library, task, seed, &evidence).await.map_err(|error| error.to_string()),
    }
}

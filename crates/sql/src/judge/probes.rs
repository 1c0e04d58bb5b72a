//! Statements that must fail, or succeed.

use serde_json::json;

use super::Verdict;
use super::context::{Author, CheckFailure, JudgeContext, TaskDatabases};
use crate::engine::{CutReason, SqlError};
use crate::script;
use crate::task::{Check, Probe, Spoken};
use crate::value::Dialect;

pub(super) async fn check(databases: &mut TaskDatabases<'_>, probes: &[Probe]) -> Result<Verdict, CheckFailure> {
    let dialect = databases.context.dialect();
    for (number, probe) in probes.iter().enumerate() {
        let sql = databases.context.spoken(&probe.sql, "a probe")?;
        let done = databases.left().await?.read(sql, Author::Acting).await?;
        let fault = match (done, probe.fails) {
            (Err(error), _) if error.cut == Some(CutReason::Refused) => Some(refused(databases, sql, error).await?),
            (Ok(_), true) => Some("it succeeded".to_owned()),
            (Err(error), false) => Some(error.message),
            (Err(error), true) if !is_refusal(dialect, sql, &error) => {
                Some(format!("it failed for another reason: {}", error.message))
            }
            (Ok(_), false) | (Err(_), true) => None,
        };
        if let Some(fault) = fault {
            return Ok(Err(json!({"probe": number + 1, "shows": probe.why, "error": fault})));
        }
    }
    Ok(Ok(json!({"probes": probes.len()})))
}

/// Reason why a probe may not be run on what the acting side left: the task's fault where it may not be run on what the reference leaves
/// either.
async fn refused(databases: &mut TaskDatabases<'_>, sql: &str, error: SqlError) -> Result<String, CheckFailure> {
    let gold = reference(databases.context)?;
    match databases.reference(gold).await?.read(sql, Author::Task).await? {
        Err(SqlError { cut: Some(CutReason::Refused), message, .. }) => {
            Err(CheckFailure::Verifier(format!("a probe may not be run: {message}")))
        }
        _ => Ok(error.message),
    }
}

/// The statements that bring about what the task asks for, where another check has them.
pub(super) fn reference<'a>(context: &JudgeContext<'a>) -> Result<&'a str, CheckFailure> {
    let golds = context.task.checks.iter().filter_map(|check| match &check.check {
        Check::State { gold, .. } | Check::Queries { gold, .. } => Some(gold),
        _ => None,
    });
    golds
        .filter(|gold| **gold != Spoken::Nothing)
        .map(|gold| context.spoken(gold, "the reference"))
        .next()
        .unwrap_or(Ok(""))
}

/// True if an error is the database's refusal of a change, and not a sign that what was to be changed is gone, or a limit.
fn is_refusal(dialect: Dialect, sql: &str, error: &SqlError) -> bool {
    if error.cut.is_some() {
        return false;
    }
    let name = script::split(sql, dialect).first().map(|statement| statement.name(dialect)).unwrap_or_default();
    if !matches!(name.as_str(), "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "REPLACE" | "TRUNCATE") {
        return true;
    }
    let missing = match dialect {
        Dialect::Sqlite => &["no such ", "syntax error", "has no column named"][..],
        Dialect::Postgres => &[],
    };
    // Undefined table, column, function, schema; syntax; ambiguous names; wrong number of columns.
    let codes = ["42P01", "42703", "42883", "3F000", "42601", "42702", "42P10", "42704"];
    !missing.iter().any(|words| error.message.contains(words)) && !codes.contains(&error.code.as_str())
}

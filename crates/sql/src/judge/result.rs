//! Checks of a submitted query.

use serde_json::json;

use super::Verdict;
use super::context::{Author, CheckFailure, TaskDatabases};
use super::syntax::Facts;
use crate::compare::{Grid, difference};
use crate::engine::StatementResult;
use crate::session::Submitted;
use crate::task::{Compare, Property, Spoken};

pub(super) async fn check(
    databases: &mut TaskDatabases<'_>,
    gold: &Spoken,
    compare: &Compare,
) -> Result<Verdict, CheckFailure> {
    let Some(sql) = submitted(databases) else { return Ok(Err(json!({"error": "no query was handed in"}))) };
    let gold = databases.context.spoken(gold, "the reference")?;
    let expected = databases.reference("").await?.asked(gold, "the reference").await?;
    let found = match run(databases, sql).await? {
        Ok(found) => found,
        Err(why) => return Ok(Err(json!({"error": why}))),
    };
    Ok(match difference(Grid::from(&expected), Grid::from(&found), compare) {
        Some(difference) => Err(json!({"difference": difference.0})),
        None => Ok(json!({"rows": expected.rows.len()})),
    })
}

/// The query that was handed in, if one was.
pub(super) fn submitted<'a>(databases: &TaskDatabases<'a>) -> Option<&'a str> {
    match &databases.context.evidence.submission {
        Some(Submitted::Sql(sql)) => Some(sql),
        _ => None,
    }
}

/// Its result in what the acting side left, if it is one statement that only reads.
pub(super) async fn run(
    databases: &mut TaskDatabases<'_>,
    sql: &str,
) -> Result<Result<StatementResult, String>, CheckFailure> {
    let facts = Facts::of(sql, databases.context.dialect());
    if facts.is_ok_and(|facts| !facts.hold(&Property::ReadOnly)) {
        return Ok(Err("it is not a single statement that only reads".to_owned()));
    }
    let result = match databases.left().await?.read(sql, Author::Acting).await? {
        Ok(result) => result,
        Err(error) => return Ok(Err(error.message)),
    };
    Ok(if result.truncated {
        Err(format!("it gives more than {} rows", result.rows.len()))
    } else if result.command.starts_with("SELECT") && !result.columns.is_empty() {
        Ok(result)
    } else {
        Err(format!("it is no query but {}", result.command))
    })
}

//! The query that was handed in.

use serde_json::json;

use super::Verdict;
use super::bench::{Author, Desk, Trouble};
use super::syntax::Facts;
use crate::compare::{Grid, difference};
use crate::engine::StatementResult;
use crate::room::Submitted;
use crate::task::{Compare, Property, Spoken};

pub(super) async fn check(desk: &mut Desk<'_>, gold: &Spoken, compare: &Compare) -> Result<Verdict, Trouble> {
    let Some(sql) = submitted(desk) else { return Ok(Err(json!({"error": "no query was handed in"}))) };
    let gold = desk.bench.spoken(gold, "the reference")?;
    let expected = desk.reference("").await?.asked(gold, "the reference").await?;
    let found = match run(desk, sql).await? {
        Ok(found) => found,
        Err(why) => return Ok(Err(json!({"error": why}))),
    };
    Ok(match difference(Grid::from(&expected), Grid::from(&found), compare) {
        Some(difference) => Err(json!({"difference": difference.0})),
        None => Ok(json!({"rows": expected.rows.len()})),
    })
}

/// The query that was handed in, if one was.
pub(super) fn submitted<'a>(desk: &Desk<'a>) -> Option<&'a str> {
    match &desk.bench.evidence.submission {
        Some(Submitted::Sql(sql)) => Some(sql),
        _ => None,
    }
}

/// Its result in what the acting side left, if it is one statement that only reads.
pub(super) async fn run(desk: &mut Desk<'_>, sql: &str) -> Result<Result<StatementResult, String>, Trouble> {
    let facts = Facts::of(sql, desk.bench.dialect());
    if facts.is_ok_and(|facts| !facts.hold(&Property::ReadOnly)) {
        return Ok(Err("it is not a single statement that only reads".to_owned()));
    }
    let result = match desk.left().await?.read(sql, Author::Acting).await? {
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

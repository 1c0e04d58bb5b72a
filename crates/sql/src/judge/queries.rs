//! Hidden queries on what the acting side left.

use serde_json::{Value as Json, json};

use super::Verdict;
use super::context::{Author, CheckFailure, TaskDatabases};
use crate::compare::{Grid, difference};
use crate::engine::StatementResult;
use crate::task::{Compare, HiddenQuery, Spoken};
use crate::value::Value;

pub(super) async fn check(
    databases: &mut TaskDatabases<'_>,
    gold: &Spoken,
    queries: &[HiddenQuery],
    compare: &Compare,
) -> Result<Verdict, CheckFailure> {
    for (number, query) in queries.iter().enumerate() {
        if let Err(why) = ask(databases, gold, query, compare).await? {
            return Ok(Err(json!({"query": number + 1, "why": why})));
        }
    }
    Ok(Ok(json!({"queries": queries.len()})))
}

async fn ask(
    databases: &mut TaskDatabases<'_>,
    gold: &Spoken,
    query: &HiddenQuery,
    compare: &Compare,
) -> Result<Result<(), String>, CheckFailure> {
    let sql = databases.context.spoken(&query.sql, "a hidden query")?;
    let after = databases.context.spoken(&query.after, "what changes before a hidden query")?;
    let mut expected = match &query.expect {
        Some(rows) => written(rows)?,
        None => {
            let gold = databases.context.spoken(gold, "the reference")?;
            let gold_sql = query.gold_sql.as_ref().unwrap_or(&query.sql);
            let gold_sql = databases.context.spoken(gold_sql, "a hidden query for the reference")?;
            databases.reference(gold).await?.asked_after(after, gold_sql, "a hidden query").await?
        }
    };
    let found = match databases.left().await?.read_after(after, sql, Author::Acting).await? {
        Ok(result) if result.truncated => return Ok(Err(format!("more than {} rows", result.rows.len()))),
        Ok(result) => result,
        Err(error) => return Ok(Err(error.message)),
    };
    if query.expect.is_some() {
        // What is written out has no names of its own, and none at all where it has no rows.
        expected.columns.clone_from(&found.columns);
        let width = expected.columns.len();
        if let Some(row) = expected.rows.iter().find(|row| row.len() != width) {
            return Ok(Err(format!("expected {} columns, found {width}", row.len())));
        }
    }
    Ok(difference(Grid::from(&expected), Grid::from(&found), compare).map_or(Ok(()), |difference| Err(difference.0)))
}

fn written(rows: &[Vec<Json>]) -> Result<StatementResult, CheckFailure> {
    let value = |value: &Json| match value {
        Json::Null => Ok(Value::Null),
        Json::Bool(value) => Ok(Value::Boolean(*value)),
        Json::Number(number) => Ok(match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Real(number.as_f64().unwrap_or(f64::NAN)),
        }),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Array(_) | Json::Object(_) => {
            Err(CheckFailure::Verifier("an expected value is no value of SQL".to_owned()))
        }
    };
    let rows = rows.iter().map(|row| row.iter().map(value).collect()).collect::<Result<Vec<Vec<Value>>, _>>()?;
    Ok(StatementResult { rows, ..StatementResult::default() })
}

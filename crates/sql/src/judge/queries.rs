//! Hidden queries on what the acting side left.

use serde_json::{Value as Json, json};

use super::Verdict;
use super::bench::{Author, Desk, Trouble};
use crate::compare::{Grid, difference};
use crate::engine::StatementResult;
use crate::task::{Compare, HiddenQuery, Spoken};
use crate::value::Value;

pub(super) async fn check(
    desk: &mut Desk<'_>,
    gold: &Spoken,
    queries: &[HiddenQuery],
    compare: &Compare,
) -> Result<Verdict, Trouble> {
    for (number, query) in queries.iter().enumerate() {
        if let Err(why) = ask(desk, gold, query, compare).await? {
            return Ok(Err(json!({"query": number + 1, "why": why})));
        }
    }
    Ok(Ok(json!({"queries": queries.len()})))
}

async fn ask(
    desk: &mut Desk<'_>,
    gold: &Spoken,
    query: &HiddenQuery,
    compare: &Compare,
) -> Result<Result<(), String>, Trouble> {
    let sql = desk.bench.spoken(&query.sql, "a hidden query")?;
    let after = desk.bench.spoken(&query.after, "what changes before a hidden query")?;
    let mut expected = match &query.expect {
        Some(rows) => written(rows)?,
        None => {
            let gold = desk.bench.spoken(gold, "the reference")?;
            let gold_sql = query.gold_sql.as_ref().unwrap_or(&query.sql);
            let gold_sql = desk.bench.spoken(gold_sql, "a hidden query for the reference")?;
            desk.reference(gold).await?.asked_after(after, gold_sql, "a hidden query").await?
        }
    };
    let found = match desk.left().await?.read_after(after, sql, Author::Acting).await? {
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

fn written(rows: &[Vec<Json>]) -> Result<StatementResult, Trouble> {
    let value = |value: &Json| match value {
        Json::Null => Ok(Value::Null),
        Json::Bool(value) => Ok(Value::Boolean(*value)),
        Json::Number(number) => Ok(match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Real(number.as_f64().unwrap_or(f64::NAN)),
        }),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Array(_) | Json::Object(_) => Err(Trouble::Verifier("an expected value is no value of SQL".to_owned())),
    };
    let rows = rows.iter().map(|row| row.iter().map(value).collect()).collect::<Result<Vec<Vec<Value>>, _>>()?;
    Ok(StatementResult { rows, ..StatementResult::default() })
}

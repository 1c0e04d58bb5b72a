//! What the query that was handed in is made of.

use serde_json::json;

use super::bench::{Desk, Trouble};
use super::syntax::{Facts, parse};
use super::{Verdict, result};
use crate::task::Property;

pub(super) async fn check(desk: &mut Desk<'_>, properties: &[Property]) -> Result<Verdict, Trouble> {
    let Some(sql) = result::submitted(desk) else { return Ok(Err(json!({"error": "no query was handed in"}))) };
    let dialect = desk.bench.dialect();
    let statements = match parse(sql, dialect) {
        Ok(statements) => statements,
        // What the engine runs is no mistake of the acting side, even where nothing can be said of it.
        Err(why) => {
            return match result::run(desk, sql).await? {
                Ok(_) => Err(Trouble::Verifier(format!("the query runs, but cannot be parsed: {why}"))),
                Err(error) => Ok(Err(json!({"error": error}))),
            };
        }
    };
    let facts = Facts::new(&statements, dialect);
    let failed: Vec<&Property> = properties.iter().filter(|property| !facts.hold(property)).collect();
    Ok(if failed.is_empty() { Ok(json!({"properties": properties.len()})) } else { Err(json!({"failed": failed})) })
}

//! Syntactic properties of the submitted query.

use serde_json::json;

use super::context::TaskDatabases;
use super::syntax::Facts;
use super::{Verdict, result};
use crate::task::Property;

pub(super) fn check(databases: &TaskDatabases<'_>, properties: &[Property]) -> Verdict {
    let Some(sql) = result::submitted(databases) else { return Err(json!({"error": "no query was handed in"})) };
    let facts = match Facts::of(sql, databases.context.dialect()) {
        Ok(facts) => facts,
        // Even where the engine runs it: else whatever must not be used could be hidden in what is not understood here.
        Err(why) => return Err(json!({"error": format!("the judge cannot read the query: {why}")})),
    };
    let failed: Vec<&Property> = properties.iter().filter(|property| !facts.hold(property)).collect();
    if failed.is_empty() { Ok(json!({"properties": properties.len()})) } else { Err(json!({"failed": failed})) }
}

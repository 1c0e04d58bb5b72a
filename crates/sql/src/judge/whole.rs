//! The whole database: nothing but what the task asks for has changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::closed::{Differences, Inventory};
use super::context::{Author, CheckFailure, ReplayedDatabase, TaskDatabases};
use super::facts::bare;
use super::state::select;
use super::{Verdict, differential, probes};
use crate::engine::{StatementResult, TableInfo};
use crate::task::Free;
use crate::value::Dialect;

pub(super) async fn check(databases: &mut TaskDatabases<'_>, free: &Free) -> Result<Verdict, CheckFailure> {
    let dialect = databases.context.dialect();
    let gold = probes::reference(databases.context)?;
    // The reference first: another check has left its database here.
    let after = inventory(databases.reference(gold).await?).await?;
    let expected = expected(databases.reference(gold).await?, &after, free, dialect).await?;
    let before = if gold.trim().is_empty() { after.clone() } else { inventory(databases.reference("").await?).await? };
    let left = inventory(databases.left().await?).await?;
    let differences = Differences { before: &before, after: &after, left: &left, free, dialect };
    if let Some(why) = differences.first() {
        return Ok(Err(json!({"structure": why})));
    }
    let mut rows = 0;
    for (table, expected) in &expected {
        let sql =
            select(table, &expected.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>(), dialect);
        let found = match databases.left().await?.read(&sql, Author::Acting).await? {
            Ok(found) if found.truncated => return Ok(Err(json!({"table": table, "error": "it has too many rows"}))),
            Ok(found) => found,
            Err(error) => return Ok(Err(json!({"table": table, "error": error.message}))),
        };
        if let Some(difference) = differences.of_rows(table, expected, &found) {
            return Ok(Err(json!({"table": table, "difference": difference})));
        }
        rows += expected.rows.len();
    }
    let changes = match differential::check(databases, gold, &differences, &expected).await? {
        Ok(changes) => changes,
        Err(why) => return Ok(Err(why)),
    };
    Ok(Ok(json!({"tables": expected.len(), "rows": rows, "changes": changes})))
}

async fn inventory(replayed: &mut ReplayedDatabase<'_>) -> Result<Inventory, CheckFailure> {
    let schema = replayed.schema().await?;
    Ok(Inventory { schema, schema_details: replayed.schema_details().await? })
}

/// Contents of every table and view after the reference, but for columns whose values are free.
async fn expected(
    replayed: &mut ReplayedDatabase<'_>,
    after: &Inventory,
    free: &Free,
    dialect: Dialect,
) -> Result<BTreeMap<String, StatementResult>, CheckFailure> {
    let chosen: BTreeSet<String> = free.values.iter().map(|column| column.to_lowercase()).collect();
    let mut all = BTreeMap::new();
    for table in &after.schema.tables {
        let columns = compared(table, &chosen);
        if columns.is_empty() {
            continue;
        }
        let rows = replayed.asked(&select(&table.name, &columns, dialect), "the contents of a table").await?;
        all.insert(table.name.clone(), rows);
    }
    Ok(all)
}

fn compared(table: &TableInfo, chosen: &BTreeSet<String>) -> Vec<String> {
    let name = table.name.to_lowercase();
    let names = table.columns.iter().map(|column| column.name.clone());
    names.filter(|column| !chosen.contains(&format!("{name}.{}", bare(column)))).collect()
}

//! Checks of the contents of tables.

use serde_json::json;

use super::context::{Author, CheckFailure, ReplayedDatabase, TaskDatabases};
use super::{Verdict, probes, structure};
use crate::compare::{Grid, difference};
use crate::engine::StatementResult;
use crate::script::quoted;
use crate::task::{Columns, Compare, Spoken};
use crate::value::{Dialect, Value};

pub(super) async fn check(
    databases: &mut TaskDatabases<'_>,
    gold: &Spoken,
    tables: &[String],
    compare: &Compare,
) -> Result<Verdict, CheckFailure> {
    let gold = databases.context.spoken(gold, "the reference")?;
    // Rows of a table have no order, and its columns are known by their names.
    same(databases, gold, tables, &Compare { ordered: false, columns: Columns::Name, ..*compare }).await
}

pub(super) async fn unchanged(databases: &mut TaskDatabases<'_>, tables: &[String]) -> Result<Verdict, CheckFailure> {
    let exactly = Compare { columns: Columns::Name, tolerance: 0.0, strict_types: true, ..Compare::default() };
    let gold = probes::reference(databases.context)?;
    let after = databases.reference(gold).await?.schema().await?;
    let rows = same(databases, "", tables, &exactly).await?;
    let before = databases.reference("").await?.schema().await?;
    let left = databases.left().await?.schema().await?;
    Ok(match structure::fault((&before, &after, &left), tables, databases.context.dialect()) {
        Some(why) => rows.and(Err(json!({"structure": why}))),
        None => rows,
    })
}

async fn same(
    databases: &mut TaskDatabases<'_>,
    gold: &str,
    tables: &[String],
    compare: &Compare,
) -> Result<Verdict, CheckFailure> {
    let dialect = databases.context.dialect();
    let mut rows = 0;
    for table in tables {
        let expected = dump(databases.reference(gold).await?, dialect, table, Author::Task).await?;
        let expected =
            expected.map_err(|why| CheckFailure::Verifier(format!("the reference leaves no table {table}: {why}")))?;
        let found = match dump(databases.left().await?, dialect, table, Author::Acting).await? {
            Ok(found) => found,
            Err(why) => return Ok(Err(json!({"table": table, "error": why}))),
        };
        if let Some(difference) = difference(Grid::from(&expected), Grid::from(&found), compare) {
            return Ok(Err(json!({"table": table, "difference": difference.0})));
        }
        rows += expected.rows.len();
    }
    Ok(Ok(json!({"tables": tables, "rows": rows})))
}

/// All rows of a table: of the one that has this name in the usual schema and is one, whatever else answers to the name.
async fn dump(
    replayed: &mut ReplayedDatabase<'_>,
    dialect: Dialect,
    table: &str,
    author: Author,
) -> Result<Result<StatementResult, String>, CheckFailure> {
    let (schema, name) = place(table, dialect);
    let kind = replayed.read(&kind(dialect, schema, name), author).await?;
    match kind.map(|kind| kind.rows) {
        Err(error) => return Ok(Err(error.message)),
        Ok(rows) if rows != [[Value::Integer(1)]] => return Ok(Err(format!("there is no table {table}"))),
        Ok(_) => {}
    }
    let sql = format!("SELECT * FROM {}.{}", quoted(schema), quoted(name));
    Ok(match replayed.read(&sql, author).await? {
        Ok(result) if result.truncated => Err(format!("it has more than {} rows", result.rows.len())),
        Ok(result) => Ok(result),
        Err(error) => Err(error.message),
    })
}

/// The schema and the name of a table.
pub(super) fn place(table: &str, dialect: Dialect) -> (&str, &str) {
    match (table.split_once('.'), dialect) {
        (Some((schema, name)), _) => (schema, name),
        (None, Dialect::Sqlite) => ("main", table),
        (None, Dialect::Postgres) => ("public", table),
    }
}

/// Counts the tables with this name that hide none of their rows.
fn kind(dialect: Dialect, schema: &str, name: &str) -> String {
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    match dialect {
        Dialect::Sqlite => format!(
            "SELECT count(*) FROM {}.sqlite_schema WHERE type = 'table' AND name = {} COLLATE NOCASE",
            quoted(schema),
            text(name)
        ),
        Dialect::Postgres => format!(
            "SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = {} AND c.relname = {} AND c.relkind IN ('r', 'p') AND NOT c.relforcerowsecurity",
            text(schema),
            text(name)
        ),
    }
}

/// The query for these columns of a table or view, by its full name.
pub(super) fn select(table: &str, columns: &[String], dialect: Dialect) -> String {
    let (schema, name) = place(table, dialect);
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    format!("SELECT {} FROM {}.{}", columns.join(", "), quoted(schema), quoted(name))
}

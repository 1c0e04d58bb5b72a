//! Checks of the schema.

use serde_json::json;

use super::Verdict;
use super::context::{CheckFailure, TaskDatabases};
use super::facts::{bare, indexes_of, refuses_null, same, sorted, unique};
use crate::engine::Schema;
use crate::task::{SchemaFact, TypeSort};
use crate::value::Dialect;

pub(super) async fn check(databases: &mut TaskDatabases<'_>, expect: &[SchemaFact]) -> Result<Verdict, CheckFailure> {
    let dialect = databases.context.dialect();
    let schema = databases.left().await?.schema().await?;
    let missing: Vec<_> = expect.iter().filter(|fact| !holds(&schema, fact, dialect)).collect();
    Ok(if missing.is_empty() { Ok(json!({"facts": expect.len()})) } else { Err(json!({"missing": missing})) })
}

pub(super) fn holds(schema: &Schema, fact: &SchemaFact, dialect: Dialect) -> bool {
    let named = |name: &str| schema.tables.iter().find(|table| same(&table.name, name));
    let table = |name: &str| named(name).filter(|table| !table.view);
    match fact {
        SchemaFact::Table(name) => table(name).is_some(),
        SchemaFact::NoTable(name) => named(name).is_none(),
        SchemaFact::View(name) => named(name).is_some_and(|table| table.view),
        SchemaFact::Column { table: name, column, sort, not_null } => table(name).is_some_and(|table| {
            let found = table.columns.iter().find(|found| same(&found.name, column));
            found.is_some_and(|found| {
                sort.is_none_or(|sort| is_of_sort(&found.type_name, sort, dialect))
                    && not_null.is_none_or(|wanted| refuses_null(table, found, dialect) == wanted)
            })
        }),
        SchemaFact::NoColumn { table: name, column } => {
            table(name).is_some_and(|table| !table.columns.iter().any(|found| same(&found.name, column)))
        }
        SchemaFact::PrimaryKey { table: name, columns } => {
            table(name).is_some_and(|table| same_list(&table.primary_key, columns))
        }
        SchemaFact::Unique { table: name, columns } => table(name).is_some_and(|table| {
            let unique = unique(schema, table, dialect);
            same_set(&table.primary_key, columns) || unique.contains(&format!("unique ({})", sorted(columns)))
        }),
        SchemaFact::ForeignKey { table: name, columns, references } => table(name).is_some_and(|table| {
            table.foreign_keys.iter().any(|key| same(&key.table, references) && same_set(&key.columns, columns))
        }),
        SchemaFact::Index { table: name, columns } => table(name).is_some_and(|table| {
            let whole = indexes_of(schema, name).filter(|index| index.condition.is_none());
            let lists = whole.map(|index| &index.columns).chain(&table.unique).chain([&table.primary_key]);
            lists.into_iter().any(|list| list.len() >= columns.len() && same_list(&list[..columns.len()], columns))
        }),
        SchemaFact::IndexesAtMost { table: name, count } => {
            table(name).is_some() && indexes_of(schema, name).count() <= *count
        }
        SchemaFact::Trigger { name, table } => {
            schema.triggers.iter().any(|(found, on)| same(found, name) && same(on, table))
        }
    }
}

fn same_list(found: &[String], wanted: &[String]) -> bool {
    found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| bare(a) == bare(b))
}

pub(super) fn same_set(found: &[String], wanted: &[String]) -> bool {
    let sorted = |columns: &[String]| {
        let mut columns: Vec<String> = columns.iter().map(|column| bare(column)).collect();
        columns.sort_unstable();
        columns
    };
    sorted(found) == sorted(wanted)
}

/// True if a type of the dialect is of a sort. SQLite's types are read as it reads them, by the words that they contain.
fn is_of_sort(type_name: &str, sort: TypeSort, dialect: Dialect) -> bool {
    let name = type_name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let text = |name: &str| ["char", "clob", "text"].iter().any(|word| name.contains(word));
    match (dialect, sort) {
        (Dialect::Sqlite, TypeSort::Integer) => has(&["int"]),
        (Dialect::Sqlite, TypeSort::Number) => has(&["int", "real", "floa", "doub", "num", "dec"]),
        (Dialect::Sqlite, TypeSort::Text) => text(&name),
        (Dialect::Sqlite, TypeSort::Time) => text(&name) || has(&["date", "time"]),
        (Dialect::Sqlite, TypeSort::Boolean) => has(&["int", "bool"]),
        (Dialect::Sqlite, TypeSort::Blob) => name.is_empty() || has(&["blob"]),
        (Dialect::Postgres, TypeSort::Integer) => begins(&["int2", "int4", "int8", "integer", "bigint", "smallint"]),
        (Dialect::Postgres, TypeSort::Number) => {
            let whole = begins(&["int2", "int4", "int8", "integer", "bigint", "smallint"]);
            whole || begins(&["numeric", "decimal", "real", "double", "float"])
        }
        (Dialect::Postgres, TypeSort::Text) => begins(&["text", "char", "varchar", "bpchar", "name", "citext"]),
        (Dialect::Postgres, TypeSort::Time) => begins(&["date", "time"]),
        (Dialect::Postgres, TypeSort::Boolean) => begins(&["bool"]),
        (Dialect::Postgres, TypeSort::Blob) => begins(&["bytea"]),
    }
}

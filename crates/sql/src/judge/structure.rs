//! Structure of tables, beside their rows, as facts in words that can be compared.

use std::collections::BTreeSet;

use super::facts::{bare, indexes_of, refuses_null, same};
use super::schema::same_set;
use crate::engine::{Schema, TableInfo};
use crate::value::Dialect;

/// Fault of the structure that was left: where one of `tables` is not what it is after the reference, and where any other table has
/// lost what it had at the beginning and has after the reference too. `None` where nothing is.
pub(super) fn fault(
    (before, after, left): (&Schema, &Schema, &Schema),
    tables: &[String],
    dialect: Dialect,
) -> Option<String> {
    for table in tables {
        let (wanted, found) = (all(after, table, dialect), all(left, table, dialect));
        if let Some(lost) = wanted.difference(&found).next() {
            return Some(format!("{table} has lost: {lost}"));
        }
        if let Some(more) = found.difference(&wanted).next() {
            return Some(format!("{table} has besides: {more}"));
        }
    }
    let others = before.tables.iter().filter(|table| !table.view && !tables.iter().any(|name| same(name, &table.name)));
    others.map(|table| &table.name).find_map(|table| {
        let (had, has) = (rules(before, table, dialect), rules(after, table, dialect));
        let found = rules(left, table, dialect);
        had.intersection(&has).find(|fact| !found.contains(*fact)).map(|lost| format!("{table} has lost: {lost}"))
    })
}

/// Everything about a table. Empty where there is no such table.
fn all(schema: &Schema, name: &str, dialect: Dialect) -> BTreeSet<String> {
    let mut facts = rules(schema, name, dialect);
    let Some(table) = find(schema, name) else { return facts };
    for column in &table.columns {
        facts.insert(format!("column {} {}", bare(&column.name), column.type_name.to_lowercase()));
        facts.extend(column.default.as_ref().map(|default| format!("default of {}: {default}", bare(&column.name))));
    }
    facts.extend(table.checks.iter().map(|check| format!("check {check}")));
    facts.extend(
        table.foreign_keys.iter().map(|key| {
            format!("{} on deletion of {}", key.on_delete.to_lowercase(), reference(&key.columns, &key.table))
        }),
    );
    facts
}

/// Constraints on the rows of a table, and actions on their changes.
fn rules(schema: &Schema, name: &str, dialect: Dialect) -> BTreeSet<String> {
    let Some(table) = find(schema, name) else { return BTreeSet::new() };
    let refusing = table.columns.iter().filter(|column| refuses_null(table, column, dialect));
    let mut facts: BTreeSet<String> = refusing.map(|column| format!("{} is never NULL", bare(&column.name))).collect();
    if !table.primary_key.is_empty() {
        facts.insert(format!("primary key ({})", list(&table.primary_key)));
    }
    // An index that is unique besides is an index.
    let indexed =
        |set: &Vec<String>| indexes_of(schema, name).any(|index| index.unique && same_set(&index.columns, set));
    facts.extend(table.unique.iter().filter(|set| !indexed(set)).map(|set| format!("unique ({})", sorted(set))));
    facts.extend(table.foreign_keys.iter().map(|key| reference(&key.columns, &key.table)));
    let triggers = schema.triggers.iter().filter(|(_, on)| same(on, name));
    facts.extend(triggers.map(|(trigger, _)| format!("trigger {}", bare(trigger))));
    facts
}

fn find<'a>(schema: &'a Schema, name: &str) -> Option<&'a TableInfo> {
    schema.tables.iter().find(|table| !table.view && same(&table.name, name))
}

fn reference(columns: &[String], table: &str) -> String {
    format!("({}) refers to {}", sorted(columns), bare(table))
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| bare(column)).collect::<Vec<_>>().join(", ")
}

fn sorted(columns: &[String]) -> String {
    let mut columns = columns.to_vec();
    columns.sort_by_key(|column| bare(column));
    list(&columns)
}

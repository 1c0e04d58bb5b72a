//! Facts about a schema: names, indexes, unique sets and what takes no NULL, in the form in which they are compared.

use std::collections::BTreeSet;

use crate::engine::{ColumnInfo, IndexInfo, Schema, TableInfo};
use crate::script::plain;
use crate::value::Dialect;

pub(super) fn indexes_of<'a>(schema: &'a Schema, table: &'a str) -> impl Iterator<Item = &'a IndexInfo> {
    schema.indexes.iter().filter(move |index| same(&index.table, table))
}

/// SQLite's `INTEGER PRIMARY KEY` takes no NULL, though nothing says so.
pub(super) fn refuses_null(table: &TableInfo, column: &ColumnInfo, dialect: Dialect) -> bool {
    let is_key = matches!(table.primary_key.as_slice(), [only] if same(only, &column.name));
    column.not_null || (dialect == Dialect::Sqlite && is_key && column.type_name.eq_ignore_ascii_case("INTEGER"))
}

pub(super) fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// A column of an index without quotes and direction.
pub(super) fn bare(column: &str) -> String {
    let lower = column.to_ascii_lowercase();
    let lower = lower.trim().trim_end_matches(" desc").trim_end_matches(" asc");
    lower.trim_matches('"').to_owned()
}

pub(super) fn sorted(columns: &[String]) -> String {
    let mut columns: Vec<String> = columns.iter().map(|column| bare(column)).collect();
    columns.sort_unstable();
    columns.join(", ")
}

/// Sets of columns that are unique, and unique indexes that are something else: of expressions, of some rows alone, or that compare in
/// another way.
pub(super) fn unique(schema: &Schema, table: &TableInfo, dialect: Dialect) -> BTreeSet<String> {
    let mut sets: Vec<String> = table.unique.iter().map(|set| sorted(set)).collect();
    let mut facts = BTreeSet::new();
    for index in indexes_of(schema, &table.name).filter(|index| index.unique) {
        let known = |column: &String| table.columns.iter().any(|found| found.name == *column);
        let set = sorted(&index.columns);
        let plain_columns = index.comparison.is_none() && index.columns.iter().all(known);
        if plain_columns && index.condition.as_ref().is_none_or(|condition| excludes_null(condition, index, dialect)) {
            sets.push(set);
            continue;
        }
        // It is told among the sets as well.
        if let Some(at) = sets.iter().position(|found| *found == set).filter(|_| index.condition.is_none()) {
            sets.swap_remove(at);
        }
        let comparison = index.comparison.iter().map(|words| format!(" comparing {words}"));
        let condition = index.condition.iter().map(|condition| format!(" where {}", plain(condition, dialect)));
        let columns: Vec<String> = index.columns.iter().map(|column| plain(column, dialect)).collect();
        facts.insert(format!("unique ({}){}", columns.join(", "), comparison.chain(condition).collect::<String>()));
    }
    facts.extend(sets.into_iter().map(|set| format!("unique ({set})")));
    facts
}

/// True if the condition of an index leaves out rows alone that have no value there: these are never the same.
fn excludes_null(condition: &str, index: &IndexInfo, dialect: Dialect) -> bool {
    let words = plain(condition, dialect).replace(['(', ')'], " ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let indexed = |name: &str| index.columns.iter().any(|column| bare(column) == name);
    words.split(|word| *word == "and").all(|term| match term {
        [name, "is", "not", "null"] | [name, "notnull" | "isnotnull"] => indexed(name),
        _ => false,
    })
}

//! References between imported tables: in which order tables come, and which references hold.

use std::collections::HashSet;

use crate::dataset::{Dataset, ForeignKey, Table};
use crate::value::Value;

/// Orders tables so that those that are referred to come first, where there is no circle; otherwise as they were.
pub(super) fn order(tables: Vec<Table>) -> Vec<Table> {
    let (mut waiting, mut placed): (Vec<Table>, Vec<Table>) = (tables, Vec::new());
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|table| {
            table.foreign_keys.iter().all(|key| {
                let is_there = |other: &Table| other.name.eq_ignore_ascii_case(&key.table);
                is_there(table) || !waiting.iter().any(is_there)
            })
        });
        placed.push(waiting.remove(ready.unwrap_or(0)));
    }
    placed
}

/// Marks the references that PostgreSQL would refuse: of rows without a partner, of columns of different types, and to what is
/// not unique.
pub(super) fn mark(dataset: &mut Dataset, notes: &mut Vec<String>) {
    let mut broken = Vec::new();
    for (position, table) in dataset.tables.iter().enumerate() {
        for (number, key) in table.foreign_keys.iter().enumerate() {
            if let Err(why) = holds(dataset, table, key) {
                let columns = key.columns.join(", ");
                notes
                    .push(format!("{}({columns}) -> {}: PostgreSQL does not enforce it: {why}", table.name, key.table));
                broken.push((position, number));
            }
        }
    }
    for (position, number) in broken {
        dataset.tables[position].foreign_keys[number].unenforced = true;
    }
}

fn holds(dataset: &Dataset, table: &Table, key: &ForeignKey) -> Result<(), &'static str> {
    let parent = dataset.table(&key.table).ok_or("there is no such table: name one that the database has")?;
    let same = |a: &[String], b: &[String]| {
        a.len() == b.len() && a.iter().all(|name| b.iter().any(|other| other.eq_ignore_ascii_case(name)))
    };
    let unique_index = parent.indexes.iter().filter(|index| index.unique).map(|index| &index.columns);
    let mut keys = std::iter::once(&parent.primary_key).chain(&parent.unique).chain(unique_index);
    if !keys.any(|columns| same(columns, &key.references)) {
        return Err("the columns that it refers to must be unique");
    }
    let here = positions(table, &key.columns).ok_or("there is no such column: name one that the table has")?;
    let there = positions(parent, &key.references).ok_or("there is no such column: name one that the table has")?;
    if here.iter().zip(&there).any(|(&here, &there)| table.columns[here].sort != parent.columns[there].sort) {
        return Err("the columns hold different types: change one of them");
    }
    let known: HashSet<_> = parent.rows.iter().filter_map(|row| tuple(row, &there)).collect();
    let met = table.rows.iter().filter_map(|row| tuple(row, &here)).all(|values| known.contains(&values));
    if met { Ok(()) } else { Err("rows have no partner: add the missing ones, or drop the reference") }
}

fn positions(table: &Table, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|name| table.position(name)).collect()
}

/// The values at these places as text to compare; `None` where one is NULL, which refers to nothing.
fn tuple(row: &[Value], places: &[usize]) -> Option<Vec<String>> {
    places
        .iter()
        .map(|&column| match &row[column] {
            Value::Null => None,
            value => Some(format!("{value:?}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Column, Sort};

    fn table(name: &str, refers: &[&str], rows: &[i64]) -> Table {
        let column = |name: &str| Column { name: name.into(), sort: Sort::Integer, ..Column::default() };
        let key = |other: &&str| ForeignKey {
            columns: vec!["other".into()],
            table: (*other).to_owned(),
            references: vec!["id".into()],
            ..ForeignKey::default()
        };
        Table {
            name: name.into(),
            columns: vec![column("id"), column("other")],
            primary_key: vec!["id".into()],
            foreign_keys: refers.iter().map(key).collect(),
            rows: rows.iter().map(|&id| vec![Value::Integer(id), Value::Integer(id)]).collect(),
            ..Table::default()
        }
    }

    #[test]
    fn tables_come_after_what_they_refer_to() {
        let tables = vec![table("a", &["B", "a"], &[]), table("b", &["c"], &[]), table("c", &[], &[])];
        let names = |tables: Vec<Table>| tables.into_iter().map(|table| table.name).collect::<Vec<_>>();
        assert_eq!(names(order(tables)), ["c", "b", "a"]);
        let circle = vec![table("a", &["b"], &[]), table("b", &["a"], &[])];
        assert_eq!(names(order(circle)), ["a", "b"]);
    }

    #[test]
    fn references_without_partners_are_marked() {
        let tables = vec![table("p", &[], &[1, 2]), table("good", &["P"], &[1]), table("bad", &["p"], &[1, 3])];
        let mut dataset = Dataset { tables, ..Dataset::default() };
        let mut notes = Vec::new();
        mark(&mut dataset, &mut notes);
        let marks: Vec<bool> =
            dataset.tables.iter().flat_map(|table| &table.foreign_keys).map(|key| key.unenforced).collect();
        assert_eq!(marks, [false, true]);
        assert_eq!(
            notes,
            [
                "bad(other) -> p: PostgreSQL does not enforce it: rows have no partner: add the missing ones, or drop the reference"
            ]
        );
    }
}

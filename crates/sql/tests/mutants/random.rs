//! Databases at random that meet a schema: what decides whether two queries mean the same, apart from everything that is tested here.

use std::collections::BTreeSet;

use palestra_sql::dataset::{Dataset, Sort, Table};
use palestra_sql::value::Value;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Texts and numbers that stand in queries.
pub(crate) fn constants(queries: &[String]) -> Vec<Value> {
    let mut found = Vec::new();
    for query in queries {
        for (place, part) in query.split(['\'', '"']).enumerate() {
            if place % 2 == 1 {
                found.push(Value::Text(part.replace('%', "")));
            } else {
                found.extend(
                    part.split(|c: char| !c.is_ascii_digit() && c != '.')
                        .filter_map(|word| word.parse().ok())
                        .map(Value::Integer),
                );
            }
        }
    }
    found
}

/// A database: empty tables among others, NULLs where they are allowed, duplicates, references that hold where they are declared.
pub(crate) fn database(like: &Dataset, constants: &[Value], seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut made: Vec<Table> = like.tables.iter().map(|table| Table { rows: Vec::new(), ..table.clone() }).collect();
    let mut waiting: Vec<usize> = (0..made.len()).collect();
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|table| {
            made[*table].foreign_keys.iter().all(|key| {
                !waiting.iter().any(|other| other != table && made[*other].name.eq_ignore_ascii_case(&key.table))
            })
        });
        let table = waiting.remove(ready.unwrap_or(0));
        let count = if rng.random_bool(0.06) { 0 } else { rng.random_range(1..24) };
        let mut seen = BTreeSet::new();
        for _ in 0..count {
            if let Some(row) = row(&made, table, &like.tables[table].rows, constants, &mut rng) {
                let key: Vec<String> = made[table]
                    .primary_key
                    .iter()
                    .map(|name| format!("{:?}", row[column(&made[table], name)]))
                    .collect();
                if key.is_empty() || seen.insert(key) {
                    made[table].rows.push(row);
                }
            }
        }
    }
    Dataset { tables: made, ..like.clone() }
}

fn column(table: &Table, name: &str) -> usize {
    table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)).expect("a column")
}

fn row(
    made: &[Table],
    at: usize,
    observed: &[Vec<Value>],
    constants: &[Value],
    rng: &mut ChaCha8Rng,
) -> Option<Vec<Value>> {
    let table = &made[at];
    let mut row: Vec<Value> = Vec::new();
    for (place, column) in table.columns.iter().enumerate() {
        let key = table.primary_key.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
        let drawn = match rng.random_range(0..10) {
            0 if !column.not_null && !key => Some(Value::Null),
            1..=3 => {
                constants.get(rng.random_range(0..constants.len().max(1))).and_then(|value| fitted(value, column.sort))
            }
            4..=7 => observed.get(rng.random_range(0..observed.len().max(1))).map(|row| row[place].clone()),
            _ => None,
        };
        row.push(drawn.unwrap_or_else(|| any(column.sort, rng)));
        if row[place] == Value::Null && (column.not_null || key) {
            row[place] = any(column.sort, rng);
        }
    }
    for key in &table.foreign_keys {
        let parent =
            made.iter().find(|table| table.name.eq_ignore_ascii_case(&key.table)).expect("the table referred to");
        let (here, there) = (column(table, &key.columns[0]), column(parent, &key.references[0]));
        if row[here] == Value::Null || (key.unenforced && rng.random_bool(0.2)) {
            continue;
        }
        match parent.rows.get(rng.random_range(0..parent.rows.len().max(1))) {
            Some(other) => row[here] = other[there].clone(),
            None if table.columns[here].not_null
                || table.primary_key.iter().any(|name| name.eq_ignore_ascii_case(&key.columns[0])) =>
            {
                return None;
            }
            None => row[here] = Value::Null,
        }
    }
    Some(row)
}

fn fitted(value: &Value, sort: Sort) -> Option<Value> {
    match (value, sort) {
        (Value::Integer(number), Sort::Integer | Sort::Decimal) => Some(Value::Integer(*number)),
        (Value::Integer(number), Sort::Real) => Some(Value::Real(*number as f64)),
        (Value::Integer(number), Sort::Text) => Some(Value::Text(number.to_string())),
        (Value::Text(text), Sort::Text) => Some(Value::Text(text.clone())),
        _ => None,
    }
}

fn any(sort: Sort, rng: &mut ChaCha8Rng) -> Value {
    let number = rng.random_range(0..12_i64);
    match sort {
        Sort::Integer | Sort::Decimal => Value::Integer(number),
        Sort::Boolean => Value::Integer(number % 2),
        Sort::Real => Value::Real(number as f64 / 2.0),
        Sort::Text => Value::Text(format!("{}{number}", ["a", "A", "b"][rng.random_range(0..3)])),
        Sort::Date => Value::Text(format!("2020-01-{:02}", number + 1)),
        Sort::Timestamp => Value::Text(format!("2020-01-{:02} 00:00:00", number + 1)),
        Sort::Blob => Value::Blob(vec![number as u8]),
    }
}

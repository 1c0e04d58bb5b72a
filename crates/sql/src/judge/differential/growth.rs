//! Copies of all tables on which views hang, under other keys and with references among the copies: a view that leaves rows out by
//! their number or their keys shows fewer of them.

use super::draw::{Field, Sense, Shape};
use crate::judge::facts::same;
use crate::script::quoted;
use crate::value::Value;
use crate::world::Draw;

/// Rows of a table that are made at most.
const ROWS_MAX: usize = 20_000;

/// One change that grows the tables beyond every number that is written out, and one per such number that makes it a key.
pub(super) fn of(shapes: &[Shape<'_>], literals: &[Value], draw: &mut Draw) -> Vec<String> {
    if shapes.is_empty() || shapes.iter().any(|shape| !shape.whole) {
        return Vec::new();
    }
    let numbers: Vec<i64> = literals
        .iter()
        .filter_map(|value| match value {
            Value::Integer(number) => usize::try_from(*number).is_ok().then_some(*number),
            _ => None,
        })
        .collect();
    let rows = shapes.iter().map(|shape| shape.rows.len()).filter(|rows| *rows > 0);
    let (fewest, most) = (rows.clone().min().unwrap_or(1), rows.max().unwrap_or(1));
    let bound = numbers.iter().filter_map(|number| usize::try_from(*number).ok()).filter(|number| *number <= ROWS_MAX);
    let copies = (bound.max().unwrap_or(0) / fewest + 3).min((ROWS_MAX / most).max(1));
    let keys = shapes.iter().flat_map(Shape::keys);
    let (least, largest) = (keys.clone().min().unwrap_or(1), keys.max().unwrap_or(0));
    // No two copies meet, and all keys stay whole numbers of 32 bits.
    let (nearest, furthest) = (largest - least + 1, 1_500_000_000 / i64::try_from(copies).unwrap_or(i64::MAX));
    let mut changes = vec![grown(shapes, copies, draw.between(nearest, furthest.max(nearest)))];
    // Keys that a definition writes out and nothing has yet.
    let fresh = numbers.into_iter().filter(|number| number - largest > largest - least && *number < 2_000_000_000);
    for number in fresh.take(8) {
        changes.push(grown(shapes, 1, number - least));
        changes.push(grown(shapes, 1, number - largest));
    }
    changes
}

/// Statements that copy the rows of all tables so many times, each time with keys that are `stride` further.
fn grown(shapes: &[Shape<'_>], copies: usize, stride: i64) -> String {
    let mut statements: Vec<String> = Vec::new();
    let mut waiting: Vec<&Shape<'_>> = shapes.iter().collect();
    while !waiting.is_empty() {
        // Tables that are referred to come first; where they refer to one another, in any order.
        let ready = |shape: &&Shape<'_>| {
            let keys = shape.table.foreign_keys.iter().filter(|key| !same(&key.table, &shape.table.name));
            keys.clone().all(|key| !waiting.iter().any(|other| same(&other.table.name, &key.table)))
        };
        let next = waiting.iter().position(ready).unwrap_or(0);
        let shape = waiting.remove(next);
        let among = |field: &Field| {
            let mut keys = shape.table.foreign_keys.iter();
            let refers = |columns: &[String]| columns.iter().any(|column| same(column, &field.name));
            keys.find(|key| refers(&key.columns))
                .map(|key| shapes.iter().any(|other| same(&other.table.name, &key.table)))
        };
        let value = |field: &Field| {
            let column = format!("t.{}", quoted(&field.name));
            let moves = match among(field) {
                Some(among) => among,
                None => field.key || field.unique,
            };
            match field.sense {
                Sense::Number if moves => format!("{column} + n.k * {stride}"),
                Sense::Text if moves => format!("{column} || '-' || n.k"),
                _ => column,
            }
        };
        let columns: Vec<String> = shape.fields.iter().map(|field| quoted(&field.name)).collect();
        let values: Vec<String> = shape.fields.iter().map(value).collect();
        statements.push(format!(
            "INSERT INTO {table} ({}) WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {copies}) \
             SELECT {} FROM {table} AS t CROSS JOIN n",
            columns.join(", "),
            values.join(", "),
            table = shape.name(),
        ));
    }
    statements.join("; ")
}

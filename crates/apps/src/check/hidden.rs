//! Facts that the set-up hides and no call shows: what it draws, and rows that nothing answers. The set-up draws anew, and rows
//! are added and removed; where the text and all answers stay the same, the goal has to hold as before.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::replies::{Effect, compared};
use crate::data::Data;
use crate::kinds::{TableId, Type};
use crate::task::draw_key::{DrawKey, Order};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::value::{RowKey, Value};

/// Number of times that the set-up draws anew.
const DRAWN_ANEW: usize = 2;

/// Hidden facts on which the goal of a task depends.
pub(super) fn hidden(draw_key: DrawKey<'_>, instance: &Arc<Instance>, seen: &(Vec<Json>, bool)) -> Option<String> {
    let template = draw_key.template();
    if !template.setup.is_empty() || !template.plant.is_empty() {
        for number in 0..DRAWN_ANEW {
            let values = (instance.values.clone(), instance.values.clone());
            let other = draw_key.prepare_by(&format!(" {number}"), draw_key.base().ok()?, values, Order::Created);
            if other.is_ok_and(|other| compared(draw_key, instance, seen, other) == Effect::Hidden) {
                return Some("what the set-up draws".to_owned());
            }
        }
    }
    let known = known(instance, seen);
    for (table, described) in draw_key.app.schema.ids().filter(|(_, described)| !described.single) {
        let rows: Vec<RowKey> = instance.data.rows(table).filter(|row| !known.contains(row)).collect();
        for data in [fewer(&instance.data, &rows), more(&instance.data, table, &rows)].into_iter().flatten() {
            let Ok((_, text)) = draw_key.text(&data, &instance.values) else { continue };
            let other = instance.on(data, text);
            if compared(draw_key, instance, seen, other) == Effect::Hidden {
                return Some(format!("rows of {}", described.name));
            }
        }
    }
    None
}

/// The rows that a task or an answer names, and those that something is due for.
fn known(instance: &Arc<Instance>, seen: &(Vec<Json>, bool)) -> BTreeSet<RowKey> {
    let mut known = BTreeSet::new();
    instance.values.iter().for_each(|value| rows(value, &mut known));
    if let Ok(start) = Episode::begin(instance, 0) {
        start.world().scheduled().flat_map(|due| due.arguments).for_each(|value| rows(value, &mut known));
    }
    seen.0.iter().for_each(|answer| named(answer, &instance.data, &mut known));
    known
}

fn rows(value: &Value, found: &mut BTreeSet<RowKey>) {
    match value {
        Value::Row(row) => {
            found.insert(*row);
        }
        Value::List(values) | Value::Record(values) => values.iter().for_each(|value| rows(value, found)),
        _ => {}
    }
}

fn named(answer: &Json, data: &Data, found: &mut BTreeSet<RowKey>) {
    match answer {
        Json::String(text) => found.extend(data.schema().ids().filter_map(|(table, _)| data.by_id(table, text))),
        Json::Array(values) => values.iter().for_each(|value| named(value, data, found)),
        Json::Object(members) => members.values().for_each(|value| named(value, data, found)),
        _ => {}
    }
}

/// The data without the rows that can go alone; none where none can.
fn fewer(data: &Data, rows: &[RowKey]) -> Option<Data> {
    let count = |data: &Data| data.schema().ids().map(|(table, _)| data.len(table)).sum::<usize>();
    let mut after = data.clone();
    let mut gone = false;
    for row in rows {
        let mut less = after.clone();
        // What takes other rows with it would change more than is meant.
        if less.delete(*row).is_ok() && count(&less) + 1 == count(&after) {
            (after, gone) = (less, true);
        }
    }
    gone.then_some(after)
}

/// The data with a row more that is as the last of them, but for its texts; none where that cannot be.
fn more(data: &Data, table: TableId, rows: &[RowKey]) -> Option<Data> {
    let row = data.row(*rows.last()?)?;
    let kinds = data.schema().table(table).columns().map(|(_, column)| column.kind.present().clone());
    let cells = row.cells.iter().zip(kinds).map(|(cell, kind)| match (cell, kind) {
        (Value::Text(text), Type::Text) => Value::text(&format!("{text} zq")),
        (cell, _) => cell.clone(),
    });
    let cells = cells.collect();
    let mut after = data.clone();
    after.insert(table, cells).ok()?;
    Some(after)
}

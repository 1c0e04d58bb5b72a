//! Check that the text of a task names a row by more than other rows have too.

use std::sync::Arc;

use crate::app::task::{Draw, Param};
use crate::json::Codec;
use crate::kinds::{ColumnId, Type};
use crate::task::draw_key::{DrawKey, alike};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::value::{RowKey, Value};

/// A row that is picked and that the text names by what other rows have too, with how many there are. Rows that the set-up adds
/// are no accident, and not counted.
pub(super) fn namesakes(draw_key: DrawKey<'_>, instance: &Arc<Instance>) -> Option<(usize, usize)> {
    let template = instance.template();
    let base = draw_key.base().ok()?;
    let start = Episode::begin(instance, 0).ok()?;
    for (place, (param, value)) in template.params.iter().zip(&instance.values).enumerate() {
        let (Draw::Pick(_) | Draw::First { .. }, Value::Row(row)) = (&param.draw, value) else { continue };
        let table = instance.app.schema.table(row.table);
        let told = told_columns(instance, place, param, *row);
        let named = told.iter().any(|column| *table.describe(*column).kind.present() == Type::Text);
        let proven = !param.refer.is_empty() && param.refer.iter().all(|column| told.contains(column));
        if table.single || !named || proven {
            continue;
        }
        let alike = alike(instance, start.world(), *row, &told).ok()?;
        let rows = alike.iter().filter(|row| base.row(**row).is_some()).count();
        if rows > 1 {
            return Some((place, rows));
        }
    }
    None
}

/// Number of references that are followed from the parameters to a row that is told with them.
const HOPS: usize = 2;

/// The rows of the parameters beside one, and those that they refer to.
fn rows_beside(instance: &Instance, place: usize) -> Vec<RowKey> {
    let row = |value: &Value| if let Value::Row(row) = value { Some(*row) } else { None };
    let beside = instance.values.iter().enumerate().filter(|(other, _)| *other != place);
    let mut rows: Vec<RowKey> = beside.filter_map(|(_, value)| row(value)).collect();
    for _ in 0..HOPS {
        let cells = rows.iter().filter_map(|row| instance.data.row(*row)).flat_map(|row| row.cells.iter());
        let referred: Vec<RowKey> = cells.filter_map(row).collect();
        rows.extend(referred);
    }
    rows
}

/// The columns of a row that the text tells: those that it shows, and those of `refer` that other parameters or the text hold.
fn told_columns(instance: &Instance, place: usize, param: &Param, row: RowKey) -> Vec<ColumnId> {
    let local = u16::try_from(place).unwrap_or(u16::MAX);
    let mut told = instance.template().text[instance.wording].columns_of(local);
    let schema = &instance.app.schema;
    let beside = rows_beside(instance, place);
    for column in &param.refer {
        let Some(value) = instance.data.cell(row, *column) else { continue };
        let elsewhere = match value {
            Value::Row(row) => beside.contains(row),
            value => {
                let kind = &schema.table(row.table).describe(*column).kind;
                instance.text.contains(&Codec::new(schema).show(value, kind, &instance.data))
            }
        };
        if elsewhere && !told.contains(column) {
            told.push(*column);
        }
    }
    told
}

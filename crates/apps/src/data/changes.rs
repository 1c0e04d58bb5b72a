//! Difference between two states of the same tables: by row and column, at the price of what differs.

use std::sync::Arc;

use imbl::ordmap::DiffItem;
use serde_json::{Map, Value as Json, json};

use super::Data;
use super::table::Row;
use crate::json::Codec;
use crate::kinds::ColumnId;
use crate::value::{RowKey, Value};

/// Change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The row.
    pub row: RowKey,
    /// Its id.
    pub id: Arc<str>,
    /// Kind of change.
    pub kind: ChangeKind,
}

/// Kind of change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Some of its values are others.
    Updated {
        /// The columns, each with the value before and the value after; never empty.
        columns: Vec<(ColumnId, Value, Value)>,
    },
    /// It is gone.
    Deleted,
}

/// Changes that lead from one state to another of the same schema: in the order of tables, then of creation.
#[must_use]
pub fn changes(before: &Data, after: &Data) -> Vec<Change> {
    let mut changes = Vec::new();
    for ((table, _), (old, new)) in before.schema.ids().zip(before.tables.iter().zip(&after.tables)) {
        if Arc::ptr_eq(old, new) {
            continue;
        }
        let change = |number: &u32, row: &Row, kind| Change {
            row: RowKey { table, number: *number },
            id: Arc::clone(&row.id),
            kind,
        };
        for item in old.rows.diff(&new.rows) {
            match item {
                DiffItem::Add(number, row) => changes.push(change(number, row, ChangeKind::Created)),
                DiffItem::Remove(number, row) => changes.push(change(number, row, ChangeKind::Deleted)),
                DiffItem::Update { old: (number, old), new: (_, new) } if old.id == new.id => {
                    changes.push(change(number, new, ChangeKind::Updated { columns: updated(old, new) }));
                }
                // The number went to different rows in two states of which neither comes from the other.
                DiffItem::Update { old: (number, old), new: (_, new) } => {
                    changes.push(change(number, old, ChangeKind::Deleted));
                    changes.push(change(number, new, ChangeKind::Created));
                }
            }
        }
    }
    changes
}

fn updated(old: &Row, new: &Row) -> Vec<(ColumnId, Value, Value)> {
    let cells = old.cells.iter().zip(&new.cells);
    (0..)
        .map(ColumnId)
        .zip(cells)
        .filter(|(_, (old, new))| old != new)
        .map(|(column, (old, new))| (column, old.clone(), new.clone()))
        .collect()
}

/// Changes as JSON: `{"created": [{table, id, row}], "updated": [{table, id, changed: {column: {before, after}}}],
/// "deleted": [{table, id, row}]}`.
#[must_use]
pub fn changes_to_json(changes: &[Change], before: &Data, after: &Data) -> Json {
    let (mut created, mut updated, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        let table = after.schema.table(change.row.table);
        let (name, id) = (&*table.name, &*change.id);
        match &change.kind {
            ChangeKind::Created => created.push(json!({"table": name, "id": id, "row": row_to_json(after, change)})),
            ChangeKind::Deleted => deleted.push(json!({"table": name, "id": id, "row": row_to_json(before, change)})),
            ChangeKind::Updated { columns } => {
                let codec = Codec::new(&after.schema);
                let changed: Map<String, Json> = columns
                    .iter()
                    .map(|(column, old, new)| {
                        let column = table.describe(*column);
                        let both = json!({
                            "before": codec.to_json(old, &column.kind, before),
                            "after": codec.to_json(new, &column.kind, after),
                        });
                        (column.name.to_string(), both)
                    })
                    .collect();
                updated.push(json!({"table": name, "id": id, "changed": changed}));
            }
        }
    }
    json!({"created": created, "updated": updated, "deleted": deleted})
}

/// Changes as a JSON Patch (RFC 6902) that leads from the document of one state to that of the other. What is removed comes
/// first, so that an id may be given again.
#[must_use]
pub fn changes_to_patch(changes: &[Change], after: &Data) -> Json {
    let (mut patch, mut rest) = (Vec::new(), Vec::new());
    for change in changes {
        let table = after.schema.table(change.row.table);
        let path = if table.single {
            format!("/{}", escaped(&table.name))
        } else {
            format!("/{}/{}", escaped(&table.name), escaped(&change.id))
        };
        match &change.kind {
            // The document always has the member of a single row; what is added there replaces it.
            ChangeKind::Created => rest.push(json!({"op": "add", "path": path, "value": row_to_json(after, change)})),
            ChangeKind::Deleted if table.single => patch.push(json!({"op": "replace", "path": path, "value": {}})),
            ChangeKind::Deleted => patch.push(json!({"op": "remove", "path": path})),
            ChangeKind::Updated { columns } => {
                let codec = Codec::new(&after.schema);
                rest.extend(columns.iter().map(|(column, _, new)| {
                    let column = table.describe(*column);
                    let path = format!("{path}/{}", escaped(&column.name));
                    json!({"op": "replace", "path": path, "value": codec.to_json(new, &column.kind, after)})
                }));
            }
        }
    }
    patch.append(&mut rest);
    Json::Array(patch)
}

fn row_to_json(data: &Data, change: &Change) -> Json {
    data.table(change.row.table).document.members().get(&change.id).map_or(Json::Null, palestra_state::State::to_value)
}

/// A token of a JSON Pointer.
pub(super) fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

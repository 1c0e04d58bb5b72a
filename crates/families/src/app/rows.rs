//! Which rows differ between two states: `{"created": [{table, id, row}], "updated": [{table, id, changed: {column: {before,
//! after}}}], "deleted": [{table, id, row}]}`.

use palestra_apps::schema::{Schema, Table};
use serde_json::{Map, Value, json};

use palestra_environment::state::State;

/// Rows that are told of each sort; the number of all of them is told too.
const ROWS_TOLD_MAX: usize = 1_000;

/// Changed rows, by sort of change.
#[derive(Default)]
struct Changes {
    created: Vec<Value>,
    updated: Vec<Value>,
    deleted: Vec<Value>,
}

/// The rows that differ between two states of the data.
pub(super) fn changed(schema: &Schema, before: &State, after: &State) -> Option<Value> {
    let mut changes = Changes::default();
    for table in &schema.tables {
        let (before, after) = (before.get(&table.name)?, after.get(&table.name)?);
        if before.same(after) {
            continue;
        }
        if table.single {
            changes.compare(table, &table.name, Some(before), Some(after));
            continue;
        }
        let (State::Object(old), State::Object(new)) = (before, after) else { return None };
        for (id, row) in new.members() {
            changes.compare(table, id, old.members().get(id), Some(row));
        }
        for (id, row) in old.members().iter().filter(|(id, _)| !new.members().contains_key(*id)) {
            changes.compare(table, id, Some(row), None);
        }
    }
    let Changes { created, updated, deleted } = changes;
    let counts = json!({"created": created.len(), "updated": updated.len(), "deleted": deleted.len()});
    let told = |rows: Vec<Value>| rows.into_iter().take(ROWS_TOLD_MAX).collect::<Value>();
    Some(json!({"created": told(created), "updated": told(updated), "deleted": told(deleted), "counts": counts}))
}

impl Changes {
    fn compare(&mut self, table: &Table, id: &str, before: Option<&State>, after: Option<&State>) {
        let whole = |row: &State| json!({"table": &*table.name, "id": id, "row": row.to_value()});
        match (before, after) {
            (None, Some(row)) => self.created.push(whole(row)),
            (Some(row), None) => self.deleted.push(whole(row)),
            (Some(before), Some(after)) if !before.same(after) => {
                let mut changed = Map::new();
                for column in &table.columns {
                    let value = |row: &State| row.get(&column.name).map_or(Value::Null, State::to_value);
                    let (before, after) = (value(before), value(after));
                    if before != after {
                        changed.insert(column.name.to_string(), json!({"before": before, "after": after}));
                    }
                }
                self.updated.push(json!({"table": &*table.name, "id": id, "changed": changed}));
            }
            _ => {}
        }
    }
}

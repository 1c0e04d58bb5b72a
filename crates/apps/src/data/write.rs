//! Inserting, updating and deleting rows.
//!
//! A change that is refused may have been made in part: work on a copy, and drop it then.

use std::sync::Arc;

use palestra_state::{Object, State};

use super::table::Row;
use super::{Data, ROWS_MAX, Refusal};
use crate::ids::is_id;
use crate::json::Codec;
use crate::kinds::{ColumnId, TableId};
use crate::limits;
use crate::schema::{OnDelete, Schema};
use crate::value::{RowKey, Value};

/// Most rows that one deletion takes along or changes.
pub const ROWS_DELETED_MAX: usize = 10_000;

impl Data {
    /// Adds a row with the next id; the cells are in the order of the columns.
    ///
    /// # Errors
    /// When a value doesn't fit, is taken, or names a row that doesn't exist; and when the table is full.
    pub fn insert(&mut self, table: TableId, cells: Vec<Value>) -> Result<RowKey, Refusal> {
        let schema = Arc::clone(&self.schema);
        let description = schema.table(table);
        if description.single {
            return self.insert_named(table, &description.name, cells);
        }
        let rows = self.table(table);
        let mut number = rows.next;
        let id = loop {
            let id = description.id.show(number, rows.id_key).ok_or(Refusal::Full { table })?;
            if !rows.by_id.contains_key(&*id) {
                break id;
            }
            number += 1;
        };
        self.create(&schema, RowKey { table, number }, id, cells)
    }

    /// Adds a row with an id of its own, as initial data does; of a table with a single row, that row.
    ///
    /// # Errors
    /// As [`Data::insert`]; and when the id is taken or isn't one.
    pub fn insert_named(&mut self, table: TableId, id: &str, cells: Vec<Value>) -> Result<RowKey, Refusal> {
        let schema = Arc::clone(&self.schema);
        let description = schema.table(table);
        if description.single && (id != &*description.name || !self.is_empty(table)) {
            return Err(Refusal::Single { table });
        }
        if !is_id(id) || self.by_id(table, id).is_some() {
            return Err(Refusal::Id { table });
        }
        self.create(&schema, RowKey { table, number: self.table(table).next }, id.into(), cells)
    }

    /// Adds a row with the number and the id that it has in data of the same beginning.
    ///
    /// # Errors
    /// As [`Data::insert_named`]; and when the number is taken or was.
    pub fn insert_as(&mut self, row: RowKey, id: &str, cells: Vec<Value>) -> Result<RowKey, Refusal> {
        let schema = Arc::clone(&self.schema);
        let rows = self.table(row.table);
        if !is_id(id) || rows.by_id.contains_key(id) || row.number < rows.next {
            return Err(Refusal::Id { table: row.table });
        }
        self.create(&schema, row, id.into(), cells)
    }

    fn create(&mut self, schema: &Schema, row: RowKey, id: Arc<str>, cells: Vec<Value>) -> Result<RowKey, Refusal> {
        let table = row.table;
        let next = row.number.checked_add(1).ok_or(Refusal::Full { table })?;
        if self.len(table) >= ROWS_MAX {
            return Err(Refusal::Full { table });
        }
        if cells.len() != schema.table(table).columns.len() {
            return Err(Refusal::Width { table });
        }
        for (column, value) in (0..).map(ColumnId).zip(&cells) {
            self.check(schema, table, column, value)?;
        }
        let json = self.render(schema, table, &cells);
        let rows = self.table_mut(table);
        rows.next = next;
        rows.describe(&id, json);
        rows.add(row.number, Arc::new(Row { id, cells: cells.into() }));
        Ok(row)
    }

    /// Gives some cells of a row other values; the last one counts where a column is named twice.
    ///
    /// # Errors
    /// When the row doesn't exist, and when a value doesn't fit, is taken, or names a row that doesn't exist.
    pub fn update(&mut self, row: RowKey, changes: &[(ColumnId, Value)]) -> Result<(), Refusal> {
        let schema = Arc::clone(&self.schema);
        let description = schema.table(row.table);
        let cells = &self.row(row).ok_or(Refusal::Missing(row))?.cells;
        let mut edits = Vec::with_capacity(changes.len());
        for (position, (column, value)) in changes.iter().enumerate() {
            let overridden = changes[position + 1..].iter().any(|(later, _)| later == column);
            if overridden || cells[usize::from(column.0)] == *value {
                continue;
            }
            self.check(&schema, row.table, *column, value)?;
            let described = description.describe(*column);
            let json = Codec::new(&schema).to_state(value, &described.kind, self);
            edits.push((*column, value.clone(), Arc::clone(&described.name), json));
        }
        if !edits.is_empty() {
            self.table_mut(row.table).set(row.number, edits);
        }
        Ok(())
    }

    /// Deletes a row, with what becomes of the rows that refer to it.
    ///
    /// # Errors
    /// When the row doesn't exist, is the single one of its table, or a row that stays refers to it; and when it would reach
    /// more than [`ROWS_DELETED_MAX`] others.
    pub fn delete(&mut self, row: RowKey) -> Result<(), Refusal> {
        if self.row(row).is_some() && self.schema.table(row.table).single {
            return Err(Refusal::Single { table: row.table });
        }
        self.table_mut(row.table).remove(row.number).ok_or(Refusal::Missing(row))?;
        self.settle(vec![row])
    }

    /// Does to the rows that refer to removed ones what their columns say.
    pub(super) fn settle(&mut self, mut removed: Vec<RowKey>) -> Result<(), Refusal> {
        let schema = Arc::clone(&self.schema);
        let (mut settled, mut reached) = (0, 0);
        while let Some(gone) = removed.get(settled).copied() {
            settled += 1;
            for &(table, column) in schema.referrers(gone.table) {
                let policy = schema.table(table).describe(column).on_delete;
                if policy == OnDelete::Restrict {
                    continue;
                }
                let target = Value::Row(gone);
                let found: Vec<RowKey> =
                    self.matching(table, column, &target).take(ROWS_DELETED_MAX + 1 - reached).collect();
                reached += found.len();
                if reached > ROWS_DELETED_MAX {
                    return Err(Refusal::TooMany);
                }
                for row in found {
                    if policy == OnDelete::Null {
                        self.update(row, &[(column, Value::Null)])?;
                    } else if self.table_mut(table).remove(row.number).is_some() {
                        removed.push(row);
                    }
                }
            }
        }
        // Last, because a row that stands in the way may have gone along.
        match removed.iter().find_map(|gone| self.dangling(*gone)) {
            Some((row, column)) => Err(Refusal::Restricted { table: row.table, column }),
            None => Ok(()),
        }
    }

    /// A row that still refers to one that has gone.
    pub(super) fn dangling(&self, gone: RowKey) -> Option<(RowKey, ColumnId)> {
        let target = Value::Row(gone);
        self.schema.referrers(gone.table).iter().find_map(|&(table, column)| {
            let referrer = self.matching(table, column, &target).next()?;
            Some((referrer, column))
        })
    }

    /// Checks whether a value that isn't there yet may be written.
    fn check(&self, schema: &Schema, table: TableId, column: ColumnId, value: &Value) -> Result<(), Refusal> {
        let description = schema.table(table).describe(column);
        limits::check(value, &description.kind).map_err(|why| Refusal::Value { table, column, why })?;
        match value {
            Value::Row(target) if self.row(*target).is_none() => return Err(Refusal::Missing(*target)),
            Value::Null => return Ok(()),
            _ => {}
        }
        if description.unique && self.matching(table, column, value).next().is_some() {
            return Err(Refusal::Unique { table, column });
        }
        Ok(())
    }

    /// The JSON form of a row.
    pub(super) fn render(&self, schema: &Schema, table: TableId, cells: &[Value]) -> State {
        let codec = Codec::new(schema);
        let mut object = Object::default();
        let members = object.members_mut();
        for (column, value) in schema.table(table).columns.iter().zip(cells) {
            members.insert(Arc::clone(&column.name), codec.to_state(value, &column.kind, self));
        }
        State::Object(Arc::new(object))
    }
}

//! Tables as expressions read them: the one place where the two meet.

use std::sync::Arc;

use crate::data::Data;
use crate::expression::{Rows, Tables};
use crate::kinds::{ColumnId, TableId, Type};
use crate::schema::Schema;
use crate::value::{RowKey, Value};

impl Tables for Schema {
    fn find(&self, name: &str) -> Option<TableId> {
        self.find(name)
    }

    fn name(&self, table: TableId) -> &str {
        &self.table(table).name
    }

    fn names(&self) -> Vec<&str> {
        self.tables.iter().map(|table| &*table.name).collect()
    }

    fn column(&self, table: TableId, name: &str) -> Option<(ColumnId, &Type)> {
        let table = self.table(table);
        let column = table.column(name)?;
        Some((column, &table.describe(column).kind))
    }

    fn columns(&self, table: TableId) -> Vec<&str> {
        self.table(table).columns.iter().map(|column| &*column.name).collect()
    }

    fn is_indexed(&self, table: TableId, column: ColumnId) -> bool {
        self.table(table).describe(column).indexed
    }

    fn is_single(&self, table: TableId) -> bool {
        self.table(table).single
    }
}

impl Rows for Data {
    fn cell(&self, row: RowKey, column: ColumnId) -> Option<&Value> {
        self.cell(row, column)
    }

    fn rows(&self, table: TableId) -> Box<dyn Iterator<Item = RowKey> + '_> {
        Box::new(self.rows(table))
    }

    fn matching(
        &self,
        table: TableId,
        column: ColumnId,
        value: &Value,
    ) -> Option<Box<dyn Iterator<Item = RowKey> + '_>> {
        Some(Box::new(self.indexed(table, column, value)?))
    }

    fn count(&self, table: TableId) -> usize {
        self.len(table)
    }

    fn single(&self, table: TableId) -> Option<RowKey> {
        Some(self.single(table)).filter(|row| self.row(*row).is_some())
    }

    fn exists(&self, row: RowKey) -> bool {
        self.row(row).is_some()
    }

    fn id(&self, row: RowKey) -> Option<Arc<str>> {
        self.id(row).cloned()
    }

    fn by_id(&self, table: TableId, id: &str) -> Option<RowKey> {
        self.by_id(table, id)
    }
}

/// The same data with the rows of each table in the opposite order: what differs there depends on an order that nobody chose.
pub(crate) struct Reversed<'a>(pub(crate) &'a Data);

impl Rows for Reversed<'_> {
    fn cell(&self, row: RowKey, column: ColumnId) -> Option<&Value> {
        self.0.cell(row, column)
    }

    fn rows(&self, table: TableId) -> Box<dyn Iterator<Item = RowKey> + '_> {
        Box::new(self.0.rows(table).rev())
    }

    fn matching(
        &self,
        table: TableId,
        column: ColumnId,
        value: &Value,
    ) -> Option<Box<dyn Iterator<Item = RowKey> + '_>> {
        Some(Box::new(self.0.indexed(table, column, value)?.rev()))
    }

    fn count(&self, table: TableId) -> usize {
        self.0.len(table)
    }

    fn single(&self, table: TableId) -> Option<RowKey> {
        Rows::single(self.0, table)
    }

    fn exists(&self, row: RowKey) -> bool {
        self.0.row(row).is_some()
    }

    fn id(&self, row: RowKey) -> Option<Arc<str>> {
        self.0.id(row).cloned()
    }

    fn by_id(&self, table: TableId, id: &str) -> Option<RowKey> {
        self.0.by_id(table, id)
    }
}

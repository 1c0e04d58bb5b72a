//! The tables of an app at run time. A copy costs as many pointers as there are tables and shares everything else.

mod changes;
mod load;
mod refusal;
mod table;
mod write;

use std::sync::Arc;

use palestra_state::{Object, State};

use crate::json::RowIds;
use crate::kinds::{ColumnId, TableId};
use crate::schema::Schema;
use crate::value::{RowKey, Value};

use table::TableData;

pub use changes::{Change, ChangeKind, changes, changes_to_json, changes_to_patch};
pub use load::{DataFault, FAULTS_MAX, told};
pub use refusal::Refusal;
pub use table::Row;
pub use write::ROWS_DELETED_MAX;

/// Most rows of a table.
pub const ROWS_MAX: usize = 1_000_000;

/// Number of rows that a scan passes in the time that a row is looked up by its number.
const SCANNED_PER_ROW: usize = 8;

/// Rows of every table of a schema, found by number, by id, and by the values of indexed columns.
///
/// Ids of tables and columns must be those of its schema; others may panic. Rows that don't exist are no mistake.
#[derive(Debug, Clone)]
pub struct Data {
    schema: Arc<Schema>,
    tables: Vec<Arc<TableData>>,
}

impl Data {
    /// Empty tables. The seed decides how ids look.
    #[must_use]
    pub fn new(schema: Arc<Schema>, seed: u64) -> Self {
        let tables = schema.tables.iter().map(|table| Arc::new(TableData::new(table, seed))).collect();
        Self { schema, tables }
    }

    /// The description of the tables.
    #[must_use]
    pub const fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of rows that a table has.
    #[must_use]
    pub fn len(&self, table: TableId) -> usize {
        self.table(table).rows.len()
    }

    /// True if a table has no rows.
    #[must_use]
    pub fn is_empty(&self, table: TableId) -> bool {
        self.table(table).rows.is_empty()
    }

    /// A row, if it exists.
    #[must_use]
    pub fn row(&self, row: RowKey) -> Option<&Row> {
        self.shared(row).map(Arc::as_ref)
    }

    /// A value of a row, if the row exists.
    #[must_use]
    pub fn cell(&self, row: RowKey, column: ColumnId) -> Option<&Value> {
        self.row(row)?.cells.get(usize::from(column.0))
    }

    /// The id of a row, if it exists.
    #[must_use]
    pub fn id(&self, row: RowKey) -> Option<&Arc<str>> {
        self.row(row).map(|row| &row.id)
    }

    /// The row of an id.
    #[must_use]
    pub fn by_id(&self, table: TableId, id: &str) -> Option<RowKey> {
        self.table(table).by_id.get(id).map(|number| RowKey { table, number: *number })
    }

    /// The rows of a table in the order of creation.
    pub fn rows(&self, table: TableId) -> impl DoubleEndedIterator<Item = RowKey> {
        self.table(table).rows.keys().map(move |number| RowKey { table, number: *number })
    }

    /// The rows of a table with what is in them, in the order of creation: cheaper than to look each of them up.
    pub fn scan(&self, table: TableId) -> impl DoubleEndedIterator<Item = (RowKey, &Row)> {
        self.table(table).rows.iter().map(move |(number, row)| (RowKey { table, number: *number }, &**row))
    }

    /// Some rows of a table with what is in them; they come and go in the order of creation.
    #[must_use]
    pub fn contents(&self, table: TableId, rows: &[RowKey]) -> Vec<(RowKey, &Row)> {
        if rows.len().saturating_mul(SCANNED_PER_ROW) < self.len(table) {
            return rows.iter().filter_map(|row| Some((*row, self.row(*row)?))).collect();
        }
        let mut rows = rows.iter().peekable();
        self.scan(table).filter(|(row, _)| rows.next_if_eq(&row).is_some()).collect()
    }

    /// The rows with a value in a column, in the order of creation. Without an index on the column it reads the whole table.
    pub fn matching<'a>(
        &'a self,
        table: TableId,
        column: ColumnId,
        value: &'a Value,
    ) -> impl DoubleEndedIterator<Item = RowKey> + 'a {
        self.table(table).matching(column, value).map(move |number| RowKey { table, number })
    }

    /// The rows with a value in a column, in the order of creation, if there is an index on the column.
    pub fn indexed(
        &self,
        table: TableId,
        column: ColumnId,
        value: &Value,
    ) -> Option<impl DoubleEndedIterator<Item = RowKey> + use<'_>> {
        Some(self.table(table).indexed(column, value)?.map(move |number| RowKey { table, number }))
    }

    /// True if rows are found by the value of a column without a scan.
    #[must_use]
    pub fn is_indexed(&self, table: TableId, column: ColumnId) -> bool {
        self.schema.table(table).describe(column).indexed
    }

    /// The row of a table with a single row, which is always its first.
    #[must_use]
    pub const fn single(&self, table: TableId) -> RowKey {
        RowKey { table, number: 0 }
    }

    /// The number of the next row of each table. With the document it is all that there is to store.
    #[must_use]
    pub fn counters(&self) -> Vec<u32> {
        self.tables.iter().map(|table| table.next).collect()
    }

    /// Everything as one JSON document: `{"table": {"id": {"column": ..}}, "single table": {"column": ..}}`.
    #[must_use]
    pub fn document(&self) -> State {
        let mut document = Object::default();
        let members = document.members_mut();
        for (id, table) in self.schema.ids() {
            let rows = &self.table(id).document;
            let shown = if table.single { rows.members().get(&table.name).cloned() } else { None };
            members.insert(Arc::clone(&table.name), shown.unwrap_or_else(|| State::Object(Arc::clone(rows))));
        }
        State::Object(Arc::new(document))
    }

    fn table(&self, table: TableId) -> &TableData {
        &self.tables[usize::from(table.0)]
    }

    fn table_mut(&mut self, table: TableId) -> &mut TableData {
        Arc::make_mut(&mut self.tables[usize::from(table.0)])
    }

    fn shared(&self, row: RowKey) -> Option<&Arc<Row>> {
        self.tables.get(usize::from(row.table.0))?.rows.get(&row.number)
    }
}

impl RowIds for Data {
    fn id_of(&self, row: RowKey) -> Option<&Arc<str>> {
        self.id(row)
    }
}

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;

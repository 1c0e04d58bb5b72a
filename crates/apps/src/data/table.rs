//! One table at run time: rows, indices and the JSON form, changed together.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use palestra_state::{Object, State};

use crate::ids::id_key;
use crate::kinds::ColumnId;
use crate::schema::Table;
use crate::value::Value;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its id, which never changes.
    pub id: Arc<str>,
    /// Its values, in the order of the columns.
    pub cells: Box<[Value]>,
}

/// Values of a column, each with the number of a row that has it.
type Index = OrdSet<(Value, u32)>;

/// A table whose copies share their structure.
#[derive(Debug, Clone)]
pub(super) struct TableData {
    /// By number: in the order of creation.
    pub(super) rows: OrdMap<u32, Arc<Row>>,
    /// Numbers of rows by id.
    pub(super) by_id: OrdMap<Arc<str>, u32>,
    /// For each column that is indexed.
    indices: Box<[Option<Index>]>,
    /// Rows as JSON by id.
    pub(super) document: Arc<Object>,
    /// The number of the next row.
    pub(super) next: u32,
    /// Key of the permutation of ids.
    pub(super) id_key: u64,
}

impl TableData {
    pub(super) fn new(table: &Table, seed: u64) -> Self {
        Self {
            rows: OrdMap::new(),
            by_id: OrdMap::new(),
            indices: table.columns.iter().map(|column| column.indexed.then(OrdSet::new)).collect(),
            document: Arc::default(),
            next: 0,
            id_key: id_key(seed, &table.name),
        }
    }

    /// The rows with a value in a column, in the order of creation, if there is an index on it.
    pub(super) fn indexed(
        &self,
        column: ColumnId,
        value: &Value,
    ) -> Option<impl DoubleEndedIterator<Item = u32> + use<'_>> {
        let index = self.indices[usize::from(column.0)].as_ref()?;
        Some(index.range((value.clone(), 0)..=(value.clone(), u32::MAX)).map(|(_, number)| *number))
    }

    /// The rows with a value in a column, in the order of creation: from the index, or where there is none by a scan.
    pub(super) fn matching<'a>(
        &'a self,
        column: ColumnId,
        value: &'a Value,
    ) -> impl DoubleEndedIterator<Item = u32> + 'a {
        let column = usize::from(column.0);
        let index = self.indices[column].as_ref();
        let scan = if index.is_some() { None } else { Some(&self.rows) };
        let found = index.map(|index| index.range((value.clone(), 0)..=(value.clone(), u32::MAX)));
        let scanned = scan.map(move |rows| rows.iter().filter(move |(_, row)| row.cells[column] == *value));
        let found = found.into_iter().flatten().map(|(_, number)| *number);
        found.chain(scanned.into_iter().flatten().map(|(number, _)| *number))
    }

    /// Adds a row, whose number and id are new; its JSON form comes by [`TableData::describe`].
    pub(super) fn add(&mut self, number: u32, row: Arc<Row>) {
        for (index, cell) in self.indices.iter_mut().zip(&row.cells) {
            if let Some(index) = index {
                index.insert((cell.clone(), number));
            }
        }
        self.by_id.insert(Arc::clone(&row.id), number);
        self.rows.insert(number, row);
    }

    /// Sets the JSON form of a row.
    pub(super) fn describe(&mut self, id: &Arc<str>, row: State) {
        Arc::make_mut(&mut self.document).members_mut().insert(Arc::clone(id), row);
    }

    /// Takes a row away with all that belongs to it.
    pub(super) fn remove(&mut self, number: u32) -> Option<Arc<Row>> {
        let row = self.rows.remove(&number)?;
        for (index, cell) in self.indices.iter_mut().zip(&row.cells) {
            if let Some(index) = index {
                index.remove(&(cell.clone(), number));
            }
        }
        self.by_id.remove(&row.id);
        Arc::make_mut(&mut self.document).members_mut().remove(&row.id);
        Some(row)
    }

    /// Gives some cells of a row other values, each with its JSON form under the column's name.
    pub(super) fn set(&mut self, number: u32, changes: Vec<(ColumnId, Value, Arc<str>, State)>) {
        let Some(row) = self.rows.get_mut(&number) else { return };
        let mut cells = row.cells.clone();
        let members = Arc::make_mut(&mut self.document).members_mut().get_mut(&row.id);
        let mut members = match members {
            Some(State::Object(object)) => Some(Arc::make_mut(object).members_mut()),
            _ => None,
        };
        for (column, value, name, json) in changes {
            let column = usize::from(column.0);
            let old = std::mem::replace(&mut cells[column], value);
            if let Some(index) = &mut self.indices[column] {
                index.remove(&(old, number));
                index.insert((cells[column].clone(), number));
            }
            if let Some(members) = &mut members {
                members.insert(name, json);
            }
        }
        *row = Arc::new(Row { id: Arc::clone(&row.id), cells });
    }
}

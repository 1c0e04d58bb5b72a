//! Data from JSON: a whole document, of which rows that are known already are kept, or overrides laid over what is there.

use std::sync::Arc;

use imbl::ordmap::DiffItem;
use palestra_state::State;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::changes::escaped;
use super::table::Row;
use super::{Data, ROWS_MAX};
use crate::ids::is_id;
use crate::json::Codec;
use crate::kinds::TableId;
use crate::schema::{Column, Schema, Table};
use crate::value::{RowKey, Value};

/// Most faults that are told at once.
pub const FAULTS_MAX: usize = 100;

/// The member of a table's overrides that drops its rows first.
const REPLACE: &str = "$replace";

/// The fault of a member that no table is named like.
const NO_TABLE: &str = "there is no such table: leave it out, or correct its name";

/// A fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct DataFault {
    /// Where, as a JSON Pointer (RFC 6901); empty for the whole.
    pub pointer: String,
    /// Description of the fault and of the expected form.
    pub message: String,
}

/// Faults in one line; the first few of many.
#[must_use]
pub fn told(faults: &[DataFault]) -> String {
    const TOLD_MAX: usize = 5;
    let mut texts: Vec<String> = faults.iter().take(TOLD_MAX).map(ToString::to_string).collect();
    if faults.len() > TOLD_MAX {
        texts.push(format!("and {} more", faults.len() - TOLD_MAX));
    }
    texts.join("; ")
}

impl Data {
    /// The data of a whole document, such as [`Data::document`] gives: every table, every column that isn't optional, nothing
    /// unknown. Rows that are equal in this data are kept as they are, with their numbers. With the counters that were stored
    /// along, other rows get the numbers back that their ids tell; the rest are numbered on in the order of their ids.
    ///
    /// # Errors
    /// What is wrong with the document, at most [`FAULTS_MAX`].
    pub fn revised(&self, document: &State, counters: Option<&[u32]>) -> Result<Self, Vec<DataFault>> {
        let mut load = Load::new(self);
        let State::Object(document) = document else {
            load.fault(String::new(), "expected an object of tables");
            return Err(load.faults);
        };
        if let Some(name) = document.members().keys().find(|name| load.schema.find(name).is_none()) {
            load.fault(format!("/{}", escaped(name)), NO_TABLE);
        }
        if counters.is_some_and(|counters| counters.len() != self.tables.len()) {
            load.fault(String::new(), "there must be one counter for each table");
            return Err(load.faults);
        }
        let schema = Arc::clone(&self.schema);
        for ((id, table), position) in schema.ids().zip(0..) {
            load.counter = counters.and_then(|counters| counters.get(position).copied());
            match document.members().get(&table.name) {
                Some(State::Object(rows)) if table.single => {
                    let known = self.table(id).document.members().get(&table.name);
                    let shown = State::Object(Arc::clone(rows));
                    let absent = rows.members().is_empty() && known.is_none();
                    if !absent && known != Some(&shown) {
                        load.put(id, &table.name, &shown.to_value(), UnnamedColumns::Null);
                    }
                }
                Some(State::Object(rows)) => {
                    for item in self.table(id).document.members().diff(rows.members()) {
                        match item {
                            DiffItem::Add(name, row) | DiffItem::Update { new: (name, row), .. } => {
                                load.put(id, name, &row.to_value(), UnnamedColumns::Null);
                            }
                            DiffItem::Remove(name, _) => load.removed.extend(self.by_id(id, name)),
                        }
                    }
                }
                Some(_) => load.fault(table_pointer(table), "expected an object of rows"),
                None => load.fault(table_pointer(table), "the table is missing: add it"),
            }
            load.number(id);
        }
        let removed = load.removed.clone();
        let data = load.finish()?;
        let dangling = removed.iter().filter_map(|gone| data.dangling(*gone)).map(|(row, column)| DataFault {
            pointer: format!(
                "{}/{}",
                pointer(&schema, row.table, data.id(row).map_or("", |id| id)),
                escaped(&schema.table(row.table).describe(column).name)
            ),
            message: "the reference names a row that doesn't exist: name one that does".to_owned(),
        });
        let faults: Vec<DataFault> = dangling.take(FAULTS_MAX).collect();
        if faults.is_empty() { Ok(data) } else { Err(faults) }
    }

    /// This data with overrides: `{"table": {"id": {"column": ..}}}` updates the row of a known id and inserts one of an
    /// unknown id, with defaults for columns that aren't given; null instead of a row deletes it as [`Data::delete`] does;
    /// `"$replace": true` among the rows drops all the others of that table. A table with a single row takes its columns directly.
    ///
    /// # Errors
    /// What is wrong with the overrides, at most [`FAULTS_MAX`].
    pub fn overlaid(&self, patch: &Json) -> Result<Self, Vec<DataFault>> {
        let mut load = Load::new(self);
        let Json::Object(patch) = patch else {
            load.fault(String::new(), "expected an object of tables");
            return Err(load.faults);
        };
        if let Some(name) = patch.keys().find(|name| load.schema.find(name).is_none()) {
            load.fault(format!("/{}", escaped(name)), NO_TABLE);
        }
        let schema = Arc::clone(&self.schema);
        for (id, table) in schema.ids() {
            match patch.get(&*table.name) {
                None => {}
                Some(row) if table.single => load.put(id, &table.name, row, UnnamedColumns::Keep),
                Some(Json::Object(rows)) => load.overlay(id, rows),
                Some(_) => load.fault(table_pointer(table), "expected an object of rows"),
            }
            load.number(id);
        }
        let removed = load.removed.clone();
        let mut data = load.finish()?;
        match data.settle(removed) {
            Ok(()) => Ok(data),
            Err(refusal) => Err(vec![DataFault { pointer: String::new(), message: refusal.describe(&schema) }]),
        }
    }
}

/// Values of columns that a row doesn't name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnnamedColumns {
    /// Null.
    Null,
    /// Their old values, or the default in a new row.
    Keep,
    /// The default.
    Default,
}

/// A row to be written. Its number is known once those of all the table's rows are.
struct Draft {
    row: RowKey,
    id: Arc<str>,
    fields: Map<String, Json>,
    rest: UnnamedColumns,
    old: Option<Arc<Row>>,
}

struct Load {
    schema: Arc<Schema>,
    data: Data,
    /// The stored counter of the table at hand.
    counter: Option<u32>,
    drafts: Vec<Draft>,
    /// From where on the drafts are those of the table at hand.
    numbered: usize,
    removed: Vec<RowKey>,
    faults: Vec<DataFault>,
}

impl Load {
    fn new(data: &Data) -> Self {
        Self {
            schema: Arc::clone(&data.schema),
            data: data.clone(),
            counter: None,
            drafts: Vec::new(),
            numbered: 0,
            removed: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, pointer: String, message: &str) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(DataFault { pointer, message: message.to_owned() });
        }
    }

    fn overlay(&mut self, table: TableId, rows: &Map<String, Json>) {
        let base = table_pointer(self.schema.table(table));
        let replace = match rows.get(REPLACE) {
            None | Some(Json::Bool(false)) => false,
            Some(Json::Bool(true)) => true,
            Some(_) => return self.fault(format!("{base}/{REPLACE}"), "expected true or false"),
        };
        if replace {
            let kept = |row: &RowKey| self.data.id(*row).is_some_and(|id| rows.get(&**id).is_some_and(Json::is_object));
            let dropped: Vec<RowKey> = self.data.rows(table).filter(|row| !kept(row)).collect();
            self.removed.extend(dropped);
        }
        for (id, row) in rows.iter().filter(|(id, _)| *id != REPLACE) {
            match (row, self.data.by_id(table, id)) {
                (Json::Null, Some(known)) if !replace => self.removed.push(known),
                (Json::Null, Some(_)) => {}
                (Json::Null, None) => {
                    self.fault(format!("{base}/{}", escaped(id)), "there is no such row to delete: leave it out");
                }
                (row, _) => {
                    self.put(table, id, row, if replace { UnnamedColumns::Default } else { UnnamedColumns::Keep });
                }
            }
        }
    }

    fn put(&mut self, table: TableId, id: &str, row: &Json, rest: UnnamedColumns) {
        let Json::Object(fields) = row else {
            return self.fault(pointer(&self.schema, table, id), "expected an object of columns");
        };
        if !is_id(id) {
            return self.fault(
                pointer(&self.schema, table, id),
                "the id is empty, too long or begins with `$`: choose another one",
            );
        }
        let known = self.data.by_id(table, id);
        let old = known.and_then(|row| self.data.shared(row)).map(Arc::clone);
        self.drafts.push(Draft {
            row: known.unwrap_or(RowKey { table, number: u32::MAX }),
            id: old.as_ref().map_or_else(|| id.into(), |row| Arc::clone(&row.id)),
            fields: fields.clone(),
            rest,
            old,
        });
    }

    /// Takes the rows of a table out that go or change, and gives the new ones their numbers.
    fn number(&mut self, table: TableId) {
        let pattern = &self.schema.table(table).id;
        let drafts = &mut self.drafts[self.numbered..];
        drafts.sort_by(|one, other| one.id.cmp(&other.id));
        let going = self.removed.iter().filter(|row| row.table == table);
        let changing = drafts.iter().filter(|draft| draft.old.is_some()).map(|draft| &draft.row);
        let out: Vec<u32> = going.chain(changing).map(|row| row.number).collect();
        if out.is_empty()
            && drafts.is_empty()
            && self.counter.is_none_or(|counter| counter <= self.data.table(table).next)
        {
            return;
        }
        let rows = self.data.table_mut(table);
        for number in out {
            rows.remove(number);
        }
        rows.next = rows.next.max(self.counter.unwrap_or(0));
        let mut full = false;
        for draft in drafts {
            if draft.old.is_none() {
                let told = pattern.counter(&draft.id, rows.id_key).filter(|number| self.counter > Some(*number));
                draft.row.number = match told.filter(|number| !rows.rows.contains_key(number)) {
                    Some(number) => number,
                    None => {
                        let number = rows.next;
                        full |= number == u32::MAX;
                        rows.next = number.saturating_add(1);
                        number
                    }
                };
            }
            // References are read before the rows are.
            rows.by_id.insert(Arc::clone(&draft.id), draft.row.number);
        }
        self.numbered = self.drafts.len();
        if full || self.data.table(table).by_id.len() > ROWS_MAX {
            let message = format!("the table has too many rows: keep at most {ROWS_MAX}");
            self.fault(table_pointer(self.schema.table(table)), &message);
        }
    }

    /// Reads the drafts, then writes them: a row may refer to one that comes after it.
    fn finish(mut self) -> Result<Data, Vec<DataFault>> {
        let drafts = std::mem::take(&mut self.drafts);
        let mut rows = Vec::with_capacity(drafts.len());
        for draft in &drafts {
            if self.faults.len() == FAULTS_MAX {
                break;
            }
            let cells = self.read(draft);
            rows.push((draft.row, Row { id: Arc::clone(&draft.id), cells }));
        }
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        let schema = Arc::clone(&self.schema);
        let written: Vec<RowKey> = rows.iter().map(|(row, _)| *row).collect();
        for (row, content) in rows {
            self.check_unique(&schema, row, &content);
            self.data.table_mut(row.table).add(row.number, Arc::new(content));
        }
        for row in written {
            if let Some(content) = self.data.shared(row).map(Arc::clone) {
                let json = self.data.render(&schema, row.table, &content.cells);
                self.data.table_mut(row.table).describe(&content.id, json);
            }
        }
        if self.faults.is_empty() { Ok(self.data) } else { Err(self.faults) }
    }

    fn read(&mut self, draft: &Draft) -> Box<[Value]> {
        let schema = Arc::clone(&self.schema);
        let table = schema.table(draft.row.table);
        let base = pointer(&schema, draft.row.table, &draft.id);
        for unknown in draft.fields.keys().filter(|name| table.column(name).is_none()) {
            self.fault(format!("{base}/{}", escaped(unknown)), &unknown_column(table));
        }
        let read = |(position, column): (usize, &Column)| {
            let read = match draft.fields.get(&*column.name) {
                Some(json) => self.cell(json, column),
                None => absent(draft, position, column).ok_or_else(|| DataFault {
                    pointer: String::new(),
                    message: "the column is missing: add it".to_owned(),
                }),
            };
            read.unwrap_or_else(|fault| {
                self.fault(format!("{base}/{}{}", escaped(&column.name), fault.pointer), &fault.message);
                Value::Null
            })
        };
        table.columns.iter().enumerate().map(read).collect()
    }

    fn cell(&self, json: &Json, column: &Column) -> Result<Value, DataFault> {
        let resolve = |table, id: &str| self.data.by_id(table, id);
        Codec::new(&self.schema)
            .from_json(json, &column.kind, &resolve)
            .map_err(|wrong| DataFault { pointer: wrong.pointer, message: wrong.message })
    }

    fn check_unique(&mut self, schema: &Schema, row: RowKey, content: &Row) {
        let columns = schema.table(row.table).columns().zip(&content.cells);
        for ((id, column), cell) in columns.filter(|((_, column), cell)| column.unique && !cell.is_null()) {
            if self.data.matching(row.table, id, cell).next().is_some() {
                let pointer = pointer(schema, row.table, &content.id);
                self.fault(
                    format!("{pointer}/{}", escaped(&column.name)),
                    "another row has the same value: choose another one",
                );
            }
        }
    }
}

/// The value of a column that a row doesn't name; none where there must be one.
fn absent(draft: &Draft, position: usize, column: &Column) -> Option<Value> {
    let null = column.kind.may_be_null().then_some(Value::Null);
    match (draft.rest, &draft.old) {
        (UnnamedColumns::Null, _) => null,
        (UnnamedColumns::Keep, Some(old)) => old.cells.get(position).cloned(),
        (UnnamedColumns::Keep | UnnamedColumns::Default, _) => column.default.clone().or(null),
    }
}

/// Position of a row in the document.
fn pointer(schema: &Schema, table: TableId, id: &str) -> String {
    let table = schema.table(table);
    let pointer = table_pointer(table);
    if table.single { pointer } else { format!("{pointer}/{}", escaped(id)) }
}

fn table_pointer(table: &Table) -> String {
    format!("/{}", escaped(&table.name))
}

fn unknown_column(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    format!("there is no such column; expected {}", names.join(", "))
}

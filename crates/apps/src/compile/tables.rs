//! Tables: the schema, and the defaults of columns.

use std::sync::Arc;

use super::kinds::{default_value, kind};
use super::names::SharedScope;
use crate::calendar::Calendar;
use crate::data::Data;
use crate::definition::table::{ColumnDefinition, OnDelete as Written, TableDefinition};
use crate::definition::{Definition, Name};
use crate::expression::{Checked, DEFAULT_BUDGET, Frame, NoHost};
use crate::fault::Faults;
use crate::ids::IdPattern;
use crate::kinds::{TableId, Type};
use crate::schema::{Column, OnDelete, Schema, Table};

/// The schema of a definition.
pub(super) fn schema(definition: &Definition, calendar: Calendar, faults: &mut Faults) -> Option<Schema> {
    let find = |name: &Name, faults: &mut Faults| {
        let place = definition.tables.iter().position(|(table, _)| table.text == name.text);
        if place.is_none() {
            faults.push(name.unknown("table", definition.tables.iter().map(|(table, _)| &*table.text)));
        }
        place.and_then(|place| u16::try_from(place).ok()).map(TableId)
    };
    let before = faults.len();
    let tables: Vec<Table> =
        definition.tables.iter().filter_map(|(name, written)| table(name, written, &find, faults)).collect();
    if faults.len() > before || tables.len() < definition.tables.len() {
        return None;
    }
    match Schema::new(tables, calendar) {
        Ok(schema) => Some(schema),
        Err(wrong) => {
            for fault in wrong {
                let (name, table) = definition.tables.iter().find(|(name, _)| name.text == fault.table)?;
                let column = fault.column.as_ref();
                let column = column.and_then(|column| table.columns.iter().find(|(name, _)| name.text == *column));
                faults.push(column.map_or(name, |(column, _)| column).fault(fault.message));
            }
            None
        }
    }
}

fn table(
    name: &Name,
    written: &TableDefinition,
    find: &dyn Fn(&Name, &mut Faults) -> Option<TableId>,
    faults: &mut Faults,
) -> Option<Table> {
    let spelled = match &written.id {
        Some(source) => source.text.to_string(),
        None if written.single => name.text.to_string(),
        None => format!("{}{{5}}", name.text.chars().next().unwrap_or('x').to_ascii_uppercase()),
    };
    let id = match IdPattern::parse(&spelled) {
        Ok(id) => id,
        Err(wrong) => {
            faults.push(
                written
                    .id
                    .as_ref()
                    .map_or_else(|| name.fault(wrong.to_string()), |source| source.fault(0, wrong.to_string())),
            );
            return None;
        }
    };
    let mut columns: Vec<Column> =
        written.columns.iter().filter_map(|(name, written)| column(name, written, find, faults)).collect();
    let owner = match &written.owned_by {
        None => None,
        Some(owner) => {
            let table = find(owner, faults)?;
            let mut column = Column::new(&owner.text, Type::Row(table));
            column.on_delete = OnDelete::Cascade;
            columns.insert(0, column);
            Some(crate::kinds::ColumnId(0))
        }
    };
    Some(Table {
        name: Arc::clone(&name.text),
        id,
        columns,
        single: written.single,
        untracked: written.untracked,
        owner,
    })
}

fn column(
    name: &Name,
    written: &ColumnDefinition,
    find: &dyn Fn(&Name, &mut Faults) -> Option<TableId>,
    faults: &mut Faults,
) -> Option<Column> {
    let kind = kind(&written.kind, find, faults)?;
    let mut column = Column::new(&name.text, kind);
    column.unique = written.unique;
    column.indexed = written.index;
    column.volatile = written.volatile;
    column.secret = written.secret;
    column.on_delete = match written.on_delete {
        None | Some(Written::Restrict) => OnDelete::Restrict,
        Some(Written::Cascade) => OnDelete::Cascade,
        Some(Written::Null) => OnDelete::Null,
    };
    Some(column)
}

/// The schema with the defaults of columns as values, where an episode begins: for data that is written out.
pub(super) fn with_defaults(mut schema: Schema, defaults: &[Vec<Option<Checked>>], start: i64) -> Arc<Schema> {
    let empty = Data::new(Arc::new(schema.clone()), 0);
    let (mut host, mut budget) = (NoHost, DEFAULT_BUDGET);
    let mut frame = Frame {
        rows: &empty,
        old: None,
        init: None,
        locals: &[],
        now: start,
        init_now: start,
        calendar: &empty.schema().calendar,
        host: &mut host,
        budget: &mut budget,
    };
    let written =
        schema.tables.iter_mut().zip(defaults).flat_map(|(table, defaults)| table.columns.iter_mut().zip(defaults));
    for (column, default) in written {
        // A default that depends on rows has no value of its own.
        column.default = default.as_ref().and_then(|default| default.evaluate(&mut frame).ok());
    }
    Arc::new(schema)
}

/// By table and column: the value where an insert gives none. Nullable columns without a default are null.
pub(super) fn defaults(
    definition: &Definition,
    shared: &SharedScope,
    faults: &mut Faults,
) -> Vec<Vec<Option<Checked>>> {
    definition
        .tables
        .iter()
        .zip(&shared.schema.tables)
        .map(|((_, written), table)| {
            let owner = table.owner.map(|_| None);
            let columns = written.columns.iter().map(|(name, written)| {
                let default = written.default.as_ref()?;
                let kind = &table.describe(table.column(&name.text)?).kind;
                default_value(default, kind, shared, faults)
            });
            owner.into_iter().chain(columns).collect()
        })
        .collect()
}

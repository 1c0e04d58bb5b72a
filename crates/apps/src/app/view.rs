//! Views: views, with what they show of a row.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Role;
use super::parameter::{Bounds, Parameter};
use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId, Type};
use crate::schema::Schema;

/// Characters of what is looked for.
const SEARCH_CHARACTERS_MAX: i64 = 200;

/// A view.
#[derive(Debug)]
pub struct View {
    /// Its name.
    pub name: Arc<str>,
    /// Description.
    pub about: Arc<str>,
    /// Roles that may read it.
    pub who: Vec<Role>,
    /// Parameters beside those of every view; these are the first locals.
    pub parameters: Vec<Parameter>,
    /// The table.
    pub table: TableId,
    /// Rows that it shows.
    pub rows: RowSelection,
    /// Columns in which words are looked for.
    pub search: Vec<ColumnId>,
    /// Columns that can be demanded to have a value.
    pub filter: Vec<ColumnId>,
    /// Columns to sort by; the first is the default.
    pub sort: Vec<(ColumnId, bool)>,
    /// Rows of a page.
    pub page: u32,
    /// Fields shown of a row, which is the local behind the parameters.
    pub shown: ShownFields,
}

impl View {
    /// Every parameter: its own, and those that views of its sort have.
    #[must_use]
    pub fn all_parameters(&self, schema: &Schema) -> Vec<Parameter> {
        let plain = |name: &str, kind: Type| Parameter {
            name: name.into(),
            kind,
            bounds: Bounds::default(),
            inner: Vec::new(),
            default: None,
        };
        let mut parameters = self.parameters.clone();
        match &self.rows {
            RowSelection::One(_) => parameters.push(plain("id", Type::Row(self.table))),
            RowSelection::Many(_) => {
                let table = schema.table(self.table);
                for column in &self.filter {
                    let column = table.describe(*column);
                    parameters.push(plain(&column.name, column.kind.clone().or_null()));
                }
                if !self.search.is_empty() {
                    let mut search = plain("search", Type::Text.or_null());
                    search.bounds.most = Some(SEARCH_CHARACTERS_MAX);
                    parameters.push(search);
                }
                if !self.sort.is_empty() {
                    let words: BTreeSet<Arc<str>> = self
                        .sort
                        .iter()
                        .map(|(column, _)| Arc::clone(&table.describe(*column).name))
                        .flat_map(|name| [format!("-{name}").into(), name])
                        .collect();
                    parameters.push(plain("sort", Type::Enum(words.into_iter().collect()).or_null()));
                }
                let mut page = plain("page", Type::Int.or_null());
                page.bounds.least = Some(1);
                parameters.push(page);
            }
        }
        parameters
    }
}

/// Rows that a view shows.
#[derive(Debug)]
pub enum RowSelection {
    /// Those of a list.
    Many(Checked),
    /// One by its id, where the condition holds with the row as the local behind the parameters.
    One(Option<Checked>),
}

/// Fields shown of a row.
#[derive(Debug)]
pub struct ShownFields {
    /// Columns.
    pub columns: Vec<ColumnId>,
    /// Computed columns, with the row as the last local.
    pub derive: Vec<(Arc<str>, Checked)>,
    /// Embedded rows.
    pub embed: Vec<(Arc<str>, Embed)>,
}

/// Rows shown together with a row.
#[derive(Debug)]
pub enum Embed {
    /// Columns of the row that a ref column names.
    Referred {
        /// The ref column.
        column: ColumnId,
        /// The columns of the other row.
        shown: Vec<ColumnId>,
    },
    /// Rows that refer to this one.
    Children {
        /// Their table.
        table: TableId,
        /// Their column that refers to this row.
        by: ColumnId,
        /// Fields shown of them.
        shown: Box<ShownFields>,
    },
}

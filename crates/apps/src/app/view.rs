//! What can be read: views, with what they show of a row.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Role;
use super::parameter::{Bounds, Parameter};
use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId, Type};
use crate::schema::Schema;

/// Characters of what is looked for.
const SEARCH_CHARACTERS_MAX: i64 = 200;

/// Something that can be read.
#[derive(Debug)]
pub struct View {
    /// Its name.
    pub name: Arc<str>,
    /// What it shows.
    pub about: Arc<str>,
    /// Who may read it.
    pub who: Vec<Role>,
    /// What it takes beside what every view takes; these are the first locals.
    pub parameters: Vec<Parameter>,
    /// The table.
    pub table: TableId,
    /// What it shows of the table.
    pub rows: Shows,
    /// Columns in which words are looked for.
    pub search: Vec<ColumnId>,
    /// Columns that can be demanded to have a value.
    pub filter: Vec<ColumnId>,
    /// Columns to sort by; the first is the default.
    pub sort: Vec<(ColumnId, bool)>,
    /// Rows of a page.
    pub page: u32,
    /// What is shown of a row, which is the local behind the parameters.
    pub shown: Shown,
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
            Shows::One(_) => parameters.push(plain("id", Type::Row(self.table))),
            Shows::Many(_) => {
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

/// Which rows a view shows.
#[derive(Debug)]
pub enum Shows {
    /// Those of a list.
    Many(Checked),
    /// One by its id, where the condition holds with the row as the local behind the parameters.
    One(Option<Checked>),
}

/// What is shown of a row.
#[derive(Debug)]
pub struct Shown {
    /// Columns.
    pub columns: Vec<ColumnId>,
    /// Computed columns, with the row as the last local.
    pub derive: Vec<(Arc<str>, Checked)>,
    /// What is shown together with it.
    pub embed: Vec<(Arc<str>, Embed)>,
}

/// What is shown together with a row.
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
        /// What is shown of them.
        shown: Box<Shown>,
    },
}

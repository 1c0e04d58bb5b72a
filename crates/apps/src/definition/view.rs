//! `views`: what can be read.

use std::sync::Arc;

use super::action::{ParameterDefinition, parameters, variable};
use super::{Bindings, Entries, Name, bindings, listed, maybe};
use crate::syntax::read::{At, Fields};
use crate::syntax::source::Source;

/// A view.
#[derive(Debug, Clone)]
pub struct ViewDefinition {
    /// Description for the tool.
    pub about: Option<Arc<str>>,
    /// Roles that may read it; the agent where left out.
    pub who: Vec<Name>,
    /// Parameters beside those of every view.
    pub params: Entries<ParameterDefinition>,
    /// The table.
    pub from: Name,
    /// Variable of the row.
    pub variable: Option<Name>,
    /// The rows.
    pub condition: Option<Source>,
    /// True if it shows one row by its id.
    pub one: bool,
    /// Columns in which words are looked for.
    pub search: Vec<Name>,
    /// Columns that can be demanded to have a value.
    pub filter: Vec<Name>,
    /// Columns to sort by.
    pub sort: Vec<SortDefinition>,
    /// Rows of a page.
    pub page: Option<u32>,
    /// Fields shown of a row.
    pub shown: ShownFields,
}

/// Fields shown of a row.
#[derive(Debug, Clone)]
pub struct ShownFields {
    /// Columns; all where left out.
    pub columns: Option<Vec<Name>>,
    /// Computed columns.
    pub derive: Bindings,
    /// Embedded rows.
    pub embed: Entries<EmbedDefinition>,
}

/// A column to sort by.
#[derive(Debug, Clone)]
pub struct SortDefinition {
    /// The column.
    pub column: Name,
    /// True if the greatest comes first.
    pub descending: bool,
}

/// Rows shown together with a row.
#[derive(Debug, Clone)]
pub enum EmbedDefinition {
    /// Columns of the row that a ref column names.
    Referred(Vec<Name>),
    /// Rows that refer to this one.
    Children {
        /// Their table.
        from: Name,
        /// Their column that refers to this row.
        by: Name,
        /// Fields shown of them.
        shown: Box<ShownFields>,
    },
}

/// Most rows of a page.
const PAGE_MAX: i64 = 200;

impl ViewDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let about = maybe(fields.optional("about"), |at| at.text_within(1_000));
        let who = listed(fields.optional("who"), |at| at.list(Name::read));
        let params = listed(fields.optional("params"), parameters);
        let from = fields.required("from").and_then(|at| Name::read(&at));
        let name = maybe(fields.optional("as"), variable);
        let condition = maybe(fields.optional("where"), At::source);
        let one = maybe(fields.optional("one"), At::bool);
        let search = listed(fields.optional("search"), |at| at.list(Name::read));
        let filter = listed(fields.optional("filter"), |at| at.list(Name::read));
        let sort = listed(fields.optional("sort"), |at| at.list(SortDefinition::read));
        let page = maybe(fields.optional("page"), |at| at.int_in(1..=PAGE_MAX));
        let shown = ShownFields::read(&mut fields);
        fields.finish();
        Some(Self {
            about: about?,
            who: who?,
            params: params?,
            from: from?,
            variable: name?,
            condition: condition?,
            one: one?.unwrap_or(false),
            search: search?,
            filter: filter?,
            sort: sort?,
            page: page?.and_then(|page| u32::try_from(page).ok()),
            shown: shown?,
        })
    }
}

impl SortDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let text = at.text_within(41)?;
        let (column, descending) = text.strip_prefix('-').map_or((&*text, false), |column| (column, true));
        Some(Self { column: Name::at(column.into(), at), descending })
    }
}

impl ShownFields {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let columns = maybe(fields.optional("columns"), |at| at.list(Name::read));
        let derive = listed(fields.optional("derive"), bindings);
        let embed = listed(fields.optional("embed"), |at| {
            at.named(&["id"], |key, at| Some((Name::of_key(key, at), EmbedDefinition::read(at)?)))
        });
        Some(Self { columns: columns?, derive: derive?, embed: embed? })
    }
}

impl EmbedDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        if at.node().as_list().is_some() {
            return at.list(Name::read).map(Self::Referred);
        }
        let mut fields = at.fields()?;
        let from = fields.required("from").and_then(|at| Name::read(&at));
        let by = fields.required("by").and_then(|at| Name::read(&at));
        let shown = ShownFields::read(&mut fields);
        fields.finish();
        Some(Self::Children { from: from?, by: by?, shown: Box::new(shown?) })
    }
}

//! Views: rows that a role can see, looked for, narrowed, sorted and cut into pages.

use serde_json::{Map, Value as Json, json};

use super::narrow::{Order, Search};
use super::raised::stop;
use super::{CallCounter, CallError, Raised, Reply, World};
use crate::app::errors;
use crate::app::{Embed, Role, RowSelection, ShownFields, View};
use crate::expression::{Checked, DEFAULT_BUDGET, Template};
use crate::kinds::ColumnId;
use crate::value::{RowKey, Value};

/// Children of one row that are shown at once.
const CHILDREN_MAX: usize = 500;

/// One page of a list view.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The rows of the page, in order.
    pub rows: Vec<RowKey>,
    /// Number of rows on all pages.
    pub total: usize,
    /// Number of the page, from 1.
    pub page: usize,
    /// Number of pages, at least 1.
    pub pages: usize,
    /// The values of the view's own parameters.
    pub locals: Vec<Value>,
}

impl World {
    pub(super) fn read(&self, role: Role, view: &View, given: &Map<String, Json>) -> Result<Reply, CallError> {
        match &view.rows {
            RowSelection::One(_) => self.read_one(role, view, given),
            RowSelection::Many(_) => {
                let page = self.page(role, view, given)?;
                let items: Vec<Json> =
                    page.rows.iter().map(|row| self.shown(role, view, *row, &page.locals)).collect::<Result<_, _>>()?;
                let json = json!({"items": items, "total": page.total, "page": page.page, "pages": page.pages});
                let rows: Vec<Value> = page.rows.iter().map(|row| Value::Row(*row)).collect();
                let total = i64::try_from(page.total).unwrap_or(i64::MAX);
                let value = Value::Record([Value::List(rows.into()), Value::Int(total)].into());
                Ok(Reply { json, value, rows: page.rows })
            }
        }
    }

    fn read_one(&self, role: Role, view: &View, given: &Map<String, Json>) -> Result<Reply, CallError> {
        let (row, locals) = self.one(role, view, given)?;
        let json = self.shown(role, view, row, &locals)?;
        Ok(Reply { json, value: Value::Row(row), rows: vec![row] })
    }

    /// The row that a view of one row shows, and the values of the view's own parameters.
    pub(crate) fn one(
        &self,
        role: Role,
        view: &View,
        given: &Map<String, Json>,
    ) -> Result<(RowKey, Vec<Value>), CallError> {
        let mut locals = self.arguments(role, &view.all_parameters(&self.app().schema), given)?;
        let Some(Value::Row(row)) = locals.last().cloned() else {
            return Err(CallError::Crashed(crate::expression::EvalError::Mismatch));
        };
        if let RowSelection::One(Some(condition)) = &view.rows
            && self.value(condition, &locals)? != Value::Bool(true)
        {
            let id = self.data().id(row).map(ToString::to_string).unwrap_or_default();
            return Err(Raised::no_row(self.app(), view.table, &id).about("id").into());
        }
        locals.pop();
        Ok((row, locals))
    }

    /// One page of a list view.
    ///
    /// # Errors
    /// When an argument does not fit.
    pub fn page(&self, role: Role, view: &View, given: &Map<String, Json>) -> Result<Page, CallError> {
        let schema = &self.app().schema;
        let parameters = view.all_parameters(schema);
        let mut locals = self.arguments(role, &parameters, given)?;
        let own = view.parameters.len();
        let standard = locals.split_off(own);
        let named = |name: &str| {
            parameters[own..]
                .iter()
                .position(|known| &*known.name == name)
                .map_or(&Value::Null, |place| &standard[place])
        };
        let found = self.view_rows(role, view, &locals)?;
        let mut rows = self.data().contents(view.table, &found);
        for (column, value) in view.filter.iter().zip(&standard) {
            if !value.is_null() {
                rows.retain(|(_, row)| row.cells[usize::from(column.0)] == *value);
            }
        }
        if let Value::Text(text) = named("search") {
            let seen = |column: &ColumnId| self.sees_column(role, view.table, *column);
            let search = Search::new(text, view.search.iter().copied().filter(seen).collect());
            rows.retain(|(_, row)| search.finds(row));
        }
        let sort = match named("sort") {
            Value::Text(word) => {
                let (name, descending) = word.strip_prefix('-').map_or((&**word, false), |name| (name, true));
                schema.table(view.table).column(name).map(|column| (column, descending))
            }
            _ => view.sort.first().copied(),
        };
        let size = view.page as usize;
        let pages = rows.len().div_ceil(size).max(1);
        let page = match named("page") {
            Value::Int(page) => usize::try_from(*page).unwrap_or(usize::MAX),
            _ => 1,
        };
        if page > pages {
            let text = format!("page must be 1 to {pages}.");
            return Err(Raised::plain(self.app(), errors::INVALID_ARGUMENT, text).about("page").into());
        }
        let total = rows.len();
        if let Some((column, descending)) = sort {
            let order = Order { column, kind: &schema.table(view.table).describe(column).kind, descending };
            order.put_first(&mut rows, page.saturating_mul(size));
        }
        let rows = rows.into_iter().skip((page - 1) * size).take(size).map(|(row, _)| row).collect();
        Ok(Page { rows, total, page, pages, locals })
    }

    /// Every row of a list view that the role can see, in the order of creation.
    fn view_rows(&self, role: Role, view: &View, locals: &[Value]) -> Result<Vec<RowKey>, CallError> {
        let RowSelection::Many(list) = &view.rows else { return Ok(Vec::new()) };
        let Value::List(rows) = self.value(list, locals)? else { return Ok(Vec::new()) };
        let held = self.app().permissions.iter().any(|permission| permission.table == view.table);
        let mut seen = Vec::with_capacity(rows.len());
        for value in rows.iter() {
            if let Value::Row(row) = value
                && (!held || self.sees(role, *row)?)
            {
                seen.push(*row);
            }
        }
        Ok(seen)
    }

    /// A row as a view shows it, with the values of the view's own parameters.
    ///
    /// # Errors
    /// When a derived column fails.
    pub fn shown(&self, role: Role, view: &View, row: RowKey, locals: &[Value]) -> Result<Json, CallError> {
        let mut locals = locals.to_vec();
        locals.push(Value::Row(row));
        self.shown_row(role, &view.shown, row, &mut locals).map(Json::Object)
    }

    fn shown_row(
        &self,
        role: Role,
        shown: &ShownFields,
        row: RowKey,
        locals: &mut Vec<Value>,
    ) -> Result<Map<String, Json>, CallError> {
        let mut json = self.columns(role, row, &shown.columns)?;
        for (name, derived) in &shown.derive {
            let value = self.unhidden(role, self.value(derived, locals)?)?;
            json.insert(name.to_string(), self.codec().to_json(&value, derived.kind(), self.data()));
        }
        for (name, embed) in &shown.embed {
            let embedded = match embed {
                Embed::Referred { column, shown } => match self.data().cell(row, *column) {
                    Some(Value::Row(other)) if self.sees(role, *other)? => {
                        Json::Object(self.columns(role, *other, shown)?)
                    }
                    _ => Json::Null,
                },
                Embed::Children { table, by, shown } => {
                    let parent = Value::Row(row);
                    let mut children = Vec::new();
                    for child in self.data().matching(*table, *by, &parent).take(CHILDREN_MAX) {
                        if self.sees(role, child)? {
                            locals.push(Value::Row(child));
                            children.push(Json::Object(self.shown_row(role, shown, child, locals)?));
                            locals.pop();
                        }
                    }
                    Json::Array(children)
                }
            };
            json.insert(name.to_string(), embedded);
        }
        Ok(json)
    }

    /// Columns of a row that a role can see, with the row's id.
    fn columns(&self, role: Role, row: RowKey, columns: &[ColumnId]) -> Result<Map<String, Json>, CallError> {
        let table = self.app().schema.table(row.table);
        let mut json = Map::new();
        if let (false, Some(id)) = (table.single, self.data().id(row)) {
            json.insert("id".to_owned(), json!(&**id));
        }
        for column in columns.iter().filter(|column| self.sees_column(role, row.table, **column)) {
            let described = table.describe(*column);
            if let Some(value) = self.data().cell(row, *column) {
                let value = self.unhidden(role, value.clone())?;
                json.insert(described.name.to_string(), self.codec().to_json(&value, &described.kind, self.data()));
            }
        }
        Ok(json)
    }

    /// A value, or null in place of a row that a role cannot see: not even its id is shown.
    fn unhidden(&self, role: Role, value: Value) -> Result<Value, CallError> {
        match value {
            Value::Row(row) if !self.sees(role, row)? => Ok(Value::Null),
            Value::List(values) if values.iter().any(|value| matches!(value, Value::Row(_))) => {
                let mut seen = Vec::with_capacity(values.len());
                for value in values.iter() {
                    let value = self.unhidden(role, value.clone())?;
                    seen.extend((!value.is_null()).then_some(value));
                }
                Ok(Value::List(seen.into()))
            }
            value => Ok(value),
        }
    }

    /// The value of an expression between calls.
    pub(crate) fn value(&self, checked: &Checked, locals: &[Value]) -> Result<Value, CallError> {
        let mut host = CallCounter(&self.counts);
        let mut budget = DEFAULT_BUDGET;
        checked.evaluate(&mut self.frame(locals, &mut host, &mut budget)).map_err(|error| stop(self.app(), error))
    }

    /// The text of a template between calls.
    pub(crate) fn text(&self, template: &Template, locals: &[Value]) -> Result<String, CallError> {
        let mut host = CallCounter(&self.counts);
        let mut budget = DEFAULT_BUDGET;
        template.render(&mut self.frame(locals, &mut host, &mut budget)).map_err(|error| stop(self.app(), error))
    }
}

//! Values of rows as they are shown.

use std::sync::Arc;

use super::Builder;
use crate::app::screen::{Details, words};
use crate::app::{Embed, Role, RowSelection, ShownFields};
use crate::kinds::{ColumnId, TableId, Type};
use crate::run::CallError;
use crate::screen::tree::{AriaRole, Element, Facts};
use crate::value::{RowKey, Value};

/// Lines of a long text that are seen at once.
const WINDOW_LINES: usize = 60;
/// Characters of a line; longer ones count as several.
const LINE_CHARACTERS: usize = 200;
/// Characters of a value in a list.
const CELL_CHARACTERS: usize = 120;
/// Children of one row that are shown at once.
const CHILDREN_MAX: usize = 100;

/// Cuts long texts into parts, all at the same place.
pub(super) struct Window {
    part: usize,
    parts: usize,
}

impl Window {
    pub(super) const fn new(part: usize) -> Self {
        Self { part, parts: 1 }
    }

    /// Number of parts that the longest text has.
    pub(super) const fn parts(&self) -> usize {
        self.parts
    }

    fn cut(&mut self, text: String) -> String {
        let starts = line_starts(&text);
        if starts.len() <= WINDOW_LINES {
            return text;
        }
        let parts = starts.len().div_ceil(WINDOW_LINES);
        self.parts = self.parts.max(parts);
        let part = self.part.min(parts - 1);
        let from = starts[part * WINDOW_LINES];
        let to = starts.get((part + 1) * WINDOW_LINES).copied().unwrap_or(text.len());
        text[from..to].to_owned()
    }
}

/// Where the lines of a text begin, in bytes.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut length = 0;
    for (place, letter) in text.char_indices() {
        if length == LINE_CHARACTERS {
            starts.push(place);
            length = 0;
        }
        length += 1;
        if letter == '\n' {
            starts.push(place + 1);
            length = 0;
        }
    }
    starts
}

impl Builder<'_> {
    /// A value as people read it; a row by its name and id.
    pub(super) fn show(&self, value: &Value, kind: &Type) -> String {
        match value {
            Value::Row(row) => self.name_of(*row),
            _ => self.world.codec().show(value, kind, self.world.data()),
        }
    }

    /// The name of a row and its id.
    pub(super) fn name_of(&self, row: RowKey) -> String {
        let Some(id) = self.world.data().id(row) else { return "-".to_owned() };
        match self.label_of(row) {
            Some(label) if *label != **id => format!("{} ({id})", brief(&label)),
            _ => id.to_string(),
        }
    }

    /// The name of a row beside what is shown of it: its id is enough where its name is shown anyway.
    pub(super) fn row_name(&self, row: RowKey, shown: &ShownFields) -> String {
        match self.label_column(row.table) {
            Some(column) if shown.columns.contains(&column) => {
                self.world.data().id(row).map(ToString::to_string).unwrap_or_default()
            }
            _ => self.name_of(row),
        }
    }

    /// The name of a row, if it has one and can be seen.
    pub(super) fn label_of(&self, row: RowKey) -> Option<Arc<str>> {
        let column = self.label_column(row.table)?;
        match self.world.data().cell(row, column) {
            Some(Value::Text(text)) if self.world.sees(Role::AGENT, row).ok()? => Some(Arc::clone(text)),
            _ => None,
        }
    }

    pub(super) fn label_column(&self, table: TableId) -> Option<ColumnId> {
        let column = (*self.screens.labels.get(usize::from(table.0))?)?;
        self.world.sees_column(Role::AGENT, table, column).then_some(column)
    }

    /// Details of the row that a screen is about.
    pub(super) fn detail(
        &mut self,
        arg: usize,
        shows: &Details,
        id: Arc<str>,
        locals: &Arc<[Value]>,
    ) -> Result<Element, CallError> {
        let Some(Value::Row(row)) = locals.get(arg) else {
            return Ok(Element::text(AriaRole::Status, "There is nothing to show."));
        };
        let name = self.name_of(*row);
        let cells = match shows {
            Details::Columns(columns) => self.columns(*row, columns, false),
            Details::View(place) => {
                let view = &self.app.views[*place];
                if let RowSelection::One(condition) = &view.rows {
                    if let Some(condition) = condition
                        && self.value(condition, &[Value::Row(*row)])? != Some(Value::Bool(true))
                    {
                        return Ok(Element::text(AriaRole::Alert, format!("{name} cannot be shown.")));
                    }
                    let id = self.world.data().id(*row).map(ToString::to_string).unwrap_or_default();
                    self.reads.push((*place, [("id".to_owned(), id.into())].into_iter().collect()));
                }
                self.shown(*row, &view.shown, &mut vec![Value::Row(*row)], false)?
            }
        };
        Ok(Element::new(AriaRole::Group, id, name).with(cells).about(Facts::Row(*row)))
    }

    /// Fields that a view shows of a row, which is the last local.
    pub(super) fn shown(
        &mut self,
        row: RowKey,
        shown: &ShownFields,
        locals: &mut Vec<Value>,
        short: bool,
    ) -> Result<Vec<Element>, CallError> {
        let mut cells = self.columns(row, &shown.columns, short);
        for (name, derived) in &shown.derive {
            let value = self.value(derived, locals)?;
            let text = value.as_ref().map_or_else(|| "-".to_owned(), |value| self.show(value, derived.kind()));
            let fact = Facts::Value {
                key: Arc::clone(name),
                value: value.clone().unwrap_or_default(),
                kind: derived.kind().clone(),
            };
            cells.push(self.cell(name, text, short).about(fact));
        }
        for (name, embed) in &shown.embed {
            cells.push(match embed {
                Embed::Referred { column, shown } => match self.world.data().cell(row, *column) {
                    Some(Value::Row(other)) if self.world.sees(Role::AGENT, *other)? => {
                        let inner = self.columns(*other, shown, true);
                        let texts: Vec<String> = inner
                            .iter()
                            .map(|cell| format!("{}: {}", cell.name, cell.value.as_deref().unwrap_or_default()))
                            .collect();
                        // The column itself, where it is shown, says which row; this says what it is like.
                        self.cell(&format!("{name} details"), texts.join("; "), short)
                            .about(Facts::Inner { key: Arc::clone(name), cells: inner })
                    }
                    _ => continue,
                },
                Embed::Children { table, by, shown } => self.children(row, name, (*table, *by), shown, locals)?,
            });
        }
        Ok(cells)
    }

    fn children(
        &mut self,
        row: RowKey,
        name: &str,
        (table, by): (TableId, ColumnId),
        shown: &ShownFields,
        locals: &mut Vec<Value>,
    ) -> Result<Element, CallError> {
        let parent = Value::Row(row);
        let mut items = Vec::new();
        let (world, mut hidden) = (self.world, 0);
        for child in world.data().matching(table, by, &parent) {
            if !world.sees(Role::AGENT, child)? {
                continue;
            }
            if items.len() == CHILDREN_MAX {
                hidden += 1;
                continue;
            }
            locals.push(Value::Row(child));
            let cells = self.shown(child, shown, locals, true)?;
            locals.pop();
            let item = Element::new(AriaRole::Listitem, "", self.row_name(child, shown)).with(cells);
            items.push(item.about(Facts::Row(child)));
        }
        if hidden > 0 {
            items.push(Element::text(AriaRole::Status, format!("{hidden} more are not shown here")));
        }
        let fact = Facts::Children { key: name.into() };
        if items.is_empty() {
            return Ok(Element::text(AriaRole::Cell, "none").called(words(name)).about(fact));
        }
        Ok(Element::new(AriaRole::List, "", words(name)).with(items).about(fact))
    }

    /// Columns of a row that can be seen.
    fn columns(&mut self, row: RowKey, columns: &[ColumnId], short: bool) -> Vec<Element> {
        let (world, table) = (self.world, self.app.schema.table(row.table));
        let mut cells = Vec::new();
        for column in columns.iter().filter(|column| world.sees_column(Role::AGENT, row.table, **column)) {
            let described = table.describe(*column);
            if let Some(value) = world.data().cell(row, *column) {
                let text = self.show(value, &described.kind);
                let (key, kind) = (Arc::clone(&described.name), described.kind.clone());
                let fact = Facts::Value { key, value: value.clone(), kind };
                cells.push(self.cell(&described.name, text, short).about(fact));
            }
        }
        cells
    }

    fn cell(&mut self, name: &str, text: String, short: bool) -> Element {
        let text = if short { brief(&text) } else { self.window.cut(text) };
        Element::text(AriaRole::Cell, text).called(words(name))
    }
}

/// A value on one line, its end left out where it is long.
pub(super) fn brief(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= CELL_CHARACTERS {
        return flat;
    }
    let mut cut: String = flat.chars().take(CELL_CHARACTERS).collect();
    cut.push('…');
    cut
}

//! Lists, and what narrows, sorts and pages them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::Builder;
use super::input::plain_parameter;
use crate::app::screen::{Given, Layout, List, OPEN, words};
use crate::app::{Parameter, Role, RowSelection, View};
use crate::kinds::Type;
use crate::run::{CallError, Page, Raised};
use crate::screen::command::{Command, InputKind};
use crate::screen::open_screen::OpenScreen;
use crate::screen::tree::{AriaRole, Choice, Element, Facts};
use crate::value::{RowKey, Value};

/// A page, or why there is none.
pub(super) type Listed = Result<Page, Raised>;

impl<'a> Builder<'a> {
    pub(super) fn list(&mut self, list: &'a List, locals: &Arc<[Value]>) -> Result<Element, CallError> {
        let app = self.app;
        let view = &app.views[list.view];
        let id = format!("{}/{}", self.screen.name, list.id);
        let mut children = self.questions(list, view, &id)?;
        self.load(list, locals)?;
        match self.listed.get(&list.id).cloned() {
            Some(Ok(page)) => {
                children.extend(self.sorting(view, &id));
                if page.rows.is_empty() {
                    let text = match &list.empty {
                        Some(empty) => self.text(empty, locals)?,
                        None => "There is nothing here.".to_owned(),
                    };
                    children.push(Element::text(AriaRole::Status, text));
                }
                let mut items = Vec::new();
                for row in &page.rows {
                    items.push((*row, self.row(list, view, *row, &page.locals, &id, locals)?));
                }
                children.extend(self.arrange(list, items));
                let paged = self.screen.controls.get(&list.view);
                let apart = paged.is_some_and(|controls| controls.pager.is_some() && controls.list.id == list.id);
                if !apart && matches!(view.rows, RowSelection::Many(_)) {
                    children.extend(self.pages(list, &page, &id));
                }
            }
            Some(Err(raised)) => children.push(Element::text(AriaRole::Status, raised.text)),
            None => {}
        }
        Ok(Element::new(AriaRole::List, id, words(&view.name)).with(children).about(Facts::List { view: list.view }))
    }

    /// Reads the page of a list, once.
    fn load(&mut self, list: &'a List, locals: &Arc<[Value]>) -> Result<(), CallError> {
        if self.listed.contains_key(&list.id) {
            return Ok(());
        }
        let view = &self.app.views[list.view];
        let mut arguments = self.view_arguments(list, view, locals)?;
        let listed = match self.page(view, &arguments) {
            Err(CallError::Raised(raised)) if raised.field.as_deref() == Some("page") => {
                // There were more pages before.
                arguments.remove("page");
                self.page(view, &arguments)
            }
            other => other,
        };
        let listed = match listed {
            Ok(page) => {
                self.reads.push((list.view, arguments));
                Ok(page)
            }
            Err(CallError::Raised(raised)) => Err(raised),
            Err(crashed) => return Err(crashed),
        };
        self.listed.insert(Arc::clone(&list.id), listed);
        Ok(())
    }

    fn page(&self, view: &View, arguments: &Map<String, Json>) -> Result<Page, CallError> {
        if matches!(view.rows, RowSelection::Many(_)) {
            return self.world.page(Role::AGENT, view, arguments);
        }
        let (row, locals) = self.world.one(Role::AGENT, view, arguments)?;
        Ok(Page { rows: vec![row], total: 1, page: 1, pages: 1, locals })
    }

    /// The arguments with which a list reads its view.
    fn view_arguments(&self, list: &List, view: &View, locals: &[Value]) -> Result<Map<String, Json>, CallError> {
        let mut arguments = Map::new();
        let id = format!("{}/{}", self.screen.name, list.id);
        let parameters = asked_parameters(self, view);
        for (parameter, given) in parameters.iter().zip(&list.args) {
            let value = match given {
                Given::Expression(checked) => {
                    let value = self.value(checked, locals)?;
                    value.map(|value| self.world.codec().to_json(&value, &parameter.kind, self.world.data()))
                }
                Given::Default => None,
                Given::Asked => self.filled(&id, &format!("ask-{}", parameter.name), parameter)?,
            };
            arguments.extend(value.map(|value| (parameter.name.to_string(), value)));
        }
        let controls = self.screen.controls.get(&list.view);
        if let Some(search) = controls.and_then(|controls| controls.search.as_ref()) {
            let text = self.place.inputs.get(&*format!("{}/{search}/text", self.screen.name));
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                arguments.insert("search".to_owned(), text.trim().into());
            }
        }
        if let Some(filters) = controls.and_then(|controls| controls.filters.as_ref()) {
            let form = format!("{}/{filters}", self.screen.name);
            for parameter in self.filtered(view) {
                let value = self.filled(&form, &parameter.name, &parameter)?;
                arguments.extend(value.map(|value| (parameter.name.to_string(), value)));
            }
        }
        if let Some(sort) = self.place.inputs.get(&*format!("{id}/sort-by")).filter(|sort| !sort.is_empty()) {
            arguments.insert("sort".to_owned(), (**sort).into());
        }
        if let Some(page) = self.place.inputs.get(&page_key(&id)).and_then(|page| page.parse::<u64>().ok()) {
            arguments.insert("page".to_owned(), page.into());
        }
        Ok(arguments)
    }

    /// Inputs for what the view must be told.
    fn questions(&self, list: &List, view: &View, id: &str) -> Result<Vec<Element>, CallError> {
        let mut inputs = Vec::new();
        let reset = page_key(id);
        for (parameter, _) in
            asked_parameters(self, view).iter().zip(&list.args).filter(|(_, given)| matches!(given, Given::Asked))
        {
            self.input(id, &format!("ask-{}", parameter.name), parameter, Some(&reset), &mut inputs)?;
        }
        if inputs.is_empty() {
            return Ok(inputs);
        }
        Ok(vec![Element::new(AriaRole::Search, "", "Show").with(inputs)])
    }

    pub(super) fn search(&self, view: usize, id: &str) -> Element {
        let key: Arc<str> = format!("{id}/text").into();
        let value = self.place.inputs.get(&key).map_or("", |text| text);
        let command = Command::Input { kind: InputKind::Text, reset: self.page_of(view) };
        let name = format!("Search {}", words(&self.app.views[view].name).to_lowercase());
        let mut input = Element::new(AriaRole::Searchbox, key, name).holding(value).doing(command);
        input.hint = Some("words, or an id".to_owned());
        Element::new(AriaRole::Search, id, "").with(vec![input])
    }

    pub(super) fn filters(&self, view: usize, id: &str) -> Result<Element, CallError> {
        let mut inputs = Vec::new();
        let reset = self.page_of(view).unwrap_or_else(|| id.into());
        for parameter in self.filtered(&self.app.views[view]) {
            self.input(id, &parameter.name, &parameter, Some(&reset), &mut inputs)?;
        }
        Ok(Element::new(AriaRole::Search, id, "Filters").with(inputs))
    }

    /// The columns that a view can be narrowed by, as parameters.
    fn filtered(&self, view: &View) -> Vec<Parameter> {
        let table = self.app.schema.table(view.table);
        let columns = view.filter.iter().filter(|column| self.world.sees_column(Role::AGENT, view.table, **column));
        columns
            .map(|column| table.describe(*column))
            .map(|column| plain_parameter(&column.name, &column.kind.clone().or_null()))
            .collect()
    }

    fn sorting(&self, view: &View, id: &str) -> Option<Element> {
        let table = self.app.schema.table(view.table);
        let (first, descending) = view.sort.first()?;
        let key: Arc<str> = format!("{id}/sort-by").into();
        let mut options = Vec::new();
        for (column, _) in &view.sort {
            let name = &table.describe(*column).name;
            options.push(Choice { value: Arc::clone(name), name: format!("{} ascending", words(name)) });
            options.push(Choice { value: format!("-{name}").into(), name: format!("{} descending", words(name)) });
        }
        let first = &table.describe(*first).name;
        let first = if *descending { format!("-{first}") } else { first.to_string() };
        let value = self.place.inputs.get(&key).map_or(first, ToString::to_string);
        let command = Command::Input { kind: InputKind::Choice, reset: Some(page_key(id)) };
        let mut input = Element::new(AriaRole::Combobox, key, "Sort by").holding(value).doing(command);
        input.options = options;
        Some(Element::new(AriaRole::Search, "", "").with(vec![input]))
    }

    pub(super) fn pager(&mut self, view: usize, id: &str, locals: &Arc<[Value]>) -> Result<Option<Element>, CallError> {
        let Some(controls) = self.screen.controls.get(&view) else { return Ok(None) };
        let list = &controls.list;
        self.load(list, locals)?;
        match self.listed.get(&list.id) {
            Some(Ok(page)) => Ok(Some(Element::new(AriaRole::Group, id, "Pages").with(self.pages(list, page, id)))),
            _ => Ok(None),
        }
    }

    /// Buttons that turn pages; none where there is one page.
    fn pages(&self, list: &List, page: &Page, id: &str) -> Vec<Element> {
        let text = format!("page {} of {}, {} in all", page.page, page.pages, page.total);
        let fact = Facts::Pages { page: page.page, pages: page.pages, total: page.total };
        let mut elements = vec![Element::text(AriaRole::Status, text).about(fact)];
        if page.pages > 1 {
            let key = page_key(&format!("{}/{}", self.screen.name, list.id));
            let turn = |part: &str, name: &str, to: usize| {
                let set = Command::Set { key: Arc::clone(&key), text: to.to_string().into() };
                let mut button = Element::new(AriaRole::Button, format!("{id}/{part}"), name).doing(set);
                button.disabled = to < 1 || to > page.pages;
                button
            };
            elements.push(turn("previous-page", "Previous page", page.page - 1));
            elements.push(turn("next-page", "Next page", page.page + 1));
        }
        elements
    }

    fn page_of(&self, view: usize) -> Option<Arc<str>> {
        let controls = self.screen.controls.get(&view)?;
        Some(page_key(&format!("{}/{}", self.screen.name, controls.list.id)))
    }

    fn row(
        &mut self,
        list: &'a List,
        view: &View,
        row: RowKey,
        view_locals: &[Value],
        id: &str,
        locals: &Arc<[Value]>,
    ) -> Result<Element, CallError> {
        let id = format!("{id}/{}", row_part(self.world.data().id(row).map_or("", |id| id)));
        let mut inner = view_locals.to_vec();
        inner.push(Value::Row(row));
        let mut children = self.shown(row, &view.shown, &mut inner, true)?;
        if let Some(open) = list.open {
            let place = OpenScreen { screen: open, args: [Value::Row(row)].into(), ..OpenScreen::default() };
            children.push(Element::new(AriaRole::Link, format!("{id}/{OPEN}"), "Open").doing(Command::Go(place)));
        }
        let mut of_row = locals.to_vec();
        of_row.push(Value::Row(row));
        children.extend(self.widgets(&list.row, &id, &of_row.into())?);
        let item = Element::new(AriaRole::Listitem, id, self.row_name(row, &view.shown)).with(children);
        Ok(item.about(Facts::Row(row)))
    }

    /// Rows as their layout wants them.
    fn arrange(&self, list: &List, items: Vec<(RowKey, Element)>) -> Vec<Element> {
        let Some(by) = list.by else { return items.into_iter().map(|(_, item)| item).collect() };
        let cell = |row: RowKey| self.world.data().cell(row, by).cloned().unwrap_or_default();
        if list.layout == Layout::Tree {
            return nest(items, &cell);
        }
        let kind = &self.app.schema.table(self.app.views[list.view].table).describe(by).kind;
        let mut groups: BTreeMap<(i64, String), Vec<Element>> = BTreeMap::new();
        for (place, (row, item)) in (0_i64..).zip(items) {
            let value = cell(row);
            let key = match (&value, kind.present()) {
                (Value::Int(instant), Type::Instant) => {
                    let day = self.app.calendar.date(*instant);
                    (day, crate::calendar::show_date(day))
                }
                (Value::Int(day), Type::Date) => (*day, crate::calendar::show_date(*day)),
                (Value::Text(word), Type::Enum(words)) => {
                    let order =
                        words.iter().position(|known| known == word).and_then(|place| i64::try_from(place).ok());
                    (order.unwrap_or(0), word.to_string())
                }
                (value, kind) => {
                    // In the order in which they come.
                    let shown = self.show(value, kind);
                    let known = groups.keys().find(|(_, name)| *name == shown).map(|(place, _)| *place);
                    (known.unwrap_or(place), shown)
                }
            };
            groups.entry(key).or_default().push(item);
        }
        groups.into_iter().map(|((_, name), items)| Element::new(AriaRole::Group, "", name).with(items)).collect()
    }
}

/// Puts rows below the rows of the same page that they refer to.
fn nest(items: Vec<(RowKey, Element)>, parent: &dyn Fn(RowKey) -> Value) -> Vec<Element> {
    let here: Vec<RowKey> = items.iter().map(|(row, _)| *row).collect();
    let above = |row: RowKey| match parent(row) {
        Value::Row(above) if here.contains(&above) && above != row => Some(above),
        _ => None,
    };
    // A row on a circle stands at the top.
    let top = |row: RowKey| {
        let mut at = row;
        for _ in 0..=here.len() {
            match above(at) {
                Some(next) => at = next,
                None => return above(row).is_none(),
            }
        }
        true
    };
    let mut below: BTreeMap<RowKey, Vec<(RowKey, Element)>> = BTreeMap::new();
    let mut roots = Vec::new();
    for (row, item) in items {
        match above(row) {
            Some(above) if !top(row) => below.entry(above).or_default().push((row, item)),
            _ => roots.push((row, item)),
        }
    }
    roots.into_iter().map(|(row, item)| hang(row, item, &mut below)).collect()
}

fn hang(row: RowKey, mut item: Element, below: &mut BTreeMap<RowKey, Vec<(RowKey, Element)>>) -> Element {
    for (row, child) in below.remove(&row).unwrap_or_default() {
        item.children.push(hang(row, child, below));
    }
    item
}

/// Parameters of a list: the view's own parameters, and the id of a view of one row.
fn asked_parameters(builder: &Builder<'_>, view: &View) -> Vec<Parameter> {
    let mut parameters = view.all_parameters(&builder.app.schema);
    parameters.truncate(view.parameters.len() + usize::from(matches!(view.rows, RowSelection::One(_))));
    parameters
}

fn page_key(list: &str) -> Arc<str> {
    format!("{list}/page").into()
}

/// An id of a row as a part of ids of elements.
pub(in crate::screen) fn row_part(id: &str) -> String {
    let mut part = String::with_capacity(id.len());
    for letter in id.chars() {
        match letter {
            '/' | '%' | '[' | ']' | '"' => part.push_str(&format!("%{:02X}", u32::from(letter))),
            letter if letter.is_whitespace() => part.push_str(&format!("%{:02X}", u32::from(letter))),
            letter => part.push(letter),
        }
    }
    part
}

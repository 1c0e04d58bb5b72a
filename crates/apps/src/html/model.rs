//! Screens as templates see them: its elements with their labels, addresses and kinds of values, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::Value;
use serde::Serialize;

use super::cell::{Cell, Reader, cell};
use super::danger::is_danger;
use super::endless::Earlier;
use super::form::{OPTION, TEXT};
use super::month::{Week, weeks};
use super::suggest::{Suggestion, Suggestions, parameter};
use super::value;
use crate::app::theme::{ListLooks, Looks};
use crate::run::World;
use crate::screen::{AriaRole, Element, Facts, Sheet, of_row, screen_of};
use crate::value::RowKey;

/// Something on a screen.
#[derive(Debug, Default, Serialize)]
pub(super) struct Node {
    id: Arc<str>,
    role: &'static str,
    label: String,
    value: Option<String>,
    hint: Option<String>,
    options: Vec<Choice>,
    /// Values that it offers as one types.
    suggest: Option<Arc<Vec<Suggestion>>>,
    disabled: bool,
    required: bool,
    multiline: bool,
    invalid: Option<String>,
    selected: bool,
    /// The name of the column, parameter or action.
    key: Option<Arc<str>>,
    /// The kind of value that an input takes.
    kind: &'static str,
    /// Where it leads.
    href: Option<String>,
    /// The name of its field in a posted form, or of its word in the address.
    field: Option<String>,
    /// The address that its form is sent to.
    path: String,
    /// Words of the address that a form without them would lose.
    hidden: Vec<(Arc<str>, Arc<str>)>,
    /// True if it takes something away.
    danger: bool,
    /// True if it asks before it acts.
    asks: bool,
    cell: Option<Cell>,
    list: Option<List>,
    row: Option<Row>,
    pages: Option<Pages>,
    children: Vec<Node>,
}

/// An option of an input.
#[derive(Debug, Serialize)]
struct Choice {
    value: Arc<str>,
    label: String,
    selected: bool,
    href: Option<String>,
}

/// The rows of a list.
#[derive(Debug, Default, Serialize)]
struct List {
    view: Arc<str>,
    id: Arc<str>,
    label: String,
    looks: ListLooks,
    rows: Vec<Arc<Row>>,
    groups: Vec<Group>,
    weeks: Vec<Week<Row>>,
    columns: Vec<Column>,
    controls: Vec<Node>,
    pages: Option<Pages>,
    /// Text where there is no row.
    empty: Option<String>,
    /// The address of its screen, without the base.
    back: String,
    /// Actions at each row.
    acts: Vec<Act>,
}

/// An action that a row has on its own screen.
#[derive(Debug, Serialize)]
struct Act {
    name: Arc<str>,
    label: String,
    danger: bool,
    /// True if it asks for something, so that its dialog opens.
    asks: bool,
}

#[derive(Debug, Serialize)]
struct Group {
    label: String,
    rows: Vec<Arc<Row>>,
}

#[derive(Debug, Serialize)]
struct Column {
    key: Arc<str>,
    label: String,
    kind: &'static str,
}

/// A row.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    element: Arc<str>,
    pub(super) name: String,
    pub(super) href: Option<String>,
    /// The name of the screen that shows it.
    screen: Option<Arc<str>>,
    cells: Vec<Arc<Cell>>,
    /// By key.
    pub(super) cell: BTreeMap<Arc<str>, Arc<Cell>>,
    lists: Vec<List>,
    acts: Vec<Node>,
    rows: Vec<Arc<Row>>,
}

/// Pages of a list.
#[derive(Debug, Default, Clone, Serialize)]
struct Pages {
    page: usize,
    pages: usize,
    total: usize,
    previous: Option<String>,
    next: Option<String>,
    /// Of an endless list: its rows up to the present page, as far as they stand together.
    shown: usize,
    /// Of an endless list: those of the pages before.
    fresh: usize,
    /// True if the rows of the next page come by themselves.
    grows: bool,
}

/// Turns elements into what templates see.
pub(super) struct Modeller<'a> {
    pub(super) world: &'a World,
    pub(super) looks: &'a Looks,
    pub(super) sheet: &'a Sheet,
    pub(super) base: &'a str,
    /// Most rows of a list.
    pub(super) take: usize,
    pub(super) earlier: &'a Earlier,
    pub(super) suggestions: &'a Suggestions,
    /// True if endless lists may go on by themselves.
    pub(super) grows: bool,
}

impl Modeller<'_> {
    pub(super) fn nodes(&self, elements: &[Element]) -> Vec<Node> {
        elements.iter().map(|element| self.node(element)).collect()
    }

    /// The path of the screen, without its query.
    pub(super) fn path(&self) -> String {
        format!("{}{}", self.base, self.sheet.address.split('?').next().unwrap_or("/"))
    }

    fn address(&self, address: &str) -> String {
        format!("{}{address}", self.base)
    }

    fn node(&self, element: &Element) -> Node {
        let mut node = Node {
            id: Arc::clone(&element.id),
            role: element.role.word(),
            label: element.name.clone(),
            value: element.value.clone(),
            hint: element.hint.clone(),
            disabled: element.disabled,
            required: element.required,
            multiline: element.multiline,
            invalid: element.invalid.clone(),
            selected: element.role == AriaRole::Tab && element.value.is_some(),
            href: self.sheet.link(self.world, element).map(|link| self.address(&link)),
            path: self.address(&self.sheet.address),
            ..Node::default()
        };
        match element.facts.as_deref() {
            Some(Facts::List { view }) => {
                node.list = Some(self.list(element, *view));
                return node;
            }
            Some(Facts::Children { key }) if element.role == AriaRole::List => {
                node.list = Some(self.children(element, key, None));
                return node;
            }
            Some(Facts::Row(row)) => {
                let row = self.row(element, *row);
                node.label.clone_from(&row.name);
                node.row = Some(row);
                return node;
            }
            Some(Facts::Value { .. } | Facts::Inner { .. } | Facts::Children { .. }) => {
                node.cell = cell(&self.reader(), element).into_iter().next();
            }
            Some(Facts::Pages { page, pages, total }) => {
                node.pages = Some(Pages { page: *page, pages: *pages, total: *total, ..Pages::default() });
            }
            Some(Facts::Act { action, asks }) => self.act(&mut node, element, *action, *asks),
            Some(Facts::Input { key, kind }) => {
                node.key = Some(Arc::clone(key));
                node.kind = super::cell::word(kind);
                node.label = self.looks.label(key);
            }
            None => {}
        }
        if element.role == AriaRole::Tab {
            node.label = self.looks.label(element.id.rsplit('/').next().unwrap_or_default());
        }
        self.input(&mut node, element);
        node.children = self.nodes(&element.children);
        if element.role == AriaRole::Search {
            let inner: Vec<&str> = node.children.iter().filter_map(|child| child.field.as_deref()).collect();
            let view = self.sheet.view(self.world).into_iter();
            node.hidden = view.filter(|(word, _)| !inner.contains(&&**word)).collect();
            node.path = self.path();
        }
        if let Some(pages) = self.turned(&node.children) {
            node.pages = Some(pages);
        }
        node
    }

    fn act(&self, node: &mut Node, element: &Element, action: usize, asks: bool) {
        let name = &self.world.app().actions[action].name;
        node.key = Some(Arc::clone(name));
        node.asks = asks;
        if element.name == crate::app::screen::words(name) {
            node.label = self.looks.label(name);
        }
        node.danger = is_danger(name);
    }

    /// The field of an input, and where its options lead.
    fn input(&self, node: &mut Node, element: &Element) {
        let prefix = match element.role {
            AriaRole::Textbox | AriaRole::Searchbox => TEXT,
            AriaRole::Checkbox | AriaRole::Combobox => OPTION,
            _ => return,
        };
        if element.role == AriaRole::Textbox {
            node.suggest = parameter(element).and_then(|name| self.suggestions.get(name)).map(Arc::clone);
        }
        let word = self.sheet.view_word(self.world, &element.id);
        node.field = Some(word.map_or_else(|| format!("{prefix}{}", element.id), ToString::to_string));
        let value = element.value.as_deref().unwrap_or_default();
        for option in &element.options {
            let href = word.map(|word| {
                let mut pairs: Vec<_> =
                    self.sheet.view(self.world).into_iter().filter(|(known, _)| known != word).collect();
                if !option.value.is_empty() {
                    pairs.push((Arc::clone(word), Arc::clone(&option.value)));
                }
                let mut href = self.path();
                crate::screen::query(pairs.iter().map(|(word, value)| (word, value)), &mut href);
                href
            });
            let label = if option.value.is_empty() {
                if word.is_some() { "Any".to_owned() } else { "Choose…".to_owned() }
            } else if matches!(node.kind, "enum" | "bool") {
                self.looks.label(&option.name)
            } else {
                option.name.strip_suffix(&format!(" ({})", option.value)).unwrap_or(&option.name).to_owned()
            };
            node.options.push(Choice {
                value: Arc::clone(&option.value),
                label,
                selected: *option.value == *value,
                href,
            });
        }
    }

    /// Pages that buttons among elements turn.
    fn turned(&self, children: &[Node]) -> Option<Pages> {
        let mut pages = children.iter().find_map(|child| child.pages.clone())?;
        let turn = |part: &str| {
            let button = children.iter().find(|child| child.id.ends_with(part) && !child.disabled);
            button.and_then(|button| button.href.clone())
        };
        pages.previous = turn("/previous-page");
        pages.next = turn("/next-page");
        Some(pages)
    }

    fn list(&self, element: &Element, view: usize) -> List {
        let mut list = self.page_of(element, view);
        self.go_on(&mut list, view);
        if list.rows.len() > self.take {
            list.rows.truncate(self.take);
            list.groups.clear();
        }
        self.finish(&mut list);
        list
    }

    /// The present page of a list.
    fn page_of(&self, element: &Element, view: usize) -> List {
        let view = &self.world.app().views[view];
        let looks = self.looks.lists.get(&view.name).cloned().unwrap_or_default();
        let mut list = List {
            view: Arc::clone(&view.name),
            id: Arc::clone(&element.id),
            label: self.looks.label(&view.name),
            looks,
            back: self.sheet.address.clone(),
            ..List::default()
        };
        list.acts = list.looks.acts.iter().map(|name| self.act_of(name)).collect();
        let mut other = Vec::new();
        for child in &element.children {
            match (child.role, child.facts.as_deref()) {
                (AriaRole::Listitem, Some(Facts::Row(row))) => list.rows.push(Arc::new(self.row(child, *row))),
                (AriaRole::Group, _) if !child.name.is_empty() => {
                    let rows = child.children.iter().filter_map(|item| match item.facts.as_deref() {
                        Some(Facts::Row(row)) => Some(Arc::new(self.row(item, *row))),
                        _ => None,
                    });
                    let rows: Vec<_> = rows.collect();
                    list.rows.extend(rows.iter().cloned());
                    list.groups.push(Group { label: super::cell::heading(self.looks, &child.name), rows });
                }
                (AriaRole::Search, _) => list.controls.push(self.node(child)),
                (AriaRole::Status, None) => list.empty.clone_from(&child.value),
                _ => other.push(self.node(child)),
            }
        }
        list.pages = self.turned(&other);
        list
    }

    /// Puts the rows of the pages before in front of those of the present one.
    fn go_on(&self, list: &mut List, view: usize) {
        let Some(before) = self.earlier.get(&list.id) else { return };
        let present = list.rows.len();
        for sheet in before.sheets.iter().rev() {
            let element = sheet.tree.all().into_iter().find(|element| element.id == list.id);
            if let Some(element) = element {
                list.precede(Self { sheet, ..*self }.page_of(element, view));
            }
        }
        if let Some(pages) = &mut list.pages {
            pages.shown = list.rows.len();
            pages.fresh = pages.shown - present;
            pages.previous.clone_from(&before.previous);
            // Where the next page stands alone it is followed, not put behind this one.
            pages.grows = self.grows && before.goes_on;
        }
    }

    fn act_of(&self, name: &Arc<str>) -> Act {
        let action = self.world.app().actions.iter().find(|action| action.name == *name);
        let asks = action.is_some_and(|action| action.parameters.len() > 1);
        Act { label: self.looks.label(name), danger: is_danger(name), asks, name: Arc::clone(name) }
    }

    /// Rows that belong to a row. That they do need not be said at each.
    fn children(&self, element: &Element, key: &Arc<str>, parent: Option<&str>) -> List {
        let rows = element.children.iter().filter_map(|child| match child.facts.as_deref() {
            Some(Facts::Row(row)) => {
                let mut row = self.row(child, *row);
                row.cells.retain(|cell| parent.is_none() || cell.id.as_deref() != parent);
                Some(Arc::new(row))
            }
            _ => None,
        });
        let looks = self.looks.children.get(key).cloned().unwrap_or_default();
        let (view, label) = (Arc::clone(key), self.looks.label(key));
        let mut list = List { view, label, looks, rows: rows.collect(), ..List::default() };
        let more = element.children.iter().find(|child| child.role == AriaRole::Status);
        list.empty = more.and_then(|more| more.value.clone());
        self.finish(&mut list);
        list
    }

    /// Columns of a list, and the weeks of a month.
    fn finish(&self, list: &mut List) {
        if let Some(first) = list.rows.first() {
            let plain = first.cells.iter();
            let columns =
                plain.map(|cell| Column { key: Arc::clone(&cell.key), label: cell.label.clone(), kind: cell.kind });
            list.columns = columns.collect();
        }
        if list.looks.look == Some("month")
            && let Some(at) = &list.looks.at
        {
            let day = |row: &Row| row.cell.get(at)?.iso.as_deref()?.get(..10).map(str::to_owned);
            list.weeks = weeks(self.world, &list.rows, &day);
        }
    }

    fn row(&self, element: &Element, key: RowKey) -> Row {
        let id = self.world.data().id(key).map(ToString::to_string).unwrap_or_default();
        let link = element.children.iter().find(|child| child.id.ends_with("/open") && child.role == AriaRole::Link);
        let href = match link {
            Some(link) => self.sheet.link(self.world, link),
            None => of_row(self.world, key).filter(|address| *address != self.sheet.address),
        };
        let name = element.name.strip_suffix(&format!(" ({id})")).unwrap_or(&element.name).to_owned();
        let mut row = Row {
            name,
            id,
            element: Arc::clone(&element.id),
            href: href.map(|href| self.address(&href)),
            screen: screen_of(self.world, key.table)
                .map(|place| Arc::clone(&self.world.app().screens.screens[place].name)),
            ..Row::default()
        };
        for child in &element.children {
            match (child.role, child.facts.as_deref()) {
                (AriaRole::List, Some(Facts::Children { key })) => {
                    row.lists.push(self.children(child, key, Some(&row.id.clone())));
                }
                (_, Some(Facts::Value { .. } | Facts::Inner { .. } | Facts::Children { .. })) => {
                    for (number, found) in cell(&self.reader(), child).into_iter().map(Arc::new).enumerate() {
                        // Values of a row that is referred to stand beside the others, and among them only by key.
                        if number == 0 && !found.key.contains('.') {
                            row.cells.push(Arc::clone(&found));
                        }
                        row.cell.insert(Arc::clone(&found.key), found);
                    }
                }
                (AriaRole::Listitem, Some(Facts::Row(below))) => row.rows.push(Arc::new(self.row(child, *below))),
                (AriaRole::Link, _) if child.id.ends_with("/open") => {}
                _ => row.acts.push(self.node(child)),
            }
        }
        row
    }

    const fn reader(&self) -> Reader<'_> {
        Reader { world: self.world, looks: self.looks, base: self.base }
    }
}

impl List {
    /// Puts the rows of an earlier page in front of its own.
    fn precede(&mut self, mut earlier: Self) {
        earlier.rows.append(&mut self.rows);
        for mut group in std::mem::take(&mut self.groups) {
            match earlier.groups.iter_mut().find(|known| known.label == group.label) {
                Some(known) => known.rows.append(&mut group.rows),
                None => earlier.groups.push(group),
            }
        }
        (self.rows, self.groups) = (earlier.rows, earlier.groups);
    }
}

impl Node {
    pub(super) fn role(&self) -> &'static str {
        self.role
    }

    pub(super) fn view(&self) -> Option<Arc<str>> {
        self.list.as_ref().map(|list| Arc::clone(&list.view))
    }

    pub(super) const fn is_row(&self) -> bool {
        self.row.is_some()
    }

    /// The inputs that say what is looked at, with the words that a form of them would lose.
    pub(super) fn toolbar(nodes: &[Self], sheet: &Sheet, world: &World) -> Value {
        let mut inputs: Vec<&Self> = Vec::new();
        let lists: Vec<&List> = nodes.iter().filter_map(|node| node.list.as_ref()).collect();
        let controls = lists.iter().flat_map(|list| list.controls.iter());
        for search in nodes.iter().filter(|node| node.role == "search").chain(controls) {
            inputs.extend(search.children.iter().filter(|child| child.field.is_some()));
        }
        let words: Vec<&str> = inputs.iter().filter_map(|input| input.field.as_deref()).collect();
        let hidden: Vec<_> = sheet.view(world).into_iter().filter(|(word, _)| !words.contains(&&**word)).collect();
        value(BTreeMap::from([
            ("inputs", value(&inputs)),
            ("hidden", value(&hidden)),
            ("lists", Value::from(lists.len())),
        ]))
    }
}

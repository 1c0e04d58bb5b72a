//! Accessibility tree that an actor sees: a tree of elements with stable ids, close to the accessibility tree of a browser.

use std::sync::Arc;

use serde::Serialize;

use super::command::Command;
use crate::kinds::Type;
use crate::value::{RowKey, Value};

/// Tree of the screen.
#[derive(Debug, Clone, Serialize)]
pub struct Tree {
    /// The screen's name.
    pub screen: Arc<str>,
    /// The screen's heading.
    pub title: String,
    /// True if there is a screen to go back to.
    pub back: bool,
    /// Visible part of the long texts, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scroll: Option<Scrolled>,
    /// From the top.
    pub elements: Vec<Element>,
}

/// Visible part of long texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Scrolled {
    /// From 1.
    pub part: usize,
    /// Their number.
    pub parts: usize,
}

/// One thing on the screen.
#[derive(Debug, Clone, Serialize)]
pub struct Element {
    /// Screen, widget, row key and part, as far as each applies; unique, and empty for what is only text.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub id: Arc<str>,
    /// Role.
    pub role: AriaRole,
    /// Name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Options to select from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// True if nothing can be done with it now.
    #[serde(skip_serializing_if = "is_false")]
    pub disabled: bool,
    /// True if it must be filled in.
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    /// True if it takes several lines.
    #[serde(skip_serializing_if = "is_false")]
    pub multiline: bool,
    /// Error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Element>,
    #[serde(skip)]
    pub(super) command: Option<Command>,
    /// Its subject, for pages that show it in a way of its own.
    #[serde(skip)]
    pub(crate) facts: Option<Box<Facts>>,
}

/// Subject of an element. It says nothing that the element does not show.
#[derive(Debug, Clone)]
pub(crate) enum Facts {
    /// A value, by the name of its column.
    Value { key: Arc<str>, value: Value, kind: Type },
    /// Values of a row that a column refers to, by the name of the column.
    Inner { key: Arc<str>, cells: Vec<Element> },
    /// Rows that belong to one, by their name.
    Children { key: Arc<str> },
    /// A row.
    Row(RowKey),
    /// The rows of a view.
    List { view: usize },
    /// A page of so many, with the number of all rows.
    Pages { page: usize, pages: usize, total: usize },
    /// An input, by the name of its parameter.
    Input { key: Arc<str>, kind: Type },
    /// Runs an action, with or without inputs.
    Act { action: usize, asks: bool },
}

/// Something that can be selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Key of the selection.
    pub value: Arc<str>,
    /// As it is shown.
    pub name: String,
}

/// Role of an element, by WAI-ARIA 1.2 where one fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AriaRole {
    /// Links to screens.
    Navigation,
    /// A title.
    Heading,
    /// Outcome of an action, or the state of something.
    Status,
    /// Error message.
    Alert,
    /// Goes somewhere.
    Link,
    /// Does something.
    Button,
    /// Takes text.
    Textbox,
    /// Takes words to look for.
    Searchbox,
    /// Is `true` or `false`.
    Checkbox,
    /// Takes one of its options.
    Combobox,
    /// Rows.
    List,
    /// A row.
    Listitem,
    /// A value with its name.
    Cell,
    /// Inputs with their button.
    Form,
    /// Inputs that narrow a list.
    Search,
    /// Dialog in front of the rest.
    Dialog,
    /// Tabs side by side.
    Tablist,
    /// Shows one of several bodies.
    Tab,
    /// Things that belong together.
    Group,
}

impl AriaRole {
    /// The word of JSON and text.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Navigation => "navigation",
            Self::Heading => "heading",
            Self::Status => "status",
            Self::Alert => "alert",
            Self::Link => "link",
            Self::Button => "button",
            Self::Textbox => "textbox",
            Self::Searchbox => "searchbox",
            Self::Checkbox => "checkbox",
            Self::Combobox => "combobox",
            Self::List => "list",
            Self::Listitem => "listitem",
            Self::Cell => "cell",
            Self::Form => "form",
            Self::Search => "search",
            Self::Dialog => "dialog",
            Self::Tablist => "tablist",
            Self::Tab => "tab",
            Self::Group => "group",
        }
    }
}

impl Element {
    pub(super) fn new(role: AriaRole, id: impl Into<Arc<str>>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            role,
            name: name.into(),
            value: None,
            hint: None,
            options: Vec::new(),
            disabled: false,
            required: false,
            multiline: false,
            invalid: None,
            children: Vec::new(),
            command: None,
            facts: None,
        }
    }

    pub(super) fn text(role: AriaRole, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..Self::new(role, "", "") }
    }

    pub(super) fn holding(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    pub(super) fn with(self, children: Vec<Self>) -> Self {
        Self { children, ..self }
    }

    pub(super) fn about(self, facts: Facts) -> Self {
        Self { facts: Some(Box::new(facts)), ..self }
    }

    pub(super) fn doing(self, command: Command) -> Self {
        Self { command: Some(command), ..self }
    }

    /// True if an actor can do something with it.
    #[must_use]
    pub const fn is_actionable(&self) -> bool {
        self.command.is_some() && !self.disabled
    }

    fn find(&self, id: &str) -> Option<&Self> {
        if *self.id == *id && self.command.is_some() {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(id))
    }

    fn visit<'t>(&'t self, seen: &mut Vec<&'t Self>) {
        seen.push(self);
        self.children.iter().for_each(|child| child.visit(seen));
    }
}

impl Tree {
    /// The element of an id with which something can be done.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Element> {
        self.elements.iter().find_map(|element| element.find(id))
    }

    /// Every element, from the top.
    #[must_use]
    pub fn all(&self) -> Vec<&Element> {
        let mut seen = Vec::new();
        self.elements.iter().for_each(|element| element.visit(&mut seen));
        seen
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

//! A strict reader of nodes. It notes every fault with its place and goes on, so that an author sees all of them at once.
//!
//! [`At`] is a node together with its path. Its accessors give `None` after noting a fault, so a part of a definition
//! reads like a table of its fields, and every field is looked at before the first bad one ends the part:
//!
//! ```
//! use palestra_apps::syntax::read::{At, read};
//! use palestra_apps::syntax::source::Source;
//! use palestra_apps::syntax::yaml;
//!
//! struct Guard {
//!     check: Source,
//!     code: std::sync::Arc<str>,
//!     order: Option<i64>,
//! }
//!
//! fn guard(at: &At<'_>) -> Option<Guard> {
//!     let mut fields = at.fields()?;
//!     let check = fields.required("check").and_then(|at| at.source());
//!     let code = fields.required("else").and_then(|at| at.identifier(&[]));
//!     let order = fields.optional("order").and_then(|at| at.int_in(1..=9));
//!     fields.finish();
//!     Some(Guard { check: check?, code: code?, order })
//! }
//!
//! let root = yaml::parse("app.yaml", "[{check: a > 0, esle: poor, order: 12}]").expect("nodes");
//! let faults = read(&root, |at| at.list(guard)).map(|_| ()).expect_err("three faults");
//! let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
//! assert_eq!(told, [
//!     "app.yaml:1:2: [0]: the field `else` is missing: add it",
//!     "app.yaml:1:17: [0].esle: unknown field `esle`; did you mean `else`? known: check, else, order",
//!     "app.yaml:1:36: [0].order: expected a number from 1 to 9, found 12",
//! ]);
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use crate::fault::{Fault, Faults, Position};

use super::node::{Content, Key, Node};
use super::source::Source;
use super::{MAX_FAULTS, nearest, shown};

/// Characters of an identifier.
pub const MAX_IDENTIFIER: usize = 40;

/// Reads a definition from its root.
///
/// # Errors
/// Every fault that was noted on the way, in the order of files and places, and at most [`MAX_FAULTS`]. A reader that
/// gives nothing without noting a fault counts as one at the root.
pub fn read<'n, T>(root: &'n Node, reader: impl FnOnce(&At<'n>) -> Option<T>) -> Result<T, Faults> {
    let at = At { faults: Rc::default(), node: root, path: Arc::from("") };
    let value = reader(&at);
    if value.is_none() && at.faults.borrow().is_empty() {
        at.fault("this could not be read");
    }
    let mut faults = at.faults.take();
    match value {
        Some(value) if faults.is_empty() => Ok(value),
        _ => {
            faults.sort();
            faults.truncate(MAX_FAULTS);
            Err(faults)
        }
    }
}

/// A node with its path, and where its faults go. Cheap to clone.
#[derive(Debug, Clone)]
pub struct At<'n> {
    faults: Rc<RefCell<Faults>>,
    node: &'n Node,
    path: Arc<str>,
}

impl<'n> At<'n> {
    /// The node itself.
    #[must_use]
    pub const fn node(&self) -> &'n Node {
        self.node
    }

    /// Content of the node.
    #[must_use]
    pub const fn value(&self) -> &'n Content {
        &self.node.value
    }

    /// Where it begins.
    #[must_use]
    pub const fn position(&self) -> &'n Position {
        &self.node.position
    }

    /// Its path in the definition: `actions.lend.guards[1].check`; empty for the root.
    #[must_use]
    pub const fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Notes a fault here.
    pub fn fault(&self, message: impl Into<String>) {
        self.note(&self.node.position, self.path.to_string(), message.into());
    }

    /// Notes a fault that was found elsewhere, as one of a [`Source`].
    pub fn add(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    /// True if it is null, which no other accessor but [`Self::source`] takes.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.node.value, Content::Null)
    }

    /// Text. A number or a truth value is none until it is quoted.
    #[must_use]
    pub fn text(&self) -> Option<Arc<str>> {
        match &self.node.value {
            Content::Text(text) => Some(text.clone()),
            Content::Int(_) | Content::Bool(_) => self.expected("text (quote it)"),
            _ => self.expected("text"),
        }
    }

    /// Text that is not empty and not longer than some number of characters.
    #[must_use]
    pub fn text_within(&self, most: usize) -> Option<Arc<str>> {
        let text = self.text()?;
        match text.chars().count() {
            1.. if text.trim().is_empty() => self.refuse("expected text, found blanks".to_owned()),
            0 => self.refuse("expected text, found an empty one".to_owned()),
            count if count > most => self.refuse(format!("expected at most {most} characters, found {count}")),
            _ => Some(text),
        }
    }

    /// A truth value.
    #[must_use]
    pub fn bool(&self) -> Option<bool> {
        match self.node.value {
            Content::Bool(value) => Some(value),
            _ => self.expected("true or false"),
        }
    }

    /// A whole number.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        match self.node.value {
            Content::Int(value) => Some(value),
            _ => self.expected("a whole number"),
        }
    }

    /// A whole number within bounds, both of which it may reach.
    #[must_use]
    pub fn int_in(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.int()?;
        if range.contains(&value) {
            return Some(value);
        }
        self.refuse(format!("expected a number from {} to {}, found {value}", range.start(), range.end()))
    }

    /// One of some words.
    #[must_use]
    pub fn one_of<'w>(&self, words: &[&'w str]) -> Option<&'w str> {
        if let Some(text) = self.node.as_text()
            && let Some(word) = words.iter().copied().find(|word| *word == &**text)
        {
            return Some(word);
        }
        let meant = self.node.as_text().and_then(|text| nearest(text, words.iter().copied()));
        let hint = meant.map_or_else(String::new, |word| format!("; did you mean `{word}`?"));
        self.refuse(format!("expected one of {}, found {}{hint}", words.join(", "), self.node.value.describe()))
    }

    /// Value of one of some words.
    #[must_use]
    pub fn choice<T: Clone>(&self, table: &[(&str, T)]) -> Option<T> {
        let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
        let chosen = self.one_of(&words)?;
        table.iter().find(|(word, _)| *word == chosen).map(|(_, meaning)| meaning.clone())
    }

    /// A name in small letters, digits and underscores that begins with a letter, has at most [`MAX_IDENTIFIER`]
    /// characters and is not among the reserved words.
    #[must_use]
    pub fn identifier(&self, reserved: &[&str]) -> Option<Arc<str>> {
        let Content::Text(text) = &self.node.value else { return self.expected("a name") };
        match check_identifier(text, reserved) {
            Ok(()) => Some(text.clone()),
            Err(message) => self.refuse(message),
        }
    }

    /// An expression or a template: text as it is, and numbers, truth values and null as they are spelt in one.
    #[must_use]
    pub fn source(&self) -> Option<Source> {
        let text = match &self.node.value {
            Content::Text(text) => text.clone(),
            Content::Int(value) => Arc::from(value.to_string()),
            Content::Bool(value) => Arc::from(value.to_string()),
            Content::Null => Arc::from("null"),
            Content::List(_) | Content::Map(_) => return self.expected("an expression"),
        };
        let (position, path) = (self.node.position.clone(), self.path.clone());
        Some(Source { text, position, path, inset: self.node.style.inset })
    }

    /// The elements of a list.
    #[must_use]
    pub fn elements(&self) -> Option<Vec<Self>> {
        let Content::List(nodes) = &self.node.value else { return self.expected("a list") };
        Some(nodes.iter().enumerate().map(|(index, node)| self.below(node, &format!("[{index}]"))).collect())
    }

    /// The elements of a list, each read; `None` if any of them is bad, after all were read.
    #[must_use]
    pub fn list<T>(&self, mut read: impl FnMut(&Self) -> Option<T>) -> Option<Vec<T>> {
        all(self.elements()?.iter().map(&mut read))
    }

    /// The entries of a map in their order, whatever their keys.
    #[must_use]
    pub fn entries(&self) -> Option<Vec<(&'n Key, Self)>> {
        let Content::Map(entries) = &self.node.value else { return self.expected("a map") };
        Some(entries.iter().map(|(key, node)| (key, self.below(node, &key.text))).collect())
    }

    /// The entries of a map whose keys are identifiers, each read with its name; `None` if any name or entry is bad, after
    /// all were read.
    #[must_use]
    pub fn named<T>(&self, reserved: &[&str], mut read: impl FnMut(&Key, &Self) -> Option<T>) -> Option<Vec<T>> {
        all(self.entries()?.into_iter().map(|(key, at)| {
            let name = check_identifier(&key.text, reserved)
                .map_err(|message| self.note(&key.position, at.path.to_string(), message));
            let value = read(key, &at);
            name.ok().and(value)
        }))
    }

    /// The fields of a map.
    #[must_use]
    pub fn fields(&self) -> Option<Fields<'n>> {
        let Content::Map(entries) = &self.node.value else { return self.expected("a map") };
        Some(Fields { at: self.clone(), entries, known: Vec::new() })
    }

    /// The single field of a map and its value, where the field says what the map is: `insert: {...}`.
    #[must_use]
    pub fn variant(&self, words: &[&'static str]) -> Option<(&'static str, Self)> {
        let Content::Map(entries) = &self.node.value else { return self.expected("a map") };
        let [(key, node)] = entries.as_slice() else {
            return self.refuse(format!("expected one field, found {}: {}", entries.len(), words.join(", ")));
        };
        let at = self.below(node, &key.text);
        if let Some(word) = words.iter().copied().find(|word| *word == &*key.text) {
            return Some((word, at));
        }
        self.note(&key.position, at.path.to_string(), unknown(&key.text, words));
        None
    }

    /// Notes what was expected instead of this.
    pub fn expected<T>(&self, what: &str) -> Option<T> {
        self.refuse(format!("expected {what}, found {}", self.node.value.describe()))
    }

    fn refuse<T>(&self, message: String) -> Option<T> {
        self.fault(message);
        None
    }

    fn note(&self, position: &Position, path: String, message: String) {
        self.add(Fault { position: position.clone(), path, message });
    }

    fn below(&self, node: &'n Node, segment: &str) -> Self {
        let dot = if self.path.is_empty() || segment.starts_with('[') { "" } else { "." };
        Self { faults: Rc::clone(&self.faults), node, path: Arc::from(format!("{}{dot}{}", self.path, shown(segment))) }
    }
}

/// The fields of a map, which must all be known by the time of [`Self::finish`].
#[derive(Debug)]
#[must_use = "unknown fields pass unless `finish` is called"]
pub struct Fields<'n> {
    at: At<'n>,
    entries: &'n [(Key, Node)],
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// A field that has to be there; its absence is a fault.
    pub fn required(&mut self, name: &'static str) -> Option<At<'n>> {
        let field = self.optional(name);
        if field.is_none() {
            self.at.fault(format!("the field `{name}` is missing: add it"));
        }
        field
    }

    /// A field that may be left out.
    pub fn optional(&mut self, name: &'static str) -> Option<At<'n>> {
        self.known.push(name);
        let (_, node) = self.entries.iter().find(|(key, _)| &*key.text == name)?;
        Some(self.at.below(node, name))
    }

    /// The map itself.
    #[must_use]
    pub const fn at(&self) -> &At<'n> {
        &self.at
    }

    /// Notes each field that nobody asked for.
    pub fn finish(self) {
        let known: BTreeSet<&str> = self.known.iter().copied().collect();
        for (key, node) in self.entries.iter().filter(|(key, _)| !known.contains(&*key.text)) {
            let path = self.at.below(node, &key.text).path.to_string();
            self.at.note(&key.position, path, unknown(&key.text, &self.known));
        }
    }
}

/// Checks that text is an identifier; see [`At::identifier`].
///
/// # Errors
/// What is wrong with it.
pub fn check_identifier(text: &str, reserved: &[&str]) -> Result<(), String> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let is_snake_case =
        text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '_');
    if !is_snake_case {
        let rule = "is no name: small letters, digits and underscores, a letter first";
        Err(format!("`{}` {rule}", shown(text)))
    } else if text.len() > MAX_IDENTIFIER {
        Err(format!("`{}` is longer than the {MAX_IDENTIFIER} characters of a name: shorten it", shown(text)))
    } else if reserved.contains(&text) {
        Err(format!("`{text}` is a reserved word: choose another name"))
    } else {
        Ok(())
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    let meant = nearest(name, known.iter().copied());
    let hint = meant.map_or_else(String::new, |word| format!("did you mean `{word}`? "));
    format!("unknown field `{}`; {hint}known: {}", shown(name), known.join(", "))
}

/// All of them, or none; every one is asked for in either case.
fn all<T>(values: impl ExactSizeIterator<Item = Option<T>>) -> Option<Vec<T>> {
    let count = values.len();
    let values: Vec<T> = values.flatten().collect();
    (values.len() == count).then_some(values)
}

//! Small web pages with one kind of control each: dates, sliders, tables, trees, drawing. Each is made from a seed in one of four
//! levels. A page sends what was entered to its server, which judges it; no script of a page knows what is right. A new widget is one
//! file in the folder of its category, and a line in the list there.

mod canvas;
mod choosing;
mod dates;
mod desk;
mod dragging;
mod draw;
mod drawing;
mod files;
mod forms;
mod frames;
mod numbers;
mod page;
mod panels;
mod scrolling;
mod seeing;
mod steps;
mod tables;
mod texts;
mod trees;
mod wanted;
mod words;

use std::collections::BTreeMap;

use serde_json::Value;

pub use draw::{Draw, Level};
pub use page::{document, page_of, sent};
pub use wanted::{Check, Wanted};
pub use words::{MONTHS, WEEKDAYS, clock, long};

/// One widget.
#[derive(Clone, Copy)]
pub struct Widget {
    /// Its name: letters, digits and `-`.
    pub name: &'static str,
    /// Its skill, as one sentence.
    pub about: &'static str,
    /// Draws a task. The same draw gives the same task.
    pub draw: fn(&mut Draw) -> Task,
}

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// The instruction: everything that one has to know.
    pub instruction: String,
    /// Title of the page.
    pub title: &'static str,
    /// Markup of the page's main part. Text in it is escaped by [`page::text`](crate::text).
    pub body: String,
    /// Rules of style, beside those of all pages.
    pub style: &'static str,
    /// Script of the page. `data` is the JSON below; `send(state)` sends what was entered, once.
    pub script: &'static str,
    /// Data for the script: nothing that gives the answer away beyond what the page shows.
    pub data: Value,
    /// Other documents of the page, for its frames, by path: `/frame/1`.
    pub documents: BTreeMap<String, String>,
    /// Files that the agent can upload, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Right state.
    pub wanted: Wanted,
    /// Actions that lead there, as BrowserGym writes them; elements by role and name, or by selector.
    pub solution: Vec<String>,
}

impl Task {
    /// A task without documents and files.
    #[must_use]
    pub fn new(title: &'static str, instruction: impl Into<String>, wanted: Wanted) -> Self {
        Self {
            instruction: instruction.into(),
            title,
            body: String::new(),
            style: "",
            script: "",
            data: Value::Null,
            documents: BTreeMap::new(),
            files: Vec::new(),
            wanted,
            solution: Vec::new(),
        }
    }
}

/// Text in markup, in an element or between double quotes.
#[must_use]
pub fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// An argument of an action, in quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// The element of a role and a name, as an argument of an action.
#[must_use]
pub fn named(role: &str, name: &str) -> String {
    quoted(&format!("role={role}[name={}]", Value::from(name)))
}

/// Every widget, by category.
#[must_use]
pub fn all() -> Vec<Widget> {
    [
        choosing::widgets(),
        dates::widgets(),
        desk::widgets(),
        dragging::widgets(),
        drawing::widgets(),
        files::widgets(),
        forms::widgets(),
        frames::widgets(),
        numbers::widgets(),
        panels::widgets(),
        scrolling::widgets(),
        seeing::widgets(),
        tables::widgets(),
        texts::widgets(),
        trees::widgets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

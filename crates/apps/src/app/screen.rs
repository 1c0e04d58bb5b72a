//! Screens: what stands on them, and what its parts lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expression::{Checked, Template};
use crate::kinds::{ColumnId, TableId, Type};

pub use crate::definition::screen::Layout;

/// Part of ids for the link of a row to its screen.
pub(crate) const OPEN: &str = "open";

/// The screens of an app; the first is home.
#[derive(Debug)]
pub struct Screens {
    /// In the order of the definition; never empty.
    pub screens: Vec<Screen>,
    /// By table: the column by whose text people know a row.
    pub labels: Vec<Option<ColumnId>>,
}

/// A screen.
#[derive(Debug)]
pub struct Screen {
    /// Its name, unique.
    pub name: Arc<str>,
    /// Its heading, with the arguments as locals.
    pub title: Template,
    /// Label of its links.
    pub label: Arc<str>,
    /// Arguments; these are the first locals of its expressions.
    pub args: Vec<(Arc<str>, Type)>,
    /// Widgets, from the top.
    pub body: Vec<Widget>,
    /// By view: the list of it on this screen, and what belongs to that list.
    pub(crate) controls: BTreeMap<usize, Controls>,
    /// Inputs that say what of it is looked at, in the order of an address.
    pub(crate) view_inputs: Vec<ViewInput>,
}

/// An input of a screen that says what is looked at there: a tab, a page, words to look for. It stands in the address.
#[derive(Debug)]
pub(crate) struct ViewInput {
    /// Its name in the query of an address.
    pub(crate) word: Arc<str>,
    /// Its key among the inputs of the screen.
    pub(crate) key: Arc<str>,
    /// Kind of value that it holds.
    pub(crate) kind: ViewInputKind,
}

/// Kind of value of an input that stands in the address.
#[derive(Debug)]
pub(crate) enum ViewInputKind {
    /// The name of a body; the first where left out.
    Tab(Vec<Arc<str>>),
    /// The page of a list, from 1.
    Page,
    /// The order of a list; the first where left out.
    Sort(Vec<Arc<str>>),
    /// Words to look for.
    Search,
    /// The value of a column.
    Filter(TableId, ColumnId),
    /// A parameter of a view.
    Asked(Type),
}

impl ViewInput {
    /// True if a text is what the input holds when nobody said anything.
    pub(crate) fn is_default(&self, text: &str) -> bool {
        match &self.kind {
            ViewInputKind::Tab(words) | ViewInputKind::Sort(words) => {
                words.first().is_some_and(|first| **first == *text)
            }
            ViewInputKind::Page => text == "1",
            ViewInputKind::Search | ViewInputKind::Filter(..) => text.is_empty(),
            ViewInputKind::Asked(_) => false,
        }
    }
}

/// Controls of the list of a view on a screen, by widget ids.
#[derive(Debug)]
pub(crate) struct Controls {
    pub(crate) list: Arc<List>,
    pub(crate) search: Option<Arc<str>>,
    pub(crate) filters: Option<Arc<str>>,
    pub(crate) pager: Option<Arc<str>>,
}

/// A widget.
#[derive(Debug)]
pub struct Widget {
    /// Unique on its screen, or among the widgets of a row.
    pub id: Arc<str>,
    /// Kind of widget.
    pub kind: WidgetKind,
}

impl Widget {
    /// Widgets within it that stand in the same scope.
    pub(crate) fn bodies(&self) -> Vec<&[Self]> {
        match &self.kind {
            WidgetKind::Tabs(bodies) | WidgetKind::Steps(bodies) => bodies.iter().map(|(_, body)| &**body).collect(),
            WidgetKind::Dialog { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }
}

/// Kind of widget. Views, actions and screens are meant by their place in the app.
#[derive(Debug)]
pub enum WidgetKind {
    /// The rows of a view.
    List(Arc<List>),
    /// Looks for words in the list of a view.
    Search(usize),
    /// Narrows the list of a view.
    Filters(usize),
    /// Turns the pages of the list of a view.
    Pager(usize),
    /// The row that an argument of the screen names.
    Detail {
        /// The argument.
        arg: usize,
        /// Details shown of it.
        shows: Details,
    },
    /// Computed lines.
    Summary(Vec<(Arc<str>, Checked)>),
    /// Inputs for an action, and a button.
    Form(Arc<Form>),
    /// A button that runs an action, or asks first.
    Button(Arc<Form>),
    /// A link to another screen, or inputs for its arguments.
    Goto(Arc<Link>),
    /// A line of text.
    Banner {
        /// The text.
        text: Template,
        /// Condition of its visibility.
        when: Option<Checked>,
    },
    /// One of several bodies, chosen by name.
    Tabs(Vec<(Arc<str>, Vec<Widget>)>),
    /// One of several bodies, one after the other.
    Steps(Vec<(Arc<str>, Vec<Widget>)>),
    /// A body that is seen when it is asked for.
    Dialog {
        /// Label of the button.
        label: Arc<str>,
        /// Widgets in it.
        body: Vec<Widget>,
    },
}

/// The rows of a view.
#[derive(Debug)]
pub struct List {
    /// The widget's id.
    pub id: Arc<str>,
    /// The view.
    pub view: usize,
    /// Layout of the rows.
    pub layout: Layout,
    /// For the view's own parameters, and for the id that a view of one row takes.
    pub args: Vec<Given>,
    /// The screen that shows a row.
    pub open: Option<usize>,
    /// Widgets at each row, which is the last local.
    pub row: Vec<Widget>,
    /// The column that rows are grouped by.
    pub by: Option<ColumnId>,
    /// Text of an empty list.
    pub empty: Option<Template>,
}

/// Details shown of a row.
#[derive(Debug)]
pub enum Details {
    /// These columns.
    Columns(Vec<ColumnId>),
    /// The fields of a view.
    View(usize),
}

/// Where the value of a parameter comes from.
#[derive(Debug)]
pub enum Given {
    /// The screen says it.
    Expression(Checked),
    /// Its default, or null.
    Default,
    /// An input.
    Asked,
}

/// Form that runs an action.
#[derive(Debug)]
pub struct Form {
    /// The action.
    pub action: usize,
    /// By parameter: its value, or none where it is asked for.
    pub fix: Vec<Option<Checked>>,
    /// Target afterwards.
    pub then: Option<LinkTarget>,
    /// Label of the button.
    pub label: Template,
    /// True if it asks again.
    pub confirm: bool,
}

impl Form {
    /// True if anything is asked for.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.fix.iter().any(Option::is_none)
    }
}

/// Target of a link.
#[derive(Debug)]
pub struct LinkTarget {
    /// The screen.
    pub screen: usize,
    /// By argument of that screen.
    pub args: Vec<Given>,
}

/// A link to another screen.
#[derive(Debug)]
pub struct Link {
    /// The target.
    pub way: LinkTarget,
    /// Label.
    pub label: Template,
}

impl Link {
    /// True if any argument is asked for.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.way.args.iter().any(|given| matches!(given, Given::Asked))
    }
}

/// `give_back` as `Give back`.
pub(crate) fn words(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

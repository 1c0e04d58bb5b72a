//! Screens: what stands on them, and what its parts lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expression::{Checked, Template};
use crate::kinds::{ColumnId, Type};

pub use crate::definition::screen::Layout;

/// What the link of a row to its screen is called in ids.
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
    /// What it is called where it is linked from.
    pub label: Arc<str>,
    /// What it is about; these are the first locals of its expressions.
    pub args: Vec<(Arc<str>, Type)>,
    /// What stands on it, from the top.
    pub body: Vec<Widget>,
    /// By view: the list of it on this screen, and what belongs to that list.
    pub(crate) controls: BTreeMap<usize, Controls>,
}

/// What belongs to the list of a view on a screen, by widget ids.
#[derive(Debug)]
pub(crate) struct Controls {
    pub(crate) list: Arc<List>,
    pub(crate) search: Option<Arc<str>>,
    pub(crate) filters: Option<Arc<str>>,
    pub(crate) pager: Option<Arc<str>>,
}

/// Something on a screen.
#[derive(Debug)]
pub struct Widget {
    /// Unique on its screen, or among the widgets of a row.
    pub id: Arc<str>,
    /// What it is.
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

/// What a widget is. Views, actions and screens are meant by their place in the app.
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
        /// Which argument.
        arg: usize,
        /// What is shown of it.
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
        /// When it is there.
        when: Option<Checked>,
    },
    /// One of several bodies, chosen by name.
    Tabs(Vec<(Arc<str>, Vec<Widget>)>),
    /// One of several bodies, one after the other.
    Steps(Vec<(Arc<str>, Vec<Widget>)>),
    /// A body that is seen when it is asked for.
    Dialog {
        /// What the button says.
        label: Arc<str>,
        /// What stands in it.
        body: Vec<Widget>,
    },
}

/// The rows of a view.
#[derive(Debug)]
pub struct List {
    /// The widget's id.
    pub id: Arc<str>,
    /// Which view.
    pub view: usize,
    /// How rows are laid out.
    pub layout: Layout,
    /// For the view's own parameters, and for the id that a view of one row takes.
    pub args: Vec<Given>,
    /// The screen that shows a row.
    pub open: Option<usize>,
    /// Widgets at each row, which is the last local.
    pub row: Vec<Widget>,
    /// The column that rows are grouped by.
    pub by: Option<ColumnId>,
    /// What is said where there is none.
    pub empty: Option<Template>,
}

/// What is shown of a row.
#[derive(Debug)]
pub enum Details {
    /// These columns.
    Columns(Vec<ColumnId>),
    /// What a view shows.
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

/// What runs an action.
#[derive(Debug)]
pub struct Form {
    /// Which action.
    pub action: usize,
    /// By parameter: its value, or none where it is asked for.
    pub fix: Vec<Option<Checked>>,
    /// Where one goes to afterwards.
    pub then: Option<Way>,
    /// What the button says.
    pub label: Template,
    /// Whether it asks again.
    pub confirm: bool,
}

impl Form {
    /// Whether anything is asked for.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.fix.iter().any(Option::is_none)
    }
}

/// Where one goes to.
#[derive(Debug)]
pub struct Way {
    /// Which screen.
    pub screen: usize,
    /// By argument of that screen.
    pub args: Vec<Given>,
}

/// A link to another screen.
#[derive(Debug)]
pub struct Link {
    /// Where to.
    pub way: Way,
    /// What it says.
    pub label: Template,
}

impl Link {
    /// Whether any argument is asked for.
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

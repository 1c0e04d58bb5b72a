//! `screens`: the graphical surface.

use std::sync::Arc;

use super::action::RESERVED;
use super::kind::KindDefinition;
use super::{Bindings, Entries, Name, bindings, listed, maybe};
use crate::syntax::read::{At, Fields};
use crate::syntax::source::Source;

/// A screen.
#[derive(Debug, Clone)]
pub struct ScreenDefinition {
    /// Template.
    pub title: Source,
    /// Arguments.
    pub args: Entries<KindDefinition>,
    /// Widgets, from the top.
    pub body: Vec<WidgetDefinition>,
}

/// A widget.
#[derive(Debug, Clone)]
pub struct WidgetDefinition {
    /// Its position.
    pub name: Name,
    /// The widget.
    pub widget: WidgetKind,
}

/// Layout of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One row below the other.
    List,
    /// By day.
    Calendar,
    /// As a conversation.
    Thread,
    /// Side by side.
    Grid,
    /// In columns by a value.
    Board,
    /// Under one another.
    Tree,
}

impl Layout {
    /// Every layout by its word.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("list", Self::List),
        ("calendar", Self::Calendar),
        ("thread", Self::Thread),
        ("grid", Self::Grid),
        ("board", Self::Board),
        ("tree", Self::Tree),
    ];
}

/// Target of a link.
#[derive(Debug, Clone)]
pub struct LinkTarget {
    /// The screen.
    pub screen: Name,
    /// Arguments.
    pub args: Bindings,
}

/// Kind of widget.
#[derive(Debug, Clone)]
pub enum WidgetKind {
    /// The rows of a view.
    List {
        /// Layout of the rows.
        layout: Layout,
        /// The view.
        view: Name,
        /// For its parameters.
        args: Bindings,
        /// The screen that shows a row.
        open: Option<Name>,
        /// Buttons at each row.
        row: Vec<WidgetDefinition>,
        /// The column that rows are grouped by.
        by: Option<Name>,
        /// Text of an empty list.
        empty: Option<Source>,
    },
    /// Looks for words in the view's list.
    Search(Name),
    /// Narrows the view's list.
    Filters(Name),
    /// Turns the pages of the view's list.
    Pager(Name),
    /// The row that the screen is about.
    Detail {
        /// The argument of the screen.
        arg: Name,
        /// The columns; all where left out.
        show: Option<Vec<Name>>,
    },
    /// Computed lines.
    Summary(Bindings),
    /// Inputs for an action.
    Form {
        /// The action.
        action: Name,
        /// Parameters that are not asked for.
        fix: Bindings,
        /// Target afterwards.
        then: Option<LinkTarget>,
        /// Label of the button.
        label: Option<Source>,
    },
    /// Runs an action.
    Button {
        /// The action.
        action: Name,
        /// Parameters that are not asked for.
        fix: Bindings,
        /// Target afterwards.
        then: Option<LinkTarget>,
        /// Label.
        label: Option<Source>,
        /// True if it asks again.
        confirm: bool,
    },
    /// Goes to another screen.
    Goto {
        /// The target.
        way: LinkTarget,
        /// Label.
        label: Option<Source>,
    },
    /// A line of text.
    Banner {
        /// Template.
        text: Source,
        /// Condition of its visibility.
        when: Option<Source>,
    },
    /// One of several bodies is seen, chosen by name.
    Tabs(Entries<Vec<WidgetDefinition>>),
    /// One of several bodies is seen, one after the other.
    Steps(Entries<Vec<WidgetDefinition>>),
    /// A body that is seen when it is asked for.
    Dialog {
        /// Label of the button.
        label: Arc<str>,
        /// Widgets in it.
        body: Vec<WidgetDefinition>,
    },
}

impl ScreenDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let title = maybe(fields.optional("title"), At::source);
        let args = listed(fields.optional("args"), |at| {
            at.named(&RESERVED, |key, at| Some((Name::of_key(key, at), KindDefinition::read(at)?)))
        });
        let body = fields.required("body").and_then(|at| widgets(&at));
        fields.finish();
        let title =
            title?.unwrap_or_else(|| Source::new(words(at.path()), at.position().clone(), Arc::clone(at.path())));
        Some(Self { title, args: args?, body: body? })
    }
}

/// `screens.open_loans` as `Open loans`.
fn words(path: &str) -> String {
    let mut words = path.rsplit('.').next().unwrap_or(path).replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

fn widgets(at: &At<'_>) -> Option<Vec<WidgetDefinition>> {
    at.list(|at| Some(WidgetDefinition { name: Name::at("".into(), at), widget: widget(at)? }))
}

const WIDGETS: [&str; 17] = [
    "list", "calendar", "thread", "grid", "board", "tree", "search", "filters", "pager", "detail", "summary", "form",
    "button", "goto", "banner", "tabs", "steps",
];

fn widget(at: &At<'_>) -> Option<WidgetKind> {
    let mut fields = at.fields()?;
    if let Some(inner) = fields.optional("dialog") {
        let kind = dialog(&inner);
        fields.finish();
        return kind;
    }
    let Some((word, inner)) = WIDGETS.iter().find_map(|word| Some((*word, fields.optional(word)?))) else {
        return at.expected(&format!("one of {}, dialog", WIDGETS.join(", ")));
    };
    let kind = match word {
        "search" => Name::read(&inner).map(WidgetKind::Search),
        "filters" => Name::read(&inner).map(WidgetKind::Filters),
        "pager" => Name::read(&inner).map(WidgetKind::Pager),
        "detail" => {
            let show = maybe(fields.optional("show"), |at| at.list(Name::read));
            let arg = Name::read(&inner);
            Some(WidgetKind::Detail { arg: arg?, show: show? })
        }
        "summary" => bindings(&inner).map(WidgetKind::Summary),
        "form" | "button" => acting(word, &inner, &mut fields),
        "goto" => {
            let args = listed(fields.optional("args"), bindings);
            let label = maybe(fields.optional("label"), At::source);
            let screen = Name::read(&inner);
            Some(WidgetKind::Goto { way: LinkTarget { screen: screen?, args: args? }, label: label? })
        }
        "banner" => {
            let when = maybe(fields.optional("when"), At::source);
            let text = inner.source();
            Some(WidgetKind::Banner { text: text?, when: when? })
        }
        "tabs" => bodies(&inner).map(WidgetKind::Tabs),
        "steps" => bodies(&inner).map(WidgetKind::Steps),
        layout => list(layout, &inner, &mut fields),
    };
    fields.finish();
    kind
}

fn list(word: &str, view: &At<'_>, fields: &mut Fields<'_>) -> Option<WidgetKind> {
    let layout = Layout::WORDS.iter().find(|(known, _)| *known == word).map_or(Layout::List, |(_, layout)| *layout);
    let args = listed(fields.optional("args"), bindings);
    let open = maybe(fields.optional("open"), Name::read);
    let row = listed(fields.optional("row"), widgets);
    let by = maybe(fields.optional("by"), Name::read);
    let empty = maybe(fields.optional("empty"), At::source);
    let view = Name::read(view);
    Some(WidgetKind::List { layout, view: view?, args: args?, open: open?, row: row?, by: by?, empty: empty? })
}

fn acting(word: &str, action: &At<'_>, fields: &mut Fields<'_>) -> Option<WidgetKind> {
    let fix = listed(fields.optional("fix"), bindings);
    let then = maybe(fields.optional("then"), Name::read);
    let args = listed(fields.optional("args"), bindings);
    let label = maybe(fields.optional("label"), At::source);
    let action = Name::read(action);
    let confirm = if word == "button" { maybe(fields.optional("confirm"), At::bool)?.unwrap_or(false) } else { false };
    let args = args?;
    let then = then?.map(|screen| LinkTarget { screen, args });
    Some(match word {
        "form" => WidgetKind::Form { action: action?, fix: fix?, then, label: label? },
        _ => WidgetKind::Button { action: action?, fix: fix?, then, label: label?, confirm },
    })
}

fn bodies(at: &At<'_>) -> Option<Entries<Vec<WidgetDefinition>>> {
    at.named(&[], |key, at| Some((Name::of_key(key, at), widgets(at)?)))
}

fn dialog(at: &At<'_>) -> Option<WidgetKind> {
    let mut fields = at.fields()?;
    let label = fields.required("label").and_then(|at| at.text_within(200));
    let body = fields.required("body").and_then(|at| widgets(&at));
    fields.finish();
    Some(WidgetKind::Dialog { label: label?, body: body? })
}

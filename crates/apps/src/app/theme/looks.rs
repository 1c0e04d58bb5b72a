//! `theme.yaml`: what stands where, and what things are called.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::names::{self, Names};
use super::{FOLDER, LOOKS_FILE};
use crate::app::{Action, Parameter, Role, RowSelection};
use crate::fault::Faults;
use crate::kinds::ColumnId;
use crate::syntax::node::Key;
use crate::syntax::read::{At, read};
use crate::syntax::{nearest, yaml};

/// Stands for the id of the row that a page is about.
pub(crate) const ROW: &str = "$id";
/// Frames around the screens of an app.
const SHELLS: [&str; 3] = ["sidebar", "topbar", "phone"];
/// Looks of a list.
const LOOKS: [&str; 9] = ["table", "rows", "cards", "bubbles", "month", "tiles", "board", "sheet", "tree"];
/// Looks whose rows can go on without an end.
const ENDLESS: [&str; 3] = ["rows", "cards", "tiles"];
/// Tones of badges.
const TONES: [&str; 5] = ["good", "bad", "warn", "info", "calm"];
/// Most characters of a label.
const LABEL_CHARACTERS_MAX: usize = 200;
/// Rows of a panel at home.
const TAKE: i64 = 8;
/// The least ratio of contrast of white letters on the colour of an app.
const CONTRAST: f64 = 4.5;
/// Colour of an app that names none.
const COLOUR: &str = "#2457a8";

/// Arrangement and words of the pages of an app.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    pub(crate) title: Option<Arc<str>>,
    pub(crate) icon: Option<Arc<str>>,
    colour: Option<Arc<str>>,
    pub(crate) shell: Option<&'static str>,
    /// The screen whose list the search box of every page looks through.
    pub(crate) search: Option<NavEntry>,
    pub(crate) nav: Vec<NavEntry>,
    pub(crate) home: Vec<Panel>,
    /// By screen: what stands beside it.
    pub(crate) beside: BTreeMap<usize, Vec<Panel>>,
    /// By screen: what stands below it.
    pub(crate) under: BTreeMap<usize, Vec<Panel>>,
    /// Labels of columns, parameters, actions, screens and words.
    pub(crate) labels: BTreeMap<Arc<str>, Arc<str>>,
    /// By word: how its badge looks.
    pub(crate) tones: BTreeMap<Arc<str>, &'static str>,
    /// By view.
    pub(crate) lists: BTreeMap<Arc<str>, ListLooks>,
    /// By the name of a parameter, or `search`: values that its inputs offer as one types.
    pub(crate) suggest: BTreeMap<Arc<str>, Suggest>,
    /// By the name under which a view embeds them: rows that belong to a row.
    pub(crate) children: BTreeMap<Arc<str>, ListLooks>,
}

/// A link that stands on every page.
#[derive(Debug, Clone)]
pub(crate) struct NavEntry {
    pub(crate) screen: usize,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) icon: Option<Arc<str>>,
    pub(crate) primary: bool,
}

/// A screen without arguments that is seen on another one.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) screen: usize,
    pub(crate) title: Option<Arc<str>>,
    /// Rows that are seen of its list.
    pub(crate) take: usize,
    /// Words of its address and their values; [`ROW`] stands for the id of the row that the page is about.
    pub(crate) view: Vec<(Arc<str>, Arc<str>)>,
}

/// Values that an input offers as one types: those of a column of a list.
#[derive(Debug)]
pub(crate) struct Suggest {
    /// The view's place in the app.
    pub(crate) view: usize,
    pub(crate) value: ColumnId,
    /// A column by which a value is found too.
    pub(crate) label: Option<ColumnId>,
}

/// Looks of a list of a view.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct ListLooks {
    pub(crate) look: Option<&'static str>,
    /// The value that a row is known by.
    title: Option<Arc<str>>,
    /// The value before the title.
    lead: Option<Arc<str>>,
    /// Values below the title.
    lines: Vec<Arc<str>>,
    /// The value at the end.
    end: Option<Arc<str>>,
    badges: Vec<Arc<str>>,
    /// Columns of a table; the others are among the details.
    columns: Vec<Arc<str>>,
    /// The value that chooses a picture.
    picture: Option<Arc<str>>,
    /// The time of a row in a month.
    pub(crate) at: Option<Arc<str>>,
    /// Rows for which this is true are the actor's own.
    mine: Option<Arc<str>>,
    /// Rows for which this is true are of less interest.
    dim: Option<Arc<str>>,
    /// The filter whose values stand above the list.
    chips: Option<Arc<str>>,
    /// True if the rows of the pages before stay where they are.
    pub(crate) endless: bool,
    /// Actions at each row, which ask for nothing.
    pub(crate) acts: Vec<Arc<str>>,
    /// The action with one number that a row is counted up and down by, and the value that it changes.
    stepper: Vec<Arc<str>>,
    /// The action that a row is dropped for onto a row of another list, its parameter, and the view of that list.
    drop: Vec<Arc<str>>,
}

impl Looks {
    /// Reads `theme.yaml`.
    pub(super) fn read(text: &str, names: &Names<'_>) -> Result<Self, Faults> {
        let root = yaml::parse(LOOKS_FILE, text)?;
        debug_assert!(LOOKS_FILE.starts_with(FOLDER));
        read(&root, |at| Self::read_root(at, names))
    }

    fn read_root(at: &At<'_>, names: &Names<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let looks = Self {
            title: fields.optional("title").and_then(|at| label(&at)),
            icon: fields.optional("icon").and_then(|at| icon(&at)),
            colour: fields.optional("colour").and_then(|at| colour(&at)),
            shell: fields.optional("shell").and_then(|at| word(&at, &SHELLS)),
            search: fields.optional("search").and_then(|at| entry(&at, names)),
            nav: fields.optional("nav").and_then(|at| at.list(|at| entry(at, names))).unwrap_or_default(),
            home: panels(fields.optional("home"), names),
            beside: fields.optional("beside").map(|at| by_screen(&at, names)).unwrap_or_default(),
            under: fields.optional("under").map(|at| by_screen(&at, names)).unwrap_or_default(),
            labels: map(fields.optional("labels"), |_, at| label(at)),
            tones: map(fields.optional("tones"), |_, at| word(at, &TONES)),
            lists: map(fields.optional("lists"), |key, at| {
                let Some(view) = names.view(&key.text) else {
                    at.fault(unknown("view", &key.text, names.views.iter().map(|view| &*view.name)));
                    return None;
                };
                list(at, &names.keys(view), names)
            }),
            suggest: map(fields.optional("suggest"), |key, at| {
                let names_it = |action: &Action| action.parameters.iter().any(|known| *known.name == *key.text);
                if *key.text != *"search" && !names.actions.iter().any(names_it) {
                    at.fault(format!("no action has the parameter `{}`: name one, or search", key.text));
                }
                suggestion(at, names)
            }),
            children: map(fields.optional("children"), |key, at| {
                let keys = names.child_keys(&key.text);
                if keys.is_none() {
                    at.fault(format!("no view embeds rows as `{}`", key.text));
                }
                list(at, &keys?, names)
            }),
        };
        fields.finish();
        Some(looks)
    }

    /// Label of something: that of the theme, or the words of its name.
    pub(crate) fn label(&self, name: &str) -> String {
        self.labels.get(name).map_or_else(|| crate::app::screen::words(name), ToString::to_string)
    }

    /// The colours of the app, as variables of a style sheet.
    pub(super) fn colours(&self) -> String {
        format!(":root{{--accent:{}}}\n", self.colour.as_deref().unwrap_or(COLOUR))
    }
}

fn label(at: &At<'_>) -> Option<Arc<str>> {
    at.text_within(LABEL_CHARACTERS_MAX)
}

fn word(at: &At<'_>, words: &[&'static str]) -> Option<&'static str> {
    at.one_of(words)
}

fn icon(at: &At<'_>) -> Option<Arc<str>> {
    let name = at.text()?;
    if names::icon(&name).is_none() {
        at.fault(unknown("icon", &name, names::ICONS.iter().map(|(name, _)| *name)));
    }
    Some(name)
}

/// A colour on which white letters can be read.
fn colour(at: &At<'_>) -> Option<Arc<str>> {
    let text = at.text()?;
    let Some(channels) = channels(&text) else { return at.expected("a colour such as \"#2457a8\"") };
    let linear = channels.map(|channel| {
        let part = f64::from(channel) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    // Relative luminance and contrast as WCAG 2.2 defines them.
    let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    let contrast = 1.05 / (luminance + 0.05);
    if contrast < CONTRAST {
        at.fault(format!(
            "white letters on this colour have a contrast of {contrast:.1}, at least {CONTRAST} is needed: darken it"
        ));
    }
    Some(text)
}

fn channels(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let channel = |from: usize| u8::from_str_radix(digits.get(from..from + 2)?, 16).ok();
    Some([channel(0)?, channel(2)?, channel(4)?])
}

fn unknown<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k str>) -> String {
    let near = nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("there is no {what} `{name}`{near}")
}

fn screen(at: &At<'_>, names: &Names<'_>) -> Option<usize> {
    let name = at.text()?;
    let place = names.screen(&name);
    if place.is_none() {
        at.fault(unknown("screen", &name, names.screens.screens.iter().map(|screen| &*screen.name)));
    }
    place
}

/// A screen that needs no arguments.
fn plain_screen(at: &At<'_>, names: &Names<'_>) -> Option<usize> {
    let place = screen(at, names)?;
    if !names.screens.screens[place].args.is_empty() {
        at.fault("this screen takes arguments: name one that takes none");
        return None;
    }
    Some(place)
}

fn entry(at: &At<'_>, names: &Names<'_>) -> Option<NavEntry> {
    let mut fields = at.fields()?;
    let entry = NavEntry {
        label: fields.optional("label").and_then(|at| label(&at)),
        icon: fields.optional("icon").and_then(|at| icon(&at)),
        primary: fields.optional("primary").and_then(|at| at.bool()).unwrap_or(false),
        screen: fields.required("screen").and_then(|at| plain_screen(&at, names))?,
    };
    fields.finish();
    Some(entry)
}

fn panels(at: Option<At<'_>>, names: &Names<'_>) -> Vec<Panel> {
    at.and_then(|at| at.list(|at| panel(at, names))).unwrap_or_default()
}

fn panel(at: &At<'_>, names: &Names<'_>) -> Option<Panel> {
    let mut fields = at.fields()?;
    let screen = fields.required("screen").and_then(|at| plain_screen(&at, names));
    let title = fields.optional("title").and_then(|at| label(&at));
    let take = fields.optional("take").and_then(|at| at.int_in(1..=100)).unwrap_or(TAKE);
    let view = fields.optional("view");
    let view = view.map(|at| {
        let entries = at.entries().unwrap_or_default();
        let pairs = entries.into_iter().filter_map(|(key, at)| {
            let known = &names.screens.screens[screen?].view_inputs;
            if !known.iter().any(|input| *input.word == *key.text) {
                at.fault(unknown("word of this address", &key.text, known.iter().map(|input| &*input.word)));
            }
            Some((Arc::clone(&key.text), at.text()?))
        });
        pairs.collect()
    });
    fields.finish();
    Some(Panel { screen: screen?, title, take: usize::try_from(take).unwrap_or(1), view: view.unwrap_or_default() })
}

fn by_screen(at: &At<'_>, names: &Names<'_>) -> BTreeMap<usize, Vec<Panel>> {
    let mut found = BTreeMap::new();
    for (key, at) in at.entries().unwrap_or_default() {
        match names.screen(&key.text) {
            Some(place) => {
                found.insert(place, panels(Some(at), names));
            }
            None => at.fault(unknown("screen", &key.text, names.screens.screens.iter().map(|screen| &*screen.name))),
        }
    }
    found
}

fn map<T>(at: Option<At<'_>>, mut read: impl FnMut(&Key, &At<'_>) -> Option<T>) -> BTreeMap<Arc<str>, T> {
    let entries = at.and_then(|at| at.entries()).unwrap_or_default();
    entries.into_iter().filter_map(|(key, at)| Some((Arc::clone(&key.text), read(key, &at)?))).collect()
}

fn list(at: &At<'_>, keys: &BTreeSet<String>, names: &Names<'_>) -> Option<ListLooks> {
    let key = |at: At<'_>| key_of(&at, keys);
    let some_keys = |at: Option<At<'_>>| at.and_then(|at| at.list(|at| key_of(at, keys))).unwrap_or_default();
    let texts = |at: Option<At<'_>>| at.and_then(|at| at.list(At::text)).unwrap_or_default();
    let mut fields = at.fields()?;
    let looks = ListLooks {
        look: fields.optional("look").and_then(|at| word(&at, &LOOKS)),
        title: fields.optional("title").and_then(key),
        lead: fields.optional("lead").and_then(key),
        lines: some_keys(fields.optional("lines")),
        end: fields.optional("end").and_then(key),
        badges: some_keys(fields.optional("badges")),
        columns: some_keys(fields.optional("columns")),
        picture: fields.optional("picture").and_then(key),
        at: fields.optional("at").and_then(key),
        mine: fields.optional("mine").and_then(key),
        dim: fields.optional("dim").and_then(key),
        chips: fields.optional("chips").and_then(|at| at.text()),
        endless: fields.optional("endless").and_then(|at| at.bool()).unwrap_or(false),
        acts: fields.optional("acts").and_then(|at| at.list(|at| action(at, names))).unwrap_or_default(),
        stepper: texts(fields.optional("stepper")),
        drop: texts(fields.optional("drop")),
    };
    fields.finish();
    if looks.endless && !looks.look.is_some_and(|look| ENDLESS.contains(&look)) {
        at.fault(format!("only the looks {} can be endless: choose one of them", ENDLESS.join(", ")));
    }
    Some(looks)
}

fn suggestion(at: &At<'_>, names: &Names<'_>) -> Option<Suggest> {
    let mut fields = at.fields()?;
    let view = fields.required("view").and_then(|at| {
        let name = at.text()?;
        let place = names.views.iter().position(|view| *view.name == *name);
        let Some(place) = place else {
            at.fault(unknown("view", &name, names.views.iter().map(|view| &*view.name)));
            return None;
        };
        let view = &names.views[place];
        if !matches!(view.rows, RowSelection::Many(_)) || view.parameters.iter().any(Parameter::required) {
            at.fault("values are taken from a list that needs no arguments: name another view");
        }
        if !view.who.contains(&Role::AGENT) {
            at.fault("the agent may not read this view: name one that it may");
        }
        Some(place)
    });
    let column = |at: At<'_>| {
        let (name, view) = (at.text()?, &names.views[view?]);
        let table = names.schema.table(view.table);
        let shown = || view.shown.columns.iter().map(|column| (*column, &*table.describe(*column).name));
        let found = shown().find(|(_, known)| **known == *name).map(|(column, _)| column);
        if found.is_none() {
            at.fault(unknown("column of this view", &name, shown().map(|(_, known)| known)));
        }
        found
    };
    let value = fields.required("value").and_then(column);
    let label = fields.optional("label").and_then(column);
    fields.finish();
    Some(Suggest { view: view?, value: value?, label })
}

fn key_of(at: &At<'_>, keys: &BTreeSet<String>) -> Option<Arc<str>> {
    let key = at.text()?;
    if !keys.contains(&*key) && *key != *"id" {
        at.fault(unknown("value of this view", &key, keys.iter().map(String::as_str)));
    }
    Some(key)
}

fn action(at: &At<'_>, names: &Names<'_>) -> Option<Arc<str>> {
    let name = at.text()?;
    if !names.is_action(&name) {
        at.fault(unknown("action of the agent", &name, names.actions.iter().map(|action| &*action.name)));
    }
    Some(name)
}

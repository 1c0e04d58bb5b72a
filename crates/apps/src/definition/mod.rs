//! A definition as it was written: read from its files with the position of everything, nothing looked up yet.

pub mod action;
pub mod draw;
pub mod fixed;
pub mod goal;
pub mod kind;
pub mod screen;
pub mod seed;
pub mod solution;
pub mod table;
pub mod task;
pub mod view;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use palestra_state::json;
use serde_json::Value as Json;

use crate::calendar::{parse_duration, show_duration};
use crate::fault::{Fault, Faults, Position};
use crate::syntax::MAX_FAULTS;
use crate::syntax::files::join;
use crate::syntax::read::{At, read};
use crate::syntax::source::Source;

/// A name where it is given or used.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// Its position.
    pub position: Position,
    /// The part of the definition.
    pub path: Arc<str>,
}

/// Named entries in the order in which they were written.
pub type Entries<T> = Vec<(Name, T)>;

/// Named expressions.
pub type Bindings = Entries<Source>;

/// A whole definition.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The app's name.
    pub name: Name,
    /// From 1.
    pub version: u32,
    /// Description of the app.
    pub about: Arc<str>,
    /// Words to filter by.
    pub tags: Vec<Arc<str>>,
    /// IANA time zone.
    pub zone: Source,
    /// True if weeks begin on Sunday.
    pub sunday: bool,
    /// Civil time at which episodes begin.
    pub start: Source,
    /// Template: who the agent is.
    pub role: Option<Source>,
    /// The state.
    pub tables: Entries<table::TableDefinition>,
    /// Recipe of the initial rows.
    pub seed: seed::SeedDefinition,
    /// Typed errors.
    pub errors: Entries<ErrorDefinition>,
    /// Views.
    pub views: Entries<view::ViewDefinition>,
    /// Actions.
    pub actions: Entries<action::ActionDefinition>,
    /// Effects that several actions share.
    pub macros: Entries<action::MacroDefinition>,
    /// Tables and columns hidden from roles.
    pub permissions: Vec<PermissionDefinition>,
    /// Policies.
    pub rules: Vec<RuleDefinition>,
    /// Invariants.
    pub invariants: Vec<Source>,
    /// Events, which happen without the agent.
    pub world: Vec<EventDefinition>,
    /// The graphical surface; `None` where it is to be made.
    pub screens: Option<Entries<screen::ScreenDefinition>>,
    /// Task templates.
    pub tasks: Entries<task::TaskDefinition>,
    /// Rows of the initial data that are given.
    pub rows: Option<GivenRows>,
    /// Fixed tasks.
    pub fixed: Vec<fixed::FixedDefinition>,
    /// Files of its theme, as they are.
    pub theme: BTreeMap<String, String>,
}

/// The file of rows that are given.
pub const DATA_FILE: &str = "data.json";

/// Names of the files of a theme begin so.
pub const THEME_FOLDER: &str = "theme/";

/// A typed error.
#[derive(Debug, Clone)]
pub struct ErrorDefinition {
    /// Kind of error.
    pub kind: ErrorKind,
    /// Template, compiled wherever the error is raised.
    pub text: Source,
    /// The parameter that it is about.
    pub field: Option<Name>,
}

/// Sorts of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An argument makes no sense.
    Invalid,
    /// There is no such thing.
    NotFound,
    /// It is not allowed.
    Forbidden,
    /// It does not fit the present state.
    Conflict,
    /// There is not enough of something.
    Insufficient,
    /// There is too much of something.
    Limit,
    /// It cannot be had now.
    Unavailable,
}

impl ErrorKind {
    /// Every kind by its word.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("invalid", Self::Invalid),
        ("not_found", Self::NotFound),
        ("forbidden", Self::Forbidden),
        ("conflict", Self::Conflict),
        ("insufficient", Self::Insufficient),
        ("limit", Self::Limit),
        ("unavailable", Self::Unavailable),
    ];

    /// The word of a definition and of answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("invalid", |(word, _)| word)
    }
}

/// Rows and columns that roles cannot see.
#[derive(Debug, Clone)]
pub struct PermissionDefinition {
    /// The table.
    pub table: Name,
    /// Variable of the row in `rows`.
    pub variable: Option<Name>,
    /// Roles that are bound by it.
    pub roles: Vec<Name>,
    /// Condition of visible rows; all where left out.
    pub rows: Option<Source>,
    /// Columns that cannot be seen.
    pub hide: Vec<Name>,
}

/// A policy.
#[derive(Debug, Clone)]
pub struct RuleDefinition {
    /// Its name.
    pub id: Name,
    /// Text for the agent.
    pub text: Arc<str>,
    /// Party that enforces it.
    pub enforce: Enforce,
    /// The actions it is about.
    pub applies: Vec<Name>,
    /// Condition on calls of one of them; a rule without one is prose.
    pub check: Option<Source>,
}

/// Party that enforces a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforce {
    /// The engine refuses.
    Engine,
    /// The call happens and fails the verdict.
    Grade,
    /// The engine refuses, and the policy text says so.
    Both,
}

/// An event, which happens without the agent.
#[derive(Debug, Clone)]
pub struct EventDefinition {
    /// Its name.
    pub name: Name,
    /// The time.
    pub schedule: Schedule,
    /// The action of `system` that it runs.
    pub run: Name,
    /// Its arguments.
    pub args: Bindings,
}

/// Time of an event.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// Once.
    At(Source),
    /// Again and again, each time with a chance of `chance.0` in `chance.1`.
    Every {
        /// Seconds between two times.
        seconds: i64,
        /// Numerator and denominator.
        chance: (u32, u32),
    },
}

/// Most characters of a description.
const ABOUT_CHARACTERS_MAX: usize = 2_000;
/// Entries of one section.
const ENTRIES_MAX: usize = 1_000;
/// Seconds between two times that an event may happen: a minute to a year.
const EVERY_SECONDS: RangeInclusive<i64> = 60..=366 * 86_400;

impl Definition {
    /// Reads a definition from its files.
    ///
    /// # Errors
    /// Every fault of form: unknown and missing fields, values of the wrong sort.
    pub fn read(files: &BTreeMap<String, String>) -> Result<Self, Faults> {
        let is_data = |name: &str| name == DATA_FILE || name == fixed::TASKS_FILE;
        let is_theme = |name: &str| name.starts_with(THEME_FOLDER);
        let sections = files.iter().filter(|(name, _)| !is_data(name) && !is_theme(name));
        let sections = sections.map(|(name, text)| (name.clone(), text.clone())).collect();
        let mut faults = Faults::new();
        let mut note = |found: Faults| faults.extend(found);
        let definition = join(&sections).and_then(|root| read(&root, Self::read_root)).map_err(&mut note);
        let rows = files.get(DATA_FILE).map(|text| GivenRows::read(text)).transpose().map_err(&mut note);
        let fixed = files.get(fixed::TASKS_FILE).map(|text| fixed::read_lines(text)).transpose().map_err(&mut note);
        match (definition, rows, fixed) {
            (Ok(definition), Ok(rows), Ok(fixed)) => {
                let theme = files.iter().filter(|(name, _)| is_theme(name));
                let theme = theme.map(|(name, text)| (name.clone(), text.clone())).collect();
                Ok(Self { rows, fixed: fixed.unwrap_or_default(), theme, ..definition })
            }
            _ => {
                faults.truncate(MAX_FAULTS);
                Err(faults)
            }
        }
    }

    fn read_root(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let name = fields.required("app").and_then(|at| action::variable(&at));
        let version = fields.required("version").and_then(|at| at.int_in(1..=1_000_000));
        let about = maybe(fields.optional("about"), |at| at.text_within(ABOUT_CHARACTERS_MAX));
        let tags = listed(fields.optional("tags"), |at| at.list(|at| at.text_within(40)));
        let zone = fields.required("tz").and_then(|at| at.source());
        let week_start = maybe(fields.optional("week_start"), |at| at.one_of(&["monday", "sunday"]));
        let start = fields.required("start").and_then(|at| at.source());
        let role = maybe(fields.optional("role"), At::source);
        let tables = fields.required("tables").and_then(|at| entries(&at, table::TableDefinition::read));
        let seed = fields
            .optional("seed")
            .map_or_else(|| Some(seed::SeedDefinition::none()), |at| seed::SeedDefinition::read(&at));
        let errors = listed(fields.optional("errors"), |at| entries(at, ErrorDefinition::read));
        let views = listed(fields.optional("views"), |at| entries(at, view::ViewDefinition::read));
        let actions = listed(fields.optional("actions"), |at| entries(at, action::ActionDefinition::read));
        let macros = listed(fields.optional("macros"), |at| entries(at, action::MacroDefinition::read));
        let permissions = listed(fields.optional("permissions"), |at| at.list(PermissionDefinition::read));
        let rules = listed(fields.optional("rules"), |at| at.list(RuleDefinition::read));
        let invariants = listed(fields.optional("invariants"), |at| at.list(At::source));
        let world = listed(fields.optional("world"), |at| at.list(EventDefinition::read));
        let screens = maybe(fields.optional("screens"), |at| entries(at, screen::ScreenDefinition::read));
        let tasks = listed(fields.optional("tasks"), |at| entries(at, task::TaskDefinition::read));
        fields.finish();
        Some(Self {
            about: about?.unwrap_or_else(|| format!("The app {}.", name.as_ref().map_or("", |name| &name.text)).into()),
            name: name?,
            version: u32::try_from(version?).ok()?,
            tags: tags?,
            zone: zone?,
            sunday: week_start? == Some("sunday"),
            start: start?,
            role: role?,
            tables: tables?,
            seed: seed?,
            errors: errors?,
            views: views?,
            actions: actions?,
            macros: macros?,
            permissions: permissions?,
            rules: rules?,
            invariants: invariants?,
            world: world?,
            screens: screens?,
            tasks: tasks?,
            rows: None,
            fixed: Vec::new(),
            theme: BTreeMap::new(),
        })
    }
}

/// Rows that are given in a file of JSON.
#[derive(Debug, Clone)]
pub struct GivenRows {
    /// The rows by table and id.
    pub rows: Json,
    /// The file.
    text: Arc<str>,
}

impl GivenRows {
    fn read(text: &str) -> Result<Self, Faults> {
        let told = |position, message| vec![Fault { position, path: String::new(), message }];
        let rows = json::read(text).map_err(|error| {
            told(data_position((error.line(), error.column())), format!("the file is no JSON, correct it: {error}"))
        })?;
        let given = Self { rows, text: text.into() };
        if given.rows.is_object() {
            return Ok(given);
        }
        let message = "the file must be a JSON object of tables, each an object of rows by their ids";
        Err(told(given.position(""), message.to_owned()))
    }

    /// The place of the value at a JSON Pointer.
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        data_position(json::place(&self.text, pointer))
    }
}

fn data_position((line, column): (usize, usize)) -> Position {
    let narrow = |number: usize| u32::try_from(number.max(1)).unwrap_or(u32::MAX);
    Position { file: DATA_FILE.into(), line: narrow(line), column: narrow(column) }
}

impl ErrorDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let kind = fields.required("kind").and_then(|at| at.choice(&ErrorKind::WORDS));
        let text = fields.required("text").and_then(|at| at.source());
        let field = maybe(fields.optional("field"), Name::read);
        fields.finish();
        Some(Self { kind: kind?, text: text?, field: field? })
    }
}

impl PermissionDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let table = fields.required("table").and_then(|at| Name::read(&at));
        let variable = maybe(fields.optional("as"), action::variable);
        let roles = listed(fields.optional("roles"), |at| at.list(Name::read));
        let rows = maybe(fields.optional("rows"), At::source);
        let hide = listed(fields.optional("hide"), |at| at.list(Name::read));
        fields.finish();
        Some(Self { table: table?, variable: variable?, roles: roles?, rows: rows?, hide: hide? })
    }
}

impl RuleDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let words = [("engine", Enforce::Engine), ("grade", Enforce::Grade), ("both", Enforce::Both)];
        let mut fields = at.fields()?;
        let id = fields.required("id").and_then(|at| action::variable(&at));
        let text = fields.required("text").and_then(|at| at.text_within(ABOUT_CHARACTERS_MAX));
        let enforce = fields.required("enforce").and_then(|at| at.choice(&words));
        let applies = listed(fields.optional("applies"), |at| at.list(Name::read));
        let check = maybe(fields.optional("check"), At::source);
        fields.finish();
        Some(Self { id: id?, text: text?, enforce: enforce?, applies: applies?, check: check? })
    }
}

impl EventDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let name = fields.required("name").and_then(|at| action::variable(&at));
        let once = maybe(fields.optional("at"), At::source);
        let every = maybe(fields.optional("every"), |at| duration(at, *EVERY_SECONDS.end()));
        let chance = maybe(fields.optional("chance"), chance);
        let run = fields.required("run").and_then(|at| Name::read(&at));
        let args = listed(fields.optional("args"), bindings);
        fields.finish();
        let schedule = match (once?, every?, chance?) {
            (Some(time), None, None) => Schedule::At(time),
            (None, Some(seconds), chance) if EVERY_SECONDS.contains(&seconds) => {
                Schedule::Every { seconds, chance: chance.unwrap_or((1, 1)) }
            }
            _ => return at.expected("either `at`, or `every` (a minute at least) with `chance`"),
        };
        Some(Self { name: name?, schedule, run: run?, args: args? })
    }
}

fn chance(at: &At<'_>) -> Option<(u32, u32)> {
    let parts = at.list(|at| at.int_in(1..=1_000_000))?;
    match *parts.as_slice() {
        [part, whole] if part <= whole => Some((u32::try_from(part).ok()?, u32::try_from(whole).ok()?)),
        _ => at.expected("a chance such as [1, 4]"),
    }
}

/// A field that may be left out: `Some(None)` where it is, `None` where it is bad.
#[expect(clippy::option_option, reason = "left out and bad are different things")]
fn maybe<'n, T>(at: Option<At<'n>>, read: impl FnOnce(&At<'n>) -> Option<T>) -> Option<Option<T>> {
    match at {
        None => Some(None),
        Some(at) => read(&at).map(Some),
    }
}

/// A list or map that may be left out, which is the same as an empty one.
fn listed<'n, T: Default>(at: Option<At<'n>>, read: impl FnOnce(&At<'n>) -> Option<T>) -> Option<T> {
    maybe(at, read).map(Option::unwrap_or_default)
}

/// Named entries of a section.
fn entries<T>(at: &At<'_>, read: impl Fn(&At<'_>) -> Option<T>) -> Option<Entries<T>> {
    if at.node().as_map().is_some_and(|entries| entries.len() > ENTRIES_MAX) {
        at.fault(format!("a section has at most {ENTRIES_MAX} entries"));
        return None;
    }
    at.named(&action::RESERVED, |key, at| Some((Name::of_key(key, at), read(at)?)))
}

/// Named expressions.
fn bindings(at: &At<'_>) -> Option<Bindings> {
    at.named(&[], |key, at| Some((Name::of_key(key, at), at.source()?)))
}

/// A length of time, in seconds.
fn duration(at: &At<'_>, most: i64) -> Option<i64> {
    match parse_duration(&at.text()?).filter(|seconds| *seconds <= most) {
        Some(seconds) => Some(seconds),
        None => at.expected(&format!("a length of time such as 30s, 5m, 2h or 1d, at most {}", show_duration(most))),
    }
}

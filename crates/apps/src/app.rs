//! An app as it runs: everything looked up, typed and checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::calendar::Calendar;
use crate::definition::ErrorKind;
use crate::expression::{Checked, Template as Text};
use crate::kinds::{ColumnId, TableId, Type};
use crate::places::Places;
use crate::schema::Schema;
use crate::screen::Screens;
use crate::task::Template;
use crate::task::draw::Variants;

/// An app. Immutable and shared by all its sessions.
#[derive(Debug)]
pub struct App {
    /// Its name.
    pub name: Arc<str>,
    /// From 1.
    pub version: u32,
    /// What it is.
    pub about: Arc<str>,
    /// Words to filter by.
    pub tags: Vec<Arc<str>>,
    /// Time zone and week.
    pub calendar: Calendar,
    /// When episodes begin.
    pub start: i64,
    /// Who the agent is.
    pub role: Option<Text>,
    /// The tables.
    pub schema: Arc<Schema>,
    /// By table and column: the value where an insert gives none.
    pub defaults: Vec<Vec<Option<Checked>>>,
    /// Typed errors, the built-in ones first.
    pub errors: Vec<ErrorCode>,
    /// Names of those who act: agent, user, system, and the app's own.
    pub roles: Vec<Arc<str>>,
    /// What can be done.
    pub actions: Vec<Action>,
    /// What can be read.
    pub views: Vec<View>,
    /// Actions and views by name.
    pub calls: BTreeMap<Arc<str>, Callable>,
    /// What roles cannot see.
    pub permissions: Vec<Permission>,
    /// Policies.
    pub rules: Vec<Rule>,
    /// What always holds, with its text.
    pub invariants: Vec<(Arc<str>, Checked)>,
    /// What happens without the agent.
    pub events: Vec<Event>,
    /// How initial rows are made.
    pub seed: Seed,
    /// Where its parts stand in the files.
    pub places: Places,
    /// The graphical surface.
    pub screens: Screens,
    /// Initial databases that were made.
    pub variants: Variants,
    /// Task templates.
    pub templates: Vec<Template>,
}

/// An actor's role, by its place in [`App::roles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(pub u16);

impl Role {
    /// The policy that is trained or evaluated.
    pub const AGENT: Self = Self(0);
    /// The person it works for.
    pub const USER: Self = Self(1);
    /// The world.
    pub const SYSTEM: Self = Self(2);
}

/// An action or a view, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callable {
    /// In [`App::actions`].
    Action(usize),
    /// In [`App::views`].
    View(usize),
}

/// A typed error, by its place in [`App::errors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorId(pub u16);

/// A typed error.
#[derive(Debug, Clone)]
pub struct ErrorCode {
    /// By what goals and answers know it.
    pub code: Arc<str>,
    /// What sort of error it is.
    pub kind: ErrorKind,
    /// The parameter that it is about.
    pub field: Option<Arc<str>>,
}

/// A place where an error is raised.
#[derive(Debug, Clone)]
pub struct Raise {
    /// Which error.
    pub error: ErrorId,
    /// What it says there.
    pub text: Text,
}

/// What an action or view takes.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// Its type; `Opt` where null is allowed.
    pub kind: Type,
    /// Of the value, or of the length of text and lists; both ends included.
    pub bounds: Bounds,
    /// The same for the fields of a record, or the elements of a list.
    pub inner: Vec<Parameter>,
    /// The value where none is given.
    pub default: Option<Checked>,
}

impl Parameter {
    /// Whether it must be given.
    #[must_use]
    pub const fn required(&self) -> bool {
        self.default.is_none() && !self.kind.may_be_null()
    }
}

/// Least and most, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Least.
    pub least: Option<i64>,
    /// Most.
    pub most: Option<i64>,
}

/// Something that can be done.
#[derive(Debug)]
pub struct Action {
    /// Its name.
    pub name: Arc<str>,
    /// What it does.
    pub about: Arc<str>,
    /// Who may call it.
    pub who: Vec<Role>,
    /// What it takes; these are the first locals, in order.
    pub parameters: Vec<Parameter>,
    /// The next locals.
    pub bindings: Vec<Checked>,
    /// What must hold, in order.
    pub guards: Vec<Guard>,
    /// What it does, in order.
    pub effects: Vec<Effect>,
    /// What it answers.
    pub returns: Vec<(Arc<str>, Checked)>,
    /// A native that answers instead.
    pub native: Option<&'static crate::native::Native>,
    /// How far the clock moves, in seconds.
    pub cost: i64,
}

impl Action {
    /// Whether it can change anything.
    #[must_use]
    pub fn writes(&self) -> bool {
        !self.effects.is_empty()
    }
}

/// A condition, and what is raised where it is false.
#[derive(Debug)]
pub struct Guard {
    /// What must hold.
    pub check: Checked,
    /// The error.
    pub raise: Raise,
}

/// A statement. Locals that it binds stand behind those that are there.
#[derive(Debug)]
pub enum Effect {
    /// Adds a row, and binds it where asked.
    Insert {
        /// To this table.
        table: TableId,
        /// Values by column; the others take their defaults.
        set: Vec<(ColumnId, Checked)>,
        /// Whether the row becomes a local.
        bind: bool,
    },
    /// Changes rows: one, or each of a list.
    Update {
        /// A row, or a list of rows.
        target: Target,
        /// Values by column.
        set: Vec<(ColumnId, Checked)>,
    },
    /// Removes rows: one, or each of a list.
    Delete(Target),
    /// Does something for each element of a list, which becomes a local.
    Each {
        /// The list.
        of: Checked,
        /// What is done.
        body: Vec<Effect>,
    },
    /// Does one thing or the other.
    If {
        /// The condition.
        condition: Checked,
        /// Where it holds.
        then: Vec<Effect>,
        /// Where it does not.
        otherwise: Vec<Effect>,
    },
    /// Binds a value to a local.
    Let(Checked),
    /// Statements with locals of their own, such as a macro's: only those behind the first `keep` see them.
    Block(Vec<Effect>),
    /// Runs an action of the system later.
    At {
        /// When.
        time: Checked,
        /// Which action.
        run: usize,
        /// Its arguments, in the order of its parameters.
        arguments: Vec<Argument>,
        /// By what it can be cancelled.
        key: Option<Checked>,
    },
    /// Forgets what was to run later under a key.
    Cancel(Checked),
    /// Raises an error.
    Fail(Raise),
}

/// An argument that a definition gives.
#[derive(Debug)]
pub enum Argument {
    /// This value.
    Given(Checked),
    /// The parameter's default, or null.
    Default,
}

/// Rows that an effect is about.
#[derive(Debug)]
pub enum Target {
    /// One, which must exist.
    Row(Checked),
    /// Those of a list, each of which becomes a local while its values are computed.
    Rows(Checked),
}

/// Something that can be read.
#[derive(Debug)]
pub struct View {
    /// Its name.
    pub name: Arc<str>,
    /// What it shows.
    pub about: Arc<str>,
    /// Who may read it.
    pub who: Vec<Role>,
    /// What it takes beside what every view takes; these are the first locals.
    pub parameters: Vec<Parameter>,
    /// The table.
    pub table: TableId,
    /// What it shows of the table.
    pub rows: Shows,
    /// Columns in which words are looked for.
    pub search: Vec<ColumnId>,
    /// Columns that can be demanded to have a value.
    pub filter: Vec<ColumnId>,
    /// Columns to sort by; the first is the default.
    pub sort: Vec<(ColumnId, bool)>,
    /// Rows of a page.
    pub page: u32,
    /// What is shown of a row, which is the local behind the parameters.
    pub shown: Shown,
}

/// Which rows a view shows.
#[derive(Debug)]
pub enum Shows {
    /// Those of a list.
    Many(Checked),
    /// One by its id, where the condition holds with the row as the local behind the parameters.
    One(Option<Checked>),
}

/// What is shown of a row.
#[derive(Debug)]
pub struct Shown {
    /// Columns.
    pub columns: Vec<ColumnId>,
    /// Computed columns, with the row as the last local.
    pub derive: Vec<(Arc<str>, Checked)>,
    /// What is shown together with it.
    pub embed: Vec<(Arc<str>, Embed)>,
}

/// What is shown together with a row.
#[derive(Debug)]
pub enum Embed {
    /// Columns of the row that a ref column names.
    Referred {
        /// The ref column.
        column: ColumnId,
        /// The columns of the other row.
        shown: Vec<ColumnId>,
    },
    /// Rows that refer to this one.
    Children {
        /// Their table.
        table: TableId,
        /// Their column that refers to this row.
        by: ColumnId,
        /// What is shown of them.
        shown: Box<Shown>,
    },
}

/// What a role cannot see of a table.
#[derive(Debug)]
pub struct Permission {
    /// The table.
    pub table: TableId,
    /// Who is held by it.
    pub roles: Vec<Role>,
    /// Which rows can be seen; the row is the only local.
    pub rows: Option<Checked>,
    /// Columns that cannot be seen.
    pub hide: Vec<ColumnId>,
}

/// A policy.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub id: Arc<str>,
    /// What the agent is told.
    pub text: Arc<str>,
    /// Graded conditions by action, with the action's parameters as locals.
    pub graded: Vec<(usize, Checked)>,
}

/// Something that happens without the agent.
#[derive(Debug)]
pub struct Event {
    /// Its name.
    pub name: Arc<str>,
    /// When.
    pub schedule: Schedule,
    /// Which action of the system.
    pub run: usize,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// When an event happens.
#[derive(Debug)]
pub enum Schedule {
    /// Once.
    At(Checked),
    /// Again and again.
    Every {
        /// Seconds between two times.
        seconds: i64,
        /// Numerator and denominator of the chance that it happens each time.
        chance: (u32, u32),
    },
}

/// How initial rows are made.
#[derive(Debug)]
pub struct Seed {
    /// How many different initial databases there are.
    pub variants: u32,
    /// In the order in which tables are filled.
    pub tables: Vec<TableSeed>,
}

/// How rows of a table are made.
#[derive(Debug)]
pub struct TableSeed {
    /// The table.
    pub table: TableId,
    /// How many, and from what.
    pub count: SeedCount,
    /// What their columns are, once or once per listed row. Earlier columns are locals.
    pub rows: Vec<Vec<SeedColumn>>,
}

/// How many rows, and from what.
#[derive(Debug)]
pub enum SeedCount {
    /// One per entry of [`TableSeed::rows`].
    Listed,
    /// So many.
    Number(Checked),
    /// One per element, which is the first local.
    Each(Checked),
    /// So many for each row of a table, which is the first local.
    Per {
        /// That table.
        table: TableId,
        /// How many for each.
        number: Checked,
    },
}

/// How a column of an initial row is made.
#[derive(Debug)]
pub struct SeedColumn {
    /// The column.
    pub column: ColumnId,
    /// Its value.
    pub value: SeedValue,
    /// Whether it must differ from all earlier ones.
    pub distinct: bool,
}

/// The value of a column of an initial row.
#[derive(Debug)]
pub enum SeedValue {
    /// An expression, with random functions.
    Expression(Checked),
    /// Any word of the enum.
    Uniform,
}

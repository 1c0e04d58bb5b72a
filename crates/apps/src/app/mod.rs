//! An app as it runs: everything looked up, typed and checked.

pub mod action;
pub mod errors;
pub mod event;
pub mod fixed;
pub mod goal;
pub mod parameter;
pub mod screen;
pub mod seed;
pub mod task;
pub mod theme;
mod variants;
pub mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::calendar::Calendar;
use crate::definition::GivenRows;
use crate::expression::{Checked, Template as Text};
use crate::kinds::{ColumnId, TableId};
use crate::positions::Positions;
use crate::schema::Schema;

pub use action::{Action, Effect, Guard, Target};
pub use errors::{ErrorCode, ErrorId, Raise};
pub use event::{Event, Schedule};
pub use fixed::FixedTask;
pub use parameter::{Argument, Bounds, Parameter};
pub use screen::Screens;
pub use seed::{Seed, SeedColumn, SeedCount, SeedValue, TableSeed};
pub use task::Template;
pub use variants::Variants;
pub use view::{Embed, RowSelection, ShownFields, View};

/// An app. Immutable and shared by all its sessions.
#[derive(Debug)]
pub struct App {
    /// Its name.
    pub name: Arc<str>,
    /// From 1.
    pub version: u32,
    /// Description.
    pub about: Arc<str>,
    /// Words to filter by.
    pub tags: Vec<Arc<str>>,
    /// Time zone and week.
    pub calendar: Calendar,
    /// When episodes begin.
    pub start: i64,
    /// Role of the agent.
    pub role: Option<Text>,
    /// The tables.
    pub schema: Arc<Schema>,
    /// By table and column: the value where an insert gives none.
    pub defaults: Vec<Vec<Option<Checked>>>,
    /// Typed errors, the built-in ones first.
    pub errors: Vec<ErrorCode>,
    /// Names of those who act: agent, user, system, and the app's own.
    pub roles: Vec<Arc<str>>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Views.
    pub views: Vec<View>,
    /// Actions and views by name.
    pub calls: BTreeMap<Arc<str>, Callable>,
    /// Tables and columns hidden from roles.
    pub permissions: Vec<Permission>,
    /// Policies.
    pub rules: Vec<Rule>,
    /// Invariants with their texts.
    pub invariants: Vec<(Arc<str>, Checked)>,
    /// Events, which happen without the agent.
    pub events: Vec<Event>,
    /// Recipe of the initial rows.
    pub seed: Seed,
    /// Where its parts stand in the files.
    pub positions: Positions,
    /// The graphical surface.
    pub screens: Screens,
    /// Looks of its pages.
    pub theme: theme::Theme,
    /// Initial databases that were made.
    pub variants: Variants,
    /// Task templates.
    pub templates: Vec<Template>,
    /// Rows of the initial data that are given, as [`Data::overlaid`](crate::data::Data::overlaid) takes them.
    pub rows: Option<GivenRows>,
    /// Fixed tasks.
    pub fixed: Vec<FixedTask>,
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

/// Rows or columns of a table hidden from a role.
#[derive(Debug)]
pub struct Permission {
    /// The table.
    pub table: TableId,
    /// Roles that are bound by it.
    pub roles: Vec<Role>,
    /// Condition of visible rows; the row is the only local.
    pub rows: Option<Checked>,
    /// Columns that cannot be seen.
    pub hide: Vec<ColumnId>,
}

/// A policy.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub id: Arc<str>,
    /// Text for the agent.
    pub text: Arc<str>,
    /// Graded conditions by action, with the action's parameters as locals.
    pub graded: Vec<(usize, Checked)>,
}

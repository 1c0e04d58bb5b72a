//! Actions: actions, with their guards and their effects.

use std::sync::Arc;

use super::Role;
use super::errors::Raise;
use super::parameter::{Argument, Parameter};
use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId};
use crate::native::Native;

/// An action.
#[derive(Debug)]
pub struct Action {
    /// Its name.
    pub name: Arc<str>,
    /// Description.
    pub about: Arc<str>,
    /// Roles that may call it.
    pub who: Vec<Role>,
    /// Parameters; these are the first locals, in order.
    pub parameters: Vec<Parameter>,
    /// The next locals.
    pub bindings: Vec<Checked>,
    /// Guards, in order.
    pub guards: Vec<Guard>,
    /// Effects, in order.
    pub effects: Vec<Effect>,
    /// Members of its answer.
    pub returns: Vec<(Arc<str>, Checked)>,
    /// A native that answers instead.
    pub native: Option<&'static Native>,
    /// True if nothing takes it back.
    pub irreversible: bool,
    /// Seconds by which the clock moves.
    pub cost: i64,
}

impl Action {
    /// True if it can change anything.
    #[must_use]
    pub fn writes(&self) -> bool {
        !self.effects.is_empty()
    }
}

/// A condition, and what is raised where it is false.
#[derive(Debug)]
pub struct Guard {
    /// Condition.
    pub check: Checked,
    /// The error.
    pub raise: Raise,
}

/// A statement. Locals that it binds stand behind those that are there.
#[derive(Debug)]
pub enum Effect {
    /// Adds a row, and binds it where asked.
    Insert {
        /// The table.
        table: TableId,
        /// Values by column; the others take their defaults.
        set: Vec<(ColumnId, Checked)>,
        /// True if the row becomes a local.
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
        /// Body.
        body: Vec<Effect>,
    },
    /// Does one thing or the other.
    If {
        /// The condition.
        condition: Checked,
        /// Body if it holds.
        then: Vec<Effect>,
        /// Body if it does not.
        otherwise: Vec<Effect>,
    },
    /// Binds a value to a local.
    Let(Checked),
    /// Statements with locals of their own, such as a macro's: only those behind the first `keep` see them.
    Block(Vec<Effect>),
    /// Runs an action of the system later.
    At {
        /// The time.
        time: Checked,
        /// The action.
        run: usize,
        /// Its arguments, in the order of its parameters.
        arguments: Vec<Argument>,
        /// Key by which it can be cancelled.
        key: Option<Checked>,
    },
    /// Forgets what was to run later under a key.
    Cancel(Checked),
    /// Raises an error.
    Fail(Raise),
}

/// Rows that an effect is about.
#[derive(Debug)]
pub enum Target {
    /// One, which must exist.
    Row(Checked),
    /// Those of a list, each of which becomes a local while its values are computed.
    Rows(Checked),
}

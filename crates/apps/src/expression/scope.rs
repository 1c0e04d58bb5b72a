//! Types known before anything runs: tables, names with their types, and functions that the caller adds.

use std::fmt;
use std::sync::Arc;

use super::Checked;
use crate::calendar::Calendar;
use crate::kinds::{ColumnId, TableId, Type};

/// The tables of an app, as far as expressions need to know them.
pub trait Tables {
    /// The table of a name.
    fn find(&self, name: &str) -> Option<TableId>;
    /// The name of a table.
    fn name(&self, table: TableId) -> &str;
    /// The names of all tables, in the order of the definition: for suggestions in messages.
    fn names(&self) -> Vec<&str>;
    /// A column of a table with its type; `Opt` for one that may be null.
    fn column(&self, table: TableId, name: &str) -> Option<(ColumnId, &Type)>;
    /// The names of all columns of a table, in the order of the definition: for suggestions in messages.
    fn columns(&self, table: TableId) -> Vec<&str>;
    /// True if [`super::Rows::matching`] answers for this column.
    fn is_indexed(&self, table: TableId, column: ColumnId) -> bool;
    /// True if the table has exactly one row, which its name stands for.
    fn is_single(&self, table: TableId) -> bool;
}

/// Earlier data that an expression may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roots {
    /// `old(e)`: the data at the start of the action.
    pub old: bool,
    /// `init(e)`, `init.now` and `init.today`: the data and the time at the start of the episode.
    pub init: bool,
}

/// Everything that an expression may refer to.
#[derive(Clone)]
pub struct Scope<'a> {
    /// The tables of the app.
    pub tables: &'a dyn Tables,
    /// Reads the dates and times of literals.
    pub calendar: &'a Calendar,
    /// Names with their types. The place of a name is the place of its value in [`super::Frame::locals`]; of two with the
    /// same name the later one is meant.
    pub locals: Vec<(Arc<str>, Type)>,
    /// Functions that [`super::Host::call`] answers. One that has the name of a built-in one hides it.
    pub functions: &'a [Function],
    /// Earlier data that may be read.
    pub roots: Roots,
    /// True if `now` and `today()` mean anything here.
    pub now: bool,
    /// Conditions of the same locals that are known to hold, such as earlier guards: what they prove not to be null may be
    /// used without asking again.
    pub assume: Vec<&'a Checked>,
}

/// A function that the caller of an expression answers at run time.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name in expressions.
    pub name: Arc<str>,
    /// Handed to [`super::Host::call`].
    pub id: u16,
    /// Signature.
    pub signature: Signature,
}

/// From the types of the arguments, and the type that the place of the call asks for if it is known, the type of the result,
/// or what is wrong with them.
pub type Judge = Arc<dyn Fn(&[Type], Option<&Type>) -> Result<Type, String> + Send + Sync>;

/// The types of a function.
#[derive(Clone)]
pub enum Signature {
    /// Always the same.
    Fixed {
        /// Types of the arguments, in order.
        arguments: Vec<Type>,
        /// Type of the result.
        result: Type,
    },
    /// They depend on each other.
    Generic {
        /// Decides about a call.
        judge: Judge,
        /// True if literal arguments take the type that the place of the call asks for, as the words of an enum do.
        alike: bool,
    },
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { arguments, result } => {
                f.debug_struct("Fixed").field("arguments", arguments).field("result", result).finish()
            }
            Self::Generic { alike, .. } => f.debug_struct("Generic").field("alike", alike).finish_non_exhaustive(),
        }
    }
}

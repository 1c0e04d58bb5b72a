//! World that an expression reads while it runs, and its errors.

use std::sync::Arc;

use crate::calendar::Calendar;
use crate::kinds::{ColumnId, TableId};
use crate::value::{RowKey, Value};

/// Number of steps of an evaluation unless its caller sets another. A visited row is one step.
pub const DEFAULT_BUDGET: u64 = 1_000_000;

/// Reading access to the rows of one state of the data.
pub trait Rows {
    /// The value of a cell; none if there is no such row.
    fn cell(&self, row: RowKey, column: ColumnId) -> Option<&Value>;
    /// The rows of a table in the order of creation.
    fn rows(&self, table: TableId) -> Box<dyn Iterator<Item = RowKey> + '_>;
    /// The rows whose column has this value, in the order of creation; none if the column is not indexed.
    fn matching(
        &self,
        table: TableId,
        column: ColumnId,
        value: &Value,
    ) -> Option<Box<dyn Iterator<Item = RowKey> + '_>>;
    /// Number of rows that a table has.
    fn count(&self, table: TableId) -> usize;
    /// The one row of a single table.
    fn single(&self, table: TableId) -> Option<RowKey>;
    /// True if there is such a row.
    fn exists(&self, row: RowKey) -> bool;
    /// The id under which a row is shown.
    fn id(&self, row: RowKey) -> Option<Arc<str>>;
    /// The row that is shown under an id.
    fn by_id(&self, table: TableId, id: &str) -> Option<RowKey>;
}

/// Answers the functions that a [`super::Scope`] added.
pub trait Host {
    /// Calls a function by [`super::Function::id`] with values of the types that its signature took.
    ///
    /// # Errors
    /// [`EvalError::Host`] with the reason, or what an evaluation within failed with.
    fn call(&mut self, id: u16, arguments: &[Value]) -> Result<Value, EvalError>;
}

/// For scopes that add no function.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn call(&mut self, id: u16, _: &[Value]) -> Result<Value, EvalError> {
        Err(EvalError::Host(format!("there is no function {id}").into()))
    }
}

/// The data and the time that an expression is evaluated against.
pub struct Frame<'a> {
    /// The data as it is.
    pub rows: &'a dyn Rows,
    /// The data that `old` reads.
    pub old: Option<&'a dyn Rows>,
    /// The data that `init` reads.
    pub init: Option<&'a dyn Rows>,
    /// Values of [`super::Scope::locals`], in that order; there may be more.
    pub locals: &'a [Value],
    /// Seconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// The time at the start of the episode, as `now`.
    pub init_now: i64,
    /// Time zone and week of the app.
    pub calendar: &'a Calendar,
    /// Answers added functions.
    pub host: &'a mut dyn Host,
    /// Steps that are left; counted down.
    pub budget: &'a mut u64,
}

/// Reason why an evaluation gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The step budget is spent: a fault of the definition and never a failure of who acts.
    #[error("the expression takes too many steps")]
    Budget,
    /// A result, or an argument, that its type cannot hold: an overflow, a division by zero, no such date.
    #[error("{0} is out of range")]
    OutOfRange(&'static str),
    /// `one` found none or several rows, or a single table has no row.
    #[error("exactly one row was expected")]
    NotOne,
    /// A list has no element at this place.
    #[error("the list has no element {0}")]
    Index(i64),
    /// A row that is no longer there was read.
    #[error("a row that no longer exists was read")]
    Dangling(RowKey),
    /// A value is not of the type that was promised: null after an effect has undone what a guard had proven, or a host that
    /// breaks its own signature.
    #[error("a value is null or not of its type")]
    Mismatch,
    /// An added function failed, with the reason.
    #[error("{0}")]
    Host(Box<str>),
}

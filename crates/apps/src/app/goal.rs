//! Goals: the whole difference between beginning and end, the answer, and what must hold.

use std::sync::Arc;

use crate::definition::goal::Status;
use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId};

/// Goal of a task. `t` is the first local of every expression.
#[derive(Debug, Clone)]
pub struct Goal {
    /// Changes, by name.
    pub changes: Vec<Change>,
    /// Changes that are allowed.
    pub free: Vec<Free>,
    /// True if changing something and changing it back fails.
    pub strict_history: bool,
    /// Conditions at the end, with their texts.
    pub also: Vec<(Arc<str>, Checked)>,
    /// Required submission.
    pub answer: Option<Answer>,
}

/// One change.
#[derive(Debug, Clone)]
pub struct Change {
    /// Name in verdicts.
    pub name: Arc<str>,
    /// For each element of a list, which is the next local.
    pub each: Option<Checked>,
    /// Kind of change.
    pub what: What,
    /// Values by column.
    pub fields: Vec<(ColumnId, Field)>,
}

/// Kind of change.
#[derive(Debug, Clone)]
pub enum What {
    /// So many rows come into being; one where left out.
    Created(TableId, Option<Checked>),
    /// A row changes.
    Updated(Checked),
    /// A row goes.
    Deleted(Checked),
}

/// Required value of a column.
#[derive(Debug, Clone)]
pub enum Field {
    /// Equal to this.
    Equal(Checked),
    /// Text that contains this, in whatever case.
    Contains(Checked),
    /// Whatever.
    Any,
    /// The condition holds, with the value as the last local.
    Check(Checked),
}

/// Change that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    /// Every row of a table.
    Table(TableId),
    /// A column of a table.
    Column(TableId, ColumnId),
    /// New rows of a table.
    Created(TableId),
}

/// Required submission.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Required status.
    pub status: Status,
    /// Code of the error.
    pub code: Option<Arc<str>>,
    /// Values of the answer.
    pub slots: Vec<(Arc<str>, Checked)>,
}

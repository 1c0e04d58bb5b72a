//! Goals: the whole difference between beginning and end, the answer, and what must hold.

use std::sync::Arc;

use crate::definition::goal::Status;
use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId};

/// What is to be reached. `t` is the first local of every expression.
#[derive(Debug)]
pub struct Goal {
    /// Changes, by name.
    pub changes: Vec<Change>,
    /// What may change as it likes.
    pub free: Vec<Free>,
    /// Whether changing something and changing it back fails.
    pub strict_history: bool,
    /// What must hold at the end, with its text.
    pub also: Vec<(Arc<str>, Checked)>,
    /// What must have been submitted.
    pub answer: Option<Answer>,
}

/// One change.
#[derive(Debug)]
pub struct Change {
    /// What it is called in verdicts.
    pub name: Arc<str>,
    /// For each element of a list, which is the next local.
    pub each: Option<Checked>,
    /// What changes.
    pub what: What,
    /// Values by column.
    pub fields: Vec<(ColumnId, Field)>,
}

/// What changes.
#[derive(Debug)]
pub enum What {
    /// So many rows come into being; one where left out.
    Created(TableId, Option<Checked>),
    /// A row changes.
    Updated(Checked),
    /// A row goes.
    Deleted(Checked),
}

/// What a column must be.
#[derive(Debug)]
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

/// What may change as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    /// Every row of a table.
    Table(TableId),
    /// A column of a table.
    Column(TableId, ColumnId),
    /// New rows of a table.
    Created(TableId),
}

/// What must have been submitted.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: Status,
    /// With which error.
    pub code: Option<Arc<str>>,
    /// With which values.
    pub slots: Vec<(Arc<str>, Checked)>,
}

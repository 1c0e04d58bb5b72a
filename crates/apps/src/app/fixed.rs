//! Fixed tasks: each is one task, with an id of its own, and not a template that makes many.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::goal::Goal;
use crate::fault::Position;

/// A fixed task.
#[derive(Debug)]
pub struct FixedTask {
    /// Its author's id for it.
    pub id: Arc<str>,
    /// Its split, in which its place is its place among the fixed tasks of that split.
    pub split: Arc<str>,
    /// Its line.
    pub position: Position,
    /// Text for the agent.
    pub text: Arc<str>,
    /// Rows that begin otherwise than the initial data: a patch as [`Data::overlaid`](crate::data::Data::overlaid) takes it.
    pub start: Option<Json>,
    /// Rows that end otherwise than they begin: such a patch too.
    pub end: Option<Json>,
    /// Goal, beside `end`.
    pub goal: Goal,
    /// The calls that reach it: tools, each with its arguments.
    pub solution: Vec<(Arc<str>, Map<String, Json>)>,
}

//! Task templates: what is drawn, what is told, what is to be reached, and how it is done.

use std::sync::Arc;

use super::action::Effect;
use super::event::Event;
use super::goal::Goal;
use crate::definition::goal::Status;
use crate::expression::{Checked, Template as Text};
use crate::kinds::{ColumnId, Type};
use crate::value::Value;

/// A task template.
#[derive(Debug)]
pub struct Template {
    /// Its name.
    pub name: Arc<str>,
    /// True if an obstacle makes it impossible.
    pub infeasible: bool,
    /// The template that it is a twin of.
    pub twin_of: Option<Arc<str>>,
    /// Parameters, in order; their values are locals by name, and together the record `t`.
    pub params: Vec<Param>,
    /// Before the episode begins.
    pub setup: Vec<Effect>,
    /// Near misses, before the episode begins.
    pub plant: Vec<Effect>,
    /// Conditions at the beginning, with their texts.
    pub require: Vec<(Arc<str>, Checked)>,
    /// Wordings of the instruction.
    pub text: Vec<Text>,
    /// Goal.
    pub goal: Goal,
    /// Milestones and minefields.
    pub watches: Arc<[WatchedCondition]>,
    /// Events of this task alone.
    pub events: Vec<Arc<Event>>,
    /// Solution; where there is none, a way is searched for.
    pub solution: Option<Vec<Step>>,
}

impl Template {
    /// The type of the record `t`.
    #[must_use]
    pub fn record(&self) -> Type {
        Type::Record(self.params.iter().map(|param| (Arc::clone(&param.name), param.kind.clone())).collect())
    }
}

/// A parameter of a task.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Type,
    /// Its source.
    pub draw: Draw,
    /// A value that is not wanted.
    pub not: Option<Checked>,
    /// Columns that must single the row out.
    pub refer: Vec<ColumnId>,
}

/// Source of a parameter's values.
#[derive(Debug)]
pub enum Draw {
    /// One of some values.
    Choice(Vec<Value>),
    /// A number, an amount in minor units or a day: least, most, step.
    Range(i64, i64, i64),
    /// A day between two that follow from earlier parameters.
    Days(Checked, Checked),
    /// An element of a list.
    Pick(Checked),
    /// The least or greatest element of a list, by a value with the element as local `x`.
    First {
        /// The list.
        of: Checked,
        /// Sort key.
        by: Checked,
        /// True if the greatest is meant.
        descending: bool,
        /// Distance to the next, as a number of the same unit.
        gap: Option<Checked>,
    },
    /// A value that follows, drawn or not.
    Let(Checked),
}

/// Condition that is watched after each call.
#[derive(Debug)]
pub struct WatchedCondition {
    /// Its name.
    pub name: Arc<str>,
    /// When it has happened; `t` and `call` are locals.
    pub when: Checked,
    /// Milestones that come before.
    pub after: Vec<usize>,
    /// Its share; none for a minefield.
    pub weight: Option<u32>,
}

/// A step of a solution. `t` and the answers that were named are locals.
#[derive(Debug)]
pub enum Step {
    /// Calls an action or a view.
    Do {
        /// The called action or view.
        call: Arc<str>,
        /// Its arguments.
        args: Vec<(Arc<str>, Checked)>,
        /// Arguments that are the same in every task.
        constant: Vec<Arc<str>>,
        /// True if the answer becomes a local.
        bind: bool,
    },
    /// Lets time pass.
    Wait(Checked),
    /// Ends the task.
    Submit {
        /// Status.
        status: Status,
        /// Code of the error.
        code: Option<Checked>,
        /// Values of the answer.
        answers: Vec<(Arc<str>, Checked)>,
    },
    /// Does something for each element of a list, which becomes a local.
    Each(Checked, Vec<Step>),
    /// Does one thing or the other.
    If(Checked, Vec<Step>, Vec<Step>),
}

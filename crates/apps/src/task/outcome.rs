//! Outcome of a draw: a task, another draw, or a fault of the definition. There is nothing in between, so that no fault is
//! drawn away without a word.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value as Json};

/// Consequence of a draw that shows a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// To an error.
    Strict,
    /// To another draw, without a word: the tasks of stored episodes were drawn so, and numbers within texts had to be told.
    Before,
}

/// Reason why a draw is made again: what a definition asks for, and what chance decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redraw {
    /// A condition of `require` does not hold.
    Require(Arc<str>),
    /// A parameter has nothing to draw from.
    Nothing(Arc<str>),
    /// The first two of a list are closer than a parameter's `gap`.
    TooClose(Arc<str>),
    /// The value that follows for a parameter is what its `not` excludes.
    Unwanted(Arc<str>),
    /// The columns of a parameter's `refer` do not single its row out.
    Refer(Arc<str>),
    /// It is a task of another split.
    Split,
}

/// A fault of the definition that a draw shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Flaw {
    /// The goal holds before anything was done.
    #[error("the goal holds at the beginning: leave such draws out by `not` or `require`")]
    Done,
    /// An expression breaks off.
    #[error("{0}")]
    Breaks(String),
    /// The set-up, the text or a condition raises an error or finds no row where it names one.
    #[error("the definition raises an error: {0}")]
    Raises(String),
    /// The solution cannot be played to its end.
    #[error("the solution fails: {0}")]
    Fails(String),
    /// The solution was played, and the goal does not hold.
    #[error("the solution does not reach the goal: {0}")]
    Misses(String),
    /// The solution uses what neither the text nor an earlier result holds.
    #[error("the solution uses what it cannot know: {0}")]
    Unknowable(String),
    /// There is no solution, and a search within its bounds found no way to the goal.
    #[error("no way to the goal was found: write a `solution`, or correct the goal")]
    NoWay,
}

impl Flaw {
    /// A word for it in reports.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Done => "already_done",
            Self::Breaks(_) => "breaks",
            Self::Raises(_) => "raises",
            Self::Fails(_) => "solution_fails",
            Self::Misses(_) => "solution_misses",
            Self::Unknowable(_) => "unknowable",
            Self::NoWay => "no_way",
        }
    }
}

/// Reason why a draw is not a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// Another draw may be one.
    Again(Redraw),
    /// The definition is at fault.
    Flawed(Flaw),
}

/// A draw as people find it again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownDraw {
    /// Its template.
    pub template: Arc<str>,
    /// Its split.
    pub split: String,
    /// Its seed.
    pub seed: u64,
    /// The number of the draw among those of its seed, from 0.
    pub attempt: u32,
    /// The parameters that were drawn.
    pub parameters: Map<String, Json>,
    /// Text for the agent, where the draw came so far.
    pub text: Option<String>,
}

/// Reason why a seed has no task.
#[derive(Debug, Clone, PartialEq)]
pub enum NoTask {
    /// A draw shows a fault of the definition.
    Faulty(Box<ShownDraw>, Flaw),
    /// Too many draws were thrown away, by reason.
    Exhausted(Arc<str>, u64, BTreeMap<Redraw, u32>),
}

impl NoTask {
    /// The template that is at fault.
    #[must_use]
    pub fn template(&self) -> &str {
        match self {
            Self::Faulty(draw, _) => &draw.template,
            Self::Exhausted(template, ..) => template,
        }
    }

    /// A word for it in reports.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Faulty(_, flaw) => flaw.word(),
            Self::Exhausted(..) => "thrown_away",
        }
    }
}

impl fmt::Display for Redraw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Require(text) => write!(f, "`{text}` does not hold"),
            Self::Nothing(param) => write!(f, "{param} has nothing to draw from"),
            Self::TooClose(param) => write!(f, "{param}: the first two are too close"),
            Self::Unwanted(param) => write!(f, "{param} is not wanted"),
            Self::Refer(param) => write!(f, "`refer` of {param} does not name exactly one row that the agent sees"),
            Self::Split => f.write_str("it belongs to another split"),
        }
    }
}

impl fmt::Display for ShownDraw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "draw {} of seed {} in split {}, {}",
            self.attempt,
            self.seed,
            self.split,
            Json::from(self.parameters.clone())
        )?;
        match &self.text {
            Some(text) => write!(f, ", told as {text:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for NoTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faulty(draw, flaw) => write!(f, "tasks.{}: {flaw} ({draw})", draw.template),
            Self::Exhausted(template, seed, reasons) => {
                write!(f, "tasks.{template}: no draw of seed {seed} is a task")?;
                let mut reasons: Vec<_> = reasons.iter().collect();
                reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
                let told: Vec<String> = reasons.iter().map(|(why, count)| format!("{why} ({count} draws)")).collect();
                if told.is_empty() { Ok(()) } else { write!(f, ": {}", told.join(", ")) }
            }
        }
    }
}

impl std::error::Error for NoTask {}

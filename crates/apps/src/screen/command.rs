//! Commands of the elements of a screen.

use std::sync::Arc;

use super::open_screen::OpenScreen;
use crate::app::screen::{Form, Link};
use crate::value::Value;

/// Command of an element.
#[derive(Debug, Clone)]
pub(super) enum Command {
    /// Changes what the element holds, and forgets what another one holds.
    Input { kind: InputKind, reset: Option<Arc<str>> },
    /// Changes what another input holds.
    Set { key: Arc<str>, text: Arc<str> },
    /// Takes one of the repeated inputs away.
    Remove { list: Arc<str>, row: usize, rows: usize },
    /// Goes to a screen.
    Go(OpenScreen),
    /// Goes to a screen whose arguments are worked out then.
    Follow { link: Arc<Link>, locals: Arc<[Value]>, form: Arc<str> },
    /// Opens a dialog within so many others.
    Open { depth: usize },
    /// Closes a dialog within so many others.
    Close { dialog: Arc<str>, depth: usize },
    /// Runs an action.
    Submit(Submission),
}

/// Kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    Text,
    Choice,
    Toggle,
}

/// A form that can be sent.
#[derive(Debug, Clone)]
pub(super) struct Submission {
    pub(super) form: Arc<Form>,
    pub(super) locals: Arc<[Value]>,
    pub(super) id: Arc<str>,
    /// Number of dialogs that stay open afterwards.
    pub(super) depth: usize,
}

//! A screen on the way of an actor, with what it has typed and opened there, and what was said last.

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use crate::value::Value;

/// A screen on the way.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) screen: usize,
    pub(super) args: Arc<[Value]>,
    /// By input: what it holds, where that is not what it holds at first. Tabs, steps and pages are inputs too.
    pub(super) inputs: OrdMap<Arc<str>, Arc<str>>,
    /// Open dialogs by the ids of their buttons, the innermost last.
    pub(super) dialogs: Vector<Arc<str>>,
    /// Which part of long texts is seen, from 0.
    pub(super) scroll: usize,
}

/// What was said last.
#[derive(Debug, Clone)]
pub(super) struct Toast {
    pub(super) text: Arc<str>,
    pub(super) error: Option<Mark>,
}

/// What an error was about.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) code: Arc<str>,
    /// Id of the form.
    pub(super) form: Arc<str>,
    pub(super) field: Option<Arc<str>>,
}

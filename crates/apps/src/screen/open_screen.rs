//! A screen on the way of an actor, with what it has typed and opened there, and what was said last.

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use crate::value::Value;

/// A screen on the way.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenScreen {
    pub(super) screen: usize,
    pub(super) args: Arc<[Value]>,
    /// By input: what it holds, where that is not what it holds at first. Tabs, steps and pages are inputs too.
    pub(super) inputs: OrdMap<Arc<str>, Arc<str>>,
    /// Open dialogs by the ids of their buttons, the innermost last.
    pub(super) dialogs: Vector<Arc<str>>,
    /// Visible part of long texts, from 0.
    pub(super) scroll: usize,
}

/// Last message.
#[derive(Debug, Clone)]
pub(super) struct Toast {
    pub(super) text: Arc<str>,
    pub(super) error: Option<ErrorMark>,
}

/// Subject of an error.
#[derive(Debug, Clone)]
pub(super) struct ErrorMark {
    pub(super) code: Arc<str>,
    /// Id of the form.
    pub(super) form: Arc<str>,
    pub(super) field: Option<Arc<str>>,
}

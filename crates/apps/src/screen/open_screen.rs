//! A screen on the way of an actor, with what it has typed and opened there, and what was said last.

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use crate::app::screen::Screen;
use crate::value::Value;

/// Longest text of an input, in characters.
pub const DRAFT_CHARACTERS_MAX: usize = 10_000;

/// A screen on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenScreen {
    pub(super) screen: usize,
    pub(super) args: Arc<[Value]>,
    /// By input: what it holds, where that is not what it holds at first. Tabs, steps and pages are inputs too.
    pub(super) inputs: OrdMap<Arc<str>, Arc<str>>,
    /// Open dialogs by the ids of their buttons, the innermost last.
    pub(super) dialogs: Vector<Arc<str>>,
    /// Visible part of long texts, from 0.
    pub(super) scroll: usize,
}

impl OpenScreen {
    /// Looks at what an address says; what it does not say is as at first.
    pub(super) fn look_at(&mut self, screen: &Screen, view: &OrdMap<Arc<str>, Arc<str>>) {
        for input in &screen.view_inputs {
            let now = self.inputs.get(&input.key).filter(|text| !input.is_default(text));
            let then = view.get(&input.key);
            if now != then {
                match then {
                    Some(text) => self.inputs.insert(Arc::clone(&input.key), Arc::clone(text)),
                    None => self.inputs.remove(&input.key),
                };
                self.scroll = 0;
            }
        }
    }
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

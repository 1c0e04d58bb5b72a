//! World as expressions see it: in a world between calls, and of an app before an episode begins.

use std::sync::Arc;

use super::World;
use crate::app::App;
use crate::data::Data;
use crate::expression::{Checked, DEFAULT_BUDGET, Frame, Host, NoHost, Rows};
use crate::value::Value;

impl World {
    /// World as expressions see it between calls.
    pub(crate) fn frame<'a>(&'a self, locals: &'a [Value], host: &'a mut dyn Host, budget: &'a mut u64) -> Frame<'a> {
        let before = self.beginning.app.frame(&self.data, locals, host, budget);
        Frame { init: Some(&self.beginning.data), now: self.now, ..before }
    }
}

impl App {
    /// World as expressions see it before an episode begins.
    pub(crate) fn frame<'a>(
        &'a self,
        rows: &'a dyn Rows,
        locals: &'a [Value],
        host: &'a mut dyn Host,
        budget: &'a mut u64,
    ) -> Frame<'a> {
        Frame {
            rows,
            old: None,
            init: None,
            locals,
            now: self.start,
            init_now: self.start,
            calendar: &self.calendar,
            host,
            budget,
        }
    }
    /// The text that says who the agent is; none where the app has no such text.
    pub(crate) fn role_text(&self, data: &Data) -> Option<String> {
        let (mut host, mut budget) = (NoHost, DEFAULT_BUDGET);
        let role = self.role.as_ref()?;
        let text = role.render(&mut self.frame(data, &[], &mut host, &mut budget));
        Some(text.unwrap_or_else(|_| self.about.to_string()))
    }
}

/// The texts of invariants that do not hold of some data; one that cannot be worked out does not hold.
#[must_use]
pub fn broken_invariants(app: &App, data: &Data) -> Vec<Arc<str>> {
    let holds = |invariant: &Checked| {
        let (mut host, mut budget) = (NoHost, DEFAULT_BUDGET);
        invariant.holds(&mut app.frame(data, &[], &mut host, &mut budget)).unwrap_or(false)
    };
    app.invariants.iter().filter(|(_, invariant)| !holds(invariant)).map(|(text, _)| Arc::clone(text)).collect()
}

//! Compilation of screens, and the names in scope on a screen.

use std::sync::Arc;

use crate::app::{Action, Role, View};
use crate::compile::Compiler;
use crate::compile::names::Names;
use crate::definition::screen::ScreenDefinition;
use crate::definition::{Entries, Name};
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::Type;

/// State of the compilation of screens.
pub(super) struct Plan<'c, 'd> {
    pub(super) compiler: &'c Compiler<'d>,
    pub(super) actions: &'c [Action],
    pub(super) views: &'c [View],
    pub(super) definitions: &'c Entries<ScreenDefinition>,
    /// By screen: what it is about.
    pub(super) args: Vec<Vec<(Arc<str>, Type)>>,
    /// True if the engine made the screens: then what the screens do not say is asked for.
    pub(super) generated: bool,
}

impl Plan<'_, '_> {
    /// Names in scope for the expressions of a screen.
    pub(super) fn names(&self, place: usize) -> Names<'_> {
        let mut names = Names::new(self.compiler.shared, &self.compiler.of_actions, Roots::default());
        for (name, kind) in &self.args[place] {
            names.push(name, kind.clone());
        }
        names
    }

    /// The view of a name, if the agent may read it.
    pub(super) fn view(&self, name: &Name, faults: &mut Faults) -> Option<usize> {
        let place = self.views.iter().position(|view| view.name == name.text);
        let known = &self.compiler.definition.views;
        match place {
            // A view that did not compile has its own faults.
            None if known.iter().any(|(known, _)| known.text == name.text) => {}
            None => faults.push(name.unknown("view", known.iter().map(|(name, _)| &*name.text))),
            Some(place) if !self.views[place].who.contains(&Role::AGENT) => {
                faults.push(name.fault(format!("the agent may not read the view `{}`", name.text)));
            }
            Some(_) => {}
        }
        place
    }

    /// The action of a name, if the agent may call it.
    pub(super) fn action(&self, name: &Name, faults: &mut Faults) -> Option<usize> {
        let Some(place) = self.actions.iter().position(|action| action.name == name.text) else {
            faults.push(name.unknown("action", self.actions.iter().map(|action| &*action.name)));
            return None;
        };
        if !self.actions[place].who.contains(&Role::AGENT) {
            faults.push(name.fault(format!("the agent may not call the action `{}`", name.text)));
            return None;
        }
        Some(place)
    }

    /// The screen of a name.
    pub(super) fn find_screen(&self, name: &Name, faults: &mut Faults) -> Option<usize> {
        let place = self.definitions.iter().position(|(known, _)| known.text == name.text);
        if place.is_none() {
            faults.push(name.unknown("screen", self.definitions.iter().map(|(name, _)| &*name.text)));
        }
        place
    }
}

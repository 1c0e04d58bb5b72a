//! Actions: from parameters to effects, with the guards that rules demand.

use std::sync::Arc;

use super::errors::raise;
use super::names::{Names, sentence};
use super::{Compiler, kinds};
use crate::app::{Action, Guard, Raise};
use crate::definition::action::ActionDefinition;
use crate::definition::{Enforce, Name, RuleDefinition};
use crate::expression::{Roots, compile_template};
use crate::fault::Faults;
use crate::native;

/// Seconds by which an action that names no cost moves the clock.
const COST: i64 = 60;

impl Compiler<'_> {
    pub(super) fn action(&self, name: &Name, written: &ActionDefinition, faults: &mut Faults) -> Action {
        let parameters = kinds::parameters(&written.params, self.shared, faults);
        let mut names = Names::new(self.shared, &self.of_actions, Roots { old: true, init: false });
        for parameter in &parameters {
            names.push(&parameter.name, parameter.kind.clone());
        }
        let mut guards = self.enforced(name, &names, faults);
        let mut bindings = Vec::new();
        for (name, source) in &written.bindings {
            if let Some(checked) = names.check(source, None, faults) {
                names.introduce(name, checked.kind().clone(), faults);
                bindings.push(checked);
            }
        }
        for guard in &written.guards {
            let raise = raise(self, &guard.otherwise, &names, faults);
            if let Some(check) = names.condition(&guard.check, faults) {
                names.proven.push(check.clone());
                guards.extend(raise.map(|raise| Guard { check, raise }));
            }
        }
        let effects = self.effects(&written.effects, &mut names, 0, faults);
        let returns = written
            .returns
            .iter()
            .filter_map(|(name, source)| Some((Arc::clone(&name.text), names.check(source, None, faults)?)))
            .collect();
        let native = written.native.as_ref().and_then(|name| {
            let found = native::find(&name.text);
            match found {
                Some(native) => self.declared(name, native.codes, faults),
                None => faults.push(name.unknown("native", native::names())),
            }
            found
        });
        let about = written.about.clone().unwrap_or_else(|| sentence(&name.text));
        let who = Self::who(&written.who, faults);
        let cost = written.cost.unwrap_or(COST);
        Action {
            name: Arc::clone(&name.text),
            about,
            who,
            parameters,
            bindings,
            guards,
            effects,
            returns,
            native,
            irreversible: written.irreversible,
            cost,
        }
    }

    /// Guards of an action that rules demand.
    fn enforced(&self, action: &Name, names: &Names<'_>, faults: &mut Faults) -> Vec<Guard> {
        let applies = |rule: &&RuleDefinition| {
            rule.enforce != Enforce::Grade && rule.applies.iter().any(|name| name.text == action.text)
        };
        let mut guards = Vec::new();
        for rule in self.definition.rules.iter().filter(applies) {
            let Some(check) = rule.check.as_ref().and_then(|check| names.condition(check, faults)) else { continue };
            let text = rule.text.replace('$', "$$");
            let text = compile_template(&text, &names.scope());
            if let (Some(error), Ok(text)) = (self.error(&format!("rule_{}", rule.id.text)), text) {
                guards.push(Guard { check, raise: Raise { error, text } });
            }
        }
        guards
    }
}

//! Hints about parameters in the guards of an action: which of them matter, and next to which constants they decide.

use std::collections::BTreeSet;

use super::identity::conditions;
use crate::app::Action;
use crate::expression::Checked;
use crate::value::Value;

/// Hint about one parameter.
#[derive(Debug, Clone, Default)]
pub(super) struct Hint {
    /// True if a guard, or a condition of an effect, mentions it.
    pub(super) mentioned: bool,
    /// Numbers that stand beside it there.
    pub(super) numbers: BTreeSet<i64>,
    /// Texts that stand beside it there.
    pub(super) texts: BTreeSet<String>,
}

/// By parameter of an action.
pub(super) fn hints(action: &Action) -> Vec<Hint> {
    let mut hints = vec![Hint::default(); action.parameters.len()];
    let mut note = |check: &Checked| {
        let (mut places, mut constants) = (BTreeSet::new(), check.constants());
        reach(action, check, &mut places, &mut constants);
        for place in places {
            hints[place].mentioned = true;
            constants.iter().for_each(|constant| hints[place].constant(constant));
        }
    };
    action.guards.iter().for_each(|guard| note(&guard.check));
    conditions(&action.effects, &mut note);
    hints
}

/// The parameters that an expression mentions, also by way of bindings.
fn reach(action: &Action, checked: &Checked, places: &mut BTreeSet<usize>, constants: &mut Vec<Value>) {
    for place in checked.locals().iter().map(|place| usize::from(*place)) {
        if place < action.parameters.len() {
            places.insert(place);
        } else if let Some(binding) = action.bindings.get(place - action.parameters.len()) {
            constants.extend(binding.constants());
            // A binding mentions earlier places alone, so this ends.
            reach(action, binding, places, constants);
        }
    }
}

impl Hint {
    fn constant(&mut self, constant: &Value) {
        match constant {
            Value::Int(number) => {
                self.numbers.insert(*number);
            }
            Value::Text(text) => {
                self.texts.insert(text.to_string());
            }
            Value::List(values) => values.iter().for_each(|value| self.constant(value)),
            _ => {}
        }
    }
}

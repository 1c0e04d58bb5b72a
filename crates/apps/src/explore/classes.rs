//! Rows that stand for others: of the rows that nothing has touched yet, one is taken of those of which the guards of an action
//! say the same, whatever else the call holds.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};

use serde_json::{Map, Value as Json};

use crate::app::Parameter;
use crate::kinds::Type;

/// Arguments that were tried, with what the guards said of them.
pub(super) type Tried = (Map<String, Json>, Vec<Option<bool>>);

/// For the parameters that are rows: those that need not be tried further, since another one stands for them.
pub(super) struct Classes(BTreeSet<(usize, String)>);

impl Classes {
    /// From all that was tried of an action. `fresh` says whether a row was created or changed, or is named by a
    /// task: it stands for itself.
    pub(super) fn of(parameters: &[Parameter], tried: &[Tried], fresh: &dyn Fn(&str) -> bool) -> Self {
        let mut represented = BTreeSet::new();
        for (place, parameter) in parameters.iter().enumerate() {
            if !matches!(parameter.kind.present(), Type::Row(_)) {
                continue;
            }
            // What was said of a row, as a sum over everything else that the calls held.
            let mut said: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
            for (arguments, truths) in tried {
                let Some(id) = arguments.get(&*parameter.name).and_then(Json::as_str) else { continue };
                let mut hasher = DefaultHasher::new();
                truths.hash(&mut hasher);
                for (name, value) in arguments.iter().filter(|(name, _)| **name != *parameter.name) {
                    (name, value.to_string()).hash(&mut hasher);
                }
                let (count, sum) = said.entry(id).or_default();
                *count += 1;
                *sum = sum.wrapping_add(hasher.finish());
            }
            let mut known = BTreeSet::new();
            for (id, said) in said.into_iter().filter(|(id, _)| !fresh(id)) {
                if !known.insert(said) {
                    represented.insert((place, id.to_owned()));
                }
            }
        }
        Self(represented)
    }

    /// True if every row of a call stands for itself.
    pub(super) fn stands(&self, parameters: &[Parameter], arguments: &Map<String, Json>) -> bool {
        let id = |parameter: &Parameter| arguments.get(&*parameter.name).and_then(Json::as_str).map(ToOwned::to_owned);
        !parameters
            .iter()
            .enumerate()
            .any(|(place, parameter)| id(parameter).is_some_and(|id| self.0.contains(&(place, id))))
    }
}

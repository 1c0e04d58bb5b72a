//! The list of built-in environments: a new kind is a file and a line here.

use std::path::PathBuf;
use std::sync::Arc;

use crate::bench::counter::Counter;
use crate::bench::document::Document;
use crate::bench::effect::Effect;
use crate::control::cartpole::Cartpole;
use palestra_environment::EnvironmentKind;

/// The settings of built-in environments.
#[derive(Debug, Clone, Default)]
pub struct BuiltinSettings {
    /// Where `bench/effect` leaves its traces; it is offered only when this is set.
    pub effects_folder: Option<PathBuf>,
}

/// Every built-in environment.
#[must_use]
pub fn builtin(settings: &BuiltinSettings) -> Vec<Arc<dyn EnvironmentKind>> {
    let mut kinds: Vec<Arc<dyn EnvironmentKind>> =
        vec![Arc::new(Counter::new()), Arc::new(Document::new()), Arc::new(Cartpole::new())];
    kinds.extend(palestra_puzzles::all().into_iter().map(|puzzle| puzzle as Arc<dyn EnvironmentKind>));
    if let Some(folder) = &settings.effects_folder {
        kinds.push(Arc::new(Effect::new(folder.clone())));
    }
    kinds
}

/// Earlier versions of built-in environments, which are played and judged under their own number.
#[must_use]
pub fn former() -> Vec<Arc<dyn EnvironmentKind>> {
    palestra_puzzles::former().into_iter().map(|puzzle| puzzle as Arc<dyn EnvironmentKind>).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_the_effect_needs_a_folder() {
        let names = |settings: &BuiltinSettings| -> Vec<String> {
            builtin(settings).iter().map(|kind| kind.spec().name.clone()).collect()
        };
        let without = names(&BuiltinSettings::default());
        assert!(!without.contains(&"bench/effect".to_owned()));
        let with = names(&BuiltinSettings { effects_folder: Some(PathBuf::from("effects")) });
        assert!(with.contains(&"bench/effect".to_owned()));
        assert_eq!(with.iter().collect::<BTreeSet<_>>().len(), with.len());
    }
}

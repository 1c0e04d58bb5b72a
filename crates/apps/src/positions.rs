//! Positions of the parts of a definition, for faults that only show once an app runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::definition::Definition;
use crate::fault::{Fault, Position};
use crate::syntax::files::MAIN_FILE;

/// Positions by path, as `tasks.lend` or `seed.tool.name`.
#[derive(Debug, Clone, Default)]
pub struct Positions(BTreeMap<Arc<str>, Position>);

impl Positions {
    /// The places of a definition's entries, of the columns of its seed, and of its invariants.
    #[must_use]
    pub fn of(definition: &Definition) -> Self {
        let mut positions = BTreeMap::new();
        let mut put = |path: &Arc<str>, position: &Position| {
            positions.insert(Arc::clone(path), position.clone());
        };
        let names = (definition.actions.iter().map(|(name, _)| name))
            .chain(definition.views.iter().map(|(name, _)| name))
            .chain(definition.tasks.iter().map(|(name, _)| name))
            .chain(definition.tables.iter().map(|(name, _)| name))
            .chain(definition.world.iter().map(|event| &event.name));
        names.for_each(|name| put(&name.path, &name.position));
        for (name, seed) in &definition.seed.tables {
            put(&name.path, &name.position);
            seed.columns.iter().for_each(|(column, _)| put(&column.path, &column.position));
        }
        definition.invariants.iter().for_each(|source| put(&source.path, &source.position));
        for (_, task) in &definition.tasks {
            put(&task.goal.name.path, &task.goal.name.position);
        }
        Self(positions)
    }

    /// A fault at a path, or at the nearest part around it whose place is known.
    #[must_use]
    pub fn fault(&self, path: &str, message: impl Into<String>) -> Fault {
        let mut around = path;
        let position = loop {
            match (self.0.get(around), around.rfind(['.', '['])) {
                (Some(position), _) => break position.clone(),
                (None, Some(end)) => around = &around[..end],
                (None, None) => break Position { file: MAIN_FILE.into(), line: 1, column: 1 },
            }
        };
        Fault { position, path: path.to_owned(), message: message.into() }
    }
}

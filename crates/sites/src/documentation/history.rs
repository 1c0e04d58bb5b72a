//! Changes of versions, and the defaults that held in between.

use super::{Function, Library, Setting};

/// A change of one version.
pub(super) enum Change<'a> {
    FunctionAdded(&'a Function),
    OptionAdded(&'a Function, &'a Setting),
    DefaultChanged { function: &'a Function, option: &'a Setting, from: i64, to: i64 },
}

impl Library {
    /// Every option with its function.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&Function, &Setting)> {
        self.functions.iter().flat_map(|function| function.options.iter().map(move |option| (function, option)))
    }

    /// Changes of a version, in the order of its page.
    pub(super) fn changes(&self, version: usize) -> Vec<Change<'_>> {
        let added = self.functions.iter().filter(|function| function.since == version).map(Change::FunctionAdded);
        let options = self.settings().filter(|(_, option)| option.since == version);
        let options = options.map(|(function, option)| Change::OptionAdded(function, option));
        let changed = self.settings().filter_map(|(function, option)| {
            let (from, to) = option.change(version)?;
            Some(Change::DefaultChanged { function, option, from, to })
        });
        added.chain(options).chain(changed).collect()
    }
}

impl Setting {
    /// Default before and after a version that changed it.
    pub(super) fn change(&self, version: usize) -> Option<(i64, i64)> {
        let place = self.defaults.iter().position(|(at, _)| *at == version).filter(|place| *place > 0)?;
        Some((self.defaults[place - 1].1, self.defaults[place].1))
    }

    /// Default in a version, and the version that set it.
    pub(super) fn at(&self, version: usize) -> Option<(i64, usize)> {
        self.defaults.iter().rev().find(|(at, _)| *at <= version).map(|(at, value)| (*value, *at))
    }

    /// The next version after one that changed the default.
    pub(super) fn next_change(&self, version: usize) -> Option<usize> {
        self.defaults.iter().map(|(at, _)| *at).find(|at| *at > version)
    }
}

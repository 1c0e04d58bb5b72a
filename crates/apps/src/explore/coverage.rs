//! Coverage of a search: guards that failed, codes that were raised, actions that succeeded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::app::{Action, App, Effect, ErrorId, Raise};
use crate::run::Occurrence;

/// Coverage of every action.
#[derive(Debug)]
pub(super) struct Coverage {
    /// By action: how often each guard was asked with all before it holding, and how often it then failed.
    guards: Vec<Vec<(u64, u64)>>,
    /// By action: how often it was tried, and how often it succeeded.
    calls: Vec<(u64, u64)>,
    /// Codes that were raised.
    raised: BTreeSet<Arc<str>>,
}

/// Coverage of one action.
#[derive(Debug, Clone, Serialize)]
pub struct ActionReport {
    /// Calls that were tried.
    pub tried: u64,
    /// Those that succeeded.
    pub succeeded: u64,
    /// Its guards, in order.
    pub guards: Vec<GuardReport>,
}

/// Coverage of one guard.
#[derive(Debug, Clone, Serialize)]
pub struct GuardReport {
    /// The error that it raises.
    pub code: Arc<str>,
    /// Number of times that it was asked: all guards before it held.
    pub asked: u64,
    /// Number of times that it failed then.
    pub failed: u64,
}

impl Coverage {
    pub(super) fn new(app: &App) -> Self {
        Self {
            guards: app.actions.iter().map(|action| vec![(0, 0); action.guards.len()]).collect(),
            calls: vec![(0, 0); app.actions.len()],
            raised: BTreeSet::new(),
        }
    }

    /// Notes what guards said of a call; gives the first that failed, if it is new that it does.
    pub(super) fn guards(&mut self, action: usize, truths: &[Option<bool>]) -> Option<usize> {
        self.calls[action].0 += 1;
        for (place, truth) in truths.iter().enumerate() {
            let (asked, failed) = &mut self.guards[action][place];
            *asked += 1;
            if *truth != Some(true) {
                *failed += 1;
                return (*failed == 1).then_some(place);
            }
        }
        None
    }

    pub(super) fn succeeded(&mut self, action: usize) {
        self.calls[action].1 += 1;
    }

    pub(super) fn raised(&mut self, code: &Arc<str>) {
        if !self.raised.contains(code) {
            self.raised.insert(Arc::clone(code));
        }
    }

    /// Notes what took place by itself.
    pub(super) fn occurred(&mut self, occurrence: &Occurrence) {
        self.guards(occurrence.action, &occurrence.guards);
        match &occurrence.raised {
            None => self.succeeded(occurrence.action),
            Some(raised) => self.raised(&raised.code),
        }
    }

    pub(super) fn actions(&self, app: &App) -> BTreeMap<Arc<str>, ActionReport> {
        let report = |place: usize, action: &Action| {
            let guards = action.guards.iter().zip(&self.guards[place]);
            ActionReport {
                tried: self.calls[place].0,
                succeeded: self.calls[place].1,
                guards: guards
                    .map(|(guard, (asked, failed))| GuardReport {
                        code: code(app, guard.raise.error),
                        asked: *asked,
                        failed: *failed,
                    })
                    .collect(),
            }
        };
        app.actions
            .iter()
            .enumerate()
            .map(|(place, action)| (Arc::clone(&action.name), report(place, action)))
            .collect()
    }

    /// Codes that some guard or effect raises, and none was met that did.
    pub(super) fn codes_never_raised(&self, app: &App) -> Vec<Arc<str>> {
        let mut raises = BTreeSet::new();
        for action in &app.actions {
            action.guards.iter().for_each(|guard| note(&guard.raise, &mut raises));
            fails(&action.effects, &mut raises);
        }
        let codes: BTreeSet<Arc<str>> = raises.into_iter().map(|error| code(app, ErrorId(error))).collect();
        codes.difference(&self.raised).cloned().collect()
    }
}

fn code(app: &App, error: ErrorId) -> Arc<str> {
    app.errors.get(usize::from(error.0)).map_or_else(|| "".into(), |error| Arc::clone(&error.code))
}

fn note(raise: &Raise, raises: &mut BTreeSet<u16>) {
    raises.insert(raise.error.0);
}

fn fails(effects: &[Effect], raises: &mut BTreeSet<u16>) {
    for effect in effects {
        match effect {
            Effect::Fail(raise) => note(raise, raises),
            Effect::Each { body, .. } | Effect::Block(body) => fails(body, raises),
            Effect::If { then, otherwise, .. } => {
                fails(then, raises);
                fails(otherwise, raises);
            }
            _ => {}
        }
    }
}

//! Report of an exploration.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::coverage::ActionReport;
use super::search::Found;
use super::{Cut, Options};
use crate::app::App;
use crate::task::call::Call;
use crate::task::instance::Instance;

/// Traps that are told one by one.
const TRAPS_SHOWN: usize = 20;

/// Result of an exploration, with the bound within which it holds.
#[derive(Debug, Clone, Serialize)]
pub struct Exploration {
    /// The app.
    pub app: Arc<str>,
    /// Bounds.
    pub options: Options,
    /// Bound that ended it.
    pub cut: Cut,
    /// True if nothing did, but for the bound on created rows.
    pub complete: bool,
    /// States that were reached.
    pub states: usize,
    /// Moves between them.
    pub moves: usize,
    /// Calls to the furthest of them.
    pub depth: usize,
    /// Calls that were tried.
    pub calls: u64,
    /// Every action.
    pub actions: BTreeMap<Arc<str>, ActionReport>,
    /// Guards that were asked and never failed: the action, the guard's number from 1, its code.
    pub guards_never_failing: Vec<(Arc<str>, usize, Arc<str>)>,
    /// Actions of which no call succeeded.
    pub actions_never_succeeding: Vec<Arc<str>>,
    /// Codes that the definition raises somewhere, and no call did.
    pub codes_never_raised: Vec<Arc<str>>,
    /// Invariants that do not always hold.
    pub breaches: Vec<Breach>,
    /// Calls at which the definition proved to be at fault.
    pub crashes: Vec<Crash>,
    /// By task template.
    pub goals: BTreeMap<Arc<str>, GoalReport>,
    /// The states and moves; not part of the JSON form.
    #[serde(skip)]
    pub graph: Graph,
}

/// An invariant that does not always hold.
#[derive(Debug, Clone, Serialize)]
pub struct Breach {
    /// Its text.
    pub invariant: Arc<str>,
    /// Calls after which it does not hold; none of the ways that were tried is shorter.
    pub calls: Vec<Call>,
}

/// A fault that only shows while the app runs.
#[derive(Debug, Clone, Serialize)]
pub struct Crash {
    /// Message.
    pub message: String,
    /// The calls up to the one that failed.
    pub calls: Vec<Call>,
}

/// Reachability of a goal.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GoalReport {
    /// The seed of the task that was looked at.
    pub seed: u64,
    /// Text for the agent.
    pub text: String,
    /// Reason why there is no task of this template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// A shortest way, with the reading that it needs; none if none was found.
    pub way: Option<Vec<Call>>,
    /// States from which no way to the goal was found, though the goal can be reached: counted only when a task is explored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traps: Option<usize>,
    /// Calls that lead into traps from where the goal could still be reached; the nearest ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub into_traps: Vec<Trap>,
}

/// A call after which a goal cannot be reached any more.
#[derive(Debug, Clone, Serialize)]
pub struct Trap {
    /// The calls that lead into it; the last is the wrong one.
    pub calls: Vec<Call>,
}

/// Graph of the reached states.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// By number from 0; the first is the beginning.
    pub states: Vec<GraphState>,
    /// Between them.
    pub moves: Vec<GraphMove>,
}

/// A state of the graph.
#[derive(Debug, Clone, Copy)]
pub struct GraphState {
    /// Calls from the beginning.
    pub depth: usize,
    /// True if the goal of the task that is explored holds.
    pub goal: bool,
    /// True if moves from it were left out.
    pub open: bool,
    /// True if an invariant is broken here first.
    pub breach: bool,
}

/// A move of the graph.
#[derive(Debug, Clone)]
pub struct GraphMove {
    /// State before.
    pub from: usize,
    /// State after.
    pub to: usize,
    /// The call.
    pub call: Call,
}

pub(super) fn report(app: &App, options: Options, found: &Found) -> Exploration {
    let actions = found.coverage.actions(app);
    let guards_never_failing = actions
        .iter()
        .flat_map(|(name, action)| {
            let dead = (1..).zip(&action.guards).filter(|(_, guard)| guard.asked > 0 && guard.failed == 0);
            dead.map(|(number, guard)| (Arc::clone(name), number, Arc::clone(&guard.code)))
        })
        .collect();
    let actions_never_succeeding =
        actions.iter().filter(|(_, action)| action.succeeded == 0).map(|(name, _)| Arc::clone(name)).collect();
    let breaches = found
        .breaches
        .iter()
        .map(|(invariant, state)| Breach { invariant: Arc::clone(invariant), calls: found.path(*state) })
        .collect();
    let crashes = found
        .crashes
        .iter()
        .map(|(message, (state, call))| Crash {
            message: message.clone(),
            calls: found.path(*state).into_iter().chain([call.clone()]).collect(),
        })
        .collect();
    Exploration {
        app: Arc::clone(&app.name),
        options,
        cut: found.cut,
        complete: found.cut.complete(),
        states: found.states.len(),
        moves: found.moves.len(),
        depth: found.states.iter().map(|state| state.depth).max().unwrap_or(0),
        calls: found.calls,
        actions,
        guards_never_failing,
        actions_never_succeeding,
        codes_never_raised: found.coverage.codes_never_raised(app),
        breaches,
        crashes,
        goals: BTreeMap::new(),
        graph: graph(found),
    }
}

fn graph(found: &Found) -> Graph {
    let state = |(place, state): (usize, &super::search::Reached)| GraphState {
        depth: state.depth,
        goal: state.goal,
        open: state.open,
        breach: found.breaches.values().any(|broken| *broken == place),
    };
    let moves = found.moves.iter().map(|way| GraphMove { from: way.from, to: way.to, call: way.call.clone() });
    Graph { states: found.states.iter().enumerate().map(state).collect(), moves: moves.collect() }
}

pub(super) fn goal(instance: &Instance, seed: u64, way: Option<Vec<Call>>) -> GoalReport {
    GoalReport { seed, text: instance.text.clone(), way, ..GoalReport::default() }
}

/// Finds the states from which the goal cannot be reached any more. From a state whose moves were left out in part it may.
pub(super) fn traps(found: &Found, goal: &mut GoalReport) {
    let states = &found.states;
    if !states.iter().any(|state| state.goal) {
        return;
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
    found.moves.iter().for_each(|way| before[way.to].push(way.from));
    let mut leads: Vec<bool> = states.iter().map(|state| state.goal || state.open).collect();
    let mut left: Vec<usize> = (0..states.len()).filter(|state| leads[*state]).collect();
    while let Some(state) = left.pop() {
        for from in &before[state] {
            if !std::mem::replace(&mut leads[*from], true) {
                left.push(*from);
            }
        }
    }
    goal.traps = Some(leads.iter().filter(|leads| !**leads).count());
    let into = found.moves.iter().filter(|way| leads[way.from] && !leads[way.to]);
    goal.into_traps = into
        .take(TRAPS_SHOWN)
        .map(|way| Trap { calls: found.path(way.from).into_iter().chain([way.call.clone()]).collect() })
        .collect();
}

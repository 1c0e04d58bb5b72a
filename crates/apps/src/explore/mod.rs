//! Exploration: which states of an app can be reached, by the executor that also runs its episodes.
//!
//! Breadth first from an initial database, with calls that stand for all others: rows are grouped by what the guards of actions
//! say of them, numbers are tried next to the constants and amounts that they are compared with, and the clock jumps to what is
//! due next. What was found holds; what was not found holds within the bound that a report states.

mod alphabet;
mod classes;
mod coverage;
mod dot;
mod hints;
mod identity;
mod report;
mod search;
mod solve;
mod survey;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;

use crate::app::{App, Role};
use crate::run::{Beginning, World, database};
use crate::task::draw_key::propose;
use crate::task::subject::GoalSubject;

pub use coverage::{ActionReport, GuardReport};
pub use dot::dot;
pub use report::{Breach, Crash, Exploration, GoalReport, Graph, GraphMove, GraphState, Trap};
pub use solve::solve;

use search::Search;

/// Bounds of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Options {
    /// States.
    pub states_max: usize,
    /// Calls from the beginning to a state.
    pub depth_max: usize,
    /// Rows of one table that are there beyond those of the beginning.
    pub created_max: usize,
    /// Calls that are tried, all together.
    pub calls_max: u64,
    /// Arguments of one action that are tried in one state.
    pub arguments_max: usize,
    /// Random calls of each action by which those are found that stand for all others.
    pub survey: usize,
}

impl Options {
    /// For an app.
    pub const APP: Self =
        Self { states_max: 2_000, depth_max: 8, created_max: 2, calls_max: 1_000_000, arguments_max: 256, survey: 800 };
    /// For a way to a goal, while a task is drawn.
    pub const DRAW: Self =
        Self { states_max: 600, depth_max: 6, created_max: 1, calls_max: 60_000, arguments_max: 300, survey: 0 };
    /// For a way to a goal with time to spare.
    pub const SOLVE: Self = Self { states_max: 2_000, depth_max: 10, calls_max: 200_000, ..Self::DRAW };
}

impl Default for Options {
    fn default() -> Self {
        Self::APP
    }
}

/// Bound that ended an exploration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// There are more states.
    pub states: bool,
    /// There may be more states further away.
    pub depth: bool,
    /// There are states with more created rows.
    pub created: bool,
    /// More calls were to be tried.
    pub calls: bool,
    /// Something is due further away than one wait goes.
    pub wait: bool,
}

impl Cut {
    /// True if every state was reached that the calls which were tried lead to, apart from those with more created rows.
    #[must_use]
    pub const fn complete(&self) -> bool {
        !(self.states || self.depth || self.calls || self.wait)
    }
}

/// The seed of the tasks whose goals are looked for.
const SEED: u64 = 0;
/// The split of these tasks.
const SPLIT: &str = "explore";

/// Explores an app from its first initial database, and looks for a way to the goal of one task of each template.
///
/// # Errors
/// When the initial database cannot be made, or an event's time cannot be worked out.
pub fn explore(app: &Arc<App>, options: Options) -> Result<Exploration, String> {
    let data = database(app, 0)?.clone();
    let start =
        World::begin(Arc::new(Beginning::free(Arc::clone(app), data, SEED))).map_err(|stop| stop.to_string())?;
    let mut search = Search::new(app, options, None);
    survey::survey(&start, &mut search.alphabet, &search.actions, options.survey);
    let found = search.run(start);
    let mut exploration = report::report(app, options, &found);
    let solving = Options { states_max: options.states_max, calls_max: options.calls_max / 10, ..Options::SOLVE };
    for (place, template) in app.templates.iter().enumerate() {
        let goal = match propose(app, place, SPLIT, SEED) {
            Ok(instance) => report::goal(&instance, SEED, solve(&instance, solving)),
            Err(message) => GoalReport { refused: Some(message), ..GoalReport::default() },
        };
        exploration.goals.insert(Arc::clone(&template.name), goal);
    }
    Ok(exploration)
}

/// Explores a task of a template: the same from where the task begins, by what the agent may call, with values of the task
/// tried before all others. Also tells from which states its goal cannot be reached any more.
///
/// # Errors
/// When no task can be drawn, or an event's time cannot be worked out.
pub fn explore_task(app: &Arc<App>, template: usize, seed: u64, options: Options) -> Result<Exploration, String> {
    let instance = propose(app, template, SPLIT, seed)?;
    let start = World::begin(instance.beginning(SEED, instance.data.clone())).map_err(|stop| stop.to_string())?;
    let subject = GoalSubject::of(&instance, &start);
    let mut search = Search::new(app, options, None);
    search.actions.retain(|(_, role)| *role == Role::AGENT);
    search.identity = identity::Identity::new(app, Some(instance.template()));
    search.alphabet.add_rows(solve::about(&subject, &start));
    search.alphabet.values.clone_from(&subject.values);
    survey::survey(&start, &mut search.alphabet, &search.actions, options.survey);
    search.task = Some((&instance, subject));
    let found = search.run(start);
    let mut exploration = report::report(app, options, &found);
    let way = solve(&instance, Options { states_max: options.states_max, ..Options::SOLVE });
    let mut goal = report::goal(&instance, seed, way);
    report::traps(&found, &mut goal);
    exploration.goals.insert(Arc::clone(&instance.template().name), goal);
    Ok(exploration)
}

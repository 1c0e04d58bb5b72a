//! Drawing tasks from seeds, each proven by a solution that was written down or searched for. A draw that shows a fault of the
//! definition ends the drawing: another is made only for the reasons of [`Redraw`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::app::App;
use crate::explore::{self, Options};
use crate::task::draw_key::{ATTEMPTS_MAX, DrawKey, DrawState, stopped};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::outcome::{Flaw, NoTask, Redraw, Rule, Unfit};
use crate::task::solve::{self, Solved};
use crate::task::trace::untraced;
use crate::value::Value;

/// Largest number of the attempts in which the search for a solution may fail when faults were drawn again.
const SEARCHES_MAX: u32 = 5;
/// Largest number of draws, those that belong to another split included.
const DRAWS_MAX: u32 = 2_000;

/// A draw that was made.
#[derive(Debug)]
pub struct Drawn {
    /// The values of the parameters, as far as it came.
    pub values: Vec<Value>,
    /// Text for the agent, where the draw came so far.
    pub text: Option<String>,
    /// The task, or why it is none.
    pub task: Result<Arc<Instance>, Unfit>,
}

impl DrawKey<'_> {
    /// Makes the draw. `belongs` says whether a task is of the split, by its parameters.
    #[must_use]
    pub fn draw(&self, belongs: &dyn Fn(&Json) -> bool) -> Drawn {
        let mut begun = DrawState::default();
        let task = self.begun(belongs, &mut begun).and_then(|(instance, held)| accept(instance, held, self.rule));
        Drawn { values: begun.values, text: begun.text, task: task.map(Arc::new) }
    }
}

/// The task of a seed in a split. `belongs` says whether a task is of that split, by its parameters.
///
/// # Errors
/// As [`draw`], and when the app has no tasks.
pub fn instantiate(
    app: &Arc<App>,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, String> {
    let count = app.templates.len() as u64;
    if count == 0 {
        return Err("this app has no tasks: add one to `tasks`".to_owned());
    }
    let place = usize::try_from(seed % count).unwrap_or(0);
    draw(app, place, split, seed, belongs).map_err(|why| why.to_string())
}

/// The task of a seed and a template in a split.
///
/// # Errors
/// When a draw shows a fault of the definition, or too many draws were thrown away.
pub fn draw(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, NoTask> {
    draw_with(app, template, split, seed, belongs, Rule::Strict)
}

/// The task of a seed and a template as it was drawn when draws that show a fault were thrown away too: stored episodes have
/// tasks that were drawn so.
///
/// # Errors
/// As [`draw`], for fewer faults.
pub fn draw_as_before(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, NoTask> {
    draw_with(app, template, split, seed, belongs, Rule::Before)
}

fn draw_with(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
    rule: Rule,
) -> Result<Arc<Instance>, NoTask> {
    let mut attempts = 0;
    let mut reasons = BTreeMap::new();
    for attempt in 0..DRAWS_MAX {
        if attempts >= ATTEMPTS_MAX {
            break;
        }
        let draw_key = DrawKey { app, template, split, seed, attempt, rule };
        let drawn = draw_key.draw(belongs);
        match drawn.task {
            Ok(instance) => return Ok(instance),
            Err(Unfit::Again(redraw)) => {
                attempts += u32::from(redraw != Redraw::Split);
                *reasons.entry(redraw).or_insert(0) += 1;
            }
            Err(Unfit::Flawed(flaw)) => match cost(&flaw, rule) {
                Some(cost) => attempts += cost,
                None => {
                    let shown = draw_key.shown(&drawn.values, drawn.text.as_deref());
                    return Err(NoTask::Faulty(Box::new(shown), flaw));
                }
            },
        }
    }
    Err(NoTask::Exhausted(Arc::clone(&app.templates[template].name), seed, reasons))
}

/// Number of attempts of a seed that a fault uses up; none where it ends them.
const fn cost(flaw: &Flaw, rule: Rule) -> Option<u32> {
    match (rule, flaw) {
        (Rule::Strict, _) | (Rule::Before, Flaw::Breaks(_)) => None,
        (Rule::Before, Flaw::NoWay) => Some(ATTEMPTS_MAX / SEARCHES_MAX),
        (Rule::Before, Flaw::Done | Flaw::Raises(_) | Flaw::Fails(_) | Flaw::Misses(_) | Flaw::Unknowable(_)) => {
            Some(1)
        }
    }
}

/// Proves a task that has begun: the solution reaches its goal with what it can know. A way that was searched for need not be
/// told by the text: nobody wrote down how its values are to be found out.
pub(crate) fn accept(shared: Arc<Instance>, held: Vec<bool>, rule: Rule) -> Result<Instance, Unfit> {
    let start = Episode::begin(&shared, 0).map_err(stopped)?;
    let flawed = |flaw: Flaw| Unfit::Flawed(flaw);
    let solved = reach(start).map_err(flawed)?;
    if shared.template().solution.is_some()
        && let Some(argument) = untraced(&shared, &solved.calls, rule)
    {
        return Err(flawed(Flaw::Unknowable(argument.shown)));
    }
    let calls = solved.calls;
    drop(solved.episode);
    let outlived = |_| flawed(Flaw::Breaks("an episode outlived its task: report this bug of the server".to_owned()));
    let instance = Arc::try_unwrap(shared).map_err(outlived)?;
    Ok(instance.proven(held, calls.into_iter().map(|played| played.call).collect()))
}

/// Plays the solution from a beginning to the goal. A way that was found already is not searched for again.
pub(crate) fn reach(start: Episode) -> Result<Solved, Flaw> {
    let instance = Arc::clone(start.instance());
    let solved = match &instance.template().solution {
        Some(steps) => solve::play(start, steps),
        None if !instance.solution().is_empty() => solve::replay(start, instance.solution().to_vec()),
        None => {
            let way = explore::solve(&instance, Options::DRAW).ok_or(Flaw::NoWay)?;
            solve::replay(start, way)
        }
    };
    let solved = solved.map_err(|halted| Flaw::Fails(halted.message))?;
    let checks = solved.episode.judge().map_err(Flaw::Breaks)?.into_iter();
    let failed: Vec<String> =
        checks.filter(|check| !check.passed).map(|check| format!("{}: {}", check.name, check.evidence)).collect();
    if failed.is_empty() { Ok(solved) } else { Err(Flaw::Misses(failed.join("; "))) }
}

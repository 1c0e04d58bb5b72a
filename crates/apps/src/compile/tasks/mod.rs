//! Compiler of task definitions into templates.

mod fixed;
mod goal;
mod parameter;
mod solution;
mod sound;

use std::sync::Arc;

use super::names::Names;
use super::{Compiler, called};
use crate::app::task::{Template, WatchedCondition};
use crate::definition::Name;
use crate::definition::goal::Status;
use crate::definition::task::TaskDefinition;
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::Type;

pub(super) use fixed::fixed;
pub(super) use solution::Calls;

/// Every template of a definition.
pub(super) fn templates(compiler: &Compiler<'_>, calls: &Calls<'_>, faults: &mut Faults) -> Vec<Template> {
    compiler.definition.tasks.iter().filter_map(|(name, task)| template(compiler, calls, name, task, faults)).collect()
}

fn template(
    compiler: &Compiler<'_>,
    calls: &Calls<'_>,
    name: &Name,
    written: &TaskDefinition,
    faults: &mut Faults,
) -> Option<Template> {
    sound::check(compiler, name, written, faults);
    let mut names = Names::new(compiler.shared, &compiler.of_draws, Roots::default());
    names.lenient = true;
    let before = faults.len();
    let mut params = Vec::new();
    for (name, drawn) in &written.params {
        let param = parameter::param(compiler, name, drawn, &names, faults)?;
        names.push(&name.text, param.kind.clone());
        params.push(param);
    }
    let mut inner = names.clone();
    let setup = compiler.effects(&written.setup, &mut inner, 0, faults);
    let plant = compiler.effects(&written.plant, &mut names.clone(), 0, faults);
    let require = written
        .require
        .iter()
        .filter_map(|source| Some((Arc::clone(&source.text), names.condition(source, faults)?)))
        .collect();
    if written.text.is_empty() {
        faults.push(name.fault("a task has at least one wording in `text`"));
    }
    let text = written.text.iter().filter_map(|source| names.template(source, faults)).collect();
    let events: Vec<_> =
        written.world.iter().filter_map(|event| compiler.event(event, &names.locals, faults).map(Arc::new)).collect();
    let record: Vec<(Arc<str>, Type)> =
        params.iter().map(|param| (Arc::clone(&param.name), param.kind.clone())).collect();
    let record = Type::Record(record.into());
    let mut goals = Names::new(compiler.shared, &compiler.of_actions, Roots { old: false, init: true });
    goals.push(&"t".into(), record.clone());
    let goal = goal::goal(compiler, &written.goal, false, &goals, faults);
    let watches = watches(compiler, written, &record, faults);
    let solution =
        written.solution.as_ref().map(|steps| calls.steps(steps, &mut solution_names(compiler, &record), faults));
    if faults.len() > before {
        return None;
    }
    Some(Template {
        name: Arc::clone(&name.text),
        infeasible: written.infeasible
            || written.goal.answer.as_ref().is_some_and(|answer| answer.status != Status::Ok),
        twin_of: written.twin_of.as_ref().map(|twin| Arc::clone(&twin.text)),
        params,
        setup,
        plant,
        require,
        text,
        goal: goal?,
        watches: watches.into(),
        events,
        solution,
    })
}

fn solution_names<'g>(compiler: &'g Compiler<'_>, record: &Type) -> Names<'g> {
    let mut names = Names::new(compiler.shared, &compiler.of_actions, Roots { old: false, init: true });
    names.push(&"t".into(), record.clone());
    names
}

fn watches(
    compiler: &Compiler<'_>,
    written: &TaskDefinition,
    record: &Type,
    faults: &mut Faults,
) -> Vec<WatchedCondition> {
    let mut names = Names::new(compiler.shared, &compiler.of_goals, Roots { old: false, init: true });
    names.push(&"t".into(), record.clone());
    names.push(&"call".into(), call_kind(compiler));
    let mut watches: Vec<WatchedCondition> = Vec::new();
    for milestone in &written.milestones {
        let mut after = Vec::new();
        for name in &milestone.after {
            match watches.iter().position(|known| known.name == name.text) {
                Some(place) => after.push(place),
                None => faults.push(name.unknown("earlier milestone", watches.iter().map(|known| &*known.name))),
            }
        }
        let when = names.condition(&milestone.when, faults);
        let name = Arc::clone(&milestone.name.text);
        watches.extend(when.map(|when| WatchedCondition { name, when, after, weight: Some(milestone.weight) }));
    }
    for minefield in &written.minefields {
        let when = names.condition(&minefield.when, faults);
        let name = Arc::clone(&minefield.name.text);
        watches.extend(when.map(|when| WatchedCondition { name, when, after: Vec::new(), weight: None }));
    }
    watches
}

/// The type of the record `call`: the name, whether it succeeded, and the error's code where it did not.
fn call_kind(compiler: &Compiler<'_>) -> Type {
    let codes = Type::Enum(compiler.errors.iter().map(|error| Arc::clone(&error.code)).collect());
    let name = called::names(compiler.definition);
    Type::Record([("name".into(), name), ("ok".into(), Type::Bool), ("code".into(), codes.or_null())].into())
}

//! Check that the parts of a task can go together at all: told before anything of it is drawn.

use crate::compile::Compiler;
use crate::definition::Name;
use crate::definition::goal::{ChangeWhat, Status};
use crate::definition::solution::{StepDefinition, StepKind};
use crate::definition::task::TaskDefinition;
use crate::fault::Faults;

/// Reports what makes a task unsolvable, or a riddle, whatever is drawn.
pub(super) fn check(compiler: &Compiler<'_>, name: &Name, written: &TaskDefinition, faults: &mut Faults) {
    twin(compiler, name, written, faults);
    let goal = &written.goal;
    if written.infeasible && !goal.changes.is_empty() {
        faults.push(goal.name.fault("nothing may change in an infeasible task: `changes: []`"));
    }
    if let Some(answer) = &goal.answer {
        if written.infeasible && answer.status == Status::Ok {
            faults.push(goal.name.fault("the answer to an infeasible task is `impossible` or `refused`"));
        }
        if let (Status::Ok, Some(code)) = (answer.status, &answer.code) {
            faults.push(code.fault("what is `ok` has no error code"));
        }
        if written.solution.as_deref().is_some_and(|steps| !submits(steps)) {
            faults.push(name.fault("the goal asks for an answer, and the solution submits none"));
        }
    }
    after_the_end(written.solution.as_deref().unwrap_or_default(), faults);
    uncompared(compiler, written, faults);
}

fn twin(compiler: &Compiler<'_>, name: &Name, written: &TaskDefinition, faults: &mut Faults) {
    let Some(twin) = &written.twin_of else { return };
    let tasks = &compiler.definition.tasks;
    if twin.text == name.text {
        faults.push(twin.fault("a task is no twin of itself"));
    } else if !tasks.iter().any(|(known, _)| known.text == twin.text) {
        faults.push(twin.unknown("task", tasks.iter().map(|(name, _)| &*name.text)));
    } else if !written.infeasible {
        faults.push(twin.fault("a twin is infeasible: say `infeasible: true`"));
    }
}

/// True if a solution may come to a `submit`.
fn submits(steps: &[StepDefinition]) -> bool {
    steps.iter().any(|step| match &step.step {
        StepKind::Submit { .. } => true,
        StepKind::Each { body, .. } => submits(body),
        StepKind::If { then, otherwise, .. } => submits(then) || submits(otherwise),
        StepKind::Do { .. } | StepKind::Wait(_) => false,
    })
}

/// Reports steps behind a `submit`, which ends the episode.
fn after_the_end(steps: &[StepDefinition], faults: &mut Faults) {
    let end = steps.iter().position(|step| matches!(step.step, StepKind::Submit { .. }));
    if let Some(step) = end.and_then(|end| steps.get(end + 1)) {
        faults.push(step.name.fault("nothing comes after `submit`"));
    }
    for step in steps {
        match &step.step {
            StepKind::Each { body, .. } => after_the_end(body, faults),
            StepKind::If { then, otherwise, .. } => {
                after_the_end(then, faults);
                after_the_end(otherwise, faults);
            }
            _ => {}
        }
    }
}

/// Reports rows that a goal lists and never compares.
fn uncompared(compiler: &Compiler<'_>, written: &TaskDefinition, faults: &mut Faults) {
    for change in &written.goal.changes {
        let ChangeWhat::Created { table, .. } = &change.what else { continue };
        let Some(found) = compiler.shared.schema.find(&table.text) else { continue };
        if compiler.shared.schema.table(found).untracked {
            faults.push(table.fault(format!("`{}` is untracked: goals do not compare it", table.text)));
        }
        let created = format!("created {}", table.text);
        if written.goal.free.iter().any(|free| *free.text == *table.text || *free.text == *created) {
            faults.push(table.fault(format!("`{}` is free, so nothing of it is compared", table.text)));
        }
    }
}

//! Compiler of fixed tasks: their goals are checked as those of templates are, and their calls are looked up.

use std::sync::Arc;

use super::Calls;
use super::goal::goal;
use crate::app::fixed::FixedTask;
use crate::compile::names::Names;
use crate::compile::{CALLS, Compiler};
use crate::definition::fixed::FixedDefinition;
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::Type;
use crate::syntax::nearest;

/// Every fixed task of a definition.
pub(in crate::compile) fn fixed(compiler: &Compiler<'_>, calls: &Calls<'_>, faults: &mut Faults) -> Vec<FixedTask> {
    compiler.definition.fixed.iter().filter_map(|written| one(compiler, calls, written, faults)).collect()
}

fn one(
    compiler: &Compiler<'_>,
    calls: &Calls<'_>,
    written: &FixedDefinition,
    faults: &mut Faults,
) -> Option<FixedTask> {
    let before = faults.len();
    let mut names = Names::new(compiler.shared, &compiler.of_actions, Roots { old: false, init: true });
    names.push(&"t".into(), Type::Record([].into()));
    let goal = goal(compiler, &written.goal, written.end.is_some(), &names, faults);
    let mut solution = Vec::new();
    for (tool, arguments) in &written.solution {
        let known = || calls.by_name.keys().map(|name| &**name).chain(CALLS);
        if !known().any(|name| *name == *tool.text) {
            let hint =
                nearest(&tool.text, known()).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            faults.push(tool.fault(format!("there is no tool `{}`{hint}", tool.text)));
        }
        solution.push((Arc::clone(&tool.text), arguments.clone()));
    }
    if faults.len() > before {
        return None;
    }
    Some(FixedTask {
        id: Arc::clone(&written.id.text),
        split: Arc::clone(&written.split),
        position: written.id.position.clone(),
        text: Arc::clone(&written.text),
        start: written.start.clone(),
        end: written.end.clone(),
        goal: goal?,
        solution,
    })
}

//! Unreachable and endless parts of a definition: told before anything is compiled.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::action::{EffectDefinition, EffectKind};
use crate::definition::{Definition, Name};
use crate::fault::Faults;

/// True if macros end; where they don't, nothing may expand them.
pub(super) fn check(definition: &Definition, faults: &mut Faults) -> bool {
    let mut used = UsedNames::default();
    for (_, action) in &definition.actions {
        used.effects(&action.effects);
    }
    for (_, called) in &definition.macros {
        used.effects(&called.effects);
    }
    for (_, task) in &definition.tasks {
        used.effects(&task.setup);
        used.effects(&task.plant);
        used.runs.extend(task.world.iter().map(|event| &*event.run.text));
    }
    used.runs.extend(definition.world.iter().map(|event| &*event.run.text));
    faults.extend(used.dead.iter().map(|name| name.fault("nothing gets here: what stands before always fails")));
    let system = |who: &[Name]| !who.is_empty() && who.iter().all(|role| &*role.text == "system");
    for (name, action) in &definition.actions {
        if system(&action.who) && !used.runs.contains(&*name.text) {
            let message = format!("nothing runs `{}`: use it in `at` or in `world`, or name who calls it", name.text);
            faults.push(name.fault(message));
        }
    }
    for (name, view) in &definition.views {
        if system(&view.who) {
            faults.push(name.fault(format!("nobody reads `{}`: the system reads no views", name.text)));
        }
    }
    for (name, _) in definition.macros.iter().filter(|(name, _)| !used.macros.contains(&*name.text)) {
        faults.push(name.fault(format!("nothing calls the macro `{}`", name.text)));
    }
    at_once(definition, faults);
    macros_end(definition, faults)
}

/// Names that effects use.
#[derive(Default)]
struct UsedNames<'d> {
    runs: BTreeSet<&'d str>,
    macros: BTreeSet<&'d str>,
    /// The first statement of each block that nothing gets to.
    dead: Vec<&'d Name>,
}

impl<'d> UsedNames<'d> {
    fn effects(&mut self, effects: &'d [EffectDefinition]) {
        let end = effects.iter().position(fails);
        let dead = end.and_then(|end| effects.get(end + 1));
        self.dead.extend(dead.map(|effect| &effect.name));
        effects.iter().for_each(|effect| self.effect(effect));
    }

    fn effect(&mut self, effect: &'d EffectDefinition) {
        match &effect.effect {
            EffectKind::At { run, .. } => {
                self.runs.insert(&run.text);
            }
            EffectKind::Call { name, .. } => {
                self.macros.insert(&name.text);
            }
            EffectKind::Each { body, .. } => self.effects(body),
            EffectKind::If { then, otherwise, .. } => {
                self.effects(then);
                self.effects(otherwise);
            }
            _ => {}
        }
    }
}

/// True if a statement always raises an error.
fn fails(effect: &EffectDefinition) -> bool {
    match &effect.effect {
        EffectKind::Fail(_) => true,
        EffectKind::If { then, otherwise, .. } => then.iter().any(fails) && otherwise.iter().any(fails),
        _ => false,
    }
}

/// Reports actions that always run themselves again at the same time.
fn at_once(definition: &Definition, faults: &mut Faults) {
    let edges: BTreeMap<&str, Vec<&Name>> = definition
        .actions
        .iter()
        .map(|(name, action)| {
            let runs = action.effects.iter().filter_map(|effect| match &effect.effect {
                EffectKind::At { time, run, .. } if time.text.trim() == "now" => Some(run),
                _ => None,
            });
            (&*name.text, runs.collect())
        })
        .collect();
    for run in cycles(&edges) {
        faults.push(run.fault(format!("`{}` leads to itself at the same time, without end", run.text)));
    }
}

/// True if no macro calls itself, not even by way of others.
fn macros_end(definition: &Definition, faults: &mut Faults) -> bool {
    let edges: BTreeMap<&str, Vec<&Name>> = definition
        .macros
        .iter()
        .map(|(name, called)| {
            let mut calls = Vec::new();
            collect(&called.effects, &mut calls);
            (&*name.text, calls)
        })
        .collect();
    let cycles = cycles(&edges);
    for call in &cycles {
        faults.push(call.fault(format!("the macro `{}` leads to itself, without end", call.text)));
    }
    cycles.is_empty()
}

fn collect<'d>(effects: &'d [EffectDefinition], calls: &mut Vec<&'d Name>) {
    for effect in effects {
        match &effect.effect {
            EffectKind::Call { name, .. } => calls.push(name),
            EffectKind::Each { body, .. } => collect(body, calls),
            EffectKind::If { then, otherwise, .. } => {
                collect(then, calls);
                collect(otherwise, calls);
            }
            _ => {}
        }
    }
}

/// The edges that close a cycle, found from each name in turn.
fn cycles<'d>(edges: &BTreeMap<&'d str, Vec<&'d Name>>) -> Vec<&'d Name> {
    let reaches = |from: &'d str, goal: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(name) = open.pop() {
            if name == goal {
                return true;
            }
            if let (true, Some(next)) = (seen.insert(name), edges.get(name)) {
                open.extend(next.iter().map(|name| &*name.text));
            }
        }
        false
    };
    let all = edges.iter().flat_map(|(from, to)| to.iter().map(move |to| (*from, *to)));
    all.filter(|(from, to)| reaches(&to.text, from)).map(|(_, to)| to).collect()
}

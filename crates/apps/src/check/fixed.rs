//! Check of fixed tasks: each is solved by its solution and by nothing less. What says little about one task alone is a note.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{FLOOR, Figures, Report, mutate, policies};
use crate::app::App;
use crate::run::draw::Draws;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::verdict::strict;

/// Fixed tasks on which weak policies and mutants are tried.
pub const TRIED_MAX: usize = 200;

/// Proves every fixed task, and notes what weak policies reach.
pub(super) fn check(app: &Arc<App>, goes_on: &dyn Fn() -> bool, report: &mut Report) {
    if app.fixed.is_empty() {
        return;
    }
    let mut instances = Vec::new();
    let mut texts: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for task in app.fixed.iter().take_while(|_| goes_on()) {
        let proven = task.instance(app).and_then(|instance| task.prove(&instance).map(|refused| (instance, refused)));
        match proven {
            Ok((instance, refused)) => {
                report
                    .notes
                    .extend(refused.iter().map(|call| format!("{}: the solution has a refused {call}", task.id)));
                if policies::solved_by_null(&instance) {
                    report.failures.push(
                        task.fault("saying that it is done, and nothing else, reaches the goal".to_owned()).to_string(),
                    );
                }
                instances.push(instance);
            }
            Err(fault) => report.failures.push(fault.to_string()),
        }
        if let Some(first) = texts.insert((&task.split, &task.text), &task.id) {
            report.notes.push(format!("{}: it has the same text as {first}", task.id));
        }
    }
    report.fixed = Some(figures(app, &instances, goes_on, &mut report.notes));
}

fn figures(app: &App, instances: &[Arc<Instance>], goes_on: &dyn Fn() -> bool, notes: &mut Vec<String>) -> Figures {
    let mut figures = Figures { tasks: instances.len() as u64, ..Figures::default() };
    figures.calls = instances.iter().map(|instance| instance.solution().len() as u64).sum();
    let tried = &instances[..instances.len().min(TRIED_MAX)];
    if tried.len() < instances.len() {
        notes.push(format!("weak policies and mutants were tried on the first {TRIED_MAX} fixed tasks alone"));
    }
    let mut random: ChaCha8Rng = Draws::of(&[b"fixed", app.name.as_bytes()]).random().clone();
    for (place, instance) in tried.iter().enumerate().take_while(|_| goes_on()) {
        mutants(instance, &mut random, &mut figures, notes);
        figures.null += policies::null(instance);
        figures.refuse += policies::refuse(instance);
        figures.random += policies::random(instance, &mut random);
        let other = &tried[(place + 1) % tried.len()];
        if !Arc::ptr_eq(instance, other) {
            figures.replays.0 += 1;
            if policies::replays(instance, other.solution()) {
                figures.replays.1 += 1;
                let (one, other) = (&instance.template().name, &other.template().name);
                notes.push(format!("{one}: the solution of {other} solves it too"));
            }
        }
    }
    let count = tried.len().max(1) as f64;
    for (policy, total) in
        [("null", &mut figures.null), ("refusing", &mut figures.refuse), ("random", &mut figures.random)]
    {
        *total /= count;
        if *total > FLOOR {
            notes.push(format!("the {policy} policy scores {total:.3} on fixed tasks, above {FLOOR}"));
        }
    }
    figures
}

fn mutants(instance: &Arc<Instance>, random: &mut ChaCha8Rng, figures: &mut Figures, notes: &mut Vec<String>) {
    for mutant in mutate::mutants(instance, random) {
        figures.mutants += 1;
        let Ok(mut episode) = Episode::begin(instance, 0) else { continue };
        let crashed = mutant.calls.iter().any(|call| episode.call(&call.name, &call.arguments).is_err());
        if !crashed && episode.judge().is_ok_and(|checks| strict(&checks)) {
            figures.survivors += 1;
            notes.push(format!("{}: a wrong solution passes: {}", instance.template().name, mutant.what));
        }
    }
}

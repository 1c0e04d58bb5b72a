//! Proof that an environment is sound: its tasks can be made and solved, and are not to be had for nothing.

pub mod audit;
pub mod live;

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::id::EpisodeId;
use serde_json::Map;

use crate::policy::{Builtin, Policy};
use crate::task::Task;
use crate::tool::Toolbox;
use crate::verifier::Case;
use crate::{Context, EnvironmentKind, Input, Opening, Place, Secrets, TaskGenerator, Tasks};

/// Turns that a policy gets, unless the environment gives it fewer.
const TURNS_MAX: u64 = 1_000;

/// Tasks from which on the mean of a policy says enough to be compared with the floor.
const FLOOR_TASKS_MIN: usize = 50;

/// The result of a proof.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    /// Tasks that were played.
    pub tasks: usize,
    /// Faults, by task or policy.
    pub faults: Vec<(String, String)>,
}

/// Plays `seeds` tasks of each split: the oracle has to score 1, and the null and the random policy stay at the floor on average.
#[must_use]
pub fn prove(kind: &Arc<dyn EnvironmentKind>, seeds: u64) -> Proof {
    let mut proof = Proof::default();
    let name = || kind.spec().name.clone();
    let Tasks::Generated(generator) = kind.tasks() else {
        proof.faults.push((name(), "its tasks are not made from seeds".to_owned()));
        return proof;
    };
    let tools = match Toolbox::compile(&kind.spec().tools) {
        Ok(tools) => tools,
        Err(fault) => {
            proof.faults.push((name(), fault));
            return proof;
        }
    };
    let mut totals = Builtin::ALL.map(|policy| (policy, 0.0));
    for split in kind.spec().splits.keys() {
        for seed in 0..seeds {
            proof.tasks += 1;
            match scores(kind, generator, &tools, split, seed) {
                Ok(scores) => totals.iter_mut().zip(scores).for_each(|((_, total), score)| *total += score),
                Err(fault) => proof.faults.push((format!("{split}-{seed}"), fault)),
            }
        }
    }
    for (policy, total) in totals.into_iter().filter(|(policy, _)| *policy != Builtin::Oracle) {
        let (mean, floor) = (total / proof.tasks.max(1) as f64, kind.spec().floor);
        if proof.tasks >= FLOOR_TASKS_MIN && mean > floor {
            proof
                .faults
                .push((policy.to_string(), format!("scores {mean:.3} on average, more than the floor {floor}")));
        }
    }
    proof
}

/// The score of every built-in policy on one task.
fn scores(
    kind: &Arc<dyn EnvironmentKind>,
    generator: &dyn TaskGenerator,
    tools: &Toolbox,
    split: &str,
    seed: u64,
) -> Result<[f64; Builtin::ALL.len()], String> {
    let task = Arc::new(generator.generate(split, seed, None).map_err(|error| error.to_string())?);
    let mut scores = [0.0; Builtin::ALL.len()];
    for (score, policy) in scores.iter_mut().zip(Builtin::ALL) {
        let player = policy
            .begin(kind, &task, seed)
            .ok_or("no solution of the task is known: let the environment's oracle give one")?;
        *score = play(kind, tools, &task, player).map_err(|fault| format!("{policy}: {fault}"))?;
        if policy == Builtin::Oracle && *score < 1.0 {
            return Err(format!("the solution scores {score}: correct it, or the verifier"));
        }
    }
    Ok(scores)
}

fn play(
    kind: &Arc<dyn EnvironmentKind>,
    tools: &Toolbox,
    task: &Arc<Task>,
    mut policy: Box<dyn Policy>,
) -> Result<f64, String> {
    let (config, episode) = (Map::new(), EpisodeId::new());
    let opening = Opening {
        task,
        seed: 0,
        secrets: Secrets::Seed(0),
        config: &config,
        episode,
        resumed: false,
        folder: None,
        from: None,
    };
    let mut place = match kind.open(opening).map_err(|error| error.to_string())? {
        Place::Pure(place) => place,
        Place::Live(_) => {
            return Err(
                "the environment is not played inside this process: prove it with sandboxes and databases".to_owned()
            );
        }
    };
    let mut context = Context::seeded(&[b"proof"]);
    for _ in 0..kind.spec().limits.steps.map_or(TURNS_MAX, |steps| steps.min(TURNS_MAX)) {
        let Some(action) = policy.next_action() else { break };
        let reaction = match &action {
            Action::Text(text) => place.act(Input::Text(text), &mut context),
            Action::Tool { tool, arguments } => {
                tools.check(tool, arguments)?;
                place.act(Input::Call { tool, arguments }, &mut context)
            }
            other => return Err(format!("{other:?} is no action of a built-in policy")),
        };
        if let Some(failure) = reaction.failure {
            return Err(failure.detail);
        }
        if reaction.terminated {
            break;
        }
    }
    let case = Case { task, state: &place.state(), trajectory: &[] };
    let judged = kind.verifier().pure().and_then(|verifier| verifier.verify(&case));
    let judgement = judged.map_err(|error| error.to_string())?;
    judgement.score().map_err(|error| error.to_string())
}

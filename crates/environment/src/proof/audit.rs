//! Audit of a generator over many draws: what it threw away and why, whether every value of its parameters survives, whether its
//! own solutions are right, and what is to be had by always giving the same answer.

mod answers;
mod report;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use panic_message::panic_message;
use serde::Serialize;

use crate::draws::{Draws, Requirement};
use crate::policy::{Builtin, Policy};
use crate::task::Task;
use crate::tool::Toolbox;
use crate::{EnvironmentKind, TaskGenerator, Tasks};
pub use answers::Answers;

/// Tasks of an audit in full.
pub const TASKS: u64 = 1_000;

/// Tasks of an audit for each task of each split that is proven: 1,000 where 50 are.
pub const TASKS_PER_SEED: u64 = 20;

/// Difficulties that are gone through, from 0 to 1.
const LEVELS: u64 = 21;

/// A value that was never kept is missed where at least so many of it would have been, had it been kept as often as others.
const MISSED_MIN: f64 = 10.0;

/// Tasks from which on a declared value that was never drawn is missed.
const DOMAIN_TASKS_MIN: u64 = 300;

/// Draws from which on the share of those that were thrown away says enough.
const SHARE_DRAWS_MIN: u64 = 100;

/// Tasks from which on the share of those that repeat an earlier one says enough.
const REPEATED_TASKS_MIN: usize = 50;

/// The largest share of tasks that may be the problem of an earlier one.
const REPEATED_SHARE_MAX: f64 = 0.2;

/// Faults after which no further task is tried.
const FAULTS_MAX: usize = 10;

/// The result of an audit.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Audit {
    /// Tasks that were made.
    pub tasks: u64,
    /// Attempts that they took.
    pub attempts: u64,
    /// Draws that were made again, by requirement.
    pub reasons: BTreeMap<&'static str, Reason>,
    /// For each value of each parameter, how often it was drawn and kept.
    pub parameters: BTreeMap<&'static str, BTreeMap<String, Survival>>,
    /// Values that were drawn and never kept, too seldom to say that they never are.
    pub too_rare: u64,
    /// Tasks with the same problem as an earlier one.
    pub repeated: u64,
    /// Answers by the solutions.
    pub answers: Answers,
    /// Faults, by task, requirement, parameter or policy.
    pub faults: Vec<(String, String)>,
}

/// The number of times that a requirement was not met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reason {
    /// The condition.
    pub meaning: &'static str,
    /// Draws that were held to it.
    pub tried: u64,
    /// Draws that were thrown away.
    pub unmet: u64,
    /// The largest share of them that the generator declares.
    pub share_max: f64,
    /// True if whole attempts are held to it, and not parts of them.
    pub of_attempts: bool,
}

impl Reason {
    const fn of(requirement: &Requirement, of_attempts: bool) -> Self {
        let Requirement { meaning, share_max, .. } = *requirement;
        Self { meaning, tried: 0, unmet: 0, share_max, of_attempts }
    }

    /// The share that was thrown away.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.unmet as f64 / self.tried.max(1) as f64
    }
}

/// The number of draws of a value, and of tasks that have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Survival {
    /// Times that it was drawn.
    pub drawn: u64,
    /// Times that it was kept.
    pub kept: u64,
}

/// A task with what its making and its solution were.
struct Sample {
    task: Arc<Task>,
    /// Values of its parameters but those that are asked for.
    values: Vec<(&'static str, String)>,
    /// Its solution as JSON.
    answer: String,
}

/// The environment and its tools, for playing tasks.
struct Player<'a> {
    kind: &'a Arc<dyn EnvironmentKind>,
    tools: Toolbox,
}

impl Player<'_> {
    fn play(&self, task: &Arc<Task>, policy: Box<dyn Policy>) -> Result<f64, String> {
        super::play(self.kind, &self.tools, task, policy)
    }
}

/// Makes `tasks` tasks over all splits and difficulties, and looks at everything that was drawn for them.
#[must_use]
pub fn audit(kind: &Arc<dyn EnvironmentKind>, tasks: u64) -> Audit {
    let mut audit = Audit::default();
    let Tasks::Generated(generator) = kind.tasks() else {
        audit.fault(&kind.spec().name, "its tasks are not made from seeds: check its rows instead");
        return audit;
    };
    let player = match Toolbox::compile(&kind.spec().tools) {
        Ok(tools) => Player { kind, tools },
        Err(fault) => {
            audit.fault(&kind.spec().name, fault);
            return audit;
        }
    };
    let scaled = generator.generate("train", 0, Some(0.5)).is_ok();
    let mut samples = Vec::new();
    let splits: Vec<&String> = kind.spec().splits.keys().collect();
    for seed in 0..tasks {
        let at = usize::try_from(seed).unwrap_or(0);
        let Some(split) = splits.get(at % splits.len().max(1)) else { break };
        let level = (seed / 3) % LEVELS;
        let difficulty = scaled.then(|| level as f64 / (LEVELS - 1) as f64);
        match audit.sample(generator, &player, split, seed, difficulty) {
            Ok(sample) => samples.push(sample),
            Err((task, fault)) => audit.fault(&task, fault),
        }
        if audit.faults.len() >= FAULTS_MAX {
            audit.fault(
                &kind.spec().name,
                format!(
                    "the audit ended after {} of {tasks} tasks: allow more time, or look at fewer tasks",
                    audit.tasks
                ),
            );
            return audit;
        }
    }
    audit.judge_shares();
    audit.judge_survival();
    audit.judge_repetition(&samples);
    audit.judge_answers(&player, &samples, kind.spec().floor);
    audit
}

impl Audit {
    fn fault(&mut self, at: &str, what: impl Into<String>) {
        self.faults.push((at.to_owned(), what.into()));
    }

    /// Makes one task and plays its solution; the task and what is wrong with it where either fails.
    fn sample(
        &mut self,
        generator: &dyn TaskGenerator,
        player: &Player<'_>,
        split: &str,
        seed: u64,
        difficulty: Option<f64>,
    ) -> Result<Sample, (String, String)> {
        let asked = difficulty.map_or_else(String::new, |difficulty| format!(" at difficulty {difficulty}"));
        let mut draws = Draws::watched();
        let made = catch_unwind(AssertUnwindSafe(|| generator.generate_counted(split, seed, difficulty, &mut draws)));
        let values = self.count(&draws);
        let at = |draws: &Draws| format!("{split}-{seed}{asked}, attempt {}", draws.attempts());
        let task = match made {
            Ok(Ok(task)) => Arc::new(task),
            Ok(Err(error)) => return Err((at(&draws), error.to_string())),
            Err(panic) => return Err((at(&draws), format!("the generator crashed: {}", panic_message(&panic)))),
        };
        self.tasks += 1;
        let actions = player.kind.oracle(&task).ok_or_else(|| {
            (at(&draws), "no solution of the task is known: let the environment's oracle give one".to_owned())
        })?;
        let score = catch_unwind(AssertUnwindSafe(|| {
            let policy = Builtin::Oracle
                .begin(player.kind, &task, seed)
                .ok_or("no solution of the task is known: let the environment's oracle give one")?;
            player.play(&task, policy)
        }));
        match score {
            Ok(Ok(score)) if score >= 1.0 => {}
            Ok(Ok(score)) => return Err((at(&draws), format!("the solution scores {score}"))),
            Ok(Err(fault)) => return Err((at(&draws), format!("the solution cannot be played: {fault}"))),
            Err(panic) => return Err((at(&draws), format!("judging the solution crashed: {}", panic_message(&panic)))),
        }
        let answer = serde_json::to_string(&actions).map_err(|error| (at(&draws), error.to_string()))?;
        Ok(Sample { task, values, answer })
    }

    /// Adds what was drawn for a task, and answers the values that it has.
    fn count(&mut self, draws: &Draws) -> Vec<(&'static str, String)> {
        self.attempts += draws.attempts();
        for (requirement, unmet) in draws.refused() {
            let reason = self.reasons.entry(requirement.name).or_insert_with(|| Reason::of(requirement, true));
            reason.unmet += unmet;
        }
        for (requirement, count) in draws.parts() {
            let reason = self.reasons.entry(requirement.name).or_insert_with(|| Reason::of(requirement, false));
            reason.tried += count.tried;
            reason.unmet += count.unmet;
        }
        for value in draws.domains() {
            self.parameters.entry(value.parameter).or_default().entry(value.value.clone()).or_default();
        }
        let mut kept = Vec::new();
        for (value, used) in draws.drawn() {
            let survival = self.parameters.entry(value.parameter).or_default().entry(value.value.clone()).or_default();
            survival.drawn += 1;
            survival.kept += u64::from(used);
            if used && !value.is_answer {
                kept.push((value.parameter, value.value.clone()));
            }
        }
        kept
    }

    fn judge_shares(&mut self) {
        for reason in self.reasons.values_mut().filter(|reason| reason.of_attempts) {
            reason.tried = self.attempts;
        }
        let mut faults = Vec::new();
        for (name, reason) in &self.reasons {
            if reason.tried >= SHARE_DRAWS_MIN && exceeds(reason.share(), reason.share_max, reason.tried) {
                let (share, most) = (reason.share(), reason.share_max);
                let Reason { meaning, unmet, tried, .. } = reason;
                faults.push((
                    format!("requirement {name}"),
                    format!(
                        "{unmet} of {tried} draws ({share:.3}) were thrown away because not: {meaning}; declared are {most} at most"
                    ),
                ));
            }
        }
        self.faults.extend(faults);
    }

    fn judge_survival(&mut self) {
        let mut faults = Vec::new();
        for (parameter, values) in &self.parameters {
            let drawn: u64 = values.values().map(|survival| survival.drawn).sum();
            let kept: u64 = values.values().map(|survival| survival.kept).sum();
            let at = format!("parameter {parameter}");
            for (value, survival) in values.iter().filter(|(_, survival)| survival.kept == 0) {
                let expected = survival.drawn as f64 * kept as f64 / drawn.max(1) as f64;
                if survival.drawn == 0 && self.tasks >= DOMAIN_TASKS_MIN {
                    faults.push((at.clone(), format!("{value} was never drawn for {} tasks", self.tasks)));
                } else if expected >= MISSED_MIN {
                    let times = survival.drawn;
                    faults.push((
                        at.clone(),
                        format!(
                            "{value} was drawn {times} times and never kept; others are kept {kept} times of {drawn}"
                        ),
                    ));
                } else {
                    self.too_rare += 1;
                }
            }
        }
        self.faults.extend(faults);
    }

    fn judge_repetition(&mut self, samples: &[Sample]) {
        let mut seen = BTreeMap::new();
        for sample in samples {
            let first = seen.entry(sample.task.secret.to_string()).or_insert_with(|| sample.task.public.id.clone());
            self.repeated += u64::from(*first != sample.task.public.id);
        }
        if samples.len() >= REPEATED_TASKS_MIN && self.repeated as f64 > REPEATED_SHARE_MAX * samples.len() as f64 {
            self.fault("tasks", format!("{} of {} are the problem of an earlier one", self.repeated, samples.len()));
        }
    }
}

/// True if a share of so many is more than a bound, and not by chance: beyond it by more than two standard errors of the binomial
/// distribution.
fn exceeds(share: f64, bound: f64, of: u64) -> bool {
    share > bound + 2.0 * (bound * (1.0 - bound) / of.max(1) as f64).sqrt()
}

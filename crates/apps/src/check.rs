//! The check of an app before it is published: it proves that its data is sound, its tasks solvable, and its goals not to
//! be had for nothing.

mod ambiguous_names;
mod audit;
mod chances;
mod contradictions;
mod distribution;
mod finding;
mod fixed;
mod hidden;
mod knowledge;
mod mutate;
mod order;
mod policies;
mod random;
mod refusal;
mod replies;
mod similarity;
mod twins;
mod unstated;

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde_json::Value as Json;

use crate::app::App;
use crate::draw::draw;
use crate::run::draw::Draws;
use crate::run::{Beginning, CallError, World, broken_invariants, database, initial};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::verdict::strict;

pub use audit::DrawFigures;
pub use distribution::{Distribution, Share};
pub use finding::{Finding, Kind};
pub use fixed::TRIED_MAX as FIXED_TRIED_MAX;
pub use random::RandomCalls;

impl Report {
    /// Notes what is wrong with a part of the app, with its place in the files.
    fn fail(&mut self, app: &App, path: &str, message: impl Into<String>) {
        self.failures.push(app.positions.fault(path, message).to_string());
    }
}

/// The path of an action or, of a view, of nothing nearer than all of them.
fn action(name: &str) -> String {
    format!("actions.{name}")
}

/// The path of an invariant, by its text.
fn invariant(app: &App, text: &str) -> String {
    let place = app.invariants.iter().position(|(known, _)| **known == *text);
    place.map_or_else(|| "invariants".to_owned(), |place| format!("invariants[{place}]"))
}

/// Extent of a check.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Seeds of each template.
    pub seeds: u64,
    /// Random calls under which invariants must hold.
    pub calls: u64,
    /// Draws of each template that are audited.
    pub draws: u64,
}

impl Effort {
    /// Extent for a publication.
    pub const PUBLICATION: Self = Self { seeds: 5, calls: 500, draws: 200 };
    /// Extent for shipped apps.
    pub const FULL: Self = Self { seeds: 50, calls: 10_000, draws: 1_000 };
}

/// The most that policies without knowledge may reach on average.
pub const FLOOR: f64 = 0.05;
/// The share of tasks that a solution recorded on another seed must stay below.
pub const REPLAY_MOST: f64 = 0.05;

/// The split whose tasks are checked; every split is drawn from alike.
const SPLIT: &str = "check";

/// Random calls for each time that the world is left to itself, and how long that takes at most: a week.
const CALLS_PER_WAIT: u32 = 20;
const WAIT_SECONDS: i64 = 7 * 86_400;

/// Report of a check.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Everything that is wrong, with its place as [`crate::fault::Fault`] shows it; empty for an app that may be published.
    pub failures: Vec<String>,
    /// The faults that draws have shown, each with one of them; every one is among the failures too.
    pub findings: Vec<Finding>,
    /// Notes for a person to look at; none keeps an app from being published.
    pub notes: Vec<String>,
    /// By template.
    pub templates: BTreeMap<String, Figures>,
    /// Of the fixed tasks, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Figures>,
    /// Random calls that were made, and how many of them succeeded.
    pub random_calls: (u64, u64),
}

/// Figures of a template.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figures {
    /// Tasks that were drawn.
    pub tasks: u64,
    /// Calls of their solutions.
    pub calls: u64,
    /// Mutants of their solutions.
    pub mutants: u64,
    /// Mutants that reached the goal.
    pub survivors: u64,
    /// Mean score of doing nothing.
    pub null: f64,
    /// Mean score of random calls.
    pub random: f64,
    /// Mean score of refusing at once.
    pub refuse: f64,
    /// Tasks on which the solution of another seed was replayed, and how many it solved.
    pub replays: (u64, u64),
    /// Figures of its draws.
    pub draws: DrawFigures,
}

/// Checks an app that compiles.
#[must_use]
pub fn check(app: &Arc<App>, effort: Effort) -> Report {
    check_while(app, effort, &|| true)
}

/// Checks an app that compiles, as long as `goes_on` says so; stopping is a failure.
#[must_use]
pub fn check_while(app: &Arc<App>, effort: Effort, goes_on: &dyn Fn() -> bool) -> Report {
    let mut report = Report::default();
    databases(app, &mut report);
    if !report.failures.is_empty() {
        return report;
    }
    invariants(app, effort.calls, goes_on, &mut report);
    for place in 0..app.templates.len() {
        template(app, place, effort, goes_on, &mut report);
    }
    fixed::check(app, goes_on, &mut report);
    if !goes_on() {
        report.failures.push("the check takes too long: make less data, or simpler tasks".to_owned());
    }
    report
}

/// Initial databases can be made, twice alike, and break no invariant.
fn databases(app: &Arc<App>, report: &mut Report) {
    for variant in 0..app.seed.variants {
        let (first, second) = match (initial(app, variant), initial(app, variant)) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(message), _) | (_, Err(message)) => {
                report.failures.push(message.to_string());
                return;
            }
        };
        if first.document() != second.document() {
            report.fail(app, "seed", format!("the database {variant} differs from one time to the next"));
        }
        for broken in broken_invariants(app, &first) {
            let path = invariant(app, &broken);
            report.fail(app, &path, format!("the initial database {variant} breaks this invariant"));
        }
    }
}

/// Invariants hold under random calls, which give the same results again.
fn invariants(app: &Arc<App>, calls: u64, goes_on: &dyn Fn() -> bool, report: &mut Report) {
    let Ok(data) = database(app, 0) else { return };
    let beginning = Arc::new(Beginning::free(Arc::clone(app), data.clone(), 7));
    let (Ok(mut world), Ok(mut again)) = (World::begin(Arc::clone(&beginning)), World::begin(beginning)) else {
        report.fail(app, "world", "an event's time cannot be worked out");
        return;
    };
    let mut random: ChaCha8Rng = Draws::of(&[b"random calls", app.name.as_bytes()]).random().clone();
    let generator = RandomCalls::new(app);
    let living = World::is_living(app);
    for _ in 0..calls {
        if !goes_on() {
            return;
        }
        if living && rand::RngExt::random_range(&mut random, 0..CALLS_PER_WAIT) == 0 {
            let seconds = rand::RngExt::random_range(&mut random, 60..=WAIT_SECONDS);
            if let (Err(stop @ CallError::Crashed(_)), _) | (_, Err(stop @ CallError::Crashed(_))) =
                (world.wait(seconds), again.wait(seconds))
            {
                report.fail(app, "world", stop.to_string());
                return;
            }
        }
        let Some(call) = generator.call(&world, &mut random) else { break };
        let before = world.data().clone();
        let result = generator.make(&mut world, &call);
        let repeated = generator.make(&mut again, &call);
        report.random_calls.0 += 1;
        match &result {
            Err(crash) => {
                report.fail(app, &action(&call.name), format!("{}: {crash}", Json::Object(call.arguments)));
                return;
            }
            Ok(Err(_)) if !world.data().document().same(&before.document()) => {
                report.fail(app, &action(&call.name), "a call that failed has changed the data");
                return;
            }
            Ok(Err(_)) => {}
            Ok(Ok(_)) => report.random_calls.1 += 1,
        }
        if result != repeated {
            report.fail(app, &action(&call.name), "the same call gave something else the second time");
            return;
        }
        if let Some(broken) = broken_invariants(app, world.data()).first() {
            let call = format!("{} {}", call.name, Json::Object(call.arguments));
            report.fail(app, &invariant(app, broken), format!("{call} breaks this invariant"));
            return;
        }
    }
    if world.data().document() != again.data().document() {
        report.fail(app, "actions", "the same calls led to different data");
    }
}

/// Tasks can be drawn and solved; mutants and policies without knowledge fail.
fn template(app: &Arc<App>, place: usize, effort: Effort, goes_on: &dyn Fn() -> bool, report: &mut Report) {
    let name = app.templates[place].name.to_string();
    let path = format!("tasks.{name}");
    let (draws, findings) = audit::audit(app, place, effort.draws, goes_on);
    let mut figures = Figures { draws, ..Figures::default() };
    for finding in findings {
        report.fail(app, &path, finding.to_string());
        report.findings.push(finding);
    }
    let mut instances: Vec<Arc<Instance>> = Vec::new();
    for seed in (0..effort.seeds).take_while(|_| goes_on()) {
        match draw(app, place, SPLIT, seed, &|_| true) {
            Ok(instance) => instances.push(instance),
            Err(why) => {
                let message = why.to_string();
                let message = message.strip_prefix(&format!("{path}: ")).unwrap_or(&message);
                // What the audit has found already is told once.
                if report.findings.iter().all(|finding| *finding.template != *name) {
                    report.fail(app, &path, message);
                }
                break;
            }
        }
    }
    let mut random: ChaCha8Rng = Draws::of(&[b"policies", name.as_bytes()]).random().clone();
    for instance in instances.iter().take_while(|_| goes_on()) {
        figures.tasks += 1;
        figures.calls += instance.solution().len() as u64;
        survivors(instance, &mut random, goes_on, &mut figures, report);
        figures.null += policies::null(instance);
        figures.refuse += policies::refuse(instance);
        figures.random += policies::random(instance, &mut random);
    }
    if figures.tasks > 0 {
        let tasks = figures.tasks as f64;
        figures.null /= tasks;
        figures.refuse /= tasks;
        figures.random /= tasks;
    }
    for (index, instance) in instances.iter().enumerate() {
        for step in [1, instances.len() / 2] {
            let other = &instances[(index + step.max(1)) % instances.len()];
            if instances.len() > 1 && !Arc::ptr_eq(instance, other) {
                figures.replays.0 += 1;
                figures.replays.1 += u64::from(policies::replays(instance, other.solution()));
            }
        }
    }
    for (policy, reached) in [("null", figures.null), ("refusing", figures.refuse), ("random", figures.random)] {
        if reached > FLOOR + by_chance(figures.tasks) {
            report.fail(app, &path, format!("the {policy} policy scores {reached:.3}, above {FLOOR}"));
        }
    }
    let (replays, solved) = figures.replays;
    let most = REPLAY_MOST + by_chance(replays);
    if solved > 0 && solved as f64 >= most * replays as f64 {
        report.fail(app, &path, format!("solutions of other seeds solve {solved} of {replays} tasks"));
    }
    report.templates.insert(name, figures);
}

/// Share that one lucky try in a few adds. From fifty tries on, luck is no excuse.
fn by_chance(tries: u64) -> f64 {
    const TRIES_ENOUGH: u64 = 50;
    if (1..TRIES_ENOUGH).contains(&tries) { 1.0 / tries as f64 } else { 0.0 }
}

fn survivors(
    instance: &Arc<Instance>,
    random: &mut ChaCha8Rng,
    goes_on: &dyn Fn() -> bool,
    figures: &mut Figures,
    report: &mut Report,
) {
    for mutant in mutate::mutants(instance, random).into_iter().take_while(|_| goes_on()) {
        figures.mutants += 1;
        let Ok(mut episode) = Episode::begin(instance, 0) else { continue };
        let crashed = mutant.calls.iter().any(|call| episode.call(&call.name, &call.arguments).is_err());
        match episode.judge() {
            Ok(checks) if !crashed && strict(&checks) => {
                figures.survivors += 1;
                let path = format!("tasks.{}.goal", instance.template().name);
                report.fail(&instance.app, &path, format!("a wrong solution passes: {}", mutant.what));
            }
            Ok(_) => {}
            Err(message) => report.failures.push(message),
        }
    }
}

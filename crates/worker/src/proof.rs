//! The proof of `palestra check` as a part of a job. Apps and what is played inside a process are proven by the worker, from the definition
//! that the lease of a check may read; what is done in sandboxes and databases where those are: on the server, task by task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palestra_apps::app::App;
use palestra_apps::check::{Effort, check_while};
use palestra_protocol::environment::{Environment, ProveTask};
use serde_json::{Value, json};

use super::context::Context;
use super::failure::WorkError;
use super::findings::Findings;
use super::playing::versioned;
use palestra_environment::proof;
use palestra_environment::proof::audit::{TASKS_PER_SEED, audit};
use palestra_families::app::{FAMILY, shipped};
use palestra_families::registry::{BuiltinSettings, builtin};
use palestra_families::sql::{PROVEN_SEEDS_MAX, is_sql};
use palestra_families::web::{is_published, is_web};
use palestra_families::work::family;

/// Proves what can be proven of an environment; answers what was looked at, `None` where there is nothing to prove beside the gate.
///
/// # Errors
/// When the server lacks what it takes, or the proof breaks off.
pub(super) async fn prove(
    environment: &Environment,
    tasks: u64,
    context: &Context,
    findings: &mut Findings,
) -> Result<Option<Value>, WorkError> {
    context.announce(format!("proving {}", versioned(environment)));
    if environment.family == FAMILY {
        return prove_app(environment, tasks, context, findings).await;
    }
    if family(&environment.name).is_some() || is_sql(&environment.name) || is_published(&environment.name) {
        return prove_where_done(environment, tasks, context, findings).await.map(Some);
    }
    prove_builtin(environment, tasks, findings).await
}

/// Stops a proof when the work is dropped.
struct StopsWhenDropped(Arc<AtomicBool>);

impl Drop for StopsWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn broke_off(error: &tokio::task::JoinError) -> WorkError {
    WorkError::internal(format!("the proof broke off, run it again: {error}"))
}

async fn prove_app(
    environment: &Environment,
    tasks: u64,
    context: &Context,
    findings: &mut Findings,
) -> Result<Option<Value>, WorkError> {
    let shipped = shipped::all().into_iter().find(|app| app.name() == environment.name);
    let files = match shipped {
        Some(app) => app.files(),
        None => context.client.definition(&versioned(environment)).await?.files,
    };
    let app = match App::load(&files) {
        Ok(app) => app,
        Err(faults) => {
            faults.iter().for_each(|fault| findings.fail("", "the definition is sound", fault.to_string()));
            return Ok(None);
        }
    };
    let effort = Effort { seeds: tasks.min(Effort::FULL.seeds), ..Effort::FULL };
    let stopped = StopsWhenDropped(Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&stopped.0);
    let proof = tokio::task::spawn_blocking(move || check_while(&app, effort, &|| !seen.load(Ordering::Relaxed))).await;
    let proof = proof.map_err(|error| broke_off(&error))?;
    for failure in &proof.failures {
        findings.fail("", "the app is proven", failure.clone());
    }
    Ok(Some(serde_json::to_value(proof)?))
}

/// Each task is done on the server, one after the other.
async fn prove_where_done(
    environment: &Environment,
    tasks: u64,
    context: &Context,
    findings: &mut Findings,
) -> Result<Value, WorkError> {
    let name = versioned(environment);
    let (mut proven, mut failures) = (0_u64, Vec::new());
    for (split, length) in &environment.splits {
        let length = cases(environment, *length, tasks);
        context.expect(length);
        for number in 0..length {
            let asked = ProveTask { split: split.clone(), number };
            let task = context.client.prove_task(&name, &asked).await?;
            context.count(None);
            proven += 1;
            for fault in task.faults {
                let failure = format!("{}: {fault}", task.name);
                findings.fail(split, "the task is proven", failure.clone());
                failures.push(json!(format!("{split} {failure}")));
            }
        }
    }
    Ok(json!({"tasks": proven, "failures": failures}))
}

/// Number of tasks of a split that are proven: rows, or some of each template where templates make them.
fn cases(environment: &Environment, length: u64, tasks: u64) -> u64 {
    if is_web(&environment.name) && environment.templates > 1 {
        // Each page is loaded.
        return environment.templates.min(length);
    }
    let made = is_sql(&environment.name) && environment.templates > 1;
    let wanted = if made { environment.templates.saturating_mul(tasks.min(PROVEN_SEEDS_MAX)) } else { tasks };
    wanted.min(length)
}

async fn prove_builtin(
    environment: &Environment,
    tasks: u64,
    findings: &mut Findings,
) -> Result<Option<Value>, WorkError> {
    let kinds = builtin(&BuiltinSettings::default());
    let Some(kind) = kinds.into_iter().find(|kind| kind.spec().name == environment.name) else { return Ok(None) };
    if kind.spec().digest != environment.digest {
        findings.skip("proof", "the server has another form of it than this worker");
        return Ok(None);
    }
    let seeds = tasks.min(Effort::FULL.seeds);
    let both = move || (proof::prove(&kind, seeds), audit(&kind, seeds.saturating_mul(TASKS_PER_SEED)));
    let (proof, audit) = tokio::task::spawn_blocking(both).await.map_err(|error| broke_off(&error))?;
    let faults = proof.faults.iter().map(|fault| (fault, "the environment is proven"));
    let faults = faults.chain(audit.faults.iter().map(|fault| (fault, "what its generator draws holds")));
    let mut failures = Vec::new();
    for ((place, fault), check) in faults {
        let failure = format!("{place}: {fault}");
        findings.fail("", check, failure.clone());
        failures.push(failure);
    }
    Ok(Some(json!({"tasks": proof.tasks, "failures": failures, "audit": audit})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_proven_each_and_of_templates_some_tasks_of_each() {
        let of = |name: &str, templates| {
            let counter = builtin(&BuiltinSettings::default()).remove(0);
            Environment { name: name.to_owned(), templates, ..counter.spec().clone() }
        };
        assert_eq!(cases(&of("terminal/files", 1), 7, 100), 7);
        assert_eq!(cases(&of("terminal/files", 1), 7, 3), 3);
        assert_eq!(cases(&of("sql/question", 12), 100_000, 100), 12 * PROVEN_SEEDS_MAX);
        assert_eq!(cases(&of("sql/question", 12), 100_000, 2), 24);
        assert_eq!(cases(&of("sql/mine", 1), 30, 100), 30);
        assert_eq!(cases(&of("web/mine", 1), 30, 7), 7);
        assert_eq!(cases(&of("web/miniwob", 130), 100_000, 7), 130);
    }
}

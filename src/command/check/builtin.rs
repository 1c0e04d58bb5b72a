//! Built-in environments: their tasks are solved by the oracle, neither doing nothing nor acting at random nor a constant answer gets
//! beyond the floor, and their generators throw away what they declare and nothing else.

use std::io::Write;
use std::sync::Arc;

use serde_json::json;

use super::Failure;
use palestra_environment::EnvironmentKind;
use palestra_environment::proof::audit::{TASKS_PER_SEED, audit};
use palestra_environment::proof::prove;
use palestra_families::registry::{BuiltinSettings, builtin};

/// The built-in environments that an argument stands for: `control/cartpole`, `puzzle/*`.
fn found(asked: &str) -> Vec<Arc<dyn EnvironmentKind>> {
    let fits = |name: &str| asked.strip_suffix(super::ALL).map_or(name == asked, |start| name.starts_with(start));
    let all = builtin(&BuiltinSettings::default());
    // A bare `*` stands for apps, as it always did.
    if asked == super::ALL { Vec::new() } else { all.into_iter().filter(|kind| fits(&kind.spec().name)).collect() }
}

/// True for an argument that names built-in environments.
pub(super) fn asked_for(asked: &str) -> bool {
    !found(asked).is_empty()
}

/// Proves `seeds` tasks of each split, and audits the draws of many more. Answers the names of those with faults.
///
/// # Errors
/// When the proof itself breaks off, or what was found cannot be written.
pub(super) async fn check(
    asked: &str,
    seeds: u64,
    as_json: bool,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<Vec<String>, Failure> {
    let mut failed = Vec::new();
    for kind in found(asked) {
        let name = kind.spec().name.clone();
        let both = move || (prove(&kind, seeds), audit(&kind, seeds.saturating_mul(TASKS_PER_SEED)));
        let both = tokio::task::spawn_blocking(both).await;
        let (proof, audit) = both.map_err(|error| Failure::Other(error.to_string()))?;
        let faults = [proof.faults, audit.faults.clone()].concat();
        let faulty = super::report(&name, proof.tasks, &faults, as_json, output, errors)?;
        if as_json {
            writeln!(output, "{}", json!({"environment": name, "audit": audit}))?;
        } else {
            writeln!(output, "{audit}")?;
        }
        if faulty {
            failed.push(name);
        }
    }
    Ok(failed)
}

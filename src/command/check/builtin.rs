//! Built-in environments: their tasks are solved by the oracle, and neither doing nothing nor acting at random gets beyond the
//! floor.

use std::io::Write;
use std::sync::Arc;

use super::Failure;
use crate::environment::EnvironmentKind;
use crate::environment::proof::prove;
use crate::environment::registry::{BuiltinSettings, builtin};

/// The built-in environments that an argument stands for: `control/cartpole`, `puzzle/*`.
fn found(asked: &str) -> Vec<Arc<dyn EnvironmentKind>> {
    let fits = |name: &str| asked.strip_suffix(super::ALL).map_or(name == asked, |start| name.starts_with(start));
    let all = builtin(&BuiltinSettings::default());
    // A bare `*` stands for apps, as it always did.
    if asked == super::ALL { Vec::new() } else { all.into_iter().filter(|kind| fits(&kind.spec().name)).collect() }
}

/// Whether an argument stands for built-in environments.
pub(super) fn asked_for(asked: &str) -> bool {
    !found(asked).is_empty()
}

/// Proves `seeds` tasks of each split. Answers the names of those with faults.
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
        let proof = tokio::task::spawn_blocking(move || prove(&kind, seeds)).await;
        let proof = proof.map_err(|error| Failure::Other(error.to_string()))?;
        if super::report(&name, proof.tasks, &proof.faults, as_json, output, errors)? {
            failed.push(name);
        }
    }
    Ok(failed)
}

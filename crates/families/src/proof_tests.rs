//! The proof of an environment, tried on one that is sound and on one whose floor is a lie.

use std::sync::Arc;

use palestra_environment::proof::{Proof, prove};
use palestra_environment::task::Task;
use palestra_environment::verifier::AnyVerifier;
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, Tasks};
use palestra_protocol::action::Action;

use crate::control::cartpole::Cartpole;

#[test]
fn a_sound_environment_has_no_faults() {
    let kind: Arc<dyn EnvironmentKind> = Arc::new(Cartpole::new());
    assert_eq!(prove(&kind, 20), Proof { tasks: 60, faults: Vec::new() });
}

#[test]
fn a_floor_that_does_not_hold_is_a_fault_of_the_policy() {
    let kind: Arc<dyn EnvironmentKind> = Arc::new(Lowered(Cartpole::new()));
    let faults = prove(&kind, 20).faults;
    assert_eq!(
        faults.iter().map(|(policy, _)| policy.as_str()).collect::<Vec<_>>(),
        ["builtin:random", "builtin:null"]
    );
}

/// A cart whose pole is said to fall at once.
struct Lowered(Cartpole);

impl EnvironmentKind for Lowered {
    fn spec(&self) -> &palestra_protocol::environment::Environment {
        static SPEC: std::sync::OnceLock<palestra_protocol::environment::Environment> = std::sync::OnceLock::new();
        SPEC.get_or_init(|| palestra_protocol::environment::Environment { floor: 0.01, ..self.0.spec().clone() })
    }

    fn tasks(&self) -> Tasks<'_> {
        self.0.tasks()
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        self.0.open(opening)
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        self.0.verifier()
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        self.0.oracle(task)
    }

    fn random_action(&self, task: &Task, rng: &mut rand_chacha::ChaCha8Rng) -> Action {
        self.0.random_action(task, rng)
    }
}

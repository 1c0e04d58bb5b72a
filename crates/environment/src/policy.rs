//! Built-in policies: what sets the upper and the lower end of a scale, and drives tests.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use palestra_protocol::action::Action;
use rand_chacha::ChaCha8Rng;

use crate::EnvironmentKind;
use crate::task::{Task, seeded};

/// Acts in one episode.
pub trait Policy: Send {
    /// The next turn; `None` when it gives up, or when it believes that nothing is left to do.
    fn next_action(&mut self) -> Option<Action>;
}

/// A policy that needs no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Solves the task from its secret.
    Oracle,
    /// Acts well formed but without looking.
    Random,
    /// Says nothing, in every turn.
    Null,
}

/// There is no such built-in policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no built-in policy: choose builtin:oracle, builtin:random or builtin:null")]
pub struct UnknownPolicy(String);

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Oracle, Self::Random, Self::Null];

    /// The policy in one episode. `seed` is the randomness of the random one.
    ///
    /// `None` when the environment has no oracle for this task.
    #[must_use]
    pub fn begin(self, kind: &Arc<dyn EnvironmentKind>, task: &Arc<Task>, seed: u64) -> Option<Box<dyn Policy>> {
        Some(match self {
            Self::Oracle => Box::new(Script(kind.oracle(task)?.into_iter())),
            Self::Random => Box::new(Random {
                kind: Arc::clone(kind),
                task: Arc::clone(task),
                rng: seeded(&[b"builtin:random", task.public.id.as_bytes(), &seed.to_le_bytes()]),
            }),
            Self::Null => Box::new(Null),
        })
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Oracle => "builtin:oracle",
            Self::Random => "builtin:random",
            Self::Null => "builtin:null",
        })
    }
}

impl FromStr for Builtin {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let known = Self::ALL.into_iter().find(|policy| policy.to_string() == text);
        known.ok_or_else(|| UnknownPolicy(text.chars().take(100).collect()))
    }
}

struct Script(std::vec::IntoIter<Action>);

impl Policy for Script {
    fn next_action(&mut self) -> Option<Action> {
        self.0.next()
    }
}

struct Random {
    kind: Arc<dyn EnvironmentKind>,
    task: Arc<Task>,
    rng: ChaCha8Rng,
}

impl Policy for Random {
    fn next_action(&mut self) -> Option<Action> {
        Some(self.kind.random_action(&self.task, &mut self.rng))
    }
}

struct Null;

impl Policy for Null {
    fn next_action(&mut self) -> Option<Action> {
        Some(Action::Text(String::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_named_one_way() {
        for policy in Builtin::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert!("oracle".parse::<Builtin>().is_err());
        assert!("builtin:best".parse::<Builtin>().is_err());
    }
}

//! Errors of sandboxes.

use crate::wire::FailureCode;

/// Errors of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The back end cannot be used on this machine; says what to do.
    #[error("{0}")]
    Unavailable(String),
    /// There is no place for another sandbox now.
    #[error("no sandbox is free; try again in {retry_after_ms} ms")]
    Exhausted {
        /// When one may be free.
        retry_after_ms: u64,
    },
    /// The profile requires what the back end cannot enforce here.
    #[error("the profile requires {line:?}, which is not enforced here, see `palestra doctor`: {by}")]
    Unenforced {
        /// The line of the profile.
        line: String,
        /// Substitute that is in force.
        by: String,
    },
    /// The sandbox could not be made.
    #[error("the sandbox did not start, try again or see `palestra doctor`: {0}")]
    Start(String),
    /// The sandbox started, and the set-up of the task failed in it: the task is to blame, not the machine.
    #[error("{0}")]
    SetUp(String),
    /// The sandbox is gone, or its agent spoke nonsense. Infrastructure failed: never a score.
    #[error("the sandbox is lost, play the episode again: {0}")]
    Lost(String),
    /// The agent refused a request; the sandbox can still be used.
    #[error("{detail}")]
    Refused {
        /// Kind of refusal.
        code: FailureCode,
        /// In words.
        detail: String,
    },
}

impl SandboxError {
    /// True if the agent refused with this code.
    #[must_use]
    pub fn is(&self, expected: FailureCode) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == expected)
    }
}

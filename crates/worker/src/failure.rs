//! Why an attempt at a job failed, and whether another one could end otherwise.

use std::fmt::Display;

use palestra_client::{ClientError, LeaseError};
use palestra_protocol::job::JobError;
use palestra_protocol::problem::Code;
use palestra_protocol::worker::Outcome;

use crate::play::PlayError;

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(super) struct WorkError {
    /// For programs, as [`JobError::code`] lists them.
    code: &'static str,
    /// For people.
    detail: String,
    /// True where another attempt could end otherwise.
    retry: bool,
}

impl WorkError {
    /// The job cannot be done, now or later.
    pub(super) fn bad_spec(detail: impl Display) -> Self {
        Self { code: "bad_spec", detail: detail.to_string(), retry: false }
    }

    /// Data that the job names cannot be read.
    pub(super) fn bad_data(detail: impl Display) -> Self {
        Self { code: "bad_data", detail: detail.to_string(), retry: false }
    }

    /// Environments, or what they run on, failed.
    pub(super) fn environment(detail: impl Display) -> Self {
        Self { code: "environment", detail: detail.to_string(), retry: true }
    }

    /// The worker itself failed.
    pub(super) fn internal(detail: impl Display) -> Self {
        Self { code: "internal", detail: detail.to_string(), retry: true }
    }

    /// The end of an attempt that failed so.
    pub(super) fn outcome(self) -> Outcome {
        let error = JobError { code: self.code.to_owned(), detail: self.detail };
        Outcome::Failed { error, retry: self.retry }
    }
}

impl From<ClientError> for WorkError {
    fn from(error: ClientError) -> Self {
        match error.code() {
            Some(
                Code::UnknownEnvironment
                | Code::UnknownTask
                | Code::NotFound
                | Code::Invalid
                | Code::Malformed
                | Code::Forbidden
                | Code::NotSupported
                | Code::JobConflict,
            ) => Self::bad_spec(error),
            // The server lacks what the environment needs, such as sandboxes; its operator can change that.
            Some(Code::Unavailable) => Self::environment(error),
            Some(Code::QuotaExceeded | Code::TooLarge) => Self { retry: false, ..Self::internal(error) },
            _ => Self::internal(error),
        }
    }
}

impl From<LeaseError> for WorkError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Client(error) => error.into(),
            LeaseError::Lost => Self::internal(error),
        }
    }
}

impl From<PlayError> for WorkError {
    fn from(error: PlayError) -> Self {
        match error {
            PlayError::Client(error) => error.into(),
            PlayError::Policy(detail) => Self::bad_spec(detail),
            PlayError::Unavailable(detail) | PlayError::Turn(detail) => Self::internal(detail),
        }
    }
}

impl From<std::io::Error> for WorkError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(format!("a file of the worker cannot be used, check its folder and the free space: {error}"))
    }
}

impl From<serde_json::Error> for WorkError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error)
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::Problem;

    use super::*;

    #[test]
    fn what_is_asked_wrongly_is_not_tried_again_and_what_broke_is() {
        let retried = |code: Code| match WorkError::from(ClientError::from(Problem::new(code, ".."))).outcome() {
            Outcome::Failed { retry, .. } => retry,
            _ => unreachable!("an error is a failure"),
        };
        assert!(!retried(Code::UnknownEnvironment) && !retried(Code::Forbidden) && !retried(Code::QuotaExceeded));
        assert!(retried(Code::Internal) && retried(Code::RunOver) && retried(Code::Draining));
        assert!(WorkError::from(ClientError::Closed).retry);
        let lacking = WorkError::from(ClientError::from(Problem::new(Code::Unavailable, "no sandboxes")));
        assert_eq!((lacking.code, lacking.retry), ("environment", true));
        assert!(!WorkError::from(PlayError::Policy(String::new())).retry);
        assert!(WorkError::from(PlayError::Unavailable(String::new())).retry);
    }
}

//! Why a command on a session was refused. Nothing here knows of HTTP.

use palestra_protocol::id::{EpisodeId, RunId};
use palestra_protocol::problem::Fault;
use palestra_protocol::session::CloseReason;

use palestra_catalog::{CatalogError, TaskOrStoreError};
use palestra_environment::task::TaskError;
use palestra_environment::{Cause, InfraError};
use palestra_store::StoreError;

/// Why a command was refused. A refused command changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no such thing for this tenant.
    #[error("there is no such {0} of this tenant: check its id")]
    NotFound(&'static str),
    /// There is no such environment for this tenant.
    #[error("there is no environment {0}: choose one that `GET /v1/environments` lists")]
    UnknownEnvironment(String),
    /// The environment has no such task.
    #[error(transparent)]
    UnknownTask(TaskError),
    /// The request does not fit.
    #[error("the request does not fit: correct each of its faults")]
    Invalid(Vec<Fault>),
    /// The id or name is taken by something else.
    #[error("{0}")]
    Conflict(String),
    /// The run has ended.
    #[error("the run {0} has ended, since its lease expired or it was deleted: begin another")]
    RunOver(RunId),
    /// The idempotency key was used with another request.
    #[error("this idempotency key was used with another request: send a new key, or the same request")]
    KeyReused,
    /// This step was taken with another action.
    #[error("the step {seq} was taken with another action: send the next `seq`, or read what this step was answered")]
    StepConflict {
        /// The step.
        seq: u64,
    },
    /// An earlier step is missing.
    #[error("a step is missing: send step {expected} first")]
    StepAhead {
        /// The step that is next.
        expected: u64,
        /// Up to which step nothing can be lost.
        durable_seq: u64,
    },
    /// The session is in another episode.
    #[error("the session is in episode {current}: send that id, or leave it out")]
    WrongEpisode {
        /// The current one.
        current: EpisodeId,
    },
    /// The episode is over: verify and reset still work.
    #[error("the episode is over: verify it, or reset the session")]
    EpisodeOver,
    /// The environment cannot do this.
    #[error("{0}")]
    NotSupported(String),
    /// The session is closed.
    #[error("the session is closed ({}): create another", .0.as_str())]
    Over(CloseReason),
    /// The session was not recorded and died with the server.
    #[error("the session was not recorded (record: none) and died with the server: create another")]
    Lost,
    /// Too many commands wait for the session.
    #[error("{0} commands wait for this session already: wait for their answers, and try again")]
    Busy(usize),
    /// No more sessions fit.
    #[error("{0} sessions are live, and no more fit: close some, or try again later")]
    Capacity(usize),
    /// Everything that the environment needs is in use.
    #[error("{detail}")]
    Full {
        /// The resource in use.
        detail: String,
        /// When some of it may be free.
        retry_after_ms: u64,
    },
    /// This server lacks what the environment needs.
    #[error("{0}")]
    Unavailable(String),
    /// The server is shutting down.
    #[error("the server is shutting down: try again in a moment")]
    Draining,
    /// The store did not take the record.
    #[error(
        "the store did not take the record: send the command again, the session goes on from the last durable step"
    )]
    NotRecorded,
    /// Another node holds the session.
    #[error("node {0} holds the session: try again")]
    Elsewhere(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bug, caught.
    #[error("the engine failed: {0}")]
    Internal(String),
}

impl SessionError {
    /// True if the session is closed, so that stored answers are all that is left of it.
    pub(super) const fn is_closed(&self) -> bool {
        matches!(self, Self::Over(_) | Self::Lost)
    }
}

impl From<InfraError> for SessionError {
    fn from(error: InfraError) -> Self {
        let InfraError { detail, cause } = error;
        match cause {
            Cause::Broken => Self::Internal(detail),
            Cause::Busy(retry_after_ms) => Self::Full { detail, retry_after_ms },
            Cause::Missing => Self::Unavailable(detail),
            Cause::Refused => Self::NotSupported(detail),
        }
    }
}

impl From<CatalogError> for SessionError {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::UnknownEnvironment(name) => Self::UnknownEnvironment(name),
            CatalogError::Task(error) => Self::UnknownTask(error),
            CatalogError::Faults(faults) => Self::Invalid(faults),
            CatalogError::Store(error) => Self::Store(error),
            CatalogError::Broken(detail) => Self::Internal(detail),
        }
    }
}

impl From<TaskOrStoreError> for SessionError {
    fn from(error: TaskOrStoreError) -> Self {
        CatalogError::from(error).into()
    }
}

/// A request that does not fit, with one fault.
pub(super) fn fault(field: &str, detail: &str) -> SessionError {
    SessionError::Invalid(vec![Fault { field: Some(field.to_owned()), detail: detail.to_owned(), ..Fault::default() }])
}

/// The environment of a session was lost, and with it what a command needs.
pub(super) fn lost(consequence: &str) -> SessionError {
    SessionError::NotSupported(format!("the environment was lost, so {consequence}: reset the session"))
}

/// Something that was recorded is not in the store.
pub(super) fn missing(what: &str) -> SessionError {
    SessionError::Store(StoreError::Broken(format!("a recorded {what} is missing")))
}

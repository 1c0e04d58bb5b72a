//! Why the queue refused. Nothing here knows of HTTP.

use std::io;

use palestra_protocol::job::JobError;
use palestra_protocol::problem::Fault;

use palestra_store::StoreError;

/// Why the queue refused. What was refused changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    /// There is no such thing for this tenant or worker.
    #[error("there is no such {0} of this tenant: check its id")]
    NotFound(&'static str),
    /// The request does not fit.
    #[error("the request does not fit: correct each of its faults")]
    Invalid(Vec<Fault>),
    /// The lease was given to another worker, was taken back, or its job is over.
    #[error("this lease is held no more: it expired and was taken back, or its job is over; stop, and lease again")]
    LeaseLost,
    /// Only jobs that are over can be deleted, and they and files only while no job that is not over needs them.
    #[error("{0}")]
    NotOver(String),
    /// Only jobs that failed or were cancelled can be tried again, and only where what they need succeeded.
    #[error("{0}")]
    NotRetryable(String),
    /// The id is taken by something else.
    #[error("{0}")]
    Conflict(String),
    /// The idempotency key was used with another request.
    #[error("this idempotency key was used with another request: send a new key, or the same request")]
    KeyReused,
    /// The tenant keeps as much as it may.
    #[error(
        "the tenant keeps {kept_bytes} of at most {quota_bytes} bytes of artefacts, policies and files: delete files, or jobs \
         that are over, or have the quota raised"
    )]
    QuotaExceeded {
        /// What is kept already.
        kept_bytes: u64,
        /// What may be kept.
        quota_bytes: u64,
    },
    /// A file is larger than any may be.
    #[error("a file has at most {0} bytes")]
    TooLarge(u64),
    /// What came is not what was announced.
    #[error("the content that came has the digest {found}, not {announced}: send it again")]
    DigestMismatch {
        /// Of what was announced.
        announced: String,
        /// Of what came.
        found: String,
    },
    /// This cannot name an artefact.
    #[error(
        "an artefact's name must be 1 to 8 parts of letters, digits, `.`, `_` and `-`, separated by `/`, none of them `.` or `..`, of 200 bytes altogether"
    )]
    BadArtifactName,
    /// This cannot name a file.
    #[error("a file's name must be 1 to 255 bytes without control characters, `/` and `\\`, and neither `.` nor `..`")]
    BadFileName,
    /// Nobody answers for the policy.
    #[error("no worker answers for this policy now: queue a job of kind serve for it, and wait until it runs")]
    PolicyCold,
    /// Too many wait for the policy already.
    #[error("{0} requests wait for this policy already: try again soon")]
    Busy(usize),
    /// The policy did not answer in time.
    #[error("the policy did not answer within {0} ms: try again, or allow more time")]
    TimedOut(u64),
    /// The policy's worker failed.
    #[error("the policy failed, look into the job that serves it: {}: {}", .0.code, .0.detail)]
    ServeFailed(JobError),
    /// There are as many as there may be.
    #[error("there are {most} {what} already, and no more fit: wait until some are over, or delete some")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Files cannot be read or written.
    #[error("files cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// Something that cannot happen did; the log says what.
    #[error("the queue failed: {0}")]
    Internal(String),
}

/// A fault of one field.
pub(super) fn fault(field: impl Into<String>, detail: impl Into<String>) -> JobsError {
    JobsError::Invalid(vec![Fault { field: Some(field.into()), detail: detail.into(), ..Fault::default() }])
}

//! Errors of the queue, without status codes of HTTP.

use std::io;

use palestra_protocol::job::JobError;
use palestra_protocol::problem::Fault;

use palestra_store::StoreError;

/// An error of the queue. The refused call changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    /// The tenant or worker has no such object.
    #[error("there is no such {0} of this tenant: check its id")]
    NotFound(&'static str),
    /// The request is invalid.
    #[error("the request does not fit: correct each of its faults")]
    Invalid(Vec<Fault>),
    /// The lease was taken back, or its job is over.
    #[error(
        "this lease is not held any more, because it expired or its job is over: stop this attempt and lease again"
    )]
    LeaseLost,
    /// A job or file cannot be deleted, because it or a job that needs it is queued or running.
    #[error("{0}")]
    NotOver(String),
    /// A job cannot be retried: it did not fail, or something that it needs is missing or failed.
    #[error("{0}")]
    NotRetryable(String),
    /// The id is taken by another object.
    #[error("{0}")]
    Conflict(String),
    /// The idempotency key was used with another request.
    #[error("this idempotency key was used with another request: send a new key, or the same request")]
    KeyReused,
    /// The quota of the tenant is used up.
    #[error(
        "the tenant stores {kept_bytes} of at most {quota_bytes} bytes of artefacts, policies and files: delete files, or jobs \
         that are over, or have the quota raised"
    )]
    QuotaExceeded {
        /// Bytes that are stored already.
        kept_bytes: u64,
        /// Bytes that may be stored.
        quota_bytes: u64,
    },
    /// A file is too large.
    #[error("a file has at most {0} bytes")]
    TooLarge(u64),
    /// The received bytes do not have the announced digest.
    #[error("the content that came has the digest {found}, not {announced}: send it again")]
    DigestMismatch {
        /// The announced digest.
        announced: String,
        /// The digest of the received bytes.
        found: String,
    },
    /// The name of an artefact is invalid.
    #[error(
        "the name of an artefact must be 1 to 8 parts of letters, digits, `.`, `_` and `-`, separated by `/`, none of them `.` or \
         `..`, of 200 bytes altogether"
    )]
    BadArtifactName,
    /// The name of a file is invalid.
    #[error("a file's name must be 1 to 255 bytes without control characters, `/` and `\\`, and neither `.` nor `..`")]
    BadFileName,
    /// No worker serves the policy.
    #[error("no worker serves this policy now: queue a job of kind serve for it, and wait until it runs")]
    PolicyCold,
    /// Too many requests wait for the policy.
    #[error("{0} requests wait for this policy already: try again soon")]
    Busy(usize),
    /// The policy did not answer in time.
    #[error("the policy did not answer within {0} ms: try again, or allow more time")]
    TimedOut(u64),
    /// The policy's worker failed.
    #[error("the policy failed, look into the job that serves it: {}: {}", .0.code, .0.detail)]
    ServeFailed(JobError),
    /// A limit of a number of objects is reached.
    #[error("there are {most} {what} already, and no more fit: wait until some are over, or delete some")]
    TooMany {
        /// The objects.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read or written.
    #[error("a file cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// A bug: something that cannot happen did.
    #[error("the queue failed: {0}")]
    Internal(String),
}

/// A fault of one field.
pub(super) fn fault(field: impl Into<String>, detail: impl Into<String>) -> JobsError {
    JobsError::Invalid(vec![Fault { field: Some(field.into()), detail: detail.into(), ..Fault::default() }])
}

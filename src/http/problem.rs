//! The one error of the HTTP surface: every refusal from below becomes a problem document here and nowhere else.

use std::borrow::Cow;

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::problem::{Code, Fault, Problem};

use super::request_id::current;
use super::wording::plain;
use palestra_auth::AuthError;
use palestra_catalog::{CatalogError, InsideError};
use palestra_environment::task::{FaultyTask, TaskError};
use palestra_jobs::JobsError;
use palestra_session::SessionError;
use palestra_store::StoreError;

/// Seconds after which a refused caller may try again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure(pub(crate) Box<Problem>);

impl Failure {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)))
    }

    /// There is no such thing, or it is another tenant's.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no such {what} of this tenant: check its id"))
    }

    /// One field does not fit.
    pub(crate) fn invalid(field: &str, detail: impl Into<String>) -> Self {
        faults(vec![Fault { field: Some(field.to_owned()), detail: detail.into(), ..Fault::default() }])
    }

    pub(crate) fn code(&self) -> Code {
        self.0.code
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let text = error.to_string();
        let problem = |code| Problem::new(code, text.as_str());
        match error {
            SessionError::NotFound(_) => problem(Code::NotFound),
            SessionError::UnknownEnvironment(_) => problem(Code::UnknownEnvironment),
            SessionError::UnknownTask(error) => return error.into(),
            SessionError::Invalid(errors) => return faults(errors),
            SessionError::Conflict(_) => problem(Code::Conflict),
            SessionError::RunOver(_) => problem(Code::RunOver),
            SessionError::KeyReused => problem(Code::KeyReused),
            SessionError::StepConflict { seq } => problem(Code::StepConflict).with("seq", seq),
            SessionError::StepAhead { expected, durable_seq } => {
                problem(Code::StepAhead).with("expected", expected).with("durable_seq", durable_seq)
            }
            SessionError::WrongEpisode { current } => problem(Code::WrongEpisode).with("episode", current.to_string()),
            SessionError::EpisodeOver => problem(Code::EpisodeOver),
            SessionError::NotSupported(_) => problem(Code::NotSupported),
            SessionError::Over(reason) => problem(Code::SessionOver).with("reason", reason.as_str()),
            SessionError::Lost => problem(Code::SessionLost),
            SessionError::Busy(_) => problem(Code::SessionBusy),
            SessionError::Capacity(_) => problem(Code::Capacity),
            SessionError::Full { retry_after_ms, .. } => problem(Code::Capacity).with("retry_after_ms", retry_after_ms),
            SessionError::Unavailable(_) => problem(Code::Unavailable),
            SessionError::Draining => problem(Code::Draining),
            SessionError::NotRecorded => problem(Code::NotRecorded),
            // Which node it is concerns operators, not callers.
            SessionError::Elsewhere(_) => {
                Problem::new(Code::SessionElsewhere, "another node holds the session: try again")
            }
            SessionError::Store(error) => return error.into(),
            SessionError::Internal(_) => return internal(&error),
        }
        .into()
    }
}

impl From<JobsError> for Failure {
    fn from(error: JobsError) -> Self {
        let text = error.to_string();
        let problem = |code| Problem::new(code, text.as_str());
        match error {
            JobsError::NotFound(_) => problem(Code::NotFound),
            JobsError::Invalid(errors) => return faults(errors),
            JobsError::LeaseLost => problem(Code::LeaseLost),
            JobsError::NotOver(_) | JobsError::NotRetryable(_) => problem(Code::JobOver),
            JobsError::Conflict(_) => problem(Code::JobConflict),
            JobsError::KeyReused => problem(Code::KeyReused),
            JobsError::QuotaExceeded { kept_bytes, quota_bytes } => {
                problem(Code::QuotaExceeded).with("kept_bytes", kept_bytes).with("quota_bytes", quota_bytes)
            }
            JobsError::TooLarge(_) => problem(Code::TooLarge),
            JobsError::DigestMismatch { .. } => return Self::invalid("x-content-sha256", text),
            JobsError::BadArtifactName => return Self::invalid("name", text),
            JobsError::BadFileName => return Self::invalid("file", text),
            JobsError::PolicyCold => problem(Code::PolicyCold),
            JobsError::Busy(_) => problem(Code::PolicyBusy),
            JobsError::TimedOut(_) => problem(Code::PolicyLate),
            // The worker's own code tells programs more than ours.
            JobsError::ServeFailed(error) => problem(Code::PolicyFailed).with("worker_code", error.code),
            JobsError::TooMany { .. } => problem(Code::TooManyRequests),
            JobsError::Store(error) => return error.into(),
            JobsError::Io(_) | JobsError::Internal(_) => return internal(&error),
        }
        .into()
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::UnknownSplit(_) | TaskError::OutOfRange { .. } | TaskError::BadId(_) => {
                Self::new(Code::UnknownTask, error.to_string())
            }
            TaskError::BadChoice(detail) => Self::invalid("task", detail),
            TaskError::Faulty(faulty) => faulty_task(*faulty),
            TaskError::Broken(_) => internal(&error),
        }
    }
}

/// Hides the flaw of the draw, which holds hidden values, in the log.
fn faulty_task(faulty: FaultyTask) -> Failure {
    tracing::warn!(request = ?current(), evidence = faulty.evidence, "the definition of an environment is at fault");
    Problem::new(Code::FaultyDefinition, faulty.to_string())
        .with("environment", faulty.environment)
        .with("template", faulty.template)
        .with("split", faulty.split)
        .with("seed", faulty.seed)
        .with("flaw", faulty.flaw)
        .into()
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::UnknownEnvironment(_) => Self::new(Code::UnknownEnvironment, error.to_string()),
            CatalogError::Task(error) => error.into(),
            CatalogError::Faults(errors) => faults(errors),
            CatalogError::Store(error) => error.into(),
            CatalogError::Broken(_) => internal(&error),
        }
    }
}

impl From<InsideError> for Failure {
    fn from(error: InsideError) -> Self {
        match error {
            InsideError::Catalog(error) => error.into(),
            InsideError::NotSupported(detail) => Self::new(Code::NotSupported, detail),
            InsideError::Unavailable(detail) => Self::new(Code::Unavailable, detail),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exists(_) => Self::new(Code::Conflict, error.to_string()),
            StoreError::Broken(_) | StoreError::Migration(_) => internal(&error),
            StoreError::Fenced | StoreError::TimedOut(_) | StoreError::Unreachable { .. } | StoreError::Engine(_) => {
                tracing::error!(request = ?current(), %error, "the store failed");
                Self::new(Code::StoreUnavailable, "the store does not answer: try again")
            }
        }
    }
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Missing | AuthError::Refused => Self::new(Code::Unauthorized, error.to_string()),
            AuthError::Scope(_) | AuthError::NotTheOperator | AuthError::TokenTooNarrow | AuthError::OtherSession => {
                Self::new(Code::Forbidden, error.to_string())
            }
            AuthError::Store(error) => error.into(),
        }
    }
}

/// The failure of a request with faults: one detail where there is one, a count where there are more.
fn faults(mut errors: Vec<Fault>) -> Failure {
    for fault in &mut errors {
        if let Cow::Owned(plainly) = plain(&fault.detail) {
            fault.detail = plainly;
        }
    }
    let detail = match errors.as_slice() {
        [one] => match (&one.field, one.line) {
            (Some(field), _) => format!("{field}: {}", one.detail),
            (None, Some(line)) => format!("line {line}: {}", one.detail),
            (None, None) => one.detail.clone(),
        },
        several => format!("{} faults were found: correct each of `errors`", several.len()),
    };
    Problem::new(Code::Invalid, detail).with_errors(errors).into()
}

/// The cause goes to the log, where the request id leads to it; the caller learns nothing of the inside.
pub(crate) fn internal(cause: &dyn std::error::Error) -> Failure {
    tracing::error!(request = ?current(), error = %cause, "a request failed inside");
    Failure::new(Code::Internal, "the server failed: look into its log, under the id of this request")
}

impl IntoResponse for Failure {
    /// Carries the problem in the extensions: the outermost layer knows the request's id and writes the body.
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        match status {
            StatusCode::UNAUTHORIZED => {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
            }
            _ => {}
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::id::EpisodeId;
    use palestra_protocol::job::JobError;
    use palestra_protocol::session::CloseReason;

    use super::*;

    fn faulty() -> FaultyTask {
        FaultyTask {
            environment: "app/x@1".to_owned(),
            template: "lend".to_owned(),
            split: "train".to_owned(),
            seed: 7,
            flaw: "solution_misses",
            evidence: "secret".to_owned(),
        }
    }

    #[test]
    fn every_refusal_of_the_engine_has_its_documented_code() {
        let episode = EpisodeId::new();
        for (error, code, status) in [
            (SessionError::NotFound("session"), "not_found", 404),
            (SessionError::UnknownEnvironment("a/b".to_owned()), "unknown_environment", 404),
            (SessionError::UnknownTask(TaskError::BadId("x".to_owned())), "unknown_task", 404),
            (SessionError::UnknownTask(TaskError::BadChoice("x".to_owned())), "invalid", 422),
            (SessionError::UnknownTask(TaskError::Broken("x".to_owned())), "internal", 500),
            (SessionError::UnknownTask(TaskError::Faulty(Box::new(faulty()))), "faulty_definition", 409),
            (SessionError::Invalid(Vec::new()), "invalid", 422),
            (SessionError::Conflict("x".to_owned()), "conflict", 409),
            (SessionError::KeyReused, "key_reused", 422),
            (SessionError::StepConflict { seq: 2 }, "step_conflict", 409),
            (SessionError::StepAhead { expected: 2, durable_seq: 1 }, "step_ahead", 409),
            (SessionError::WrongEpisode { current: episode }, "wrong_episode", 409),
            (SessionError::EpisodeOver, "episode_over", 409),
            (SessionError::NotSupported("x".to_owned()), "not_supported", 409),
            (SessionError::Over(CloseReason::Deleted), "session_over", 410),
            (SessionError::Lost, "session_lost", 410),
            (SessionError::Busy(64), "session_busy", 429),
            (SessionError::Capacity(1), "capacity", 503),
            (SessionError::Draining, "draining", 503),
            (SessionError::NotRecorded, "not_recorded", 503),
            (SessionError::Elsewhere("node-7".to_owned()), "session_elsewhere", 503),
            (SessionError::Store(StoreError::Fenced), "store_unavailable", 503),
            (SessionError::Internal("line 7".to_owned()), "internal", 500),
        ] {
            let failure = Failure::from(error);
            assert_eq!((failure.0.code.as_str(), failure.0.status), (code, status));
        }
    }

    #[test]
    fn every_refusal_of_the_queue_has_its_documented_code() {
        let mismatch = JobsError::DigestMismatch { announced: "a".to_owned(), found: "b".to_owned() };
        let failed = JobError { code: "device".to_owned(), detail: "gone".to_owned() };
        for (error, code, status) in [
            (JobsError::NotFound("job"), "not_found", 404),
            (JobsError::Invalid(Vec::new()), "invalid", 422),
            (JobsError::LeaseLost, "lease_lost", 409),
            (JobsError::NotOver("x".to_owned()), "job_over", 409),
            (JobsError::NotRetryable("x".to_owned()), "job_over", 409),
            (JobsError::Conflict("x".to_owned()), "job_conflict", 409),
            (JobsError::KeyReused, "key_reused", 422),
            (JobsError::QuotaExceeded { kept_bytes: 1, quota_bytes: 2 }, "quota_exceeded", 413),
            (JobsError::TooLarge(1), "too_large", 413),
            (mismatch, "invalid", 422),
            (JobsError::BadArtifactName, "invalid", 422),
            (JobsError::BadFileName, "invalid", 422),
            (JobsError::PolicyCold, "policy_cold", 503),
            (JobsError::Busy(256), "policy_busy", 429),
            (JobsError::TimedOut(1), "policy_late", 504),
            (JobsError::ServeFailed(failed), "policy_failed", 502),
            (JobsError::TooMany { what: "jobs", most: 1 }, "too_many_requests", 429),
            (JobsError::Store(StoreError::Fenced), "store_unavailable", 503),
            (JobsError::Io(std::io::Error::other("/secret/path")), "internal", 500),
            (JobsError::Internal("line 7".to_owned()), "internal", 500),
        ] {
            let failure = Failure::from(error);
            assert_eq!((failure.0.code.as_str(), failure.0.status), (code, status));
            assert!(!failure.0.detail.contains("secret"));
        }
    }

    #[test]
    fn nothing_internal_leaks() {
        for error in [
            SessionError::Internal("secret".to_owned()),
            SessionError::Elsewhere("secret".to_owned()),
            SessionError::Store(StoreError::Broken("secret".to_owned())),
            SessionError::UnknownTask(TaskError::Broken("secret".to_owned())),
            SessionError::UnknownTask(TaskError::Faulty(Box::new(faulty()))),
        ] {
            let problem = serde_json::to_string(&Failure::from(error).0).unwrap();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn a_client_that_ran_ahead_learns_where_to_resend_from() {
        let failure = Failure::from(SessionError::StepAhead { expected: 4, durable_seq: 2 });
        assert_eq!(failure.0.extra["expected"], 4);
        assert_eq!(failure.0.extra["durable_seq"], 2);
    }
}

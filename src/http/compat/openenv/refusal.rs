//! Refusals, in the three forms that clients of OpenEnv read: error frames, HTTP bodies and JSON-RPC errors.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::problem::{Code, Problem};
use palestra_protocol::verdict::Status;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::super::super::envelope::Written;
use super::super::super::problem::Failure;

/// Longest text that is sent back as the `input` of a fault.
const INPUT_BYTES_MAX: usize = 200;

/// One fault in what was sent, as FastAPI tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Detail {
    /// The kind of the fault.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Where: names of fields from the outside in, and places in lists.
    #[schema(value_type = Vec<String>)]
    loc: Vec<Value>,
    /// The fault.
    msg: String,
    /// The value that was sent there; null where it is long.
    input: Value,
}

impl Detail {
    pub(super) fn new(kind: &'static str, loc: &[&str], msg: impl Into<String>, input: &Value) -> Self {
        let loc = loc.iter().map(|part| json!(part)).collect();
        Self { kind, loc, msg: msg.into(), input: Self::shortened(input) }
    }

    /// A value that may be sent back: null where it is long.
    pub(super) fn shortened(value: &Value) -> Value {
        match value {
            Value::Array(_) | Value::Object(_) => Value::Null,
            Value::String(text) if text.len() > INPUT_BYTES_MAX => Value::Null,
            short => short.clone(),
        }
    }

    /// The same fault further inside.
    pub(super) fn below(mut self, outer: &[&str]) -> Self {
        self.loc.splice(0..0, outer.iter().map(|part| json!(part)));
        self
    }
}

/// The body of a 422.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ValidationProblem {
    /// Every fault that was found.
    detail: Vec<Detail>,
}

/// Occupancy of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Occupancy {
    pub(super) active_sessions: usize,
    pub(super) max_sessions: usize,
}

/// An episode that is over and has no score.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unscored {
    /// Why; none while the judge is still at it.
    pub(super) status: Option<Status>,
    pub(super) detail: Option<String>,
    pub(super) session_id: String,
    pub(super) episode_id: String,
}

/// Why something was refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// The request does not fit.
    Invalid(Vec<Detail>),
    /// No more sessions fit.
    Full(Occupancy),
    /// The episode is over and is no sample, so there is no reward to tell of.
    Unscored(Box<Unscored>),
    /// The session is not there, or not this caller's to play.
    Session(String),
    /// The environment could not be opened.
    Factory { environment: String, failure: Failure },
    /// Anything else that the server refuses.
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Detail> for Refusal {
    fn from(detail: Detail) -> Self {
        Self::Invalid(vec![detail])
    }
}

impl Refusal {
    /// The faults of a request that was read by our own rules, below `outer`; other failures as they are.
    pub(super) fn below(failure: Failure, outer: &[&str]) -> Self {
        if failure.code() != Code::Invalid {
            return Self::Failed(failure);
        }
        let fault = |field: Option<&str>, words: &str| {
            let inner: Vec<&str> = field.map(|field| field.split('.').collect()).unwrap_or_default();
            Detail::new("value_error", &inner, words, &Value::Null).below(outer)
        };
        match failure.0.errors.as_slice() {
            [] => Self::Invalid(vec![fault(None, &failure.0.detail)]),
            faults => Self::Invalid(faults.iter().map(|one| fault(one.field.as_deref(), &one.detail)).collect()),
        }
    }

    /// The same refusal of something further inside.
    pub(super) fn inside(self, outer: &str) -> Self {
        match self {
            Self::Invalid(details) => Self::Invalid(details.into_iter().map(|one| one.below(&[outer])).collect()),
            Self::Failed(failure) => Self::below(failure, &[outer]),
            other => other,
        }
    }

    /// The fault, in words.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Invalid(_) => "Invalid message".to_owned(),
            Self::Full(Occupancy { active_sessions, max_sessions }) => {
                format!("no more sessions fit: {active_sessions} of {max_sessions} are taken")
            }
            Self::Unscored(unscored) => unscored.message(),
            Self::Session(words) => words.clone(),
            Self::Factory { failure, .. } | Self::Failed(failure) => failure.0.detail.clone(),
        }
    }

    /// The `data` of an error frame.
    pub(super) fn frame_data(&self) -> Value {
        let mut data = json!({"message": self.message(), "code": self.frame_code()});
        match self {
            Self::Invalid(details) => data["errors"] = json!(details),
            Self::Full(Occupancy { active_sessions, max_sessions }) => {
                data["active_sessions"] = json!(active_sessions);
                data["max_sessions"] = json!(max_sessions);
            }
            Self::Unscored(unscored) => {
                data["status"] = json!(unscored.status);
                data["session_id"] = json!(unscored.session_id);
                data["episode_id"] = json!(unscored.episode_id);
            }
            Self::Factory { environment, .. } => data["factory_name"] = json!(environment),
            Self::Failed(failure) => data["problem"] = json!(failure.code().as_str()),
            Self::Session(_) => {}
        }
        data
    }

    fn frame_code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "VALIDATION_ERROR",
            Self::Full(_) => "CAPACITY_REACHED",
            Self::Unscored(_) => "EXECUTION_ERROR",
            Self::Session(_) => "SESSION_ERROR",
            Self::Factory { .. } => "FACTORY_ERROR",
            Self::Failed(failure) => match failure.code() {
                Code::Invalid | Code::Malformed | Code::UnknownTask => "VALIDATION_ERROR",
                Code::UnknownEnvironment => "FACTORY_ERROR",
                Code::SessionOver
                | Code::SessionLost
                | Code::SessionElsewhere
                | Code::NotFound
                | Code::Unauthorized
                | Code::Forbidden => "SESSION_ERROR",
                _ => "EXECUTION_ERROR",
            },
        }
    }
}

impl Unscored {
    fn message(&self) -> String {
        let Some(status) = self.status else {
            return "the episode is over and its verdict is not there yet".to_owned();
        };
        let because = self.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
        format!("the episode ended without a score ({}{because}): it is no sample, and has no reward", status.as_str())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let detail = self.message();
        let problem = match self {
            Self::Invalid(details) => return unprocessable(&ValidationProblem { detail: details }),
            Self::Full(Occupancy { active_sessions, max_sessions }) => Problem::new(Code::Capacity, detail)
                .with("active_sessions", active_sessions)
                .with("max_sessions", max_sessions),
            Self::Unscored(unscored) => Problem::new(Code::Unscored, detail)
                .with("verdict", unscored.status.map(Status::as_str))
                .with("session_id", unscored.session_id)
                .with("episode_id", unscored.episode_id),
            Self::Session(_) => Problem::new(Code::Conflict, detail),
            Self::Factory { failure, .. } | Self::Failed(failure) => return failure.into_response(),
        };
        Failure::from(problem).into_response()
    }
}

fn unprocessable(body: &ValidationProblem) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = (StatusCode::UNPROCESSABLE_ENTITY, Body::from(bytes)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.extensions_mut().insert(Written);
    response
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::Fault;

    use super::*;

    #[test]
    fn every_refusal_has_a_code_that_clients_know() {
        let failed = |code| Refusal::Failed(Failure::new(code, "x"));
        let full = Refusal::Full(Occupancy { active_sessions: 2, max_sessions: 2 });
        for (refusal, code) in [
            (failed(Code::UnknownTask), "VALIDATION_ERROR"),
            (failed(Code::EpisodeOver), "EXECUTION_ERROR"),
            (failed(Code::NotRecorded), "EXECUTION_ERROR"),
            (failed(Code::SessionOver), "SESSION_ERROR"),
            (failed(Code::UnknownEnvironment), "FACTORY_ERROR"),
            (Refusal::Session("x".to_owned()), "SESSION_ERROR"),
            (full.clone(), "CAPACITY_REACHED"),
        ] {
            assert_eq!(refusal.frame_data()["code"], code);
        }
        assert_eq!(full.frame_data()["active_sessions"], 2);
    }

    #[test]
    fn faults_lie_below_what_they_were_found_in_and_echo_only_what_is_short() {
        let fault = Fault { field: Some("limits.steps".to_owned()), detail: "is none".to_owned(), ..Fault::default() };
        let failure = Failure::from(Problem::new(Code::Invalid, "x").with_errors(vec![fault]));
        let data = Refusal::below(failure, &["data"]).frame_data();
        assert_eq!(data["errors"][0]["loc"], json!(["data", "limits", "steps"]));
        let long = Detail::new("string_too_long", &["a"], "long", &json!("x".repeat(300)));
        assert_eq!(serde_json::to_value(long).unwrap()["input"], Value::Null);
    }
}

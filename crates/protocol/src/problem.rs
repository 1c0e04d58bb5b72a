//! Errors on the wire: problem details (RFC 9457), with every code that a caller may rely on.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `/problems/<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The meaning of the code.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Stable and listed in [`Code`].
    pub code: Code,
    /// The reason this time, and what to do about it.
    pub detail: String,
    /// Also in `x-request-id`; null inside batch answers and frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Every fault found in what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// Fields that belong to the code, such as `expected` with `step_ahead`.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(additional_properties))]
    pub extra: Map<String, Value>,
}

/// One fault in what was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fault {
    /// Where: a path of fields such as `limits.steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Where: a file of what was sent, where that is several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where: the line of a file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Where: the character in the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The fault.
    pub detail: String,
}

impl fmt::Display for Fault {
    /// The line and the field, as far as there are such, and what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.detail)
    }
}

impl Problem {
    /// A problem of `code` with `detail`.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/problems/{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status(),
            code,
            detail: detail.into(),
            request_id: None,
            errors: Vec::new(),
            extra: Map::new(),
        }
    }

    /// The same with one more field.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(field.to_owned(), value.into());
        self
    }

    /// The same with every fault that was found.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<Fault>) -> Self {
        self.errors = errors;
        self
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $title:literal, $remedy:literal;)*) => {
        /// Every error code, with the HTTP status that it comes with: its meaning, and what to do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $title] #[doc = $remedy] #[serde(rename = $text)] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// As it is written in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The HTTP status that it comes with.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// Its meaning.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

// Written out because the derived form does not see names that a macro puts together.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Code {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::ALL.iter().map(|code| code.as_str())))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Code {}

codes! {
    Malformed = "malformed", 400, "The request could not be read.", "Correct the place that `detail` names.";
    Unauthorized = "unauthorized", 401, "No valid credential came with the request.", "Send a valid key as `Authorization: Bearer <key>`.";
    Forbidden = "forbidden", 403, "The credential does not reach this far.", "Use a key with the scope that `detail` names.";
    NotFound = "not_found", 404, "There is no such thing.", "Check the id and the tenant of the key.";
    UnknownEnvironment = "unknown_environment", 404, "There is no such environment.", "Choose one that `GET /v1/environments` lists.";
    UnknownTask = "unknown_task", 404, "The environment has no such task.", "Choose one of the environment's splits and tasks.";
    MethodNotAllowed = "method_not_allowed", 405, "The path exists, but not with this method.", "See the header `allow`.";
    LimitReached = "limit_reached", 403, "A limit of model calls is reached.", "Raise the limit that `detail` names, or open another session.";
    RequestTimeout = "request_timeout", 408, "The request did not arrive in time.", "Send it again.";
    StepConflict = "step_conflict", 409, "This step was taken with another action.", "Send the next `seq`, or read what this one was answered.";
    StepAhead = "step_ahead", 409, "An earlier step is missing.", "Send again from `expected`.";
    WrongEpisode = "wrong_episode", 409, "The session is in another episode.", "Send the id in `episode`, or leave it out.";
    EpisodeOver = "episode_over", 409, "The episode is over.", "Verify it, or reset the session.";
    NotSupported = "not_supported", 409, "The environment cannot do this.", "Choose what `detail` offers, or another environment.";
    FaultyDefinition = "faulty_definition", 409, "The definition of the environment has a fault, which this task shows.", "Mend the definition and publish it anew; `palestra check` shows such draws.";
    RunOver = "run_over", 409, "The run has ended.", "Begin another run.";
    Conflict = "conflict", 409, "The thing exists with other content.", "Choose another id or name, or send the same content.";
    JobConflict = "job_conflict", 409, "A job or policy exists under this id with other content.", "Choose another id or name, or send the same content.";
    JobOver = "job_over", 409, "The state of the job does not allow this.", "Read the job's state; cancel or retry as `detail` says.";
    LeaseLost = "lease_lost", 409, "The lease of the job is not held any more.", "Stop the work, and lease again.";
    SessionOver = "session_over", 410, "The session is closed.", "Create another session.";
    SessionLost = "session_lost", 410, "The session was not recorded and died with the server.", "Create another session; record it to have it outlive the server.";
    TooLarge = "too_large", 413, "What was sent is too large.", "Send less: `detail` names the bound.";
    QuotaExceeded = "quota_exceeded", 413, "No more bytes are kept for this tenant.", "Delete files or jobs that are over, or have the quota raised.";
    UnsupportedMediaType = "unsupported_media_type", 415, "The content type is not one that this call reads.", "Send one of the types that `detail` names.";
    Invalid = "invalid", 422, "What was sent does not fit the schema.", "Correct each of `errors`.";
    KeyReused = "key_reused", 422, "The idempotency key was used with another request.", "Send a new key, or the same request.";
    SessionBusy = "session_busy", 429, "Too many commands wait for this session.", "Wait for the answers, and try again.";
    TooManyRequests = "too_many_requests", 429, "Too many requests at once.", "Wait a moment, and try again.";
    PolicyBusy = "policy_busy", 429, "Too many requests wait for this policy.", "Wait a moment, and try again.";
    Internal = "internal", 500, "The server failed.", "Look into the server's log under `request_id`, and report it.";
    Unscored = "unscored", 500, "The episode ended without a score and is no sample.", "Play the episode again: it counts for nothing.";
    PolicyFailed = "policy_failed", 502, "The worker of the policy could not answer.", "Look into the job that serves the policy.";
    UpstreamFailed = "upstream_failed", 502, "The upstream of a model call failed, or cannot be reached.", "Look at the upstream: `detail` names it.";
    NotRecorded = "not_recorded", 503, "The store did not take the record; nothing that was answered is lost.", "Send the command again.";
    Capacity = "capacity", 503, "No more sessions fit.", "Close sessions, or try again after `retry_after_ms`.";
    Unavailable = "unavailable", 503, "This server lacks what the environment needs.", "Ask a server that has it, or have it installed: `palestra doctor`.";
    PolicyCold = "policy_cold", 503, "No worker serves this policy.", "Queue a job of kind serve, and wait until it runs.";
    Draining = "draining", 503, "The server is shutting down.", "Try again in a moment.";
    StoreUnavailable = "store_unavailable", 503, "The store does not answer.", "Try again; operators check the store.";
    SessionElsewhere = "session_elsewhere", 503, "Another node holds the session.", "Try again.";
    UpstreamLate = "upstream_late", 504, "The upstream of a model call was silent for too long.", "Try again, or raise its `silence_max_ms`.";
    PolicyLate = "policy_late", 504, "The policy did not answer in time.", "Try again, or allow more time.";
}

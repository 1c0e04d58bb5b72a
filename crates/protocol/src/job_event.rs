//! The forms of what job events tell, by their kind: the schema of [`JobEvent`](crate::job::JobEvent).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{PolicyId, RunId};
#[cfg(feature = "openapi")]
use crate::job::JobEvent;
use crate::job::{Artifact, CheckpointPolicy, JobError, JobState, Progress};
use crate::time::Timestamp;

/// An event with what it tells in the form of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TypedJobEvent {
    /// Its number in the job, from 1, without holes.
    pub number: u64,
    /// In which attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// The event.
    #[serde(flatten)]
    pub happening: JobHappening,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for JobEvent {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        TypedJobEvent::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for JobEvent {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
        <TypedJobEvent as utoipa::ToSchema>::schemas(schemas);
    }
}

/// A kind of event with what it tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum JobHappening {
    /// The job came to stand elsewhere.
    State(StateChange),
    /// It went on.
    Progress(Progress),
    /// Numbers of a step.
    Metric(StepNumbers),
    /// A line for people.
    Log(LogLine),
    /// A file was kept.
    Artifact(Artifact),
    /// A checkpoint was kept.
    Checkpoint(KeptCheckpoint),
    /// A policy was registered.
    Policy(KeptPolicy),
}

/// Where a job stands, with what explains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StateChange {
    /// The state.
    pub state: JobState,
    /// The worker that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The run that owns the sessions of the attempt which begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Why the attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<JobError>,
    /// It is not tried again before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Its worker was asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,
    /// Its worker gave it back; the attempt does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<bool>,
    /// It was queued again by hand, with fresh attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried: Option<bool>,
}

/// Numbers by name at a step; what was not finite is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StepNumbers {
    /// The step.
    pub step: u64,
    /// The numbers.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Option<f64>>))]
    pub values: Map<String, Value>,
}

/// A line for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LogLine {
    /// The level of the line.
    pub level: LogLevel,
    /// The line.
    pub message: String,
}

/// The level of a line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For those who look for a fault.
    Debug,
    /// Worth knowing.
    Info,
    /// Somebody should look.
    Warn,
    /// Something failed.
    Error,
}

/// A point from which a training job can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptCheckpoint {
    /// After how many updates.
    pub step: u64,
    /// The files that make it up.
    pub artifacts: Vec<Artifact>,
    /// The policy that can be registered from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<CheckpointPolicy>,
}

/// A policy that was registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptPolicy {
    /// The policy.
    pub policy: PolicyId,
}

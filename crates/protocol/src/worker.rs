//! The protocol of workers with the queue: lease, heartbeat, report, upload, finish.
//!
//! A lease is a job, an end, and a fence: a number that grows with every lease of the job. Everything that a worker writes names
//! its fence, and is refused with `lease_lost` once another lease was given or the lease was taken back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{PolicyId, RunId};
use crate::job::{Device, Job, JobError, JobEventKind, JobKind, Progress};
use crate::spec::ToolFormat;
use crate::time::Timestamp;

/// Asks for a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// The name of the worker, for people. 1 to 200 bytes.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub worker: String,
    /// The kinds that it can do.
    #[cfg_attr(feature = "openapi", schema(schema_with = kinds_schema))]
    pub kinds: Vec<JobKind>,
    /// The device that it works on; `any` is refused.
    pub device: Device,
    /// Memory of that device that is free, in bytes.
    #[cfg_attr(feature = "openapi", schema(maximum = 9_007_199_254_740_991_u64))]
    pub memory_bytes: u64,
    /// Milliseconds to wait for a job; at most 30 s, 0 where left out.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(maximum = 30_000))]
    pub wait_ms: u64,
    /// A remark of the worker for people, such as what it lacks for other jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub remark: Option<String>,
}

/// Each kind once at most, however many there are.
#[cfg(feature = "openapi")]
fn kinds_schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    utoipa::openapi::schema::ArrayBuilder::new()
        .items(utoipa::openapi::Ref::from_schema_name("JobKind"))
        .description(Some("The kinds that it can do."))
        .min_items(Some(1))
        .max_items(Some(JobKind::ALL.len()))
        .into()
}

/// A job to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lease {
    /// The job.
    pub job: Job,
    /// Named in everything that is written under this lease.
    pub fence: u64,
    /// When the lease ends unless a heartbeat comes.
    pub expires_at: Timestamp,
    /// Milliseconds that a heartbeat keeps it. Beat three times in this time.
    pub lease_ms: u64,
    /// The credential that plays sessions, reads episodes and data of the job's tenant, as `Authorization: Bearer`. It ends with the lease.
    pub token: String,
    /// Name for a run to own the job's sessions: one per attempt, so that a former attempt's sessions end with its run.
    pub run: RunId,
    /// Runs of former attempts, oldest first, of a job that plays and counts episodes (`evaluate`, `collect`): end them, count their
    /// episodes that have a score, and play the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_runs: Vec<RunId>,
    /// The last complete checkpoint of former attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<crate::job::Checkpoint>,
}

/// Keeps a lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Of the lease.
    pub fence: u64,
    /// The progress of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// The answer to whatever a worker writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Held {
    /// When the lease ends unless another heartbeat comes.
    pub expires_at: Timestamp,
    /// Stop, clean up and finish as `cancelled`.
    pub cancel: bool,
}

/// Reports what happened. Also keeps the lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Of the lease.
    pub fence: u64,
    /// Grows with every report under this lease, from 1: what is not above the last that was written was sent before, and is answered
    /// without being written again. Send the next one once this one is answered. Without a number, what is sent twice is written twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 9_007_199_254_740_991_u64))]
    pub number: Option<u64>,
    /// At most 256, in order; `state`, `artifact` and `policy` are the queue's own and are refused.
    #[cfg_attr(feature = "openapi", schema(max_items = 256))]
    pub events: Vec<ReportedEvent>,
}

/// Something that happened, as a worker tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportedEvent {
    /// The kind of event.
    pub kind: JobEventKind,
    /// The content of the event. At most 64 KiB.
    pub data: Value,
}

/// Ends a lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FinishJob))]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Of the lease.
    pub fence: u64,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = JobOutcome))]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The job is done.
    Succeeded {
        /// The result.
        result: Value,
    },
    /// The attempt failed.
    Failed {
        /// Why.
        error: JobError,
        /// True if another attempt could end otherwise.
        retry: bool,
    },
    /// It stopped as it was asked to.
    Cancelled,
    /// The worker stops; the job goes back into the queue, and the attempt does not count.
    Released,
}

/// Registers a policy whose files are artefacts of the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RegisterPolicy {
    /// Of the lease.
    pub fence: u64,
    /// A worker-made id makes registration idempotent.
    pub id: PolicyId,
    /// The policy that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PolicyId>,
    /// The kind of model: `mlp` or `transformer`.
    #[cfg_attr(feature = "openapi", schema(max_length = 64))]
    pub architecture: String,
    /// The environments it was trained in, with their versions.
    #[cfg_attr(feature = "openapi", schema(max_items = 1_000))]
    pub environments: Vec<String>,
    /// Its latest measurements.
    #[serde(default)]
    pub metrics: Map<String, Value>,
    /// Names of artefacts, with the name in the policy's folder that each gets: its last part.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 256))]
    pub artifacts: Vec<String>,
}

/// Asks a policy to act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ActRequest {
    /// Chat messages in the form of OpenAI; for language models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 10_000))]
    pub messages: Vec<Value>,
    /// Tools in the form of OpenAI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1_000))]
    pub tools: Vec<Value>,
    /// Numbers to act on; for policies over vectors, in place of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Vec<f32>>,
    /// Most tokens of the answer; 512 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 32_768))]
    pub max_tokens: Option<u32>,
    /// 0 takes the most probable token each time; 1 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.0, maximum = 10.0))]
    pub temperature: Option<f32>,
    /// Of the randomness; drawn where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The form of actions in its text; that of the `serve` job or of the policy where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_format: Option<ToolFormat>,
}

/// The answer of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ActAnswer {
    /// The action, as a step takes it.
    pub action: Value,
    /// The sampled tokens.
    pub token_ids: Vec<u32>,
    /// Natural logarithm of the probability of each sampled token, or of the one discrete action.
    pub logprobs: Vec<f32>,
    /// The number of tokens that were read.
    pub prompt_tokens: u64,
    /// The tokens that were read, where the policy reads tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub prompt_token_ids: Vec<u32>,
    /// Why sampling ended: `stop` or `length`.
    pub finish_reason: String,
}

/// One exchange of a worker that serves a policy: it hands answers in and takes requests out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Of the lease.
    pub fence: u64,
    /// Answers to requests of earlier exchanges.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 1_024))]
    pub answers: Vec<ServedAnswer>,
    /// Most requests to take; 0 takes none.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_024))]
    pub take: u32,
    /// Milliseconds to wait for the first request; at most 30 s.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(maximum = 30_000))]
    pub wait_ms: u64,
}

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ServedAnswer {
    /// Of the request.
    pub number: u64,
    /// The answer of the policy; null where it failed.
    #[serde(default)]
    pub answer: Option<ActAnswer>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<JobError>,
}

/// Requests for a worker that serves a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Exchanged {
    /// In the order in which they came.
    pub requests: Vec<ServedRequest>,
    /// When the lease ends unless another heartbeat comes.
    pub expires_at: Timestamp,
    /// Stop, clean up and finish as `cancelled`.
    pub cancel: bool,
    /// Another job waits for this worker: one that serves a policy only while it is asked may end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanted: bool,
}

/// A request for a worker that serves a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServedRequest {
    /// Names it in the answer.
    pub number: u64,
    /// The request.
    pub request: ActRequest,
}

//! Points that a training can go on from, in OpenAI's form.

use std::collections::BTreeMap;

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Checkpoint, Job, JobEvent};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::event::numbers;
use super::job::{made, seconds};

/// A point that a training can go on from.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct FineTuningCheckpoint {
    /// The checkpoint.
    pub(super) id: String,
    /// The kind of this object.
    object: FineTuningCheckpointObject,
    /// When it was complete, in seconds since 1970.
    created_at: i64,
    /// The policy, where the checkpoint is that of the last update; otherwise a name for people.
    fine_tuned_model_checkpoint: String,
    /// The job that it is of.
    fine_tuning_job_id: JobId,
    /// The numbers of its update, by name.
    metrics: Map<String, Value>,
    /// After how many updates.
    step_number: u64,
}

/// The kind of object that a checkpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(super) enum FineTuningCheckpointObject {
    /// A checkpoint of a job.
    #[serde(rename = "fine_tuning.job.checkpoint")]
    Checkpoint,
}

/// Checkpoints of a job, newest first; `metrics` are its events with numbers, newest first.
pub(super) fn view(job: &Job, checkpoints: &[Checkpoint], metrics: &[JobEvent]) -> Vec<FineTuningCheckpoint> {
    let mut by_step: BTreeMap<Option<u64>, &Value> = BTreeMap::new();
    // Of an update that was done twice, the later numbers count.
    by_step.extend(metrics.iter().rev().map(|event| (event.data["step"].as_u64(), &event.data)));
    let last = job.result.as_ref().and_then(|result| result["steps"].as_u64());
    let one = |checkpoint: &Checkpoint| {
        let step = checkpoint.step;
        let name = format!("{}:ckpt-step-{step}", job.id);
        let whole = by_step.get(&Some(step)).map(|data| numbers(data));
        FineTuningCheckpoint {
            id: format!("ftckpt-{}-{step}-{}", job.id.uuid().simple(), checkpoint.attempt),
            object: FineTuningCheckpointObject::Checkpoint,
            created_at: seconds(checkpoint.created_at),
            fine_tuned_model_checkpoint: made(job).filter(|_| last == Some(step)).unwrap_or(name),
            fine_tuning_job_id: job.id,
            metrics: whole.unwrap_or_else(|| Map::from_iter([("step".to_owned(), step.into())])),
            step_number: step,
        }
    };
    checkpoints.iter().rev().map(one).collect()
}

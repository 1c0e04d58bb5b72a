//! A training job of ours as clients of OpenAI see it.

use std::collections::BTreeMap;

use palestra_protocol::id::{FileId, JobId};
use palestra_protocol::job::{Job, JobState};
use palestra_protocol::spec::train::{AlgorithmName, Data, Train};
use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::plan::{KEPT, read};
use super::request::{
    CreateFineTuningJob, FineTuningMethod, FineTuningMethodKind, Kept, Metadata, Reinforcement, Resolved, Supervised,
};
use crate::app::App;
use crate::http::problem::Failure;
use palestra_store::Tenant;

/// The error of a job whose data are broken.
const BAD_DATA: &str = "bad_data";
/// The beginning of the trainer's report of lines that are not learnt from.
const OF_VALIDATION: &str = ": of validation.data: ";
/// The last second that has a date of four digits for its year.
const LAST_SECOND: i64 = 253_402_300_799;

/// A training job.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct FineTuningJob {
    /// The job; the same as at `/v1/jobs`.
    id: JobId,
    /// The kind of this object.
    object: FineTuningObject,
    /// When it was queued, in seconds since 1970.
    created_at: i64,
    /// Why it failed; null unless it did.
    error: Option<FineTuningError>,
    /// When it will be done at the pace so far, in seconds since 1970; null unless it runs.
    estimated_finish: Option<i64>,
    /// When it was over, in seconds since 1970.
    finished_at: Option<i64>,
    /// The policy that it made: `pol_..`; null until it succeeded.
    fine_tuned_model: Option<String>,
    /// The settings of `supervised` as they were used.
    hyperparameters: Resolved,
    /// As it was sent; of jobs that were queued otherwise, what of their metadata is text.
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    metadata: Option<Metadata>,
    /// The method of training.
    method: FineTuningMethod,
    /// The trained model.
    model: String,
    /// The tenant.
    organization_id: String,
    /// Files of its result, once it succeeded: its numbers first.
    result_files: Vec<String>,
    /// Everything random derives from it.
    seed: u64,
    /// Where it stands.
    status: FineTuningStatus,
    /// Tokens that a supervised training learnt; null until it succeeded, and where the trainer does not count them.
    trained_tokens: Option<u64>,
    /// The training file; empty where there is none.
    training_file: String,
    /// The validation file.
    validation_file: Option<String>,
    /// As it was sent.
    user_provided_suffix: Option<String>,
}

/// The kind of object that a training job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(super) enum FineTuningObject {
    /// A training job.
    #[serde(rename = "fine_tuning.job")]
    Job,
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct FineTuningError {
    /// For programs.
    code: String,
    /// For people.
    message: String,
    /// The parameter that was to blame, where there is one.
    param: Option<String>,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FineTuningStatus {
    /// A worker has it and has told of no progress yet.
    ValidatingFiles,
    /// It waits for a worker.
    Queued,
    /// It goes on.
    Running,
    /// It is done.
    Succeeded,
    /// It is given up.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// A point in time as clients of OpenAI read it.
pub(super) const fn seconds(time: Timestamp) -> i64 {
    time.milliseconds().div_euclid(1_000)
}

/// The part of its request that a job's metadata keep; nothing of jobs that were queued otherwise.
fn kept(job: &Job) -> Option<Kept> {
    serde_json::from_value(job.metadata.get(KEPT)?.clone()).ok()
}

/// Metadata of a job by its users.
pub(super) fn metadata(job: &Job) -> Option<Metadata> {
    if let Some(kept) = kept(job) {
        return kept.metadata;
    }
    let texts = job.metadata.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Some(texts.collect::<BTreeMap<_, _>>()).filter(|texts| !texts.is_empty())
}

const fn status(job: &Job) -> FineTuningStatus {
    match job.state {
        JobState::Queued => FineTuningStatus::Queued,
        JobState::Running if job.progress.is_none() => FineTuningStatus::ValidatingFiles,
        JobState::Running => FineTuningStatus::Running,
        JobState::Succeeded => FineTuningStatus::Succeeded,
        JobState::Failed => FineTuningStatus::Failed,
        JobState::Cancelled => FineTuningStatus::Cancelled,
    }
}

fn error(job: &Job) -> Option<FineTuningError> {
    let error = job.error.as_ref().filter(|_| job.state == JobState::Failed)?;
    let parameter = if error.detail.contains(OF_VALIDATION) { "validation_file" } else { "training_file" };
    let param = (error.code == BAD_DATA).then(|| parameter.to_owned());
    Some(FineTuningError { code: error.code.clone(), message: error.detail.clone(), param })
}

/// The policy that a job made.
pub(super) fn made(job: &Job) -> Option<String> {
    let policy = job.result.as_ref().filter(|_| job.state == JobState::Succeeded)?;
    policy["policy"].as_str().map(str::to_owned)
}

/// The method of a job that was queued otherwise.
fn method_of(train: &Train) -> FineTuningMethod {
    let empty =
        FineTuningMethod { kind: FineTuningMethodKind::Supervised, supervised: None, reinforcement: None, dpo: None };
    if train.algorithm.name == AlgorithmName::Sft {
        return FineTuningMethod { supervised: Some(Supervised::default()), ..empty };
    }
    let grader = Some(json!({"type": "environment"}));
    let reinforcement = Some(Reinforcement { grader, hyperparameters: None });
    FineTuningMethod { kind: FineTuningMethodKind::Reinforcement, reinforcement, ..empty }
}

fn named(data: &Data) -> Option<String> {
    match data {
        Data::File(file) => Some(file.to_string()),
        Data::Job(job) => Some(job.to_string()),
        Data::Lines(_) => None,
    }
}

/// The file that a training learns from.
fn training_file(kept: &Kept, train: &Train) -> Option<String> {
    kept.training_file.map(|file| file.to_string()).or_else(|| train.data.as_ref().and_then(named))
}

/// The file that a training is measured on.
fn validation_file(train: &Train) -> Option<String> {
    train.validation.as_ref().and_then(|validation| named(&validation.data))
}

/// Tells whether a job was made by the same request.
///
/// # Errors
/// When the request does not fit.
pub(super) fn is_made_by(job: &Job, request: &CreateFineTuningJob) -> Result<bool, Failure> {
    let asked = read(request)?;
    let Some(kept) = kept(job) else { return Ok(false) };
    let Ok(train) = serde_json::from_value::<Train>(job.spec.clone()) else { return Ok(false) };
    let files = (training_file(&kept, &train), validation_file(&train));
    let named = |file: &Option<FileId>| file.map(|file| file.to_string());
    Ok(kept.method.as_ref() == Some(&asked.method)
        && kept.metadata == request.metadata
        && kept.suffix == request.suffix
        && files == (named(&request.training_file), named(&request.validation_file))
        && train.seed == asked.seed
        && train.policy.from == asked.model)
}

/// When a job will be done, in seconds since 1970; none where no date tells it.
fn finish(now: Timestamp, remaining_ms: u64) -> Option<i64> {
    Some(seconds(now.plus_ms(remaining_ms))).filter(|second| *second <= LAST_SECOND)
}

/// A job of kind `train` in OpenAI's form.
pub(super) async fn view(app: &App, tenant: &Tenant, job: Job) -> Result<FineTuningJob, Failure> {
    let train: Train = serde_json::from_value(job.spec.clone()).map_err(|error| {
        tracing::error!(job = %job.id, %error, "the spec of a stored job cannot be read");
        Failure::not_found("job")
    })?;
    let kept = kept(&job).unwrap_or_default();
    let (result_files, trained_tokens) = if job.state == JobState::Succeeded {
        let files = app.jobs().result_files(tenant, job.id).await?;
        let counted = train.algorithm.name == AlgorithmName::Sft;
        let tokens = if counted { app.jobs().trained_tokens(tenant, job.id).await? } else { None };
        (files.into_iter().map(|file| file.id.to_string()).collect(), tokens)
    } else {
        (Vec::new(), None)
    };
    let remaining_ms = job.progress.as_ref().and_then(|progress| progress.remaining_ms);
    let running = remaining_ms.filter(|_| job.state == JobState::Running);
    let training_file = training_file(&kept, &train).unwrap_or_default();
    let hyperparameters = match kept.method {
        Some(_) => kept.hyperparameters,
        None => Resolved {
            batch_size: (train.algorithm.name == AlgorithmName::Sft)
                .then_some(u64::from(train.optimizer.examples_per_step)),
            ..Resolved::default()
        },
    };
    Ok(FineTuningJob {
        id: job.id,
        object: FineTuningObject::Job,
        created_at: seconds(job.created_at),
        error: error(&job),
        estimated_finish: running.and_then(|remaining_ms| finish(app.clock().now(), remaining_ms)),
        finished_at: job.ended_at.map(seconds),
        fine_tuned_model: made(&job),
        hyperparameters,
        metadata: metadata(&job),
        method: kept.method.unwrap_or_else(|| method_of(&train)),
        model: train.policy.from.to_string(),
        organization_id: tenant.to_string(),
        result_files,
        seed: train.seed,
        status: status(&job),
        trained_tokens,
        training_file,
        validation_file: validation_file(&train),
        user_provided_suffix: kept.suffix,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_date_tells_has_no_end() {
        let now = Timestamp::from_milliseconds(1_000);
        assert_eq!(finish(now, 60_000), Some(61));
        assert_eq!(finish(now, u64::MAX), None);
    }
}

//! Reports of workers about the jobs that they hold: heartbeats, events, outcomes.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, CheckpointPolicy, Job, JobError, JobEventKind, JobState, Progress};
use palestra_protocol::problem::Fault;
use palestra_protocol::worker::{Finish, Heartbeat, Held, Outcome, Report, ReportedEvent};
use palestra_state::Digest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::change::Change;
use super::error::fault;
use super::policy::check_policy;
use super::queue_transaction::QueueTransaction;
use super::result_file::StoredResults;
use super::{Jobs, JobsError, WorkerScope};
use palestra_store::Durability;
use palestra_store::row::job::JobRow;

/// Events of one report.
const EVENTS_PER_REPORT_MAX: usize = 256;
/// Bytes of an event's data as JSON.
const EVENT_BYTES_MAX: usize = 64 * 1024;
/// Files of one checkpoint.
const CHECKPOINT_FILES_MAX: usize = 256;
/// Bytes of a job's result as JSON.
const RESULT_BYTES_MAX: usize = 1 << 20;
/// Characters of a progress's unit.
const UNIT_CHARACTERS_MAX: usize = 40;
/// Characters of a progress's message.
const MESSAGE_CHARACTERS_MAX: usize = 200;
/// Bytes of an error's code.
const CODE_BYTES_MAX: usize = 64;
/// Bytes of an error's detail that are stored.
const DETAIL_BYTES_MAX: usize = 20_000;
/// Largest number of a report or step: the largest integer that JSON carries exactly.
const NUMBER_MAX: u64 = (1 << 53) - 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metric {
    #[serde(rename = "step")]
    _step: u64,
    values: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogLine {
    level: String,
    #[serde(rename = "message")]
    _message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointReport {
    step: u64,
    artifacts: Vec<String>,
    #[serde(default)]
    policy: Option<CheckpointPolicy>,
}

/// The effect of an event besides being stored.
enum Effect {
    Nothing,
    Progress(Progress),
    Checkpoint(CheckpointReport),
}

fn check_progress(progress: &Progress) -> Result<(), String> {
    if progress.done > progress.total {
        return Err("done must not be above total".to_owned());
    }
    if progress.unit.chars().count() > UNIT_CHARACTERS_MAX {
        return Err(format!("a unit has at most {UNIT_CHARACTERS_MAX} characters"));
    }
    if progress.message.as_ref().is_some_and(|message| message.chars().count() > MESSAGE_CHARACTERS_MAX) {
        return Err(format!("a message has at most {MESSAGE_CHARACTERS_MAX} characters"));
    }
    Ok(())
}

fn parse(event: &ReportedEvent) -> Result<Effect, String> {
    fn data<'a, T: Deserialize<'a>>(data: &'a Value) -> Result<T, String> {
        T::deserialize(data).map_err(|error| error.to_string())
    }
    if serde_json::to_string(&event.data).map_or(usize::MAX, |text| text.len()) > EVENT_BYTES_MAX {
        return Err(format!("an event must be at most {EVENT_BYTES_MAX} bytes of JSON"));
    }
    match event.kind {
        JobEventKind::Progress => {
            let progress: Progress = data(&event.data)?;
            check_progress(&progress)?;
            Ok(Effect::Progress(progress))
        }
        JobEventKind::Metric => {
            let metric: Metric = data(&event.data)?;
            // NaN and infinities are null in JSON, and worth storing.
            let valid = metric.values.values().all(|value| value.is_number() || value.is_null());
            if valid { Ok(Effect::Nothing) } else { Err("values must be numbers by name".to_owned()) }
        }
        JobEventKind::Log => {
            let line: LogLine = data(&event.data)?;
            let known = matches!(line.level.as_str(), "debug" | "info" | "warn" | "error");
            if known { Ok(Effect::Nothing) } else { Err("level must be debug, info, warn or error".to_owned()) }
        }
        JobEventKind::Checkpoint => {
            let checkpoint: CheckpointReport = data(&event.data)?;
            if checkpoint.step > NUMBER_MAX {
                return Err(format!("a step must be at most {NUMBER_MAX}"));
            }
            let sane = (1..=CHECKPOINT_FILES_MAX).contains(&checkpoint.artifacts.len());
            if !sane {
                return Err(format!("a checkpoint must have 1 to {CHECKPOINT_FILES_MAX} artefacts"));
            }
            if let Some(policy) = &checkpoint.policy {
                check_policy(policy)
                    .map_err(|(field, detail)| format!("the policy does not fit, correct its {field}: {detail}"))?;
                let other = policy.artifacts.iter().find(|name| !checkpoint.artifacts.contains(name));
                if let Some(name) = other {
                    return Err(format!("policy.artifacts: {name:?} is no file of the checkpoint: name it there too"));
                }
            }
            Ok(Effect::Checkpoint(checkpoint))
        }
        JobEventKind::State | JobEventKind::Artifact | JobEventKind::Policy => {
            Err("the queue itself reports states, artefacts and policies: send events of other kinds".to_owned())
        }
    }
}

/// Cuts text to a number of bytes, between two characters.
fn cut(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
    }
}

pub(super) fn lease_state(row: &JobRow) -> Result<Held, JobsError> {
    let expires_at = row.lease_expires_at.ok_or(JobsError::LeaseLost)?;
    Ok(Held { expires_at, cancel: row.cancel_requested_at.is_some() })
}

impl QueueTransaction<'_> {
    async fn beat(&mut self, lease_ms: u64, row: JobRow, progress: Option<Progress>) -> Result<Held, JobsError> {
        let mut change = Change::of(row, self.clock().now());
        change.renew(lease_ms);
        if let Some(progress) = progress.filter(|progress| change.row.progress.as_ref() != Some(progress)) {
            let data = serde_json::to_value(&progress).map_err(|error| JobsError::Internal(error.to_string()))?;
            change.note_if_room(JobEventKind::Progress, data);
            change.set_progress(progress);
        }
        let held = lease_state(&change.row)?;
        self.put(change).await?;
        Ok(held)
    }

    async fn report(
        &mut self,
        lease_ms: u64,
        row: JobRow,
        number: Option<u64>,
        report: Vec<(ReportedEvent, Effect)>,
    ) -> Result<Held, JobsError> {
        if number.is_some_and(|number| number <= row.reports) {
            return self.beat(lease_ms, row, None).await;
        }
        let mut change = Change::of(row, self.clock().now());
        change.renew(lease_ms);
        change.row.reports = number.unwrap_or(change.row.reports);
        for (index, (event, effect)) in report.into_iter().enumerate() {
            match effect {
                Effect::Nothing => change.note_if_room(event.kind, event.data),
                Effect::Progress(progress) => {
                    change.set_progress(progress);
                    change.note_if_room(event.kind, event.data);
                }
                Effect::Checkpoint(checkpoint) => {
                    let files = self.files(&change.row, index, &checkpoint).await?;
                    let mut data = json!({"step": checkpoint.step, "artifacts": files});
                    if let Some(policy) = &checkpoint.policy {
                        data["policy"] = json!(policy);
                    }
                    change.note(event.kind, data);
                    change.advance(checkpoint.step);
                }
            }
        }
        let held = lease_state(&change.row)?;
        self.put(change).await?;
        Ok(held)
    }

    /// The files of a checkpoint with their present digests: it is complete only while these stay the same.
    async fn files(
        &mut self,
        row: &JobRow,
        index: usize,
        checkpoint: &CheckpointReport,
    ) -> Result<Vec<Artifact>, JobsError> {
        let mut files = Vec::new();
        for name in &checkpoint.artifacts {
            let file = self.transaction.artifact(row.id, name).await?;
            let detail =
                || format!("there is no artefact {name:?}: upload the files of a checkpoint before you report it");
            files.push(file.ok_or_else(|| fault(format!("events[{index}].data.artifacts"), detail()))?);
        }
        Ok(files)
    }

    async fn finish(
        &mut self,
        scope: &WorkerScope,
        id: JobId,
        finish: Finish,
        results: Option<StoredResults>,
    ) -> Result<(), JobsError> {
        let body = serde_json::to_value(&finish.outcome).map_err(|error| JobsError::Internal(error.to_string()))?;
        let digest = Digest::of_json(&body).to_string();
        let row = self.job_in_scope(scope, id).await?;
        if row.fence == finish.fence && row.outcome.as_ref() == Some(&digest) && row.state != JobState::Running {
            return Ok(());
        }
        if !row.is_held(finish.fence) {
            return Err(JobsError::LeaseLost);
        }
        let mut change = Change::of(row, self.clock().now());
        change.row.outcome = Some(digest);
        match finish.outcome {
            Outcome::Succeeded { result } => change.succeed(result),
            Outcome::Failed { mut error, retry } => {
                cut(&mut error.code, CODE_BYTES_MAX);
                cut(&mut error.detail, DETAIL_BYTES_MAX);
                change.fail_attempt(error, retry);
            }
            Outcome::Cancelled if change.row.cancel_requested_at.is_some() => change.cancel(),
            Outcome::Cancelled => return Err(fault("outcome", "the job was not asked to stop: release it instead")),
            Outcome::Released => change.release(),
        }
        if let Some(results) = results {
            self.insert_results(&results).await?;
        }
        self.put(change).await
    }
}

impl Jobs {
    /// Extends a lease.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when it is not held any more.
    pub async fn heartbeat(&self, scope: &WorkerScope, id: JobId, heartbeat: Heartbeat) -> Result<Held, JobsError> {
        if let Some(progress) = &heartbeat.progress {
            check_progress(progress).map_err(|detail| fault("progress", detail))?;
        }
        let (jobs, scope) = (self.clone(), scope.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Process).await?;
            let done = async {
                let row = queue.leased_job(&scope, id, heartbeat.fence).await?;
                jobs.0.workers.record_heartbeat(row.worker.as_deref().unwrap_or_default());
                queue.beat(jobs.0.settings.lease_ms, row, heartbeat.progress).await
            }
            .await;
            queue.settle(done).await
        })
        .await
    }

    /// Stores events, and extends the lease. A report with a number is stored once, however often it is sent. When the log of the job is
    /// full, checkpoints are still stored, and progress is still shown.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is not held any more; every event that is invalid, and then nothing is stored.
    pub async fn report(&self, scope: &WorkerScope, id: JobId, report: Report) -> Result<Held, JobsError> {
        let Report { fence, number, events } = report;
        if number.is_some_and(|number| !(1..=NUMBER_MAX).contains(&number)) {
            return Err(fault("number", format!("must be 1 to {NUMBER_MAX}")));
        }
        if events.len() > EVENTS_PER_REPORT_MAX {
            return Err(fault("events", format!("at most {EVENTS_PER_REPORT_MAX}")));
        }
        let (mut faults, mut checked) = (Vec::new(), Vec::new());
        for (index, event) in events.into_iter().enumerate() {
            match parse(&event) {
                Ok(effect) => checked.push((event, effect)),
                Err(detail) => {
                    faults.push(Fault { field: Some(format!("events[{index}].data")), detail, ..Fault::default() });
                }
            }
        }
        if !faults.is_empty() {
            return Err(JobsError::Invalid(faults));
        }
        // Only checkpoints, which later attempts continue from, have to survive the loss of power at once.
        let lasting = checked.iter().any(|(_, effect)| matches!(effect, Effect::Checkpoint(_)));
        let durability = if lasting { Durability::Disk } else { Durability::Process };
        let (jobs, scope) = (self.clone(), scope.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(durability).await?;
            let done = async {
                let row = queue.leased_job(&scope, id, fence).await?;
                jobs.0.workers.record_heartbeat(row.worker.as_deref().unwrap_or_default());
                queue.report(jobs.0.settings.lease_ms, row, number, checked).await
            }
            .await;
            queue.settle(done).await
        })
        .await
    }

    /// Ends a lease. The same outcome may be sent again until the job is leased again.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is not held any more.
    pub async fn finish(&self, scope: &WorkerScope, id: JobId, finish: Finish) -> Result<Job, JobsError> {
        if let Outcome::Succeeded { result } = &finish.outcome
            && serde_json::to_string(result).map_or(usize::MAX, |text| text.len()) > RESULT_BYTES_MAX
        {
            return Err(fault(
                "outcome.result",
                format!("at most {RESULT_BYTES_MAX} bytes: upload more as an artefact"),
            ));
        }
        if let Outcome::Failed { error: JobError { code, .. }, .. } = &finish.outcome
            && code.is_empty()
        {
            return Err(fault("outcome.error.code", "name the kind of failure"));
        }
        let (jobs, owner) = (self.clone(), scope.clone());
        self.run_to_end(async move {
            let results = jobs.results(&owner, id, &finish).await?;
            let _no_removal = jobs.0.contents.block_removal().await;
            let results = jobs.keep_results(results).await?;
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.finish(&owner, id, finish, results).await;
            queue.settle(done).await
        })
        .await?;
        let stored = self.0.store.stored_job(id).await?;
        self.view(stored.ok_or(JobsError::NotFound("job"))?).await
    }
}

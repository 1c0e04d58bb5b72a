//! What workers say about the jobs that they hold: heartbeats, events, the end.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, Job, JobError, JobEventKind, JobState, Progress};
use palestra_protocol::problem::Fault;
use palestra_protocol::worker::{Finish, Heartbeat, Held, Outcome, Report, ReportedEvent};
use palestra_state::Digest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::change::Change;
use super::error::fault;
use super::result_file::KeptResults;
use super::turn::Turn;
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
/// Bytes of an error's detail that are kept.
const DETAIL_BYTES_MAX: usize = 20_000;
/// Largest number of a report: every reader of JSON knows it exactly.
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
struct Line {
    level: String,
    #[serde(rename = "message")]
    _message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    step: u64,
    artifacts: Vec<String>,
}

/// What an event does besides being written down.
enum Read {
    Nothing,
    Progress(Progress),
    Checkpoint(Point),
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

fn read(event: &ReportedEvent) -> Result<Read, String> {
    fn parse<'a, T: Deserialize<'a>>(data: &'a Value) -> Result<T, String> {
        T::deserialize(data).map_err(|error| error.to_string())
    }
    if serde_json::to_string(&event.data).map_or(usize::MAX, |text| text.len()) > EVENT_BYTES_MAX {
        return Err(format!("an event must be at most {EVENT_BYTES_MAX} bytes of JSON"));
    }
    match event.kind {
        JobEventKind::Progress => {
            let progress: Progress = parse(&event.data)?;
            check_progress(&progress)?;
            Ok(Read::Progress(progress))
        }
        JobEventKind::Metric => {
            let metric: Metric = parse(&event.data)?;
            // What is not finite is null in JSON, and is worth knowing.
            let sane = metric.values.values().all(|value| value.is_number() || value.is_null());
            if sane { Ok(Read::Nothing) } else { Err("values must be numbers by name".to_owned()) }
        }
        JobEventKind::Log => {
            let line: Line = parse(&event.data)?;
            let known = matches!(line.level.as_str(), "debug" | "info" | "warn" | "error");
            if known { Ok(Read::Nothing) } else { Err("level must be debug, info, warn or error".to_owned()) }
        }
        JobEventKind::Checkpoint => {
            let point: Point = parse(&event.data)?;
            let sane = (1..=CHECKPOINT_FILES_MAX).contains(&point.artifacts.len());
            if sane {
                Ok(Read::Checkpoint(point))
            } else {
                Err(format!("a checkpoint must have 1 to {CHECKPOINT_FILES_MAX} artefacts"))
            }
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

pub(super) fn held(row: &JobRow) -> Result<Held, JobsError> {
    let expires_at = row.lease_expires_at.ok_or(JobsError::LeaseLost)?;
    Ok(Held { expires_at, cancel: row.cancel_requested_at.is_some() })
}

impl Turn<'_> {
    async fn beat(&mut self, lease_ms: u64, row: JobRow, progress: Option<Progress>) -> Result<Held, JobsError> {
        let mut change = Change::of(row, self.clock().now());
        change.renew(lease_ms);
        if let Some(progress) = progress.filter(|progress| change.row.progress.as_ref() != Some(progress)) {
            let data = serde_json::to_value(&progress).map_err(|error| JobsError::Internal(error.to_string()))?;
            change.note_if_room(JobEventKind::Progress, data);
            change.row.progress = Some(progress);
        }
        let held = held(&change.row)?;
        self.put(change).await?;
        Ok(held)
    }

    async fn report(
        &mut self,
        lease_ms: u64,
        row: JobRow,
        number: Option<u64>,
        report: Vec<(ReportedEvent, Read)>,
    ) -> Result<Held, JobsError> {
        if number.is_some_and(|number| number <= row.reports) {
            return self.beat(lease_ms, row, None).await;
        }
        let mut change = Change::of(row, self.clock().now());
        change.renew(lease_ms);
        change.row.reports = number.unwrap_or(change.row.reports);
        for (index, (event, read)) in report.into_iter().enumerate() {
            match read {
                Read::Nothing => change.note_if_room(event.kind, event.data),
                Read::Progress(progress) => {
                    change.row.progress = Some(progress);
                    change.note_if_room(event.kind, event.data);
                }
                Read::Checkpoint(point) => {
                    let files = self.files(&change.row, index, &point).await?;
                    change.note(event.kind, json!({"step": point.step, "artifacts": files}));
                }
            }
        }
        let held = held(&change.row)?;
        self.put(change).await?;
        Ok(held)
    }

    /// The files of a checkpoint as they are now: it is complete only while they stay so.
    async fn files(&mut self, row: &JobRow, index: usize, point: &Point) -> Result<Vec<Artifact>, JobsError> {
        let mut files = Vec::new();
        for name in &point.artifacts {
            let file = self.transaction.artifact(row.id, name).await?;
            let detail =
                || format!("there is no artefact {name:?}: upload the files of a checkpoint before it is told of");
            files.push(file.ok_or_else(|| fault(format!("events[{index}].data.artifacts"), detail()))?);
        }
        Ok(files)
    }

    async fn finish(
        &mut self,
        scope: &WorkerScope,
        id: JobId,
        finish: Finish,
        results: Option<KeptResults>,
    ) -> Result<(), JobsError> {
        let body = serde_json::to_value(&finish.outcome).map_err(|error| JobsError::Internal(error.to_string()))?;
        let digest = Digest::of_json(&body).to_string();
        let row = self.of_scope(scope, id).await?;
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
            Outcome::Cancelled => return Err(fault("outcome", "nobody asked this job to stop: release it instead")),
            Outcome::Released => change.release(),
        }
        if let Some(results) = results {
            self.name_results(&results).await?;
        }
        self.put(change).await
    }
}

impl Jobs {
    /// Keeps a lease.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when it is held no more.
    pub async fn heartbeat(&self, scope: &WorkerScope, id: JobId, heartbeat: Heartbeat) -> Result<Held, JobsError> {
        if let Some(progress) = &heartbeat.progress {
            check_progress(progress).map_err(|detail| fault("progress", detail))?;
        }
        let (jobs, scope) = (self.clone(), scope.clone());
        self.to_end(async move {
            let mut turn = jobs.turn(Durability::Process).await?;
            let done = async {
                let row = turn.held(&scope, id, heartbeat.fence).await?;
                jobs.0.workers.heard(row.worker.as_deref().unwrap_or_default());
                turn.beat(jobs.0.settings.lease_ms, row, heartbeat.progress).await
            }
            .await;
            turn.settle(done).await
        })
        .await
    }

    /// Writes down what happened, and keeps the lease. A report with a number is written once, however often it is sent.
    /// Of a job whose log is full, checkpoints are still written, and progress is still the job's.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is held no more; every event that does not fit, and then nothing is written.
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
            match read(&event) {
                Ok(read) => checked.push((event, read)),
                Err(detail) => {
                    faults.push(Fault { field: Some(format!("events[{index}].data")), detail, ..Fault::default() });
                }
            }
        }
        if !faults.is_empty() {
            return Err(JobsError::Invalid(faults));
        }
        // Only what a later attempt builds on has to survive the loss of power at once.
        let lasting = checked.iter().any(|(_, read)| matches!(read, Read::Checkpoint(_)));
        let durability = if lasting { Durability::Disk } else { Durability::Process };
        let (jobs, scope) = (self.clone(), scope.clone());
        self.to_end(async move {
            let mut turn = jobs.turn(durability).await?;
            let done = async {
                let row = turn.held(&scope, id, fence).await?;
                jobs.0.workers.heard(row.worker.as_deref().unwrap_or_default());
                turn.report(jobs.0.settings.lease_ms, row, number, checked).await
            }
            .await;
            turn.settle(done).await
        })
        .await
    }

    /// Ends a lease. Said again with the same outcome it is the same as once, until the job is leased again.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is held no more.
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
            return Err(fault("outcome.error.code", "say what kind of failure it was"));
        }
        let (jobs, owner) = (self.clone(), scope.clone());
        self.to_end(async move {
            let results = jobs.results(&owner, id, &finish).await?;
            let _nothing_is_removed = jobs.0.contents.hold().await;
            let results = jobs.keep_results(results).await?;
            let mut turn = jobs.turn(Durability::Disk).await?;
            let done = turn.finish(&owner, id, finish, results).await;
            turn.settle(done).await
        })
        .await?;
        let stored = self.0.store.stored_job(id).await?;
        self.view(stored.ok_or(JobsError::NotFound("job"))?).await
    }
}

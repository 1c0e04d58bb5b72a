//! Reads of jobs by their tenants.

use std::collections::HashMap;

use palestra_protocol::id::{JobId, RunId};
use palestra_protocol::job::{Artifact, Checkpoint, CheckpointPolicy, Job, JobEvent, JobEventKind, JobState};
use serde::Deserialize;

use super::workers::Waiting;
use super::{Jobs, JobsError};
use palestra_store::Tenant;
use palestra_store::row::PageRequest;
use palestra_store::row::job::{JobFilter, JobRow, StoredJob};

/// The last checkpoints of a job, which are read.
pub(super) const CHECKPOINTS_MAX: u32 = 1_000;
/// The last state events of a job, which are read for the runs of earlier attempts. An attempt makes two to four.
const STATES_MAX: u32 = 4_000;
/// Jobs that a reason for waiting lists.
const NEEDED_NAMED_MAX: usize = 3;

/// The data of a checkpoint event, with the digests that its files had at that time.
#[derive(Deserialize)]
struct CheckpointEvent {
    step: u64,
    artifacts: Vec<Artifact>,
    policy: Option<CheckpointPolicy>,
}

impl Jobs {
    /// A job of a tenant.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn job(&self, tenant: &Tenant, id: JobId) -> Result<Job, JobsError> {
        let stored = self.0.store.stored_job(id).await?.filter(|stored| *stored.row.tenant == **tenant);
        self.view(stored.ok_or(JobsError::NotFound("job"))?).await
    }

    /// Jobs of a tenant by descending id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn jobs(&self, tenant: &Tenant, filter: &JobFilter, page: &PageRequest) -> Result<Vec<Job>, JobsError> {
        let mut jobs = Vec::new();
        for stored in self.0.store.jobs(tenant, filter, page).await? {
            jobs.push(self.view(stored).await?);
        }
        Ok(jobs)
    }

    /// The state of a job of a tenant.
    pub(super) async fn row(&self, tenant: &str, id: JobId) -> Result<JobRow, JobsError> {
        let row = self.0.store.job(id).await?;
        row.filter(|row| row.tenant == tenant).ok_or(JobsError::NotFound("job"))
    }

    pub(super) async fn view(&self, stored: StoredJob) -> Result<Job, JobsError> {
        let StoredJob { row, spec } = stored;
        let (place, waiting) = if row.state == JobState::Queued {
            let place = self.0.store.count_jobs_before(&row).await?;
            (Some(place), Some(self.waiting(&row, place).await?))
        } else {
            (None, None)
        };
        Ok(Job {
            id: row.id,
            kind: row.kind,
            state: row.state,
            spec: spec.spec,
            priority: row.priority,
            resources: row.resources,
            after: spec.follows,
            attempts: row.attempts,
            attempts_max: row.attempts_max,
            attempts_without_progress: row.attempts_without_progress,
            place,
            waiting,
            not_before: row.not_before,
            progress: row.progress,
            cancel_requested: row.cancel_requested_at.is_some(),
            worker: row.worker,
            result: row.result,
            error: row.error,
            metadata: spec.metadata,
            created_at: row.created_at,
            started_at: row.started_at,
            ended_at: row.ended_at,
        })
    }

    /// The reason why a queued job does not run yet, for people.
    async fn waiting(&self, row: &JobRow, place: u64) -> Result<String, JobsError> {
        if row.blocked > 0 {
            let mut needed = self.0.store.job_needs(row.id).await?;
            needed.retain(|(_, state)| *state != Some(JobState::Succeeded));
            let named: Vec<String> = needed.iter().take(NEEDED_NAMED_MAX).map(|(id, _)| id.to_string()).collect();
            let more = match needed.len().saturating_sub(NEEDED_NAMED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return Ok(format!("waits for {}{more}", named.join(", ")));
        }
        if let Some(next) = row.not_before.filter(|next| *next > self.0.clock.now()) {
            return Ok(format!("next attempt at {next}"));
        }
        let (mut reasons, ready) = match self.0.workers.waiting(row) {
            Waiting::Missing(missing) => return Ok(missing),
            Waiting::Busy(busy) => (vec![busy], false),
            Waiting::Ready => (Vec::new(), true),
        };
        reasons.extend(match place {
            0 if !ready => None,
            0 => Some("the next free worker that fits takes it, as soon as it is the tenant's turn".to_owned()),
            1 => Some("1 job is before it".to_owned()),
            more => Some(format!("{more} jobs are before it")),
        });
        Ok(reasons.join("; "))
    }

    /// Events of a job before a number, newest first; the last ones where none is named.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn events_before(
        &self,
        tenant: &Tenant,
        id: JobId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<JobEvent>, JobsError> {
        let last = self.row(tenant, id).await?.events;
        // Numbers have no gaps, so the number of an event also counts those before it.
        let end = before.map_or(last, |before| before.saturating_sub(1).min(last));
        let after = end.saturating_sub(u64::from(limit));
        let count = u32::try_from(end - after).unwrap_or(limit);
        let mut events = self.0.store.job_events(id, None, after, count).await?;
        events.reverse();
        Ok(events)
    }

    /// The runs of earlier attempts at a job, oldest first.
    pub(super) async fn earlier_runs(&self, id: JobId, current: RunId) -> Result<Vec<RunId>, JobsError> {
        let events = self.0.store.last_job_events(id, JobEventKind::State, STATES_MAX).await?;
        let runs = events.into_iter().rev().filter_map(|event| event.data["run"].as_str()?.parse().ok());
        Ok(runs.filter(|run| *run != current).collect())
    }

    /// Complete checkpoints of a job, oldest first: those whose files all exist.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn checkpoints(&self, tenant: &Tenant, id: JobId) -> Result<Vec<Checkpoint>, JobsError> {
        self.row(tenant, id).await?;
        let mut complete = Vec::new();
        for checkpoint in self.unchanged_checkpoints(id).await? {
            if self.damaged_file(&checkpoint).await?.is_none() {
                complete.push(checkpoint);
            }
        }
        complete.reverse();
        Ok(complete)
    }

    /// The newest complete checkpoint, and a damaged file of each newer, incomplete one.
    pub(super) async fn newest_checkpoint(&self, id: JobId) -> Result<(Option<Checkpoint>, Vec<String>), JobsError> {
        let mut damaged = Vec::new();
        for checkpoint in self.unchanged_checkpoints(id).await? {
            match self.damaged_file(&checkpoint).await? {
                Some(name) => damaged.push(name),
                None => return Ok((Some(checkpoint), damaged)),
            }
        }
        Ok((None, damaged))
    }

    /// The first file of a checkpoint that is missing, truncated or unreadable.
    pub(super) async fn damaged_file(&self, checkpoint: &Checkpoint) -> Result<Option<String>, JobsError> {
        for file in &checkpoint.artifacts {
            let whole = match self.0.contents.has(&file.digest, file.size_bytes).await {
                Err(JobsError::Io(error)) => {
                    tracing::warn!(digest = %file.digest, %error, "a file of a checkpoint cannot be read");
                    false
                }
                looked => looked?,
            };
            if !whole {
                return Ok(Some(file.name.clone()));
            }
        }
        Ok(None)
    }

    /// Checkpoints whose artefacts still have the digests of the event, newest first.
    async fn unchanged_checkpoints(&self, id: JobId) -> Result<Vec<Checkpoint>, JobsError> {
        let events = self.0.store.last_job_events(id, JobEventKind::Checkpoint, CHECKPOINTS_MAX).await?;
        if events.is_empty() {
            return Ok(Vec::new());
        }
        Ok(unchanged(events, &self.0.store.artifacts(id).await?))
    }
}

/// Checkpoints of these events whose files are still there with the digests of the event.
pub(super) fn unchanged(events: Vec<JobEvent>, files: &[Artifact]) -> Vec<Checkpoint> {
    let digests: HashMap<&str, &str> = files.iter().map(|file| (file.name.as_str(), file.digest.as_str())).collect();
    events.into_iter().filter_map(|event| complete(event, &digests)).collect()
}

/// The checkpoint of an event, if its files exist with the same digests.
fn complete(event: JobEvent, digests: &HashMap<&str, &str>) -> Option<Checkpoint> {
    let JobEvent { attempt, at, data, .. } = event;
    let CheckpointEvent { step, artifacts, policy } = serde_json::from_value(data).ok()?;
    let same = |file: &Artifact| digests.get(file.name.as_str()) == Some(&file.digest.as_str());
    artifacts.iter().all(same).then_some(Checkpoint { step, attempt, artifacts, policy, created_at: at })
}

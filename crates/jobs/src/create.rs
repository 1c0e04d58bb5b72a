//! Operations of tenants on jobs: create, cancel, retry, delete.

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, JobId};
use palestra_protocol::job::{CreateJob, Job, JobState};
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::play::PolicyFrom;
use palestra_protocol::spec::train::AlgorithmName;
use palestra_protocol::spec::{References, Spec};
use palestra_protocol::time::Timestamp;
use palestra_state::Digest;

use super::change::Change;
use super::error::fault;
use super::queue_transaction::QueueTransaction;
use super::reach::named;
use super::{Jobs, JobsError};
use palestra_store::Tenant;
use palestra_store::row::IdempotencyRow;
use palestra_store::row::job::{JobRow, JobSpecRow, StoredJob};
use palestra_store::{Durability, StoreError};

/// Jobs that one job may name in `after`.
const AFTER_MAX: usize = 64;
/// Attempts of a job that does not set a number.
const ATTEMPTS_DEFAULT: u32 = 3;
/// Attempts that a job may ask for.
const ATTEMPTS_MAX: u32 = 20;
/// Largest absolute value of a priority.
const PRIORITY_MAX: i32 = 100;
/// Bytes of a job's metadata.
const METADATA_BYTES_MAX: usize = 1 << 20;
/// Bytes of an idempotency key.
const KEY_BYTES_MAX: usize = 255;
/// Largest amount of memory, in bytes: the largest integer that JSON carries exactly.
const MEMORY_BYTES_MAX: u64 = (1 << 53) - 1;
/// The architecture of a policy over vectors.
const OVER_VECTORS: &str = "mlp";
/// The operation under which answers of this call are stored.
const OPERATION: &str = "job";

/// A valid request, as rows.
struct Order {
    tenant: Tenant,
    row: JobRow,
    spec: JobSpecRow,
    named: References,
    key: Option<String>,
}

fn check(request: &CreateJob, key: Option<&str>) -> Result<Spec, JobsError> {
    let mut faults = Vec::new();
    let mut unless = |holds: bool, field: &str, detail: String| {
        if !holds {
            faults.push(Fault { field: Some(field.to_owned()), detail, ..Fault::default() });
        }
    };
    let priority = (-PRIORITY_MAX..=PRIORITY_MAX).contains(&request.priority);
    unless(priority, "priority", format!("must be -{PRIORITY_MAX} to {PRIORITY_MAX}"));
    unless(request.after.len() <= AFTER_MAX, "after", format!("at most {AFTER_MAX} jobs"));
    let memory = request.resources.memory_bytes <= MEMORY_BYTES_MAX;
    unless(memory, "resources.memory_bytes", format!("at most {MEMORY_BYTES_MAX}"));
    let attempts = request.attempts_max.is_none_or(|attempts| (1..=ATTEMPTS_MAX).contains(&attempts));
    unless(attempts, "attempts_max", format!("must be 1 to {ATTEMPTS_MAX}"));
    let metadata = serde_json::to_string(&request.metadata).map_or(usize::MAX, |text| text.len());
    unless(metadata <= METADATA_BYTES_MAX, "metadata", format!("at most {METADATA_BYTES_MAX} bytes of JSON"));
    let sane = |key: &str| (1..=KEY_BYTES_MAX).contains(&key.len()) && !key.chars().any(char::is_control);
    let detail = format!("an idempotency key must have 1 to {KEY_BYTES_MAX} bytes and no control characters");
    unless(key.is_none_or(sane), "key", detail);
    match Spec::read(request.kind, &request.spec) {
        Ok(spec) if faults.is_empty() => Ok(spec),
        Ok(_) => Err(JobsError::Invalid(faults)),
        Err(more) => {
            faults.extend(more);
            Err(JobsError::Invalid(faults))
        }
    }
}

fn order(
    tenant: &Tenant,
    request: CreateJob,
    read: Option<(FileId, &'static str)>,
    key: Option<String>,
    now: Timestamp,
) -> Result<Order, JobsError> {
    let spec = check(&request, key.as_deref())?;
    let mut named = spec.references();
    named.jobs.extend(&request.after);
    named.files.extend(read);
    let body = serde_json::to_value(&request).map_err(|error| JobsError::Internal(error.to_string()))?;
    let id = request.id.unwrap_or_else(JobId::new);
    let row = JobRow {
        id,
        tenant: tenant.to_string(),
        kind: request.kind,
        state: JobState::Queued,
        priority: request.priority,
        resources: request.resources,
        blocked: 0,
        attempts: 0,
        attempts_max: request.attempts_max.unwrap_or(ATTEMPTS_DEFAULT),
        attempts_without_progress: 0,
        furthest: 0,
        fence: 0,
        events: 0,
        reports: 0,
        not_before: None,
        lease_expires_at: None,
        cancel_requested_at: None,
        run: None,
        worker: None,
        progress: None,
        result: None,
        error: None,
        dead_letter: false,
        outcome: None,
        created_at: now,
        started_at: None,
        ended_at: None,
    };
    let spec = JobSpecRow {
        job: id,
        request: Digest::of_json(&body).to_string(),
        spec: request.spec,
        follows: request.after,
        metadata: request.metadata,
    };
    Ok(Order { tenant: tenant.clone(), row, spec, named, key })
}

impl QueueTransaction<'_> {
    /// The job that an earlier call with this key made, whatever its request was.
    async fn of_key(&mut self, tenant: &Tenant, key: &str) -> Result<Option<StoredJob>, JobsError> {
        let Some(answer) = self.transaction.answer(tenant, OPERATION, key).await? else { return Ok(None) };
        let id =
            answer.answer.parse().map_err(|_| JobsError::Internal("a stored answer holds no job id".to_owned()))?;
        Ok(self.transaction.stored_job(id).await?)
    }

    /// The job that an earlier call with the same id or key made.
    async fn made_before(&mut self, order: &Order) -> Result<Option<StoredJob>, JobsError> {
        if let Some(key) = &order.key
            && let Some(answer) = self.transaction.answer(&order.tenant, OPERATION, key).await?
        {
            if answer.request != order.spec.request {
                return Err(JobsError::KeyReused);
            }
            let id =
                answer.answer.parse().map_err(|_| JobsError::Internal("a stored answer holds no job id".to_owned()))?;
            let made = self.transaction.stored_job(id).await?;
            return made.map(Some).ok_or(JobsError::NotFound("job"));
        }
        let Some(there) = self.transaction.stored_job(order.row.id).await? else { return Ok(None) };
        if there.row.tenant == order.row.tenant && there.spec.request == order.spec.request {
            return Ok(Some(there));
        }
        Err(JobsError::Conflict(format!(
            "job {} exists with other content: choose another id, or send the same content",
            order.row.id
        )))
    }

    /// Checks everything that a job names; returns the number of jobs that have not succeeded yet.
    async fn look_up(&mut self, tenant: &str, named: &References) -> Result<u64, JobsError> {
        let mut faults = Vec::new();
        let mut blocked = 0;
        for id in &named.jobs {
            let row = self.transaction.job(*id).await?.filter(|row| row.tenant == tenant);
            let detail = match row.map(|row| row.state) {
                None => format!("there is no job {id}: create it first"),
                Some(JobState::Failed | JobState::Cancelled) => {
                    format!("job {id} did not succeed: retry it first")
                }
                Some(JobState::Succeeded) => continue,
                Some(JobState::Queued | JobState::Running) => {
                    blocked += 1;
                    continue;
                }
            };
            faults.push(Fault { field: Some("after".to_owned()), detail, ..Fault::default() });
        }
        for id in &named.policies {
            if self.transaction.policy(tenant, *id).await?.is_none() {
                let (field, detail) =
                    (Some("spec.policy".to_owned()), format!("there is no policy {id}: register it first"));
                faults.push(Fault { field, detail, ..Fault::default() });
            }
        }
        for (id, field) in &named.files {
            let row = self.transaction.file(tenant, *id).await?;
            let detail = match row.map(|row| row.purpose) {
                Some(FilePurpose::FineTune) => continue,
                Some(other) => {
                    format!(
                        "file {id} is for {}, not for {}: upload it for that purpose",
                        other.as_str(),
                        FilePurpose::FineTune.as_str()
                    )
                }
                None => format!("there is no file {id}: upload it first"),
            };
            faults.push(Fault { field: Some((*field).to_owned()), detail, ..Fault::default() });
        }
        if faults.is_empty() { Ok(blocked) } else { Err(JobsError::Invalid(faults)) }
    }

    /// Refuses a training whose algorithm cannot train the policy that it begins with.
    async fn check_kind(&mut self, order: &Order) -> Result<(), JobsError> {
        let Ok(Spec::Train(train)) = Spec::read(order.row.kind, &order.spec.spec) else { return Ok(()) };
        let PolicyFrom::Registered(id) = train.policy.from else { return Ok(()) };
        let Some(row) = self.transaction.policy(&order.tenant, id).await? else { return Ok(()) };
        if row.policy.architecture != OVER_VECTORS {
            return Ok(());
        }
        if train.algorithm.name != AlgorithmName::Ppo {
            let detail = format!(
                "{id} is a small network over vectors, which learns by ppo alone: choose ppo or a language model"
            );
            return Err(fault("spec.algorithm.name", detail));
        }
        if train.policy.lora.is_some() {
            let detail = format!("{id} is a small network over vectors, which has no low-rank parts: leave it out");
            return Err(fault("spec.policy.lora", detail));
        }
        Ok(())
    }

    async fn insert(&mut self, order: &Order, queued_max: u64) -> Result<StoredJob, JobsError> {
        if let Some(made) = self.made_before(order).await? {
            return Ok(made);
        }
        let blocked = self.look_up(&order.tenant, &order.named).await?;
        if self.transaction.count_queued_jobs(&order.tenant).await? >= queued_max {
            return Err(JobsError::TooMany { what: "queued jobs", most: queued_max });
        }
        self.check_kind(order).await?;
        let now = self.clock().now();
        let mut change = Change::of(JobRow { blocked, ..order.row.clone() }, now);
        change.created();
        let needs: Vec<JobId> = order.named.jobs.iter().copied().collect();
        match self.transaction.insert_job(&change.row, &order.spec, &needs).await {
            Ok(()) => {}
            Err(StoreError::Exists(_)) => {
                return Err(JobsError::Conflict(format!(
                    "job {} exists with other content: choose another id, or send the same content",
                    order.row.id
                )));
            }
            Err(error) => return Err(error.into()),
        }
        let files: Vec<FileId> = order.named.files.keys().copied().collect();
        self.transaction.insert_job_files(order.row.id, &files).await?;
        self.transaction.append_job_events(&change.events).await?;
        if let Some(key) = &order.key {
            let answer = IdempotencyRow {
                tenant: order.tenant.to_string(),
                operation: OPERATION.to_owned(),
                key: key.clone(),
                request: order.spec.request.clone(),
                answer: order.row.id.to_string(),
                at: now,
            };
            self.transaction.insert_answer(&answer).await?;
        }
        self.changed(change.row.id, blocked == 0);
        Ok(StoredJob { row: change.row, spec: order.spec.clone() })
    }

    async fn cancel(&mut self, tenant: &str, id: JobId) -> Result<(), JobsError> {
        let row = self.job_of_tenant(tenant, id).await?;
        let state = row.state;
        let mut change = Change::of(row, self.clock().now());
        match state {
            JobState::Queued => change.cancel(),
            JobState::Running => change.request_cancel(),
            JobState::Succeeded | JobState::Failed | JobState::Cancelled => return Ok(()),
        }
        self.put(change).await
    }

    async fn retry(&mut self, tenant: &str, id: JobId, queued_max: u64) -> Result<(), JobsError> {
        let row = self.job_of_tenant(tenant, id).await?;
        if !matches!(row.state, JobState::Failed | JobState::Cancelled) {
            let state = row.state.as_str();
            let detail = format!("job {id} is {state}: retry jobs that failed or were cancelled");
            return Err(JobsError::NotRetryable(detail));
        }
        if self.transaction.count_queued_jobs(tenant).await? >= queued_max {
            return Err(JobsError::TooMany { what: "queued jobs", most: queued_max });
        }
        let mut blocked = 0;
        for (needed, state) in self.transaction.job_needs(id).await? {
            match state {
                Some(JobState::Succeeded) => {}
                Some(JobState::Queued | JobState::Running) => blocked += 1,
                Some(JobState::Failed | JobState::Cancelled) => {
                    let detail = format!("job {id} needs {needed}, which did not succeed: retry that one first");
                    return Err(JobsError::NotRetryable(detail));
                }
                None => {
                    return Err(JobsError::NotRetryable(format!(
                        "job {id} needs {needed}, which was deleted: create a job that needs another one"
                    )));
                }
            }
        }
        if let Some(file) = self.transaction.missing_file_of_job(id).await? {
            return Err(JobsError::NotRetryable(format!(
                "job {id} needs {file}, which was deleted: create a job with another file"
            )));
        }
        if let Some(stored) = self.transaction.stored_job(id).await? {
            for policy in named(&stored).policies {
                if self.transaction.policy(tenant, policy).await?.is_none() {
                    let detail =
                        format!("job {id} needs {policy}, which was deleted: create a job with another policy");
                    return Err(JobsError::NotRetryable(detail));
                }
            }
        }
        let mut change = Change::of(row, self.clock().now());
        change.retry(blocked);
        self.put(change).await
    }

    pub(super) async fn delete(&mut self, row: &JobRow) -> Result<(), JobsError> {
        let id = row.id;
        if !row.state.is_over() {
            return Err(JobsError::NotOver(format!("job {id} is {}: cancel it first", row.state.as_str())));
        }
        if let Some(other) = self.transaction.job_dependents(id).await?.first() {
            return Err(JobsError::NotOver(format!(
                "job {} needs job {id} and is not over: cancel it first",
                other.id
            )));
        }
        self.transaction.delete_job(id).await?;
        self.changed(id, false);
        Ok(())
    }
}

impl Jobs {
    /// Queues a job. The same id or the same `key` (`Idempotency-Key`) with the same content again is the job that exists.
    ///
    /// # Errors
    /// When the request is invalid, names missing objects, its id or key is used with other content, or too many jobs are queued.
    pub async fn create(&self, tenant: &Tenant, request: CreateJob, key: Option<String>) -> Result<Job, JobsError> {
        self.create_from(tenant, request, None, key).await
    }

    /// The same for a job whose spec was read from a file: the job needs that file, with the field that names it, as if its spec
    /// named it.
    ///
    /// # Errors
    /// As those of [`Self::create`].
    pub async fn create_from(
        &self,
        tenant: &Tenant,
        request: CreateJob,
        read: Option<(FileId, &'static str)>,
        key: Option<String>,
    ) -> Result<Job, JobsError> {
        let order = order(tenant, request, read, key, self.0.clock.now())?;
        let jobs = self.clone();
        let stored = self
            .run_to_end(async move {
                let mut queue = jobs.begin(Durability::Disk).await?;
                let done = queue.insert(&order, jobs.0.settings.queued_max).await;
                queue.settle(done).await
            })
            .await?;
        self.view(stored).await
    }

    /// The job that an earlier call with this key made; `None` when it was deleted.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn made_with(&self, tenant: &Tenant, key: String) -> Result<Option<Job>, JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        let stored = self
            .run_to_end(async move {
                let mut queue = jobs.begin(Durability::Disk).await?;
                let done = queue.of_key(&owner, &key).await;
                queue.settle(done).await
            })
            .await?;
        match stored {
            Some(stored) => self.view(stored).await.map(Some),
            None => Ok(None),
        }
    }

    /// Cancels a job: at once where it is queued; a running one's worker is asked to stop, and loses its lease where it does
    /// not. A job that is over stays as it is.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn cancel(&self, tenant: &Tenant, id: JobId) -> Result<Job, JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.cancel(&owner, id).await;
            queue.settle(done).await
        })
        .await?;
        self.job(tenant, id).await
    }

    /// Queues a failed or cancelled job again, with fresh attempts. It continues from its last checkpoint.
    ///
    /// # Errors
    /// When there is no such job, it is in another state, or what it needs did not succeed.
    pub async fn retry(&self, tenant: &Tenant, id: JobId) -> Result<Job, JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.retry(&owner, id, jobs.0.settings.queued_max).await;
            queue.settle(done).await
        })
        .await?;
        self.job(tenant, id).await
    }

    /// Deletes a job that is over, with its events, artefacts and result files. Policies that it registered stay.
    ///
    /// # Errors
    /// When there is no such job, it is not over, or one that is not over needs it.
    pub async fn delete(&self, tenant: &Tenant, id: JobId) -> Result<(), JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = async {
                let row = queue.job_of_tenant(&owner, id).await?;
                queue.delete(&row).await
            }
            .await;
            queue.settle(done).await
        })
        .await
    }
}

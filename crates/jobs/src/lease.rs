//! Leases: handing queued jobs to workers.

use std::collections::HashMap;
use std::time::Duration;

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Checkpoint, Device, Job, JobEventKind, JobKind, JobState};
use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;
use palestra_protocol::worker::{Lease, LeaseRequest};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::change::Change;
use super::queue_transaction::QueueTransaction;
use super::schedule::choose;
use super::{Jobs, JobsError, WorkerScope};
use crate::metrics::JOBS_LEASED;
use palestra_store::Durability;
use palestra_store::row::job::{CandidateFilter, StoredJob};

/// Longest that a call waits for a job.
const WAIT_MS_MAX: u64 = 30_000;
/// Milliseconds between two polls of the queue while a call waits: other nodes notify nobody here, nor does the end of a back-off.
const POLL_MS: u64 = 1_000;
/// The largest size that JSON carries exactly.
const BYTES_MAX: u64 = (1 << 53) - 1;
/// Bytes of a worker's remark.
const REMARK_BYTES_MAX: usize = 200;

fn check(request: &LeaseRequest) -> Result<(), JobsError> {
    let mut faults = Vec::new();
    let mut unless = |holds: bool, field: &str, detail: &str| {
        if !holds {
            faults.push(Fault { field: Some(field.to_owned()), detail: detail.to_owned(), ..Fault::default() });
        }
    };
    if let Err(why) = NameKind::Label.check(&request.worker) {
        unless(false, "worker", &why.to_string());
    }
    unless(!request.kinds.is_empty(), "kinds", "name at least one kind");
    unless(request.kinds.len() <= JobKind::ALL.len(), "kinds", "name each kind once");
    unless(request.device != Device::Any, "device", "say cpu or gpu: what the worker works on");
    unless(request.memory_bytes <= BYTES_MAX, "memory_bytes", "at most 2^53 - 1");
    unless(request.wait_ms <= WAIT_MS_MAX, "wait_ms", "at most 30000");
    let remark = request.remark.as_ref().is_none_or(|remark| remark.len() <= REMARK_BYTES_MAX);
    unless(remark, "remark", "at most 200 bytes");
    if faults.is_empty() { Ok(()) } else { Err(JobsError::Invalid(faults)) }
}

/// A job that was claimed.
struct Claimed {
    stored: StoredJob,
    token: String,
}

impl QueueTransaction<'_> {
    async fn claim(
        &mut self,
        jobs: &Jobs,
        filter: &CandidateFilter,
        worker: &str,
    ) -> Result<Option<Claimed>, JobsError> {
        let candidates = self.transaction.job_candidates(filter).await?;
        if candidates.is_empty() {
            return Ok(None);
        }
        let running: HashMap<String, u64> = self.transaction.running_jobs().await?.into_iter().collect();
        let Some(id) = choose(&candidates, &running, filter) else { return Ok(None) };
        let Some(mut stored) = self.transaction.stored_job(id).await? else { return Ok(None) };
        if stored.row.state != JobState::Queued {
            return Ok(None);
        }
        let now = self.clock().now();
        let mut change = Change::of(stored.row, now);
        change.begin(worker, jobs.0.settings.lease_ms);
        stored.row = change.row.clone();
        let token = jobs.0.tokens.mint(&stored.row.tenant, id, stored.row.fence, now);
        let token = token.ok_or_else(|| JobsError::Internal("the token of a lease cannot be signed".to_owned()))?;
        self.transaction.mark_served(&stored.row.tenant).await?;
        self.put(change).await?;
        Ok(Some(Claimed { stored, token }))
    }
}

impl QueueTransaction<'_> {
    /// Queues a job again that a worker holds which is gone. Answers whether it holds it.
    async fn take_back(&mut self, id: JobId, worker: &str) -> Result<bool, JobsError> {
        let row = self.transaction.job(id).await?;
        let held = row.filter(|row| row.state == JobState::Running && row.worker.as_deref() == Some(worker));
        let Some(row) = held else { return Ok(false) };
        let mut change = Change::of(row, self.clock().now());
        change.release();
        self.put(change).await?;
        Ok(true)
    }
}

impl Jobs {
    /// Leases the next job for this worker; `None` when none is ready within `wait_ms`.
    ///
    /// # Errors
    /// When the request is invalid or the store fails.
    pub async fn lease(&self, scope: &WorkerScope, request: LeaseRequest) -> Result<Option<Lease>, JobsError> {
        check(&request)?;
        let deadline = Instant::now() + Duration::from_millis(request.wait_ms);
        loop {
            self.0.workers.record_request(scope, &request);
            // Subscribes before it reads, so that no notification is missed in between.
            let news = self.0.queue_news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            let filter = CandidateFilter {
                tenant: scope.tenant.as_deref().map(str::to_owned),
                kinds: request.kinds.clone(),
                device: request.device,
                memory_bytes: request.memory_bytes,
                now: self.0.clock.now(),
            };
            // Outside of any transaction first: most polls find nothing.
            if !self.0.store.job_candidates(&filter).await?.is_empty()
                && let Some(lease) = self.claim(filter, &request.worker).await?
            {
                return Ok(Some(lease));
            }
            let now = Instant::now();
            if now >= deadline || self.0.cancel.is_cancelled() {
                return Ok(None);
            }
            let wake = deadline.min(now + Duration::from_millis(POLL_MS));
            tokio::select! {
                () = &mut news => {}
                () = tokio::time::sleep_until(wake) => {}
                () = self.0.cancel.cancelled() => return Ok(None),
            }
        }
    }

    /// Claims a job on a task of its own. If the caller has left by then, the job is queued again at once.
    async fn claim(&self, filter: CandidateFilter, worker: &str) -> Result<Option<Lease>, JobsError> {
        let (reply, answer) = oneshot::channel();
        let (jobs, worker) = (self.clone(), worker.to_owned());
        self.0.tracker.spawn(async move {
            let leased = jobs.claim_now(&filter, &worker).await;
            if let Err(Ok(Some(lease))) = reply.send(leased)
                && let Err(error) = jobs.give_back(lease.job.id, lease.fence, Change::release).await
            {
                tracing::warn!(job = %lease.job.id, %error, "a job whose worker left waits for its lease to expire");
            }
        });
        answer.await.map_err(|_| JobsError::Internal("the task that claims a job ended early".to_owned()))?
    }

    async fn claim_now(&self, filter: &CandidateFilter, worker: &str) -> Result<Option<Lease>, JobsError> {
        let mut queue = self.begin(Durability::Disk).await?;
        let claimed = queue.claim(self, filter, worker).await;
        let Some(claimed) = queue.settle(claimed).await? else { return Ok(None) };
        let (id, fence, kind) = (claimed.stored.row.id, claimed.stored.row.fence, claimed.stored.row.kind);
        metrics::counter!(JOBS_LEASED, "kind" => kind.as_str()).increment(1);
        self.0.workers.record_lease(worker, &filter.kinds, id, &claimed.stored.row.tenant);
        let lease = self.hand_out(claimed).await;
        if lease.is_err()
            && let Err(error) = self.give_back(id, fence, Change::postpone).await
        {
            tracing::warn!(job = %id, %error, "a job could not be handed out; it waits for its lease to expire");
        }
        lease.map(Some)
    }

    /// The lease that a worker is given for a claimed job.
    async fn hand_out(&self, Claimed { stored, token }: Claimed) -> Result<Lease, JobsError> {
        let (id, fence) = (stored.row.id, stored.row.fence);
        let missing = || JobsError::Internal("a claimed job has no lease or no run".to_owned());
        let (expires_at, run) = (stored.row.lease_expires_at.ok_or_else(missing)?, stored.row.run.ok_or_else(missing)?);
        let (checkpoint, damaged) = self.newest_checkpoint(id).await?;
        if !damaged.is_empty()
            && let Err(error) = self.warn_of_damage(id, fence, &damaged, checkpoint.as_ref()).await
        {
            tracing::warn!(job = %id, ?damaged, %error, "the log line about a damaged checkpoint could not be stored");
        }
        let former_runs = if stored.row.kind.resumes() { self.earlier_runs(id, run).await? } else { Vec::new() };
        let job: Job = self.view(stored).await?;
        Ok(Lease { job, fence, expires_at, lease_ms: self.0.settings.lease_ms, token, run, former_runs, checkpoint })
    }

    /// Logs that an attempt does not continue from the newest checkpoint.
    async fn warn_of_damage(
        &self,
        id: JobId,
        fence: u64,
        damaged: &[String],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<(), JobsError> {
        let begins = match checkpoint {
            Some(checkpoint) => format!("this attempt continues from the checkpoint after step {}", checkpoint.step),
            None => "this attempt starts over".to_owned(),
        };
        let damaged = damaged.join(", ");
        let message = format!("files of newer checkpoints are missing, truncated or unreadable ({damaged}): {begins}");
        let mut queue = self.begin(Durability::Process).await?;
        let done = async {
            let row = queue.leased_job(&WorkerScope { tenant: None }, id, fence).await?;
            let mut change = Change::of(row, queue.clock().now());
            change.note(JobEventKind::Log, json!({"level": "warn", "message": message}));
            queue.put(change).await
        }
        .await;
        queue.settle(done).await
    }

    /// Takes back the leases of workers that are known to be gone, by their names; the attempts do not count. Answers the number of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_back(&self, workers: &[String]) -> Result<usize, JobsError> {
        let mut taken = 0;
        for worker in workers {
            for id in self.0.store.running_jobs_of(worker).await? {
                let mut queue = self.begin(Durability::Disk).await?;
                let done = queue.take_back(id, worker).await;
                taken += usize::from(queue.settle(done).await?);
            }
        }
        Ok(taken)
    }

    /// Ends a lease in a way that does not count as an attempt.
    pub(super) async fn give_back(&self, id: JobId, fence: u64, how: fn(&mut Change)) -> Result<(), JobsError> {
        let mut queue = self.begin(Durability::Disk).await?;
        let done = async {
            let row = queue.leased_job(&WorkerScope { tenant: None }, id, fence).await?;
            let mut change = Change::of(row, queue.clock().now());
            how(&mut change);
            queue.put(change).await
        }
        .await;
        queue.settle(done).await
    }
}

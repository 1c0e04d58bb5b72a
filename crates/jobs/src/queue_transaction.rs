//! A transaction of the queue, and the notifications that follow its commit.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobKind, JobState};
use tokio::sync::MutexGuard;

use super::change::Change;
use super::{Jobs, JobsError, WorkerScope};
use crate::metrics::{JOB_LEASES_LOST, JOBS_ENDED};
use palestra_store::clock::Clock;
use palestra_store::row::job::JobRow;
use palestra_store::{Durability, Transaction};

/// A transaction that holds the lock of the queue. Dropped without an end, it is rolled back.
pub(super) struct QueueTransaction<'a> {
    jobs: &'a Jobs,
    pub(super) transaction: Transaction<'a>,
    /// Jobs whose state, events or needs changed.
    changed: Vec<JobId>,
    /// Jobs whose lease ended.
    released: Vec<JobId>,
    over: Vec<(JobKind, JobState)>,
    leases_lost: u64,
    /// True when a job became ready for workers.
    queued: bool,
    /// One at a time: otherwise transactions of the queue would take all connections from sessions.
    _lock: MutexGuard<'a, ()>,
}

impl Jobs {
    /// Begins a transaction, after every other one has ended.
    pub(super) async fn begin(&self, durability: Durability) -> Result<QueueTransaction<'_>, JobsError> {
        let lock = self.0.queue_lock.lock().await;
        let transaction = self.0.store.lock_jobs(durability).await?;
        Ok(QueueTransaction {
            jobs: self,
            transaction,
            changed: Vec::new(),
            released: Vec::new(),
            over: Vec::new(),
            leases_lost: 0,
            queued: false,
            _lock: lock,
        })
    }
}

impl QueueTransaction<'_> {
    /// The queue.
    pub(super) const fn jobs(&self) -> &Jobs {
        self.jobs
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.jobs.0.clock
    }

    /// A job in this scope whose lease with this fence is held.
    pub(super) async fn leased_job(&mut self, scope: &WorkerScope, id: JobId, fence: u64) -> Result<JobRow, JobsError> {
        let row = self.job_in_scope(scope, id).await?;
        if row.is_held(fence) { Ok(row) } else { Err(JobsError::LeaseLost) }
    }

    /// A job in the scope of a worker.
    pub(super) async fn job_in_scope(&mut self, scope: &WorkerScope, id: JobId) -> Result<JobRow, JobsError> {
        let row = self.transaction.job(id).await?;
        row.filter(|row| scope.covers(&row.tenant)).ok_or(JobsError::NotFound("job"))
    }

    /// A job of a tenant.
    pub(super) async fn job_of_tenant(&mut self, tenant: &str, id: JobId) -> Result<JobRow, JobsError> {
        let row = self.transaction.job(id).await?;
        row.filter(|row| row.tenant == tenant).ok_or(JobsError::NotFound("job"))
    }

    /// Counts a lease that was taken back.
    pub(super) const fn lease_lost(&mut self) {
        self.leases_lost += 1;
    }

    /// Marks a job for notification; `queued` says that it became ready for workers.
    pub(super) fn changed(&mut self, id: JobId, queued: bool) {
        self.changed.push(id);
        self.queued |= queued;
    }

    /// Writes a change, and the changes that follow from it for jobs that need this one.
    pub(super) async fn put(&mut self, change: Change) -> Result<(), JobsError> {
        let mut changes = vec![change];
        // Terminates because a job that is over never changes again, and dependencies have no cycles.
        while let Some(change) = changes.pop() {
            self.write(&change).await?;
            let (id, state) = (change.row.id, change.row.state);
            if !state.is_over() || change.before.is_over() {
                continue;
            }
            for row in self.transaction.job_dependents(id).await? {
                if row.state != JobState::Queued {
                    continue;
                }
                let mut dependent = Change::of(row, self.clock().now());
                if state == JobState::Succeeded {
                    dependent.row.blocked = dependent.row.blocked.saturating_sub(1);
                    self.transaction.update_job(&dependent.row).await?;
                    self.changed(dependent.row.id, dependent.row.blocked == 0);
                } else {
                    dependent.fail_with(id, state);
                    changes.push(dependent);
                }
            }
        }
        Ok(())
    }

    async fn write(&mut self, change: &Change) -> Result<(), JobsError> {
        let (row, before) = (&change.row, change.before);
        self.transaction.update_job(row).await?;
        self.transaction.append_job_events(&change.events).await?;
        if before == JobState::Running && row.state != JobState::Running {
            self.released.push(row.id);
        }
        if row.state.is_over() && !before.is_over() {
            self.over.push((row.kind, row.state));
        }
        if !change.events.is_empty() || before != row.state {
            self.changed(row.id, row.state == JobState::Queued && row.blocked == 0);
        }
        Ok(())
    }

    /// Commits and notifies, or rolls back after an error, which is returned.
    pub(super) async fn settle<T>(self, done: Result<T, JobsError>) -> Result<T, JobsError> {
        let Self { jobs, transaction, changed, released, over, leases_lost, queued, _lock } = self;
        let value = match done {
            Ok(value) => value,
            Err(error) => {
                transaction.rollback().await;
                return Err(error);
            }
        };
        transaction.commit().await?;
        for id in released {
            jobs.0.tokens.forget(id);
            jobs.0.policy_requests.drop_server(id);
        }
        for id in changed {
            jobs.0.watches.notify(id);
        }
        for (kind, state) in over {
            metrics::counter!(JOBS_ENDED, "kind" => kind.as_str(), "state" => state.as_str()).increment(1);
        }
        metrics::counter!(JOB_LEASES_LOST).increment(leases_lost);
        if queued {
            jobs.0.queue_news.notify_waiters();
        }
        Ok(value)
    }
}

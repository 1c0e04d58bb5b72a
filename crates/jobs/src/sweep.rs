//! The queue's upkeep: expired leases, workers that do not stop, jobs past their retention, unreferenced contents.

use std::time::Duration;

use palestra_protocol::id::JobId;
use palestra_protocol::job::JobState;
use palestra_protocol::time::Timestamp;
use tokio::time::{Instant, MissedTickBehavior};

use super::change::{BACKOFF_MS_MAX, Change};
use super::queue_transaction::QueueTransaction;
use super::{Jobs, JobsError};
use crate::metrics::{JOBS_QUEUED, JOBS_RUNNING};
use palestra_store::Durability;

/// Jobs of one page.
const JOBS_PER_PAGE: u32 = 256;
/// Pages of one sweep; the next sweep takes the rest.
const PAGES_MAX: usize = 16;
/// Time between two removals of old jobs and contents.
const REMOVAL_EVERY: Duration = Duration::from_secs(600);

fn earlier(now: Timestamp, milliseconds: u64) -> Timestamp {
    let milliseconds = i64::try_from(milliseconds).unwrap_or(i64::MAX);
    Timestamp::from_milliseconds(now.milliseconds().saturating_sub(milliseconds))
}

impl QueueTransaction<'_> {
    /// Applies what is due to a job: the clock may have been set forward or back since it was found.
    async fn sweep(&mut self, id: JobId, lease_ms: u64, cancel_grace_ms: u64) -> Result<(), JobsError> {
        let Some(row) = self.transaction.job(id).await? else { return Ok(()) };
        let now = self.clock().now();
        let mut change = Change::of(row, now);
        match change.row.state {
            JobState::Running => {
                let latest = now.plus_ms(lease_ms);
                // Times in the future were written before the clock was set back.
                change.row.cancel_requested_at = change.row.cancel_requested_at.map(|asked| asked.min(now));
                change.row.lease_expires_at = change.row.lease_expires_at.map(|end| end.min(latest));
                let asked = change.row.cancel_requested_at;
                if asked.is_some_and(|asked| asked <= earlier(now, cancel_grace_ms)) {
                    self.lease_lost();
                    change.cancel();
                } else if change.row.lease_expires_at.is_some_and(|end| end <= now) {
                    self.lease_lost();
                    change.lose_lease();
                }
            }
            JobState::Queued => {
                let latest = now.plus_ms(BACKOFF_MS_MAX);
                change.row.not_before = change.row.not_before.map(|next| next.min(latest));
            }
            JobState::Succeeded | JobState::Failed | JobState::Cancelled => return Ok(()),
        }
        self.put(change).await
    }
}

impl Jobs {
    /// Sweeps until the server stops.
    pub(super) async fn run_upkeep(&self) {
        let settings = &self.0.settings;
        let mut rounds = tokio::time::interval(Duration::from_millis(settings.sweep_ms.max(1)));
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Workers that held a lease when the server stopped have a whole lease duration to come back.
        let begins = Instant::now() + Duration::from_millis(settings.lease_ms);
        let mut removal = begins;
        loop {
            tokio::select! {
                () = self.0.cancel.cancelled() => return,
                _ = rounds.tick() => {}
            }
            self.0.policy_requests.remove_expired();
            let now = Instant::now();
            if now < begins {
                continue;
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the sweep of leases failed; the next one tries again");
            }
            if now >= removal {
                removal = now + REMOVAL_EVERY;
                if let Err(error) = self.remove_old().await {
                    tracing::warn!(%error, "old jobs and contents could not be deleted; the next removal tries again");
                }
            }
        }
    }

    /// Takes back expired leases and those of workers that do not stop, and clamps times that a clock set back cannot reach.
    pub(super) async fn sweep(&self) -> Result<(), JobsError> {
        let (lease_ms, grace_ms) = (self.0.settings.lease_ms, self.0.settings.cancel_grace_ms);
        for _ in 0..PAGES_MAX {
            let now = self.0.clock.now();
            let (latest, asked_before) = (now.plus_ms(lease_ms), earlier(now, grace_ms));
            let mut due = self.0.store.jobs_due(now, latest, asked_before, JOBS_PER_PAGE).await?;
            due.extend(self.0.store.jobs_delayed_beyond(now.plus_ms(BACKOFF_MS_MAX), JOBS_PER_PAGE).await?);
            for id in &due {
                let mut queue = self.begin(Durability::Disk).await?;
                let done = queue.sweep(*id, lease_ms, grace_ms).await;
                queue.settle(done).await?;
            }
            if due.len() < JOBS_PER_PAGE as usize {
                break;
            }
        }
        let counts = self.0.store.job_counts().await?;
        let count = |wanted| counts.iter().find(|(state, _)| *state == wanted).map_or(0, |(_, count)| *count);
        metrics::gauge!(JOBS_QUEUED).set(count(JobState::Queued) as f64);
        metrics::gauge!(JOBS_RUNNING).set(count(JobState::Running) as f64);
        Ok(())
    }

    /// Deletes jobs past their retention, and unreferenced contents.
    pub(super) async fn remove_old(&self) -> Result<(), JobsError> {
        for _ in 0..PAGES_MAX {
            let before = earlier(self.0.clock.now(), self.0.settings.retention_ms);
            let old = self.0.store.jobs_ended_before(before, JOBS_PER_PAGE).await?;
            for id in &old {
                let mut queue = self.begin(Durability::Disk).await?;
                let done = async {
                    match queue.transaction.job(*id).await? {
                        Some(row) if row.ended_at.is_some_and(|ended| ended < before) => queue.delete(&row).await,
                        _ => Ok(()),
                    }
                }
                .await;
                queue.settle(done).await?;
            }
            if old.len() < JOBS_PER_PAGE as usize {
                break;
            }
        }
        let removed = self.0.contents.remove_unreferenced(&self.0.store, self.0.clock.now()).await?;
        if removed > 0 {
            tracing::info!(removed, "deleted unreferenced contents");
        }
        Ok(())
    }
}

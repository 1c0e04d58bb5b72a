//! State transitions of a job: pure changes of its row, each with an event.

use palestra_protocol::id::{JobId, RunId};
use palestra_protocol::job::{JobError, JobEvent, JobEventKind, JobState, Progress};
use palestra_protocol::time::Timestamp;
use serde_json::{Value, json};

use palestra_store::row::job::{JobEventRow, JobRow};

/// Milliseconds until the second attempt; each further one waits twice as long.
pub(super) const BACKOFF_MS: u64 = 5_000;
/// Longest back-off, in milliseconds.
pub(super) const BACKOFF_MS_MAX: u64 = 600_000;

/// Events of one job; beyond it only events that later attempts or clients depend on are stored.
pub(super) const EVENTS_PER_JOB_MAX: u64 = 1_000_000;

/// The error code of a job whose workers stopped sending heartbeats.
pub(super) const LEASE_LOST: &str = "lease_lost";
/// The error code of a job that needs one which did not succeed.
pub(super) const DEPENDENCY: &str = "dependency";

/// Milliseconds until the attempt after this number of them.
pub(super) fn backoff_ms(attempts: u32) -> u64 {
    let doublings = attempts.saturating_sub(1).min(32);
    BACKOFF_MS.saturating_mul(1 << doublings).min(BACKOFF_MS_MAX)
}

/// A job that is being changed, with the events of the change.
pub(super) struct Change {
    pub(super) row: JobRow,
    pub(super) events: Vec<JobEventRow>,
    /// The state before the change.
    pub(super) before: JobState,
    now: Timestamp,
}

impl Change {
    pub(super) fn of(row: JobRow, now: Timestamp) -> Self {
        Self { before: row.state, row, events: Vec::new(), now }
    }

    /// Adds an event.
    pub(super) fn note(&mut self, kind: JobEventKind, data: Value) {
        self.note_full_log();
        self.write(kind, data);
    }

    /// Adds an event that nothing depends on, unless the log is full.
    pub(super) fn note_if_room(&mut self, kind: JobEventKind, data: Value) {
        self.note_full_log();
        if self.row.events < EVENTS_PER_JOB_MAX {
            self.write(kind, data);
        }
    }

    /// Makes the event with the number of the bound the line which says that the log is full.
    fn note_full_log(&mut self) {
        if self.row.events + 1 == EVENTS_PER_JOB_MAX {
            let message = format!(
                "this is event {EVENTS_PER_JOB_MAX} of this job, so its log is full: metrics, log lines and progress of its \
                 workers are no longer stored; states, files, checkpoints and policies are"
            );
            self.write(JobEventKind::Log, json!({"level": "warn", "message": message}));
        }
    }

    fn write(&mut self, kind: JobEventKind, data: Value) {
        self.row.events += 1;
        let event = JobEvent { number: self.row.events, attempt: self.row.attempts, at: self.now, kind, data };
        self.events.push(JobEventRow { job: self.row.id, event });
    }

    fn note_state(&mut self, more: &Value) {
        let mut data = json!({"state": self.row.state});
        if let (Some(data), Some(more)) = (data.as_object_mut(), more.as_object()) {
            data.extend(more.clone());
        }
        self.note(JobEventKind::State, data);
    }

    /// Records that the job was queued.
    pub(super) fn created(&mut self) {
        self.note_state(&json!({}));
    }

    /// Begins an attempt under a new lease.
    pub(super) fn begin(&mut self, worker: &str, lease_ms: u64) {
        let run = RunId::new();
        let row = &mut self.row;
        row.state = JobState::Running;
        row.attempts += 1;
        row.attempts_without_progress += 1;
        row.fence += 1;
        row.reports = 0;
        row.run = Some(run);
        row.worker = Some(worker.to_owned());
        row.lease_expires_at = Some(self.now.plus_ms(lease_ms));
        row.started_at = Some(self.now);
        (row.not_before, row.outcome, row.cancel_requested_at) = (None, None, None);
        // Episodes of earlier attempts count; every other kind of work starts over.
        row.progress = row.progress.take().filter(|_| row.kind.resumes());
        if let Some(progress) = &mut row.progress {
            (progress.message, progress.remaining_ms) = (None, None);
        }
        self.note_state(&json!({"worker": worker, "run": run}));
    }

    /// Counts attempts anew, if a later attempt goes on from further than any before: from the step of a checkpoint, or with episodes.
    pub(super) fn advance(&mut self, to: u64) {
        if to > self.row.furthest {
            self.row.furthest = to;
            self.row.attempts_without_progress = 0;
        }
    }

    /// Sets the progress, which counts as such where later attempts keep what was done.
    pub(super) fn set_progress(&mut self, progress: Progress) {
        if self.row.kind.resumes() {
            self.advance(progress.done);
        }
        self.row.progress = Some(progress);
    }

    /// Extends the lease after a sign of life from the worker.
    pub(super) fn renew(&mut self, lease_ms: u64) {
        self.row.lease_expires_at = Some(self.now.plus_ms(lease_ms));
    }

    /// Asks the worker to stop.
    pub(super) fn request_cancel(&mut self) {
        if self.row.cancel_requested_at.is_none() {
            self.row.cancel_requested_at = Some(self.now);
            self.note_state(&json!({"cancel_requested": true}));
        }
    }

    fn end(&mut self, state: JobState, more: &Value) {
        self.row.state = state;
        self.row.ended_at = Some(self.now);
        (self.row.lease_expires_at, self.row.not_before) = (None, None);
        self.row.blocked = 0;
        self.note_state(more);
    }

    fn requeue(&mut self, not_before: Option<Timestamp>, more: &Value) {
        self.row.state = JobState::Queued;
        self.row.lease_expires_at = None;
        self.row.not_before = not_before;
        self.note_state(more);
    }

    /// Ends the job with its result.
    pub(super) fn succeed(&mut self, result: Value) {
        self.row.result = Some(result);
        self.row.error = None;
        self.end(JobState::Succeeded, &json!({}));
    }

    /// Ends the job as cancelled.
    pub(super) fn cancel(&mut self) {
        self.end(JobState::Cancelled, &json!({}));
    }

    /// Ends the job with an error.
    pub(super) fn fail(&mut self, error: JobError) {
        let more = json!({"error": error});
        self.row.error = Some(error);
        self.end(JobState::Failed, &more);
    }

    /// Ends the attempt with an error. Another one follows if `retry` is set and attempts are left.
    pub(super) fn fail_attempt(&mut self, error: JobError, retry: bool) {
        if self.row.cancel_requested_at.is_some() {
            self.row.error = Some(error);
            return self.cancel();
        }
        if !retry || self.row.attempts_without_progress >= self.row.attempts_max {
            self.row.dead_letter = retry;
            return self.fail(error);
        }
        let not_before = self.now.plus_ms(backoff_ms(self.row.attempts_without_progress));
        let more = json!({"error": error, "not_before": not_before});
        self.row.error = Some(error);
        self.requeue(Some(not_before), &more);
    }

    /// Takes the lease back, because no heartbeat came.
    pub(super) fn lose_lease(&mut self) {
        let worker = self.row.worker.as_deref().unwrap_or_default();
        let detail = format!("worker {worker:?} sent no heartbeat until its lease ended");
        self.fail_attempt(JobError { code: LEASE_LOST.to_owned(), detail }, true);
    }

    fn take_back(&mut self, not_before: Option<Timestamp>, more: &Value) {
        if self.row.cancel_requested_at.is_some() {
            return self.cancel();
        }
        self.requeue(not_before, more);
        self.row.attempts = self.row.attempts.saturating_sub(1);
        self.row.attempts_without_progress = self.row.attempts_without_progress.saturating_sub(1);
    }

    /// Queues the job again, because its worker stops; the attempt does not count.
    pub(super) fn release(&mut self) {
        self.take_back(None, &json!({"released": true}));
    }

    /// Queues the job again after a delay, because it could not be handed out; the attempt does not count.
    pub(super) fn postpone(&mut self) {
        let not_before = self.now.plus_ms(BACKOFF_MS);
        self.take_back(Some(not_before), &json!({"released": true, "not_before": not_before}));
    }

    /// Fails the job, because one that it needs did not succeed.
    pub(super) fn fail_with(&mut self, needed: JobId, state: JobState) {
        let how = if state == JobState::Cancelled { "was cancelled" } else { "failed" };
        let detail = format!("{needed}, which has to succeed first, {how}: retry that one, then this one");
        self.fail(JobError { code: DEPENDENCY.to_owned(), detail });
    }

    /// Queues the job again with fresh attempts, once `blocked` jobs have succeeded.
    pub(super) fn retry(&mut self, blocked: u64) {
        let row = &mut self.row;
        (row.attempts, row.attempts_without_progress) = (0, 0);
        (row.blocked, row.dead_letter) = (blocked, false);
        (row.ended_at, row.cancel_requested_at, row.outcome, row.result) = (None, None, None, None);
        (row.error, row.progress) = (None, None);
        self.requeue(None, &json!({"retried": true}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_doubles_up_to_ten_minutes() {
        assert_eq!(
            [1, 2, 3, 7, 8, 20, u32::MAX].map(backoff_ms),
            [5_000, 10_000, 20_000, 320_000, 600_000, 600_000, 600_000]
        );
    }
}

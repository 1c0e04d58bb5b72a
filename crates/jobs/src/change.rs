//! How a job goes from one state to the next: pure changes of its row, each of which writes an event.

use palestra_protocol::id::{JobId, RunId};
use palestra_protocol::job::{JobError, JobEvent, JobEventKind, JobState};
use palestra_protocol::time::Timestamp;
use serde_json::{Value, json};

use palestra_store::row::job::{JobEventRow, JobRow};

/// Milliseconds until the second attempt; each further one waits twice as long.
pub(super) const BACKOFF_MS: u64 = 5_000;
/// Milliseconds that no attempt waits longer than.
pub(super) const BACKOFF_MS_MAX: u64 = 600_000;

/// Events of one job; beyond it only those come in that something is built on.
pub(super) const EVENTS_PER_JOB_MAX: u64 = 1_000_000;

/// The code of the error of a job whose workers went silent.
pub(super) const LEASE_LOST: &str = "lease_lost";
/// The code of the error of a job that needed one which did not succeed.
pub(super) const DEPENDENCY: &str = "dependency";

/// Milliseconds until the next attempt after so many.
pub(super) fn backoff_ms(attempts: u32) -> u64 {
    let doublings = attempts.saturating_sub(1).min(32);
    BACKOFF_MS.saturating_mul(1 << doublings).min(BACKOFF_MS_MAX)
}

/// A job that is being changed, with the events that tell of it.
pub(super) struct Change {
    pub(super) row: JobRow,
    pub(super) events: Vec<JobEventRow>,
    /// How it stood before.
    pub(super) before: JobState,
    now: Timestamp,
}

impl Change {
    pub(super) fn of(row: JobRow, now: Timestamp) -> Self {
        Self { before: row.state, row, events: Vec::new(), now }
    }

    /// Adds an event.
    pub(super) fn note(&mut self, kind: JobEventKind, data: Value) {
        self.tell_of_the_end();
        self.write(kind, data);
    }

    /// Adds an event where there is room: one that tells how it goes, and that nothing is built on.
    pub(super) fn note_if_room(&mut self, kind: JobEventKind, data: Value) {
        self.tell_of_the_end();
        if self.row.events < EVENTS_PER_JOB_MAX {
            self.write(kind, data);
        }
    }

    /// The event with the number of the bound is always the line that says so.
    fn tell_of_the_end(&mut self) {
        if self.row.events + 1 == EVENTS_PER_JOB_MAX {
            let message = format!(
                "this is event {EVENTS_PER_JOB_MAX} of this job, and its log is full: numbers, lines and progress of its \
                 workers are written down no more; states, files, checkpoints and policies are"
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

    /// It was queued.
    pub(super) fn created(&mut self) {
        self.note_state(&json!({}));
    }

    /// A worker gets it.
    pub(super) fn begin(&mut self, worker: &str, lease_ms: u64) {
        let run = RunId::new();
        let row = &mut self.row;
        row.state = JobState::Running;
        row.attempts += 1;
        row.fence += 1;
        row.reports = 0;
        row.run = Some(run);
        row.worker = Some(worker.to_owned());
        row.lease_expires_at = Some(self.now.plus_ms(lease_ms));
        row.started_at = Some(self.now);
        (row.not_before, row.outcome, row.cancel_requested_at) = (None, None, None);
        // What was played counts in the next attempt; every other kind of work begins anew.
        row.progress = row.progress.take().filter(|_| row.kind.resumes());
        if let Some(progress) = &mut row.progress {
            (progress.message, progress.remaining_ms) = (None, None);
        }
        self.note_state(&json!({"worker": worker, "run": run}));
    }

    /// Its worker is alive.
    pub(super) fn renew(&mut self, lease_ms: u64) {
        self.row.lease_expires_at = Some(self.now.plus_ms(lease_ms));
    }

    /// Its worker is to stop.
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

    /// It is done.
    pub(super) fn succeed(&mut self, result: Value) {
        self.row.result = Some(result);
        self.row.error = None;
        self.end(JobState::Succeeded, &json!({}));
    }

    /// It was cancelled.
    pub(super) fn cancel(&mut self) {
        self.end(JobState::Cancelled, &json!({}));
    }

    /// It failed for good.
    pub(super) fn fail(&mut self, error: JobError) {
        let more = json!({"error": error});
        self.row.error = Some(error);
        self.end(JobState::Failed, &more);
    }

    /// The attempt failed: another one follows where that could help and there are some left.
    pub(super) fn fail_attempt(&mut self, error: JobError, retry: bool) {
        if self.row.cancel_requested_at.is_some() {
            self.row.error = Some(error);
            return self.cancel();
        }
        if !retry || self.row.attempts >= self.row.attempts_max {
            self.row.dead_letter = retry;
            return self.fail(error);
        }
        let not_before = self.now.plus_ms(backoff_ms(self.row.attempts));
        let more = json!({"error": error, "not_before": not_before});
        self.row.error = Some(error);
        self.requeue(Some(not_before), &more);
    }

    /// Its worker went silent.
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
    }

    /// Its worker stops; the attempt does not count.
    pub(super) fn release(&mut self) {
        self.take_back(None, &json!({"released": true}));
    }

    /// It could not be handed out; the attempt does not count, and other jobs go first for a while.
    pub(super) fn postpone(&mut self) {
        let not_before = self.now.plus_ms(BACKOFF_MS);
        self.take_back(Some(not_before), &json!({"released": true, "not_before": not_before}));
    }

    /// A job that it needs did not succeed.
    pub(super) fn fail_with(&mut self, needed: JobId, state: JobState) {
        let how = if state == JobState::Cancelled { "was cancelled" } else { "failed" };
        let detail = format!("{needed}, which has to succeed first, {how}: retry that one, then this one");
        self.fail(JobError { code: DEPENDENCY.to_owned(), detail });
    }

    /// It is tried again from the beginning, once so many jobs have succeeded.
    pub(super) fn retry(&mut self, blocked: u64) {
        let row = &mut self.row;
        (row.attempts, row.blocked, row.dead_letter) = (0, blocked, false);
        (row.ended_at, row.cancel_requested_at, row.outcome, row.result) = (None, None, None, None);
        (row.error, row.progress) = (None, None);
        self.requeue(None, &json!({"retried": true}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_wait_twice_as_long_each_time_up_to_ten_minutes() {
        assert_eq!(
            [1, 2, 3, 7, 8, 20, u32::MAX].map(backoff_ms),
            [5_000, 10_000, 20_000, 320_000, 600_000, 600_000, 600_000]
        );
    }
}

//! Leases of a worker: asking for jobs one after the other, and holding each lease until its job ends.
//!
//! A lease is lost once the queue says so, and also once the server has not answered for as long as the lease lasts: by then another
//! worker may have the job. A call under a lease is repeated while the server is away and the lease may still be held.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, Policy, Progress};
use palestra_protocol::problem::Code;
use palestra_protocol::worker::{
    Exchange, Exchanged, Finish, Heartbeat, Held, Lease, LeaseRequest, Outcome, RegisterPolicy, Report, ReportedEvent,
    ServedAnswer,
};
use parking_lot::Mutex;

use crate::error::ClientError;
use crate::transport::Client;

/// Shortest pause after a server that does not answer, in milliseconds; doubled by each further failure to ask for a job.
const PAUSE_MS: u64 = 500;
/// Longest such pause, in milliseconds.
const PAUSE_MS_MAX: u64 = 30_000;
/// Heartbeats in the time that a lease lasts without one.
const BEATS_PER_LEASE: u64 = 3;
/// Longest pause between two heartbeats, in milliseconds: people watch the progress that comes with them.
const BEAT_MS_MAX: u64 = 2_000;
/// Shortest such pause, in milliseconds.
const BEAT_MS_MIN: u64 = 50;
/// Events of one report.
const EVENTS_PER_REPORT: usize = 256;

/// Asks for jobs, one after the other.
pub struct Leases {
    client: Client,
    pause_ms: u64,
}

impl Leases {
    /// Asks with the key of a worker.
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self { client, pause_ms: PAUSE_MS }
    }

    /// Asks once. `None` where there is no job, and, after a pause, where the server did not answer: ask again.
    ///
    /// # Errors
    /// When the server refuses the credential or the request itself.
    pub async fn next(&mut self, request: &LeaseRequest) -> Result<Option<Lease>, ClientError> {
        match self.client.lease_job(request).await {
            Ok(lease) => {
                self.pause_ms = PAUSE_MS;
                Ok(lease)
            }
            Err(ClientError::Problem(problem)) if matches!(problem.status, 400..=407 | 409..=428) => {
                Err(ClientError::Problem(problem))
            }
            Err(error) => {
                tracing::warn!(%error, "the server gives no job; asking again");
                tokio::time::sleep(Duration::from_millis(self.pause_ms)).await;
                self.pause_ms = (self.pause_ms * 2).min(PAUSE_MS_MAX);
                Ok(None)
            }
        }
    }
}

/// Why a call under a lease brought no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LeaseError {
    /// The lease is lost: another worker may hold the job.
    #[error("the lease of the job is lost and another worker may have it: stop the work, and take the next job")]
    Lost,
    /// The server refused.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// A lease of a job. Cheap to clone.
#[derive(Clone)]
pub struct HeldLease(Arc<Inner>);

struct Inner {
    client: Client,
    job: JobId,
    fence: u64,
    duration: Duration,
    standing: Mutex<Standing>,
    outbox: tokio::sync::Mutex<Outbox>,
}

struct Standing {
    /// When the last call began to which the queue answered that the lease is held.
    held: Instant,
    cancelled: bool,
    lost: bool,
}

/// Events on their way to the queue.
#[derive(Default)]
struct Outbox {
    events: Vec<ReportedEvent>,
    /// Reports that were begun.
    reports: u64,
    /// The last of them until it is answered: it is sent again as it was, so that its events are written once.
    unanswered: Option<Report>,
}

impl HeldLease {
    /// A lease that was given just now. `client` has the worker's key.
    #[must_use]
    pub fn new(client: Client, lease: &Lease) -> Self {
        Self(Arc::new(Inner {
            client,
            job: lease.job.id,
            fence: lease.fence,
            duration: Duration::from_millis(lease.lease_ms),
            standing: Mutex::new(Standing { held: Instant::now(), cancelled: false, lost: false }),
            outbox: tokio::sync::Mutex::default(),
        }))
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.0.job
    }

    /// The number that everything names which is written under the lease.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.0.fence
    }

    /// The time that the lease lasts without an answer of the server.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.0.duration
    }

    /// True once the queue asked to stop the work.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.standing.lock().cancelled
    }

    /// True once the lease is lost, by an answer of the queue or for want of one. Nothing can be written any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let mut standing = self.0.standing.lock();
        standing.lost |= standing.held.elapsed() > self.0.duration;
        standing.lost
    }

    /// Waits until the next heartbeat is due.
    pub async fn pause(&self) {
        let lease_ms = u64::try_from(self.0.duration.as_millis()).unwrap_or(u64::MAX);
        let pause_ms = (lease_ms / BEATS_PER_LEASE).clamp(BEAT_MS_MIN, BEAT_MS_MAX);
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }

    /// Keeps the lease, and says how far the job is.
    ///
    /// # Errors
    /// When the lease is lost or the progress is refused.
    pub async fn beat(&self, progress: Option<Progress>) -> Result<(), LeaseError> {
        let beat = Heartbeat { fence: self.0.fence, progress };
        self.keep(|| self.0.client.heartbeat_job(self.0.job, &beat)).await
    }

    /// Reports events in order, each once, also where an answer was lost or this call was dropped: what is left is sent by the next one.
    ///
    /// # Errors
    /// When the lease is lost, or events are refused; those are not sent again.
    pub async fn report(&self, events: Vec<ReportedEvent>) -> Result<(), LeaseError> {
        let mut outbox = self.0.outbox.lock().await;
        outbox.events.extend(events);
        while let Some(report) = outbox.next(self.0.fence) {
            let told = self.keep(|| self.0.client.report_job(self.0.job, &report)).await;
            if !matches!(told, Err(LeaseError::Lost)) {
                outbox.unanswered = None;
            }
            told?;
        }
        Ok(())
    }

    /// Keeps `bytes` as an artefact of the job.
    ///
    /// # Errors
    /// When the lease is lost, or the artefact is refused.
    pub async fn upload(&self, name: &str, bytes: &[u8]) -> Result<Artifact, LeaseError> {
        self.call(|| self.0.client.upload_artifact(self.0.job, self.0.fence, name, bytes.to_vec())).await
    }

    /// Keeps the file at `path` as an artefact of the job.
    ///
    /// # Errors
    /// As [`Self::upload`], and when the file cannot be read.
    pub async fn upload_file(&self, name: &str, path: &Path) -> Result<Artifact, LeaseError> {
        self.call(|| self.0.client.upload_artifact_file(self.0.job, self.0.fence, name, path)).await
    }

    /// Removes an artefact of the job. One that is not there counts as removed: a call whose answer was lost may have done it.
    ///
    /// # Errors
    /// When the lease is lost.
    pub async fn delete(&self, name: &str) -> Result<(), LeaseError> {
        self.call(|| async { deleted(self.0.client.delete_artifact(self.0.job, self.0.fence, name).await) }).await
    }

    /// Registers a policy whose files are artefacts of the job.
    ///
    /// # Errors
    /// When the lease is lost, or the policy is refused.
    pub async fn register(&self, policy: &RegisterPolicy) -> Result<Policy, LeaseError> {
        self.call(|| self.0.client.register_policy(self.0.job, policy)).await
    }

    /// Hands answers of a served policy in, and takes at most `take` requests out, the first within `wait_ms`.
    ///
    /// # Errors
    /// When the lease is lost, or the exchange is refused.
    pub async fn exchange(&self, answers: Vec<ServedAnswer>, take: u32, wait_ms: u64) -> Result<Exchanged, LeaseError> {
        let exchange = Exchange { fence: self.0.fence, answers, take, wait_ms };
        self.call(|| async {
            let began = Instant::now();
            let exchanged = self.0.client.exchange(self.0.job, &exchange).await?;
            self.note(began, exchanged.cancel);
            Ok(exchanged)
        })
        .await
    }

    /// Ends the lease. It is tried for as long as a lease lasts: by its fence the queue refuses an end that comes too late.
    ///
    /// # Errors
    /// When the lease is lost, or the end is refused.
    pub async fn finish(&self, outcome: Outcome) -> Result<(), LeaseError> {
        self.0.standing.lock().held = Instant::now();
        let finish = Finish { fence: self.0.fence, outcome };
        self.call(|| self.0.client.finish_job(self.0.job, &finish)).await.map(drop)
    }

    /// Asks something that is not about the lease, again while the server is away and the lease may be held.
    ///
    /// # Errors
    /// When the lease is lost, or the server refuses, which says nothing about the lease.
    pub async fn ask<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, LeaseError> {
        self.ask_while(call, ClientError::may_pass).await
    }

    /// As [`Self::ask`], again while `again` says so of the error.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn ask_while<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
        again: impl Fn(&ClientError) -> bool,
    ) -> Result<T, LeaseError> {
        loop {
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let repeats = again(&error);
            if self.is_lost() {
                return Err(LeaseError::Lost);
            }
            if !repeats {
                return Err(error.into());
            }
            tracing::warn!(job = %self.0.job, %error, "the server does not answer; trying again");
            tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
        }
    }

    /// A call that the queue answers by whether the lease is held.
    async fn keep<F: Future<Output = Result<Held, ClientError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<(), LeaseError> {
        self.call(|| async {
            let began = Instant::now();
            let held = call().await?;
            self.note(began, held.cancel);
            Ok(())
        })
        .await
    }

    /// A call under the lease, again while the server is away.
    async fn call<T, F: Future<Output = Result<T, ClientError>>>(&self, call: impl Fn() -> F) -> Result<T, LeaseError> {
        if self.0.standing.lock().lost {
            return Err(LeaseError::Lost);
        }
        let again = |error: &ClientError| {
            self.0.standing.lock().lost |= is_loss(error);
            error.may_pass()
        };
        self.ask_while(call, again).await
    }

    /// Notes that the lease was held when a call began: the server may have answered right then.
    fn note(&self, began: Instant, cancel: bool) {
        let mut standing = self.0.standing.lock();
        standing.held = standing.held.max(began);
        standing.cancelled |= cancel;
    }
}

impl Outbox {
    /// The report that has to be answered next.
    fn next(&mut self, fence: u64) -> Option<Report> {
        if self.unanswered.is_none() && !self.events.is_empty() {
            let count = EVENTS_PER_REPORT.min(self.events.len());
            self.reports += 1;
            let events = self.events.drain(..count).collect();
            self.unanswered = Some(Report { fence, number: Some(self.reports), events });
        }
        self.unanswered.clone()
    }
}

/// True where a worker that gets this answer can write nothing more under its lease.
fn is_loss(error: &ClientError) -> bool {
    matches!(error.code(), Some(Code::LeaseLost | Code::NotFound | Code::Unauthorized | Code::Forbidden))
}

fn deleted(answer: Result<(), ClientError>) -> Result<(), ClientError> {
    match answer {
        Err(error) if error.code() == Some(Code::NotFound) => Ok(()),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::job::JobEventKind;
    use palestra_protocol::problem::Problem;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_artefact_that_is_removed_twice_is_gone() {
        let refused = |code| deleted(Err(ClientError::from(Problem::new(code, ".."))));
        assert!(deleted(Ok(())).is_ok() && refused(Code::NotFound).is_ok());
        assert_eq!(refused(Code::LeaseLost).unwrap_err().code(), Some(Code::LeaseLost));
        assert!(deleted(Err(ClientError::Unreachable("connection refused".to_owned()))).is_err());
    }

    #[test]
    fn a_report_is_sent_as_it_was_until_it_is_answered() {
        let event = |step: usize| ReportedEvent { kind: JobEventKind::Metric, data: json!({"step": step}) };
        let mut outbox = Outbox { events: (0..=EVENTS_PER_REPORT).map(event).collect(), ..Outbox::default() };
        let first = outbox.next(7).unwrap();
        assert_eq!((first.fence, first.number, first.events.len()), (7, Some(1), EVENTS_PER_REPORT));
        outbox.events.push(event(0));
        assert_eq!(outbox.next(7), Some(first));
        outbox.unanswered = None;
        let second = outbox.next(7).unwrap();
        assert_eq!((second.number, second.events.len()), (Some(2), 2));
        outbox.unanswered = None;
        assert_eq!(outbox.next(7), None);
    }
}

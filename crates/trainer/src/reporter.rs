//! Reports of an attempt to the queue. Every call repeats itself while the server is away and the lease may still be held, and
//! every answer says whether to go on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use palestra_client::{Client, ClientError};
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, JobEventKind, Policy, Progress};
use palestra_protocol::problem::Code;
use palestra_protocol::worker::{
    Exchange, Exchanged, Finish, Heartbeat, Held, Lease, Outcome, RegisterPolicy, Report, ReportedEvent,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::failure::TrainerError;

/// Wait between two tries of the same call, in milliseconds.
const PAUSE_MS: u64 = 500;
/// Heartbeats in the length of a lease.
const BEATS_PER_LEASE: u64 = 3;

/// Tells the queue about an attempt. Cheap to clone.
#[derive(Clone)]
pub struct Reporter(Arc<Inner>);

struct Inner {
    client: Client,
    runtime: Handle,
    job: JobId,
    fence: u64,
    lease: Duration,
    /// Time at which the queue last confirmed the lease.
    held: Mutex<Instant>,
    progress: Mutex<Option<Progress>>,
    /// The number of the last report that was answered; held while one is under way.
    reports: Mutex<u64>,
    cancelled: AtomicBool,
    lost: AtomicBool,
}

impl Reporter {
    /// A reporter of a lease, which was given just now. `client` holds the worker's key.
    #[must_use]
    pub fn new(client: Client, lease: &Lease, runtime: Handle) -> Self {
        Self(Arc::new(Inner {
            client,
            runtime,
            job: lease.job.id,
            fence: lease.fence,
            lease: Duration::from_millis(lease.lease_ms),
            held: Mutex::new(Instant::now()),
            progress: Mutex::new(None),
            reports: Mutex::new(0),
            cancelled: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }))
    }

    /// Fails when the work has to stop: the job was cancelled or the lease is lost.
    ///
    /// # Errors
    /// [`TrainerError::Cancelled`] or [`TrainerError::LeaseLost`].
    pub fn go_on(&self) -> Result<(), TrainerError> {
        // The own clock counts too: a server that does not answer may have given the job to another worker.
        if self.0.held.lock().elapsed() > self.0.lease {
            self.0.lost.store(true, Ordering::Relaxed);
        }
        if self.0.lost.load(Ordering::Relaxed) {
            return Err(TrainerError::LeaseLost);
        }
        if self.0.cancelled.load(Ordering::Relaxed) { Err(TrainerError::Cancelled) } else { Ok(()) }
    }

    /// Keeps the lease until it is lost.
    pub async fn beat(&self) {
        let pause = self.0.lease / u32::try_from(BEATS_PER_LEASE).unwrap_or(1);
        while !self.0.lost.load(Ordering::Relaxed) {
            tokio::time::sleep(pause).await;
            let progress = self.0.progress.lock().clone();
            let beat = Heartbeat { fence: self.0.fence, progress };
            let began = Instant::now();
            match self.0.client.heartbeat_job(self.0.job, &beat).await {
                Ok(held) => self.note(&held, began),
                Err(error) => self.fail(&error),
            }
        }
    }

    /// Sets the progress of the work; sent with the next heartbeat.
    pub fn set_progress(&self, progress: Progress) {
        *self.0.progress.lock() = Some(progress);
    }

    /// Tells of events, in order. They are written once, also where answers were lost.
    ///
    /// # Errors
    /// When the work has to stop, or the queue refuses them.
    pub fn report(&self, events: Vec<ReportedEvent>) -> Result<(), TrainerError> {
        let mut last = self.0.reports.lock();
        let report = Report { fence: self.0.fence, number: Some(*last + 1), events };
        self.repeat(|| async {
            let began = Instant::now();
            let held = self.0.client.report_job(self.0.job, &report).await?;
            self.note(&held, began);
            Ok(())
        })?;
        *last += 1;
        Ok(())
    }

    /// Tells of numbers at a step.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn metric(&self, step: u64, values: &BTreeMap<String, f64>) -> Result<(), TrainerError> {
        let data = json!({"step": step, "values": values});
        self.report(vec![ReportedEvent { kind: JobEventKind::Metric, data }])
    }

    /// Tells people something.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn log(&self, level: &str, message: impl Into<String>) -> Result<(), TrainerError> {
        let data = json!({"level": level, "message": message.into()});
        self.report(vec![ReportedEvent { kind: JobEventKind::Log, data }])
    }

    /// Keeps a file.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn upload(&self, name: &str, path: &Path) -> Result<Artifact, TrainerError> {
        self.repeat(|| self.0.client.upload_artifact_file(self.0.job, self.0.fence, name, path))
    }

    /// Drops a file that was kept.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn delete(&self, name: &str) -> Result<(), TrainerError> {
        self.repeat(|| async { dropped(self.0.client.delete_artifact(self.0.job, self.0.fence, name).await) })
    }

    /// Says that these kept files are a point to go on from.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn checkpoint(&self, step: u64, artifacts: &[String]) -> Result<(), TrainerError> {
        let data = json!({"step": step, "artifacts": artifacts});
        self.report(vec![ReportedEvent { kind: JobEventKind::Checkpoint, data }])
    }

    /// Registers a policy whose files are kept.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn register(
        &self,
        id: PolicyId,
        parent: Option<PolicyId>,
        architecture: &str,
        environments: Vec<String>,
        metrics: &BTreeMap<String, f64>,
        artifacts: Vec<String>,
    ) -> Result<Policy, TrainerError> {
        let metrics = metrics.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let architecture = architecture.to_owned();
        let request =
            RegisterPolicy { fence: self.0.fence, id, parent, architecture, environments, metrics, artifacts };
        self.repeat(|| self.0.client.register_policy(self.0.job, &request))
    }

    /// Hands answers of a served policy in and takes requests out.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn exchange(&self, exchange: &Exchange) -> Result<Exchanged, TrainerError> {
        self.repeat(|| async {
            let began = Instant::now();
            let exchanged = self.0.client.exchange(self.0.job, exchange).await?;
            self.note(&Held { expires_at: exchanged.expires_at, cancel: exchanged.cancel }, began);
            Ok(exchanged)
        })
    }

    /// Says how the attempt ended.
    ///
    /// # Errors
    /// As [`Self::report`]; a cancelled job can be finished.
    pub fn finish(&self, outcome: Outcome) -> Result<(), TrainerError> {
        let finish = Finish { fence: self.0.fence, outcome };
        self.repeat_even_if_cancelled(|| self.0.client.finish_job(self.0.job, &finish)).map(drop)
    }

    /// The fence of the lease.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.0.fence
    }

    /// Time for which the lease holds without a word from the server.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.0.lease
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.0.job
    }

    /// Notes an answer to a call that began then: the lease counts from there, since the server may have answered at once.
    pub fn note(&self, held: &Held, began: Instant) {
        *self.0.held.lock() = began;
        if held.cancel {
            self.0.cancelled.store(true, Ordering::Relaxed);
        }
    }

    fn fail(&self, error: &ClientError) {
        let gone = matches!(error.code(), Some(Code::LeaseLost | Code::NotFound));
        if gone {
            self.0.lost.store(true, Ordering::Relaxed);
        }
    }

    fn repeat<T, F: Future<Output = Result<T, ClientError>>>(&self, call: impl Fn() -> F) -> Result<T, TrainerError> {
        self.go_on()?;
        self.repeat_even_if_cancelled(call)
    }

    fn repeat_even_if_cancelled<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, TrainerError> {
        self.until_answered(call, |error| {
            self.fail(error);
            passes(error)
        })
    }

    /// Asks for something beside the queue, again while the server is away and the lease may still be held. A refusal says nothing
    /// about the lease.
    pub(crate) fn ask<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, TrainerError> {
        self.ask_while(call, passes)
    }

    /// As [`Self::ask`], where `again` decides what is asked again after an error.
    pub(crate) fn ask_while<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
        again: impl Fn(&ClientError) -> bool,
    ) -> Result<T, TrainerError> {
        self.go_on()?;
        self.until_answered(call, again)
    }

    fn until_answered<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
        again: impl Fn(&ClientError) -> bool,
    ) -> Result<T, TrainerError> {
        loop {
            let error = match self.0.runtime.block_on(call()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let repeats = again(&error);
            match self.go_on() {
                Err(TrainerError::LeaseLost) => return Err(TrainerError::LeaseLost),
                _ if repeats => {}
                _ => return Err(error.into()),
            }
            tracing::warn!(%error, "the server does not answer; trying again");
            std::thread::sleep(Duration::from_millis(PAUSE_MS));
        }
    }

    /// The events of numbers, for reports of several.
    #[must_use]
    pub fn metric_event(step: u64, values: &BTreeMap<String, f64>) -> ReportedEvent {
        ReportedEvent { kind: JobEventKind::Metric, data: json!({"step": step, "values": values}) }
    }

    /// The event of progress.
    #[must_use]
    pub fn progress_event(progress: &Progress) -> ReportedEvent {
        ReportedEvent { kind: JobEventKind::Progress, data: serde_json::to_value(progress).unwrap_or(Value::Null) }
    }
}

/// Takes a file that is not there as dropped: a call whose answer was lost may have dropped it.
fn dropped(deleted: Result<(), ClientError>) -> Result<(), ClientError> {
    match deleted {
        Err(error) if error.code() == Some(Code::NotFound) => Ok(()),
        deleted => deleted,
    }
}

/// True if the same call may succeed later.
pub(crate) fn passes(error: &ClientError) -> bool {
    match error {
        ClientError::Problem(problem) => matches!(problem.status, 429 | 500 | 502 | 503 | 504),
        ClientError::Unreachable(_) | ClientError::Interrupted | ClientError::GaveUp { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::Problem;

    use super::*;

    #[test]
    fn a_file_that_is_dropped_twice_is_gone() {
        let refused = |code| dropped(Err(ClientError::from(Problem::new(code, ".."))));
        assert!(dropped(Ok(())).is_ok() && refused(Code::NotFound).is_ok());
        assert_eq!(refused(Code::LeaseLost).unwrap_err().code(), Some(Code::LeaseLost));
        assert!(dropped(Err(ClientError::Unreachable("connection refused".to_owned()))).is_err());
    }
}

//! Reports of an attempt under its lease, from threads that may block. Every call fails once the work has to stop.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use palestra_client::{Client, ClientError, HeldLease, LeaseError};
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, CheckpointPolicy, JobEventKind, Policy, Progress};
use palestra_protocol::worker::{Exchanged, Lease, Outcome, RegisterPolicy, ReportedEvent, ServedAnswer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::failure::TrainerError;

/// Reports on an attempt to the queue. Cheap to clone.
#[derive(Clone)]
pub struct Reporter {
    lease: HeldLease,
    runtime: Handle,
    /// Progress that the next heartbeat tells; none before the first.
    progress: Arc<Mutex<Option<Progress>>>,
    /// Held while something is told, so that no heartbeat with older progress comes behind a report.
    telling: Arc<tokio::sync::Mutex<()>>,
}

impl Reporter {
    /// A reporter of a lease, which was given just now and is kept from here on until it is lost. `client` holds the worker's key;
    /// `beaten` is called after each heartbeat that the queue took.
    #[must_use]
    pub fn new(client: Client, lease: &Lease, runtime: Handle, beaten: impl Fn() + Send + 'static) -> Self {
        let lease = HeldLease::new(client, lease);
        let progress = Arc::new(Mutex::new(None));
        let telling = Arc::new(tokio::sync::Mutex::new(()));
        let (kept, told, turn) = (lease.clone(), Arc::clone(&progress), Arc::clone(&telling));
        runtime.spawn(async move {
            while !kept.is_lost() {
                kept.pause().await;
                let _turn = turn.lock().await;
                let progress = told.lock().clone();
                match kept.beat(progress).await {
                    Ok(_) => beaten(),
                    Err(error) => tracing::warn!(%error, "a heartbeat was not taken"),
                }
            }
        });
        Self { lease, runtime, progress, telling }
    }

    /// Fails when the work has to stop: the job was cancelled or the lease is lost.
    ///
    /// # Errors
    /// [`TrainerError::Cancelled`] or [`TrainerError::LeaseLost`].
    pub fn go_on(&self) -> Result<(), TrainerError> {
        if self.lease.is_lost() {
            return Err(TrainerError::LeaseLost);
        }
        if self.lease.is_cancelled() { Err(TrainerError::Cancelled) } else { Ok(()) }
    }

    fn wait<T>(&self, call: impl Future<Output = Result<T, LeaseError>>) -> Result<T, TrainerError> {
        self.go_on()?;
        Ok(self.runtime.block_on(call)?)
    }

    /// Reports events, in order. They are written once, also where answers were lost.
    ///
    /// # Errors
    /// When the work has to stop, or the queue refuses them.
    pub fn report(&self, events: Vec<ReportedEvent>) -> Result<(), TrainerError> {
        self.wait(async {
            let _turn = self.telling.lock().await;
            self.lease.report(events).await
        })
    }

    /// Sets the progress that heartbeats tell.
    pub fn set_progress(&self, progress: Progress) {
        *self.progress.lock() = Some(progress);
    }

    /// Says what is being done within the present step; the next heartbeat tells it.
    pub fn announce(&self, message: String) {
        if let Some(progress) = self.progress.lock().as_mut() {
            progress.message = Some(message);
        }
    }

    /// Writes a line for people.
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
        self.wait(self.lease.upload_file(name, path))
    }

    /// Drops a file that was kept.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn delete(&self, name: &str) -> Result<(), TrainerError> {
        self.wait(self.lease.delete(name))
    }

    /// Declares kept files a point to go on from, and those among them that `policy` names a policy.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn checkpoint(&self, step: u64, artifacts: &[String], policy: &CheckpointPolicy) -> Result<(), TrainerError> {
        let data = json!({"step": step, "artifacts": artifacts, "policy": policy});
        self.report(vec![ReportedEvent { kind: JobEventKind::Checkpoint, data }])
    }

    /// Registers a policy whose files are kept.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn register(&self, id: PolicyId, described: CheckpointPolicy) -> Result<Policy, TrainerError> {
        let CheckpointPolicy { parent, architecture, environments, metrics, artifacts } = described;
        let fence = self.lease.fence();
        let policy = RegisterPolicy { fence, id, parent, architecture, environments, metrics, artifacts };
        self.wait(self.lease.register(&policy))
    }

    /// Hands answers of a served policy in and takes requests out.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn exchange(&self, answers: Vec<ServedAnswer>, take: u32, wait_ms: u64) -> Result<Exchanged, TrainerError> {
        self.wait(self.lease.exchange(answers, take, wait_ms))
    }

    /// Ends the attempt.
    ///
    /// # Errors
    /// As [`Self::report`]; a cancelled job can be finished.
    pub fn finish(&self, outcome: Outcome) -> Result<(), TrainerError> {
        Ok(self.runtime.block_on(self.lease.finish(outcome))?)
    }

    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> &HeldLease {
        &self.lease
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.lease.job()
    }

    /// Asks for something beside the queue, again while the server is away and the lease may still be held. A refusal says nothing
    /// about the lease.
    pub(crate) fn ask<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, TrainerError> {
        self.wait(self.lease.ask(call))
    }

    /// As [`Self::ask`], where `again` decides what is asked again after an error.
    pub(crate) fn ask_while<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
        again: impl Fn(&ClientError) -> bool,
    ) -> Result<T, TrainerError> {
        self.wait(self.lease.ask_while(call, again))
    }

    /// The event of numbers at a step.
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

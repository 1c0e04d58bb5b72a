//! What a job works with: the job's own credential, a place for its files, and ears for how it goes.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use palestra_client::{Client, ClientError};
use palestra_protocol::id::{JobId, RunId};
use palestra_protocol::job::{Artifact, JobEventKind, Progress};
use palestra_protocol::spec::play::{PolicyFrom, Sampling};
use palestra_protocol::worker::{Lease, Report, ReportedEvent};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::Worker;
use super::failure::WorkError;
use super::lines::Lines;
use crate::play::endpoint::Hosts;
use crate::play::policy::{PolicyContext, ReadyPolicy};

/// Events that wait until they are reported; beyond it the oldest are dropped, and counted.
const EVENTS_MAX: usize = 1_024;
/// Lines for people that an attempt writes.
const LOG_LINES_MAX: u64 = 200;
/// Bytes of such a line.
const LOG_BYTES_MAX: usize = 2_000;
/// How often numbers are reported, in milliseconds.
const METRIC_MS: u64 = 2_000;
/// How long ending what the job began may take, in milliseconds.
const CLOSE_MS_MAX: u64 = 10_000;

/// What a job works with.
pub(super) struct Context {
    /// The worker's own client, for the lease.
    pub(super) queue: Client,
    /// A client with the job's credential, for everything of its tenant.
    pub(super) client: Client,
    /// The job.
    pub(super) job: JobId,
    /// The lease.
    pub(super) fence: u64,
    /// How long the lease lasts without a heartbeat, in milliseconds.
    pub(super) lease_ms: u64,
    /// The owner of the job's sessions.
    pub(super) run: RunId,
    /// The owners of the sessions of former attempts, oldest first.
    pub(super) former_runs: Vec<RunId>,
    hosts: Hosts,
    policy_key: Option<String>,
    folder: TempDir,
    heard: Mutex<Heard>,
    policies: Mutex<Vec<ReadyPolicy>>,
}

/// How it goes.
struct Heard {
    events: VecDeque<ReportedEvent>,
    dropped: u64,
    /// Reports that were begun.
    reports: u64,
    /// The last of them, until it is answered.
    unanswered: Option<Report>,
    lines: u64,
    progress: Progress,
    /// How much former attempts did, as people saw it.
    shown: u64,
    /// How much of `progress` former attempts did.
    found: u64,
    began: Instant,
    measured: Option<Instant>,
    scored: u64,
    score_sum: f64,
}

impl Context {
    /// For a lease.
    ///
    /// # Errors
    /// When there is no place for files, or the credential cannot be sent.
    pub(super) fn new(worker: &Worker, lease: &Lease) -> Result<Self, WorkError> {
        let client = Client::new(worker.client.url().as_str(), Some(&lease.token))?;
        let progress = Progress { done: 0, total: 0, unit: "episodes".to_owned(), message: None, remaining_ms: None };
        Ok(Self {
            queue: worker.client.clone(),
            client,
            job: lease.job.id,
            fence: lease.fence,
            lease_ms: lease.lease_ms,
            run: lease.run,
            former_runs: lease.former_runs.clone(),
            hosts: worker.hosts(),
            policy_key: worker.options.policy_key.clone(),
            folder: tempfile::tempdir()?,
            heard: Mutex::new(Heard {
                events: VecDeque::new(),
                dropped: 0,
                reports: 0,
                unanswered: None,
                lines: 0,
                progress,
                shown: lease.job.progress.as_ref().map_or(0, |progress| progress.done),
                found: 0,
                began: Instant::now(),
                measured: None,
                scored: 0,
                score_sum: 0.0,
            }),
            policies: Mutex::new(Vec::new()),
        })
    }

    /// Says that there are `more` things to do.
    pub(super) fn expect(&self, more: u64) {
        self.heard.lock().progress.total += more;
    }

    /// Says that former attempts did `done` things of those that are expected, so that nobody is told of fewer.
    pub(super) fn resume(&self, done: u64) {
        let mut heard = self.heard.lock();
        heard.shown = heard.shown.max(done);
    }

    /// Says that the next thing that is counted was done by a former attempt: the pace of this one does not follow from it.
    pub(super) fn found(&self) {
        self.heard.lock().found += 1;
    }

    /// Says what is being done.
    pub(super) fn announce(&self, message: impl Into<String>) {
        self.heard.lock().progress.message = Some(message.into());
    }

    /// Says that one thing more is done, with its score where it has one.
    pub(super) fn count(&self, score: Option<f64>) {
        let mut heard = self.heard.lock();
        heard.progress.done += 1;
        heard.progress.total = heard.progress.total.max(heard.progress.done);
        if let Some(score) = score {
            heard.scored += 1;
            heard.score_sum += score;
        }
        let due = heard.measured.is_none_or(|last| last.elapsed() >= Duration::from_millis(METRIC_MS));
        if due || heard.progress.done == heard.progress.total {
            heard.measured = Some(Instant::now());
            let event = heard.metric();
            heard.push(event);
        }
    }

    /// Writes a line for people; after [`LOG_LINES_MAX`] they are only counted by what the result says.
    pub(super) fn log(&self, level: &str, message: impl Into<String>) {
        let mut heard = self.heard.lock();
        heard.lines += 1;
        let message = match heard.lines {
            ..LOG_LINES_MAX => shorten(message.into()),
            LOG_LINES_MAX => "further lines are left out".to_owned(),
            _ => return,
        };
        heard.push(ReportedEvent { kind: JobEventKind::Log, data: json!({"level": level, "message": message}) });
    }

    /// The report that was not answered yet, as it was sent, or else one of what happened since, with at most `count` events; none
    /// where nothing happened.
    pub(super) fn next_report(&self, count: usize) -> Option<Report> {
        let mut heard = self.heard.lock();
        if heard.unanswered.is_none() {
            let events = heard.take(count);
            if !events.is_empty() {
                heard.reports += 1;
                heard.unanswered = Some(Report { fence: self.fence, number: Some(heard.reports), events });
            }
        }
        heard.unanswered.clone()
    }

    /// Says that the last report was answered.
    pub(super) fn answered(&self) {
        self.heard.lock().unanswered = None;
    }

    /// How far it is, with the time that the rest takes at the pace so far.
    pub(super) fn progress(&self) -> Option<Progress> {
        let heard = self.heard.lock();
        if heard.progress.total == 0 {
            return None;
        }
        let (done, remaining_ms) = (heard.shown(), heard.remaining_ms());
        Some(Progress { done, remaining_ms, ..heard.progress.clone() })
    }

    /// A policy that is ready to play; it ends with the job.
    ///
    /// # Errors
    /// When it cannot be played here.
    pub(super) async fn policy(&self, from: &PolicyFrom, sampling: &Sampling) -> Result<ReadyPolicy, WorkError> {
        let context = PolicyContext {
            client: self.client.clone(),
            owner: self.run.uuid(),
            sampling: sampling.clone(),
            hosts: self.hosts.clone(),
            key: self.policy_key.clone(),
        };
        let policy = ReadyPolicy::new(from, &context).await?;
        self.policies.lock().push(policy.clone());
        Ok(policy)
    }

    /// Where a file of the job lies until it is uploaded.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new file of JSON Lines.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) async fn lines(&self, name: &str) -> Result<Lines, WorkError> {
        Ok(Lines::create(&self.path(name), name).await?)
    }

    /// Keeps a finished file as an artefact.
    ///
    /// # Errors
    /// When the lease is lost or there is no room.
    pub(super) async fn keep(&self, lines: Lines) -> Result<Artifact, WorkError> {
        let name = lines.finish().await?;
        Ok(self.queue.upload_artifact_file(self.job, self.fence, &name, &self.path(&name)).await?)
    }

    /// Keeps a document as an artefact.
    ///
    /// # Errors
    /// When the lease is lost or there is no room.
    pub(super) async fn keep_document(&self, name: &str, document: &impl Serialize) -> Result<Artifact, WorkError> {
        let bytes = serde_json::to_vec_pretty(document)?;
        Ok(self.queue.upload_artifact(self.job, self.fence, name, bytes).await?)
    }

    /// Ends what the job began on the server: jobs that serve its policies, and its sessions. Where that fails, they end by
    /// themselves.
    pub(super) async fn close(&self) {
        let policies = std::mem::take(&mut *self.policies.lock());
        let closing = async {
            for policy in &policies {
                policy.end().await;
            }
            self.client.delete_run(self.run).await
        };
        let closed = tokio::time::timeout(Duration::from_millis(CLOSE_MS_MAX), closing).await;
        if let Ok(Err(error @ (ClientError::Unreachable(_) | ClientError::Unexpected { .. }))) = closed {
            tracing::warn!(job = %self.job, %error, "the sessions of a job could not be closed");
        }
    }
}

impl Heard {
    fn take(&mut self, count: usize) -> Vec<ReportedEvent> {
        if self.dropped > 0 {
            let message = format!("{} events were dropped while the server did not take them", self.dropped);
            self.dropped = 0;
            let data = json!({"level": "warn", "message": message});
            self.events.push_front(ReportedEvent { kind: JobEventKind::Log, data });
        }
        let count = count.min(self.events.len());
        self.events.drain(..count).collect()
    }

    fn push(&mut self, event: ReportedEvent) {
        self.events.push_back(event);
        if self.events.len() > EVENTS_MAX {
            self.events.pop_front();
            self.dropped += 1;
        }
    }

    /// How much is done as people are told. What a former attempt did without a score is done again, and is not taken back until then.
    fn shown(&self) -> u64 {
        self.progress.done.max(self.shown).min(self.progress.total)
    }

    /// How much this attempt did by itself.
    const fn own(&self) -> u64 {
        self.progress.done.saturating_sub(self.found)
    }

    #[expect(clippy::cast_precision_loss, reason = "at most ten million episodes")]
    fn metric(&self) -> ReportedEvent {
        let seconds = self.began.elapsed().as_secs_f64().max(1e-3);
        let mut values = Map::new();
        values.insert("per_second".to_owned(), json!(self.own() as f64 / seconds));
        if self.scored > 0 {
            values.insert("score_mean".to_owned(), json!(self.score_sum / self.scored as f64));
            values.insert("scored".to_owned(), json!(self.scored));
        }
        ReportedEvent {
            kind: JobEventKind::Metric,
            data: json!({"step": self.shown(), "values": Value::Object(values)}),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    fn remaining_ms(&self) -> Option<u64> {
        let (own, left) = (self.own(), self.progress.total.saturating_sub(self.progress.done));
        let elapsed = self.began.elapsed().as_secs_f64() * 1e3;
        (own > 0).then(|| (elapsed / own as f64 * left as f64) as u64)
    }
}

fn shorten(mut text: String) -> String {
    if text.len() > LOG_BYTES_MAX {
        text.truncate(text.floor_char_boundary(LOG_BYTES_MAX));
        text.push('…');
    }
    text
}

//! The context of an attempt at a job: its credential, its folder, its policies, and its log of progress.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use palestra_client::{Client, ClientError, HeldLease};
use palestra_protocol::id::RunId;
use palestra_protocol::job::{Artifact, JobEventKind, Progress};
use palestra_protocol::run::RunPlan;
use palestra_protocol::spec::play::{PolicyFrom, Sampling};
use palestra_protocol::worker::{Lease, ReportedEvent};
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
/// Shortest time between two reports of numbers, in milliseconds.
const METRIC_MS: u64 = 2_000;
/// Time limit of closing sessions and `serve` jobs, in milliseconds.
const CLOSE_MS_MAX: u64 = 10_000;

/// The context of an attempt at a job.
pub(super) struct Context {
    /// The lease, held with the worker's own key.
    pub(super) lease: HeldLease,
    /// A client with the job's credential, for everything of its tenant.
    pub(super) client: Client,
    /// The owner of the job's sessions.
    pub(super) run: RunId,
    /// The owners of the sessions of earlier attempts, oldest first.
    pub(super) earlier_runs: Vec<RunId>,
    hosts: Hosts,
    policy_key: Option<String>,
    answer_timeout: Duration,
    folder: TempDir,
    log: Mutex<ProgressLog>,
    policies: Mutex<Vec<ReadyPolicy>>,
}

/// Progress and events of an attempt.
struct ProgressLog {
    events: VecDeque<ReportedEvent>,
    dropped: u64,
    lines: u64,
    progress: Progress,
    /// Progress of earlier attempts, as it was shown.
    shown: u64,
    /// The part of `progress` that earlier attempts did.
    earlier: u64,
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
    pub(super) fn new(worker: &Worker, lease: &Lease, held: HeldLease) -> Result<Self, WorkError> {
        let client = Client::new(worker.client.url().as_str(), Some(&lease.token))?;
        let progress = Progress { done: 0, total: 0, unit: "episodes".to_owned(), message: None, remaining_ms: None };
        Ok(Self {
            lease: held,
            client,
            run: lease.run,
            earlier_runs: lease.former_runs.clone(),
            hosts: worker.hosts(),
            policy_key: worker.options.policy_key.clone(),
            answer_timeout: worker.options.answer_timeout,
            folder: tempfile::tempdir()?,
            log: Mutex::new(ProgressLog {
                events: VecDeque::new(),
                dropped: 0,
                lines: 0,
                progress,
                shown: lease.job.progress.as_ref().map_or(0, |progress| progress.done),
                earlier: 0,
                began: Instant::now(),
                measured: None,
                scored: 0,
                score_sum: 0.0,
            }),
            policies: Mutex::new(Vec::new()),
        })
    }

    /// Records what the run of this attempt plays.
    pub(super) async fn plan(&self, plan: RunPlan) -> Result<(), WorkError> {
        self.client.plan_run(self.run, &plan).await?;
        Ok(())
    }

    /// Notes that there are `more` things to do.
    pub(super) fn expect(&self, more: u64) {
        self.log.lock().progress.total += more;
    }

    /// Notes that earlier attempts did `done` of the things that are expected, so that the progress does not go back.
    pub(super) fn resume(&self, done: u64) {
        let mut log = self.log.lock();
        log.shown = log.shown.max(done);
    }

    /// Notes that an earlier attempt did the next thing that is counted: the pace of this one does not follow from it.
    pub(super) fn count_earlier(&self) {
        self.log.lock().earlier += 1;
    }

    /// Notes the work that is being done.
    pub(super) fn announce(&self, message: impl Into<String>) {
        self.log.lock().progress.message = Some(message.into());
    }

    /// Notes that one thing more is done, with its score where it has one.
    pub(super) fn count(&self, score: Option<f64>) {
        let mut log = self.log.lock();
        log.progress.done += 1;
        log.progress.total = log.progress.total.max(log.progress.done);
        if let Some(score) = score {
            log.scored += 1;
            log.score_sum += score;
        }
        let due = log.measured.is_none_or(|last| last.elapsed() >= Duration::from_millis(METRIC_MS));
        if due || log.progress.done == log.progress.total {
            log.measured = Some(Instant::now());
            let event = log.metric();
            log.push(event);
        }
    }

    /// Writes a line for people; after [`LOG_LINES_MAX`] they are only counted by what the result says.
    pub(super) fn log(&self, level: &str, message: impl Into<String>) {
        let mut log = self.log.lock();
        log.lines += 1;
        let message = match log.lines {
            ..LOG_LINES_MAX => shorten(message.into()),
            LOG_LINES_MAX => "further lines are left out".to_owned(),
            _ => return,
        };
        log.push(ReportedEvent { kind: JobEventKind::Log, data: json!({"level": level, "message": message}) });
    }

    /// Takes the events since the last call, oldest first.
    pub(super) fn take_events(&self) -> Vec<ReportedEvent> {
        let mut log = self.log.lock();
        let dropped = std::mem::take(&mut log.dropped);
        let message = format!("{dropped} events were dropped while the server did not take them");
        let data = json!({"level": "warn", "message": message});
        let warning = (dropped > 0).then_some(ReportedEvent { kind: JobEventKind::Log, data });
        warning.into_iter().chain(log.events.drain(..)).collect()
    }

    /// The progress, with the time that the rest takes at the pace so far.
    pub(super) fn progress(&self) -> Option<Progress> {
        let log = self.log.lock();
        if log.progress.total == 0 {
            return None;
        }
        let (done, remaining_ms) = (log.shown(), log.remaining_ms());
        let waiting = self.policies.lock().iter().find_map(ReadyPolicy::waiting).map(shorten);
        Some(match waiting {
            // Nothing says for how long.
            Some(message) => Progress { done, remaining_ms: None, message: Some(message), ..log.progress.clone() },
            None => Progress { done, remaining_ms, ..log.progress.clone() },
        })
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
            answer_timeout: self.answer_timeout,
        };
        let policy = ReadyPolicy::new(from, &context).await?;
        self.policies.lock().push(policy.clone());
        Ok(policy)
    }

    /// The path of a file of the job until it is uploaded.
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
        Ok(self.lease.upload_file(&name, &self.path(&name)).await?)
    }

    /// Keeps a document as an artefact.
    ///
    /// # Errors
    /// When the lease is lost or there is no room.
    pub(super) async fn keep_document(&self, name: &str, document: &impl Serialize) -> Result<Artifact, WorkError> {
        let bytes = serde_json::to_vec_pretty(document)?;
        Ok(self.lease.upload(name, &bytes).await?)
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
            tracing::warn!(job = %self.lease.job(), %error, "the sessions of a job could not be closed");
        }
    }
}

impl ProgressLog {
    fn push(&mut self, event: ReportedEvent) {
        self.events.push_back(event);
        if self.events.len() > EVENTS_MAX {
            self.events.pop_front();
            self.dropped += 1;
        }
    }

    /// The progress as it is shown. Episodes of earlier attempts without a score are played again, and are not taken back until then.
    fn shown(&self) -> u64 {
        self.progress.done.max(self.shown).min(self.progress.total)
    }

    /// The part of the progress that this attempt did.
    const fn own(&self) -> u64 {
        self.progress.done.saturating_sub(self.earlier)
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

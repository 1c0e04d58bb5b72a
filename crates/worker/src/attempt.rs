//! One attempt at a job: the work beside the heartbeat that keeps its lease, and how it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_client::ClientError;
use palestra_protocol::job::Job;
use palestra_protocol::problem::Code;
use palestra_protocol::spec::Spec;
use palestra_protocol::worker::{Finish, Heartbeat, Held, Lease, Outcome};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};

use super::Worker;
use super::context::Context;
use super::failure::WorkError;
use crate::play::ownership;

/// Heartbeats in the time that a lease lasts without one.
const BEATS_PER_LEASE: u64 = 3;
/// Longest wait between two heartbeats, in milliseconds: people watch the progress that comes with them.
const BEAT_MS_MAX: u64 = 2_000;
/// Shortest such wait, in milliseconds.
const BEAT_MS_MIN: u64 = 50;
/// Events of one report.
const EVENTS_PER_REPORT: usize = 256;
/// Wait between two tries to end a lease, in milliseconds.
const FINISH_WAIT_MS: u64 = 500;

/// Why the work stopped before it was done.
enum Stopped {
    /// Another worker may have the job: nothing is to be written any more.
    Lost,
    /// The job was cancelled.
    Cancelled,
    /// This worker ends.
    Released,
}

/// Does the job of a lease and says how it ended. Whatever happens here ends this attempt and nothing else.
pub(super) async fn perform(worker: &Worker, lease: Lease) {
    let (job, kind, fence, lease_ms) = (lease.job.id, lease.job.kind.as_str(), lease.fence, lease.lease_ms);
    tracing::info!(%job, kind, attempt = lease.job.attempts, "a job begins");
    let outcome = match Context::new(worker, &lease) {
        Ok(context) => work_on(worker, Arc::new(context), lease.job).await,
        Err(error) => Some(error.outcome()),
    };
    let Some(outcome) = outcome else {
        tracing::warn!(%job, kind, "the lease of a job was lost");
        return;
    };
    let ended = match &outcome {
        Outcome::Succeeded { .. } => "succeeded".to_owned(),
        Outcome::Failed { error, .. } => format!("failed: {}", error.detail),
        Outcome::Cancelled => "cancelled".to_owned(),
        Outcome::Released => "released".to_owned(),
    };
    tracing::info!(%job, kind, ended, "a job ends");
    let finish = Finish { fence, outcome };
    let began = Instant::now();
    while let Err(error) = worker.client.finish_job(job, &finish).await {
        let refused = matches!(&error, ClientError::Problem(problem) if problem.status < 500 && problem.status != 429);
        if refused || began.elapsed() > Duration::from_millis(lease_ms) {
            tracing::warn!(%job, kind, %error, "the end of a job was not taken");
            return;
        }
        tokio::time::sleep(Duration::from_millis(FINISH_WAIT_MS)).await;
    }
}

/// How the attempt ends; `None` where the lease is lost.
async fn work_on(worker: &Worker, context: Arc<Context>, job: Job) -> Option<Outcome> {
    let mut work = JoinSet::new();
    let own = Arc::clone(&context);
    work.spawn(async move { owned(&own, &job).await });
    let ended = tokio::select! {
        Some(ended) = work.join_next() => Ok(ended),
        stopped = keep(&context) => Err(stopped),
        () = worker.stop.cancelled() => Err(Stopped::Released),
    };
    // Ends the work where it waits; what it holds is dropped.
    work.shutdown().await;
    context.close().await;
    if matches!(ended, Err(Stopped::Lost)) || tell(&context).await.is_err_and(|error| is_lost(&error)) {
        return None;
    }
    Some(match ended {
        Ok(Ok(Ok(result))) => Outcome::Succeeded { result },
        Ok(Ok(Err(error))) => error.outcome(),
        Ok(Err(error)) => WorkError::internal(panicked(error)).outcome(),
        Err(Stopped::Cancelled) => Outcome::Cancelled,
        Err(Stopped::Released | Stopped::Lost) => Outcome::Released,
    })
}

fn panicked(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("the worker panicked: {}", panic_message::panic_message(&panic)),
        Err(error) => error.to_string(),
    }
}

/// Does the job under a run that owns its sessions.
async fn owned(context: &Context, job: &Job) -> Result<Value, WorkError> {
    let spec = Spec::read(job.kind, &job.spec).map_err(|faults| {
        let faults: Vec<String> = faults
            .into_iter()
            .map(|fault| format!("{}: {}", fault.field.as_deref().unwrap_or("spec"), fault.detail))
            .collect();
        WorkError::bad_spec(faults.join("; "))
    })?;
    ownership::begin(&context.client, Some(context.run), context.lease_ms).await?;
    tokio::select! {
        done = run(context, &spec) => done,
        lost = ownership::keep(&context.client, context.run, context.lease_ms) => Err(lost.into()),
    }
}

async fn run(context: &Context, spec: &Spec) -> Result<Value, WorkError> {
    match spec {
        Spec::Evaluate(evaluate) => Box::pin(super::evaluate::run(evaluate, context)).await,
        Spec::Collect(collect) => Box::pin(super::collect::run(collect, context)).await,
        Spec::Rescore(rescore) => Box::pin(super::rescore::run(rescore, context)).await,
        Spec::Check(check) => Box::pin(super::check::run(check, context)).await,
        Spec::Train(_) | Spec::Serve(_) => {
            Err(WorkError::bad_spec("this worker trains and serves nothing: start one with `palestra-trainer work`"))
        }
    }
}

/// Keeps the lease until it is lost or the job is cancelled.
async fn keep(context: &Context) -> Stopped {
    let wait = (context.lease_ms / BEATS_PER_LEASE).clamp(BEAT_MS_MIN, BEAT_MS_MAX);
    let mut kept = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let asked = Instant::now();
        let beat = Heartbeat { fence: context.fence, progress: context.progress() };
        let told = match tell(context).await {
            Ok(()) => context.queue.heartbeat_job(context.job, &beat).await,
            Err(error) => Err(error),
        };
        match told {
            Ok(Held { cancel: true, .. }) => return Stopped::Cancelled,
            Ok(_) => kept = asked,
            Err(error) if is_lost(&error) => return Stopped::Lost,
            // By the server's clock the lease is over by now, and another worker may have the job.
            Err(_) if kept.elapsed() > Duration::from_millis(context.lease_ms) => return Stopped::Lost,
            Err(error) => tracing::warn!(job = %context.job, %error, "a heartbeat was not taken"),
        }
    }
}

/// Reports what happened since the last time.
async fn tell(context: &Context) -> Result<(), ClientError> {
    while let Some(report) = context.next_report(EVENTS_PER_REPORT) {
        match context.queue.report_job(context.job, &report).await {
            Ok(_) => {}
            Err(error @ ClientError::Problem(_)) if error.code() == Some(Code::Invalid) => {
                tracing::warn!(job = %context.job, %error, "events of a job were refused");
            }
            Err(error) => return Err(error),
        }
        context.answered();
    }
    Ok(())
}

fn is_lost(error: &ClientError) -> bool {
    matches!(error.code(), Some(Code::LeaseLost | Code::NotFound | Code::Unauthorized | Code::Forbidden))
}

//! One attempt at a job: the work beside the heartbeats that keep its lease, and its end.

use std::sync::Arc;

use palestra_client::{HeldLease, LeaseError};
use palestra_protocol::job::Job;
use palestra_protocol::problem::Code;
use palestra_protocol::worker::{Lease, Outcome};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};

use super::context::Context;
use super::failure::WorkError;
use super::{Worker, kinds};
use crate::play::ownership;

/// Does the job of a lease and reports its end. A failure here ends this attempt and nothing else.
pub(super) async fn perform(worker: &Worker, lease: Lease) {
    let (job, kind, attempt) = (lease.job.id, lease.job.kind.as_str(), lease.job.attempts);
    tracing::info!(%job, kind, attempt, "a job begins");
    let held = HeldLease::new(worker.client.clone(), &lease);
    let outcome = match Context::new(worker, &lease, held.clone()) {
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
    if let Err(error) = held.finish(outcome).await {
        tracing::warn!(%job, kind, %error, "the end of a job was not taken");
    }
}

/// Works until the job is done, cancelled, or to be handed back. `None` where the lease is lost.
async fn work_on(worker: &Worker, context: Arc<Context>, job: Job) -> Option<Outcome> {
    let mut work = JoinSet::new();
    let own = Arc::clone(&context);
    work.spawn(async move { owned(&own, &job).await });
    let outcome = tokio::select! {
        Some(ended) = work.join_next() => Some(match ended {
            Ok(Ok(result)) => Outcome::Succeeded { result },
            Ok(Err(error)) => error.outcome(),
            Err(error) => WorkError::internal(panic_text(error)).outcome(),
        }),
        stopped = keep(&context) => stopped,
        () = worker.stop.cancelled() => Some(Outcome::Released),
    };
    // Ends the work where it waits; what it holds is dropped.
    work.shutdown().await;
    context.close().await;
    let outcome = outcome?;
    // Events and progress since the last heartbeat, so that a job that succeeded shows all of its work as done.
    let reported = report(&context).await;
    (!matches!(reported, Err(LeaseError::Lost))).then_some(outcome)
}

fn panic_text(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("the worker panicked: {}", panic_message::panic_message(&panic)),
        Err(error) => error.to_string(),
    }
}

/// Does the job under a run that owns its sessions.
async fn owned(context: &Context, job: &Job) -> Result<Value, WorkError> {
    let spec = job.read_spec().map_err(WorkError::bad_spec)?;
    let lease_ms = u64::try_from(context.lease.duration().as_millis()).unwrap_or(u64::MAX);
    ownership::begin(&context.client, Some(context.run), lease_ms).await?;
    tokio::select! {
        done = kinds::run(spec, context) => done,
        lost = ownership::keep(&context.client, context.run, lease_ms) => Err(lost.into()),
    }
}

/// Keeps the lease until the job is cancelled, or until it is lost: `None`.
async fn keep(context: &Context) -> Option<Outcome> {
    loop {
        context.lease.pause().await;
        match report(context).await {
            Err(LeaseError::Lost) => return None,
            Err(error) => tracing::warn!(job = %context.lease.job(), %error, "a heartbeat was refused"),
            Ok(()) => {}
        }
        if context.lease.is_cancelled() {
            return Some(Outcome::Cancelled);
        }
    }
}

/// Reports the events since the last time and the progress.
async fn report(context: &Context) -> Result<(), LeaseError> {
    let mut events = context.take_events();
    while let Err(error) = context.lease.report(std::mem::take(&mut events)).await {
        match error {
            LeaseError::Client(refused) if refused.code() == Some(Code::Invalid) => {
                tracing::warn!(job = %context.lease.job(), error = %refused, "events of a job were refused");
            }
            error => return Err(error),
        }
    }
    context.lease.beat(context.progress()).await
}

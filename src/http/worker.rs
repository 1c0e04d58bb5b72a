//! `/v1/worker`: what workers say to the queue. Everything that they write names the fence of their lease.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, Job, Policy};
use palestra_protocol::problem::{Code, Problem};
use palestra_protocol::worker::{
    Exchange, Exchanged, Finish, Heartbeat, Held, Lease, LeaseRequest, RegisterPolicy, Report,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::Worker;
use super::extract::{FileName, Id, Json, Query};
use super::files::{Incoming, announced_digest};
use super::problem::Failure;
use crate::app::App;
use palestra_jobs::JobsError;

/// Ask for a job.
///
/// Waits up to `wait_ms` for one. The answer's token plays sessions of the job's tenant, and ends with the lease. A worker whose key
/// is of the tenant `default` serves every tenant; others serve their own.
#[utoipa::path(post, path = "/v1/worker/lease", tag = "worker",
    request_body(content = LeaseRequest, example = json!({"worker": "gpu-3", "kinds": ["train", "serve"], "device": "gpu",
        "memory_bytes": 80_000_000_000_u64, "wait_ms": 20_000})),
    responses((status = 200, description = "A job to do.", body = Lease),
              (status = 204, description = "There is none now.")))]
pub(super) async fn lease_job(
    State(app): State<App>,
    Worker(scope): Worker,
    Json(request): Json<LeaseRequest>,
) -> Result<Response, Failure> {
    // A server that stops gives no more work away, and does not wait for work either.
    let shutdown = app.shutdown().clone();
    let leased = tokio::select! {
        biased;
        () = shutdown.cancelled() => None,
        leased = app.jobs().lease(&scope, request) => leased?,
    };
    Ok(match leased {
        Some(lease) => Body(lease).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Keep a lease. Send it three times in `lease_ms`.
#[utoipa::path(post, path = "/v1/worker/jobs/{id}/heartbeat", tag = "worker", params(("id" = JobId, Path)),
    request_body(content = Heartbeat, example = json!({"fence": 1, "progress": {"done": 3, "total": 10, "unit": "steps"}})),
    responses((status = 200, description = "The lease is kept.", body = Held),
              (status = 409, description = "The lease is not held any more.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn keep_lease(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    Json(beat): Json<Heartbeat>,
) -> Result<Body<Held>, Failure> {
    Ok(Body(app.jobs().heartbeat(&scope, job, beat).await?))
}

/// Report what happened. Keeps the lease as well.
///
/// With a `number` that grows, a report whose answer was lost can be sent again: it is written once.
/// A job has at most 1,000,000 events: numbers, lines and progress beyond are taken, but not written down; checkpoints are.
#[utoipa::path(post, path = "/v1/worker/jobs/{id}/events", tag = "worker", params(("id" = JobId, Path)),
    request_body(content = Report, example = json!({"fence": 1, "number": 1, "events": [
        {"kind": "metric", "data": {"step": 3, "values": {"reward_mean": 0.4}}},
        {"kind": "log", "data": {"level": "info", "message": "warming up"}}]})),
    responses((status = 200, description = "The events are kept.", body = Held),
              (status = 409, description = "The lease is not held any more.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn report_events(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    Json(report): Json<Report>,
) -> Result<Body<Held>, Failure> {
    Ok(Body(app.jobs().report(&scope, job, report).await?))
}

/// End a lease. The same end again gets the same answer.
#[utoipa::path(post, path = "/v1/worker/jobs/{id}/finish", tag = "worker", params(("id" = JobId, Path)),
    request_body(content = Finish, examples(
        ("succeeded" = (value = json!({"fence": 1, "outcome": {"is": "succeeded", "result": {"mean": 0.5}}}))),
        ("failed" = (value = json!({"fence": 1, "outcome": {"is": "failed", "retry": true,
            "error": {"code": "out_of_memory", "detail": "8 GB were asked for, 6 GB are there"}}}))))),
    responses((status = 200, description = "The job.", body = Job),
              (status = 409, description = "The lease is not held any more.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn finish_job(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    Json(finish): Json<Finish>,
) -> Result<Body<Job>, Failure> {
    Ok(Body(app.jobs().finish(&scope, job, finish).await?))
}

/// Register a policy whose files are artefacts of the job. The same again answers the policy that exists.
#[utoipa::path(post, path = "/v1/worker/jobs/{id}/policies", tag = "worker", params(("id" = JobId, Path)),
    request_body(content = RegisterPolicy, example = json!({"fence": 1, "id": "pol_0197a3c2f2a87c53b0a1d5e6f7089abc",
        "architecture": "transformer", "environments": ["puzzle/countdown@1"], "metrics": {"score": 0.9},
        "artifacts": ["policy/model.safetensors", "policy/config.json"]})),
    responses((status = 201, description = "The policy.", body = Policy),
              (status = 409, description = "The lease is not held any more, or the id is another policy's.", body = Problem,
               content_type = "application/problem+json")))]
pub(super) async fn register_policy(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    Json(request): Json<RegisterPolicy>,
) -> Result<(StatusCode, Body<Policy>), Failure> {
    Ok((StatusCode::CREATED, Body(app.jobs().register_policy(&scope, job, request).await?)))
}

/// Hand answers of a served policy in, and take requests out. Waits up to `wait_ms` for the first request.
#[utoipa::path(post, path = "/v1/worker/jobs/{id}/exchange", tag = "worker", params(("id" = JobId, Path)),
    request_body(content = Exchange, example = json!({"fence": 1, "answers": [], "take": 32, "wait_ms": 20_000})),
    responses((status = 200, description = "Requests.", body = Exchanged),
              (status = 409, description = "The lease is not held any more.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn exchange(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    Json(exchange): Json<Exchange>,
) -> Result<Body<Exchanged>, Failure> {
    Ok(Body(until_stop(&app, app.jobs().exchange(&scope, job, exchange)).await?))
}

/// Waits no longer than the server serves: those who wait ask another node, or this one when it is back.
pub(super) async fn until_stop<T>(
    app: &App,
    waiting: impl Future<Output = Result<T, JobsError>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = waiting => Ok(done?),
        () = app.shutdown().cancelled() => Err(Failure::new(Code::Draining, "the server is shutting down: try again")),
    }
}

/// Names a lease where there is no JSON to name it in.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FenceQuery {
    /// Of the lease.
    fence: u64,
}

/// Keep a file as an artefact of the job, in place of one with the same name.
///
/// The body is the file. It counts once it is whole: what breaks off, or is not what was announced, leaves nothing.
#[utoipa::path(put, path = "/v1/worker/jobs/{id}/artifacts/{*name}", tag = "worker",
    params(("id" = JobId, Path),
           ("name" = String, Path, description = "Parts of letters, digits, `.`, `_` and `-`, separated by `/`."),
           FenceQuery,
           ("x-content-sha256" = Option<String>, Header, description = "Its digest: `sha256:` and 64 hexadecimal digits.")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, description = "The artefact.", body = Artifact),
              (status = 409, description = "The lease is not held any more.", body = Problem, content_type = "application/problem+json"),
              (status = 413, description = "It is too large, or the tenant has no room for it.", body = Problem,
               content_type = "application/problem+json")))]
pub(super) async fn upload_artifact(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    FileName(name): FileName,
    Query(query): Query<FenceQuery>,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Result<(StatusCode, Body<Artifact>), Failure> {
    let digest = announced_digest(&headers)?;
    let incoming = Incoming::new(&headers, body);
    let most = app.config().job_settings().artifact_bytes_max;
    if incoming.declared_bytes().is_some_and(|bytes| bytes > most) {
        return Err(incoming.explain(JobsError::TooLarge(most)).await);
    }
    match app.jobs().upload(&scope, job, name, query.fence, digest, incoming.pieces()).await {
        Ok(artifact) => Ok((StatusCode::CREATED, Body(artifact))),
        Err(error) => Err(incoming.explain(error).await),
    }
}

/// Remove an artefact of the job, such as one of a checkpoint that is not kept any longer.
#[utoipa::path(delete, path = "/v1/worker/jobs/{id}/artifacts/{*name}", tag = "worker",
    params(("id" = JobId, Path), ("name" = String, Path, description = "The artefact's name."), FenceQuery),
    responses((status = 204, description = "The artefact is gone."),
              (status = 409, description = "The lease is not held any more.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn delete_artifact(
    State(app): State<App>,
    Worker(scope): Worker,
    Id(job): Id<JobId>,
    FileName(name): FileName,
    Query(query): Query<FenceQuery>,
) -> Result<StatusCode, Failure> {
    app.jobs().delete_artifact(&scope, job, &name, query.fence).await?;
    Ok(StatusCode::NO_CONTENT)
}

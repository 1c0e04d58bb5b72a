//! `/v1/jobs`: work that waits in a queue until a worker leases it; watching it, and what it leaves.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{FutureExt, StreamExt};
use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, Checkpoint, CreateJob, Job, JobEvent, JobEventKind, JobKind, JobState};
use palestra_protocol::list::{List, Page};
use palestra_protocol::problem::{Code, Problem};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::JobRunner;
use super::events::{KEEP_ALIVE_MS, room};
use super::extract::{FileName, Id, IdempotencyKey, Json, Query};
use super::files::file;
use super::job_environments;
use super::page;
use super::problem::Failure;
use super::reach::{JobOwner, JobReader, beyond};
use crate::app::App;
use palestra_auth::Grant;
use palestra_jobs::JobFilter;

/// Interval at which a stream looks whether its credential is still valid, in milliseconds: jobs may run for weeks.
const CREDENTIAL_CHECK_MS: u64 = 30_000;

/// Queue a job.
///
/// With an `id` of the caller or an `Idempotency-Key` it is safe to repeat. The form of `spec` depends on `kind`.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key with the same job queues it once.")),
    request_body(content = CreateJob, examples(
        ("evaluate" = (value = json!({"kind": "evaluate", "spec": {"policy": {"from": "builtin:oracle"},
            "environments": [{"name": "puzzle/countdown", "split": "test"}], "episodes": 100}}))),
        ("train" = (value = json!({"kind": "train", "spec": {"policy": {"from": "builtin:tiny-transformer"},
            "environments": [{"name": "puzzle/countdown"}], "algorithm": {"name": "grpo"}, "steps": 100}}))))),
    responses((status = 201, description = "The job.", body = Job, headers(("location" = String, description = "The job."))),
              (status = 409, description = "The id is taken by another job.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn create_job(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    IdempotencyKey(key): IdempotencyKey,
    Json(request): Json<CreateJob>,
) -> Result<impl IntoResponse, Failure> {
    if let Grant::Job { job, .. } = principal.grant
        && !app.jobs().may_queue(&principal.tenant, job, &request).await?
    {
        return Err(beyond());
    }
    job_environments::check(&app, &principal.tenant, &request).await?;
    let job = app.jobs().create(&principal.tenant, request, key).await?;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/v1/jobs/{}", job.id))], Body(job)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Jobs in this state alone.
    #[param(inline)]
    state: Option<JobState>,
    /// Jobs of this kind alone.
    #[param(inline)]
    kind: Option<JobKind>,
    /// Those alone that failed after their last attempt.
    #[serde(default)]
    #[param(required = false)]
    dead_letter: bool,
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List jobs, newest first.
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", params(ListQuery),
    responses((status = 200, description = "A page.", body = Page<Job>)))]
pub(super) async fn list_jobs(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<Job>>, Failure> {
    let asked = page::request::<JobId>(query.limit, query.cursor)?;
    let filter = JobFilter { state: query.state, kind: query.kind, dead_letter: query.dead_letter };
    let rows = app.jobs().jobs(&principal.tenant, &filter, &asked).await?;
    Ok(Body(page::page(rows, &asked, |job| job.id)))
}

/// Describe a job.
#[utoipa::path(get, path = "/v1/jobs/{id}", tag = "jobs", params(("id" = JobId, Path)),
    responses((status = 200, description = "The job.", body = Job)))]
pub(super) async fn get_job(
    State(app): State<App>,
    JobReader { principal, job }: JobReader,
) -> Result<Body<Job>, Failure> {
    Ok(Body(app.jobs().job(&principal.tenant, job).await?))
}

/// Forget a job that is over, with its artefacts. Policies that it made stay.
#[utoipa::path(delete, path = "/v1/jobs/{id}", tag = "jobs", params(("id" = JobId, Path)),
    responses((status = 204, description = "The job is gone."),
              (status = 409, description = "The job is not over.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn delete_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(job): Id<JobId>,
) -> Result<StatusCode, Failure> {
    app.jobs().delete(&principal.tenant, job).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancel a job.
///
/// A queued one is cancelled at once. The worker of a running one is asked to stop, and loses the job if it does not. A job that is
/// over stays as it is.
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", tag = "jobs", params(("id" = JobId, Path)),
    responses((status = 200, description = "The job.", body = Job)))]
pub(super) async fn cancel_job(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    Id(job): Id<JobId>,
) -> Result<Body<Job>, Failure> {
    if let Grant::Job { job: own, .. } = principal.grant
        && !app.jobs().may_cancel(&principal.tenant, own, job).await?
    {
        return Err(beyond());
    }
    Ok(Body(app.jobs().cancel(&principal.tenant, job).await?))
}

/// Queue a failed or cancelled job again, with fresh attempts.
#[utoipa::path(post, path = "/v1/jobs/{id}/retry", tag = "jobs", params(("id" = JobId, Path)),
    responses((status = 200, description = "The job.", body = Job),
              (status = 409, description = "The job is not over, or has succeeded.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn retry_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(job): Id<JobId>,
) -> Result<Body<Job>, Failure> {
    Ok(Body(app.jobs().retry(&principal.tenant, job).await?))
}

/// Follow a job.
///
/// The history from the beginning or from behind `Last-Event-ID` (the number of an event), then what happens, until the job is
/// over. The name of each event is its kind.
#[utoipa::path(get, path = "/v1/jobs/{id}/events", tag = "jobs",
    params(("id" = JobId, Path), ("Last-Event-ID" = Option<u64>, Header, description = "Number of the last event that was seen.")),
    responses((status = 200, description = "Events; `data` of each is one.", body = JobEvent, content_type = "text/event-stream")))]
pub(super) async fn follow_job(
    State(app): State<App>,
    JobReader { principal, job }: JobReader,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let after = last_seen(&headers)?;
    let room = room(&app)?;
    let events = app.jobs().events(&principal.tenant, job, after).await?;
    let shutdown = app.shutdown().clone();
    let credential_ends = async move {
        loop {
            tokio::time::sleep(Duration::from_millis(CREDENTIAL_CHECK_MS)).await;
            // A store that is away for a moment is no reason to end the stream.
            if let Ok(false) = app.auth().is_still_valid(&principal).await {
                return;
            }
        }
    };
    let messages = events
        .filter_map(move |event| {
            // Holding the room here ties it to the life of the stream.
            let _room = &room;
            let message = message(&event);
            async move { message.map(Ok::<_, Infallible>) }
        })
        .take_until(shutdown.cancelled_owned())
        .take_until(credential_ends.boxed());
    let alive = KeepAlive::new().interval(Duration::from_millis(KEEP_ALIVE_MS));
    Ok(Sse::new(messages).keep_alive(alive).into_response())
}

/// The number in `Last-Event-ID`; 0 where none was sent.
fn last_seen(headers: &HeaderMap) -> Result<u64, Failure> {
    let Some(value) = headers.get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(0) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number
        // The store counts in signed 64 bits.
        .filter(|number| i64::try_from(*number).is_ok())
        .ok_or_else(|| Failure::new(Code::Malformed, "`Last-Event-ID` must be the number of an event"))
}

fn message(event: &JobEvent) -> Option<Message> {
    match Message::default().id(event.number.to_string()).event(event.kind.as_str()).json_data(event) {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::error!(%error, "an event could not be written");
            None
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MetricsQuery {
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// Number of the last event that was seen: `next_cursor` of the page before.
    #[param(maximum = 9_223_372_036_854_775_807_u64)]
    cursor: Option<u64>,
    /// The last ones instead, newest first; not together with `cursor`.
    #[serde(default)]
    #[param(required = false)]
    newest: bool,
}

/// List the metrics of a job, oldest first: events of the kind `metric`.
#[utoipa::path(get, path = "/v1/jobs/{id}/metrics", tag = "jobs", params(("id" = JobId, Path), MetricsQuery),
    responses((status = 200, description = "A page.", body = Page<JobEvent>)))]
pub(super) async fn list_metrics(
    State(app): State<App>,
    JobReader { principal, job }: JobReader,
    Query(query): Query<MetricsQuery>,
) -> Result<Body<Page<JobEvent>>, Failure> {
    let asked = page::request::<u64>(query.limit, None)?;
    if query.newest {
        if query.cursor.is_some() {
            return Err(Failure::new(Code::Malformed, "the newest metrics are one page: leave `cursor` out"));
        }
        let metric = JobEventKind::Metric;
        let data = app.jobs().last_events(&principal.tenant, job, metric, asked.limit - 1).await?;
        return Ok(Body(Page { data, next_cursor: None }));
    }
    let after = query.cursor.unwrap_or(0);
    if i64::try_from(after).is_err() {
        return Err(page::unknown_cursor());
    }
    let kind = Some(JobEventKind::Metric);
    let rows = app.jobs().events_page(&principal.tenant, job, kind, after, asked.limit).await?;
    Ok(Body(page::page(rows, &asked, |event| event.number)))
}

/// List the complete checkpoints of a training job, oldest first.
#[utoipa::path(get, path = "/v1/jobs/{id}/checkpoints", tag = "jobs", params(("id" = JobId, Path)),
    responses((status = 200, description = "Checkpoints.", body = List<Checkpoint>)))]
pub(super) async fn list_checkpoints(
    State(app): State<App>,
    JobReader { principal, job }: JobReader,
) -> Result<Body<List<Checkpoint>>, Failure> {
    Ok(Body(app.jobs().checkpoints(&principal.tenant, job).await?.into()))
}

/// List the files that a job left, by name.
#[utoipa::path(get, path = "/v1/jobs/{id}/artifacts", tag = "jobs", params(("id" = JobId, Path)),
    responses((status = 200, description = "Artefacts.", body = List<Artifact>)))]
pub(super) async fn list_artifacts(
    State(app): State<App>,
    JobReader { principal, job }: JobReader,
) -> Result<Body<List<Artifact>>, Failure> {
    Ok(Body(app.jobs().artifacts(&principal.tenant, job).await?.into()))
}

/// Download a file that a job left. Its name may have several parts, separated by `/`.
#[utoipa::path(get, path = "/v1/jobs/{id}/artifacts/{*name}", tag = "jobs",
    params(("id" = JobId, Path), ("name" = String, Path, description = "The artefact's name.")),
    responses((status = 200, description = "The file.", body = Vec<u8>, content_type = "application/octet-stream",
               headers(("x-content-sha256" = String, description = "Its digest: `sha256:` and 64 hexadecimal digits."),
                       ("etag" = String, description = "The same, in quotes."))),
              (status = 304, description = "`If-None-Match` names what it is still.")))]
pub(super) async fn get_artifact(
    State(app): State<App>,
    JobReader { principal, job }: JobReader,
    FileName(name): FileName,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (artifact, bytes) = app.jobs().open_artifact(&principal.tenant, job, &name).await?;
    Ok(file(&headers, &artifact, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_on_behind_a_number() {
        let seen = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("last-event-id", text.parse().unwrap());
            last_seen(&headers)
        };
        assert_eq!(last_seen(&HeaderMap::new()).unwrap(), 0);
        assert_eq!((seen("").unwrap(), seen("7").unwrap()), (0, 7));
        for wrong in ["x", "-1", "1.5", "18446744073709551615"] {
            assert_eq!(seen(wrong).unwrap_err().code(), Code::Malformed, "{wrong}");
        }
    }
}

//! `/v1/policies`: stored models; describing, downloading and using them.

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Policy, RegisterCheckpoint};
use palestra_protocol::list::Page;
use palestra_protocol::problem::Problem;
use palestra_protocol::worker::{ActAnswer, ActRequest};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::JobRunner;
use super::extract::{Id, Json, Query};
use super::files::file;
use super::page;
use super::problem::Failure;
use super::reach::{JobOwner, PolicyUser, beyond, require_sight};
use super::worker::until_stop;
use crate::app::App;
use palestra_auth::Grant;

/// The file that a download without a name means.
const WEIGHTS: &str = "model.safetensors";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Policies of this job alone.
    job: Option<JobId>,
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List policies, newest first.
#[utoipa::path(get, path = "/v1/policies", tag = "policies", params(ListQuery),
    responses((status = 200, description = "A page.", body = Page<Policy>)))]
pub(super) async fn list_policies(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<Policy>>, Failure> {
    match query.job {
        Some(job) => require_sight(&app, &principal, job).await?,
        None if matches!(principal.grant, Grant::Job { .. }) => return Err(beyond()),
        None => {}
    }
    let asked = page::request::<PolicyId>(query.limit, query.cursor)?;
    let rows = app.jobs().policies(&principal.tenant, query.job, &asked).await?;
    Ok(Body(page::page(rows, &asked, |policy| policy.id)))
}

/// Register the policy of a checkpoint.
///
/// A training keeps checkpoints while it runs and when it is over, in whatever way. Registering one again answers the same policy.
#[utoipa::path(post, path = "/v1/policies", tag = "policies",
    request_body(content = RegisterCheckpoint, example = json!({"job": "job_0197a3c2f2a87c53b0a1d5e6f7089abc", "step": 40})),
    responses((status = 201, description = "The policy.", body = Policy, headers(("location" = String, description = "The policy.")))))]
pub(super) async fn register_checkpoint(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Json(RegisterCheckpoint { job, step }): Json<RegisterCheckpoint>,
) -> Result<impl IntoResponse, Failure> {
    let policy = app.jobs().register_checkpoint(&principal.tenant, job, step).await?;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/v1/policies/{}", policy.id))], Body(policy)))
}

/// Delete a policy that no queued or running job uses.
///
/// Files that a job or another policy has too stay.
#[utoipa::path(delete, path = "/v1/policies/{id}", tag = "policies", params(("id" = PolicyId, Path)),
    responses((status = 204, description = "The policy is gone."),
              (status = 409, description = "A job uses it.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn delete_policy(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(policy): Id<PolicyId>,
) -> Result<StatusCode, Failure> {
    app.jobs().delete_policy(&principal.tenant, policy).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Describe a policy.
#[utoipa::path(get, path = "/v1/policies/{id}", tag = "policies", params(("id" = PolicyId, Path)),
    responses((status = 200, description = "The policy.", body = Policy)))]
pub(super) async fn get_policy(
    State(app): State<App>,
    PolicyUser { principal, policy }: PolicyUser,
) -> Result<Body<Policy>, Failure> {
    Ok(Body(app.jobs().policy(&principal.tenant, policy).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FileQuery {
    /// Which file of its folder; `model.safetensors` where left out.
    file: Option<String>,
}

/// Download a file of a policy's folder.
#[utoipa::path(get, path = "/v1/policies/{id}/download", tag = "policies", params(("id" = PolicyId, Path), FileQuery),
    responses((status = 200, description = "The file.", body = Vec<u8>, content_type = "application/octet-stream",
               headers(("x-content-sha256" = String, description = "Its digest: `sha256:` and 64 hexadecimal digits."),
                       ("etag" = String, description = "The same, in quotes."))),
              (status = 304, description = "`If-None-Match` names what it is still.")))]
pub(super) async fn download_policy(
    State(app): State<App>,
    PolicyUser { principal, policy }: PolicyUser,
    Query(query): Query<FileQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let name = query.file.as_deref().unwrap_or(WEIGHTS);
    let (artifact, bytes) = app.jobs().open_policy_file(&principal.tenant, policy, name).await?;
    Ok(file(&headers, &artifact, bytes))
}

/// Ask a policy to act.
///
/// Answered by the worker of a job of the kind `serve`; without one, `policy_cold`.
#[utoipa::path(post, path = "/v1/policies/{id}/act", tag = "policies", params(("id" = PolicyId, Path)),
    request_body(content = ActRequest, examples(
        ("messages" = (value = json!({"messages": [{"role": "user", "content": "2 + 2?"}], "max_tokens": 64}))),
        ("observation" = (value = json!({"observation": [0.1, 0.0, -0.2, 0.3], "temperature": 0.0}))))),
    responses((status = 200, description = "What it does.", body = ActAnswer),
              (status = 502, description = "Its worker failed.", body = Problem, content_type = "application/problem+json"),
              (status = 503, description = "Nobody serves it.", body = Problem, content_type = "application/problem+json"),
              (status = 504, description = "It did not answer in time.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn act(
    State(app): State<App>,
    PolicyUser { principal, policy }: PolicyUser,
    Json(request): Json<ActRequest>,
) -> Result<Body<ActAnswer>, Failure> {
    let acting = app.jobs().act(&principal.tenant, policy, request);
    Ok(Body(until_stop(&app, acting).await?))
}

//! `/v1/runs`: owners of sessions, alive as long as their lease is renewed.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use palestra_protocol::id::RunId;
use palestra_protocol::list::Page;
use palestra_protocol::run::{CreateRun, Run, RunPlan, RunState, RunSummary};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::Runner;
use super::extract::{Id, Json, Query};
use super::page;
use super::problem::Failure;
use crate::app::App;

/// Start a run, or find the one that exists under the same id.
#[utoipa::path(post, path = "/v1/runs", tag = "runs",
    request_body(content = CreateRun, example = json!({"lease_ms": 60_000})),
    responses((status = 201, description = "The run.", body = Run, headers(("location" = String, description = "The run.")))))]
pub(super) async fn create_run(
    State(app): State<App>,
    Runner(principal): Runner,
    Json(request): Json<CreateRun>,
) -> Result<impl IntoResponse, Failure> {
    let run = app.sessions().create_run(&principal.tenant, request).await?;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/v1/runs/{}", run.id))], Body(run)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Runs in this state alone.
    #[param(inline)]
    state: Option<RunState>,
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List runs, newest first, with what their episodes came to. It renews no lease.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(ListQuery),
    responses((status = 200, description = "A page.", body = Page<RunSummary>)))]
pub(super) async fn list_runs(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<RunSummary>>, Failure> {
    let asked = page::request::<RunId>(query.limit, query.cursor)?;
    let rows = app.sessions().runs(&principal.tenant, query.state, &asked).await?;
    Ok(Body(page::page(rows, &asked, |run| run.id)))
}

/// Describe a run.
#[utoipa::path(get, path = "/v1/runs/{id}", tag = "runs", params(("id" = RunId, Path)),
    responses((status = 200, description = "The run.", body = Run)))]
pub(super) async fn get_run(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(run): Id<RunId>,
) -> Result<Body<Run>, Failure> {
    Ok(Body(app.sessions().run_info(&principal.tenant, run).await?))
}

/// Renew the lease of a run.
#[utoipa::path(post, path = "/v1/runs/{id}/heartbeat", tag = "runs", params(("id" = RunId, Path)),
    responses((status = 200, description = "The run.", body = Run)))]
pub(super) async fn renew_run(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(run): Id<RunId>,
) -> Result<Body<Run>, Failure> {
    Ok(Body(app.sessions().heartbeat(&principal.tenant, run).await?))
}

/// Record what a run is meant to play: its policy, split, seed and number of episodes. It replaces an earlier plan.
#[utoipa::path(put, path = "/v1/runs/{id}/plan", tag = "runs", params(("id" = RunId, Path)),
    request_body(content = RunPlan, example = json!({"policy": "builtin:random", "split": "test", "seed": 0, "episodes": 100})),
    responses((status = 200, description = "The run.", body = Run)))]
pub(super) async fn plan_run(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(run): Id<RunId>,
    Json(plan): Json<RunPlan>,
) -> Result<Body<Run>, Failure> {
    Ok(Body(app.sessions().plan_run(&principal.tenant, run, &plan).await?))
}

/// End a run and close its sessions.
#[utoipa::path(delete, path = "/v1/runs/{id}", tag = "runs", params(("id" = RunId, Path)),
    responses((status = 200, description = "The run.", body = Run)))]
pub(super) async fn delete_run(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(run): Id<RunId>,
) -> Result<Body<Run>, Failure> {
    Ok(Body(app.sessions().delete_run(&principal.tenant, run).await?))
}

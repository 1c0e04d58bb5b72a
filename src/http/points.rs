//! Points of an episode: forks, snapshots, restoring, and what differs between two states.

use axum::extract::State;
use axum::response::Response;
use palestra_protocol::id::{SessionId, SnapshotId};
use palestra_protocol::list::List;
use palestra_protocol::problem::Code;
use palestra_protocol::session::{Diff, Fork, Opened, Restore, Snapshot, StateView, TakeSnapshot};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::{Body, respond};
use super::caller::{Runner, StateReader};
use super::extract::{Id, IdempotencyKey, Json, OptionalJson, Query};
use super::perform::{ToolForm, perform};
use super::problem::Failure;
use super::sessions::ToolsQuery;
use crate::app::App;
use palestra_session::{Against, Command};

/// Copy a session, as it is or as it was after an earlier step.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", tag = "sessions", params(("id" = SessionId, Path), ToolsQuery),
    request_body(content = Option<Fork>, example = json!({"count": 4, "at_seq": 2, "randomness": "split"})),
    responses((status = 201, description = "The copies, with tokens of their own.", body = List<Opened>)))]
pub(super) async fn fork_session(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
    Query(query): Query<ToolsQuery>,
    IdempotencyKey(key): IdempotencyKey,
    OptionalJson(request): OptionalJson<Fork>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Fork { session, request, key }, query.tools).await.map(|answer| respond(&answer))
}

/// Name the present point of the current episode.
#[utoipa::path(post, path = "/v1/sessions/{id}/snapshots", tag = "sessions", params(("id" = SessionId, Path)),
    request_body(content = Option<TakeSnapshot>, example = json!({"name": "before the door"})),
    responses((status = 201, description = "The snapshot.", body = Snapshot)))]
pub(super) async fn take_snapshot(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
    IdempotencyKey(key): IdempotencyKey,
    OptionalJson(request): OptionalJson<TakeSnapshot>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Snapshot { session, request, key }, ToolForm::default())
        .await
        .map(|answer| respond(&answer))
}

/// List the snapshots of a session, oldest first.
#[utoipa::path(get, path = "/v1/sessions/{id}/snapshots", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "Every snapshot.", body = List<Snapshot>)))]
pub(super) async fn list_snapshots(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
) -> Result<Body<List<Snapshot>>, Failure> {
    Ok(Body(app.sessions().snapshots(&principal.tenant, session).await?.into()))
}

/// Go on from a snapshot, in a new episode.
#[utoipa::path(post, path = "/v1/sessions/{id}/restore", tag = "sessions", params(("id" = SessionId, Path), ToolsQuery),
    request_body(content = Restore, example = json!({"snapshot": "snap_0197a3c2f2a87c53b0a1d5e6f7089abc"})),
    responses((status = 200, description = "The session with its new episode.", body = Opened)))]
pub(super) async fn restore_session(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
    Query(query): Query<ToolsQuery>,
    IdempotencyKey(key): IdempotencyKey,
    Json(request): Json<Restore>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Restore { session, request, key }, query.tools)
        .await
        .map(|answer| respond(&answer))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StateQuery {
    /// JSON Pointer (RFC 6901) to the part that is wanted; the whole where left out.
    #[serde(default)]
    #[param(required = false, example = "/inbox")]
    pointer: String,
}

/// Read the privileged state. Needs the scope `state:read`.
#[utoipa::path(get, path = "/v1/sessions/{id}/state", tag = "sessions", params(("id" = SessionId, Path), StateQuery),
    responses((status = 200, description = "The state and its hash.", body = StateView)))]
pub(super) async fn get_state(
    State(app): State<App>,
    StateReader(principal): StateReader,
    Id(session): Id<SessionId>,
    Query(query): Query<StateQuery>,
) -> Result<Body<StateView>, Failure> {
    if !query.pointer.is_empty() && !query.pointer.starts_with('/') {
        return Err(Failure::new(Code::Malformed, "a JSON Pointer must be empty or begin with a slash"));
    }
    Ok(Body(app.sessions().state(&principal.tenant, session, &query.pointer).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    /// The snapshot or the session to compare with.
    #[param(pattern = "^(snap|ses)_[0-9a-f]{32}$", example = "ses_0197a3c2f2a87c53b0a1d5e6f7089abc")]
    against: String,
}

/// Compare the state with that of a snapshot or another session. Needs the scope `state:read`.
#[utoipa::path(get, path = "/v1/sessions/{id}/diff", tag = "sessions", params(("id" = SessionId, Path), DiffQuery),
    responses((status = 200, description = "A JSON Patch from the other state to this one.", body = Diff)))]
pub(super) async fn get_diff(
    State(app): State<App>,
    StateReader(principal): StateReader,
    Id(session): Id<SessionId>,
    Query(query): Query<DiffQuery>,
) -> Result<Body<Diff>, Failure> {
    let against = against(&query.against)
        .ok_or_else(|| Failure::new(Code::Malformed, "`against` must be the id of a snapshot or of a session"))?;
    Ok(Body(app.sessions().diff(&principal.tenant, session, against).await?))
}

fn against(text: &str) -> Option<Against> {
    let snapshot = text.parse::<SnapshotId>().ok().map(Against::Snapshot);
    snapshot.or_else(|| text.parse::<SessionId>().ok().map(Against::Session))
}

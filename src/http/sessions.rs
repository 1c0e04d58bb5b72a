//! `/v1/sessions`: opening, acting, judging and closing.

use axum::extract::State;
use axum::response::Response;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::{EpisodeId, GroupId, RunId, SessionId};
use palestra_protocol::list::Page;
use palestra_protocol::session::{CloseReason, CreateSession, Created, Opened, Reset, Session, SessionState, Verify};
use palestra_protocol::step::{Finish, Finished, Step, Stepped};
use palestra_protocol::time::Timestamp;
use palestra_protocol::verdict::Verdict;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AnyOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::answer::{Body, respond};
use super::caller::{Caller, Onlooker, Runner};
use super::extract::{Id, IdempotencyKey, Json, OptionalJson, Query};
use super::page;
use super::perform::{ToolForm, perform};
use super::problem::Failure;
use crate::app::App;
use palestra_session::Command;
use palestra_store::row::SessionFilter;

/// In which form an answer with tools is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ToolsQuery {
    /// In which form tools are wanted.
    #[serde(default)]
    #[param(inline, required = false)]
    pub(super) tools: ToolForm,
}

/// The answer of a call that waited for a verdict in vain.
#[derive(Serialize, ToSchema)]
pub(super) struct Pending {
    /// The episode whose verdict will come.
    episode: EpisodeId,
}

/// Open a session, or `count` sessions of one task: at its beginning, or with `from` where a stored episode stood.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", params(ToolsQuery),
    request_body(content = CreateSession, examples(
        ("one" = (value = json!({"environment": "puzzle/countdown", "task": {"split": "train", "index": 12}}))),
        ("group" = (value = json!({"environment": "puzzle/countdown", "task": {"split": "train", "seed": 7}, "count": 8}))),
        ("snapshot" = (value = json!({"from": {"snapshot": "snap_0197a3c2f2a87c53b0a1d5e6f7089abc"}, "count": 4}))),
        ("episode" = (value = json!({"from": {"episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 12}}))))),
    responses((status = 201, description = "A session; a list where `count` was given.", body = Created,
               headers(("location" = String, description = "The session, where there is one.")))))]
pub(super) async fn create_sessions(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ToolsQuery>,
    IdempotencyKey(key): IdempotencyKey,
    Json(request): Json<CreateSession>,
) -> Result<Response, Failure> {
    let command = Command::Create { request: Box::new(request), key };
    perform(&app, &principal, command, query.tools).await.map(|answer| respond(&answer))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Sessions of this run alone.
    run: Option<RunId>,
    /// Sessions of this group alone.
    group: Option<GroupId>,
    /// Sessions of this environment alone; `family/name`, optionally `@version`.
    environment: Option<String>,
    /// Sessions at this task alone.
    task: Option<String>,
    /// Sessions in this state alone.
    #[param(inline)]
    state: Option<SessionState>,
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List sessions, newest first.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListQuery),
    responses((status = 200, description = "A page.", body = Page<Session>)))]
pub(super) async fn list_sessions(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<Session>>, Failure> {
    let asked = page::request::<SessionId>(query.limit, query.cursor)?;
    let ListQuery { run, group, environment, task, state, .. } = query;
    let filter = SessionFilter { run, group, environment, task, state };
    let rows = app.sessions().list(&principal.tenant, &filter, &asked).await?;
    Ok(Body(page::page(rows, &asked, |session| session.id)))
}

/// A session as the bearer of its token may see it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ActingView {
    id: SessionId,
    /// `family/name@version`.
    environment: String,
    /// True if commands are taken.
    state: SessionState,
    /// Why it was closed; null while it is open.
    closed_reason: Option<CloseReason>,
    /// The current episode.
    episode: EpisodeId,
    /// The last step of the current episode.
    seq: Option<u64>,
    /// Up to which step nothing can be lost.
    durable_seq: Option<u64>,
    /// The limits that hold.
    limits: Limits,
    /// The rest of them.
    limits_left: Option<Limits>,
    /// When it ends by itself.
    expires_at: Timestamp,
}

/// A session: all of it for keys; for its own token without task, seed and owner, which could give the answer away.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum SessionView {
    Whole(Box<Session>),
    Acting(Box<ActingView>),
}

impl PartialSchema for SessionView {
    /// Both forms fit where the whole is shown, so this is not one of the two.
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new()
            .item(Ref::from_schema_name(Session::name()))
            .item(Ref::from_schema_name(ActingView::name()))
            .description(Some(
                "A session: all of it for keys; for its own token without task, seed and owner, which could give the answer away.",
            ))
            .into()
    }
}

impl ToSchema for SessionView {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Session::name().into_owned(), Session::schema()));
        schemas.push((ActingView::name().into_owned(), ActingView::schema()));
        Session::schemas(schemas);
        ActingView::schemas(schemas);
    }
}

impl SessionView {
    fn acting(session: Session) -> Self {
        let Session { id, environment, state, closed_reason, episode, seq, durable_seq, .. } = session;
        let Session { limits, limits_left, expires_at, .. } = session;
        Self::Acting(Box::new(ActingView {
            id,
            environment,
            state,
            closed_reason,
            episode,
            seq,
            durable_seq,
            limits,
            limits_left,
            expires_at,
        }))
    }
}

/// Describe a session: status, counters, limits left, current episode.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The session.", body = SessionView)))]
pub(super) async fn get_session(
    State(app): State<App>,
    Onlooker { principal, session }: Onlooker,
) -> Result<Body<SessionView>, Failure> {
    let session = app.sessions().get(&principal.tenant, session).await?;
    Ok(Body(if principal.is_acting_side() {
        SessionView::acting(session)
    } else {
        SessionView::Whole(Box::new(session))
    }))
}

/// Close a session: frees what it holds and keeps the record.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The closed session.", body = Session)))]
pub(super) async fn close_session(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Close { session }, ToolForm::default()).await.map(|answer| respond(&answer))
}

/// Begin a new episode.
#[utoipa::path(post, path = "/v1/sessions/{id}/reset", tag = "sessions", params(("id" = SessionId, Path), ToolsQuery),
    request_body(content = Option<Reset>, examples(("again" = (value = json!({}))),
        ("another task" = (value = json!({"task": {"split": "train", "index": 13}}))))),
    responses((status = 200, description = "The session with its new episode.", body = Opened)))]
pub(super) async fn reset_session(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
    Query(query): Query<ToolsQuery>,
    IdempotencyKey(key): IdempotencyKey,
    OptionalJson(request): OptionalJson<Reset>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Reset { session, request, key }, query.tools)
        .await
        .map(|answer| respond(&answer))
}

/// Take a turn.
///
/// The same `seq` with the same action again gets the same answer, so a step can be sent again whenever its answer was lost.
#[utoipa::path(post, path = "/v1/sessions/{id}/step", tag = "sessions", params(("id" = SessionId, Path)),
    request_body(content = Step, examples(
        ("text" = (value = json!({"seq": 1, "action": {"text": "(3 + 5) * 4"}}))),
        ("tool" = (value = json!({"seq": 1, "action": {"tool": "move", "arguments": {"direction": "up"}}}))))),
    responses((status = 200, description = "What came of it. Session tokens see neither reward nor verdict.", body = Stepped)))]
pub(super) async fn step_session(
    State(app): State<App>,
    Caller(principal): Caller,
    Id(session): Id<SessionId>,
    Json(step): Json<Step>,
) -> Result<Response, Failure> {
    let command = Command::Step { session, step: Box::new(step) };
    perform(&app, &principal, command, ToolForm::default()).await.map(|answer| respond(&answer))
}

/// End the episode from outside, and judge it.
#[utoipa::path(post, path = "/v1/sessions/{id}/finish", tag = "sessions", params(("id" = SessionId, Path)),
    request_body(content = Finish, example = json!({"reason": "max_tokens"})),
    responses((status = 200, description = "How the episode ended.", body = Finished)))]
pub(super) async fn finish_session(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
    Json(request): Json<Finish>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Finish { session, request }, ToolForm::default())
        .await
        .map(|answer| respond(&answer))
}

/// Judge the current episode; a live one is ended first, unless `probe` is set.
#[utoipa::path(post, path = "/v1/sessions/{id}/verify", tag = "sessions", params(("id" = SessionId, Path)),
    request_body(content = Option<Verify>, example = json!({"wait_ms": 10_000})),
    responses((status = 200, description = "The verdict.", body = Verdict),
              (status = 202, description = "The verdict was not there in time.", body = Pending,
               headers(("location" = String, description = "Where the verdict will be.")))))]
pub(super) async fn verify_session(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(session): Id<SessionId>,
    OptionalJson(request): OptionalJson<Verify>,
) -> Result<Response, Failure> {
    perform(&app, &principal, Command::Verify { session, request }, ToolForm::default())
        .await
        .map(|answer| respond(&answer))
}

//! `/v1/episodes/{id}/calls` and `/graph`, `/v1/episodes:export`: what models were asked and what they answered, token for token.

use std::io;

use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures::{Stream, TryStreamExt};
use palestra_protocol::episode::{Episode, EpisodeState};
use palestra_protocol::id::{CallId, EpisodeId, GroupId, RunId, SessionId};
use palestra_protocol::list::Page;
use palestra_protocol::model_call::{CallOutcome, ModelCall};
use palestra_protocol::problem::Code;
use palestra_protocol::verdict::Status;
use palestra_store::Tenant;
use palestra_store::row::{EpisodeFilter, PageRequest};
use palestra_trajectories::Rollout;
use palestra_trajectories::export::{ExportError, Exporter, Format, Tally};
use palestra_trajectories::graph::Graph;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::Runner;
use super::episodes::check_score;
use super::extract::{Id, Query};
use super::page;
use super::problem::{Failure, internal};
use crate::app::App;

/// Episodes or calls that are read from the store at once.
const ROWS_PER_PAGE: u32 = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List the model calls of an episode, in the order in which they began.
///
/// Those before a fork are included.
#[utoipa::path(get, path = "/v1/episodes/{id}/calls", tag = "episodes", params(("id" = EpisodeId, Path), ListQuery),
    responses((status = 200, description = "A page.", body = Page<ModelCall>)))]
pub(super) async fn list_calls(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<ModelCall>>, Failure> {
    let asked = page::request::<CallId>(query.limit, query.cursor)?;
    let after = asked.before.as_ref().and_then(|cursor| cursor.parse().ok());
    let calls = app.sessions().model_calls(&principal.tenant, episode, after, asked.limit).await?;
    Ok(Body(page::page(calls, &asked, |call| call.id)))
}

/// Join the model calls of an episode by their tokens.
///
/// A call whose prompt begins with all tokens of an earlier call, exactly, continues it. Any other call begins a branch.
#[utoipa::path(get, path = "/v1/episodes/{id}/graph", tag = "episodes", params(("id" = EpisodeId, Path)),
    responses((status = 200, description = "The graph.", body = Graph)))]
pub(super) async fn get_graph(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
) -> Result<Body<Graph>, Failure> {
    let rollout = rollout(&app, &principal.tenant, episode).await?;
    let graph = tokio::task::spawn_blocking(move || Graph::of(&rollout)).await.map_err(|error| internal(&error))?;
    Ok(Body(graph))
}

async fn rollout(app: &App, tenant: &Tenant, episode: EpisodeId) -> Result<Rollout, Failure> {
    let trajectory = app.sessions().trajectory(tenant, episode).await?;
    let (mut calls, mut after) = (Vec::new(), None);
    loop {
        let page = app.sessions().model_calls(tenant, episode, after, ROWS_PER_PAGE).await?;
        let last = page.len() < ROWS_PER_PAGE as usize;
        calls.extend(page);
        after = calls.last().map(|call: &ModelCall| call.id);
        if last {
            return Ok(Rollout { trajectory, calls });
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// The form.
    #[param(inline)]
    format: Format,
    /// The tally alone: how much there is, and what the form leaves out.
    #[serde(default)]
    #[param(required = false)]
    tally: bool,
    /// Episodes of this session alone.
    session: Option<SessionId>,
    /// Episodes of this run alone.
    run: Option<RunId>,
    /// Episodes of this group alone.
    group: Option<GroupId>,
    /// Episodes of this environment alone; `family/name`, optionally `@version`.
    environment: Option<String>,
    /// Episodes whose first verdict has this status alone.
    #[param(inline)]
    status: Option<Status>,
    /// Episodes with at least this score alone.
    #[param(minimum = 0, maximum = 1)]
    score_min: Option<f64>,
    /// Episodes with at most this score alone.
    #[param(minimum = 0, maximum = 1)]
    score_max: Option<f64>,
    /// Episodes all of whose completed calls were answered by this version of the weights alone.
    policy_version: Option<String>,
}

/// Export episodes that are over with their model calls, newest first, in the form of a trainer or viewer.
///
/// An episode that is no sample never has a reward. `tally` answers how much is left out, and why.
#[utoipa::path(get, path = "/v1/episodes:export", tag = "episodes", params(ExportQuery),
    responses((status = 200, description = "The export; with `tally`, its size.", content(
        (String = "application/x-ndjson"), (Vec<u8> = "application/vnd.apache.parquet"), (Vec<u8> = "application/zip"),
        (Tally = "application/json")))))]
pub(super) async fn export_episodes(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Failure> {
    check_score("score_min", query.score_min)?;
    check_score("score_max", query.score_max)?;
    let ExportQuery { format, tally, session, run, group, environment, status, score_min, score_max, policy_version } =
        query;
    let state = Some(EpisodeState::Ended);
    let filter = EpisodeFilter { session, run, group, environment, task: None, state, status, score_min, score_max };
    let mut export = Export {
        app,
        tenant: principal.tenant.clone(),
        filter,
        policy_version,
        page: Vec::new(),
        before: None,
        over: false,
    };
    if tally {
        let mut exporter = Exporter::new(format);
        while let Some(rollout) = export.next().await? {
            (exporter, _) = push(exporter, rollout).await?;
        }
        return Ok(Body(exporter.tally()).into_response());
    }
    let name = format!("attachment; filename=\"episodes.{}\"", format.extension());
    let headers = [(CONTENT_TYPE, format.media_type().to_owned()), (CONTENT_DISPOSITION, name)];
    // Its head is sent already: an export that breaks off ends its connection.
    let bytes = bytes(export, format).map_err(|failure| io::Error::other(failure.0.detail));
    Ok((headers, HttpBody::from_stream(bytes)).into_response())
}

/// The bytes of an export, as they are made.
fn bytes(mut export: Export, format: Format) -> impl Stream<Item = Result<Vec<u8>, Failure>> {
    async_stream::try_stream! {
        let mut exporter = Exporter::new(format);
        while let Some(rollout) = export.next().await? {
            let (next, bytes) = push(exporter, rollout).await?;
            exporter = next;
            if !bytes.is_empty() {
                yield bytes;
            }
        }
        yield exporter.finish().map_err(|error| cannot(&error))?;
    }
}

/// Adds a rollout on the blocking pool: its tokens may be many.
async fn push(mut exporter: Exporter, rollout: Rollout) -> Result<(Exporter, Vec<u8>), Failure> {
    let pushing = move || {
        let bytes = exporter.push(&rollout)?;
        Ok((exporter, bytes))
    };
    let pushed = tokio::task::spawn_blocking(pushing).await.map_err(|error| internal(&error))?;
    pushed.map_err(|error: ExportError| cannot(&error))
}

fn cannot(error: &ExportError) -> Failure {
    tracing::warn!(%error, "an export broke off");
    Failure::new(Code::NotSupported, error.to_string())
}

/// Episodes that are to be exported, page by page.
struct Export {
    app: App,
    tenant: Tenant,
    filter: EpisodeFilter,
    policy_version: Option<String>,
    /// Episodes that were found, the next one last.
    page: Vec<Episode>,
    before: Option<String>,
    over: bool,
}

impl Export {
    async fn next(&mut self) -> Result<Option<Rollout>, Failure> {
        loop {
            let Some(episode) = self.page.pop() else {
                if self.over {
                    return Ok(None);
                }
                let asked = PageRequest { before: self.before.take(), limit: ROWS_PER_PAGE };
                self.page = self.app.sessions().episodes(&self.tenant, &self.filter, &asked).await?;
                self.over = self.page.len() < ROWS_PER_PAGE as usize;
                self.before = self.page.last().map(|episode| episode.id.to_string());
                self.page.reverse();
                continue;
            };
            let rollout = rollout(&self.app, &self.tenant, episode.id).await?;
            if self.is_wanted(&rollout) {
                return Ok(Some(rollout));
            }
        }
    }

    fn is_wanted(&self, rollout: &Rollout) -> bool {
        let Some(wanted) = &self.policy_version else { return true };
        let mut completed = rollout.calls.iter().filter(|call| call.outcome == CallOutcome::Completed).peekable();
        completed.peek().is_some() && completed.all(|call| call.policy_version.as_ref() == Some(wanted))
    }
}

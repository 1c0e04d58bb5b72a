//! `/v1/episodes`: the record that outlives sessions, and judging it again.

use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use palestra_families::recording::{self, Contents};
use palestra_protocol::episode::{Episode, EpisodeState, Rescore, StepRecord, Trajectory};
use palestra_protocol::id::{EpisodeId, GroupId, RunId, SessionId};
use palestra_protocol::list::{List, Page};
use palestra_protocol::problem::Code;
use palestra_protocol::verdict::{Status, Verdict};
use palestra_workbench::terminal::recording::asciicast;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::answer::Body;
use super::caller::Runner;
use super::extract::{Id, OptionalJson, Query, Seq};
use super::page;
use super::problem::{Failure, internal};
use crate::app::App;
use palestra_store::Tenant;
use palestra_store::row::EpisodeFilter;

/// Bytes of the pictures and logs in a recording; what follows is left out and named.
const RECORDING_BYTES_MAX: usize = 128 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Episodes of this session alone.
    session: Option<SessionId>,
    /// Episodes of this run alone.
    run: Option<RunId>,
    /// Episodes of this group alone.
    group: Option<GroupId>,
    /// Episodes of this environment alone; `family/name`, optionally `@version`.
    environment: Option<String>,
    /// Attempts at this task alone.
    task: Option<String>,
    /// Episodes in this state alone.
    #[param(inline)]
    state: Option<EpisodeState>,
    /// Episodes whose first verdict has this status alone.
    #[param(inline)]
    status: Option<Status>,
    /// Episodes with at least this score alone.
    #[param(minimum = 0, maximum = 1)]
    score_min: Option<f64>,
    /// Episodes with at most this score alone.
    #[param(minimum = 0, maximum = 1)]
    score_max: Option<f64>,
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

pub(super) fn check_score(name: &str, score: Option<f64>) -> Result<(), Failure> {
    match score {
        Some(score) if !(0.0..=1.0).contains(&score) => {
            Err(Failure::new(Code::Malformed, format!("{name} must be a number from 0 to 1")))
        }
        _ => Ok(()),
    }
}

/// List episodes, newest first.
#[utoipa::path(get, path = "/v1/episodes", tag = "episodes", params(ListQuery),
    responses((status = 200, description = "A page.", body = Page<Episode>)))]
pub(super) async fn list_episodes(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<Episode>>, Failure> {
    let asked = page::request::<EpisodeId>(query.limit, query.cursor)?;
    check_score("score_min", query.score_min)?;
    check_score("score_max", query.score_max)?;
    let ListQuery { session, run, group, environment, task, state, status, score_min, score_max, .. } = query;
    let filter = EpisodeFilter { session, run, group, environment, task, state, status, score_min, score_max };
    let rows = app.sessions().episodes(&principal.tenant, &filter, &asked).await?;
    Ok(Body(page::page(rows, &asked, |episode| episode.id)))
}

/// Describe an episode.
#[utoipa::path(get, path = "/v1/episodes/{id}", tag = "episodes", params(("id" = EpisodeId, Path)),
    responses((status = 200, description = "The episode.", body = Episode)))]
pub(super) async fn get_episode(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
) -> Result<Body<Episode>, Failure> {
    Ok(Body(app.sessions().episode(&principal.tenant, episode).await?))
}

/// Read one recorded step, uncut.
#[utoipa::path(get, path = "/v1/episodes/{id}/steps/{seq}", tag = "episodes",
    params(("id" = EpisodeId, Path), ("seq" = u64, Path, description = "The step's number, from 1.")),
    responses((status = 200, description = "The step.", body = StepRecord)))]
pub(super) async fn get_step(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
    Seq(seq): Seq,
) -> Result<Body<StepRecord>, Failure> {
    Ok(Body(app.sessions().step_record(&principal.tenant, episode, seq).await?))
}

/// In which form a trajectory is wanted.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TrajectoryForm {
    /// One document.
    #[default]
    Json,
    /// A line with episode and task, then a line per step.
    Jsonl,
    /// Output of a terminal, for a terminal player (asciicast, version 2).
    Asciicast,
    /// A page that stands alone: each step with its picture, observation and requests.
    Html,
    /// An archive that Playwright's trace viewer opens.
    Playwright,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TrajectoryQuery {
    /// In which form it is wanted.
    #[serde(default)]
    #[param(inline, required = false)]
    format: TrajectoryForm,
}

/// Read a whole episode, those steps before a fork included.
#[utoipa::path(get, path = "/v1/episodes/{id}/trajectory", tag = "episodes", params(("id" = EpisodeId, Path), TrajectoryQuery),
    responses((status = 200, description = "The episode, its task and every step.", content(
        (Trajectory = "application/json"), (String = "application/jsonl"), (String = "application/x-asciicast"), (String = "text/html"),
        (Vec<u8> = "application/zip")))))]
pub(super) async fn get_trajectory(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
    Query(query): Query<TrajectoryQuery>,
) -> Result<Response, Failure> {
    let trajectory = app.sessions().trajectory(&principal.tenant, episode).await?;
    match query.format {
        TrajectoryForm::Json => Ok(Body(trajectory).into_response()),
        TrajectoryForm::Jsonl => {
            let lines = lines(&trajectory).map_err(|error| internal(&error))?;
            Ok(([(CONTENT_TYPE, "application/jsonl")], lines).into_response())
        }
        TrajectoryForm::Asciicast => {
            // A turn of several calls has the data of each.
            let parts = trajectory.steps.iter().flat_map(|step| match &step.answer.observation.data {
                Value::Array(parts) => parts.as_slice(),
                whole => std::slice::from_ref(whole),
            });
            let cast = asciicast(parts);
            if cast.is_empty() {
                let detail = "this episode printed nothing on a terminal: ask for one that did";
                return Err(Failure::new(Code::NotSupported, detail));
            }
            Ok(([(CONTENT_TYPE, "application/x-asciicast")], cast).into_response())
        }
        TrajectoryForm::Html => {
            let contents = contents(&app, &principal.tenant, &trajectory).await?;
            let headers =
                [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, "sandbox allow-scripts")];
            Ok((headers, recording::page(&trajectory, &contents)).into_response())
        }
        TrajectoryForm::Playwright => {
            let contents = contents(&app, &principal.tenant, &trajectory).await?;
            let archive = recording::trace(&trajectory, &contents).map_err(|error| internal(&error))?;
            Ok(([(CONTENT_TYPE, "application/zip")], archive).into_response())
        }
    }
}

/// Contents that a recording needs, up to a total size.
async fn contents(app: &App, tenant: &Tenant, trajectory: &Trajectory) -> Result<Contents, Failure> {
    let mut contents = Contents::new();
    let mut bytes = 0;
    for digest in recording::named(trajectory) {
        let blob = app.sessions().blob(tenant, trajectory.episode.id, digest).await?;
        bytes += blob.bytes.len();
        if bytes > RECORDING_BYTES_MAX {
            break;
        }
        contents.insert(digest.to_owned(), (blob.media_type, blob.bytes));
    }
    Ok(contents)
}

fn lines(trajectory: &Trajectory) -> Result<Vec<u8>, serde_json::Error> {
    fn line(lines: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
        serde_json::to_writer(&mut *lines, value)?;
        lines.push(b'\n');
        Ok(())
    }
    let mut text = Vec::new();
    line(&mut text, &json!({"episode": trajectory.episode, "task": trajectory.task}))?;
    for step in &trajectory.steps {
        line(&mut text, step)?;
    }
    Ok(text)
}

/// List the verdicts of an episode, oldest first.
#[utoipa::path(get, path = "/v1/episodes/{id}/verdicts", tag = "episodes", params(("id" = EpisodeId, Path)),
    responses((status = 200, description = "Every verdict.", body = List<Verdict>)))]
pub(super) async fn list_verdicts(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
) -> Result<Body<List<Verdict>>, Failure> {
    Ok(Body(app.sessions().verdicts(&principal.tenant, episode).await?.into()))
}

/// Judge a stored episode again, with the newest or a named version of the environment.
#[utoipa::path(post, path = "/v1/episodes/{id}/verify", tag = "episodes", params(("id" = EpisodeId, Path)),
    request_body(content = Option<Rescore>, example = json!({"version": 2})),
    responses((status = 200, description = "The verdict.", body = Verdict)))]
pub(super) async fn rescore_episode(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
    OptionalJson(request): OptionalJson<Rescore>,
) -> Result<Body<Verdict>, Failure> {
    Ok(Body(app.sessions().rescore(&principal.tenant, episode, request).await?))
}

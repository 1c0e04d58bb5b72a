//! `/v1/episodes/{id}/calls`: what models were asked in an episode, and what they answered.

use axum::extract::State;
use palestra_protocol::id::{CallId, EpisodeId};
use palestra_protocol::list::Page;
use palestra_protocol::model_call::ModelCall;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::Runner;
use super::extract::{Id, Query};
use super::page;
use super::problem::Failure;
use crate::app::App;

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

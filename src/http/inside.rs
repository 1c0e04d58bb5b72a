//! Insides of environments, for those alone who publish or whose job needs them.

use axum::extract::State;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{ProveTask, ProvenTask};
use palestra_protocol::list::List;
use palestra_protocol::problem::{Code, Problem};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::{Insider, Inspector};
use super::extract::{EnvironmentName, Json, Query};
use super::problem::Failure;
use crate::app::App;
use palestra_catalog::ActionPage;
use palestra_environment::policy::{Builtin, UnknownPolicy};
use palestra_environment::task::SEED_MAX;

/// Actions of a page where no limit is named.
const ACTIONS_DEFAULT: u64 = 100;
/// Actions of a page.
const ACTIONS_PER_PAGE_MAX: u64 = 1_000;
/// Actions of an episode that are told: each page begins the episode anew.
const ACTIONS_MAX: u64 = 4_096;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ActionsQuery {
    /// `builtin:oracle`, `builtin:random` or `builtin:null`.
    policy: String,
    /// The task's id.
    task: String,
    /// Randomness of the random policy.
    #[serde(default)]
    #[param(required = false)]
    seed: u64,
    /// The first place; with `limit` at most 4096.
    #[serde(default)]
    #[param(required = false, maximum = 4_095)]
    offset: u64,
    /// Most actions.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u64>,
}

/// Tell what a built-in policy does in a task.
///
/// The oracle's actions solve the task, so this needs the scope that publishes, or the token of a lease whose job plays the
/// environment by a built-in policy.
#[utoipa::path(get, path = "/v1/environments/{family}/{name}/actions", tag = "environments",
    params(("family" = String, Path, description = "The part before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."), ActionsQuery),
    responses((status = 200, description = "Actions from `offset` on; fewer than `limit` where the policy gives up.", body = List<Action>),
              (status = 409, description = "No solution of the task is known.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list_actions(
    State(app): State<App>,
    Insider(principal): Insider,
    EnvironmentName(name): EnvironmentName,
    Query(query): Query<ActionsQuery>,
) -> Result<Body<List<Action>>, Failure> {
    let malformed = |detail: String| Failure::new(Code::Malformed, detail);
    let policy: Builtin = query
        .policy
        .parse()
        .map_err(|error: UnknownPolicy| malformed(format!("the policy is unknown, correct it: {error}")))?;
    let limit = query.limit.unwrap_or(ACTIONS_DEFAULT);
    if !(1..=ACTIONS_PER_PAGE_MAX).contains(&limit) {
        return Err(malformed(format!("limit must be 1 to {ACTIONS_PER_PAGE_MAX}")));
    }
    if query.offset.saturating_add(limit) > ACTIONS_MAX {
        return Err(malformed(format!("offset and limit are at most {ACTIONS_MAX} together")));
    }
    let ActionsQuery { task, seed, offset, .. } = query;
    let actions = app.catalog().actions(&principal.tenant, &name, ActionPage { policy, task, seed, offset, limit });
    Ok(Body(actions.await?.into()))
}

/// Prove a task of an environment that is done in sandboxes or databases.
///
/// It is played and judged by its solution, which has to reach the maximum, by doing nothing, and by what must not pass. This takes as
/// long as the task, and needs the scope that publishes, or the token of a lease whose job checks the environment.
#[utoipa::path(post, path = "/v1/environments/{family}/{name}/proof", tag = "environments",
    params(("family" = String, Path, description = "The part before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    request_body(content = ProveTask, example = json!({"split": "train", "number": 0})),
    responses((status = 200, description = "What was found.", body = ProvenTask),
              (status = 409, description = "Its tasks are done inside the server, and are proven by playing them.", body = Problem,
               content_type = "application/problem+json")))]
pub(super) async fn prove_task(
    State(app): State<App>,
    Inspector(principal): Inspector,
    EnvironmentName(name): EnvironmentName,
    Json(request): Json<ProveTask>,
) -> Result<Body<ProvenTask>, Failure> {
    if request.number > SEED_MAX {
        return Err(Failure::invalid("number", "a number must be at most 2^53 - 1"));
    }
    Ok(Body(app.catalog().prove(&principal.tenant, &name, &request).await?))
}

//! `/v1/environments`: what can be played, and its tasks.

use axum::extract::State;
use palestra_protocol::environment::{Environment, EnvironmentSummary, Task};
use palestra_protocol::list::{List, Page};
use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Code;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::Runner;
use super::extract::{EnvironmentName, Query};
use super::page;
use super::perform::ToolForm;
use super::problem::Failure;
use crate::app::App;
use palestra_catalog::{TASKS_PER_PAGE_MAX, TaskPage};
use palestra_store::row::PageRequest;

/// Tasks of a page where no limit is named.
const TASKS_DEFAULT: u64 = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Environments of this family alone.
    family: Option<String>,
    /// Environments with this tag alone.
    tag: Option<String>,
    /// Environments whose name or description contains this, whatever the case.
    q: Option<String>,
    /// Most rows; 1,000 where left out.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl ListQuery {
    fn wants(&self, environment: &Environment) -> bool {
        self.cursor.as_ref().is_none_or(|cursor| environment.name > *cursor)
            && self.family.as_ref().is_none_or(|family| environment.family == *family)
            && self.tag.as_ref().is_none_or(|tag| environment.tags.contains(tag))
            && self.q.as_ref().map(|words| words.to_lowercase()).is_none_or(|words| {
                environment.name.to_lowercase().contains(&words)
                    || environment.description.to_lowercase().contains(&words)
            })
    }
}

/// List the environments that can be played, without their tools and schemas.
#[utoipa::path(get, path = "/v1/environments", tag = "environments", params(ListQuery),
    responses((status = 200, description = "Every environment in its newest version, by name.", body = Page<EnvironmentSummary>)))]
pub(super) async fn list_environments(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<EnvironmentSummary>>, Failure> {
    let limit = query.limit.unwrap_or(page::ROWS_MAX);
    if !(1..=page::ROWS_MAX).contains(&limit) {
        return Err(Failure::new(Code::Malformed, format!("limit must be 1 to {}", page::ROWS_MAX)));
    }
    if query.cursor.as_deref().is_some_and(|cursor| !NameKind::Environment.fits(cursor)) {
        return Err(page::unknown_cursor());
    }
    let mut environments = app.catalog().list(&principal.tenant).await?;
    environments.retain(|environment| query.wants(environment));
    let rows = environments.into_iter().map(EnvironmentSummary::from).collect();
    let asked = PageRequest { before: query.cursor, limit: limit + 1 };
    Ok(Body(page::page(rows, &asked, |environment| environment.name.clone())))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct GetQuery {
    /// Which version; the newest where left out.
    version: Option<u32>,
    /// In which form tools are wanted.
    #[serde(default)]
    #[param(inline, required = false)]
    tools: ToolForm,
}

/// Describe an environment.
#[utoipa::path(get, path = "/v1/environments/{family}/{name}", tag = "environments",
    params(("family" = String, Path, description = "The part before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."), GetQuery),
    responses((status = 200, description = "The environment.", body = Environment)))]
pub(super) async fn get_environment(
    State(app): State<App>,
    Runner(principal): Runner,
    EnvironmentName(name): EnvironmentName,
    Query(query): Query<GetQuery>,
) -> Result<Body<Environment>, Failure> {
    let name = versioned(name, query.version);
    let mut environment = app.catalog().get(&principal.tenant, &name).await?;
    query.tools.convert(&mut environment.tools);
    Ok(Body(environment))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TasksQuery {
    /// Which version; the newest where left out.
    version: Option<u32>,
    /// Which split.
    #[serde(default = "train")]
    #[param(required = false, default = "train")]
    split: String,
    /// Names a fixed permutation of the split; the natural order where left out.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    shuffle: Option<u64>,
    /// The first place.
    #[serde(default)]
    #[param(required = false)]
    offset: u64,
    /// Most rows.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u64>,
    /// In which form tools are wanted.
    #[serde(default)]
    #[param(inline, required = false)]
    tools: ToolForm,
}

pub(super) fn versioned(name: String, version: Option<u32>) -> String {
    match version {
        Some(version) => format!("{name}@{version}"),
        None => name,
    }
}

fn train() -> String {
    "train".to_owned()
}

/// List tasks of a split.
///
/// `shuffle=7` is a fixed permutation, so workers with disjoint offsets sample without replacement and can resume.
#[utoipa::path(get, path = "/v1/environments/{family}/{name}/tasks", tag = "environments",
    params(("family" = String, Path, description = "The part before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."), TasksQuery),
    responses((status = 200, description = "Tasks from `offset` on; fewer than `limit` at the end of the split.", body = List<Task>)))]
pub(super) async fn list_tasks(
    State(app): State<App>,
    Runner(principal): Runner,
    EnvironmentName(name): EnvironmentName,
    Query(query): Query<TasksQuery>,
) -> Result<Body<List<Task>>, Failure> {
    let limit = query.limit.unwrap_or(TASKS_DEFAULT);
    if !(1..=TASKS_PER_PAGE_MAX).contains(&limit) {
        return Err(Failure::new(Code::Malformed, format!("limit must be 1 to {TASKS_PER_PAGE_MAX}")));
    }
    let name = versioned(name, query.version);
    let page = TaskPage { split: query.split, shuffle: query.shuffle, offset: query.offset, limit };
    let mut tasks = app.catalog().tasks(&principal.tenant, &name, &page).await?;
    tasks.iter_mut().for_each(|task| query.tools.convert(&mut task.tools));
    Ok(Body(tasks.into()))
}

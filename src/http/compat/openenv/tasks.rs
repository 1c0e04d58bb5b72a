//! The task API: which tasks there are. A task is chosen by `reset(split=.., index=..)`.

use axum::extract::{FromRequestParts, RawPathParams};
use palestra_protocol::environment::Task;
use palestra_protocol::problem::Code;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::super::super::answer::Body;
use super::super::super::problem::Failure;
use super::arguments::read_whole;
use super::player::Player;
use super::refusal::{Detail, Refusal, ValidationProblem};
use super::rest::Object;
use crate::app::App;
use palestra_catalog::{TASKS_PER_PAGE_MAX, TaskPage};

/// Tasks of a preview.
const PREVIEW_TASKS: u64 = 100;

/// A split.
#[derive(Serialize, ToSchema)]
pub(super) struct Split {
    /// Its name.
    name: String,
    /// `train`, `validation` or `test`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Number of its tasks.
    num_tasks: u64,
}

/// Tasks of a split.
#[derive(Serialize, ToSchema)]
pub(super) struct TaskList {
    /// In the order of the split.
    tasks: Vec<Task>,
    /// The environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    env_name: Option<String>,
}

/// One task.
#[derive(Serialize, ToSchema)]
pub(super) struct OneTask {
    task: Task,
}

/// Number of tasks of a split.
#[derive(Serialize, ToSchema)]
pub(super) struct TaskCount {
    num_tasks: u64,
}

/// Name the environment of this address, as the other calls of the task API take it.
#[utoipa::path(get, path = "/list_environments", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    responses((status = 200, description = "Its name.", body = Vec<String>)))]
pub(super) async fn list_environments(player: Player) -> Result<Body<Vec<String>>, Refusal> {
    player.entry().await?;
    Ok(Body(vec![short_name(&player).to_owned()]))
}

/// List the splits.
#[utoipa::path(get, path = "/{env}/splits", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."),
           ("env" = String, Path, description = "The environment, as `list_environments` names it.")),
    responses((status = 200, description = "Every split.", body = Vec<Split>)))]
pub(super) async fn list_splits(asked: Asked) -> Result<Body<Vec<Split>>, Refusal> {
    let entry = asked.0.entry().await?;
    let split = |(name, num_tasks): (&String, &u64)| {
        let kind = match name.as_str() {
            "train" => "train",
            "test" => "test",
            _ => "validation",
        };
        Split { name: name.clone(), kind, num_tasks: *num_tasks }
    };
    Ok(Body(entry.spec().splits.iter().map(split).collect()))
}

/// List the first tasks of a split: generators have no end of them, so this is a preview.
#[utoipa::path(post, path = "/{env}/tasks", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."),
           ("env" = String, Path, description = "The environment, as `list_environments` names it.")),
    request_body(content = Value, example = json!({"split": "train"})),
    responses((status = 200, description = "At most 100 tasks.", body = TaskList),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn list_tasks(asked: Asked, Object(data): Object) -> Result<Body<TaskList>, Refusal> {
    let split = read_split(&data)?;
    let tasks = asked.tasks(&split, 0, PREVIEW_TASKS).await?;
    Ok(Body(TaskList { tasks, env_name: Some(short_name(&asked.0).to_owned()) }))
}

/// Count the tasks of a split.
#[utoipa::path(post, path = "/{env}/num_tasks", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."),
           ("env" = String, Path, description = "The environment, as `list_environments` names it.")),
    request_body(content = Value, example = json!({"split": "train"})),
    responses((status = 200, description = "How many there are.", body = TaskCount),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn count_tasks(asked: Asked, Object(data): Object) -> Result<Body<TaskCount>, Refusal> {
    Ok(Body(TaskCount { num_tasks: asked.length(&read_split(&data)?).await? }))
}

/// Show one task.
#[utoipa::path(post, path = "/{env}/task", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."),
           ("env" = String, Path, description = "The environment, as `list_environments` names it.")),
    request_body(content = Value, example = json!({"split": "train", "index": 0})),
    responses((status = 200, description = "The task.", body = OneTask),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn get_task(asked: Asked, Object(data): Object) -> Result<Body<OneTask>, Refusal> {
    let split = read_split(&data)?;
    let index = read_whole(&data, "index").map_err(|refusal| refusal.inside("body"))?;
    let index = index.ok_or_else(|| missing("index"))?;
    let task = asked.tasks(&split, index, 1).await?.pop();
    let task = task.ok_or_else(|| Failure::new(Code::Malformed, "Invalid task index"))?;
    Ok(Body(OneTask { task }))
}

/// Show tasks in a row, from `start` up to but not including `stop`.
#[utoipa::path(post, path = "/{env}/task_range", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."),
           ("env" = String, Path, description = "The environment, as `list_environments` names it.")),
    request_body(content = Value, example = json!({"split": "train", "start": 0, "stop": 3})),
    responses((status = 200, description = "The tasks.", body = TaskList),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn list_range(asked: Asked, Object(data): Object) -> Result<Body<TaskList>, Refusal> {
    let split = read_split(&data)?;
    let read = |name| read_whole(&data, name).map_err(|refusal| refusal.inside("body"));
    let (start, stop) = (read("start")?.unwrap_or(0), read("stop")?);
    let length = asked.length(&split).await?;
    let stop = stop.unwrap_or(length).min(length);
    let count = stop.saturating_sub(start);
    if count > TASKS_PER_PAGE_MAX {
        let words = format!("At most {TASKS_PER_PAGE_MAX} tasks fit into one answer, these are {count}");
        return Err(Detail::new("value_error", &["body", "stop"], words, &Value::Null).into());
    }
    Ok(Body(TaskList { tasks: asked.tasks(&split, start, count).await?, env_name: None }))
}

/// The caller who asks for tasks, where the path names the environment twice and alike.
pub(super) struct Asked(Player);

impl FromRequestParts<App> for Asked {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, app: &App) -> Result<Self, Refusal> {
        let player = Player::from_request_parts(parts, app).await?;
        let unknown =
            || Failure::new(Code::UnknownEnvironment, "unknown environment: choose one that list_environments names");
        let parameters = RawPathParams::from_request_parts(parts, app).await.map_err(|_| unknown())?;
        let named = parameters.iter().find(|(name, _)| *name == "env").map(|(_, value)| value).unwrap_or_default();
        let fits = [short_name(&player), player.plain_name(), &player.environment]
            .iter()
            .any(|name| name.eq_ignore_ascii_case(named));
        if !fits {
            return Err(unknown().into());
        }
        Ok(Self(player))
    }
}

impl Asked {
    async fn length(&self, split: &str) -> Result<u64, Refusal> {
        let entry = self.0.entry().await?;
        let length = entry.spec().splits.get(split).copied();
        length.ok_or_else(|| {
            Failure::new(Code::UnknownTask, "there is no such split: choose one that list_splits names").into()
        })
    }

    async fn tasks(&self, split: &str, offset: u64, limit: u64) -> Result<Vec<Task>, Refusal> {
        let page = TaskPage { split: split.to_owned(), shuffle: None, offset, limit };
        let player = &self.0;
        let tasks = player.app.catalog().tasks(&player.principal.tenant, &player.environment, &page).await;
        tasks.map_err(|error| Refusal::Failed(error.into()))
    }
}

fn short_name(player: &Player) -> &str {
    let name = player.plain_name();
    name.rsplit('/').next().unwrap_or(name)
}

fn read_split(data: &Map<String, Value>) -> Result<String, Refusal> {
    match data.get("split") {
        Some(Value::String(split)) => Ok(split.clone()),
        None => Err(missing("split").into()),
        Some(other) => {
            Err(Detail::new("string_type", &["body", "split"], "Input should be a valid string", other).into())
        }
    }
}

fn missing(name: &str) -> Detail {
    Detail::new("missing", &["body", name], "Field required", &Value::Null)
}

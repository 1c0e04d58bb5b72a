//! `/v1/environments`: what can be played, its tasks, and publishing.

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use palestra_protocol::environment::{Environment, Published, Task};
use palestra_protocol::list::{List, Page};
use palestra_protocol::problem::Code;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::answer::Body;
use super::body;
use super::caller::{Publisher, Runner};
use super::extract::{EnvironmentName, Query, media_type, parse};
use super::page;
use super::perform::ToolForm;
use super::problem::Failure;
use crate::app::App;
use crate::catalog::{TASKS_PER_PAGE_MAX, TaskPage};
use crate::environment::dataset::Submission;
use crate::store::row::PageRequest;

/// Tasks of a page where no limit is named.
const TASKS_DEFAULT: u64 = 100;
/// Longest text that describes a publication, in bytes.
const TEXT_BYTES_MAX: usize = 65_536;

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
    /// In which form tools are wanted.
    #[serde(default)]
    #[param(inline, required = false)]
    tools: ToolForm,
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

/// List the environments that can be played.
#[utoipa::path(get, path = "/v1/environments", tag = "environments", params(ListQuery),
    responses((status = 200, description = "Every environment in its newest version, by name.", body = Page<Environment>)))]
pub(super) async fn list_environments(
    State(app): State<App>,
    Runner(principal): Runner,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<Environment>>, Failure> {
    let limit = query.limit.unwrap_or(page::ROWS_MAX);
    if !(1..=page::ROWS_MAX).contains(&limit) {
        return Err(Failure::new(Code::Malformed, format!("limit is 1 to {}", page::ROWS_MAX)));
    }
    let mut environments = app.catalog().list(&principal.tenant).await?;
    environments.retain(|environment| query.wants(environment));
    environments.iter_mut().for_each(|environment| query.tools.convert(&mut environment.tools));
    let asked = PageRequest { before: query.cursor, limit: limit + 1 };
    Ok(Body(page::page(environments, &asked, |environment| environment.name.clone())))
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

fn versioned(name: String, version: Option<u32>) -> String {
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
        return Err(Failure::new(Code::Malformed, format!("limit is 1 to {TASKS_PER_PAGE_MAX}")));
    }
    let name = versioned(name, query.version);
    let page = TaskPage { split: query.split, shuffle: query.shuffle, offset: query.offset, limit };
    let mut tasks = app.catalog().tasks(&principal.tenant, &name, &page).await?;
    tasks.iter_mut().for_each(|task| query.tools.convert(&mut task.tools));
    Ok(Body(tasks.into()))
}

/// What a data set is published as.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Heading {
    /// `dataset/name`; may stand in the file's own header instead.
    name: Option<String>,
    /// Which verifier judges rows that name none: a name, or a JSON object with name and options.
    verifier: Option<String>,
    /// System text of rows that have none.
    system: Option<String>,
    /// What it is about.
    description: Option<String>,
    /// Words to filter by, separated by commas.
    tags: Option<String>,
}

impl Heading {
    fn into_submission(self) -> Submission {
        let tags = self.tags.unwrap_or_default();
        Submission {
            name: self.name,
            verifier: self.verifier.map(Value::String),
            system: self.system,
            description: self.description,
            tags: tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
        }
    }
}

/// Refuses what no store can hold, and what is too long to be a heading.
fn check(submission: &Submission) -> Result<(), Failure> {
    let texts = [("name", &submission.name), ("system", &submission.system), ("description", &submission.description)];
    let texts = texts.into_iter().filter_map(|(field, text)| text.as_ref().map(|text| (field, text)));
    for (field, text) in texts.chain(submission.tags.iter().map(|tag| ("tags", tag))) {
        if text.contains('\0') {
            return Err(Failure::invalid(field, "contains a NUL"));
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(Failure::invalid(field, format!("is longer than {TEXT_BYTES_MAX} bytes")));
        }
    }
    Ok(())
}

/// A data set in one JSON document.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishJson {
    /// What it is published as: `name`, `verifier`, `system`, `description` and `tags`, as in the query.
    #[schema(value_type = serde_json::Value)]
    environment: Submission,
    /// Its rows.
    #[schema(value_type = Vec<serde_json::Value>)]
    rows: Vec<Box<RawValue>>,
}

/// Publish a data set.
///
/// JSON Lines with the heading in the query, or one JSON document. The same content again is the version that exists.
/// Every fault is reported, with its line.
#[utoipa::path(post, path = "/v1/environments", tag = "environments", params(Heading),
    request_body(
        content(
            (String = "application/jsonl", example = json!("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n{\"prompt\":\"3+3?\",\"answer\":\"6\"}\n")),
            (String = "application/x-ndjson", example = json!("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n")),
            (String = "text/plain", example = json!("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n")),
            (PublishJson = "application/json", example = json!({"environment": {"name": "dataset/sums", "verifier": "number"}, "rows": [{"prompt": "2+2?", "answer": "4"}]})),
        ),
        description = "The rows."),
    responses((status = 201, description = "A new version.", body = Published),
              (status = 200, description = "The same content was there already.", body = Published)))]
pub(super) async fn publish_environment(
    State(app): State<App>,
    Publisher(principal): Publisher,
    Query(heading): Query<Heading>,
    Upload(upload): Upload,
) -> Result<Response, Failure> {
    let (submission, lines) = match upload {
        Document::Lines(lines) => (heading.into_submission(), lines),
        Document::Json(submission, lines) => (submission, lines),
    };
    check(&submission)?;
    let published = app.catalog().publish(&principal.tenant, submission, lines, app.clock().now()).await?;
    let status = if published.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Body(published)).into_response())
}

/// A published file in one of the forms that are read.
pub(super) struct Upload(Document);

enum Document {
    Lines(Vec<u8>),
    Json(Submission, Vec<u8>),
}

impl FromRequest<App> for Upload {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &App) -> Result<Self, Failure> {
        let media_type = media_type(request.headers());
        match media_type.as_deref() {
            Some("application/jsonl" | "application/x-ndjson" | "application/x-jsonlines" | "text/plain") => {
                Ok(Self(Document::Lines(body::read(request).await?.into())))
            }
            Some("application/json") => {
                let body = body::read(request).await?;
                let document: PublishJson = parse(&body)?;
                Ok(Self(Document::Json(document.environment, lines(&document.rows))))
            }
            _ => Err(Failure::new(
                Code::UnsupportedMediaType,
                "send JSON Lines as `application/jsonl`, or one document as `application/json`",
            )),
        }
    }
}

/// One row per line. Line breaks cannot stand inside JSON strings, so those in a row are space between its parts.
fn lines(rows: &[Box<RawValue>]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(rows.iter().map(|row| row.get().len() + 1).sum());
    for row in rows {
        lines.extend(row.get().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
        lines.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_document_become_lines() {
        let document: PublishJson =
            parse(b"{\"environment\":{\"name\":\"a\"},\"rows\":[{\n\"prompt\":\"x\\ny\"\n},{\"prompt\":\"z\"}]}")
                .unwrap();
        let text = String::from_utf8(lines(&document.rows)).unwrap();
        assert_eq!(text, "{ \"prompt\":\"x\\ny\" }\n{\"prompt\":\"z\"}\n");
    }

    #[test]
    fn a_heading_holds_what_can_be_stored() {
        let submission = |name: &str, tags: &str| {
            Heading { name: Some(name.to_owned()), tags: Some(tags.to_owned()), ..Heading::default() }.into_submission()
        };
        assert_eq!(check(&submission("a\0b", "")).unwrap_err().0.errors[0].field.as_deref(), Some("name"));
        let submission = submission("dataset/a", " x, ,y ");
        assert!(check(&submission).is_ok());
        assert_eq!(submission.tags, ["x", "y"]);
    }
}

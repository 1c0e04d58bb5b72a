//! Publishing: the forms in which definitions are sent.

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use palestra_protocol::environment::{Definition, Published};
use palestra_protocol::problem::{Code, Problem};
use palestra_workbench::work::{Upload as WorkUpload, UploadedFile};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::answer::Body;
use super::caller::{Inspector, Publisher};
use super::environments::versioned;
use super::extract::{EnvironmentName, Query, media_type, parse};
use super::problem::{Failure, internal};
use super::{archive, body};
use crate::app::App;
use palestra_families::app::Files;
use palestra_families::dataset::Submission as DatasetSubmission;
use palestra_families::definition::APP;
use palestra_families::published::Submission;
use palestra_families::{sql, web, work};

/// Longest text that describes a publication, in bytes.
const TEXT_BYTES_MAX: usize = 65_536;
/// The name of a file that comes without one.
const ONLY_FILE: &str = "app.yaml";

/// Read the files of an app. They hold the solutions of its tasks, so this needs the scope that publishes, or the lease of a check.
#[utoipa::path(get, path = "/v1/environments/{family}/{name}/definition", tag = "environments",
    params(("family" = String, Path, description = "The part before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    responses((status = 200, description = "The files as they were published.", body = Definition),
              (status = 409, description = "It is no app.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn get_definition(
    State(app): State<App>,
    Inspector(principal): Inspector,
    EnvironmentName(name): EnvironmentName,
) -> Result<Body<Definition>, Failure> {
    let files = app.catalog().files(&principal.tenant, &name).await?;
    let files = files
        .ok_or_else(|| Failure::new(Code::NotSupported, "only apps have a definition that can be read: name an app"))?;
    Ok(Body(Definition { kind: APP.to_owned(), files }))
}

/// The heading of a published data set.
#[derive(Debug, Default, PartialEq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Heading {
    /// `dataset/name`, which may stand in the file's own header instead, or `terminal/name`, `code/name`, `repository/name`, `sql/name`,
    /// `web/name`.
    name: Option<String>,
    /// Which verifier judges rows that name none: a name, or a JSON object with name and options.
    verifier: Option<String>,
    /// System text of rows that have none.
    system: Option<String>,
    /// Its description.
    description: Option<String>,
    /// Words to filter by, separated by commas.
    tags: Option<String>,
    /// Work of sandboxes, databases, and web pages: tasks that are refused are left out, with a note each, rather than refusing all.
    keep_going: Option<bool>,
    /// Work of sandboxes, and web pages: tasks without a solution can be trained on, though nothing proves that they can be solved.
    trust_unproven: Option<bool>,
    /// Terminals: most that doing nothing scores in tasks that declare nothing else, in [0, 1).
    floor: Option<f64>,
    /// Everything is read, checked and proven as for a publication, and nothing is stored. The answer tells the version that it would
    /// be, and `created` whether that would be a new one.
    dry_run: Option<bool>,
}

impl Heading {
    /// Refuses settings that say nothing about what is published.
    fn check_none_of(&self, what: &str, fields: &[&str]) -> Result<(), Failure> {
        let given = [
            ("keep_going", self.keep_going.is_some_and(|flag| flag)),
            ("trust_unproven", self.trust_unproven.is_some_and(|flag| flag)),
            ("floor", self.floor.is_some()),
        ];
        match given.iter().find(|(name, is_given)| *is_given && fields.contains(name)) {
            Some((name, _)) => Err(Failure::invalid(name, format!("does not apply to {what}: leave it out"))),
            None => Ok(()),
        }
    }

    fn into_submission(self) -> DatasetSubmission {
        let tags = self.tags.unwrap_or_default();
        DatasetSubmission {
            name: self.name,
            verifier: self.verifier.map(Value::String),
            system: self.system,
            description: self.description,
            tags: tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
        }
    }
}

fn rows(submission: DatasetSubmission, lines: Vec<u8>) -> Result<Submission, Failure> {
    check(&submission)?;
    Ok(Submission::Dataset(submission, lines))
}

/// An app says by itself what the heading would say.
fn app_of(heading: &Heading, files: Files) -> Result<Submission, Failure> {
    if *heading == Heading::default() {
        return Ok(Submission::App(files));
    }
    Err(Failure::new(Code::Malformed, "an app names and describes itself: send it without a query"))
}

/// Work names itself in the heading, which says nothing of how it is judged: its tasks do.
async fn work_of(heading: Heading, upload: Document) -> Result<Submission, Failure> {
    if heading.verifier.is_some() || heading.system.is_some() {
        return Err(Failure::new(
            Code::Malformed,
            "work of this family says by itself how it is judged: leave out `verifier` and `system`",
        ));
    }
    let upload = match upload {
        Document::Lines(lines) => {
            let text = String::from_utf8(lines);
            WorkUpload::Text(
                text.map_err(|_| Failure::new(Code::Malformed, "the file is no UTF-8 text: save it as UTF-8"))?,
            )
        }
        Document::Yaml(text) => {
            let file = UploadedFile { mode: 0o644, bytes: text.into_bytes() };
            // A task is called as its file is.
            let name = heading.name.as_deref().and_then(|name| name.split('/').nth(1)).unwrap_or_default();
            WorkUpload::Files([(format!("{name}.yaml"), file)].into())
        }
        Document::Archive(archive) => WorkUpload::Files(unpacked(move || archive::tree(&archive)).await?),
        Document::Json(..) | Document::App(_) => {
            let detail = "the content type is none of work: send `application/jsonl`, `application/yaml`, `application/x-tar` or `application/gzip`";
            return Err(Failure::new(Code::UnsupportedMediaType, detail));
        }
    };
    let keep_going = heading.keep_going.unwrap_or(false);
    let trust_unproven = heading.trust_unproven.unwrap_or(false);
    let floor = heading.floor;
    let DatasetSubmission { name, description, tags, .. } = heading.into_submission();
    let submission = DatasetSubmission {
        name: name.clone(),
        description: description.clone(),
        tags: tags.clone(),
        ..DatasetSubmission::default()
    };
    check(&submission)?;
    let (name, description) = (name.unwrap_or_default(), description.unwrap_or_default());
    Ok(Submission::Work(work::Submission { name, description, tags, upload, keep_going, trust_unproven, floor }))
}

/// Databases name themselves in the heading; everything else about them is in their files.
async fn sql_of(heading: Heading, upload: Document) -> Result<Submission, Failure> {
    if heading.verifier.is_some() || heading.system.is_some() {
        let detail = "databases say by themselves how they are judged: leave out `verifier` and `system`";
        return Err(Failure::new(Code::Malformed, detail));
    }
    heading.check_none_of("databases", &["trust_unproven", "floor"])?;
    let Document::Archive(archive) = upload else {
        let detail = "databases come as a folder: send `application/x-tar` or `application/gzip`";
        return Err(Failure::new(Code::UnsupportedMediaType, detail));
    };
    let files = unpacked(move || archive::tree(&archive)).await?;
    let keep_going = heading.keep_going.unwrap_or(false);
    let submission = heading.into_submission();
    check(&submission)?;
    Ok(Submission::Sql(sql::Submission {
        name: submission.name.unwrap_or_default(),
        description: submission.description.unwrap_or_default(),
        tags: submission.tags,
        files: files.into_iter().map(|(path, file)| (path, file.bytes)).collect(),
        keep_going,
    }))
}

/// Web pages name themselves in the heading; everything else about them is in their files.
async fn web_of(heading: Heading, upload: Document) -> Result<Submission, Failure> {
    if heading.verifier.is_some() || heading.system.is_some() {
        let detail = "tasks on web pages say by themselves how they are judged: leave out `verifier` and `system`";
        return Err(Failure::new(Code::Malformed, detail));
    }
    heading.check_none_of("web pages", &["floor"])?;
    let Document::Archive(archive) = upload else {
        let detail = "web pages come as a folder: send `application/x-tar` or `application/gzip`";
        return Err(Failure::new(Code::UnsupportedMediaType, detail));
    };
    let files = unpacked(move || archive::tree(&archive)).await?;
    let keep_going = heading.keep_going.unwrap_or(false);
    let trust_unproven = heading.trust_unproven.unwrap_or(false);
    let submission = heading.into_submission();
    check(&submission)?;
    Ok(Submission::Web(web::Submission {
        name: submission.name.unwrap_or_default(),
        description: submission.description.unwrap_or_default(),
        tags: submission.tags,
        files: files.into_iter().map(|(path, file)| (path, file.bytes)).collect(),
        keep_going,
        trust_unproven,
    }))
}

/// Reads an archive where slow work belongs.
async fn unpacked<T: Send + 'static>(read: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(read).await.map_err(|error| internal(&error))?
}

/// Refuses what no store can hold, and what is too long to be a heading.
fn check(submission: &DatasetSubmission) -> Result<(), Failure> {
    let texts = [("name", &submission.name), ("system", &submission.system), ("description", &submission.description)];
    let texts = texts.into_iter().filter_map(|(field, text)| text.as_ref().map(|text| (field, text)));
    for (field, text) in texts.chain(submission.tags.iter().map(|tag| ("tags", tag))) {
        if text.contains('\0') {
            return Err(Failure::invalid(field, "contains a NUL: remove it"));
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(Failure::invalid(field, format!("must be at most {TEXT_BYTES_MAX} bytes")));
        }
    }
    Ok(())
}

/// A data set in one JSON document.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishJson {
    /// Its heading: `name`, `verifier`, `system`, `description` and `tags`, as in the query.
    #[schema(value_type = serde_json::Value)]
    environment: DatasetSubmission,
    /// Its rows.
    #[schema(value_type = Vec<serde_json::Value>)]
    rows: Vec<Box<RawValue>>,
}

/// Publish a data set or an app.
///
/// A data set is JSON Lines with the heading in the query, or one JSON document. An app is one YAML file, a JSON document with its
/// files by name, or a tar archive of them. Work that is done in sandboxes is named in the query (`terminal/name`, `code/name`,
/// `repository/name`): JSON Lines, one YAML file, or a tar archive of task folders; each task is proven by execution first. Databases are named `sql/name`: a tar archive of SQL scripts or SQLite files with a file of
/// questions, or of task templates. Web pages are named `web/name`: a tar archive of files or recordings with `web.yaml`, or of pages in
/// the layout of MiniWoB++; each task is played in a browser first. The same content again is the version that exists. Every fault is reported, with its
/// file and line.
#[utoipa::path(post, path = "/v1/environments", tag = "environments", params(Heading),
    request_body(
        content(
            (String = "application/jsonl", example = json!("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n{\"prompt\":\"3+3?\",\"answer\":\"6\"}\n")),
            (String = "application/x-ndjson", example = json!("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n")),
            (String = "text/plain", example = json!("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n")),
            (PublishDocument = "application/json", example = json!({"environment": {"name": "dataset/sums", "verifier": "number"}, "rows": [{"prompt": "2+2?", "answer": "4"}]})),
            (String = "application/yaml"),
            (Vec<u8> = "application/x-tar"),
            (Vec<u8> = "application/gzip"),
        ),
        description = "The rows of a data set, or the files of an app."),
    responses((status = 201, description = "A new version.", body = Published),
              (status = 200, description = "The same content was there already.", body = Published)))]
pub(super) async fn publish_environment(
    State(app): State<App>,
    Publisher(principal): Publisher,
    Query(mut heading): Query<Heading>,
    Upload(upload): Upload,
) -> Result<Response, Failure> {
    let dry_run = heading.dry_run.take().unwrap_or(false);
    let submission = match upload {
        upload if heading.name.as_deref().is_some_and(|name| work::family(name).is_some()) => {
            work_of(heading, upload).await?
        }
        upload if heading.name.as_deref().is_some_and(sql::is_sql) => sql_of(heading, upload).await?,
        upload if heading.name.as_deref().is_some_and(web::is_web) => web_of(heading, upload).await?,
        Document::Lines(lines) => {
            heading.check_none_of("a data set", &["keep_going", "trust_unproven", "floor"])?;
            rows(heading.into_submission(), lines)?
        }
        Document::Json(submission, lines) => rows(submission, lines)?,
        Document::App(files) => app_of(&heading, files)?,
        Document::Yaml(text) => app_of(&heading, Files::from([(ONLY_FILE.to_owned(), text)]))?,
        Document::Archive(archive) => app_of(&heading, unpacked(move || archive::files(&archive)).await?)?,
    };
    let catalog = app.catalog();
    if dry_run {
        return Ok(Body(catalog.rehearse(&principal.tenant, submission, app.clock().now()).await?).into_response());
    }
    let published = catalog.publish(&principal.tenant, submission, app.clock().now()).await?;
    let status = if published.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Body(published)).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WithdrawQuery {
    /// Which version; the newest where left out.
    version: Option<u32>,
}

/// Withdraw a version of a published environment.
///
/// It is not listed any more, and its name without a version means the newest of the others. What names the version itself goes on:
/// sessions, episodes, judging again, jobs. The same content published again is a new version.
#[utoipa::path(delete, path = "/v1/environments/{family}/{name}", tag = "environments",
    params(("family" = String, Path, description = "The part before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."), WithdrawQuery),
    responses((status = 204, description = "The version is withdrawn."),
              (status = 422, description = "It is built in.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn withdraw_environment(
    State(app): State<App>,
    Publisher(principal): Publisher,
    EnvironmentName(name): EnvironmentName,
    Query(query): Query<WithdrawQuery>,
) -> Result<StatusCode, Failure> {
    let name = versioned(name, query.version);
    app.catalog().withdraw(&principal.tenant, &name, app.clock().now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An app in one JSON document.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishApp {
    /// The sort of the definition.
    #[serde(rename = "kind")]
    _kind: Sort,
    /// The text of each file, by its name: `app.yaml` and others.
    files: Files,
}

/// The sort of definition in a document.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    /// An app.
    App,
}

/// A definition in one JSON document: an app where it has the member `kind`.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes the two forms, which are read apart so that faults name their places")]
pub(super) enum PublishDocument {
    /// A data set.
    Dataset(PublishJson),
    /// An app.
    App(PublishApp),
}

/// Tells the forms of a document apart.
#[derive(Deserialize)]
struct Kind {
    kind: Option<IgnoredAny>,
}

/// A published file in one of the forms that are read.
pub(super) struct Upload(Document);

enum Document {
    Lines(Vec<u8>),
    Json(DatasetSubmission, Vec<u8>),
    App(Files),
    Yaml(String),
    Archive(Vec<u8>),
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
                if serde_json::from_slice::<Kind>(&body).is_ok_and(|document| document.kind.is_some()) {
                    return Ok(Self(Document::App(parse::<PublishApp>(&body)?.files)));
                }
                let document: PublishJson = parse(&body)?;
                Ok(Self(Document::Json(document.environment, lines(&document.rows))))
            }
            Some("application/yaml" | "application/x-yaml" | "text/yaml") => {
                let text = String::from_utf8(body::read(request).await?.into());
                let text =
                    text.map_err(|_| Failure::new(Code::Malformed, "the file is no UTF-8 text: save it as UTF-8"))?;
                Ok(Self(Document::Yaml(text)))
            }
            Some("application/x-tar" | "application/gzip" | "application/x-gzip" | "application/x-gtar") => {
                Ok(Self(Document::Archive(body::read(request).await?.into())))
            }
            _ => Err(Failure::new(
                Code::UnsupportedMediaType,
                "the content type is none of a definition: send JSON Lines as `application/jsonl`, one document as `application/json`, or an app as `application/yaml`, `application/x-tar` or `application/gzip`",
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

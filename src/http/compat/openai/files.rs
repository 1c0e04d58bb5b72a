//! `/v1/files`: uploading, listing and reading files; what jobs learn from, and what they left.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use palestra_protocol::file::{File, FileDeleted, FileList, FileObject, FilePurpose, FileStatus, ListObject};
use palestra_protocol::id::FileId;
use palestra_protocol::problem::{Code, Problem};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::list::cut;
use crate::app::App;
use crate::http::answer::Body;
use crate::http::caller::JobRunner;
use crate::http::extract::{Id, Query};
use crate::http::files::{Incoming, file};
use crate::http::multipart::Multipart;
use crate::http::problem::Failure;
use palestra_auth::{Grant, Principal};
use palestra_jobs::{FileFilter, FileRow, JobsError};
use palestra_store::Tenant;
use palestra_store::row::PageRequest;

/// Files of a page where no limit is named.
const ROWS_DEFAULT: u32 = 1_000;
/// Most files of a page.
const ROWS_MAX: u32 = 10_000;
/// Longest purpose that is read.
const PURPOSE_BYTES_MAX: usize = 100;
/// Characters of a part's name that are repeated.
const PART_CHARACTERS_MAX: usize = 100;
/// The name of a file that came without one.
const UNNAMED: &str = "upload";
/// Bytes around the file in a body.
const AROUND_BYTES: u64 = 64 * 1024;

/// The parts of an upload, in any order.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a form for the API document: bodies are read part by part")]
pub(super) struct UploadForm {
    /// The file. For jobs: JSON Lines.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// `fine-tune` for what jobs learn from, `user_data` for what is only kept.
    #[schema(example = "fine-tune")]
    purpose: String,
}

/// Why an upload was refused: here, or by the queue.
enum Refused {
    Here(Failure),
    There(JobsError),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Here(failure)
    }
}

impl From<JobsError> for Refused {
    fn from(error: JobsError) -> Self {
        Self::There(error)
    }
}

/// A file as clients of OpenAI see it.
fn view(row: FileRow) -> File {
    File {
        id: row.id,
        object: FileObject::File,
        bytes: row.size_bytes,
        created_at: row.created_at.milliseconds().div_euclid(1_000),
        filename: row.name,
        purpose: row.purpose,
        status: FileStatus::Processed,
        digest: row.digest,
    }
}

/// Files are uploaded, listed and deleted with keys: the token of a lease reads what its job names, and nothing else.
fn require_key(principal: &Principal) -> Result<(), Failure> {
    match principal.grant {
        Grant::Job { .. } => {
            Err(Failure::new(Code::Forbidden, "the token of a lease reads files that its job names: use an API key"))
        }
        Grant::Scopes(_) | Grant::Session(_) => Ok(()),
    }
}

async fn require_sight(app: &App, principal: &Principal, file: FileId) -> Result<(), Failure> {
    if let Grant::Job { job, .. } = principal.grant
        && !app.jobs().names_file(job, file).await?
    {
        return Err(Failure::not_found("file"));
    }
    Ok(())
}

/// Upload a file.
///
/// It is there once it came as a whole; of what breaks off or is refused nothing is kept.
#[utoipa::path(post, path = "/v1/files", tag = "files",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 200, description = "The file.", body = File),
              (status = 413, description = "It is too large, or the tenant has no room for it.", body = Problem,
               content_type = "application/problem+json")))]
pub(in crate::http) async fn upload_file(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Result<Body<File>, Failure> {
    let incoming = Incoming::new(&headers, body);
    if let Err(failure) = require_key(&principal) {
        return Err(incoming.refuse(failure).await);
    }
    let most = app.config().job_settings().artifact_bytes_max;
    if incoming.declared_bytes().is_some_and(|bytes| bytes > most.saturating_add(AROUND_BYTES)) {
        return Err(incoming.explain(JobsError::TooLarge(most)).await);
    }
    match take(&app, &principal.tenant, &headers, &incoming).await {
        Ok(row) => Ok(Body(view(row))),
        Err(Refused::Here(failure)) => Err(incoming.refuse(failure).await),
        Err(Refused::There(error)) => Err(incoming.explain(error).await),
    }
}

async fn take(app: &App, tenant: &Tenant, headers: &HeaderMap, incoming: &Incoming) -> Result<FileRow, Refused> {
    let mut parts = Multipart::begin(headers, incoming.pieces())?;
    let taken = read_parts(app, tenant, &mut parts).await;
    match (taken, parts.broken()) {
        (Err(Refused::There(JobsError::Io(_))), Some(words)) => Err(Failure::new(Code::Malformed, words).into()),
        (taken, _) => taken,
    }
}

async fn read_parts(app: &App, tenant: &Tenant, parts: &mut Multipart) -> Result<FileRow, Refused> {
    let (mut file, mut purpose) = (None, None);
    while let Some(part) = parts.part().await.map_err(JobsError::Io)? {
        match part.name.as_str() {
            "file" if file.is_some() => return Err(Failure::invalid("file", "upload one file at a time").into()),
            "file" => {
                let name = part.file_name.unwrap_or_else(|| UNNAMED.to_owned());
                file = Some((name, app.jobs().receive_file(tenant, parts.content()).await?));
            }
            "purpose" if purpose.is_some() => return Err(Failure::invalid("purpose", "name one purpose").into()),
            "purpose" => {
                let text = parts.text(PURPOSE_BYTES_MAX).await.map_err(JobsError::Io)?;
                purpose = Some(read_purpose(text.as_deref().unwrap_or_default())?);
            }
            other => {
                let field: String = other.chars().take(PART_CHARACTERS_MAX).collect();
                let words = "not a part that is known: send `file` and `purpose`; files stay until they are deleted";
                return Err(Failure::invalid(&field, words).into());
            }
        }
    }
    let (name, received) = file.ok_or_else(|| Failure::invalid("file", "send the file as a part of this name"))?;
    let purpose = purpose.ok_or_else(|| Failure::invalid("purpose", "say what the file is for: fine-tune"))?;
    Ok(app.jobs().keep_file(tenant, received, name, purpose).await?)
}

fn read_purpose(text: &str) -> Result<FilePurpose, Failure> {
    let found = FilePurpose::UPLOADED.into_iter().find(|purpose| purpose.as_str() == text);
    let names = FilePurpose::UPLOADED.map(FilePurpose::as_str).join(" or ");
    found.ok_or_else(|| Failure::invalid("purpose", format!("files are uploaded for {names}: choose one of these")))
}

/// In which order files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Asc,
    Desc,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct ListQuery {
    /// Files for this alone.
    #[param(inline)]
    purpose: Option<FilePurpose>,
    /// Most rows.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
    /// The last file of the page before.
    after: Option<FileId>,
    /// By age: newest first where left out.
    #[param(inline)]
    order: Option<Order>,
}

/// List files.
#[utoipa::path(get, path = "/v1/files", tag = "files", params(ListQuery),
    responses((status = 200, description = "A page.", body = FileList)))]
pub(in crate::http) async fn list_files(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    Query(query): Query<ListQuery>,
) -> Result<Body<FileList>, Failure> {
    require_key(&principal)?;
    let limit = query.limit.unwrap_or(ROWS_DEFAULT);
    if !(1..=ROWS_MAX).contains(&limit) {
        return Err(Failure::invalid("limit", format!("must be 1 to {ROWS_MAX}")));
    }
    let page = PageRequest { before: query.after.map(|id| id.to_string()), limit: limit + 1 };
    let filter = FileFilter { purpose: query.purpose, oldest_first: query.order == Some(Order::Asc) };
    let rows = app.jobs().files(&principal.tenant, filter, &page).await?;
    let (rows, has_more) = cut(rows, limit);
    Ok(Body(FileList { object: ListObject::List, data: rows.into_iter().map(view).collect(), has_more }))
}

/// Describe a file.
#[utoipa::path(get, path = "/v1/files/{id}", tag = "files", params(("id" = FileId, Path)),
    responses((status = 200, description = "The file.", body = File)))]
pub(in crate::http) async fn get_file(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    Id(id): Id<FileId>,
) -> Result<Body<File>, Failure> {
    require_sight(&app, &principal, id).await?;
    Ok(Body(view(app.jobs().file(&principal.tenant, id).await?)))
}

/// Delete a file that was uploaded. Those of a job's result go with their job.
#[utoipa::path(delete, path = "/v1/files/{id}", tag = "files", params(("id" = FileId, Path)),
    responses((status = 200, description = "The file is gone.", body = FileDeleted),
              (status = 409, description = "A job that is not over needs it, or it belongs to the result of a job.", body = Problem,
               content_type = "application/problem+json")))]
pub(in crate::http) async fn delete_file(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    Id(id): Id<FileId>,
) -> Result<Body<FileDeleted>, Failure> {
    require_key(&principal)?;
    app.jobs().delete_file(&principal.tenant, id).await?;
    Ok(Body(FileDeleted { id, object: FileObject::File, deleted: true }))
}

/// Download a file.
#[utoipa::path(get, path = "/v1/files/{id}/content", tag = "files", params(("id" = FileId, Path)),
    responses((status = 200, description = "What it holds.", body = Vec<u8>, content_type = "application/octet-stream",
               headers(("x-content-sha256" = String, description = "Its digest: `sha256:` and 64 hexadecimal digits."),
                       ("etag" = String, description = "The same, in quotes."))),
              (status = 304, description = "`If-None-Match` names what it is still.")))]
pub(in crate::http) async fn download_file(
    State(app): State<App>,
    JobRunner(principal): JobRunner,
    Id(id): Id<FileId>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    require_sight(&app, &principal, id).await?;
    let (artifact, bytes) = app.jobs().open_file(&principal.tenant, id).await?;
    Ok(file(&headers, &artifact, bytes))
}

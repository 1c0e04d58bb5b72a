//! Contents that observations name by their digest, such as pictures of pages.

use axum::extract::{FromRequestParts, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::id::{EpisodeId, SessionId};

use super::caller::{Onlooker, Runner};
use super::extract::{Id, path_parameter};
use super::problem::{Failure, internal};
use crate::app::App;
use palestra_store::row::BlobRow;

/// A digest always names the same bytes.
const FOR_EVER: &str = "private, max-age=31536000, immutable";
/// A document of an environment is shown without its scripts, in an origin of its own.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// The path parameter `digest`.
pub(super) struct Digest(String);

impl<S: Send + Sync> FromRequestParts<S> for Digest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        path_parameter(parts, state, "digest").await.map(Self)
    }
}

/// Read content that an observation of a session named.
#[utoipa::path(get, path = "/v1/sessions/{id}/blobs/{digest}", tag = "sessions",
    params(("id" = SessionId, Path), ("digest" = String, Path, description = "`blob` of the block: `sha256:` and 64 hexadecimal digits.")),
    responses((status = 200, description = "The content, of the block's `media_type`.", body = Vec<u8>, content_type = "application/octet-stream",
               headers(("etag" = String, description = "The digest, in quotes."))),
              (status = 304, description = "`If-None-Match` names what it is still.")))]
pub(super) async fn get_session_blob(
    State(app): State<App>,
    Onlooker { principal, session }: Onlooker,
    Digest(digest): Digest,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    answer(&headers, &app.sessions().session_blob(&principal.tenant, session, &digest).await?)
}

/// Read content that an observation of a stored episode named, those before a fork included.
#[utoipa::path(get, path = "/v1/episodes/{id}/blobs/{digest}", tag = "episodes",
    params(("id" = EpisodeId, Path), ("digest" = String, Path, description = "`blob` of the block: `sha256:` and 64 hexadecimal digits.")),
    responses((status = 200, description = "The content, of the block's `media_type`.", body = Vec<u8>, content_type = "application/octet-stream",
               headers(("etag" = String, description = "The digest, in quotes."))),
              (status = 304, description = "`If-None-Match` names what it is still.")))]
pub(super) async fn get_episode_blob(
    State(app): State<App>,
    Runner(principal): Runner,
    Id(episode): Id<EpisodeId>,
    Digest(digest): Digest,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    answer(&headers, &app.sessions().blob(&principal.tenant, episode, &digest).await?)
}

fn answer(headers: &HeaderMap, blob: &BlobRow) -> Result<Response, Failure> {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|error| internal(&error));
    let tag = value(&format!("\"{}\"", blob.digest))?;
    let cached = [(ETAG, tag.clone()), (CACHE_CONTROL, HeaderValue::from_static(FOR_EVER))];
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known == tag || known == "*") {
        return Ok((StatusCode::NOT_MODIFIED, cached).into_response());
    }
    let shown = [
        (CONTENT_TYPE, value(&blob.media_type)?),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    Ok((cached, shown, blob.bytes.to_vec()).into_response())
}

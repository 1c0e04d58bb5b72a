//! `/v1/keys` and `/v1/whoami`: credentials.

use axum::extract::State;
use axum::http::StatusCode;
use palestra_protocol::id::KeyId;
use palestra_protocol::key::{CreateKey, CreatedKey, Key, WhoAmI};
use palestra_protocol::list::Page;
use palestra_protocol::name::NameKind;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::Body;
use super::caller::{Admin, Caller};
use super::extract::{Id, Json, Query};
use super::page;
use super::problem::Failure;
use crate::app::App;

/// Make a key. Its secret is shown this once and never again.
#[utoipa::path(post, path = "/v1/keys", tag = "keys",
    request_body(content = CreateKey, example = json!({"name": "trainer", "scopes": ["sessions"]})),
    responses((status = 201, description = "The key with its secret.", body = CreatedKey)))]
pub(super) async fn create_key(
    State(app): State<App>,
    Admin(principal): Admin,
    Json(request): Json<CreateKey>,
) -> Result<(StatusCode, Body<CreatedKey>), Failure> {
    check(&app, &request)?;
    let created = app.auth().create_key(&principal.tenant, request).await?;
    Ok((StatusCode::CREATED, Body(created)))
}

fn check(app: &App, request: &CreateKey) -> Result<(), Failure> {
    NameKind::Label.check(&request.name).map_err(|why| Failure::invalid("name", why.to_string()))?;
    if request.scopes.is_empty() {
        return Err(Failure::invalid("scopes", "a key without scopes could do nothing: name at least one"));
    }
    if request.expires_at.is_some_and(|end| end <= app.clock().now()) {
        return Err(Failure::invalid("expires_at", "is in the past: choose a time to come"));
    }
    Ok(())
}

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

/// List keys, newest first.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", params(ListQuery),
    responses((status = 200, description = "A page.", body = Page<Key>)))]
pub(super) async fn list_keys(
    State(app): State<App>,
    Admin(principal): Admin,
    Query(query): Query<ListQuery>,
) -> Result<Body<Page<Key>>, Failure> {
    let asked = page::request::<KeyId>(query.limit, query.cursor)?;
    let rows = app.auth().keys(&principal.tenant, &asked).await?;
    Ok(Body(page::page(rows, &asked, |key| key.id)))
}

/// Revoke a key. It stops working here at once, on other nodes and in open sockets within seconds.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys", params(("id" = KeyId, Path)),
    responses((status = 204, description = "The key is revoked.")))]
pub(super) async fn revoke_key(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(key): Id<KeyId>,
) -> Result<StatusCode, Failure> {
    if app.auth().revoke_key(&principal.tenant, key).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Failure::not_found("key"))
    }
}

/// Tell who is calling.
#[utoipa::path(get, path = "/v1/whoami", tag = "keys",
    responses((status = 200, description = "The caller.", body = WhoAmI)))]
pub(super) async fn get_whoami(Caller(principal): Caller) -> Body<WhoAmI> {
    Body(principal.describe())
}

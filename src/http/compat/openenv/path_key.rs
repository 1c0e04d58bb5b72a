//! The key in the path, for clients that can send neither headers nor a query.

use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use palestra_protocol::key::Scope;
use palestra_protocol::problem::Code;

use super::super::super::caller::{admit, authenticate_bearer};
use super::super::super::problem::Failure;
use crate::app::App;
use crate::auth::{AuthError, Grant, Principal};

/// Lets requests through whose path holds a key. Addresses are written down by proxies and shown in error messages, so nothing
/// may stand there that can do more than play: neither an admin's key nor one that publishes or reads states.
pub(crate) async fn guard_by_path(
    State(app): State<App>,
    parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let key = parameters.iter().find(|(name, _)| *name == "key").map(|(_, key)| key.to_owned());
    let authenticated = match key {
        Some(key) => authenticate_bearer(&app, &key).await,
        None => Err(AuthError::Missing),
    };
    if matches!(&authenticated, Ok(principal) if !plays_only(principal)) {
        let words = "only a key with the scope sessions and no other may stand in a path";
        return Failure::new(Code::Forbidden, words).into_response();
    }
    admit(authenticated, request, next).await
}

fn plays_only(principal: &Principal) -> bool {
    matches!(&principal.grant, Grant::Scopes(scopes) if scopes.as_slice() == [Scope::Sessions])
}

//! The key in the path, for clients that can send neither headers nor a query.

use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use palestra_protocol::key::Scope;
use palestra_protocol::problem::Code;

use super::super::super::caller::admit_bearer;
use super::super::super::gate::Gate;
use super::super::super::problem::Failure;
use palestra_auth::{Grant, Principal};

/// Lets requests through whose path holds a key. Addresses are written down by proxies and shown in error messages, so nothing
/// may stand there that can do more than play: neither an admin's key nor one that publishes or reads states.
pub(crate) async fn guard_by_path(
    State(gate): State<Gate>,
    parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let key = parameters.iter().find(|(name, _)| *name == "key").map(|(_, key)| key).unwrap_or_default();
    match admit_bearer(gate.app(), key).await {
        Ok(principal) if plays_only(&principal) => gate.let_in(principal, request, next).await,
        Ok(_) => {
            let words = "the key in the path has more scopes than it needs: use one with the scope sessions alone";
            Failure::new(Code::Forbidden, words).into_response()
        }
        Err(failure) => failure.into_response(),
    }
}

fn plays_only(principal: &Principal) -> bool {
    matches!(&principal.grant, Grant::Scopes(scopes) if scopes.as_slice() == [Scope::Sessions])
}

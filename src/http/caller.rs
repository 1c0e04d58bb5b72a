//! Callers, as types in the signatures of handlers. The [guard](super::edge::guard) lets nobody in without a credential; the
//! extractors say how much of one is needed.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use axum::http::request::Parts;
use palestra_protocol::id::SessionId;
use palestra_protocol::key::Scope;
use palestra_protocol::spec::Disclosure;
use palestra_protocol::stream::BEARER_SUBPROTOCOL_PREFIX;

use super::extract::{EnvironmentName, Id};
use super::problem::Failure;
use crate::app::App;
use crate::telemetry::CREDENTIALS_REFUSED;
use palestra_auth::{AuthError, Grant, Principal};
use palestra_jobs::WorkerScope;

/// Longest credential that is looked at.
const CREDENTIAL_BYTES_MAX: usize = 4_096;

/// Authenticates the sender of these headers; refusals are counted.
pub(super) async fn admit(app: &App, headers: &HeaderMap) -> Result<Arc<Principal>, Failure> {
    counted(authenticate(app, headers).await)
}

/// Authenticates the bearer of this credential; refusals are counted.
pub(super) async fn admit_bearer(app: &App, bearer: &str) -> Result<Arc<Principal>, Failure> {
    counted(authenticate_bearer(app, bearer).await)
}

/// Authenticates the user of the page whose path ends so; refusals are counted.
pub(super) async fn admit_page(app: &App, token: &str) -> Result<Arc<Principal>, Failure> {
    counted(app.auth().authenticate_page(token).await)
}

fn counted(admitted: Result<Arc<Principal>, AuthError>) -> Result<Arc<Principal>, Failure> {
    if matches!(admitted, Err(AuthError::Missing | AuthError::Refused)) {
        metrics::counter!(CREDENTIALS_REFUSED).increment(1);
    }
    admitted.map_err(Failure::from)
}

/// Authenticates the sender of these headers.
pub(super) async fn authenticate(app: &App, headers: &HeaderMap) -> Result<Arc<Principal>, AuthError> {
    authenticate_bearer(app, bearer(headers).ok_or(AuthError::Missing)?).await
}

async fn authenticate_bearer(app: &App, bearer: &str) -> Result<Arc<Principal>, AuthError> {
    if bearer.len() > CREDENTIAL_BYTES_MAX {
        return Err(AuthError::Refused);
    }
    app.auth().authenticate(bearer).await
}

/// The credential of a request: from `Authorization`, or from a subprotocol, for browsers whose sockets cannot set headers.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let (scheme, credential) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim());
    }
    headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(BEARER_SUBPROTOCOL_PREFIX))
}

fn principal(parts: &Parts) -> Result<Arc<Principal>, Failure> {
    parts.extensions.get::<Arc<Principal>>().cloned().ok_or_else(|| AuthError::Missing.into())
}

/// Anybody with a valid credential, also the acting side.
pub(super) struct Caller(pub(super) Arc<Principal>);

impl FromRequestParts<App> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Failure> {
        principal(parts).map(Self)
    }
}

macro_rules! scoped {
    ($($(#[$doc:meta])* $name:ident: $scope:ident;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name(pub(super) Arc<Principal>);

        impl FromRequestParts<App> for $name {
            type Rejection = Failure;

            async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Failure> {
                let principal = principal(parts)?;
                principal.require(Scope::$scope)?;
                Ok(Self(principal))
            }
        }
    )*};
}

scoped! {
    /// A key that runs sessions.
    Runner: Sessions;
    /// A key that reads privileged state.
    StateReader: StateRead;
    /// A key that publishes environments.
    Publisher: EnvironmentsWrite;
    /// A key that queues jobs and uses policies, or the token of a lease, which [reaches](super::reach) what its job needs.
    JobRunner: Jobs;
    /// A key that manages keys.
    Admin: Admin;
}

/// A key that leases jobs: whose jobs it may do.
pub(super) struct Worker(pub(super) WorkerScope);

impl FromRequestParts<App> for Worker {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Failure> {
        let principal = principal(parts)?;
        principal.require(Scope::Worker)?;
        Ok(Self(WorkerScope::of(&principal.tenant)))
    }
}

/// A caller who may learn what built-in policies do in the environment in the path: a key that publishes, or the token of a lease whose job
/// plays it by such a policy.
pub(super) struct Insider(pub(super) Arc<Principal>);

impl FromRequestParts<App> for Insider {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        informed(parts, app, Disclosure::Actions).await.map(Self)
    }
}

/// A caller who may read the definition of the environment in the path and prove its tasks: a key that publishes, or the token of a lease whose
/// job checks it.
pub(super) struct Inspector(pub(super) Arc<Principal>);

impl FromRequestParts<App> for Inspector {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        informed(parts, app, Disclosure::Definition).await.map(Self)
    }
}

/// The caller, if its key publishes, or if its job has to learn this of the environment.
async fn informed(parts: &mut Parts, app: &App, disclosure: Disclosure) -> Result<Arc<Principal>, Failure> {
    let principal = principal(parts)?;
    if let Grant::Job { job, .. } = principal.grant {
        let EnvironmentName(name) = EnvironmentName::from_request_parts(parts, app).await?;
        if app.jobs().may_learn(&principal.tenant, job, disclosure, &name).await? {
            return Ok(principal);
        }
    }
    principal.require(Scope::EnvironmentsWrite)?;
    Ok(principal)
}

/// A caller who sees what the acting side of the session in the path sees: a runner, or the bearer of that session's own token.
pub(super) struct Onlooker {
    pub(super) principal: Arc<Principal>,
    pub(super) session: SessionId,
}

impl FromRequestParts<App> for Onlooker {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let principal = principal(parts)?;
        let Id(session) = Id::<SessionId>::from_request_parts(parts, app).await?;
        principal.require_sight_of(session)?;
        Ok(Self { principal, session })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(axum::http::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_credential_comes_from_the_header_or_a_subprotocol() {
        for (pairs, expected) in [
            (vec![(AUTHORIZATION, "Bearer abc")], Some("abc")),
            (vec![(AUTHORIZATION, "bearer abc")], Some("abc")),
            (vec![(AUTHORIZATION, "Basic abc")], None),
            (vec![(AUTHORIZATION, "abc")], None),
            (vec![(SEC_WEBSOCKET_PROTOCOL, "palestra.json, bearer.abc")], Some("abc")),
            (vec![(SEC_WEBSOCKET_PROTOCOL, "palestra.json")], None),
            (vec![(AUTHORIZATION, "Basic x"), (SEC_WEBSOCKET_PROTOCOL, "bearer.abc")], None),
            (vec![], None),
        ] {
            assert_eq!(bearer(&headers(&pairs)), expected, "{pairs:?}");
        }
    }
}

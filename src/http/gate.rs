//! The layers of a group of routes: who may call, how large bodies may be, and how long an answer may take.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use super::body::BodyBounds;
use super::caller::admit;
use crate::app::App;
use palestra_auth::Principal;

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Limits of all routes of a group behind the guard.
#[derive(Clone)]
pub(super) struct Gate(Arc<Terms>);

struct Terms {
    app: App,
    bounds: BodyBounds,
    /// For the answer; none for calls that may wait for a verdict, or stay open.
    limit: Option<Duration>,
}

impl Gate {
    pub(super) fn new(app: &App, bounds: BodyBounds, timeout_ms: Option<u64>) -> Self {
        let limit = timeout_ms.map(Duration::from_millis);
        Self(Arc::new(Terms { app: app.clone(), bounds, limit }))
    }

    pub(super) fn app(&self) -> &App {
        &self.0.app
    }

    /// Answers a request that was let in, with the principal and the bounds of the body in the extensions.
    pub(super) async fn let_in(self, principal: Arc<Principal>, mut request: Request, next: Next) -> Response {
        request.extensions_mut().insert(principal);
        request.extensions_mut().insert(self.0.bounds);
        let answering = next.run(request);
        let mut response = match self.0.limit {
            Some(limit) => timeout(limit, answering).await.unwrap_or_else(|_| late()),
            None => answering.await,
        };
        // What is private must not stay in caches on the way.
        response.headers_mut().entry(CACHE_CONTROL).or_insert(NO_STORE);
        response
    }
}

/// Lets requests with a valid credential through. It stands outside of everything that reads, so that strangers cannot make the
/// server read anything.
pub(super) async fn guard(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match admit(gate.app(), request.headers()).await {
        Ok(principal) => gate.let_in(principal, request, next).await,
        Err(failure) => failure.into_response(),
    }
}

/// The same limit of time for routes that need no credential.
pub(super) async fn in_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    timeout(limit, next.run(request)).await.unwrap_or_else(|_| late())
}

fn late() -> Response {
    StatusCode::REQUEST_TIMEOUT.into_response()
}

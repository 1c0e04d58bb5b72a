//! What every request passes, in one piece: each layer of the framework copies all that lies below it for every request.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, COOKIE, SEC_WEBSOCKET_PROTOCOL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::time::timeout;
use tracing::Instrument;

use super::body::BodyBounds;
use super::caller::admit;
use super::compat::openai;
use super::envelope::{self, REQUEST_ID};
use super::measure;
use crate::app::App;
use palestra_auth::Principal;

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Outside of everything: names the request, measures it, catches panics, and turns refusals into problem documents.
pub(super) async fn pass(mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = envelope::identify(request.headers());
    hide_credentials(request.headers_mut());
    let method = measure::method(request.method());
    let path = request.extensions().get::<MatchedPath>().cloned();
    // Clients of OpenAI read refusals of any route of theirs in a form of their own.
    let form: envelope::Form =
        if openai::is_mounted_at(request.uri().path()) { openai::with_error } else { std::convert::identity };
    let route = path.as_ref().map_or("unmatched", MatchedPath::as_str);
    // Off at the usual level, where a span costs more than many requests; failures name the request by themselves.
    let span = tracing::debug_span!("request", id = ?id, method, route);
    let answering = AssertUnwindSafe(next.run(request)).catch_unwind();
    let answered = envelope::naming(id.clone(), answering).instrument(span.clone()).await;
    let mut response = answered.unwrap_or_else(|panic| envelope::caught(&*panic, &id));
    envelope::write_problem(&mut response, &id, form);
    let elapsed = begun.elapsed();
    let (status, elapsed_ms) = (response.status(), elapsed.as_secs_f64() * 1_000.0);
    if status.is_server_error() {
        tracing::warn!(request = ?id, method, route, status = status.as_u16(), elapsed_ms, "answered");
    } else {
        span.in_scope(|| tracing::debug!(status = status.as_u16(), elapsed_ms, "answered"));
    }
    measure::record(method, route, status.as_u16(), elapsed);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Keeps credentials out of whatever prints headers.
fn hide_credentials(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL] {
        if let Some(value) = headers.get_mut(name) {
            value.set_sensitive(true);
        }
    }
}

/// What holds for all routes of a group behind the guard.
#[derive(Clone)]
pub(super) struct Gate(Arc<Terms>);

struct Terms {
    app: App,
    bounds: BodyBounds,
    /// For the answer; none for calls that may wait for a verdict, or stay open.
    patience: Option<Duration>,
}

impl Gate {
    pub(super) fn new(app: &App, bounds: BodyBounds, patience_ms: Option<u64>) -> Self {
        let patience = patience_ms.map(Duration::from_millis);
        Self(Arc::new(Terms { app: app.clone(), bounds, patience }))
    }

    pub(super) fn app(&self) -> &App {
        &self.0.app
    }

    /// Answers a request that was let in, with the principal and the bounds of the body in the extensions.
    pub(super) async fn let_in(self, principal: Arc<Principal>, mut request: Request, next: Next) -> Response {
        request.extensions_mut().insert(principal);
        request.extensions_mut().insert(self.0.bounds);
        let answering = next.run(request);
        let mut response = match self.0.patience {
            Some(patience) => timeout(patience, answering).await.unwrap_or_else(|_| late()),
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
pub(super) async fn in_time(State(patience): State<Duration>, request: Request, next: Next) -> Response {
    timeout(patience, next.run(request)).await.unwrap_or_else(|_| late())
}

fn late() -> Response {
    StatusCode::REQUEST_TIMEOUT.into_response()
}

//! The layer that every request passes, in one piece: each layer of the framework copies all that lies below it for every request.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::header::{AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use futures::FutureExt;
use panic_message::panic_message;
use tracing::Instrument;

use super::compat::openai;
use super::request_id::{self, REQUEST_ID};
use super::{envelope, measure};

const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Outside of everything: names the request, measures it, catches panics, and turns refusals into problem documents.
pub(super) async fn pass(mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id::identify(request.headers());
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
    let answered = request_id::naming(id.clone(), answering).instrument(span.clone()).await;
    let mut response = answered.unwrap_or_else(|panic| envelope::caught(panic_message(&panic), &id));
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

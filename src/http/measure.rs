//! One log line and two metrics per request, by route and never by path, so that ids make no new series.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use super::envelope::RequestId;
use crate::telemetry::{HTTP_REQUESTS, HTTP_SECONDS};

pub(super) async fn measure(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = method(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let id = request.extensions().get::<RequestId>().and_then(|id| id.0.to_str().ok()).unwrap_or_default().to_owned();
    let span = tracing::info_span!("request", id, method, route);
    let response = next.run(request).instrument(span.clone()).await;
    let elapsed = begun.elapsed();
    let status = response.status();
    span.in_scope(|| {
        let elapsed_ms = elapsed.as_secs_f64() * 1_000.0;
        if status.is_server_error() {
            tracing::warn!(status = status.as_u16(), elapsed_ms, "answered");
        } else {
            tracing::debug!(status = status.as_u16(), elapsed_ms, "answered");
        }
    });
    metrics::counter!(HTTP_REQUESTS, "method" => method, "route" => route.clone(), "status" => status.as_u16().to_string())
        .increment(1);
    metrics::histogram!(HTTP_SECONDS, "method" => method, "route" => route).record(elapsed.as_secs_f64());
    response
}

/// Methods that callers make up must not make up series.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

//! `/healthz`, `/readyz` and `/metrics`: what those who run the server watch.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use palestra_protocol::key::Scope;
use palestra_protocol::problem::Code;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::Body;
use super::caller::admit;
use super::problem::Failure;
use crate::app::App;
use crate::telemetry::SESSIONS_LIVE;

/// Milliseconds that the store has to show that it is there.
const PING_TIMEOUT_MS: u64 = 2_000;

/// The server's health.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

const WELL: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Tell that the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()),
    responses((status = 200, description = "It is.", body = Health)))]
pub(super) async fn get_health() -> Body<Health> {
    Body(WELL)
}

/// Tell whether requests can be answered: the store is there, and the server is not shutting down.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, description = "They can.", body = Health)))]
pub(super) async fn get_readiness(State(app): State<App>) -> Result<Body<Health>, Failure> {
    if app.shutdown().is_cancelled() {
        return Err(Failure::new(Code::Draining, "the server is shutting down: ask another one, or try again"));
    }
    let ping = tokio::time::timeout(Duration::from_millis(PING_TIMEOUT_MS), app.store().ping()).await;
    match ping {
        Ok(Ok(())) => Ok(Body(WELL)),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the store does not answer: check that it runs");
            Err(Failure::new(Code::StoreUnavailable, "the store does not answer: check that it runs"))
        }
        Err(_) => Err(Failure::new(Code::StoreUnavailable, "the store does not answer in time: check its load")),
    }
}

/// Read every metric, in Prometheus' text form. Needs a key of the operator's tenant with the scope `metrics:read`, unless the server
/// is set to show them to all.
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Every metric.", body = String, content_type = "text/plain")))]
pub(super) async fn get_metrics(State(app): State<App>, _: MetricsReader) -> impl IntoResponse {
    #[expect(clippy::cast_precision_loss, reason = "a count of sessions is far below 2^52")]
    metrics::gauge!(SESSIONS_LIVE).set(app.sessions().live() as f64);
    app.metrics().run_upkeep();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics().render())
}

/// Everybody where metrics are public, the operator otherwise: they are of the whole server, and not of one tenant.
pub(super) struct MetricsReader;

impl axum::extract::FromRequestParts<App> for MetricsReader {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, app: &App) -> Result<Self, Failure> {
        if !app.config().metrics_public {
            admit(app, &parts.headers).await?.require_of_operator(Scope::MetricsRead)?;
        }
        Ok(Self)
    }
}

//! The HTTP surface: the only folder that knows axum, status codes and JSON envelopes. One file per noun.

mod answer;
mod batch;
mod body;
mod caller;
mod compat;
mod docs;
mod envelope;
mod environments;
mod episodes;
mod events;
mod extract;
mod fields;
mod health;
mod impatient;
mod keys;
mod listen;
mod measure;
mod page;
mod perform;
mod points;
mod problem;
mod runs;
mod sessions;
mod stream;
mod strict;
mod wording;

use std::time::Duration;

use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, LOCATION, RETRY_AFTER, SEC_WEBSOCKET_PROTOCOL,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::{Extension, Router, middleware};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::config::Config;
use body::BodyBounds;
use compat::openenv;
pub(crate) use listen::listen;

/// Seconds that browsers may remember a CORS answer.
const CORS_AGE_SECONDS: u64 = 600;

/// Everything that can be called, in one table. Whoever is not in the first group needs a credential.
struct Routes {
    /// Without a credential.
    public: OpenApiRouter<App>,
    /// Answered within `request_timeout_ms`.
    prompt: OpenApiRouter<App>,
    /// May wait for a verdict, or stay open as a stream.
    patient: OpenApiRouter<App>,
    /// With large bodies.
    uploads: OpenApiRouter<App>,
}

fn routes() -> Routes {
    Routes {
        public: OpenApiRouter::new()
            .routes(routes!(health::get_health))
            .routes(routes!(health::get_readiness))
            // Asks for an admin by itself, unless metrics are public.
            .routes(routes!(health::get_metrics)),
        prompt: OpenApiRouter::new()
            .routes(routes!(environments::get_environment))
            .routes(routes!(environments::list_tasks))
            .routes(routes!(sessions::create_sessions, sessions::list_sessions))
            .routes(routes!(sessions::get_session, sessions::close_session))
            .routes(routes!(sessions::reset_session))
            .routes(routes!(sessions::step_session))
            .routes(routes!(points::fork_session))
            .routes(routes!(points::take_snapshot, points::list_snapshots))
            .routes(routes!(points::restore_session))
            .routes(routes!(points::get_state))
            .routes(routes!(points::get_diff))
            .routes(routes!(batch::create_many))
            .routes(routes!(batch::step_many))
            .routes(routes!(episodes::list_episodes))
            .routes(routes!(episodes::get_episode))
            .routes(routes!(episodes::get_step))
            .routes(routes!(episodes::get_trajectory))
            .routes(routes!(episodes::list_verdicts))
            .routes(routes!(runs::create_run))
            .routes(routes!(runs::get_run, runs::delete_run))
            .routes(routes!(runs::renew_run))
            .routes(routes!(keys::create_key, keys::list_keys))
            .routes(routes!(keys::revoke_key))
            .routes(routes!(keys::get_whoami)),
        patient: OpenApiRouter::new()
            .routes(routes!(sessions::finish_session))
            .routes(routes!(sessions::verify_session))
            .routes(routes!(batch::verify_many))
            .routes(routes!(episodes::rescore_episode))
            .routes(routes!(events::follow_session))
            .routes(routes!(stream::open_stream))
            // Other people's protocols.
            .nest(openenv::PATH, openenv::routes()),
        uploads: OpenApiRouter::new()
            .routes(routes!(environments::list_environments, environments::publish_environment)),
    }
}

/// The whole application as one service; tests call this one too.
pub fn router(app: App) -> Router {
    let config = app.config().clone();
    let Routes { public, prompt, patient, uploads } = routes();
    let mut api = OpenApi::default();
    let mut split = |group: OpenApiRouter<App>| {
        let (router, part) = group.split_for_parts();
        api.merge(part);
        router
    };
    let (public, prompt, patient, uploads) = (split(public), split(prompt), split(patient), split(uploads));
    let guard = middleware::from_fn_with_state(app.clone(), caller::guard);

    let bounds = Extension(BodyBounds { bytes_max: config.body_bytes_max, timeout_ms: config.request_timeout_ms });
    let upload_bounds =
        Extension(BodyBounds { bytes_max: config.publish_bytes_max, timeout_ms: config.publish_timeout_ms });
    let prompt = prompt.route_layer(timeout(config.request_timeout_ms)).layer(bounds);
    // Their answers may take long, their bodies may not.
    let patient = patient.layer(bounds);
    let uploads = uploads.route_layer(timeout(config.publish_timeout_ms)).layer(upload_bounds);
    // The same once more, for those who can send no headers: the key stands in the path.
    let (keyed, _) = OpenApiRouter::new().nest(openenv::KEYED_PATH, openenv::routes()).split_for_parts();
    let keyed = keyed.layer(bounds);
    let guard_by_path = middleware::from_fn_with_state(app.clone(), openenv::guard_by_path);
    let guarded = prompt
        .merge(uploads)
        .layer(CompressionLayer::new())
        .merge(patient)
        // What is private must not stay in caches on the way.
        .layer(private())
        // Outside the limits above, so that strangers cannot make the server read anything.
        .route_layer(guard)
        .merge(keyed.layer(private()).route_layer(guard_by_path))
        .layer(Extension(openenv::Seats::new(app.clone())));
    let public = public.route_layer(timeout(config.request_timeout_ms)).merge(docs::pages(docs::finish(api)));

    public
        .merge(guarded)
        .fallback(async || StatusCode::NOT_FOUND)
        .with_state(app)
        // What every request passes, from the outside in.
        .layer(
            ServiceBuilder::new()
                // First, so that everything below can name the request.
                .layer(middleware::from_fn(envelope::identify))
                .layer(SetSensitiveRequestHeadersLayer::new([AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL]))
                .layer(middleware::from_fn(measure::measure))
                .layer(cors(&config))
                .layer(SetResponseHeaderLayer::overriding(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
                .layer(middleware::from_fn(envelope::write_problems))
                // Inside, so that a panic is answered as every other failure.
                .layer(CatchPanicLayer::custom(envelope::caught)),
        )
}

/// Every operation, as OpenAPI.
#[must_use]
pub fn openapi() -> OpenApi {
    let Routes { public, prompt, patient, uploads } = routes();
    let mut api = OpenApi::default();
    for group in [public, prompt, patient, uploads] {
        api.merge(group.into_openapi());
    }
    docs::finish(api)
}

fn private() -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::if_not_present(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

fn timeout(milliseconds: u64) -> TimeoutLayer {
    TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, Duration::from_millis(milliseconds))
}

/// Closed unless origins are named.
fn cors(config: &Config) -> CorsLayer {
    let origins: Vec<HeaderValue> = config.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if origins.is_empty() {
        return CorsLayer::new();
    }
    const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
    const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, IDEMPOTENCY_KEY, LAST_EVENT_ID, envelope::REQUEST_ID])
        .expose_headers([envelope::REQUEST_ID, LOCATION, RETRY_AFTER])
        .max_age(Duration::from_secs(CORS_AGE_SECONDS))
}

#[cfg(test)]
mod tests;

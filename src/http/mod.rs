//! The HTTP surface: the only folder that knows axum, status codes and JSON envelopes. One file per noun.

mod answer;
mod archive;
mod batch;
mod blobs;
mod body;
mod caller;
mod calls;
mod compat;
mod docs;
mod document;
mod edge;
mod envelope;
mod environments;
mod episodes;
mod events;
mod extract;
mod fields;
mod files;
mod frame_bound;
mod gate;
mod guide;
mod health;
mod inside;
mod job_environments;
mod jobs;
mod keys;
mod listen;
mod measure;
mod model_calls;
mod multipart;
mod page;
mod perform;
mod permission;
mod points;
mod policies;
mod problem;
mod publishing;
mod reach;
mod request_id;
mod route;
mod runs;
mod screen;
mod sessions;
mod stream;
mod strict;
mod upstreams;
mod wording;
mod worker;
mod write_timeout;

use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::{Extension, Router, middleware, routing};
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::config::Config;
use body::BodyBounds;
use compat::openai::{files as kept_files, fine_tuning};
use compat::{mcp, openenv};
use gate::Gate;
pub(crate) use listen::listen;
use route::{Table, routes};

/// Seconds that browsers may remember a CORS answer.
const CORS_AGE_SECONDS: u64 = 600;
/// Bytes of a job, of a report of its worker, or of a conversation that a policy continues.
const JOB_BODY_BYTES_MAX: usize = 20 << 20;

/// Everything that can be called, in one table. Whoever is not in the group `public` needs a credential.
struct Routes<T> {
    /// Taken so often that every layer counts. Answered within `answer_timeout_ms`, and never compressed: that would cost
    /// more than all else.
    acts: T,
    /// Without a credential.
    public: T,
    /// Answered within `answer_timeout_ms`.
    prompt: T,
    /// May wait for a verdict, or stay open as a stream.
    patient: T,
    /// With large bodies.
    uploads: T,
    /// Calls of jobs and workers with bodies of some megabytes, answered within `answer_timeout_ms`.
    reports: T,
    /// The same, for those who say how long they wait.
    exchanges: T,
    /// Files of any size, as they come and go.
    files: T,
    /// Model calls, in the protocols of their providers.
    models: T,
    /// Pages of sessions, whose paths are their credentials.
    pages: T,
    /// Other people's protocols, which may wait for a verdict or stay open too.
    mounts: T,
}

fn routes<T: Table>() -> Routes<T> {
    Routes {
        acts: T::new().routes(routes!(sessions::step_session)).routes(routes!(mcp::speak_mcp)),
        public: T::new()
            .routes(routes!(health::get_health))
            .routes(routes!(health::get_readiness))
            // Asks for the operator by itself, unless metrics are public.
            .routes(routes!(health::get_metrics)),
        prompt: T::new()
            .routes(routes!(environments::get_environment, publishing::withdraw_environment))
            .routes(routes!(environments::list_tasks))
            .routes(routes!(publishing::get_definition))
            .routes(routes!(inside::list_actions))
            .routes(routes!(sessions::create_sessions, sessions::list_sessions))
            .routes(routes!(sessions::get_session, sessions::close_session))
            .routes(routes!(sessions::reset_session))
            .routes(routes!(blobs::get_session_blob))
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
            .routes(routes!(blobs::get_episode_blob))
            .routes(routes!(episodes::list_verdicts))
            .routes(routes!(runs::create_run, runs::list_runs))
            .routes(routes!(runs::get_run, runs::delete_run))
            .routes(routes!(runs::renew_run))
            .routes(routes!(runs::plan_run))
            .routes(routes!(jobs::get_job, jobs::delete_job))
            .routes(routes!(jobs::cancel_job))
            .routes(routes!(jobs::retry_job))
            .routes(routes!(jobs::list_metrics))
            .routes(routes!(jobs::list_checkpoints))
            .routes(routes!(jobs::list_artifacts))
            .routes(routes!(policies::list_policies, policies::register_checkpoint))
            .routes(routes!(policies::get_policy, policies::delete_policy))
            .routes(routes!(kept_files::get_file, kept_files::delete_file))
            .routes(routes!(fine_tuning::get_fine_tuning_job))
            .routes(routes!(fine_tuning::cancel_fine_tuning_job))
            .routes(routes!(fine_tuning::pause_fine_tuning_job))
            .routes(routes!(fine_tuning::resume_fine_tuning_job))
            .routes(routes!(fine_tuning::list_fine_tuning_events))
            .routes(routes!(fine_tuning::list_fine_tuning_checkpoints))
            .routes(routes!(upstreams::list_upstreams))
            .routes(routes!(upstreams::get_upstream, upstreams::put_upstream, upstreams::delete_upstream))
            .routes(routes!(calls::list_calls))
            .routes(routes!(calls::get_graph))
            .routes(routes!(keys::create_key, keys::list_keys))
            .routes(routes!(keys::revoke_key))
            .routes(routes!(keys::get_whoami)),
        patient: T::new()
            .routes(routes!(sessions::finish_session))
            .routes(routes!(sessions::verify_session))
            .routes(routes!(batch::verify_many))
            .routes(routes!(episodes::rescore_episode))
            .routes(routes!(inside::prove_task))
            .routes(routes!(events::follow_session))
            .routes(routes!(jobs::follow_job))
            // Reads the lines of a file.
            .routes(routes!(fine_tuning::create_fine_tuning_job, fine_tuning::list_fine_tuning_jobs))
            .routes(routes!(stream::open_stream)),
        uploads: T::new().routes(routes!(environments::list_environments, publishing::publish_environment)),
        reports: T::new()
            .routes(routes!(jobs::create_job, jobs::list_jobs))
            .routes(routes!(worker::keep_lease))
            .routes(routes!(worker::report_events))
            .routes(routes!(worker::finish_job))
            .routes(routes!(worker::register_policy)),
        exchanges: T::new()
            .routes(routes!(policies::act))
            .routes(routes!(worker::lease_job))
            .routes(routes!(worker::exchange)),
        files: T::new()
            .routes(routes!(calls::export_episodes))
            .routes(routes!(jobs::get_artifact))
            .routes(routes!(policies::download_policy))
            .routes(routes!(kept_files::upload_file, kept_files::list_files))
            .routes(routes!(kept_files::download_file))
            .routes(routes!(worker::upload_artifact, worker::delete_artifact)),
        models: T::new()
            .routes(routes!(model_calls::chat_completions))
            .routes(routes!(model_calls::responses))
            .routes(routes!(model_calls::openai_models))
            .routes(routes!(model_calls::messages))
            .routes(routes!(model_calls::anthropic_models))
            .routes(routes!(model_calls::generate_content))
            .routes(routes!(model_calls::gemini_models)),
        pages: T::new().routes(routes!(screen::show_page, screen::act_on_page)),
        mounts: T::new().nest(openenv::PATH, openenv::routes()),
    }
}

/// The whole application as one service; tests call this one too.
pub fn router(app: App) -> Router {
    let config = app.config().clone();
    let Routes { acts, public, prompt, patient, uploads, reports, exchanges, files, models, pages, mounts } =
        routes::<Router<App>>();
    // The same once more, for those who can send no headers: the key stands in the path.
    let keyed = Router::new().nest(openenv::KEYED_PATH, openenv::routes());

    let bounds = BodyBounds { bytes_max: config.body_bytes_max, timeout_ms: config.request_timeout_ms };
    let upload_bounds = BodyBounds { bytes_max: config.publish_bytes_max, timeout_ms: config.publish_timeout_ms };
    let guard = |bounds, timeout_ms| middleware::from_fn_with_state(Gate::new(&app, bounds, timeout_ms), gate::guard);
    let in_time = Duration::from_millis(config.request_timeout_ms);
    let acts = acts.route_layer(guard(bounds, Some(config.answer_timeout_ms)));
    let prompt = prompt.layer(CompressionLayer::new()).route_layer(guard(bounds, Some(config.answer_timeout_ms)));
    // Their answers may take long, their bodies may not.
    let patient = patient.route_layer(guard(bounds, None));
    let uploads =
        uploads.layer(CompressionLayer::new()).route_layer(guard(upload_bounds, Some(config.publish_timeout_ms)));
    let job_bounds = BodyBounds { bytes_max: config.body_bytes_max.max(JOB_BODY_BYTES_MAX), ..bounds };
    let reports = reports.layer(CompressionLayer::new()).route_layer(guard(job_bounds, Some(config.answer_timeout_ms)));
    let exchanges = exchanges.layer(CompressionLayer::new()).route_layer(guard(job_bounds, None));
    // Their bodies are read by their handlers, piece by piece.
    let files = files.route_layer(guard(bounds, None));
    let call_bounds = BodyBounds { bytes_max: config.body_bytes_max.max(model_calls::BODY_BYTES_MAX), ..bounds };
    // Some versions of Google's packages call it so.
    let models =
        models.route("/v1/sessions/{id}/llm/gemini/v1/models/{call}", routing::post(model_calls::generate_content));
    let models =
        models.route_layer(middleware::from_fn_with_state(Gate::new(&app, call_bounds, None), model_calls::guard));
    let by_page =
        middleware::from_fn_with_state(Gate::new(&app, bounds, Some(config.answer_timeout_ms)), screen::guard_by_page);
    // Behind the path of a session's page stand the addresses of its screens.
    let at_address = || routing::get(screen::show_page).post(screen::act_on_page);
    let pages = pages
        .route("/v1/sessions/{id}/page/{token}/", at_address())
        .route("/v1/sessions/{id}/page/{token}/{*address}", at_address())
        .route_layer(by_page);
    let seats = Extension(openenv::Seats::new(app.clone()));
    let mounts = mounts.layer(seats.clone()).route_layer(guard(bounds, None));
    let by_path = middleware::from_fn_with_state(Gate::new(&app, bounds, None), openenv::guard_by_path);
    let keyed = keyed.layer(seats).route_layer(by_path);
    let public = public
        .route_layer(middleware::from_fn_with_state(in_time, gate::in_time))
        .merge(docs::pages())
        .merge(guide::pages());

    let router = public
        .merge(acts)
        .merge(prompt)
        .merge(patient)
        .merge(uploads)
        .merge(reports)
        .merge(exchanges)
        .merge(files)
        .merge(models)
        .merge(pages)
        .merge(mounts)
        .merge(keyed)
        .fallback(async || StatusCode::NOT_FOUND)
        .with_state(app)
        .layer(middleware::from_fn(edge::pass));
    match cors(&config) {
        Some(cors) => router.layer(cors),
        None => router,
    }
}

/// Every operation, as an OpenAPI document.
#[must_use]
pub fn openapi() -> serde_json::Value {
    let Routes { acts, public, prompt, patient, uploads, reports, exchanges, files, models, pages, mounts } =
        routes::<OpenApiRouter<App>>();
    let mut api = OpenApi::default();
    for group in [acts, public, prompt, patient, uploads, reports, exchanges, files, models, pages, mounts] {
        api.merge(group.into_openapi());
    }
    docs::finish(api)
}

/// None unless origins are named.
fn cors(config: &Config) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = config.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
    const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    let own = [AUTHORIZATION, CONTENT_TYPE, IDEMPOTENCY_KEY, LAST_EVENT_ID, request_id::REQUEST_ID];
    let cors = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(own.into_iter().chain(mcp::HEADERS).collect::<Vec<_>>())
        .expose_headers([request_id::REQUEST_ID, LOCATION, RETRY_AFTER])
        .max_age(Duration::from_secs(CORS_AGE_SECONDS));
    Some(cors)
}

#[cfg(test)]
mod tests;

//! The API document: generated from the handlers, completed here with what all operations share, and shown at `/docs`.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use palestra_protocol::action::{Action, Call};
use palestra_protocol::problem::{Code, Problem};
use serde_json::Value;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Components, Content, ContentBuilder, HeaderBuilder, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, Ref,
    RefOr, ResponseBuilder, Schema, Type,
};
use utoipa::{PartialSchema, ToSchema};
use utoipa_swagger_ui::{Config as PageConfig, SwaggerUi};

use super::compat::openai;
use super::{document, model_calls};
use crate::app::App;

const TAGS: &[(&str, &str)] = &[
    ("environments", "What can be played, its tasks, and publishing."),
    ("sessions", "Opening, acting, judging, forking and closing."),
    ("batch", "Many sessions in one call."),
    ("stream", "Many sessions over one WebSocket."),
    ("mcp", "A session's tools for clients of the Model Context Protocol."),
    ("episodes", "The record that outlives sessions."),
    ("upstreams", "Model endpoints that sessions of a tenant call."),
    (
        "model calls",
        "Models, called in a session in the protocols of OpenAI, Anthropic and Gemini; refusals have their form too.",
    ),
    ("runs", "Owners of sessions, alive as long as their lease is renewed."),
    ("jobs", "Work that waits in a queue until a worker leases it."),
    ("policies", "Stored models: describing, downloading and using them."),
    ("files", "What jobs learn from and what they left, in the form of OpenAI's API."),
    ("fine_tuning", "Training jobs in the form of OpenAI's API: a view of the same queue."),
    ("worker", "What workers say to the queue."),
    ("keys", "Credentials."),
    (
        "openenv",
        "Every environment as a server of OpenEnv; with a key in the path also below `/openenv/{family}/{name}/t/{key}`.",
    ),
    ("operations", "What those who run the server watch."),
];

/// Codes that every operation may answer with.
const ALWAYS: &[Code] =
    &[Code::Malformed, Code::NotFound, Code::RequestTimeout, Code::Internal, Code::StoreUnavailable];
/// And those that need a credential.
const GUARDED: &[Code] = &[Code::Unauthorized, Code::Forbidden];
/// And those that read a body.
const WITH_BODY: &[Code] = &[Code::TooLarge, Code::UnsupportedMediaType, Code::Invalid];
/// And those that act on sessions, runs and episodes, or hold a stream open.
const ON_SESSIONS: &[Code] =
    &[Code::Conflict, Code::SessionOver, Code::SessionBusy, Code::TooManyRequests, Code::Invalid, Code::Draining];
/// And those that act on jobs and policies.
const ON_JOBS: &[Code] = &[Code::JobConflict, Code::TooManyRequests];
/// And those that call models, in the form of their dialect.
const OF_MODEL_CALLS: &[Code] = &[
    Code::LimitReached,
    Code::SessionOver,
    Code::SessionBusy,
    Code::TooLarge,
    Code::UpstreamFailed,
    Code::Draining,
    Code::UpstreamLate,
];
/// The name of their refusals.
const REFUSAL: &str = "RefusalOfAModelCall";
/// The router's mark of a part of a path that goes on to its end; OpenAPI knows no such form.
const TO_THE_END: &str = "{*";

/// Adds to the generated document what all operations have in common.
pub(super) fn finish(mut api: OpenApi) -> Value {
    api.info = InfoBuilder::new()
        .title("Palestra")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Environments as a service: reset, step and verify over HTTP and WebSocket, for training and evaluating \
             language-model agents. Errors are `application/problem+json` (RFC 9457) with a stable `code`; every answer \
             carries `x-request-id`. Times are RFC 3339 in UTC, durations end in `_ms`, sizes in `_bytes`.",
        ))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").build()))
        .build();
    api.tags = Some(
        TAGS.iter().map(|(name, words)| TagBuilder::new().name(*name).description(Some(*words)).build()).collect(),
    );
    let components = api.components.get_or_insert_with(Components::new);
    add_schemas(components);
    components.security_schemes.insert(
        "bearer".to_owned(),
        RefOr::T(SecurityScheme::Http(
            HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some(
                    "An API key, a session's token for the calls of its acting side, or a lease's token for what its job needs.",
                ))
                .build(),
        )),
    );
    for code in Code::ALL {
        components
            .responses
            .entry(response_name(code.status()))
            .or_insert_with(|| problem_response(code.status()).into());
    }
    components.responses.insert(REFUSAL.to_owned(), refusal_of_a_model_call().into());
    let paths = std::mem::take(&mut api.paths.paths);
    api.paths.paths = paths.into_iter().map(|(path, item)| (path.replace(TO_THE_END, "{"), item)).collect();
    for (path, item) in &mut api.paths.paths {
        for operation in [&mut item.get, &mut item.post, &mut item.put, &mut item.delete].into_iter().flatten() {
            complete(path, operation);
        }
    }
    document::shape(serde_json::to_value(api).unwrap_or_default())
}

/// Schemas that derived ones refer to by name alone.
fn add_schemas(components: &mut Components) {
    let mut schemas = vec![
        (Problem::name().into_owned(), Problem::schema()),
        (Action::name().into_owned(), Action::schema()),
        (Call::name().into_owned(), Call::schema()),
    ];
    Problem::schemas(&mut schemas);
    for (name, schema) in schemas {
        components.schemas.entry(name).or_insert(schema);
    }
}

/// A body that may be left out is read as its type where it is there: `null` is none.
fn forbid_null(content: &mut RefOr<Content>) {
    let RefOr::T(content) = content else { return };
    let Some(RefOr::T(Schema::OneOf(either))) = &mut content.schema else { return };
    either
        .items
        .retain(|item| !matches!(item, RefOr::T(Schema::Object(object)) if object.schema_type == Type::Null.into()));
    if let [only] = either.items.as_slice() {
        content.schema = Some(only.clone());
    }
}

fn complete(path: &str, operation: &mut Operation) {
    // Names of operations are names of functions in clients: OpenEnv's own are also called `reset`, `step` and `list_tasks`.
    if path.starts_with("/openenv") {
        operation.operation_id = operation.operation_id.take().map(|id| format!("openenv_{id}"));
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.content.values_mut().for_each(forbid_null);
    }
    let public = operation.security.is_some();
    if !public {
        operation.security = Some(vec![SecurityRequirement::new("bearer", Vec::<String>::new())]);
    }
    if model_calls::is_mounted_at(path) {
        for code in [ALWAYS, GUARDED, OF_MODEL_CALLS].concat() {
            let reference = Ref::from_response_name(REFUSAL);
            operation.responses.responses.entry(code.status().to_string()).or_insert_with(|| RefOr::Ref(reference));
        }
        return;
    }
    let on_sessions = ["/v1/sessions", "/v1/stream", "/v1/runs", "/v1/episodes", "/openenv"]
        .iter()
        .any(|prefix| path.starts_with(prefix));
    let for_openai = openai::is_mounted_at(path);
    let on_jobs =
        for_openai || ["/v1/jobs", "/v1/policies", "/v1/worker"].iter().any(|prefix| path.starts_with(prefix));
    let with_body = operation.request_body.is_some();
    let groups =
        [(true, ALWAYS), (!public, GUARDED), (with_body, WITH_BODY), (on_sessions, ON_SESSIONS), (on_jobs, ON_JOBS)];
    let applying = groups.into_iter().filter(|(applies, _)| *applies);
    // Clients of OpenAI expect 400 for what does not fit.
    let status = |code: &Code| if for_openai && *code == Code::Invalid { 400 } else { code.status() };
    let mut statuses: Vec<u16> = applying.flat_map(|(_, codes)| codes.iter().map(status)).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let reference = Ref::from_response_name(response_name(status));
        operation.responses.responses.entry(status.to_string()).or_insert_with(|| RefOr::Ref(reference));
    }
}

/// A refusal as clients of the dialect read it.
fn refusal_of_a_model_call() -> utoipa::openapi::Response {
    let content = ContentBuilder::new().schema(Some(ObjectBuilder::new().schema_type(Type::Object))).build();
    ResponseBuilder::new()
        .description(
            "Refused, in the form of the dialect; what the upstream refuses comes in its own words, with its status.",
        )
        .content("application/json", content)
        .build()
}

fn response_name(status: u16) -> String {
    format!("Problem{status}")
}

/// The answer with a status: which codes it may carry.
fn problem_response(status: u16) -> utoipa::openapi::Response {
    let codes: Vec<String> = Code::ALL
        .iter()
        .filter(|code| code.status() == status)
        .map(|code| format!("`{}`: {}", code.as_str(), code.title()))
        .collect();
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
    let text = || Some(ObjectBuilder::new().schema_type(Type::String));
    let mut response = ResponseBuilder::new()
        .description(codes.join(" "))
        .content("application/problem+json", content)
        .header("x-request-id", HeaderBuilder::new().schema(text()).build());
    if matches!(status, 429 | 503) {
        response = response.header("retry-after", HeaderBuilder::new().schema(text()).build());
    }
    response.build()
}

/// The document and a page to try it out, without anything that has to be downloaded. The document is the committed one, and tests hold it
/// to what is generated: a server does not keep what it is generated from.
pub(super) fn pages() -> Router<App> {
    const PATH: &str = "/openapi.json";
    // The page would ask a validator on the internet otherwise.
    let config = PageConfig::new([PATH]).validator_url("none").try_it_out_enabled(true).persist_authorization(false);
    let page: Router<App> = SwaggerUi::new("/docs").config(config).into();
    page.route(PATH, get(async || ([(CONTENT_TYPE, "application/json")], palestra_guide::api_document())))
}

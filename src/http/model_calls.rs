//! `/v1/sessions/{id}/llm`: model calls of whoever acts in a session, in the protocols of their providers. A client of OpenAI, Anthropic or
//! Gemini needs the address and the session's token as its key, nothing else.

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::{Path, Query as RawQuery, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::stream;
use palestra_model_calls::{CallError, CallRequest, Reply, ReplyBody, refusal_body};
use palestra_protocol::id::SessionId;
use palestra_protocol::model_call::CallKind;
use palestra_protocol::problem::Code;
use palestra_protocol::upstream::Dialect;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body;
use super::caller::{Onlooker, admit, admit_bearer};
use super::envelope::Written;
use super::gate::Gate;
use super::problem::Failure;
use crate::app::App;

/// Bytes of a request: conversations hold pictures.
pub(super) const BODY_BYTES_MAX: usize = 32 << 20;
/// Names the recorded call.
const CALL: HeaderName = HeaderName::from_static("x-palestra-call");
/// Tells clients of Anthropic and OpenAI whether to try again, whatever the status says.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const ANTHROPIC_KEY: HeaderName = HeaderName::from_static("x-api-key");
const GEMINI_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO: HeaderValue = HeaderValue::from_static("false");

/// True for paths of model calls.
pub(super) fn is_mounted_at(path: &str) -> bool {
    path.starts_with("/v1/sessions/") && path.contains("/llm/")
}

/// Where the operations of a dialect begin, behind the session's id.
fn dialect_at(path: &str) -> Dialect {
    let below = path.split("/llm/").nth(1).unwrap_or_default();
    let named = |dialect: &Dialect| below.strip_prefix(dialect.as_str()).is_some_and(|rest| rest.starts_with('/'));
    Dialect::ALL.into_iter().find(named).unwrap_or(Dialect::Openai)
}

/// Lets requests with a valid credential through, wherever the client of a dialect puts it, and answers refusals in the dialect's form.
pub(super) async fn guard(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let dialect = dialect_at(request.uri().path());
    for name in [ANTHROPIC_KEY, GEMINI_KEY] {
        if let Some(value) = request.headers_mut().get_mut(name) {
            value.set_sensitive(true);
        }
    }
    let admitted = match own_credential(&request) {
        Some(credential) => admit_bearer(gate.app(), &credential).await,
        None => admit(gate.app(), request.headers()).await,
    };
    let mut response = match admitted {
        Ok(principal) => gate.let_in(principal, request, next).await,
        Err(failure) => failure.into_response(),
    };
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        let problem = *failure.0;
        let (parts, _) = response.into_parts();
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let form = refusal_body(dialect, status.as_u16(), problem.code.as_str(), &problem.detail);
        response = refused(status, &form);
        for name in [RETRY_AFTER, WWW_AUTHENTICATE] {
            response.headers_mut().extend(parts.headers.get(&name).map(|value| (name, value.clone())));
        }
    }
    response
}

/// The credential where clients of Anthropic and Gemini put it: in a header of their own, or in the query.
fn own_credential(request: &Request) -> Option<String> {
    let header =
        |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
    let query = || {
        let RawQuery(query) = RawQuery::<KeyQuery>::try_from_uri(request.uri()).ok()?;
        query.key
    };
    if request.headers().contains_key(AUTHORIZATION) {
        return None;
    }
    header(ANTHROPIC_KEY).or_else(|| header(GEMINI_KEY)).or_else(query)
}

#[derive(Deserialize)]
struct KeyQuery {
    key: Option<String>,
}

fn refused(status: StatusCode, form: &Value) -> Response {
    let mut response = (status, [(CONTENT_TYPE, JSON)], form.to_string()).into_response();
    response.extensions_mut().insert(Written);
    if !matches!(status.as_u16(), 408 | 429 | 500..) {
        response.headers_mut().insert(SHOULD_RETRY, NO);
    }
    response
}

async fn call(
    app: &App,
    onlooker: Onlooker,
    kind: CallKind,
    path: Option<(String, bool)>,
    request: Request,
) -> Result<Response, Failure> {
    let headers = request.headers().clone();
    let body = body::read(request).await?;
    let Onlooker { principal, session } = onlooker;
    let request = CallRequest { tenant: principal.tenant.clone(), session, kind, path, headers, body };
    match app.model_calls().call(request).await {
        Ok(reply) => Ok(answer(reply)),
        Err(error) => Err(failure(error)),
    }
}

fn failure(error: CallError) -> Failure {
    let told = error.to_string();
    let code = match error {
        CallError::Malformed(_) => Code::Malformed,
        CallError::UnknownModel(_) => Code::NotFound,
        CallError::Limit(_) => Code::LimitReached,
        CallError::Upstream(_) => Code::UpstreamFailed,
        CallError::Late(_) => Code::UpstreamLate,
        CallError::Policy(error) => return error.into(),
        CallError::Session(error) => return error.into(),
    };
    Failure::new(code, told)
}

fn answer(reply: Reply) -> Response {
    let Reply { id, status, headers, body } = reply;
    let body = match body {
        ReplyBody::Whole(bytes) => HttpBody::from(bytes),
        ReplyBody::Parts(parts) => {
            HttpBody::from_stream(stream::unfold(parts, |mut parts| async move {
                let part = parts.recv().await?;
                if part.is_err() {
                    // The connection ends with it: what says why is written first, since it is written while there is no next part.
                    tokio::task::yield_now().await;
                }
                Some((part, parts))
            }))
        }
    };
    let mut response = (status, headers, body).into_response();
    // The upstream's own words, in its own form.
    response.extensions_mut().insert(Written);
    if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(CALL, id);
    }
    response
}

/// Complete a chat, as OpenAI's API does.
///
/// Forwarded to the upstream of the tenant that has the model, and recorded with its tokens before the answer is complete.
#[utoipa::path(post, path = "/v1/sessions/{id}/llm/openai/chat/completions", tag = "model calls",
    params(("id" = SessionId, Path)), request_body(content = Value, example = json!({"model": "policy", "messages": [{"role": "user", "content": "2 + 2?"}]})),
    responses((status = 200, description = "The completion; with `stream`, its chunks as server-sent events.", body = Value)))]
pub(super) async fn chat_completions(
    State(app): State<App>,
    onlooker: Onlooker,
    request: Request,
) -> Result<Response, Failure> {
    call(&app, onlooker, CallKind::ChatCompletions, None, request).await
}

/// Make a response, as OpenAI's API does.
#[utoipa::path(post, path = "/v1/sessions/{id}/llm/openai/responses", tag = "model calls",
    params(("id" = SessionId, Path)), request_body(content = Value, example = json!({"model": "policy", "input": "2 + 2?"})),
    responses((status = 200, description = "The response; with `stream`, its events.", body = Value)))]
pub(super) async fn responses(
    State(app): State<App>,
    onlooker: Onlooker,
    request: Request,
) -> Result<Response, Failure> {
    call(&app, onlooker, CallKind::Responses, None, request).await
}

/// List models, as OpenAI's API does.
#[utoipa::path(get, path = "/v1/sessions/{id}/llm/openai/models", tag = "model calls", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The models.", body = Value)))]
pub(super) async fn openai_models(State(app): State<App>, onlooker: Onlooker) -> Result<Response, Failure> {
    models(&app, &onlooker, Dialect::Openai).await
}

/// Make a message, as Anthropic's API does.
#[utoipa::path(post, path = "/v1/sessions/{id}/llm/anthropic/v1/messages", tag = "model calls",
    params(("id" = SessionId, Path)), request_body(content = Value, example = json!({"model": "policy", "max_tokens": 64, "messages": [{"role": "user", "content": "2 + 2?"}]})),
    responses((status = 200, description = "The message; with `stream`, its events.", body = Value)))]
pub(super) async fn messages(
    State(app): State<App>,
    onlooker: Onlooker,
    request: Request,
) -> Result<Response, Failure> {
    call(&app, onlooker, CallKind::Messages, None, request).await
}

/// List models, as Anthropic's API does.
#[utoipa::path(get, path = "/v1/sessions/{id}/llm/anthropic/v1/models", tag = "model calls", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The models.", body = Value)))]
pub(super) async fn anthropic_models(State(app): State<App>, onlooker: Onlooker) -> Result<Response, Failure> {
    models(&app, &onlooker, Dialect::Anthropic).await
}

/// Generate content, as Gemini's API does.
#[utoipa::path(post, path = "/v1/sessions/{id}/llm/gemini/v1beta/models/{call}", tag = "model calls",
    params(("id" = SessionId, Path), ("call" = String, Path, description = "`MODEL:generateContent`, or `MODEL:streamGenerateContent` with `?alt=sse`.")),
    request_body(content = Value, example = json!({"contents": [{"role": "user", "parts": [{"text": "2 + 2?"}]}]})),
    responses((status = 200, description = "The content; streamed, its parts as server-sent events.", body = Value)))]
pub(super) async fn generate_content(
    State(app): State<App>,
    onlooker: Onlooker,
    Path((_, operation)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Failure> {
    let path = match operation.rsplit_once(':') {
        Some((model, "generateContent")) => (model.to_owned(), false),
        Some((model, "streamGenerateContent")) => (model.to_owned(), true),
        _ => {
            let told = format!(
                "{operation:?} is no operation here: call MODEL:generateContent or MODEL:streamGenerateContent"
            );
            return Err(Failure::new(Code::NotFound, told));
        }
    };
    let in_events = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
    if path.1 && !in_events {
        return Err(Failure::new(Code::Malformed, "parts come as server-sent events alone: add `?alt=sse`"));
    }
    call(&app, onlooker, CallKind::GenerateContent, Some(path), request).await
}

/// List models, as Gemini's API does.
#[utoipa::path(get, path = "/v1/sessions/{id}/llm/gemini/v1beta/models", tag = "model calls", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The models.", body = Value)))]
pub(super) async fn gemini_models(State(app): State<App>, onlooker: Onlooker) -> Result<Response, Failure> {
    models(&app, &onlooker, Dialect::Gemini).await
}

async fn models(app: &App, onlooker: &Onlooker, dialect: Dialect) -> Result<Response, Failure> {
    let Onlooker { principal, session } = onlooker;
    app.sessions().standing(&principal.tenant, *session).await?;
    let names = app.model_calls().models(&principal.tenant, dialect).await?;
    let names = names.iter().filter(|name| *name != "*");
    let listed = match dialect {
        Dialect::Openai => {
            let data: Vec<Value> = names
                .map(|name| json!({"id": name, "object": "model", "created": 0, "owned_by": "palestra"}))
                .collect();
            json!({"object": "list", "data": data})
        }
        Dialect::Anthropic => {
            let data: Vec<Value> = names
                .map(|name| json!({"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}))
                .collect();
            json!({"data": data, "has_more": false, "first_id": data.first().map(|model| &model["id"]),
                   "last_id": data.last().map(|model| &model["id"])})
        }
        Dialect::Gemini => {
            let data: Vec<Value> = names
                .map(
                    |name| json!({"name": format!("models/{name}"), "supportedGenerationMethods": ["generateContent"]}),
                )
                .collect();
            json!({"models": data})
        }
    };
    Ok((StatusCode::OK, [(CONTENT_TYPE, JSON)], Bytes::from(listed.to_string())).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_stands_behind_the_session() {
        for (path, dialect) in [
            ("/v1/sessions/ses_1/llm/openai/chat/completions", Dialect::Openai),
            ("/v1/sessions/ses_1/llm/anthropic/v1/messages", Dialect::Anthropic),
            ("/v1/sessions/ses_1/llm/gemini/v1beta/models/m:generateContent", Dialect::Gemini),
            ("/v1/sessions/ses_1/llm/geminix/v1", Dialect::Openai),
            ("/v1/sessions", Dialect::Openai),
        ] {
            assert_eq!(dialect_at(path), dialect, "{path}");
        }
    }
}

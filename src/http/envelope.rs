//! What every answer has in common: a request id, and problem documents wherever something was refused, also by axum itself.

use std::any::Any;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use palestra_protocol::problem::{Code, Problem};
use uuid::Uuid;

use super::problem::Failure;

/// Carries the request's id in both directions.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of callers are replaced.
const REQUEST_ID_BYTES_MAX: usize = 128;
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The id of a request, in its extensions.
#[derive(Clone)]
pub(super) struct RequestId(pub(super) HeaderValue);

/// Marks an answer whose refusal is written already, in the form of a foreign protocol.
#[derive(Clone)]
pub(super) struct Written;

/// Takes the caller's request id where it is sane, makes one where not, and sends it back.
pub(super) async fn identify(mut request: Request, next: Next) -> Response {
    let id = match request.headers().get(REQUEST_ID) {
        Some(given) if is_sane(given) => given.clone(),
        _ => new_id(),
    };
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn is_sane(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    !bytes.is_empty()
        && bytes.len() <= REQUEST_ID_BYTES_MAX
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

fn new_id() -> HeaderValue {
    let mut buffer = Uuid::encode_buffer();
    let text = Uuid::now_v7().simple().encode_lower(&mut buffer);
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown"))
}

/// Writes the body of every refusal: our own, and those of the framework, which knows nothing of problem documents.
pub(super) async fn write_problems(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.0.to_str().ok()).map(str::to_owned);
    let mut response = next.run(request).await;
    let problem = match response.extensions_mut().remove::<Failure>() {
        Some(failure) => Some(*failure.0),
        None if response.extensions().get::<Written>().is_some() => None,
        None => foreign_problem(response.status()),
    };
    match problem {
        None => response,
        Some(problem) => write(response, &Problem { request_id: id, ..problem }),
    }
}

/// What a refusal that did not come from our own code means.
fn foreign_problem(status: StatusCode) -> Option<Problem> {
    let (code, detail) = match status {
        status if !status.is_client_error() && !status.is_server_error() => return None,
        StatusCode::NOT_FOUND => (Code::NotFound, "there is nothing at this path: /docs lists what there is"),
        StatusCode::METHOD_NOT_ALLOWED => (Code::MethodNotAllowed, "see the header `allow` for what this path takes"),
        StatusCode::REQUEST_TIMEOUT => (Code::RequestTimeout, "the request took too long to arrive or to answer"),
        StatusCode::PAYLOAD_TOO_LARGE => (Code::TooLarge, "the body is larger than this server reads"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (Code::UnsupportedMediaType, "the content type is not read here"),
        status if status.is_client_error() => (Code::Malformed, "the request could not be read"),
        _ => (Code::Internal, "the server failed; its log tells why, under the id of this request"),
    };
    Some(Problem::new(code, detail))
}

fn write(response: Response, problem: &Problem) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    parts.headers.insert(CONTENT_TYPE, PROBLEM_JSON);
    parts.headers.remove(CONTENT_LENGTH);
    let body = serde_json::to_vec(problem).unwrap_or_default();
    Response::from_parts(parts, Body::from(body))
}

/// A handler panicked: the caller learns that it did, and nothing else.
#[expect(clippy::needless_pass_by_value, reason = "the layer calls it with a box")]
pub(super) fn caught(panic: Box<dyn Any + Send + 'static>) -> Response {
    let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = words.unwrap_or("without words"), "a handler panicked");
    Failure::new(Code::Internal, "the server failed; its log tells why, under the id of this request").into_response()
}

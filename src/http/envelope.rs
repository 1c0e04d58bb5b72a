//! What every answer has in common: a request id, and problem documents wherever something was refused, also by axum itself.

use std::any::Any;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::problem::{Code, Problem};
use uuid::Uuid;

use super::problem::Failure;

/// Carries the request's id in both directions.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of callers are replaced.
const REQUEST_ID_BYTES_MAX: usize = 128;
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

tokio::task_local! {
    /// The id of the request that is being answered.
    static ANSWERED: HeaderValue;
}

/// The caller's request id where it is sane, a new one where not.
pub(super) fn identify(headers: &HeaderMap) -> HeaderValue {
    match headers.get(REQUEST_ID) {
        Some(given) if is_sane(given) => given.clone(),
        _ => new_id(),
    }
}

/// Answers a request; whatever fails inside can tell which one.
pub(super) fn naming<F: Future>(id: HeaderValue, answering: F) -> impl Future<Output = F::Output> {
    ANSWERED.scope(id, answering)
}

/// The id of the request that is being answered, for the log.
pub(super) fn current() -> HeaderValue {
    ANSWERED.try_with(HeaderValue::clone).unwrap_or(HeaderValue::from_static("none"))
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

/// Marks an answer whose refusal is written already, in the form of a foreign protocol.
#[derive(Clone)]
pub(super) struct Written;

/// What becomes of a problem before it is written.
pub(super) type Form = fn(Problem) -> Problem;

/// Writes the body of every refusal: our own, and those of the framework, which knows nothing of problem documents. `form` adds
/// what the callers of a route expect beside.
pub(super) fn write_problem(response: &mut Response, id: &HeaderValue, form: Form) {
    let problem = match response.extensions_mut().remove::<Failure>() {
        Some(failure) => Some(*failure.0),
        None if response.extensions().get::<Written>().is_some() => None,
        None => foreign_problem(response.status()),
    };
    if let Some(problem) = problem {
        let request_id = id.to_str().ok().map(str::to_owned);
        write(response, &form(Problem { request_id, ..problem }));
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

fn write(response: &mut Response, problem: &Problem) {
    *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
    response.headers_mut().remove(CONTENT_LENGTH);
    *response.body_mut() = Body::from(serde_json::to_vec(problem).unwrap_or_default());
}

/// A handler panicked: the caller learns that it did, and nothing else.
pub(super) fn caught(panic: &(dyn Any + Send), id: &HeaderValue) -> Response {
    let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(request = ?id, panic = words.unwrap_or("without words"), "a handler panicked");
    Failure::new(Code::Internal, "the server failed; its log tells why, under the id of this request").into_response()
}

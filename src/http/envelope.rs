//! Problem documents, which answer every refusal, also those of axum itself.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::problem::{Code, Problem};

use super::problem::Failure;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Marks an answer whose refusal is written already, in the form of a foreign protocol.
#[derive(Clone)]
pub(super) struct Written;

/// The last change of a problem before it is written.
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

/// The problem for a refusal that did not come from our own code.
fn foreign_problem(status: StatusCode) -> Option<Problem> {
    let (code, detail) = match status {
        status if !status.is_client_error() && !status.is_server_error() => return None,
        StatusCode::NOT_FOUND => (Code::NotFound, "there is nothing at this path: see /docs for what there is"),
        StatusCode::METHOD_NOT_ALLOWED => {
            (Code::MethodNotAllowed, "the path does not take this method: see the header `allow`")
        }
        StatusCode::REQUEST_TIMEOUT => {
            (Code::RequestTimeout, "the request took too long to arrive or to answer: send it again")
        }
        StatusCode::PAYLOAD_TOO_LARGE => (Code::TooLarge, "the body is larger than this server reads: send less"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            (Code::UnsupportedMediaType, "the content type is not read here: see /docs for those that are")
        }
        status if status.is_client_error() => {
            (Code::Malformed, "the request could not be read: see /docs for its form")
        }
        _ => (Code::Internal, "the server failed: look into its log, under the id of this request"),
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
pub(super) fn caught(panic: &str, id: &HeaderValue) -> Response {
    tracing::error!(request = ?id, panic, "a handler panicked");
    Failure::new(Code::Internal, "the server failed: look into its log, under the id of this request").into_response()
}

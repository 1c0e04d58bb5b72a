//! The id of a request: the caller's where it is sane, told in every answer and with every failure in the log.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// Carries the request's id in both directions.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of callers are replaced.
const REQUEST_ID_BYTES_MAX: usize = 128;

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

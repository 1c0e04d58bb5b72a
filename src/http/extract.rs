//! Reading requests: bodies, queries and ids are parsed once, here, and every fault says where it is.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use palestra_protocol::problem::{Code, Fault, Problem};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::body;
use super::problem::Failure;
use super::strict::{self, Strict};
use super::wording::plain;

/// Names an attempt at a creating call.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Longest idempotency key.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

/// A JSON body.
#[derive(Debug, Clone)]
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let JsonText(body) = JsonText::from_request(request, state).await?;
        parse(&body).map(Self)
    }
}

/// A body that claims to be JSON and is read by its handler, piece by piece.
#[derive(Debug, Clone)]
pub(super) struct JsonText(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        require_json(request.headers())?;
        body::read(request).await.map(Self)
    }
}

/// A JSON body that may be left out, which means the same as `{}`.
#[derive(Debug, Clone)]
pub(super) struct OptionalJson<T>(pub(super) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let headers = request.headers().clone();
        let body = body::read(request).await?;
        if body.is_empty() {
            return Ok(Self(T::default()));
        }
        require_json(&headers)?;
        parse(&body).map(Self)
    }
}

/// The media type of a request, without its parameters, in lower case.
pub(super) fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn require_json(headers: &HeaderMap) -> Result<(), Failure> {
    match media_type(headers) {
        Some(name) if name == "application/json" || (name.starts_with("application/") && name.ends_with("+json")) => {
            Ok(())
        }
        _ => Err(Failure::new(
            Code::UnsupportedMediaType,
            "the body is not announced as JSON: send `Content-Type: application/json`",
        )),
    }
}

/// Reads JSON: syntax errors are `malformed`, schema errors `invalid`, with the path to the fault.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Failure> {
    // Most requests are right, and tracking the path costs, so only wrong ones are read a second time.
    strict::from_slice(bytes).map_err(|error| describe::<T>(bytes, &error))
}

fn describe<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8], error: &serde_json::Error) -> Failure {
    if error.classify() != Category::Data {
        return malformed(error);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let fault = match serde_path_to_error::deserialize::<_, T>(Strict(&mut deserializer)) {
        Err(error) => fault(&error),
        Ok(_) => Fault { detail: plain(&error.to_string()).into_owned(), ..Fault::default() },
    };
    invalid(fault)
}

fn malformed(error: &serde_json::Error) -> Failure {
    Failure::new(Code::Malformed, format!("the JSON cannot be read, correct it: {error}"))
}

/// Reads a JSON value of another shape.
pub(super) fn parse_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(Strict(value)).map_err(|error| invalid(fault(&error)))
}

fn fault(error: &serde_path_to_error::Error<serde_json::Error>) -> Fault {
    let path = error.path().to_string();
    // What stands in a member whose name could not be taken is told of the object.
    let path = path.trim_end_matches('?').trim_end_matches('.');
    Fault {
        field: Some(path.to_owned()).filter(|path| !path.is_empty()),
        detail: plain(&error.inner().to_string()).into_owned(),
        ..Fault::default()
    }
}

fn invalid(fault: Fault) -> Failure {
    let detail = match &fault.field {
        Some(field) => format!("{field}: {}", fault.detail),
        None => fault.detail.clone(),
    };
    Problem::new(Code::Invalid, detail).with_errors(vec![fault]).into()
}

/// A query string, of which every parameter is known.
#[derive(Debug, Clone)]
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        if !parts.uri.query().is_none_or(is_text) {
            return Err(Failure::new(Code::Malformed, "the query must be UTF-8 text without NUL"));
        }
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|query| Self(query.0))
            .map_err(|rejection| Failure::new(Code::Malformed, query_fault(&rejection.body_text())))
    }
}

/// Tells whether a query is text once its escapes are undone. No store can hold a NUL, so nothing can be found by one.
fn is_text(query: &str) -> bool {
    percent_decode_str(query).decode_utf8().is_ok_and(|text| !text.contains('\0'))
}

fn query_fault(words: &str) -> String {
    let fault = words.rsplit_once("query string: ").map_or(words, |(_, fault)| fault);
    format!("the query does not fit: {}", plain(fault))
}

/// The path parameter `id`. One that cannot be an id names nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id<T>(pub(super) T);

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        path_parameter(parts, state, "id").await.map(Self)
    }
}

/// The path parameter `seq`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seq(pub(super) u64);

impl<S: Send + Sync> FromRequestParts<S> for Seq {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        // The store counts in signed 64 bits.
        let seq: u64 = path_parameter(parts, state, "seq").await?;
        if i64::try_from(seq).is_ok() { Ok(Self(seq)) } else { Err(Failure::not_found("step")) }
    }
}

/// The path parameters `family` and `name` as `family/name`, as they were sent: the catalog knows what there is.
#[derive(Debug, Clone)]
pub(super) struct EnvironmentName(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for EnvironmentName {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let family: String = path_parameter(parts, state, "family").await?;
        let name: String = path_parameter(parts, state, "name").await?;
        Ok(Self(format!("{family}/{name}")))
    }
}

/// The path parameter `name`: a file, whose name may have several parts.
#[derive(Debug, Clone)]
pub(super) struct FileName(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for FileName {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        path_parameter(parts, state, "name").await.map(Self)
    }
}

pub(super) async fn path_parameter<T: FromStr, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    wanted: &str,
) -> Result<T, Failure> {
    let nothing = || Failure::not_found("thing");
    let parameters = RawPathParams::from_request_parts(parts, state).await.map_err(|_| nothing())?;
    let (_, value) = parameters.iter().find(|(name, _)| *name == wanted).ok_or_else(nothing)?;
    value.parse().map_err(|_| nothing())
}

/// The header `Idempotency-Key`, where it was sent.
#[derive(Debug, Clone)]
pub(super) struct IdempotencyKey(pub(super) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else { return Ok(Self(None)) };
        let key = value.to_str().ok().filter(|key| is_usable_key(key)).ok_or_else(|| {
            Failure::new(
                Code::Malformed,
                format!("`Idempotency-Key` must be 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible characters"),
            )
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

/// The same rule for keys that stand in frames and items.
pub(super) fn check_key(key: Option<String>) -> Result<Option<String>, Failure> {
    match key {
        Some(key) if !is_usable_key(&key) => Err(Failure::invalid(
            "key",
            format!("a key must be 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters"),
        )),
        key => Ok(key),
    }
}

fn is_usable_key(key: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use palestra_protocol::session::CreateSession;
    use palestra_protocol::step::Step;

    use super::*;

    fn refusal<T: DeserializeOwned + std::fmt::Debug>(text: &[u8]) -> Problem {
        *parse::<T>(text).unwrap_err().0
    }

    #[test]
    fn text_that_is_no_json_is_malformed() {
        let deep =
            format!(r#"{{"action":{{"tool":"a","arguments":{{"a":{}1{}}}}}}}"#, "[".repeat(200), "]".repeat(200));
        for text in [
            &b"{"[..],
            b"",
            b"{\"action\":}",
            b"{\"action\":{\"text\":\"\xff\"}}",
            b"{\"action\":{\"text\":\"a\"}}{}",
            deep.as_bytes(),
        ] {
            assert_eq!(refusal::<Step>(text).code, Code::Malformed, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn json_of_another_shape_is_invalid_at_its_path() {
        for (text, field) in [
            (r#"{"environment":"a/b","limits":{"steps":"many"}}"#, Some("limits.steps")),
            (r#"{"environment":"a/b","limits":{"stepz":1}}"#, Some("limits.stepz")),
            (r#"{"environment":7}"#, Some("environment")),
            (r#"{"environment":"a/b","id":"ses_1"}"#, Some("id")),
            ("[]", None),
            ("7", None),
        ] {
            let problem = refusal::<CreateSession>(text.as_bytes());
            assert_eq!(problem.code, Code::Invalid, "{text}");
            assert_eq!(problem.errors[0].field.as_deref(), field, "{text}");
        }
        let missing = refusal::<Step>(b"{}");
        assert_eq!((missing.code, missing.errors[0].field.as_deref()), (Code::Invalid, None));
    }

    #[test]
    fn a_nul_inside_json_is_data_like_any_other() {
        assert!(parse::<Step>(br#"{"action":{"text":"a\u0000b"}}"#).is_ok());
    }

    #[tokio::test]
    async fn only_json_is_read_as_json() {
        for (content_type, good) in [
            (Some("application/json"), true),
            (Some("application/json; charset=utf-8"), true),
            (Some("Application/JSON"), true),
            (Some("text/plain"), false),
            (Some("application/x-www-form-urlencoded"), false),
            (None, false),
        ] {
            let mut request = Request::builder();
            if let Some(content_type) = content_type {
                request = request.header(CONTENT_TYPE, content_type);
            }
            let request = request.body(Body::from(r#"{"action":{"text":"a"}}"#)).unwrap();
            let read = Json::<Step>::from_request(request, &()).await;
            match read {
                Ok(_) => assert!(good, "{content_type:?}"),
                Err(failure) => {
                    assert!(!good, "{content_type:?}");
                    assert_eq!(failure.code(), Code::UnsupportedMediaType);
                }
            }
        }
    }

    #[test]
    fn keys_are_short_and_visible() {
        assert!(check_key(Some("a key".to_owned())).is_ok());
        for key in [String::new(), "a\0b".to_owned(), "ü".to_owned(), "a".repeat(256)] {
            assert!(check_key(Some(key)).is_err());
        }
    }
}

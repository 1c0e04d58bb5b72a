//! The client and how it asks, and how answers are read.

use std::time::Duration;

use palestra_protocol::problem::Problem;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::{bearer, parse_base};
use crate::error::ClientError;
use crate::stream::{Options, Stream};
use crate::tls;

/// Time limit of connecting, in milliseconds.
const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// Time limit of a call, in milliseconds. Judging and publishing may take minutes; a server that is gone takes seconds.
const CALL_TIMEOUT_MS: u64 = 15 * 60_000;
/// Name of the header that makes a creating call safe to repeat.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A Palestra server and the credential for it. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    key: Option<String>,
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:7070`. `key` is an API key or a session token.
    ///
    /// # Errors
    /// [`ClientError::Address`] when `url` is no HTTP address or `key` cannot be sent in a header. Nothing is sent yet.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, ClientError> {
        tls::prepare();
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(AUTHORIZATION, bearer(key)?);
        }
        let http = reqwest::Client::builder()
            .default_headers(headers)
            .connect_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
            .timeout(Duration::from_millis(CALL_TIMEOUT_MS))
            .build()
            .map_err(|error| ClientError::Address(crate::error::causes(&error)))?;
        Ok(Self { http, base: parse_base(url)?, key: key.map(str::to_owned) })
    }

    /// The server's address.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.base
    }

    /// Opens a stream to the same server with the same credential.
    ///
    /// # Errors
    /// As [`Stream::connect`].
    pub async fn stream(&self, options: Options) -> Result<Stream, ClientError> {
        Stream::connect(self.base.as_str(), self.key.as_deref(), options).await
    }

    /// The address of `segments` below `/v1`.
    pub(crate) fn address(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        url
    }

    /// The address of `path` at the root of the server.
    pub(crate) fn root_address(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push(path);
        }
        url
    }

    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.http.request(method, self.address(segments))
    }

    pub(crate) fn request_url(&self, method: Method, url: Url) -> RequestBuilder {
        self.http.request(method, url)
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &impl Serialize,
    ) -> Result<T, ClientError> {
        read(self.request(Method::GET, segments).query(query).send().await?).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        read(self.request(Method::PUT, segments).json(body).send().await?).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T, ClientError> {
        read(with_key(self.request(Method::POST, segments), key)?.json(body).send().await?).await
    }
}

/// Adds an idempotency key to a creating call.
fn with_key(request: RequestBuilder, key: Option<&str>) -> Result<RequestBuilder, ClientError> {
    let Some(key) = key else { return Ok(request) };
    let value = HeaderValue::from_str(key)
        .map_err(|_| ClientError::Unsendable("an idempotency key must be fit for a header".to_owned()))?;
    Ok(request.header(IDEMPOTENCY_KEY, value))
}

/// Reads an answer: its JSON on success, its problem otherwise.
pub(crate) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, ClientError> {
    let response = succeed(response).await?;
    let status = response.status().as_u16();
    let body = response.bytes().await?;
    // A call without an answer's body (204) reads as JSON null.
    let text: &[u8] = if body.is_empty() { b"null" } else { &body };
    serde_json::from_slice(text).map_err(|error| {
        // A batch of one may come back as a problem with a success status from a broken proxy; say what was seen.
        serde_json::from_slice::<Problem>(text)
            .map_or_else(|_| ClientError::Unexpected { status, excerpt: error.to_string() }, ClientError::from)
    })
}

/// Turns every answer that is no success into its error.
pub(crate) async fn succeed(response: Response) -> Result<Response, ClientError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    Err(ClientError::from_answer(status.as_u16(), &response.bytes().await?))
}

/// The header that says what a published file holds.
pub(crate) fn content_type(request: RequestBuilder, media_type: &'static str) -> RequestBuilder {
    request.header(CONTENT_TYPE, HeaderValue::from_static(media_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_a_prefix_and_escape_their_parts() {
        for (base, expected) in [
            ("http://localhost:7070", "http://localhost:7070/v1/environments/a%2Fb/x"),
            ("http://localhost:7070/", "http://localhost:7070/v1/environments/a%2Fb/x"),
            ("https://example.org/palestra", "https://example.org/palestra/v1/environments/a%2Fb/x"),
        ] {
            let client = Client::new(base, None).unwrap();
            assert_eq!(client.address(&["environments", "a/b", "x"]).as_str(), expected);
        }
        let client = Client::new("http://localhost:7070", None).unwrap();
        assert_eq!(client.address(&["sessions:create"]).path(), "/v1/sessions:create");
    }

    #[test]
    fn what_is_no_server_address_is_refused() {
        for base in ["", "localhost:7070", "ftp://localhost", "http://", "mailto:a@b"] {
            assert!(matches!(Client::new(base, None), Err(ClientError::Address(_))), "{base}");
        }
        assert!(matches!(Client::new("http://localhost", Some("a\nb")), Err(ClientError::Address(_))));
    }
}

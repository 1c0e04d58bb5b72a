//! The way to the upstream and back: the request, its refusal, an answer that comes whole.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use palestra_protocol::upstream::Dialect;
use reqwest::Response;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::{ANSWER_BYTES_MAX, Call, EVENT_STREAM, EXCERPT_CHARACTERS_MAX, End, JSON, upstream};
use crate::CallError;
use crate::dialect::{self, Answer};

/// Bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Headers that version a dialect.
const PASSED_ON: [HeaderName; 4] = [
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("openai-beta"),
    HeaderName::from_static("x-goog-api-client"),
];
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const ANTHROPIC_VERSION_DEFAULT: HeaderValue = HeaderValue::from_static("2023-06-01");
const ANTHROPIC_KEY: HeaderName = HeaderName::from_static("x-api-key");
const GEMINI_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const POLICY_VERSION: HeaderName = HeaderName::from_static("x-policy-version");

impl Call {
    /// Sends the request; answers once the head of a good answer is there.
    pub(super) async fn send(&mut self, address: &Uri, headers: &HeaderMap) -> Result<Response, End> {
        if let Some(slots) = &self.target.slots {
            self.slot = Arc::clone(slots).acquire_owned().await.ok();
        }
        let target = &self.target;
        let mut request = self.calls.http()?.post(address.to_string()).header(CONTENT_TYPE, JSON);
        for name in &PASSED_ON {
            if let Some(value) = headers.get(name) {
                request = request.header(name, value);
            }
        }
        if self.row.streamed {
            request = request.header(ACCEPT, EVENT_STREAM);
        }
        let dialect = self.row.kind.dialect();
        if dialect == Dialect::Anthropic && !headers.contains_key(&ANTHROPIC_VERSION) {
            request = request.header(ANTHROPIC_VERSION, ANTHROPIC_VERSION_DEFAULT);
        }
        if let Some(key) = &target.key {
            let name = match dialect {
                Dialect::Openai => AUTHORIZATION,
                Dialect::Anthropic => ANTHROPIC_KEY,
                Dialect::Gemini => GEMINI_KEY,
            };
            request = request.header(name, key.clone());
        }
        let sending = request.body(self.row.request.clone()).send();
        let response = timeout(target.silence(), sending).await.map_err(|_| self.late())?;
        let mut response = response.map_err(|error| self.unreachable(error))?;
        let version = response.headers().get(POLICY_VERSION).and_then(|version| version.to_str().ok());
        self.row.policy_version = version.map(str::to_owned);
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(&mut response).await)
    }

    /// A refusal of the upstream, as its client reads it.
    async fn refusal(&self, response: &mut Response) -> End {
        let status = response.status();
        let name = &self.target.name;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            // The caller's own credential is good.
            return upstream(format!("the upstream {name} refused its key ({status}): put the upstream with another"))
                .into();
        }
        if !status.is_client_error() && !status.is_server_error() {
            return upstream(format!("the upstream {name} answered {status}: give the address that it leads to"))
                .into();
        }
        let mut body = BytesMut::new();
        while let Ok(Ok(Some(chunk))) = timeout(self.target.silence(), response.chunk()).await {
            if body.len() + chunk.len() > REFUSAL_BYTES_MAX {
                return upstream(format!(
                    "the upstream {name} refused the call ({status}) in a great many words: look at its log"
                ))
                .into();
            }
            body.extend_from_slice(&chunk);
        }
        let body = self.without_key(body.freeze());
        if serde_json::from_slice::<Map<String, Value>>(&body).is_err() {
            let told: String = String::from_utf8_lossy(&body).chars().take(EXCERPT_CHARACTERS_MAX).collect();
            return upstream(format!("the upstream {name} refused the call ({status}), look at its log: {told}"))
                .into();
        }
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
        headers.extend(response.headers().get(RETRY_AFTER).map(|after| (RETRY_AFTER, after.clone())));
        End::Refused { status, headers, body }
    }

    pub(super) async fn read_whole(&mut self, mut response: Response) -> Result<(Answer, Bytes), End> {
        let mut first: Option<Bytes> = None;
        let mut rest = BytesMut::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if first.as_ref().map_or(0, Bytes::len) + rest.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(self.too_large().into());
            }
            match &first {
                None => first = Some(chunk),
                Some(_) => rest.extend_from_slice(&chunk),
            }
        }
        let first = first.unwrap_or_default();
        let body = if rest.is_empty() { first } else { Bytes::from([&first[..], &rest[..]].concat()) };
        let body = self.without_key(body);
        let answer = dialect::read_answer(self.row.kind, &body).map_err(|wrong| self.no_answer(&wrong))?;
        Ok((answer, body))
    }

    pub(super) async fn chunk(&mut self, response: &mut Response) -> Result<Option<Bytes>, CallError> {
        let chunk = timeout(self.target.silence(), response.chunk()).await.map_err(|_| self.late())?;
        let chunk = chunk.map_err(|error| {
            let (name, told) = (&self.target.name, causes(&error.without_url()));
            upstream(format!(
                "the upstream {name} broke off in the middle of its answer ({told}): try again, or look at its log"
            ))
        })?;
        if self.row.first_us.is_none() {
            self.row.first_us = Some(self.elapsed_us());
        }
        Ok(chunk)
    }

    fn late(&self) -> CallError {
        let (name, silence) = (&self.target.name, self.target.silence().as_millis());
        CallError::Late(format!(
            "the upstream {name} was silent for {silence} ms: raise its silence_max_ms, or look at it"
        ))
    }

    fn unreachable(&self, error: reqwest::Error) -> CallError {
        let (name, told) = (&self.target.name, causes(&error.without_url()));
        upstream(format!("the upstream {name} cannot be reached ({told}): check its URL"))
    }

    pub(super) fn too_large(&self) -> CallError {
        upstream(format!(
            "the answer of the upstream {} is larger than {ANSWER_BYTES_MAX} bytes: ask for fewer tokens",
            self.target.name
        ))
    }

    pub(super) fn no_answer(&self, wrong: &str) -> CallError {
        let name = &self.target.name;
        upstream(format!(
            "the upstream {name} answered otherwise than its dialect does, check its URL and dialect: {wrong}"
        ))
    }
}

/// An error with its causes, the last of which says what happened.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}

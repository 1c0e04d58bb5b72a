//! Files as answers and as bodies: streamed, with their digests, and never whole in memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, EXPECT, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use palestra_protocol::job::Artifact;
use palestra_protocol::problem::Code;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::body::linger;
use super::problem::Failure;
use palestra_jobs::{ByteStream, JobsError};

/// Carries the digest of a file: `sha256:` and 64 hexadecimal digits.
const CONTENT_SHA256: HeaderName = HeaderName::from_static("x-content-sha256");
/// Hexadecimal digits of a digest.
const DIGEST_DIGITS: usize = 64;
/// Characters that are escaped in a name of the form of RFC 5987.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');
/// Longest silence within an upload, in milliseconds. As a whole it may take as long as it takes.
const SILENCE_MS_MAX: u64 = 30_000;

/// A file on its way to a caller, or that it is what the caller has.
pub(super) fn file(headers: &HeaderMap, artifact: &Artifact, bytes: ByteStream) -> Response {
    let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", artifact.digest)) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known == tag || known == "*") {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    let mut response = Body::from_stream(bytes).into_response();
    let known = response.headers_mut();
    known.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    known.insert(CONTENT_LENGTH, HeaderValue::from(artifact.size_bytes));
    known.insert(ETAG, tag);
    if let Ok(digest) = HeaderValue::from_str(&artifact.digest) {
        known.insert(CONTENT_SHA256, digest);
    }
    if let Ok(name) = HeaderValue::from_str(&disposition(&artifact.name)) {
        known.insert(CONTENT_DISPOSITION, name);
    }
    response
}

/// Under which name a file is to be kept, RFC 6266: a plain one, and the whole where that is not plain.
fn disposition(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or_default();
    let plain = |letter: char| match letter {
        '"' => '\'',
        '\\' => '_',
        other if other.is_ascii() && !other.is_ascii_control() => other,
        _ => '_',
    };
    let simple: String = last.chars().map(plain).collect();
    if simple == last {
        return format!("attachment; filename=\"{simple}\"");
    }
    format!("attachment; filename=\"{simple}\"; filename*=UTF-8''{}", utf8_percent_encode(last, ESCAPED))
}

/// The digest that a sender announces.
pub(super) fn announced_digest(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get(CONTENT_SHA256) else { return Ok(None) };
    let digits = value.to_str().ok().map(|text| text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase());
    digits
        .filter(|digits| digits.len() == DIGEST_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(|digits| Some(format!("sha256:{digits}")))
        .ok_or_else(|| Failure::new(Code::Malformed, "`x-content-sha256` must be `sha256:` and 64 hexadecimal digits"))
}

/// A body that is taken in piece by piece, and remembers how it ended.
pub(super) struct Incoming {
    body: Arc<Mutex<BodyDataStream>>,
    end: Arc<End>,
    waits_to_be_asked: bool,
    declared_bytes: Option<u64>,
}

#[derive(Default)]
struct End {
    broke_off: AtomicBool,
    fell_silent: AtomicBool,
}

impl Incoming {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Self {
        let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            body: Arc::new(Mutex::new(body.into_data_stream())),
            end: Arc::default(),
            waits_to_be_asked: headers.contains_key(EXPECT),
            declared_bytes: declared,
        }
    }

    /// Number of bytes that are announced.
    pub(super) const fn declared_bytes(&self) -> Option<u64> {
        self.declared_bytes
    }

    /// The pieces as they come; one that does not come in time ends them with an error.
    pub(super) fn pieces(&self) -> ByteStream {
        let state = (Arc::clone(&self.body), Arc::clone(&self.end), false);
        futures::stream::unfold(state, |(body, end, over)| async move {
            if over {
                return None;
            }
            let piece = timeout(Duration::from_millis(SILENCE_MS_MAX), body.lock().await.next()).await;
            let (piece, over): (io::Result<Bytes>, bool) = match piece {
                Ok(None) => return None,
                Ok(Some(Ok(piece))) => (Ok(piece), false),
                Ok(Some(Err(_))) => {
                    end.broke_off.store(true, Ordering::Relaxed);
                    (Err(io::ErrorKind::UnexpectedEof.into()), true)
                }
                Err(_) => {
                    end.fell_silent.store(true, Ordering::Relaxed);
                    (Err(io::ErrorKind::TimedOut.into()), true)
                }
            };
            Some((piece, (body, end, over)))
        })
        .boxed()
    }

    /// Why an upload failed: because of the sender, or because of the queue. Takes in what is still coming, so that the sender reads
    /// the answer.
    pub(super) async fn explain(self, error: JobsError) -> Failure {
        match self.fault_of_the_sender() {
            Some(failure) => failure,
            None => self.refuse(error.into()).await,
        }
    }

    /// Takes in what is still coming of a body that is refused, so that the sender reads why.
    pub(super) async fn refuse(self, failure: Failure) -> Failure {
        // Reading would ask a sender that waits with `Expect: 100-continue` to send after all.
        if !self.waits_to_be_asked {
            linger(&mut *self.body.lock().await).await;
        }
        failure
    }

    fn fault_of_the_sender(&self) -> Option<Failure> {
        if self.end.broke_off.load(Ordering::Relaxed) {
            return Some(Failure::new(Code::Malformed, "the body broke off and nothing was kept: send it again"));
        }
        let silent = self.end.fell_silent.load(Ordering::Relaxed);
        silent.then(|| {
            Failure::new(Code::RequestTimeout, "the body did not go on in time and nothing was kept: send it again")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_plain_is_told_as_a_whole_as_well() {
        for (name, expected) in [
            ("policy/config.json", "attachment; filename=\"config.json\""),
            ("my data.jsonl", "attachment; filename=\"my data.jsonl\""),
            ("\u{fc}.jsonl", "attachment; filename=\"_.jsonl\"; filename*=UTF-8''%C3%BC.jsonl"),
            ("a \"b\"", "attachment; filename=\"a 'b'\"; filename*=UTF-8''a%20%22b%22"),
            ("a\r\nb", "attachment; filename=\"a__b\"; filename*=UTF-8''a%0D%0Ab"),
        ] {
            assert_eq!(disposition(name), expected);
        }
    }

    #[test]
    fn a_digest_is_announced_in_one_of_two_forms() {
        let announced = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_SHA256, text.parse().unwrap());
            announced_digest(&headers)
        };
        let digits = "ab".repeat(32);
        let whole = format!("sha256:{digits}");
        assert_eq!(announced_digest(&HeaderMap::new()).unwrap(), None);
        assert_eq!(announced(&whole).unwrap().as_ref(), Some(&whole));
        assert_eq!(announced(&digits.to_uppercase()).unwrap().as_ref(), Some(&whole));
        for wrong in ["", "abc", &"x".repeat(64), "md5:abc"] {
            assert_eq!(announced(wrong).unwrap_err().code(), Code::Malformed, "{wrong}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_falls_silent_is_told_so() {
        let body = Body::from_stream(futures::stream::pending::<Result<Bytes, io::Error>>());
        let incoming = Incoming::new(&HeaderMap::new(), body);
        let mut pieces = incoming.pieces();
        let error = pieces.next().await.unwrap().unwrap_err();
        assert!(pieces.next().await.is_none());
        drop(pieces);
        assert_eq!(incoming.explain(JobsError::Io(error)).await.code(), Code::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_the_senders_fault() {
        let body = Body::from_stream(futures::stream::iter([Ok("a"), Err(io::Error::other("gone"))]));
        let incoming = Incoming::new(&HeaderMap::new(), body);
        let pieces: Vec<_> = incoming.pieces().collect().await;
        assert_eq!(pieces.len(), 2);
        let failure = incoming.explain(JobsError::Io(io::Error::other("gone"))).await;
        assert_eq!(failure.code(), Code::Malformed);
    }
}

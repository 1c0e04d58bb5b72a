//! Reading the bodies of requests, within bounds of size and time.

use std::pin::pin;
use std::time::Duration;

use axum::body::{BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use futures::StreamExt;
use futures::future::poll_immediate;
use palestra_protocol::problem::Code;
use tokio::time::timeout;

use super::problem::Failure;

/// Bytes of a body that is too large which are read and thrown away, so that a client that is still sending reads its answer.
const LINGER_BYTES_MAX: usize = 32 << 20;
/// Milliseconds for that.
const LINGER_MS: u64 = 2_000;

/// Bound on a body; stands in the extensions of the requests of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyBounds {
    pub(super) bytes_max: usize,
    /// Milliseconds from the request's head to the end of its body, however steadily it trickles.
    pub(super) timeout_ms: u64,
}

impl Default for BodyBounds {
    /// For routes that name no bounds.
    fn default() -> Self {
        Self { bytes_max: 1 << 16, timeout_ms: 10_000 }
    }
}

/// The whole body, within the bounds of its route.
pub(super) async fn read(request: Request) -> Result<Bytes, Failure> {
    let bounds = request.extensions().get::<BodyBounds>().copied().unwrap_or_default();
    let declared = declared_bytes(request.headers());
    let waits_to_be_asked = request.headers().contains_key(EXPECT);
    let mut body = request.into_body().into_data_stream();
    if declared.is_some_and(|bytes| bytes > bounds.bytes_max as u64) {
        // Reading would ask a client that waits with `Expect: 100-continue` to send after all.
        if !waits_to_be_asked {
            linger(&mut body).await;
        }
        return Err(too_large(bounds.bytes_max));
    }
    let mut whole = pin!(collect(&mut body, bounds.bytes_max));
    // Most bodies are there already, and need no clock.
    if let Some(whole) = poll_immediate(whole.as_mut()).await {
        return whole;
    }
    timeout(Duration::from_millis(bounds.timeout_ms), whole).await.unwrap_or_else(|_| {
        Err(Failure::new(Code::RequestTimeout, "the body did not arrive in time: send the request again"))
    })
}

fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn collect(body: &mut BodyDataStream, bytes_max: usize) -> Result<Bytes, Failure> {
    // Most bodies come in one piece, which is then not copied.
    let mut only = Bytes::new();
    let mut whole = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| Failure::new(Code::Malformed, "the body broke off: send the request again"))?;
        if only.len().max(whole.len()) + piece.len() > bytes_max {
            linger(body).await;
            return Err(too_large(bytes_max));
        }
        if only.is_empty() {
            only = piece;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&only);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(if whole.is_empty() { only } else { Bytes::from(whole) })
}

/// Takes in what is still coming: closing a connection with unread bytes resets it, and the answer would be lost with it.
pub(super) async fn linger(body: &mut BodyDataStream) {
    let drain = async {
        let mut thrown_away = 0;
        while let Some(Ok(piece)) = body.next().await {
            thrown_away += piece.len();
            if thrown_away > LINGER_BYTES_MAX {
                break;
            }
        }
    };
    if timeout(Duration::from_millis(LINGER_MS), drain).await.is_err() {
        tracing::debug!("a client went on sending a body that is too large");
    }
}

fn too_large(bytes_max: usize) -> Failure {
    Failure::new(
        Code::TooLarge,
        format!("the body has more than the {bytes_max} bytes that this call reads: send less"),
    )
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures::stream;

    use super::*;

    fn request(pieces: Vec<&'static str>, bytes_max: usize) -> Request {
        let body = Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>)));
        let bounds = BodyBounds { bytes_max, timeout_ms: 1_000 };
        axum::http::Request::builder().extension(bounds).body(body).unwrap()
    }

    #[tokio::test]
    async fn pieces_make_a_whole_up_to_the_bound() {
        for (pieces, whole) in [(vec![], ""), (vec!["abc"], "abc"), (vec!["a", "", "b", "c"], "abc")] {
            assert_eq!(read(request(pieces, 3)).await.unwrap(), whole);
        }
        for pieces in [vec!["abcd"], vec!["ab", "cd"], vec!["a", "b", "cd"]] {
            let refused = read(request(pieces, 3)).await.unwrap_err();
            assert_eq!(refused.code(), Code::TooLarge);
            assert!(refused.0.detail.contains("more than the 3 bytes"), "{}", refused.0.detail);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_is_given_up() {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(read(Request::new(body)).await.unwrap_err().code(), Code::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_malformed() {
        let body = Body::from_stream(stream::iter([Ok("a"), Err(std::io::Error::other("gone"))]));
        assert_eq!(read(Request::new(body)).await.unwrap_err().code(), Code::Malformed);
    }
}

//! Files of a server, written as they arrive and checked by their digest.

use std::time::Duration;

use futures::StreamExt;
use reqwest::RequestBuilder;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::error::ClientError;
use crate::transport::succeed;
use crate::worker::{DIGEST_HEADER, digest_text};

/// Longest silence within a file, in milliseconds.
const SILENCE_MS_MAX: u64 = 60_000;
/// Longest time for a whole file, in milliseconds.
const DOWNLOAD_MS_MAX: u64 = 24 * 3_600_000;

/// A file that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Number of bytes that were written.
    pub size_bytes: u64,
    /// `sha256:` and 64 hexadecimal digits, of what was written.
    pub digest: String,
}

/// Sends a request and writes its answer.
pub(crate) async fn receive(
    request: RequestBuilder,
    into: &mut (impl AsyncWrite + Unpin),
) -> Result<Downloaded, ClientError> {
    let response = succeed(request.timeout(Duration::from_millis(DOWNLOAD_MS_MAX)).send().await?).await?;
    let expected = response.headers().get(DIGEST_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut pieces = response.bytes_stream();
    let (mut size_bytes, mut hash) = (0, Sha256::new());
    let unwritable = |error: std::io::Error| {
        ClientError::File(format!("a download cannot be written, check the folder and its free space: {error}"))
    };
    loop {
        let piece = timeout(Duration::from_millis(SILENCE_MS_MAX), pieces.next()).await;
        let Some(piece) =
            piece.map_err(|_| ClientError::Unreachable("a download stopped midway: try again".to_owned()))?
        else {
            break;
        };
        let piece = piece?;
        size_bytes += piece.len() as u64;
        hash.update(&piece);
        into.write_all(&piece).await.map_err(unwritable)?;
    }
    into.flush().await.map_err(unwritable)?;
    let digest = digest_text(&hash.finalize());
    if expected.is_some_and(|expected| expected != digest) {
        return Err(ClientError::Unreachable("what was downloaded is not what the server sent: try again".to_owned()));
    }
    Ok(Downloaded { size_bytes, digest })
}

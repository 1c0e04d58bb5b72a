//! Demultiplexer of a container's output: standard output is the connection to the agent, standard error its last words.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of standard error that are kept.
const COMPLAINTS_BYTES_MAX: usize = 4_096;

/// A part of what a container prints.
pub(super) enum Piece {
    /// Standard output.
    Output(Vec<u8>),
    /// Standard error.
    Complaint(Vec<u8>),
}

/// Standard output of a container.
pub(super) struct Attached {
    pieces: BoxStream<'static, io::Result<Piece>>,
    rest: Vec<u8>,
    taken: usize,
    complaints: Complaints,
}

/// The first bytes of a container's standard error.
#[derive(Clone, Default)]
pub(super) struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Attached {
    pub(super) fn new(pieces: BoxStream<'static, io::Result<Piece>>) -> Self {
        Self { pieces, rest: Vec::new(), taken: 0, complaints: Complaints::default() }
    }

    /// Its standard error, now and later.
    pub(super) fn complaints(&self) -> Complaints {
        self.complaints.clone()
    }
}

impl Complaints {
    /// As text, on one line; `None` where nothing was said.
    pub(super) fn text(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0.lock()).trim().replace(|letter: char| letter.is_control(), " ");
        (!text.is_empty()).then_some(text)
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        let room = COMPLAINTS_BYTES_MAX.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..room]);
    }
}

impl AsyncRead for Attached {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.taken < this.rest.len() {
                let part = (this.rest.len() - this.taken).min(into.remaining());
                into.put_slice(&this.rest[this.taken..this.taken + part]);
                this.taken += part;
                return Poll::Ready(Ok(()));
            }
            match ready!(this.pieces.as_mut().poll_next(context)) {
                Some(Ok(Piece::Output(bytes))) => (this.rest, this.taken) = (bytes, 0),
                Some(Ok(Piece::Complaint(bytes))) => this.complaints.add(&bytes),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn output_is_read_whole_and_complaints_are_bounded() {
        let mut pieces = vec![Ok(Piece::Output(b"one ".to_vec())), Ok(Piece::Complaint(b"no\npe\n".to_vec()))];
        pieces.push(Ok(Piece::Output(Vec::new())));
        pieces.push(Ok(Piece::Output(b"two".to_vec())));
        pieces.push(Ok(Piece::Complaint(vec![b'x'; 100_000])));
        let mut attached = Attached::new(futures::stream::iter(pieces).boxed());
        let complaints = attached.complaints();
        assert_eq!(complaints.text(), None);
        let mut first = [0; 2];
        attached.read_exact(&mut first).await.expect("two bytes");
        let mut rest = String::new();
        attached.read_to_string(&mut rest).await.expect("the rest");
        assert_eq!((&first, rest.as_str()), (b"on", "e two"));
        let text = complaints.text().expect("said");
        assert!(text.starts_with("no pe xxx") && text.len() <= COMPLAINTS_BYTES_MAX, "{}", text.len());
    }

    #[tokio::test]
    async fn a_cut_connection_is_an_error() {
        let pieces = vec![Ok(Piece::Output(b"a".to_vec())), Err(io::Error::other("cut"))];
        let mut attached = Attached::new(futures::stream::iter(pieces).boxed());
        assert!(attached.read_to_end(&mut Vec::new()).await.is_err());
    }
}

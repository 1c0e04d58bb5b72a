//! A session's events as server-sent events.

use std::time::Duration;

use futures::stream::{BoxStream, StreamExt};
use palestra_protocol::episode::Event;
use palestra_protocol::id::SessionId;
use reqwest::{Method, RequestBuilder};
use serde::de::DeserializeOwned;

use crate::error::ClientError;
use crate::transport::{Client, succeed};

/// The longest line that is kept, in bytes. A longer one cannot be an event of a Palestra server.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Time limit of one connection, in milliseconds; longer than a session lives.
const LISTEN_TIMEOUT_MS: u64 = 7 * 24 * 3_600_000;
/// Longest silence of a connection that lives, in milliseconds: servers show four times a minute that they are there.
const SILENCE_MS_MAX: u64 = 60_000;
/// Lines that may lie in one chunk from the network are parsed at once, so the queue is bounded by the chunk.
type Queue<T> = std::collections::VecDeque<Result<T, ClientError>>;

impl Client {
    /// The session's events after `after` (the `id` of an event; from the beginning where left out), then live ones. Ends when
    /// the session is closed or the connection breaks; go on with the last event's id.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn events(
        &self,
        session: SessionId,
        after: Option<&str>,
    ) -> Result<BoxStream<'static, Result<Event, ClientError>>, ClientError> {
        let mut request = self.request(Method::GET, &["sessions", &session.to_string(), "events"]);
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        follow(request).await
    }
}

/// The events that answer a request, until the server ends them or the connection breaks.
pub(crate) async fn follow<T: DeserializeOwned + Send + 'static>(
    request: RequestBuilder,
) -> Result<BoxStream<'static, Result<T, ClientError>>, ClientError> {
    let request = request.timeout(Duration::from_millis(LISTEN_TIMEOUT_MS));
    let body = succeed(request.send().await?).await?.bytes_stream();
    let state = (body.boxed(), Lines::default(), Queue::<T>::new());
    Ok(futures::stream::unfold(state, |(mut body, mut lines, mut queue)| async move {
        loop {
            if let Some(event) = queue.pop_front() {
                return Some((event, (body, lines, queue)));
            }
            match tokio::time::timeout(Duration::from_millis(SILENCE_MS_MAX), body.next()).await {
                Ok(Some(Ok(chunk))) => lines.take(&chunk, &mut queue),
                Ok(Some(Err(error))) => queue.push_back(Err(error.into())),
                Ok(None) => return None,
                Err(_) => {
                    queue.push_back(Err(ClientError::Unreachable("the server fell silent: try again".to_owned())));
                }
            }
        }
    })
    .boxed())
}

/// Puts lines together from chunks and reads the `data` of each event.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    data: Vec<u8>,
}

impl Lines {
    fn take<T: DeserializeOwned>(&mut self, chunk: &[u8], queue: &mut Queue<T>) {
        for &byte in chunk {
            if byte == b'\n' {
                self.end_line(queue);
            } else if self.line.len() + self.data.len() < LINE_BYTES_MAX {
                self.line.push(byte);
            }
        }
    }

    fn end_line<T: DeserializeOwned>(&mut self, queue: &mut Queue<T>) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        } else if line.is_empty() && !self.data.is_empty() {
            let event = serde_json::from_slice(&self.data)
                .map_err(|error| ClientError::Unexpected { status: 200, excerpt: error.to_string() });
            self.data.clear();
            queue.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_protocol::episode::EventKind;
    use palestra_protocol::session::CloseReason;

    #[test]
    fn events_are_read_whatever_the_chunks() {
        let session = SessionId::new();
        let text = format!(
            ": comment\r\nid: 4\r\nevent: closed\ndata: {{\"id\":\"4\",\"session\":\"{session}\",\ndata: \"type\":\"closed\",\"reason\":\"deleted\"}}\n\ndata: no JSON\n\n"
        );
        for size in [1, 2, 7, text.len()] {
            let mut lines = Lines::default();
            let mut queue = Queue::<Event>::new();
            text.as_bytes().chunks(size).for_each(|chunk| lines.take(chunk, &mut queue));
            let event = queue.pop_front().unwrap().unwrap();
            assert_eq!(event.kind, EventKind::Closed { reason: CloseReason::Deleted });
            assert!(matches!(queue.pop_front(), Some(Err(ClientError::Unexpected { .. }))));
            assert!(queue.is_empty());
        }
    }
}

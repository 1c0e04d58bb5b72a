//! The connection to the agent in a sandbox: many streams over one pipe in each direction. Every byte that arrives is hostile:
//! frames are bounded, unknown ones end the connection, and no answer is waited for without end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox_agent::watch::RECORD_BYTES_MAX;
use palestra_sandbox_agent::wire::{BODY_BYTES_MAX, Event, HEADER_BYTES, Header, Kind, Request};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::error::SandboxError;

/// Frames of a stream that wait for their reader; then the connection waits.
const FRAMES_WAITING_MAX: usize = 64;
/// Streams that are open at the same time.
const STREAMS_MAX: usize = 1_024;
/// Data of at most this length goes with its request in one write.
const TOGETHER_BYTES_MAX: usize = 64 * 1024;
/// Longest wait for the agent to take a frame.
const SEND_MAX: Duration = Duration::from_secs(30);

/// A connection to an agent.
#[derive(Clone)]
pub struct Link(Arc<Inner>);

struct Inner {
    /// `None` once the connection was cut: the agent then sees its end.
    writer: tokio::sync::Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>,
    is_cut: watch::Sender<bool>,
    streams: Arc<Mutex<Streams>>,
    reader: JoinHandle<()>,
}

#[derive(Default)]
struct Streams {
    last: u32,
    open: HashMap<u32, mpsc::Sender<Piece>>,
    /// Reason why the connection ended.
    lost: Option<String>,
}

/// Something that arrived on a stream.
#[derive(Debug)]
pub enum Piece {
    /// Standard output, a file, an archive.
    Output(Vec<u8>),
    /// Standard error.
    Error(Vec<u8>),
    /// Record of a watcher.
    Record(Vec<u8>),
    /// Event of the agent.
    Event(Event),
}

/// Standard output, standard error, and the event that ended a stream.
pub type CommandStreams = (Vec<u8>, Vec<u8>, Event);

/// One request and what comes of it.
pub struct Stream {
    link: Link,
    id: u32,
    pieces: mpsc::Receiver<Piece>,
}

impl Link {
    /// A connection over a pair of pipes.
    #[must_use]
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let streams = Arc::new(Mutex::new(Streams::default()));
        #[expect(clippy::disallowed_methods, reason = "the last handle of the connection ends it")]
        let reader = tokio::spawn(receive(reader, Arc::clone(&streams)));
        let writer = tokio::sync::Mutex::new(Some(Box::new(writer) as Box<dyn AsyncWrite + Send + Unpin>));
        Self(Arc::new(Inner { writer, is_cut: watch::Sender::new(false), streams, reader }))
    }

    /// Sends a request; `data` follows and is ended unless it is `None`.
    ///
    /// # Errors
    /// [`SandboxError::Lost`] when the connection ended or the agent takes nothing.
    pub async fn request(&self, request: &Request, data: Option<&[u8]>) -> Result<Stream, SandboxError> {
        let body = serde_json::to_vec(request).map_err(|error| SandboxError::Lost(error.to_string()))?;
        if body.len() > BODY_BYTES_MAX {
            return Err(SandboxError::Refused {
                code: crate::wire::FailureCode::TooLarge,
                detail: format!("a request is at most {BODY_BYTES_MAX} bytes"),
            });
        }
        let (sender, pieces) = mpsc::channel(FRAMES_WAITING_MAX);
        let id = {
            let mut streams = self.0.streams.lock();
            if let Some(lost) = &streams.lost {
                return Err(SandboxError::Lost(lost.clone()));
            }
            if streams.open.len() >= STREAMS_MAX {
                return Err(SandboxError::Exhausted { retry_after_ms: 1_000 });
            }
            streams.last += 1;
            let id = streams.last;
            streams.open.insert(id, sender);
            id
        };
        let stream = Stream { link: self.clone(), id, pieces };
        match data {
            // One write is one wake-up of the agent.
            Some(data) if data.len() <= TOGETHER_BYTES_MAX => {
                let mut frames = Vec::with_capacity(3 * HEADER_BYTES + body.len() + data.len());
                push_frame(&mut frames, id, Kind::Request, &body);
                if !data.is_empty() {
                    push_frame(&mut frames, id, Kind::Data, data);
                }
                push_frame(&mut frames, id, Kind::End, &[]);
                self.write(&frames).await?;
            }
            Some(data) => {
                self.send(id, Kind::Request, &body).await?;
                stream.send(data).await?;
                stream.end().await?;
            }
            None => self.send(id, Kind::Request, &body).await?,
        }
        Ok(stream)
    }

    /// Reason why the connection ended; `None` while it stands.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.0.streams.lock().lost.clone()
    }

    /// Ends the connection: every stream fails from now on, and both pipes are closed.
    pub fn cut(&self, why: &str) {
        lose(&self.0.streams, why);
        self.0.reader.abort();
        self.0.is_cut.send_replace(true);
        self.close();
    }

    /// Closes the pipe to the agent. Whoever is writing to it is told that the connection was cut, and closes it then.
    fn close(&self) {
        if let Ok(mut writer) = self.0.writer.try_lock() {
            *writer = None;
        }
    }

    /// Sends bytes on a stream.
    ///
    /// # Errors
    /// As [`Link::request`].
    pub async fn send_data(&self, stream: u32, data: &[u8]) -> Result<(), SandboxError> {
        for part in data.chunks(BODY_BYTES_MAX) {
            self.send(stream, Kind::Data, part).await?;
        }
        Ok(())
    }

    /// Says that no more bytes follow on a stream.
    ///
    /// # Errors
    /// As [`Link::request`].
    pub async fn send_end(&self, stream: u32) -> Result<(), SandboxError> {
        self.send(stream, Kind::End, &[]).await
    }

    async fn send(&self, stream: u32, kind: Kind, body: &[u8]) -> Result<(), SandboxError> {
        let mut frame = Vec::with_capacity(HEADER_BYTES + body.len());
        push_frame(&mut frame, stream, kind, body);
        self.write(&frame).await
    }

    /// Writes whole frames.
    async fn write(&self, frames: &[u8]) -> Result<(), SandboxError> {
        let sent = tokio::time::timeout(SEND_MAX, async {
            let mut writer = self.0.writer.lock().await;
            let Some(writer) = writer.as_mut() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
            writer.write_all(frames).await?;
            writer.flush().await
        });
        let mut is_cut = self.0.is_cut.subscribe();
        let sent = tokio::select! {
            sent = sent => Some(sent),
            _ = is_cut.wait_for(|is_cut| *is_cut) => None,
        };
        let failed = match sent {
            Some(Ok(Ok(()))) if !*self.0.is_cut.borrow() => return Ok(()),
            Some(Ok(Ok(()))) | None => "the connection was cut".to_owned(),
            Some(Ok(Err(error))) => format!("the agent does not listen: {error}"),
            Some(Err(_)) => "the agent takes no more bytes".to_owned(),
        };
        // Half a frame may have been written, so nothing can follow it.
        self.cut(&failed);
        Err(SandboxError::Lost(self.lost().unwrap_or(failed)))
    }
}

/// Appends a frame; the body must not be longer than [`BODY_BYTES_MAX`].
fn push_frame(frames: &mut Vec<u8>, stream: u32, kind: Kind, body: &[u8]) {
    frames.extend_from_slice(&Header { length: body.len(), stream, kind }.encode());
    frames.extend_from_slice(body);
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Stream {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// As [`Link::request`].
    pub async fn send(&self, data: &[u8]) -> Result<(), SandboxError> {
        self.link.send_data(self.id, data).await
    }

    /// Says that no more bytes follow.
    ///
    /// # Errors
    /// As [`Link::request`].
    pub async fn end(&self) -> Result<(), SandboxError> {
        self.link.send_end(self.id).await
    }

    /// The next piece.
    ///
    /// # Errors
    /// [`SandboxError::Lost`] once the connection ended.
    pub async fn next(&mut self) -> Result<Piece, SandboxError> {
        let lost = || SandboxError::Lost(self.link.lost().unwrap_or_else(|| "the agent ended a stream".to_owned()));
        self.pieces.recv().await.ok_or_else(lost)
    }

    /// Everything up to the event that ends the stream: standard output, standard error, the event.
    ///
    /// # Errors
    /// [`SandboxError::Refused`] when the agent says so; [`SandboxError::Lost`] when it sends more than `bytes_max` or takes
    /// longer than `wait`.
    pub async fn finish(self, bytes_max: u64, wait: Duration) -> Result<(Vec<u8>, Vec<u8>, Event), SandboxError> {
        self.finish_watched(bytes_max, wait).await.map(|(streams, _)| streams)
    }

    /// The same, with the record of a command that was watched.
    ///
    /// # Errors
    /// As [`Stream::finish`].
    pub async fn finish_watched(
        mut self,
        bytes_max: u64,
        wait: Duration,
    ) -> Result<(CommandStreams, Vec<u8>), SandboxError> {
        let collect = async {
            let (mut output, mut error, mut record) = (Vec::new(), Vec::new(), Vec::new());
            loop {
                match self.next().await? {
                    Piece::Output(bytes) => output.extend_from_slice(&bytes),
                    Piece::Error(bytes) => error.extend_from_slice(&bytes),
                    Piece::Record(bytes) => record.extend_from_slice(&bytes),
                    Piece::Event(Event::Failed { code, detail }) => {
                        return Err(SandboxError::Refused { code, detail: printable(&detail) });
                    }
                    Piece::Event(event) => return Ok(((output, error, event), record)),
                }
                let too_long = record.len() > 2 * RECORD_BYTES_MAX;
                if too_long || (output.len() + error.len()) as u64 > bytes_max {
                    return Err(SandboxError::Lost("the agent sent more than was asked for".to_owned()));
                }
            }
        };
        let collected = tokio::time::timeout(wait, collect).await;
        let collected =
            collected.unwrap_or_else(|_| Err(SandboxError::Lost("the agent did not answer in time".to_owned())));
        if let Err(SandboxError::Lost(why)) = &collected {
            self.link.cut(why);
        }
        collected
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.link.0.streams.lock().open.remove(&self.id);
    }
}

/// Hands what arrives to its stream, until the connection ends.
async fn receive(mut reader: impl AsyncRead + Unpin, streams: Arc<Mutex<Streams>>) {
    let why = loop {
        match frame(&mut reader).await {
            Ok((header, body)) => {
                let piece = match piece(header.kind, body) {
                    Ok(piece) => piece,
                    Err(why) => break why,
                };
                let sender = {
                    let streams = streams.lock();
                    // What comes for a stream that was given up is dropped; one that never was is nonsense.
                    if header.stream == 0 || header.stream > streams.last {
                        break format!("a frame for stream {}", header.stream);
                    }
                    streams.open.get(&header.stream).cloned()
                };
                if let Some(sender) = sender {
                    let _ = sender.send(piece).await;
                }
            }
            Err(why) => break why,
        }
    };
    lose(&streams, &why);
}

async fn frame(reader: &mut (impl AsyncRead + Unpin)) -> Result<(Header, Vec<u8>), String> {
    let mut header = [0; HEADER_BYTES];
    reader.read_exact(&mut header).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "the agent is gone".to_owned(),
        _ => format!("the agent cannot be heard: {error}"),
    })?;
    let header = Header::decode(header)?;
    let mut body = vec![0; header.length];
    reader.read_exact(&mut body).await.map_err(|error| format!("a frame was cut: {error}"))?;
    Ok((header, body))
}

fn piece(kind: Kind, body: Vec<u8>) -> Result<Piece, String> {
    match kind {
        Kind::Output => Ok(Piece::Output(body)),
        Kind::Error => Ok(Piece::Error(body)),
        Kind::Record => Ok(Piece::Record(body)),
        Kind::Event => serde_json::from_slice(&body)
            .map(Piece::Event)
            .map_err(|error| format!("an event that cannot be read: {error}")),
        Kind::Request | Kind::Data | Kind::End => Err(format!("a frame of kind {kind:?} from the agent")),
    }
}

fn lose(streams: &Mutex<Streams>, why: &str) {
    let mut streams = streams.lock();
    streams.lost.get_or_insert_with(|| printable(why));
    streams.open.clear();
}

/// At most 500 characters without control characters, since the words may be the sandbox's own.
fn printable(text: &str) -> String {
    text.chars().take(500).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

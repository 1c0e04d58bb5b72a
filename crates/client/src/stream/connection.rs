//! One connection: the handshake, and frames in both directions until it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use palestra_protocol::stream::{self, SUBPROTOCOL};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::table::{Received, Table};
use super::{FRAME_BYTES_MAX, Outgoing};
use crate::address::{bearer, parse_base};
use crate::error::{ClientError, causes};

/// Time limit of one handshake, in milliseconds.
const HANDSHAKE_TIMEOUT_MS: u64 = 10_000;
/// Number of frames between two flushes.
const FRAMES_PER_FLUSH_MAX: usize = 256;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Address and credential of a connection.
pub(super) struct Endpoint {
    address: Url,
    authorization: Option<HeaderValue>,
    /// Bytes of the largest frame that the server reads, as it said last.
    frame_bytes_max: Arc<AtomicUsize>,
}

/// Why a connection did not come about.
pub(super) enum Refusal {
    /// Trying again makes no sense.
    Final(ClientError),
    /// It may work later.
    Passing(String),
}

impl Endpoint {
    pub(super) fn new(url: &str, key: Option<&str>) -> Result<Self, ClientError> {
        let mut address = parse_base(url)?;
        let scheme = if address.scheme() == "https" { "wss" } else { "ws" };
        let authorization = key.map(bearer).transpose()?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "stream"]);
        }
        address.set_scheme(scheme).map_err(|()| {
            ClientError::Address(format!("{url:?} has no stream: give an address that begins by http:// or https://"))
        })?;
        Ok(Self { address, authorization, frame_bytes_max: Arc::new(AtomicUsize::new(FRAME_BYTES_MAX)) })
    }

    /// Bytes of the largest frame that the server reads; another server may read another.
    pub(super) fn frame_bytes_max(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.frame_bytes_max)
    }

    /// One attempt.
    pub(super) async fn open(&self) -> Result<Socket, Refusal> {
        let mut request = self
            .address
            .as_str()
            .into_client_request()
            .map_err(|error| Refusal::Final(ClientError::Address(error.to_string())))?;
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let config =
            WebSocketConfig::default().max_message_size(Some(FRAME_BYTES_MAX)).max_frame_size(Some(FRAME_BYTES_MAX));
        // Nagle's algorithm would hold back small frames for the sake of larger packets.
        let attempt = connect_async_with_config(request, Some(config), true);
        match timeout(Duration::from_millis(HANDSHAKE_TIMEOUT_MS), attempt).await {
            Ok(Ok((socket, response))) => {
                let told =
                    response.headers().get(stream::FRAME_BYTES_MAX).and_then(|value| value.to_str().ok()?.parse().ok());
                self.frame_bytes_max.store(told.unwrap_or(FRAME_BYTES_MAX).min(FRAME_BYTES_MAX), Ordering::Relaxed);
                Ok(socket)
            }
            Ok(Err(error)) => Err(refusal(error)),
            Err(_) => Err(Refusal::Passing("the handshake took too long".to_owned())),
        }
    }
}

/// Refused handshakes that are worth another attempt: those that are the server's state, not the request's fault.
fn refusal(error: tungstenite::Error) -> Refusal {
    match error {
        tungstenite::Error::Http(response) => {
            let status = response.status();
            let error = ClientError::from_answer(status.as_u16(), response.body().as_deref().unwrap_or_default());
            if status.is_client_error() && status.as_u16() != 429 && status.as_u16() != 408 {
                Refusal::Final(error)
            } else {
                Refusal::Passing(error.to_string())
            }
        }
        tungstenite::Error::Url(error) => Refusal::Final(ClientError::Address(error.to_string())),
        error => Refusal::Passing(causes(&error)),
    }
}

/// The end of a connection.
pub(super) struct Ending {
    pub(super) reason: Reason,
    /// True where anything was answered over it.
    pub(super) progress: bool,
}

pub(super) enum Reason {
    /// Nobody holds the stream any more.
    Abandoned,
    /// It broke.
    Lost(String),
    /// The other side does not speak as agreed.
    Breach(String),
}

/// Sends `again`, then what comes from `frames`, and takes answers, until the connection ends. Reading never waits for
/// writing: a server that waits for this client to read before it reads on would otherwise stop both.
pub(super) async fn converse(
    socket: Socket,
    again: Vec<Utf8Bytes>,
    frames: &mut mpsc::Receiver<Outgoing>,
    table: &Table,
    silence: Duration,
) -> Ending {
    let (sink, source) = socket.split();
    let mut progress = false;
    let reason = tokio::select! {
        reason = receive(source, table, silence, &mut progress) => reason,
        reason = send(sink, again, frames, table) => reason,
    };
    Ending { reason, progress }
}

async fn receive(mut source: SplitStream<Socket>, table: &Table, silence: Duration, progress: &mut bool) -> Reason {
    loop {
        match timeout(silence, source.next()).await {
            Err(_) => return Reason::Lost("the server fell silent".to_owned()),
            Ok(None) => return Reason::Lost("the connection ended".to_owned()),
            Ok(Some(Err(error))) => return Reason::Lost(causes(&error)),
            Ok(Some(Ok(Message::Text(text)))) => match table.receive(&text) {
                Received::Progress => *progress = true,
                Received::Leaving => return Reason::Lost("the server is shutting down".to_owned()),
                Received::Breach(detail) => return Reason::Breach(detail),
            },
            Ok(Some(Ok(Message::Close(frame)))) => {
                let why = frame.map_or_else(String::new, |frame| format!(": {} {}", frame.code, frame.reason));
                return Reason::Lost(format!("the server closed the stream{why}"));
            }
            // Pings are answered while reading.
            Ok(Some(Ok(_))) => {}
        }
    }
}

async fn send(
    mut sink: SplitSink<Socket, Message>,
    again: Vec<Utf8Bytes>,
    frames: &mut mpsc::Receiver<Outgoing>,
    table: &Table,
) -> Reason {
    for text in again {
        if let Err(error) = sink.feed(Message::Text(text)).await {
            return Reason::Lost(causes(&error));
        }
    }
    loop {
        if let Err(error) = sink.flush().await {
            return Reason::Lost(causes(&error));
        }
        let mut batch = Vec::new();
        if frames.recv_many(&mut batch, FRAMES_PER_FLUSH_MAX).await == 0 {
            return Reason::Abandoned;
        }
        // Kept before they are sent: answers, or the end of the connection, may come at any moment.
        let messages: Vec<_> = batch.iter().map(|frame| Message::Text(frame.text.clone())).collect();
        batch.into_iter().for_each(|frame| table.keep(frame));
        for message in messages {
            if let Err(error) = sink.feed(message).await {
                return Reason::Lost(causes(&error));
            }
        }
    }
}

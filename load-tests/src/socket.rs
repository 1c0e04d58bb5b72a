//! WebSockets of the generator.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use futures::{SinkExt, StreamExt};
use palestra_protocol::stream::SUBPROTOCOL;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::http::connect;

/// Bytes of the buffers, in each direction.
const BUFFER_BYTES: usize = 4_096;

/// Where a socket is opened, with a subprotocol and a credential where they are needed.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
    pub(crate) protocol: Option<&'static str>,
    pub(crate) bearer: Option<String>,
}

/// An open socket.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Place {
    /// A place that asks for nothing.
    pub(crate) const fn bare(address: SocketAddr, path: &'static str) -> Self {
        Self { address, path, protocol: None, bearer: None }
    }

    /// Palestra's stream.
    pub(crate) fn stream(address: SocketAddr, key: &str) -> Self {
        Self { address, path: "/v1/stream", protocol: Some(SUBPROTOCOL), bearer: Some(key.to_owned()) }
    }

    /// Opens a socket.
    ///
    /// # Errors
    /// When nobody listens, or the upgrade is refused.
    pub(crate) async fn open(&self) -> anyhow::Result<Socket> {
        let stream = connect(self.address).await?;
        let mut request = format!("ws://{}{}", self.address, self.path).into_client_request()?;
        if let Some(protocol) = self.protocol {
            request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(protocol));
        }
        if let Some(bearer) = &self.bearer {
            request.headers_mut().insert("authorization", HeaderValue::from_str(&format!("Bearer {bearer}"))?);
        }
        let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES);
        let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await?;
        Ok(Socket(socket))
    }
}

impl Socket {
    /// Sends a text and waits for the next one.
    ///
    /// # Errors
    /// When the socket ends.
    pub(crate) async fn call(&mut self, text: String) -> anyhow::Result<Utf8Bytes> {
        self.0.send(Message::text(text)).await?;
        while let Some(message) = self.0.next().await {
            match message? {
                Message::Text(text) => return Ok(text),
                Message::Close(frame) => bail!("the server closed the socket: {frame:?}"),
                _ => {}
            }
        }
        bail!("the socket ended")
    }

    /// Closes the socket and waits until the server has closed it too.
    ///
    /// # Errors
    /// When the server does something else.
    pub(crate) async fn close(mut self) -> anyhow::Result<()> {
        self.0.close(None).await.context("closing a socket")?;
        let mut rest = 0;
        while let Some(message) = self.0.next().await {
            message?;
            rest += 1;
            ensure!(rest < 1_000, "the server goes on after the end of a socket");
        }
        Ok(())
    }
}

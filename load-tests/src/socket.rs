//! One WebSocket of the generator.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use futures::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// Bytes of the buffers, in each direction.
const BUFFER_BYTES: usize = 4_096;

/// An open socket.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    /// Opens `path`, with a subprotocol and a credential where they are needed.
    ///
    /// # Errors
    /// When nobody listens, or the upgrade is refused.
    pub(crate) async fn open(
        address: SocketAddr,
        path: &str,
        protocol: Option<&'static str>,
        bearer: Option<&str>,
    ) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        if let Some(protocol) = protocol {
            request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(protocol));
        }
        if let Some(bearer) = bearer {
            request.headers_mut().insert("authorization", HeaderValue::from_str(&format!("Bearer {bearer}"))?);
        }
        let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES);
        let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await?;
        Ok(Self(socket))
    }

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

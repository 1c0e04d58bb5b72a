//! The bare server that everything is compared with: axum, one route that parses JSON and answers it, and a socket that
//! echoes. No credential, no session, no record.

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::{any, post};
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::terminal::print;

/// Bytes of a socket's buffers, as in Palestra.
const BUFFER_BYTES: usize = 4_096;

/// Serves on a free port until it is killed, as servers of applications do: on one thread per processor.
///
/// # Errors
/// When no port can be had.
pub(crate) fn run() -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        print(&format!("ready http://{}", listener.local_addr()?))?;
        let router = Router::new().route("/echo", post(echo)).route("/ws", any(upgrade));
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |connection| {
                // A connection that keeps its delay is slower, not wrong.
                let _ = connection.set_nodelay(true);
            }),
            router,
        )
        .await?;
        Ok(true)
    })
}

async fn echo(Json(value): Json<Value>) -> Json<Value> {
    Json(value)
}

async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    upgrade.read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES).on_upgrade(repeat)
}

/// Parses and answers every text until the socket ends.
async fn repeat(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else { continue };
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return };
        if socket.send(Message::text(value.to_string())).await.is_err() {
            return;
        }
    }
}

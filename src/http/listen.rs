//! Accepting connections until the server stops.

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Answers on `listener` until `stop` is cancelled and the requests that were running are answered.
pub(crate) async fn listen(listener: TcpListener, router: Router, stop: CancellationToken) -> io::Result<()> {
    // Answers are small and awaited: holding them back for a fuller packet would only add latency.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    });
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

//! Accepting connections, within bounds of number and time, until the server stops.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::write_timeout::WriteTimeout;
use crate::app::App;
use crate::telemetry::{CONNECTIONS, CONNECTIONS_REFUSED};

/// Bytes of a request's head, and of the buffers of a connection.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Milliseconds that a peer has longer to take something from a connection than a message from a socket on it, so that the
/// socket, which can say why it ends, comes first.
const WRITE_MARGIN_MS: u64 = 20_000;
/// Milliseconds before the next attempt when the system has no more connections to give.
const ACCEPT_PAUSE_MS: u64 = 200;

/// Time limits of a connection.
#[derive(Clone, Copy)]
struct Timeouts {
    /// For a request's head to arrive; a connection without requests ends after as long.
    head: Duration,
    /// For the peer to take anything at all.
    write: Duration,
    /// For requests that run when the server stops.
    drain: Duration,
}

/// Answers on `listener` until the server stops and the requests that were running are answered.
pub(crate) async fn listen(app: &App, listener: TcpListener, router: Router) -> io::Result<()> {
    let config = app.config();
    let timeouts = Timeouts {
        head: Duration::from_millis(config.head_timeout_ms),
        write: Duration::from_millis(config.send_timeout_ms.saturating_add(WRITE_MARGIN_MS)),
        drain: Duration::from_millis(config.drain_ms),
    };
    let most = u32::try_from(config.connections_max.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
    let room = Arc::new(Semaphore::new(most as usize));
    while let Some(connection) = accept(&listener, app.shutdown()).await {
        // Closing at once tells clients and balancers more than a connection that nobody looks at.
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            metrics::counter!(CONNECTIONS_REFUSED).increment(1);
            tracing::debug!(connections_max = most, "a connection found no room");
            continue;
        };
        let stop = app.shutdown().clone();
        app.tracker().spawn(converse(connection, router.clone(), timeouts, stop, place));
    }
    drop(listener);
    // All the room is free once the last connection has ended.
    room.acquire_many(most).await.map(drop).map_err(io::Error::other)
}

/// The next connection; none when the server stops.
async fn accept(listener: &TcpListener, stop: &CancellationToken) -> Option<TcpStream> {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((connection, _)) => return Some(connection),
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                // Mostly too many open files: trying again at once would only spin.
                tracing::error!(%error, "no connection can be accepted");
                tokio::select! {
                    () = stop.cancelled() => return None,
                    () = sleep(Duration::from_millis(ACCEPT_PAUSE_MS)) => {}
                }
            }
        }
    }
}

fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection from its first byte to its end, or to the point where it becomes a socket, which lives on by itself.
async fn converse(
    connection: TcpStream,
    router: Router,
    timeouts: Timeouts,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
) {
    // Answers are small and awaited: holding them back for a fuller packet would only add latency.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let _counted = Counted::new();
    let connection = TokioIo::new(WriteTimeout::new(connection, timeouts.write));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(timeouts.head).max_buf_size(HEAD_BYTES_MAX);
    let mut exchange = pin!(http.serve_connection(connection, TowerToHyperService::new(router)).with_upgrades());
    let ended = tokio::select! {
        ended = exchange.as_mut() => ended,
        () = stop.cancelled() => {
            exchange.as_mut().graceful_shutdown();
            timeout(timeouts.drain, exchange).await.unwrap_or_else(|_| {
                tracing::debug!("a connection was cut when the server stopped");
                Ok(())
            })
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Counts a connection as long as it lives.
struct Counted;

impl Counted {
    fn new() -> Self {
        metrics::gauge!(CONNECTIONS).increment(1.0);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!(CONNECTIONS).decrement(1.0);
    }
}

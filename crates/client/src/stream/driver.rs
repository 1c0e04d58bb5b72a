//! The task behind a stream: keeps one connection, and makes the next when it breaks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::Outgoing;
use super::backoff::Backoff;
use super::connection::{Endpoint, Reason, Refusal, Socket, converse};
use super::table::Table;
use crate::error::ClientError;

/// Tries until a connection comes about.
pub(super) async fn connect(endpoint: &Endpoint, backoff: &mut Backoff) -> Result<Socket, ClientError> {
    loop {
        match endpoint.open().await {
            Ok(socket) => return Ok(socket),
            Err(Refusal::Final(error)) => return Err(error),
            Err(Refusal::Passing(reason)) => sleep(backoff.failed(reason)?).await,
        }
    }
}

/// Runs until nobody holds the stream, or no connection can be made any more.
pub(super) async fn drive(
    endpoint: Endpoint,
    mut socket: Socket,
    mut backoff: Backoff,
    silence: Duration,
    mut frames: mpsc::Receiver<Outgoing>,
    table: Arc<Table>,
) {
    let mut again = Vec::new();
    let error = loop {
        let made_at = Instant::now();
        let ending = converse(socket, again, &mut frames, &table, silence).await;
        backoff.lost(made_at, ending.progress);
        let reason = match ending.reason {
            Reason::Abandoned => break ClientError::Closed,
            Reason::Breach(detail) => break ClientError::Unexpected { status: 101, excerpt: detail },
            Reason::Lost(reason) => reason,
        };
        match reconnect(&endpoint, &mut backoff, reason).await {
            Ok(next) => socket = next,
            Err(error) => break error,
        }
        again = table.begin_again();
    };
    table.give_up(&error);
    // Frames that were queued meanwhile fail as well; later ones find the queue closed.
    frames.close();
    while let Some(frame) = frames.recv().await {
        table.keep(frame);
    }
    table.give_up(&error);
}

async fn reconnect(endpoint: &Endpoint, backoff: &mut Backoff, reason: String) -> Result<Socket, ClientError> {
    sleep(backoff.failed(reason)?).await;
    connect(endpoint, backoff).await
}

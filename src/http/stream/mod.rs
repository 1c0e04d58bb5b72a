//! `/v1/stream`: many sessions over one WebSocket, pipelined.

mod end;
mod frame;
mod order;
mod reply;
mod socket;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::HeaderValue;
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use palestra_protocol::episode::Event;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use palestra_protocol::stream::{FRAME_BYTES_MAX, SUBPROTOCOL};

use super::caller::Caller;
use super::events::room;
use super::perform::{Begun, ToolForm, begin, visible};
use super::problem::Failure;
use crate::app::App;
use crate::telemetry::STREAM_SOCKETS;
use palestra_auth::Principal;
use palestra_session::Command;
use socket::{Engine, Socket};

/// Bytes that a socket reads at once, and keeps room for while it waits: many sockets are open at once, and most frames are a
/// few hundred bytes long.
const READ_BYTES: usize = 2_048;
/// Bytes of answers that are collected before they are written.
const WRITE_BYTES: usize = 4_096;

/// Open a WebSocket.
///
/// Frames are `{"id":1,"op":"create|reset|step|finish|verify|fork|snapshot|restore|close|subscribe|unsubscribe|steps",
/// "session":"ses_..",...}` with the fields of the single call, answered by `{"id":1,"ok":{..}}` or `{"id":1,"error":{..}}`.
/// Answers come in any order across sessions and in order within one. Dropping the socket closes no session.
#[utoipa::path(get, path = "/v1/stream", tag = "stream",
    params(("sec-websocket-protocol" = Option<String>, Header,
            description = "`palestra.json`; for clients that cannot set headers also `bearer.<credential>`, which is never echoed.")),
    responses((status = 101, description = "The socket is open.",
               headers(("palestra-frame-bytes-max" = u64, description = "Bytes of the largest frame that is read.")))))]
pub(super) async fn open_stream(
    State(app): State<App>,
    Caller(principal): Caller,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade
        .map_err(|_| Failure::new(Code::Malformed, "this path is a WebSocket: ask for an upgrade with version 13"))?;
    let room = room(&app)?;
    let frame_bytes_max = app.config().body_bytes_max;
    let mut response = upgrade
        .protocols([SUBPROTOCOL])
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_frame_size(frame_bytes_max)
        .max_message_size(frame_bytes_max)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a socket did not open"))
        .on_upgrade(move |socket| {
            let tracker = app.tracker().clone();
            // Shutdown waits for sockets, as for everything on the tracker.
            tracker.track_future(async move {
                let _room = room;
                let (mut sink, mut stream) = socket.split();
                metrics::gauge!(STREAM_SOCKETS).increment(1.0);
                let shutdown = app.shutdown().clone();
                let patience = Duration::from_millis(app.config().send_timeout_ms);
                let mut socket = Socket::new(Speaker { app, principal }, shutdown, patience);
                socket.run(&mut sink, &mut stream).await;
                metrics::gauge!(STREAM_SOCKETS).decrement(1.0);
            })
        })
        .into_response();
    response.headers_mut().insert(FRAME_BYTES_MAX, HeaderValue::from(frame_bytes_max));
    // Only our own protocol is ever echoed: the other one may be a credential.
    if response.headers().get(SEC_WEBSOCKET_PROTOCOL).is_some_and(|protocol| protocol != SUBPROTOCOL) {
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    Ok(response)
}

/// Speaks to the engine for the caller behind a socket.
#[derive(Clone)]
struct Speaker {
    app: App,
    principal: Arc<Principal>,
}

impl Engine for Speaker {
    fn begin(&self, command: Command) -> Begun {
        begin(&self.app, &self.principal, command, ToolForm::default())
    }

    fn events(
        &self,
        session: SessionId,
        after: Option<String>,
    ) -> BoxFuture<'static, Result<BoxStream<'static, Event>, Failure>> {
        let Self { app, principal } = self.clone();
        Box::pin(async move {
            principal.require_sight_of(session)?;
            let events = app.sessions().events(&principal.tenant, session, after).await?;
            Ok(events.filter_map(move |event| std::future::ready(visible(&principal, event))).boxed())
        })
    }

    fn is_still_valid(&self) -> BoxFuture<'static, bool> {
        let Self { app, principal } = self.clone();
        Box::pin(async move {
            app.auth().is_still_valid(&principal).await.unwrap_or_else(|error| {
                // A store that is away for a moment is no reason to throw everybody out.
                tracing::warn!(%error, "a socket's credential could not be checked");
                true
            })
        })
    }
}

#[cfg(test)]
mod tests;

//! `/v1/sessions/{id}/events`: what happens in a session, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use palestra_protocol::episode::{Event, EventKind};
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use tokio::sync::OwnedSemaphorePermit;

use super::caller::Onlooker;
use super::perform::visible;
use super::problem::Failure;
use crate::app::App;

/// Interval at which a silent stream shows that it is alive.
pub(super) const KEEP_ALIVE_MS: u64 = 15_000;
/// Longest cursor that is looked at.
const CURSOR_BYTES_MAX: usize = 200;

/// Follow a session.
///
/// The history from the beginning or from behind `Last-Event-ID`, then what happens, until the session is closed.
/// Session tokens see steps without rewards, and the end.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "sessions",
    params(("id" = SessionId, Path), ("Last-Event-ID" = Option<String>, Header, description = "The last event that was seen.")),
    responses((status = 200, description = "Events; `data` of each is one.", body = Event, content_type = "text/event-stream")))]
pub(super) async fn follow_session(
    State(app): State<App>,
    Onlooker { principal, session }: Onlooker,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let after = cursor(&headers)?;
    let room = room(&app)?;
    let events = app.sessions().events(&principal.tenant, session, after).await?;
    let shutdown = app.shutdown().clone();
    let messages = events
        .filter_map(move |event| {
            // Holding the room here ties it to the life of the stream.
            let _room = &room;
            let message = visible(&principal, event).as_ref().and_then(message);
            async move { message.map(Ok::<_, Infallible>) }
        })
        .take_until(shutdown.cancelled_owned());
    let alive = KeepAlive::new().interval(Duration::from_millis(KEEP_ALIVE_MS));
    Ok(Sse::new(messages).keep_alive(alive).into_response())
}

/// Room for one more stream.
pub(super) fn room(app: &App) -> Result<OwnedSemaphorePermit, Failure> {
    Arc::clone(app.streams()).try_acquire_owned().map_err(|_| {
        let most = app.config().streams_max;
        Failure::new(
            Code::TooManyRequests,
            format!("{most} streams are open, and no more fit: close one, or try again later"),
        )
    })
}

fn cursor(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let cursor = value.to_str().ok().filter(|cursor| cursor.len() <= CURSOR_BYTES_MAX);
    cursor
        .map(|cursor| Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty()))
        .ok_or_else(|| Failure::new(Code::Malformed, "unknown `Last-Event-ID`: pass one that this stream sent"))
}

fn message(event: &Event) -> Option<Message> {
    let name = match event.kind {
        EventKind::Episode { .. } => "episode",
        EventKind::Step { .. } => "step",
        EventKind::Verdict { .. } => "verdict",
        EventKind::Closed { .. } => "closed",
    };
    match Message::default().id(event.id.as_str()).event(name).json_data(event) {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::error!(%error, "an event could not be written");
            None
        }
    }
}

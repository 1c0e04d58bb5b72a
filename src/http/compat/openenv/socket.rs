//! `/ws`: one socket, one session at a time, one reply to each request.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures::StreamExt;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use super::super::super::events::room;
use super::super::super::extract::Query;
use super::super::super::problem::Failure;
use super::action::{self, Wanted};
use super::arguments::Arguments;
use super::beginning::Resume;
use super::conclusion::{Conclusion, conclude};
use super::frame::{self, Request, Unreadable};
use super::observation::Shown;
use super::peer::{Check, End, Heard, Peer};
use super::player::{Player, Playing, unexpected};
use super::refusal::{Occupancy, Refusal};
use super::rpc;
use super::seats::{Kind, Place};
use crate::telemetry::{OPENENV_ENDS, OPENENV_SOCKETS};
use palestra_session::{Answer, Command};

/// Bytes of the buffers of a socket, in each direction: many sockets are open at once.
const BUFFER_BYTES: usize = 4_096;
/// Milliseconds that a client waits at most for the end of the session that it closes; the end itself is waited for by nobody.
const CLOSING_MS_MAX: u64 = 5_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SocketQuery {
    /// A session to join: one that was made over `/mcp` or by the API, or that another connection has left.
    #[param(value_type = Option<SessionId>)]
    session_id: Option<String>,
    /// Takes the session from a connection that still holds it.
    #[serde(default)]
    #[param(required = false)]
    resume: bool,
}

/// Play over a WebSocket, as `EnvClient` of OpenEnv does.
///
/// Frames are `{"type":"reset|step|state|close|mcp","data":{..}}`, each answered by one of the types `observation`, `state`, `mcp`
/// and `error`; `close` has no answer. The form with the key in the path is `/openenv/{family}/{name}/t/{key}/ws`.
#[utoipa::path(get, path = "/ws", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."), SocketQuery),
    responses((status = 101, description = "The socket is open. Where no session fits, an error frame says so and closes it.")))]
pub(super) async fn open_socket(
    player: Player,
    Query(query): Query<SocketQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let upgrade = upgrade
        .map_err(|_| Failure::new(Code::Malformed, "this path is a WebSocket: ask for an upgrade with version 13"))?;
    player.entry().await?;
    let frame_bytes_max = player.app.config().openenv_frame_bytes_max;
    Ok(upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_frame_size(frame_bytes_max)
        .max_message_size(frame_bytes_max)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a socket did not open"))
        .on_upgrade(move |socket| {
            let tracker = player.app.tracker().clone();
            // Shutdown waits for sockets, as for everything on the tracker.
            tracker.track_future(run(player, query, socket))
        }))
}

async fn run(player: Player, query: SocketQuery, socket: WebSocket) {
    let (sink, stream) = socket.split();
    metrics::gauge!(OPENENV_SOCKETS).increment(1.0);
    let (app, principal) = (player.app.clone(), Arc::clone(&player.principal));
    let check: Check = Arc::new(move || {
        let (app, principal) = (app.clone(), Arc::clone(&principal));
        Box::pin(async move {
            app.auth().is_still_valid(&principal).await.unwrap_or_else(|error| {
                // A store that is away for a moment is no reason to throw everybody out.
                tracing::warn!(%error, "a socket's credential could not be checked");
                true
            })
        })
    });
    let send_timeout = Duration::from_millis(player.app.config().send_timeout_ms);
    let mut peer = Peer::new(sink, stream, player.app.shutdown().clone(), send_timeout, check);
    let mut table = Table { player, playing: None, joined: None, spare: None };
    let end = match table.sit(&query).await {
        Ok(_room) => table.converse(&mut peer).await,
        Err(refusal) => peer.send(frame::error(&refusal)).await.err().unwrap_or(End::Refused),
    };
    table.rise(end).await;
    metrics::counter!(OPENENV_ENDS, "reason" => end.name()).increment(1);
    metrics::gauge!(OPENENV_SOCKETS).decrement(1.0);
    tracing::debug!(reason = end.name(), "a socket of OpenEnv ended");
    peer.part(end).await;
}

/// The outcome of a request.
enum Reply {
    Text(String),
    Close,
}

/// The session of a socket.
struct Table {
    player: Player,
    playing: Option<Playing>,
    /// The maker of the session, where it was there before the socket: resets stay in it then.
    joined: Option<Kind>,
    /// A place that no session has taken yet.
    spare: Option<Place>,
}

impl Table {
    /// Finds room for the socket, and the session that it joins.
    async fn sit(&mut self, query: &SocketQuery) -> Result<tokio::sync::OwnedSemaphorePermit, Refusal> {
        let room = room(&self.player.app).map_err(|_| {
            let most = self.player.app.config().streams_max;
            Refusal::Full(Occupancy { active_sessions: most, max_sessions: most })
        })?;
        let Some(id) = &query.session_id else {
            self.spare = self.player.seats.admit().map_err(Refusal::Full)?;
            return Ok(room);
        };
        let id: SessionId =
            id.parse().map_err(|_| Refusal::Session("Unknown session_id: it is no id of a session".to_owned()))?;
        let (playing, kind) = self.player.join(id, query.resume, &mut self.spare).await?;
        (self.playing, self.joined) = (Some(playing), Some(kind));
        Ok(room)
    }

    /// Answers requests until either side ends it.
    async fn converse<K, S, X>(&mut self, peer: &mut Peer<K, S>) -> End
    where
        K: futures::Sink<axum::extract::ws::Message> + Unpin + Send,
        S: futures::Stream<Item = Result<axum::extract::ws::Message, X>> + Unpin + Send,
        X: std::fmt::Display,
    {
        loop {
            let over = self.playing.as_ref().map_or_else(CancellationToken::new, |playing| playing.over.clone());
            let heard = match peer.next(&over).await {
                Ok(heard) => heard,
                Err(end) => return end,
            };
            let (seats, me) = (self.player.seats.clone(), self.player.me);
            let session = self.playing.as_ref().map(|playing| playing.session);
            // Whoever comes back meanwhile waits for what this connection has begun.
            let gone = || {
                if let Some(session) = session {
                    seats.leaving(session, me);
                }
            };
            // Boxed, so that a socket at rest is small.
            let (reply, end) = peer.during(&over, Box::pin(self.answer(heard)), gone).await;
            match (reply, end) {
                (Reply::Close, _) => return End::Closed,
                (Reply::Text(_), Some(end)) if end != End::Stopped => return end,
                (Reply::Text(text), end) => {
                    if let Some(end) = peer.send(text).await.err().or(end) {
                        return end;
                    }
                }
            }
        }
    }

    async fn answer(&mut self, heard: Heard) -> Reply {
        let request = match heard {
            Heard::Text(text) => frame::read(&text),
            Heard::Binary => Err(Unreadable::Json("frames are text".to_owned())),
        };
        let answered = match request {
            Err(unreadable) => return Reply::Text(unreadable.reply()),
            Ok(Request::Close) => return Reply::Close,
            Ok(Request::Reset(data)) => self.reset(&data).await.map(|shown| frame::reply("observation", &shown)),
            Ok(Request::Step(data)) => self.step(data).await.map(|shown| frame::reply("observation", &shown)),
            Ok(Request::State) => self.state().await.map(|state| frame::reply("state", &state)),
            Ok(Request::Mcp(data)) => {
                let answered = rpc::answer_on_socket(&self.player, self.playing.as_ref(), data).await;
                Ok(frame::reply("mcp", &answered))
            }
        };
        Reply::Text(answered.unwrap_or_else(|refusal| frame::error(&refusal)))
    }

    async fn reset(&mut self, data: &Map<String, Value>) -> Result<Shown, Refusal> {
        let arguments = Arguments::read(data).map_err(|refusal| refusal.inside("data"))?;
        match self.playing.clone() {
            Some(playing) if self.joined.is_some() => self.reset_in_place(&arguments, &playing).await,
            playing => self.reset_anew(&arguments, playing).await.map_err(|refusal| refusal.inside("data")),
        }
    }

    /// Another episode of a session that was joined.
    async fn reset_in_place(&mut self, arguments: &Arguments, playing: &Playing) -> Result<Shown, Refusal> {
        let request = arguments.reset().map_err(|refusal| refusal.inside("data"))?;
        let command = Command::Reset { session: playing.session, request, key: None };
        let opened = match self.player.run(command).await? {
            Answer::Opened(opened) => opened,
            other => return Err(unexpected(&other)),
        };
        let label = arguments.episode_id.clone().unwrap_or_else(|| opened.episode.to_string());
        let begun = self.player.opened(&opened, label, playing.over.clone());
        self.playing = Some(begun.playing);
        Ok(begun.shown)
    }

    /// A session of its own for the new episode. The one before is left once the new one is there.
    async fn reset_anew(&mut self, arguments: &Arguments, before: Option<Playing>) -> Result<Shown, Refusal> {
        let resume = match arguments.resume {
            Some(true) => Resume::Demanded,
            Some(false) => Resume::Never,
            // Who plays an episode and resets it wants another one.
            None if before.as_ref().is_some_and(|before| Some(&before.label) == arguments.episode_id.as_ref()) => {
                Resume::Never
            }
            None => Resume::IfFree,
        };
        let player = &self.player;
        if let Some(before) = &before {
            self.spare = player.seats.release(before.session, player.me).or(self.spare.take());
        }
        match player.begin(arguments, Kind::Socket, resume, &mut self.spare).await {
            Ok(begun) => {
                if let Some(before) = before.filter(|before| before.session != begun.playing.session) {
                    let (app, principal) = (player.app.clone(), Arc::clone(&player.principal));
                    let leaving = async move { conclude(&app, &principal, before.session, Conclusion::Leave).await };
                    player.app.tracker().spawn(leaving);
                }
                // The session has a place of its own now.
                self.spare = None;
                self.playing = Some(begun.playing);
                Ok(begun.shown)
            }
            Err(refusal) => {
                if let Some(before) = before {
                    let held = player.hold(before.session, Kind::Socket, false, &mut self.spare).await;
                    self.playing = held.ok().flatten().map(|over| Playing { over, ..before });
                }
                Err(refusal)
            }
        }
    }

    async fn step(&mut self, data: Map<String, Value>) -> Result<Shown, Refusal> {
        let wanted = action::read(data).map_err(|refusal| refusal.inside("data"))?;
        let turn = match wanted {
            Wanted::Tools => return self.player.list_tools(self.playing.as_ref()).await,
            Wanted::Turn(turn) => turn,
        };
        let playing = self.playing.as_ref().ok_or_else(nothing_is_played)?;
        self.player.step(playing, turn, None).await
    }

    async fn state(&self) -> Result<Value, Refusal> {
        match &self.playing {
            Some(playing) => Ok(json!(self.player.state(playing.session, Some(&playing.label)).await?)),
            None => Ok(nothing_played()),
        }
    }

    /// Leaves what was played: a session that was closed is judged and ends, one whose connection dropped waits.
    async fn rise(self, end: End) {
        let Self { player, playing, joined, spare } = self;
        drop(spare);
        let Some(playing) = playing else { return };
        let (seats, session) = (&player.seats, playing.session);
        // What was made by others is for them to close.
        let of_others = matches!(joined, Some(Kind::Kept | Kind::Guest));
        if end != End::Closed || of_others {
            seats.leave(session, player.me);
            return;
        }
        let (app, principal) = (player.app.clone(), Arc::clone(&player.principal));
        let place = seats.release(session, player.me);
        let ending = player.app.tracker().spawn(async move {
            conclude(&app, &principal, session, Conclusion::Score).await;
            drop(place);
        });
        // Whoever closes one session to open the next must find its place free.
        if timeout(Duration::from_millis(CLOSING_MS_MAX), ending).await.is_err() {
            tracing::debug!(%session, "a session is still being judged when its socket ends");
        }
    }
}

/// The answer before the first reset.
pub(super) fn nothing_played() -> Value {
    json!({"episode_id": null, "step_count": 0})
}

fn nothing_is_played() -> Refusal {
    Failure::new(Code::Conflict, "there is no episode yet: send a reset first").into()
}

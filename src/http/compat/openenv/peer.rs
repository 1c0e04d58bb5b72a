//! The other end of a socket: its frames and pings, heard also while a command runs. Generic over where messages come from and
//! go to.

use std::borrow::Cow;
use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{Sink, SinkExt, Stream, StreamExt};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::super::super::frame_bound::frame_bytes_max;
use super::super::super::write_timeout::in_time;

/// Milliseconds between pings, at each of which the credential is checked again.
const PING_INTERVAL_MS: u64 = 20_000;
/// Pings without any sign of life after which the peer is given up.
const PINGS_UNANSWERED_MAX: u32 = 3;
/// Milliseconds for the peer to take the close frame and to hang up.
const CLOSE_TIMEOUT_MS: u64 = 1_000;

/// Why a socket ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The client said that it was all.
    Closed,
    /// No session fits, or the one that was asked for cannot be joined; an error frame said so.
    Refused,
    /// The peer left without a word.
    Gone,
    /// Another connection took the session over.
    TakenOver,
    /// The server stops.
    Stopped,
    /// The credential does not hold any more.
    Revoked,
    /// The peer does not read.
    Slow,
    /// The peer shows no sign of life.
    Silent,
    /// A frame has more than this many bytes.
    TooLarge(usize),
    /// The peer sent something else than a WebSocket.
    Broken,
}

impl End {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Refused => "refused",
            Self::Gone => "gone",
            Self::TakenOver => "taken_over",
            Self::Stopped => "stopped",
            Self::Revoked => "revoked",
            Self::Slow => "slow",
            Self::Silent => "silent",
            Self::TooLarge(_) => "too_large",
            Self::Broken => "broken",
        }
    }

    /// Close code (RFC 6455, section 7.4) and reason; nothing where the peer left by itself.
    fn farewell(self) -> Option<(u16, Cow<'static, str>)> {
        let (code, reason) = match self {
            Self::Gone => return None,
            Self::Closed | Self::Refused => (1000, ""),
            Self::TakenOver => (1008, "another connection took the session over"),
            Self::Stopped => (1001, "the server is shutting down"),
            Self::Revoked => (1008, "the credential was revoked or has expired"),
            Self::Slow => (1008, "answers are not read fast enough"),
            Self::Silent => (1008, "pings are not answered"),
            Self::TooLarge(bytes_max) => {
                return Some((1009, format!("a frame must have at most {bytes_max} bytes").into()));
            }
            Self::Broken => (1002, "the frame cannot be read"),
        };
        Some((code, reason.into()))
    }
}

/// Tells whether the caller's credential still holds.
pub(super) type Check = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// A frame that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Text(String),
    Binary,
}

/// One peer.
pub(super) struct Peer<K, S> {
    sink: K,
    stream: S,
    /// A frame that came while a command ran. The next one is not read before this one is answered.
    ahead: Option<Heard>,
    pings: Interval,
    unanswered: u32,
    check: Check,
    checking: FuturesUnordered<BoxFuture<'static, bool>>,
    shutdown: CancellationToken,
    /// For the peer to take one message.
    send_timeout: Duration,
}

impl<K, S, X> Peer<K, S>
where
    K: Sink<Message> + Unpin + Send,
    S: Stream<Item = Result<Message, X>> + Unpin + Send,
    X: Display,
{
    pub(super) fn new(sink: K, stream: S, shutdown: CancellationToken, send_timeout: Duration, check: Check) -> Self {
        let interval = Duration::from_millis(PING_INTERVAL_MS);
        let mut pings = interval_at(Instant::now() + interval, interval);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let checking = FuturesUnordered::new();
        Self { sink, stream, ahead: None, pings, unanswered: 0, check, checking, shutdown, send_timeout }
    }

    /// The next frame, unless the socket ends first. `over` is cancelled when its session is taken away.
    pub(super) async fn next(&mut self, over: &CancellationToken) -> Result<Heard, End> {
        match self.ahead.take() {
            Some(heard) => Ok(heard),
            None => self.hear(over, true).await,
        }
    }

    /// Listens while `work` runs, which ends whatever is heard. Tells whether the socket ended meanwhile.
    pub(super) async fn during<T>(
        &mut self,
        over: &CancellationToken,
        work: impl Future<Output = T>,
        gone: impl FnOnce(),
    ) -> (T, Option<End>) {
        let mut work = pin!(work);
        loop {
            let reading = self.ahead.is_none();
            let heard = tokio::select! {
                biased;
                done = &mut work => return (done, None),
                heard = self.hear(over, reading) => heard,
            };
            match heard {
                Ok(heard) => self.ahead = Some(heard),
                Err(end) => {
                    gone();
                    return (work.await, Some(end));
                }
            }
        }
    }

    /// Everything that can be heard. Nothing is lost when this is given up at a pause.
    async fn hear(&mut self, over: &CancellationToken, reading: bool) -> Result<Heard, End> {
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return Err(End::Stopped),
                () = over.cancelled() => return Err(End::TakenOver),
                Some(valid) = self.checking.next(), if !self.checking.is_empty() => {
                    if !valid {
                        return Err(End::Revoked);
                    }
                }
                message = self.stream.next(), if reading => {
                    self.unanswered = 0;
                    match message {
                        None | Some(Ok(Message::Close(_))) => return Err(End::Gone),
                        Some(Err(error)) => return Err(unreadable(&error)),
                        Some(Ok(Message::Text(text))) => return Ok(Heard::Text(text.as_str().to_owned())),
                        Some(Ok(Message::Binary(_))) => return Ok(Heard::Binary),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    }
                }
                _ = self.pings.tick() => {
                    // Nobody can be heard while nothing is read.
                    self.unanswered = if reading { self.unanswered + 1 } else { 0 };
                    if self.unanswered > PINGS_UNANSWERED_MAX {
                        return Err(End::Silent);
                    }
                    if self.checking.is_empty() {
                        self.checking.push((self.check)());
                    }
                    self.put(Message::Ping(Default::default())).await?;
                }
            }
        }
    }

    /// Sends a reply.
    pub(super) async fn send(&mut self, text: String) -> Result<(), End> {
        self.put(Message::Text(text.into())).await
    }

    async fn put(&mut self, message: Message) -> Result<(), End> {
        match in_time(self.send_timeout, self.sink.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => Err(End::Slow),
        }
    }

    /// Says why the socket ends, and hangs up.
    pub(super) async fn part(mut self, end: End) {
        let farewell = async {
            // A peer that said goodbye itself gets its own close frame back.
            if let Some((code, reason)) = end.farewell() {
                self.sink.send(Message::Close(Some(CloseFrame { code, reason: reason.as_ref().into() }))).await?;
            }
            self.sink.close().await?;
            // Closing with unread frames would reset the connection, and the reason would be lost on its way.
            while let Some(Ok(_)) = self.stream.next().await {}
            Ok::<(), K::Error>(())
        };
        if !matches!(timeout(Duration::from_millis(CLOSE_TIMEOUT_MS), farewell).await, Ok(Ok(()))) {
            tracing::debug!("the close frame was not taken");
        }
    }
}

/// The meaning of a failed read.
fn unreadable(error: &impl Display) -> End {
    frame_bytes_max(error).map_or(End::Broken, End::TooLarge)
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc;
    use tokio::sync::oneshot;

    use super::*;

    type Incoming = mpsc::UnboundedSender<Result<Message, String>>;
    type Outgoing = mpsc::UnboundedReceiver<Message>;
    type Tested = Peer<mpsc::UnboundedSender<Message>, mpsc::UnboundedReceiver<Result<Message, String>>>;

    fn peer(valid: bool) -> (Tested, Incoming, Outgoing) {
        let (incoming, stream) = mpsc::unbounded();
        let (sink, outgoing) = mpsc::unbounded();
        let check: Check = Arc::new(move || Box::pin(std::future::ready(valid)));
        let peer = Peer::new(sink, stream, CancellationToken::new(), Duration::from_secs(1), check);
        (peer, incoming, outgoing)
    }

    fn text(words: &str) -> Result<Message, String> {
        Ok(Message::Text(words.into()))
    }

    #[tokio::test]
    async fn frames_that_come_while_a_command_runs_are_answered_after_it_in_order() {
        let (mut peer, incoming, _outgoing) = peer(true);
        let over = CancellationToken::new();
        for words in ["a", "b", "c"] {
            incoming.unbounded_send(text(words)).unwrap();
        }
        assert_eq!(peer.next(&over).await, Ok(Heard::Text("a".to_owned())));
        let (done, end) = peer.during(&over, tokio::task::yield_now(), || ()).await;
        assert_eq!((done, end), ((), None));
        assert_eq!(peer.next(&over).await, Ok(Heard::Text("b".to_owned())));
        assert_eq!(peer.next(&over).await, Ok(Heard::Text("c".to_owned())));
    }

    #[tokio::test]
    async fn a_command_ends_although_the_peer_is_gone() {
        let (mut peer, incoming, _outgoing) = peer(true);
        drop(incoming);
        let (release, released) = oneshot::channel();
        let work = async { released.await.unwrap() };
        let (done, end) = peer.during(&CancellationToken::new(), work, || release.send(7).unwrap()).await;
        assert_eq!((done, end), (7, Some(End::Gone)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_pinged_and_then_given_up() {
        let (mut peer, _incoming, mut outgoing) = peer(true);
        assert_eq!(peer.next(&CancellationToken::new()).await, Err(End::Silent));
        let mut pings = 0;
        while let Ok(message) = outgoing.try_recv() {
            assert!(matches!(message, Message::Ping(_)));
            pings += 1;
        }
        assert_eq!(pings, PINGS_UNANSWERED_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_answers_pings_may_be_quiet_as_long_as_a_command_runs() {
        let (mut peer, incoming, mut outgoing) = peer(true);
        let pongs = async {
            while let Some(Message::Ping(bytes)) = outgoing.next().await {
                incoming.unbounded_send(Ok(Message::Pong(bytes))).unwrap();
            }
        };
        let over = CancellationToken::new();
        let work = tokio::time::sleep(Duration::from_secs(600));
        tokio::select! {
            ((), end) = peer.during(&over, work, || ()) => assert_eq!(end, None),
            () = pongs => panic!("pings stopped"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_credential_that_does_not_hold_any_more_ends_the_socket() {
        let (mut peer, _incoming, _outgoing) = peer(false);
        assert_eq!(peer.next(&CancellationToken::new()).await, Err(End::Revoked));
    }

    #[tokio::test]
    async fn a_session_that_was_taken_over_ends_the_socket() {
        let (mut peer, _incoming, _outgoing) = peer(true);
        let over = CancellationToken::new();
        over.cancel();
        assert_eq!(peer.next(&over).await, Err(End::TakenOver));
    }
}

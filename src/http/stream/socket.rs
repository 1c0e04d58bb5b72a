//! The loop of one socket, generic over where frames come from and go to.
//!
//! Commands are futures. Each is polled once as soon as its frame is read, so that it takes its place in its session's queue in
//! the order of frames, and then runs beside the others. Nothing in here grows without bound: reading stops while too much is
//! under way, and a peer that does not read is disconnected.

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::pin::pin;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message};
use futures::future::{BoxFuture, FutureExt, poll_immediate};
use futures::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures::{Sink, SinkExt, Stream, StreamExt};
use palestra_protocol::episode::Event;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use palestra_protocol::stream::StepItem;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::super::perform::{Begun, begin_all, finish, finish_all};
use super::super::problem::Failure;
use super::super::write_timeout::in_time;
use super::end::{End, unreadable};
use super::frame::{self, Frame, Request, Unreadable};
use super::order::{Order, Ticket};
use super::reply::{answer, answers, confirmation, event, refusal};
use crate::telemetry::{STREAM_ENDS, STREAM_FRAMES};
use palestra_session::Command;

/// Commands that run, and frames that wait for their answer to leave; beyond either no frame is read.
pub(super) const COMMANDS_IN_FLIGHT_MAX: usize = 1_024;
/// Sessions that one socket follows.
pub(super) const SUBSCRIPTIONS_MAX: usize = 1_024;
/// Frames that are read before answers are written.
const FRAMES_PER_TURN_MAX: usize = 64;
/// Events that are taken before they are written.
const EVENTS_PER_TURN_MAX: usize = 64;
/// Milliseconds between pings, at each of which the credential is checked again.
const PING_INTERVAL_MS: u64 = 20_000;
/// Pings without any sign of life after which the peer is given up.
const PINGS_UNANSWERED_MAX: u32 = 3;
/// Milliseconds in which running commands are answered while the server stops.
const WIND_DOWN_MS: u64 = 5_000;
/// Milliseconds for the peer to take the close frame and to hang up.
const CLOSE_TIMEOUT_MS: u64 = 1_000;

/// The sessions behind a socket.
pub(super) trait Engine: Clone + Send + Sync + 'static {
    /// Begins a command; one that waits takes its place in the session's queue when it is first polled.
    fn begin(&self, command: Command) -> Begun;

    /// Events of a session after a cursor.
    fn events(
        &self,
        session: SessionId,
        after: Option<String>,
    ) -> BoxFuture<'static, Result<BoxStream<'static, Event>, Failure>>;

    /// Tells whether the caller's credential still holds.
    fn is_still_valid(&self) -> BoxFuture<'static, bool>;
}

/// One socket.
pub(super) struct Socket<E> {
    engine: E,
    shutdown: CancellationToken,
    /// For the peer to take one message.
    send_timeout: Duration,
    running: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Number of commands in `running`.
    commands: usize,
    order: Order,
    events: SelectAll<BoxStream<'static, Told>>,
    subscribed: HashMap<SessionId, Subscription>,
    subscriptions: u64,
    outgoing: VecDeque<Message>,
}

struct Subscription {
    number: u64,
    end: CancellationToken,
}

/// The outcome of a command or a subscription.
enum Done {
    Answered {
        ticket: Ticket,
        commands: usize,
        answer: String,
    },
    Subscribed {
        ticket: Ticket,
        id: u64,
        session: SessionId,
        number: u64,
        events: Result<BoxStream<'static, Event>, Failure>,
    },
    Checked {
        valid: bool,
    },
}

/// An event of a subscription.
enum Told {
    Event(Box<Event>),
    End { session: SessionId, number: u64 },
}

impl<E: Engine> Socket<E> {
    pub(super) fn new(engine: E, shutdown: CancellationToken, send_timeout: Duration) -> Self {
        Self {
            engine,
            shutdown,
            send_timeout,
            running: FuturesUnordered::new(),
            commands: 0,
            order: Order::default(),
            events: SelectAll::new(),
            subscribed: HashMap::new(),
            subscriptions: 0,
            outgoing: VecDeque::new(),
        }
    }

    /// Answers frames until either side ends it. Commands that wait for their turn are dropped then, others finish.
    ///
    /// By reference, since a future that owned them would hold each of them twice.
    pub(super) async fn run<K, S, X>(&mut self, sink: &mut K, stream: &mut S)
    where
        K: Sink<Message> + Unpin + Send,
        S: Stream<Item = Result<Message, X>> + Unpin + Send,
        X: Display,
    {
        let end = match self.converse(sink, stream).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        metrics::counter!(STREAM_ENDS, "reason" => end.name()).increment(1);
        tracing::debug!(reason = end.name(), "a socket ended");
        let farewell = async {
            if let Some((code, reason)) = end.farewell() {
                sink.send(Message::Close(Some(CloseFrame { code, reason: reason.as_ref().into() }))).await?;
            }
            // A peer that said goodbye itself gets its own close frame back.
            sink.close().await?;
            // Closing with unread frames would reset the connection, and the reason would be lost on its way.
            while let Some(Ok(_)) = stream.next().await {}
            Ok::<(), K::Error>(())
        };
        if !matches!(Box::pin(timeout(Duration::from_millis(CLOSE_TIMEOUT_MS), farewell)).await, Ok(Ok(()))) {
            tracing::debug!("the close frame was not taken");
        }
    }

    async fn converse<K, S, X>(&mut self, sink: &mut K, stream: &mut S) -> Result<std::convert::Infallible, End>
    where
        K: Sink<Message> + Unpin + Send,
        S: Stream<Item = Result<Message, X>> + Unpin + Send,
        X: Display,
    {
        let interval = Duration::from_millis(PING_INTERVAL_MS);
        let mut pings = interval_at(Instant::now() + interval, interval);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unanswered = 0;
        loop {
            self.deliver(sink).await?;
            let has_room = self.has_room();
            tokio::select! {
                () = self.shutdown.cancelled() => return Err(Box::pin(self.wind_down(sink)).await),
                Some(done) = self.running.next(), if !self.running.is_empty() => self.settle_all(done)?,
                Some(told) = self.events.next(), if !self.events.is_empty() => self.tell_all(told),
                message = stream.next(), if has_room => {
                    unanswered = 0;
                    self.read(message, stream).await?;
                }
                _ = pings.tick() => {
                    // Nobody can be heard while nothing is read.
                    unanswered = if has_room { unanswered + 1 } else { 0 };
                    if unanswered > PINGS_UNANSWERED_MAX {
                        return Err(End::Silent);
                    }
                    self.outgoing.push_back(Message::Ping(Default::default()));
                    let check = self.engine.is_still_valid();
                    self.running.push(check.map(|valid| Done::Checked { valid }).boxed());
                }
            }
        }
    }

    /// Tells whether another frame may be read.
    fn has_room(&self) -> bool {
        self.commands < COMMANDS_IN_FLIGHT_MAX && self.order.len() < COMMANDS_IN_FLIGHT_MAX
    }

    /// Takes a message, and those that are there already behind it.
    async fn read<S, X>(&mut self, first: Option<Result<Message, X>>, stream: &mut S) -> Result<(), End>
    where
        S: Stream<Item = Result<Message, X>> + Unpin + Send,
        X: Display,
    {
        let mut next = Some(first);
        let mut frames = 0;
        while let Some(message) = next {
            match message {
                None | Some(Ok(Message::Close(_))) => return Err(End::Gone),
                Some(Err(error)) => return Err(unreadable(&error)),
                Some(Ok(Message::Binary(_))) => return Err(End::Binary),
                Some(Ok(Message::Text(text))) => self.accept(text.as_str()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            }
            frames += 1;
            next = if frames < FRAMES_PER_TURN_MAX && self.has_room() {
                poll_immediate(stream.next()).await
            } else {
                None
            };
        }
        Ok(())
    }

    fn accept(&mut self, text: &str) {
        metrics::counter!(STREAM_FRAMES).increment(1);
        match frame::read(text) {
            Err(Unreadable { id, failure }) => self.outgoing.push_back(Message::Text(refusal(id, &failure).into())),
            Ok(Frame { id, request }) => match request {
                Request::Command(command) => self.start_command(id, command),
                Request::Steps(items) => self.start_steps(id, items),
                Request::Subscribe { session, after } => self.subscribe(id, session, after),
                Request::Unsubscribe { session } => self.unsubscribe(id, session),
            },
        }
    }

    fn start_command(&mut self, id: u64, command: Command) {
        let session = command.session();
        match self.engine.begin(command).in_place() {
            Begun::Done(outcome) => self.answered(session.into_iter(), answer(id, &outcome)),
            begun => {
                let running = finish(begun).map(move |outcome| answer(id, &outcome));
                self.wait(session.into_iter().collect(), 1, running);
            }
        }
    }

    fn start_steps(&mut self, id: u64, items: Vec<Result<StepItem, Failure>>) {
        let sessions: Vec<SessionId> = items.iter().flatten().map(|item| item.session).collect();
        let engine = &self.engine;
        let begun = begin_all(items.into_iter().map(|item| match item {
            Ok(item) => {
                let (session, step) = item.split();
                engine.begin(Command::Step { session, step: Box::new(step) })
            }
            Err(failure) => Begun::Done(Err(failure)),
        }));
        let commands = begun.len();
        let mut running = finish_all(begun).map(move |outcomes| answers(id, &outcomes)).boxed();
        match (&mut running).now_or_never() {
            Some(answers) => self.answered(sessions.into_iter(), answers),
            None => self.wait(sessions, commands, running),
        }
    }

    /// Takes in what was answered at once.
    fn answered(&mut self, sessions: impl Iterator<Item = SessionId> + Clone, answer: String) {
        if sessions.clone().all(|session| self.order.is_clear(session)) {
            self.outgoing.push_back(Message::Text(answer.into()));
        } else {
            let ticket = self.order.queue(sessions.collect());
            self.leave(ticket, answer);
        }
    }

    /// Goes on with what is not answered yet.
    fn wait(
        &mut self,
        sessions: Vec<SessionId>,
        commands: usize,
        running: impl Future<Output = String> + Send + 'static,
    ) {
        let ticket = self.order.queue(sessions);
        self.commands += commands;
        self.running.push(running.map(move |answer| Done::Answered { ticket, commands, answer }).boxed());
    }

    fn leave(&mut self, ticket: Ticket, answer: String) {
        let outgoing = &mut self.outgoing;
        self.order.answer(ticket, answer, &mut |answer| outgoing.push_back(Message::Text(answer.into())));
    }

    fn subscribe(&mut self, id: u64, session: SessionId, after: Option<String>) {
        let ticket = self.order.queue(vec![session]);
        if self.subscribed.len() >= SUBSCRIPTIONS_MAX && !self.subscribed.contains_key(&session) {
            let detail = format!("a socket follows at most {SUBSCRIPTIONS_MAX} sessions");
            self.leave(ticket, refusal(Some(id), &Failure::new(Code::TooManyRequests, detail)));
            return;
        }
        self.subscriptions += 1;
        let (number, end) = (self.subscriptions, CancellationToken::new());
        if let Some(earlier) = self.subscribed.insert(session, Subscription { number, end }) {
            earlier.end.cancel();
        }
        let running = self.engine.events(session, after);
        let done = running.map(move |events| Done::Subscribed { ticket, id, session, number, events });
        self.running.push(done.boxed());
    }

    fn unsubscribe(&mut self, id: u64, session: SessionId) {
        if let Some(subscription) = self.subscribed.remove(&session) {
            subscription.end.cancel();
        }
        let ticket = self.order.queue(vec![session]);
        self.leave(ticket, confirmation(id, session));
    }

    /// Takes in what finished, and what else is finished already.
    fn settle_all(&mut self, first: Done) -> Result<(), End> {
        let mut next = Some(first);
        while let Some(done) = next {
            self.settle(done)?;
            next = if self.running.is_empty() { None } else { self.running.next().now_or_never().flatten() };
        }
        Ok(())
    }

    fn settle(&mut self, done: Done) -> Result<(), End> {
        match done {
            Done::Answered { ticket, commands, answer } => {
                self.commands -= commands;
                self.leave(ticket, answer);
            }
            Done::Subscribed { ticket, id, session, number, events } => {
                let outcome = events.map(|events| self.follow(session, number, events));
                if outcome.is_err() {
                    self.forget(session, number);
                }
                let answer = match outcome {
                    Ok(()) => confirmation(id, session),
                    Err(failure) => refusal(Some(id), &failure),
                };
                self.leave(ticket, answer);
            }
            Done::Checked { valid: true } => {}
            Done::Checked { valid: false } => return Err(End::Refused),
        }
        Ok(())
    }

    /// Adds a stream of events, unless the subscription was given up or replaced meanwhile.
    fn follow(&mut self, session: SessionId, number: u64, events: BoxStream<'static, Event>) {
        let Some(subscription) = self.subscribed.get(&session).filter(|subscription| subscription.number == number)
        else {
            return;
        };
        let told = events
            .take_until(subscription.end.clone().cancelled_owned())
            .map(|event| Told::Event(Box::new(event)))
            .chain(futures::stream::once(std::future::ready(Told::End { session, number })));
        self.events.push(told.boxed());
    }

    fn forget(&mut self, session: SessionId, number: u64) {
        if self.subscribed.get(&session).is_some_and(|subscription| subscription.number == number) {
            self.subscribed.remove(&session);
        }
    }

    fn tell_all(&mut self, first: Told) {
        let mut next = Some(first);
        let mut events = 0;
        while let Some(told) = next {
            match told {
                Told::Event(told) => self.outgoing.push_back(Message::Text(event(&told).into())),
                Told::End { session, number } => self.forget(session, number),
            }
            events += 1;
            let more = events < EVENTS_PER_TURN_MAX && !self.events.is_empty();
            next = if more { self.events.next().now_or_never().flatten() } else { None };
        }
    }

    /// Writes what has to go out. Commands go on meanwhile, so that a slow peer holds up nobody else.
    async fn deliver<K: Sink<Message> + Unpin + Send>(&mut self, sink: &mut K) -> Result<(), End> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.outgoing);
        let mut sending = pin!(send(sink, batch, self.send_timeout));
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => return sent,
                Some(done) = self.running.next(), if !self.running.is_empty() => self.settle(done)?,
            }
        }
    }

    /// Answers what is running, as far as it gets in time, and reads nothing more.
    async fn wind_down<K: Sink<Message> + Unpin + Send>(&mut self, sink: &mut K) -> End {
        let send_timeout = tokio::time::sleep(Duration::from_millis(WIND_DOWN_MS));
        let mut send_timeout = pin!(send_timeout);
        loop {
            if let Err(end) = self.deliver(sink).await {
                return end;
            }
            if self.running.is_empty() {
                return End::Stopped;
            }
            tokio::select! {
                Some(done) = self.running.next() => {
                    if let Err(end) = self.settle_all(done) {
                        return end;
                    }
                }
                () = &mut send_timeout => return End::Stopped,
            }
        }
    }
}

/// Sends messages in order; the peer has `send_timeout` to take each.
async fn send<K: Sink<Message> + Unpin>(
    sink: &mut K,
    batch: VecDeque<Message>,
    send_timeout: Duration,
) -> Result<(), End> {
    for message in batch {
        match in_time(send_timeout, sink.feed(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(End::Gone),
            Err(_) => return Err(End::Slow),
        }
    }
    match in_time(send_timeout, sink.flush()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        Err(_) => Err(End::Slow),
    }
}

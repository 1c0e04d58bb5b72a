//! Seats: which connection plays which session, how many there may be, and how long a session waits for a connection that
//! is gone.
//!
//! A seat holds one place from its making to its end. A socket that drops leaves its seat free; it is kept for a while, for
//! the one who comes back, and given up at once where somebody new would find no place otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use palestra_protocol::id::SessionId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::conclusion::{Conclusion, conclude};
use super::refusal::Occupancy;
use crate::app::App;
use palestra_auth::Principal;

/// Milliseconds to wait for the last command of a connection that is gone.
const LEAVING_MS_MAX: u64 = 30_000;

/// Milliseconds to wait for a connection that may be gone already: whoever comes back can be faster than the news of the drop.
const GRACE_MS: u64 = 250;

/// Room for one session.
pub(super) type Place = OwnedSemaphorePermit;

/// Names a connection or a call.
pub(super) type Holder = u64;

/// The maker of a session, who also ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A socket: the session ends with it, or a while after it dropped.
    Socket,
    /// A call over HTTP: the session ends when it is closed, or when nothing is asked of it for a while.
    Kept,
    /// Somebody else, by the API: the mount never ends it.
    Guest,
}

enum Held {
    By(Holder),
    /// Its connection is gone and its last command is still running.
    Leaving(Holder),
    /// Until this moment.
    Free(Instant),
}

struct Seat {
    principal: Arc<Principal>,
    kind: Kind,
    held: Held,
    /// To be ended as soon as nobody holds it.
    closing: bool,
    place: Place,
    /// Tells whoever counts on the present holding that it is over.
    over: DropGuard,
}

/// The outcome of a claim.
pub(super) enum Claim {
    /// The seat is held, until the token says otherwise.
    Held(CancellationToken),
    /// Another connection holds it.
    Busy,
    /// No place is free.
    Full(Occupancy),
}

/// Every seat of the server.
#[derive(Clone)]
pub(crate) struct Seats(Arc<Inner>);

struct Inner {
    app: App,
    room: Arc<Semaphore>,
    most: usize,
    table: DashMap<SessionId, Seat>,
    /// Sessions that are being ended, with how many times: whoever comes back meanwhile would find half of it.
    ending: DashMap<SessionId, u32>,
    /// Somebody left.
    left: Notify,
    holders: AtomicU64,
}

impl Seats {
    pub(crate) fn new(app: App) -> Self {
        let most = app.config().openenv_sessions_max.min(Semaphore::MAX_PERMITS);
        let room = Arc::new(Semaphore::new(most));
        let (table, ending, left, holders) = (DashMap::new(), DashMap::new(), Notify::new(), AtomicU64::new(0));
        Self(Arc::new(Inner { app, room, most, table, ending, left, holders }))
    }

    /// A name for one connection or call.
    pub(super) fn holder(&self) -> Holder {
        self.0.holders.fetch_add(1, Ordering::Relaxed)
    }

    /// A place for a connection that has no session yet: none is reserved where one can be had by giving up a free seat.
    pub(super) fn admit(&self) -> Result<Option<Place>, Occupancy> {
        match Arc::clone(&self.0.room).try_acquire_owned() {
            Ok(place) => Ok(Some(place)),
            Err(_) if self.0.table.iter().any(|seat| seat.is_evictable()) => Ok(None),
            Err(_) => Err(self.occupancy()),
        }
    }

    /// Takes the seat of a session: at once where it is free or nobody's, by force from another connection where that is
    /// wanted. A place is taken from `spare` where the seat has none.
    pub(super) async fn claim(
        &self,
        session: SessionId,
        me: Holder,
        by: (&Arc<Principal>, Kind),
        force: bool,
        spare: &mut Option<Place>,
    ) -> Claim {
        let now = Instant::now();
        let (grace, leaving) = (now + Duration::from_millis(GRACE_MS), now + Duration::from_millis(LEAVING_MS_MAX));
        loop {
            let left = self.0.left.notified();
            let until = match self.try_claim(session, me, by, force, spare) {
                Some(Claim::Busy) => grace,
                Some(claim) => return claim,
                None => leaving,
            };
            if timeout_at(until, left).await.is_err() {
                return Claim::Busy;
            }
        }
    }

    /// None while the seat is being left or the session is being ended.
    fn try_claim(
        &self,
        session: SessionId,
        me: Holder,
        (principal, kind): (&Arc<Principal>, Kind),
        force: bool,
        spare: &mut Option<Place>,
    ) -> Option<Claim> {
        if self.0.ending.contains_key(&session) {
            return None;
        }
        if spare.is_none() && !self.0.table.contains_key(&session) {
            *spare = self.place();
        }
        let (token, over) = holding();
        match self.0.table.entry(session) {
            Entry::Vacant(vacant) => {
                let Some(place) = spare.take() else { return Some(Claim::Full(self.occupancy())) };
                let (principal, held) = (Arc::clone(principal), Held::By(me));
                vacant.insert(Seat { principal, kind, held, closing: false, place, over });
            }
            Entry::Occupied(mut seat) => {
                let seat = seat.get_mut();
                match seat.held {
                    Held::Leaving(_) => return None,
                    Held::By(other) if other != me && !force => return Some(Claim::Busy),
                    Held::By(_) | Held::Free(_) => {
                        seat.held = Held::By(me);
                        // Dropping the old one tells the former holder, or ends the wait of a free seat.
                        seat.over = over;
                    }
                }
            }
        }
        Some(Claim::Held(token))
    }

    /// A place that is free, or that of the seat that was free for the longest time.
    fn place(&self) -> Option<Place> {
        loop {
            if let Ok(place) = Arc::clone(&self.0.room).try_acquire_owned() {
                return Some(place);
            }
            let oldest = self.0.table.iter().filter_map(|seat| Some((seat.evictable_since()?, *seat.key()))).min()?.1;
            let ending = self.ending(oldest);
            if let Some((_, seat)) = self.0.table.remove_if(&oldest, |_, seat| seat.is_evictable()) {
                self.conclude(ending, seat.principal, Conclusion::Abort, None);
                return Some(seat.place);
            }
        }
    }

    /// Says that the connection is gone while its last command still runs.
    pub(super) fn leaving(&self, session: SessionId, me: Holder) {
        if let Some(mut seat) = self.0.table.get_mut(&session)
            && matches!(seat.held, Held::By(holder) if holder == me)
        {
            seat.held = Held::Leaving(me);
        }
    }

    /// Leaves a seat behind: it waits for the one who comes back, unless it was to be closed or was a guest's.
    pub(super) fn leave(&self, session: SessionId, me: Holder) {
        let Some(mut seat) = self.0.table.get_mut(&session).filter(|seat| seat.is_of(me)) else { return };
        if seat.closing || seat.kind == Kind::Guest {
            drop(seat);
            self.part(session, me);
        } else {
            let (token, over) = holding();
            seat.held = Held::Free(Instant::now() + self.linger(seat.kind));
            seat.over = over;
            drop(seat);
            self.0.app.tracker().spawn(self.clone().expire(session, token));
        }
        self.0.left.notify_waiters();
    }

    /// Takes a seat out of the table; what was asked to be closed is closed, nothing else is.
    fn part(&self, session: SessionId, me: Holder) {
        let ending = self.ending(session);
        if let Some((_, seat)) = self.0.table.remove_if(&session, |_, seat| seat.is_of(me))
            && seat.closing
        {
            self.conclude(ending, seat.principal, Conclusion::Score, Some(seat.place));
        }
    }

    /// Gives a seat up and keeps its place.
    pub(super) fn release(&self, session: SessionId, me: Holder) -> Option<Place> {
        let (_, seat) = self.0.table.remove_if(&session, |_, seat| seat.is_of(me))?;
        // Nobody took it away.
        seat.over.disarm();
        self.0.left.notify_waiters();
        Some(seat.place)
    }

    /// Says that something was asked of a session over HTTP, which is not given up then.
    pub(super) fn touch(&self, session: SessionId) {
        if let Some(mut seat) = self.0.table.get_mut(&session)
            && matches!(seat.held, Held::Free(_))
        {
            seat.held = Held::Free(Instant::now() + self.linger(seat.kind));
        }
    }

    /// Tells whether the session has a seat.
    pub(super) fn has(&self, session: SessionId) -> bool {
        self.0.table.contains_key(&session)
    }

    /// Ends a session over HTTP: now where nobody holds it, else as soon as its socket leaves. Answers whether it is over now.
    pub(super) async fn close(&self, session: SessionId, principal: &Arc<Principal>) -> bool {
        let ending = self.ending(session);
        let place = match self.0.table.entry(session) {
            Entry::Vacant(_) => None,
            Entry::Occupied(mut seat) if !matches!(seat.get().held, Held::Free(_)) => {
                seat.get_mut().closing = true;
                return false;
            }
            Entry::Occupied(seat) => Some(seat.remove().place),
        };
        conclude(&self.0.app, principal, session, Conclusion::Score).await;
        drop((place, ending));
        true
    }

    /// Occupancy of the server.
    pub(super) fn occupancy(&self) -> Occupancy {
        let free = self.0.room.available_permits();
        Occupancy { active_sessions: self.0.most.saturating_sub(free), max_sessions: self.0.most }
    }

    fn linger(&self, kind: Kind) -> Duration {
        let config = self.0.app.config();
        let milliseconds = if kind == Kind::Socket { config.openenv_linger_ms } else { config.idle_ms };
        Duration::from_millis(milliseconds)
    }

    /// Ends the session of a free seat once nobody came for it in time. A server that stops leaves it as it is.
    async fn expire(self, session: SessionId, claimed: CancellationToken) {
        loop {
            let until = match self.0.table.get(&session).map(|seat| seat.free_until()) {
                Some(Some(until)) => until,
                _ => return,
            };
            tokio::select! {
                () = claimed.cancelled() => return,
                () = self.0.app.shutdown().cancelled() => return,
                () = sleep_until(until) => {}
            }
            let due = |seat: &Seat| seat.free_until().is_some_and(|until| until <= Instant::now());
            let ending = self.ending(session);
            if let Some((_, seat)) = self.0.table.remove_if(&session, |_, seat| due(seat)) {
                conclude(&self.0.app, &seat.principal, session, Conclusion::Abort).await;
                return;
            }
            drop(ending);
        }
    }

    /// Ends a session beside everything else; its place is free once that is done.
    fn conclude(&self, ending: Ending, principal: Arc<Principal>, how: Conclusion, place: Option<Place>) {
        let app = self.0.app.clone();
        self.0.app.tracker().spawn(async move {
            conclude(&app, &principal, ending.session, how).await;
            drop((place, ending));
        });
    }

    /// Lets nobody claim the session before the answer is dropped.
    fn ending(&self, session: SessionId) -> Ending {
        *self.0.ending.entry(session).or_insert(0) += 1;
        Ending { seats: self.clone(), session }
    }
}

/// A session that is being ended.
struct Ending {
    seats: Seats,
    session: SessionId,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Entry::Occupied(mut ends) = self.seats.0.ending.entry(self.session) {
            *ends.get_mut() -= 1;
            if *ends.get() == 0 {
                ends.remove();
            }
        }
        self.seats.0.left.notify_waiters();
    }
}

impl Seat {
    fn is_of(&self, me: Holder) -> bool {
        matches!(self.held, Held::By(holder) | Held::Leaving(holder) if holder == me)
    }

    fn free_until(&self) -> Option<Instant> {
        match self.held {
            Held::Free(until) => Some(until),
            Held::By(_) | Held::Leaving(_) => None,
        }
    }

    /// The order in which dropped sessions are given up. What is kept over HTTP has no connection that could have dropped.
    fn evictable_since(&self) -> Option<Instant> {
        self.free_until().filter(|_| self.kind == Kind::Socket)
    }

    fn is_evictable(&self) -> bool {
        self.evictable_since().is_some()
    }
}

fn holding() -> (CancellationToken, DropGuard) {
    let token = CancellationToken::new();
    (token.clone(), token.drop_guard())
}

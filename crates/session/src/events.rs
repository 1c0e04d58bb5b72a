//! Events of a session: its record, read in order and followed live. There is no second log, so what is resumed after a
//! cursor is what was recorded.

use std::collections::VecDeque;
use std::str::FromStr;

use futures::stream::BoxStream;
use palestra_protocol::episode::{Event, EventKind};
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::session::{CloseReason, SessionState};
use palestra_protocol::verdict::Verdict;

use super::error::fault;
use super::read::episode_view;
use super::repeat::read_step;
use super::{SessionError, Sessions};
use palestra_store::Tenant;
use palestra_store::row::EpisodeRow;

/// Events that are read from the store at once.
const EVENTS_PER_PAGE: u32 = 200;
/// Episodes without a verdict that a reader still gets one of after it has gone on to later ones.
const VERDICTS_AWAITED_MAX: usize = 4;

/// Where in a session's history an event stands: the episode's ordinal, the step, and what happened after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    ordinal: u64,
    seq: u64,
    rank: u8,
}

const RANK_EPISODE: u8 = 0;
const RANK_STEP: u8 = 1;
const RANK_VERDICT: u8 = 2;
const RANK_CLOSED: u8 = 3;

impl Cursor {
    const START: Self = Self { ordinal: 0, seq: 0, rank: 0 };
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.ordinal, self.seq, self.rank)
    }
}

impl FromStr for Cursor {
    type Err = SessionError;

    fn from_str(text: &str) -> Result<Self, SessionError> {
        let wrong =
            || fault("Last-Event-ID", "the id is none of an event of this session: pass one that the stream sent");
        let mut parts = text.splitn(3, '-').map(|part| part.parse::<u64>().ok().filter(|n| *n < u64::MAX / 2));
        match (parts.next().flatten(), parts.next().flatten(), parts.next().flatten()) {
            (Some(ordinal), Some(seq), Some(rank)) if rank <= u64::from(RANK_CLOSED) => {
                Ok(Self { ordinal, seq, rank: u8::try_from(rank).map_err(|_| wrong())? })
            }
            _ => Err(wrong()),
        }
    }
}

impl Sessions {
    /// Events of a session after a cursor, then live ones, until the session is closed or the server drains.
    ///
    /// # Errors
    /// When there is no such session, or the cursor is none.
    pub async fn events(
        &self,
        tenant: &Tenant,
        id: SessionId,
        after: Option<String>,
    ) -> Result<BoxStream<'static, Event>, SessionError> {
        let mut cursor = after.map_or(Ok(Cursor::START), |after| after.parse())?;
        self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        let (sessions, tenant) = (self.clone(), tenant.clone());
        Ok(Box::pin(async_stream::stream! {
            // Dropped after `news`, so that the last listener is gone when it looks.
            let _listening = Listening { sessions: sessions.clone(), id };
            let mut news = sessions.0.recorder.listen(id);
            let mut awaited = Awaited::default();
            loop {
                news.mark_unchanged();
                loop {
                    let page = match sessions.events_after(&tenant, id, cursor).await {
                        Ok(page) => page,
                        Err(error) => {
                            tracing::warn!(session = %id, %error, "events could not be read; the reader resumes");
                            return;
                        }
                    };
                    if page.is_empty() {
                        break;
                    }
                    for (at, event) in page {
                        cursor = at;
                        let closed = matches!(event.kind, EventKind::Closed { .. });
                        awaited.see(&event.kind);
                        yield event;
                        if closed {
                            return;
                        }
                    }
                }
                for verdict in sessions.late_verdicts(&mut awaited).await {
                    // The reader resumes where it was: what came late has no place of its own in the order.
                    yield Event { id: cursor.to_string(), session: id, kind: EventKind::Verdict { verdict } };
                }
                tokio::select! {
                    () = sessions.0.cancel.cancelled() => return,
                    changed = news.changed() => if changed.is_err() { return },
                }
            }
        }))
    }

    /// Verdicts of episodes that the reader has gone past already, because they were judged beside later ones.
    async fn late_verdicts(&self, awaited: &mut Awaited) -> Vec<Box<Verdict>> {
        let mut late = Vec::new();
        // That of the current episode comes in its place.
        for episode in awaited.episodes.iter().copied().filter(|episode| Some(*episode) != awaited.current) {
            match self.0.store.verdicts(episode).await {
                Ok(verdicts) => late.extend(verdicts.into_iter().next().map(|row| Box::new(row.verdict))),
                Err(error) => tracing::warn!(%episode, %error, "a late verdict could not be read"),
            }
        }
        awaited.episodes.retain(|episode| !late.iter().any(|verdict| verdict.episode == *episode));
        late
    }

    /// The next events after a cursor, at most a page of them.
    async fn events_after(
        &self,
        tenant: &Tenant,
        id: SessionId,
        cursor: Cursor,
    ) -> Result<Vec<(Cursor, Event)>, SessionError> {
        // Read before the episodes: what is closed by now has all its episodes and steps recorded.
        let row = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        let mut events = Vec::new();
        let mut last = cursor;
        for episode in self.0.store.episodes_of_session(id, cursor.ordinal, EVENTS_PER_PAGE).await? {
            if !self.events_of(&episode, cursor, &mut events).await? {
                return Ok(keyed(id, events));
            }
            last = events.last().map_or(last, |(at, _)| *at);
        }
        if row.state == SessionState::Closed && cursor.rank < RANK_CLOSED {
            let at = Cursor { rank: RANK_CLOSED, ..last };
            events.push((at, EventKind::Closed { reason: row.closed_reason.unwrap_or(CloseReason::Deleted) }));
        }
        Ok(keyed(id, events))
    }

    /// Adds an episode's events after the cursor; false when the page is full.
    async fn events_of(
        &self,
        episode: &EpisodeRow,
        cursor: Cursor,
        events: &mut Vec<(Cursor, EventKind)>,
    ) -> Result<bool, SessionError> {
        let ordinal = episode.ordinal;
        let from = episode.origin.map_or(0, |origin| origin.seq);
        let began = Cursor { ordinal, seq: from, rank: RANK_EPISODE };
        if began > cursor {
            events.push((began, EventKind::Episode { episode: Box::new(episode_view(episode.clone())) }));
        }
        let next = if cursor.ordinal == ordinal { cursor.seq + u64::from(cursor.rank >= RANK_STEP) } else { from + 1 };
        let rows = self.0.store.steps(episode.id, next.max(1), i64::MAX.unsigned_abs(), EVENTS_PER_PAGE).await?;
        let full = rows.len() == usize::try_from(EVENTS_PER_PAGE).unwrap_or(usize::MAX);
        for row in &rows {
            let at = Cursor { ordinal, seq: row.seq, rank: RANK_STEP };
            if at > cursor {
                let answer = read_step(row)?.answer.into_stepped();
                events.push((at, EventKind::Step { step: Box::new(answer) }));
            }
        }
        if let (false, Some(verdict)) = (full, &episode.verdict) {
            let at = Cursor { ordinal, seq: verdict.seq, rank: RANK_VERDICT };
            if at > cursor {
                events.push((at, EventKind::Verdict { verdict: verdict.clone() }));
            }
        }
        Ok(!full)
    }
}

/// The last episodes of which a reader has seen the beginning but no verdict, oldest first.
#[derive(Default)]
struct Awaited {
    episodes: VecDeque<EpisodeId>,
    /// The episode whose events are being read.
    current: Option<EpisodeId>,
}

impl Awaited {
    fn see(&mut self, event: &EventKind) {
        match event {
            EventKind::Episode { episode } => {
                self.current = Some(episode.id);
                if episode.verdict.is_none() {
                    self.episodes.push_back(episode.id);
                }
                if self.episodes.len() > VERDICTS_AWAITED_MAX {
                    self.episodes.pop_front();
                }
            }
            EventKind::Verdict { verdict } => self.episodes.retain(|episode| *episode != verdict.episode),
            _ => {}
        }
    }
}

fn keyed(session: SessionId, events: Vec<(Cursor, EventKind)>) -> Vec<(Cursor, Event)> {
    events.into_iter().map(|(at, kind)| (at, Event { id: at.to_string(), session, kind })).collect()
}

/// Stops listening when the stream is dropped.
struct Listening {
    sessions: Sessions,
    id: SessionId,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.sessions.0.recorder.unlisten(self.id);
    }
}

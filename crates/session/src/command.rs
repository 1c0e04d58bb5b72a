//! The closed set of commands on sessions, which HTTP and the stream both produce, and their answers.

use futures::future::{BoxFuture, FutureExt};
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::list::List;
use palestra_protocol::session::{
    CreateSession, Created, Fork, Opened, Reset, Restore, Session, Snapshot, TakeSnapshot, Verify,
};
use palestra_protocol::step::{Finish, Finished, Step};
use palestra_protocol::verdict::Verdict;
use serde::Serialize;

use super::{EncodedStep, SessionError, TakenStep};

/// A command. `key` is the caller's idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Opens sessions.
    Create { request: Box<CreateSession>, key: Option<String> },
    /// Begins a new episode.
    Reset { session: SessionId, request: Reset, key: Option<String> },
    /// Takes a turn.
    Step { session: SessionId, step: Box<Step> },
    /// Ends the episode.
    Finish { session: SessionId, request: Finish },
    /// Judges the episode.
    Verify { session: SessionId, request: Verify },
    /// Copies the session.
    Fork { session: SessionId, request: Fork, key: Option<String> },
    /// Names a point.
    Snapshot { session: SessionId, request: TakeSnapshot, key: Option<String> },
    /// Goes on from a named point.
    Restore { session: SessionId, request: Restore, key: Option<String> },
    /// Closes the session; closing twice is the same as once.
    Close { session: SessionId },
}

impl Command {
    /// The session that the command waits its turn for.
    #[must_use]
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::Create { .. } => None,
            Self::Reset { session, .. }
            | Self::Step { session, .. }
            | Self::Finish { session, .. }
            | Self::Verify { session, .. }
            | Self::Fork { session, .. }
            | Self::Snapshot { session, .. }
            | Self::Restore { session, .. }
            | Self::Close { session } => Some(*session),
        }
    }
}

/// The answer of a command. The `token` of every [`Opened`] is left out: credentials are added at the edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// To [`Command::Create`].
    Created(Created),
    /// To [`Command::Reset`] and [`Command::Restore`].
    Opened(Box<Opened>),
    /// To [`Command::Step`].
    Stepped(EncodedStep),
    /// To [`Command::Finish`].
    Finished(Box<Finished>),
    /// To [`Command::Verify`].
    Verdict(Box<Verdict>),
    /// To [`Command::Verify`] when the verdict was not there in time.
    Pending {
        /// The episode whose verdict will come.
        episode: EpisodeId,
    },
    /// To [`Command::Fork`].
    Forked(List<Opened>),
    /// To [`Command::Snapshot`].
    Snapshot(Box<Snapshot>),
    /// To [`Command::Close`].
    Closed(Box<Session>),
}

impl Answer {
    /// Every session that the answer opens, so that the edge can add its credential.
    pub fn opened_mut(&mut self) -> &mut [Opened] {
        match self {
            Self::Created(Created::Many(list)) | Self::Forked(list) => &mut list.data,
            Self::Created(Created::One(opened)) | Self::Opened(opened) => std::slice::from_mut(opened),
            _ => &mut [],
        }
    }
}

/// A command that was begun.
pub enum Begun<E = SessionError> {
    /// It is answered.
    Done(Result<Answer, E>),
    /// Its step was taken, and is answered once its record is committed.
    Recording(TakenStep),
    /// It waits for its turn, or takes time. Its place in the session's queue is taken at the first poll.
    Running(BoxFuture<'static, Result<Answer, E>>),
}

impl<E: From<SessionError>> Begun<E> {
    /// Takes the command's place in the session's queue, if it has none yet.
    #[must_use]
    pub fn in_place(self) -> Self {
        match self {
            Self::Running(mut running) => match (&mut running).now_or_never() {
                Some(outcome) => Self::Done(outcome),
                None => Self::Running(running),
            },
            begun => begun,
        }
    }

    /// Waits until a running command is answered.
    pub async fn wait(&mut self) {
        if let Self::Running(running) = self {
            *self = Self::Done(running.await);
        }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// When the command is refused, or its record is.
    pub async fn finish(self) -> Result<Answer, E> {
        match self {
            Self::Done(outcome) => outcome,
            Self::Recording(taken) => Ok(Answer::Stepped(taken.recorded().await?)),
            Self::Running(running) => running.await,
        }
    }
}

//! Ends of sessions of the mount.

use std::sync::Arc;

use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use palestra_protocol::session::Verify;
use palestra_protocol::step::{Finish, FinishReason};

use super::super::super::perform::{ToolForm, perform};
use super::super::super::problem::Failure;
use crate::app::App;
use palestra_auth::Principal;
use palestra_session::Command;

/// The fate of an episode that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// It is judged as it stands: its player said that this was all.
    Score,
    /// It is invalid: its player is gone.
    Abort,
    /// It is left without a verdict: its player went on to another.
    Leave,
}

/// Ends the episode, if it goes on, and closes the session. What fails is told to the log: nobody waits for an answer.
pub(super) async fn conclude(app: &App, principal: &Arc<Principal>, session: SessionId, how: Conclusion) {
    let run = |command| perform(app, principal, command, ToolForm::default());
    let ended = match how {
        Conclusion::Score => run(Command::Verify { session, request: Verify::default() }).await.map(drop),
        Conclusion::Abort => {
            let request = Finish { reason: FinishReason::Aborted, detail: None, episode: None };
            run(Command::Finish { session, request }).await.map(drop)
        }
        Conclusion::Leave => Ok(()),
    };
    let closed = run(Command::Close { session }).await.map(drop);
    for failure in [ended, closed].into_iter().filter_map(Result::err).filter(matters) {
        tracing::warn!(%session, code = failure.code().as_str(), "a session of OpenEnv did not end as it should");
    }
}

/// Episodes that are over need no end, and a server that stops keeps its sessions.
fn matters(failure: &Failure) -> bool {
    !matches!(
        failure.code(),
        Code::EpisodeOver | Code::SessionOver | Code::SessionLost | Code::NotFound | Code::Draining
    )
}

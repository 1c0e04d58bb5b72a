//! Playing episodes on a server over the client, for `palestra run` and the jobs that play.

pub mod conversation;
pub mod endpoint;
pub mod episode;
pub mod model;
pub mod ownership;
pub mod player;
pub mod policy;
mod remote_builtin;
pub mod served;
pub mod tasks;
pub mod turn;

use palestra_client::ClientError;

/// Why an episode, or all of them, could not be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The server refused or could not be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The policy failed in this episode; others may go well.
    #[error("the policy failed, check its server and try again: {0}")]
    Turn(String),
    /// The policy cannot play here: every further episode would end alike.
    #[error("{0}")]
    Policy(String),
    /// The policy cannot be had now, and perhaps later.
    #[error("{0}")]
    Unavailable(String),
}

impl PlayError {
    /// The reason why an episode has no score, in a word that can be counted.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Client(error) => error.code().map_or("unreachable", |code| code.as_str()),
            Self::Turn(_) | Self::Policy(_) | Self::Unavailable(_) => "policy_error",
        }
    }

    /// True where no further episode can be played.
    pub fn ends_all(&self) -> bool {
        matches!(self, Self::Policy(_) | Self::Unavailable(_))
    }
}

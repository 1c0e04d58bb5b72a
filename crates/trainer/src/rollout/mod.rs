//! Rollouts: episodes played in sessions of the server.
//!
//! All live episodes advance together, turn by turn: one pass of the model answers for all of them, then one batch of steps
//! goes to the server. What is in a batch follows from the episodes alone and never from timing, so the same weights and
//! seeds play the same episodes, also after a restart.

mod language;
mod plan;
mod play;
mod vector;

pub use language::{Answering, LanguageActor};
pub use plan::{Planned, Plans, stream};
pub use play::{Ended, PlayLimits, Played, Player, Times, Turn};
pub use vector::{VectorActor, VectorTrace, VectorTurn, read as read_vector};

use palestra_protocol::action::Action;
use palestra_protocol::session::Opened;
use palestra_protocol::step::Stepped;

use crate::failure::TrainerError;

/// What an actor does in one turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// It acts.
    Step(Action),
    /// Its room for tokens is used up.
    Full,
}

/// Acts in many episodes at once.
pub trait Actor {
    /// What it keeps of one episode while it is played.
    type Seat;
    /// What it leaves of an episode: what was said, or what was seen.
    type Trace;

    /// Takes a seat in an episode that begins; `number` names its randomness.
    ///
    /// # Errors
    /// When the episode cannot be acted in at all.
    fn begin(&mut self, number: u64, opened: &Opened) -> Result<Self::Seat, TrainerError>;

    /// One turn for each of `seats`, together.
    ///
    /// # Errors
    /// When the model fails.
    fn act(&mut self, seats: &mut [&mut Self::Seat]) -> Result<Vec<Act>, TrainerError>;

    /// Takes in what a step showed, also the last one.
    ///
    /// # Errors
    /// When what was shown has no form that the model can read.
    fn observe(&mut self, seat: &mut Self::Seat, stepped: &Stepped) -> Result<(), TrainerError>;

    /// Leaves an episode.
    fn end(&mut self, seat: Self::Seat) -> Self::Trace;
}

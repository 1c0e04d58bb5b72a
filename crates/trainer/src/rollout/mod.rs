//! Rollouts: episodes played in sessions of the server.
//!
//! All live episodes advance together, turn by turn: one pass of the model answers for all of them, then one batch of steps
//! goes to the server. What is in a batch follows from the episodes alone and never from timing, so the same weights and
//! seeds play the same episodes, also after a restart.

mod language;
mod plan;
mod play;
mod vector;

pub use language::{LanguageActor, SamplingSettings};
pub use plan::{Planned, Plans, stream};
pub use play::{EpisodeEnd, PlayLimits, Played, Player, Times, Turn};
pub use vector::{VectorActor, VectorTrace, VectorTurn, read as read_vector};

use palestra_protocol::action::Action;
use palestra_protocol::session::Opened;
use palestra_protocol::step::Stepped;

use crate::failure::TrainerError;

/// Decision of an actor in one turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// It acts.
    Step(Action),
    /// It acts by an answer that was cut at the most tokens of an answer.
    CutStep(Action),
    /// Its room for tokens is used up.
    Full,
}

/// Acts in many episodes at once.
pub trait Actor {
    /// State kept of one episode while it is played.
    type State;
    /// Record left of an episode: its tokens, or its vectors.
    type Trace;

    /// Begins an episode; `number` names its randomness.
    ///
    /// # Errors
    /// When the episode cannot be acted in at all.
    fn begin(&mut self, number: u64, opened: &Opened) -> Result<Self::State, TrainerError>;

    /// One turn for each of `states`, together.
    ///
    /// # Errors
    /// When the model fails.
    fn act(&mut self, states: &mut [&mut Self::State]) -> Result<Vec<Act>, TrainerError>;

    /// Takes in what a step showed, also the last one.
    ///
    /// # Errors
    /// When what was shown has no form that the model can read.
    fn observe(&mut self, state: &mut Self::State, stepped: &Stepped) -> Result<(), TrainerError>;

    /// Leaves an episode.
    fn end(&mut self, state: Self::State) -> Self::Trace;
}

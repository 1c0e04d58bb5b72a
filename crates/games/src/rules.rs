//! Rules of every game over its board.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::scene::Scene;
use crate::{Input, Step};

/// State of a game with regard to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It goes on.
    Open,
    /// Its goal is reached.
    Won,
    /// Its goal can no longer be reached.
    Lost,
}

/// Part of the goal that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Units that are done.
    pub done: u32,
    /// Units that the goal asks for; never 0.
    pub goal: u32,
}

/// A drawn game.
pub(crate) struct Drawn<B> {
    /// The instruction: the rules, the controls and the goal.
    pub(crate) instruction: String,
    /// Title of the page.
    pub(crate) title: &'static str,
    /// The board at the beginning.
    pub(crate) board: B,
}

/// Rules of a game over its board. Nothing is random but by the board's own seed.
pub(crate) trait Rules {
    /// Takes an input; true if it changed the board. An input that the rules do not allow changes nothing.
    fn take(&mut self, input: &Input) -> bool;

    /// State with regard to the end.
    fn outcome(&self) -> Outcome;

    /// The part of the goal that is reached.
    fn progress(&self) -> Progress;

    /// Milliseconds of the page's clock between two ticks; `None` where or while time does not count.
    fn tick_ms(&self) -> Option<u32> {
        None
    }

    /// True if the board follows the pointer.
    fn follows_pointer(&self) -> bool {
        false
    }

    /// The board as a picture.
    fn scene(&self) -> Scene;

    /// The board in words, one line each.
    fn words(&self) -> Vec<String>;

    /// Steps that win from here.
    fn solution(&self) -> Option<Vec<Step>>;

    /// True for a board to which the one at the beginning can lead: what never changes is the same, and every cell lies on the board.
    fn is_of(&self, start: &Self) -> bool
    where
        Self: Sized;
}

/// The board after a step and the ticks of the time that it takes, unless it is lost.
pub(crate) fn after<B: Rules + Clone>(board: &B, step: &Step) -> Option<B> {
    let mut next = board.clone();
    if let Some(input) = step.input() {
        next.take(&input);
    }
    for _ in 0..next.tick_ms().map_or(0, |tick_ms| step.milliseconds() / tick_ms) {
        if next.outcome() == Outcome::Open {
            next.take(&Input::Tick);
        }
    }
    (next.outcome() != Outcome::Lost).then_some(next)
}

/// The chance of one event of a game: each event has a stream of its own, so that copies of a board go on alike.
pub(crate) fn chance(seed: u32, event: u32) -> ChaCha8Rng {
    let mut chance = ChaCha8Rng::seed_from_u64(u64::from(seed));
    chance.set_stream(u64::from(event));
    chance
}

//! Small games, drawn from a seed in four levels. Their rules run in the server: a page passes on keys, clicks, drags and ticks of its
//! clock, and gets what to draw. A new game is one file of rules, and a line in [`all`] and in [`Board`].

mod board;
mod boxes;
mod catch;
mod grid;
mod input;
mod merge;
mod mines;
mod page;
mod rules;
mod scene;
mod snake;
mod swaps;

use palestra_widgets::Draw;

pub use board::{Board, View};
pub use input::{Button, Input, Step};
pub use page::document;
pub use rules::{Outcome, Progress};
pub use scene::Shape;

/// One game.
#[derive(Clone, Copy)]
pub struct Game {
    /// Its name: letters, digits and `-`.
    pub name: &'static str,
    /// Its skill, as one sentence.
    pub about: &'static str,
    /// Draws a task. The same draw gives the same task.
    pub draw: fn(&mut Draw) -> Task,
}

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// The instruction: the rules, the controls and the goal.
    pub instruction: String,
    /// Title of the page.
    pub title: &'static str,
    /// The board at the beginning.
    pub board: Board,
}

/// Every game.
#[must_use]
pub fn all() -> Vec<Game> {
    vec![boxes::GAME, catch::GAME, merge::GAME, mines::GAME, snake::GAME, swaps::GAME]
}

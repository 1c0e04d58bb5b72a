//! Small games, drawn from a seed in four levels. Their rules run in the server: a page passes on keys, clicks, drags and ticks of its
//! clock, and gets what to draw. A new game is one file of rules, and a line in [`all`] and in [`Board`].

mod board;
mod boxes;
mod canvas;
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

pub use board::{Board, Game, Task, View, all};
pub use input::{Button, Input, Step};
pub use page::document;
pub use rules::{Outcome, Progress};
pub use scene::Shape;

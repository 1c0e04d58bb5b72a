//! Puzzles of the category `grid`.

mod battleship;
mod lights_out;
mod n_queens;
mod sokoban;
mod square;
mod sudoku;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

/// Earlier versions.
pub(super) fn former() -> Vec<Arc<dyn Examinable>> {
    vec![Arc::new(PuzzleKind::new(Single(n_queens::FORMER)))]
}

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(Single(sudoku::Sudoku))),
        Arc::new(PuzzleKind::new(Single(n_queens::NEWEST))),
        Arc::new(PuzzleKind::new(battleship::Battleship)),
        Arc::new(PuzzleKind::new(lights_out::LightsOut)),
        Arc::new(PuzzleKind::new(sokoban::Sokoban)),
    ]
}

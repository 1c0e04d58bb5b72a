//! Puzzles of the category `logic`.

mod mastermind;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![Arc::new(PuzzleKind::new(mastermind::Mastermind))]
}

//! Puzzles of the category `sequential`.

mod hanoi;
mod river_crossing;
mod sequence_completion;
mod sliding_tiles;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(Single(hanoi::Hanoi))),
        Arc::new(PuzzleKind::new(river_crossing::RiverCrossing)),
        Arc::new(PuzzleKind::new(Single(sequence_completion::SequenceCompletion))),
        Arc::new(PuzzleKind::new(sliding_tiles::SlidingTiles)),
    ]
}

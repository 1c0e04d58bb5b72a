//! Puzzles of the category `search`.

mod knapsack;
mod sat;
mod subset_sum;
mod word_ladder;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(Single(knapsack::Knapsack))),
        Arc::new(PuzzleKind::new(Single(sat::Sat))),
        Arc::new(PuzzleKind::new(Single(subset_sum::SubsetSum))),
        Arc::new(PuzzleKind::new(Single(word_ladder::WordLadder))),
    ]
}

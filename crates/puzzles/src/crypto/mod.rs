//! Puzzles of the category `crypto`.

mod caesar;
mod plaintext;
mod rail_fence;
mod vigenere;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(Single(caesar::Caesar))),
        Arc::new(PuzzleKind::new(Single(rail_fence::RailFence))),
        Arc::new(PuzzleKind::new(Single(vigenere::Vigenere))),
    ]
}

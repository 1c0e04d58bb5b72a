//! Puzzles of the category `arithmetic`.

mod base_conversion;
mod countdown;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(countdown::Countdown)),
        Arc::new(PuzzleKind::new(Single(base_conversion::BaseConversion))),
    ]
}

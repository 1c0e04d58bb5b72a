//! Puzzles of the category `arithmetic`.

mod base_conversion;
mod calendar;
mod countdown;
mod cryptarithm;
mod geometry;
mod twenty_four;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(countdown::Countdown)),
        Arc::new(PuzzleKind::new(Single(base_conversion::BaseConversion))),
        Arc::new(PuzzleKind::new(Single(calendar::Calendar))),
        Arc::new(PuzzleKind::new(Single(cryptarithm::Cryptarithm))),
        Arc::new(PuzzleKind::new(Single(geometry::Geometry))),
        Arc::new(PuzzleKind::new(Single(twenty_four::TwentyFour))),
    ]
}

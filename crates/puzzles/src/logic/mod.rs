//! Puzzles of the category `logic`.

mod family_relations;
mod knights_and_knaves;
mod mastermind;
mod names;
mod table_questions;
mod twenty_questions;
mod words;
mod zebra;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(Single(family_relations::FamilyRelations))),
        Arc::new(PuzzleKind::new(Single(knights_and_knaves::KnightsAndKnaves))),
        Arc::new(PuzzleKind::new(mastermind::Mastermind)),
        Arc::new(PuzzleKind::new(Single(table_questions::TableQuestions))),
        Arc::new(PuzzleKind::new(twenty_questions::TwentyQuestions)),
        Arc::new(PuzzleKind::new(Single(zebra::Zebra))),
    ]
}

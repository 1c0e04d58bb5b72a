//! Puzzles of the category `sequential`.

use std::sync::Arc;

use super::Examinable;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![]
}

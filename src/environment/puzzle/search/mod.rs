//! Puzzles of the category `search`.

use std::sync::Arc;

use super::Examinable;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![]
}

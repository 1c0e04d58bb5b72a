//! Puzzles of the category `graph`.

mod graph_colouring;
mod maze;
mod shortest_path;
mod topological_order;

use std::sync::Arc;

use super::Examinable;
use super::kind::PuzzleKind;
use super::question::Single;

pub(super) fn puzzles() -> Vec<Arc<dyn Examinable>> {
    vec![
        Arc::new(PuzzleKind::new(Single(graph_colouring::GraphColouring))),
        Arc::new(PuzzleKind::new(Single(shortest_path::ShortestPath))),
        Arc::new(PuzzleKind::new(Single(topological_order::TopologicalOrder))),
        Arc::new(PuzzleKind::new(maze::Maze)),
    ]
}

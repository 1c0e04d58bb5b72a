//! A beam search over swaps. It knows the pieces that will come, since they follow from the seed.

use super::Swaps;
use crate::rules::Rules as _;
use crate::{Outcome, Step};

/// Boards that are kept after each swap.
const BEAM: usize = 20;
/// Swaps after which a greedy way is given up.
const GREEDY_MAX: usize = 60;

struct Node {
    board: Swaps,
    steps: Vec<Step>,
}

/// Steps that reach the goal.
pub(super) fn solve(start: &Swaps) -> Option<Vec<Step>> {
    search(start).or_else(|| {
        let swaps = greedy(start).filter(|swaps| swaps.len() <= start.moves_left())?;
        Some(swaps.into_iter().map(|swap| start.drag(swap)).collect())
    })
}

/// Swaps that reach the goal, each the most promising one at its time, however many it takes up to [`GREEDY_MAX`].
pub(super) fn greedy(start: &Swaps) -> Option<Vec<(usize, usize)>> {
    let mut board = start.clone();
    let mut swaps = Vec::new();
    while board.collected < board.goal && swaps.len() < GREEDY_MAX {
        let after = |(from, to): (usize, usize)| {
            let mut after = board.clone();
            after.swap(from, to);
            (after, (from, to))
        };
        let (next, swap) = board.allowed().into_iter().map(after).max_by_key(|(after, _)| promise(after))?;
        board = next;
        swaps.push(swap);
    }
    (board.collected >= board.goal).then_some(swaps)
}

fn search(start: &Swaps) -> Option<Vec<Step>> {
    let mut beam = vec![Node { board: start.clone(), steps: Vec::new() }];
    while !beam.is_empty() {
        let mut next: Vec<(usize, Node)> = Vec::new();
        for Node { board, steps } in beam {
            if board.outcome() == Outcome::Won {
                return Some(steps);
            }
            if board.outcome() == Outcome::Lost {
                continue;
            }
            for (from, to) in board.allowed() {
                let mut after = board.clone();
                after.swap(from, to);
                let steps = steps.iter().cloned().chain([board.drag((from, to))]).collect();
                next.push((promise(&after), Node { board: after, steps }));
            }
        }
        next.sort_by_key(|(promise, _)| std::cmp::Reverse(*promise));
        next.truncate(BEAM);
        beam = next.into_iter().map(|(_, node)| node).collect();
    }
    None
}

/// Promise of a board: pieces that were collected, and then those of the wanted colour on the board.
fn promise(board: &Swaps) -> usize {
    let there = board.cells.iter().filter(|colour| **colour == board.wanted).count();
    usize::try_from(board.collected).unwrap_or_default() * 4 + there
}

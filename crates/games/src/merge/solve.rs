//! A beam search over slides. It knows the numbers that will appear, since they follow from the seed.

use super::{GRID, Merge};
use crate::input::Direction;
use crate::rules::Rules as _;
use crate::{Outcome, Step};

/// Boards that are kept after each move: few at first, and many where few reach no goal.
const BEAMS: [usize; 2] = [24, 400];

struct Node {
    board: Merge,
    way: Vec<Direction>,
}

/// Steps that reach the goal.
pub(super) fn solve(start: &Merge) -> Option<Vec<Step>> {
    BEAMS.into_iter().find_map(|beam| search(start, beam))
}

fn search(start: &Merge, width: usize) -> Option<Vec<Step>> {
    let mut beam = vec![Node { board: start.clone(), way: Vec::new() }];
    while !beam.is_empty() {
        let mut next: Vec<(u32, Node)> = Vec::new();
        for node in &beam {
            if node.board.outcome() == Outcome::Won {
                return Some(node.way.iter().map(|direction| direction.step()).collect());
            }
            if node.board.outcome() == Outcome::Lost {
                continue;
            }
            for direction in Direction::ALL {
                let mut board = node.board.clone();
                if board.slide(direction) {
                    let way = node.way.iter().copied().chain([direction]).collect();
                    next.push((promise(&board), Node { board, way }));
                }
            }
        }
        next.sort_by(|(one, _), (other, _)| other.cmp(one));
        next.dedup_by(|(_, one), (_, other)| one.board == other.board);
        next.truncate(width);
        beam = next.into_iter().map(|(_, node)| node).collect();
    }
    None
}

/// Promise of a board: few large numbers, which lie beside numbers alike, and empty cells.
fn promise(board: &Merge) -> u32 {
    let squares: u32 = board.cells.iter().map(|number| number * number).sum();
    let empty = u32::try_from(board.cells.iter().filter(|number| **number == 0).count()).unwrap_or_default();
    let side = |cell: usize, direction| {
        let next = GRID.next(cell, direction)?;
        let (one, other) = (board.cells[cell], board.cells[next]);
        (one > 0 && (one == other || one == 2 * other || 2 * one == other)).then_some(one.min(other))
    };
    let beside: u32 =
        (0..GRID.cells()).flat_map(|cell| [side(cell, Direction::Right), side(cell, Direction::Down)]).flatten().sum();
    squares + 4 * beside * board.largest().max(1) / 8 + empty * board.largest() / 2
}

#[cfg(test)]
mod tests {
    use palestra_widgets::{Draw, Level};

    use super::*;

    #[test]
    fn a_goal_that_a_narrow_beam_misses_is_reached_by_a_wide_one() {
        let start = crate::merge::draw(&mut Draw::new(Level::Four, 196)).board;
        assert!(search(&start, BEAMS[0]).is_none());
        assert!(solve(&start).is_some());
    }
}

//! The reference solver: a search over pushes, the most promising first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::level::{Grid, Moved};
use crate::walk::Direction;

/// Positions that it goes on from before it gives up.
const POSITIONS_MAX: u32 = 500;

/// Goes on from the position that has the fewest pushes behind it and, at least, before it (A*), until every box is on a
/// goal. Positions are the same between which the player can walk. Answers how many it went on from.
pub(super) fn positions(rows: &[String]) -> u32 {
    let (grid, player, boxes) = Grid::read(rows);
    let mut waiting = BinaryHeap::from([Reverse((grid.pushes_min(&boxes), 0, boxes, player))]);
    let mut seen = BTreeSet::new();
    let mut positions = 0;
    while let Some(Reverse((_, pushes, boxes, player))) = waiting.pop() {
        let walks = grid.walks(player, &boxes);
        let first_place = grid.reached(&walks).chain([player]).min();
        if !seen.insert((boxes.clone(), first_place)) {
            continue;
        }
        positions += 1;
        if grid.solved(&boxes) || positions >= POSITIONS_MAX {
            break;
        }
        for cell in &boxes {
            for direction in Direction::ALL {
                let stand = direction.back().from(*cell);
                if !grid.reaches(&walks, player, stand) || grid.stuck(direction.from(*cell)) {
                    continue;
                }
                let mut pushed = boxes.clone();
                if let Moved::To(player) = grid.step(stand, &mut pushed, direction) {
                    let pushes = pushes + 1;
                    waiting.push(Reverse((pushes + grid.pushes_min(&pushed), pushes, pushed, player)));
                }
            }
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(rows: &[&str]) -> u32 {
        positions(&rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn pushes_are_counted_and_walks_are_not() {
        assert_eq!(spent(&["#######", "#@$--.#", "#######"]), 4);
        assert_eq!(spent(&["#######", "#-$--.#", "#----@#", "#######"]), 4);
    }

    #[test]
    fn a_level_without_a_solution_comes_to_an_end() {
        assert_eq!(spent(&["#####", "#$@.#", "#---#", "#####"]), 1);
    }
}

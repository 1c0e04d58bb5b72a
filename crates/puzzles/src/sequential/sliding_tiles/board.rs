//! Boards of tiles, and the reference solver.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use serde::{Deserialize, Serialize};

/// Boards that the reference solver looks at before it gives up.
const BOARDS_MAX: u32 = 3_000;

/// Weight of distances against moves made.
const WEIGHT: u32 = 2;

/// A board row by row; 0 is the gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Board(pub(super) Vec<Vec<u8>>);

impl Board {
    /// Row and column of a tile or, by 0, of the gap.
    pub(super) fn find(&self, tile: u8) -> Option<(usize, usize)> {
        let in_row = |(row, tiles): (usize, &Vec<u8>)| Some((row, tiles.iter().position(|other| *other == tile)?));
        self.0.iter().enumerate().find_map(in_row)
    }

    /// Tiles next to the gap.
    pub(super) fn movable(&self) -> Vec<u8> {
        let Some((row, column)) = self.find(0) else { return Vec::new() };
        let steps =
            [(row.wrapping_sub(1), column), (row + 1, column), (row, column.wrapping_sub(1)), (row, column + 1)];
        steps.iter().filter_map(|(row, column)| self.0.get(*row)?.get(*column).copied()).collect()
    }

    /// Slides a tile into the gap; false, and nothing happens, when it is not next to it.
    pub(super) fn slide(&mut self, tile: u8) -> bool {
        let (Some(from), Some(to)) = (self.find(tile), self.find(0)) else { return false };
        let next = from.0.abs_diff(to.0) + from.1.abs_diff(to.1) == 1;
        if next {
            self.0[to.0][to.1] = tile;
            self.0[from.0][from.1] = 0;
        }
        next
    }

    /// Boards that a search from here to `goal` looks at, up to [`BOARDS_MAX`]: weighted A* (Pohl, "Heuristic search viewed
    /// as path finding in a graph", 1970) with the sum of the tiles' distances from their places.
    pub(super) fn looked_at(&self, goal: &Self) -> u32 {
        let (start, paths, apart) = (self.flat(), Paths::to(goal), self.apart(goal));
        let mut seen = BTreeSet::from([start.clone()]);
        let mut waiting = BinaryHeap::from([Reverse((WEIGHT * apart, apart, 0_u32, start))]);
        let mut looked_at = 0;
        while let Some(Reverse((_, apart, moves, board))) = waiting.pop() {
            looked_at += 1;
            if apart == 0 || looked_at >= BOARDS_MAX {
                break;
            }
            let gap = place_of(&board, 0);
            for from in paths.beside(gap) {
                let tile = usize::from(board[from]);
                let mut next = board.clone();
                next.swap(from, gap);
                let apart = apart + paths.apart(tile, gap) - paths.apart(tile, from);
                if seen.insert(next.clone()) {
                    waiting.push(Reverse((moves + 1 + WEIGHT * apart, apart, moves + 1, next)));
                }
            }
        }
        looked_at
    }

    /// The sum over all tiles of rows and columns to their places on another board: at least so many moves are needed.
    pub(super) fn apart(&self, goal: &Self) -> u32 {
        let (here, paths) = (self.flat(), Paths::to(goal));
        (1..here.len()).map(|tile| paths.apart(tile, place_of(&here, tile))).sum()
    }

    fn flat(&self) -> Vec<u8> {
        self.0.iter().flatten().copied().collect()
    }

    /// One line for each row, the gap as a dot.
    pub(super) fn draw(&self) -> String {
        let place = |tile: &u8| if *tile == 0 { " .".to_owned() } else { format!("{tile:>2}") };
        let rows = self.0.iter().map(|row| row.iter().map(place).collect::<Vec<_>>().join(" "));
        rows.collect::<Vec<_>>().join("\n")
    }
}

/// Tables for a search on a board whose rows are written one after the other.
struct Paths {
    columns: usize,
    places: usize,
    goal: Vec<u8>,
}

impl Paths {
    fn to(goal: &Board) -> Self {
        let flat = goal.flat();
        Self { columns: goal.0.first().map_or(0, Vec::len), places: flat.len(), goal: flat }
    }

    /// Rows and columns between a place and the one where the tile belongs.
    fn apart(&self, tile: usize, place: usize) -> u32 {
        let goal = place_of(&self.goal, tile);
        let rows = (place / self.columns).abs_diff(goal / self.columns);
        let columns = (place % self.columns).abs_diff(goal % self.columns);
        u32::try_from(rows + columns).unwrap_or(u32::MAX)
    }

    /// The places next to one.
    fn beside(&self, place: usize) -> impl Iterator<Item = usize> {
        let column = place % self.columns;
        let left = (column > 0).then(|| place - 1);
        let right = (column + 1 < self.columns).then(|| place + 1);
        let below = Some(place + self.columns).filter(|below| *below < self.places);
        [place.checked_sub(self.columns), left, right, below].into_iter().flatten()
    }
}

fn place_of(board: &[u8], tile: usize) -> usize {
    board.iter().position(|other| usize::from(*other) == tile).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_slides_into_the_gap_beside_it_alone() {
        let mut board = Board(vec![vec![1, 2, 3], vec![4, 0, 5], vec![6, 7, 8]]);
        let mut movable = board.movable();
        movable.sort_unstable();
        assert_eq!(movable, [2, 4, 5, 7]);
        for tile in [1, 3, 6, 8, 0, 9] {
            assert!(!board.slide(tile), "{tile}");
        }
        assert!(board.slide(7));
        assert_eq!(board.draw(), " 1  2  3\n 4  7  5\n 6  .  8");
    }

    #[test]
    fn the_search_goes_straight_where_it_can() {
        let goal = Board(vec![vec![1, 2, 3], vec![4, 5, 6], vec![7, 8, 0]]);
        let mut board = goal.clone();
        assert_eq!(board.looked_at(&goal), 1);
        for (tile, count) in [(8, 2), (7, 3), (4, 4)] {
            assert!(board.slide(tile));
            assert_eq!(board.looked_at(&goal), count);
        }
    }
}

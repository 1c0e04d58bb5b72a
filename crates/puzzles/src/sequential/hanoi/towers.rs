//! All arrangements of some disks on some pegs, numbered, and shortest ways between them.

use serde::{Deserialize, Serialize};

/// No arrangement.
const NOWHERE: u32 = u32::MAX;

/// From a peg to a peg, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move(pub(super) u8, pub(super) u8);

/// Number of pegs and disks. An arrangement is the number whose digits in base `pegs` are the pegs of the disks from 0,
/// the smallest disk last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Towers {
    pub(super) pegs: u8,
    pub(super) disks: u32,
}

impl Towers {
    /// Number of arrangements.
    pub(super) fn arrangements(self) -> usize {
        usize::from(self.pegs).pow(self.disks)
    }

    /// The peg of each disk, from 1, the smallest disk first.
    pub(super) fn pegs_of(self, arrangement: usize) -> Vec<u8> {
        let pegs = usize::from(self.pegs);
        let peg = |disk: u32| u8::try_from(arrangement / pegs.pow(disk) % pegs).unwrap_or(0) + 1;
        (0..self.disks).map(peg).collect()
    }

    /// The other way round.
    pub(super) fn number_of(self, stands: &[u8]) -> usize {
        let place = |number, peg: &u8| number * usize::from(self.pegs) + usize::from(*peg) - 1;
        stands.iter().rev().fold(0, place)
    }

    /// Writes down what one move leads to.
    fn neighbours(self, arrangement: usize, found: &mut Vec<usize>) {
        found.clear();
        let pegs = usize::from(self.pegs);
        let (mut left, mut worth) = (arrangement, 1);
        // Pegs on which a smaller disk was seen, as bits.
        let mut covered = 0_u32;
        for _ in 0..self.disks {
            let peg = left % pegs;
            if covered >> peg & 1 == 0 {
                covered |= 1 << peg;
                let free = (0..pegs).filter(|to| covered >> to & 1 == 0);
                found.extend(free.map(|to| arrangement - peg * worth + to * worth));
            }
            left /= pegs;
            worth *= pegs;
        }
    }

    /// Goes away from `start` until `far` moves, all arrangements or the `goal` are reached.
    pub(super) fn distances(self, start: usize, far: u32, goal: Option<usize>) -> Distances {
        let mut before = vec![NOWHERE; self.arrangements()];
        before[start] = small(start);
        let mut layers = vec![vec![start]];
        let mut found = Vec::new();
        while let Some(last) = layers.last()
            && u32::try_from(layers.len()).is_ok_and(|reached| reached <= far)
            && goal.is_none_or(|goal| before[goal] == NOWHERE)
        {
            let mut next = Vec::new();
            for from in last {
                self.neighbours(*from, &mut found);
                for to in &found {
                    if before[*to] == NOWHERE {
                        before[*to] = small(*from);
                        next.push(*to);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            layers.push(next);
        }
        Distances { before, layers }
    }
}

/// Arrangements by their distance from a beginning.
pub(super) struct Distances {
    /// The arrangement before each; [`NOWHERE`] where none was reached.
    before: Vec<u32>,
    layers: Vec<Vec<usize>>,
}

impl Distances {
    /// The arrangements at just this distance, if any were reached.
    pub(super) fn farthest(&self, distance: u32) -> Option<&[usize]> {
        self.layers.get(usize::try_from(distance).ok()?).map(Vec::as_slice)
    }

    /// Depth of the search.
    pub(super) fn layers(&self) -> u32 {
        u32::try_from(self.layers.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// The moves of a shortest way to an arrangement that was reached.
    pub(super) fn moves(&self, towers: &Towers, goal: usize) -> Vec<Move> {
        let mut way = vec![goal];
        while let Some(before) = way.last().and_then(|at| usize::try_from(self.before[*at]).ok())
            && way.last() != Some(&before)
        {
            way.push(before);
        }
        way.reverse();
        let step = |pair: &[usize]| {
            let (from, to) = (towers.pegs_of(pair[0]), towers.pegs_of(pair[1]));
            from.into_iter().zip(to).find(|(from, to)| from != to).map(|(from, to)| Move(from, to))
        };
        way.windows(2).filter_map(step).collect()
    }
}

/// An arrangement in half the room; there are fewer than [`NOWHERE`].
fn small(arrangement: usize) -> u32 {
    u32::try_from(arrangement).unwrap_or(NOWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_distances_of_towers_come_out() {
        // 2^n - 1 moves with three pegs; with four, 1, 3, 5, 9, 13, 17 (OEIS A007664).
        for (pegs, disks, moves) in [(3, 1, 1), (3, 3, 7), (3, 7, 127), (4, 2, 3), (4, 3, 5), (4, 4, 9), (4, 6, 17)] {
            let towers = Towers { pegs, disks };
            let goal = towers.number_of(&vec![pegs; usize::try_from(disks).expect("small")]);
            let found = towers.distances(0, u32::MAX, Some(goal));
            assert_eq!((found.layers(), found.moves(&towers, goal).len()), (moves, moves as usize), "{pegs} {disks}");
        }
    }

    #[test]
    fn arrangements_are_numbered_both_ways() {
        let towers = Towers { pegs: 3, disks: 4 };
        for number in 0..towers.arrangements() {
            assert_eq!(towers.number_of(&towers.pegs_of(number)), number);
        }
    }
}

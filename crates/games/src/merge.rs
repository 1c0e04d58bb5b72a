//! Numbers that slide over a board and merge.

mod solve;

use palestra_widgets::Draw;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::input::Direction;
use crate::rules::{Drawn, Rules, chance};
use crate::scene::{BLUE, GREEN, INK, ORANGE, PALE, PURPLE, RED, Scene, TEAL, WHITE};
use crate::{Input, Outcome, Progress, Step};

/// Its skill, as one sentence.
pub(crate) const ABOUT: &str = "Slides numbers, so that equal ones merge.";

const GRID: Grid = Grid::new(4, 4);
/// Numbers that lie on the board at the beginning.
const FIRST: u32 = 2;
/// One in so many new numbers is a 4.
const FOUR_IN: u32 = 10;

/// A board of four by four.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    seed: u32,
    /// By cell: its number, or 0.
    cells: Vec<u32>,
    goal: u32,
    moves: u32,
    moves_max: u32,
}

impl Merge {
    /// The cells after a slide.
    fn slid(&self, direction: Direction) -> Vec<u32> {
        let mut cells = vec![0; GRID.cells()];
        for line in 0..4 {
            let place = |along: usize| match direction {
                Direction::Left => line * 4 + along,
                Direction::Right => line * 4 + 3 - along,
                Direction::Up => along * 4 + line,
                Direction::Down => (3 - along) * 4 + line,
            };
            let numbers = (0..4).map(|along| self.cells[place(along)]).filter(|number| *number > 0);
            let mut merged: Vec<u32> = Vec::with_capacity(4);
            let mut can_merge = false;
            for number in numbers {
                match merged.last_mut() {
                    Some(last) if can_merge && *last == number => {
                        *last += number;
                        can_merge = false;
                    }
                    _ => {
                        merged.push(number);
                        can_merge = true;
                    }
                }
            }
            for (along, number) in merged.into_iter().enumerate() {
                cells[place(along)] = number;
            }
        }
        cells
    }

    /// Puts a new number on an empty cell.
    fn add(&mut self, event: u32) {
        let mut chance = chance(self.seed, event);
        let empty: Vec<usize> = (0..GRID.cells()).filter(|cell| self.cells[*cell] == 0).collect();
        if !empty.is_empty() {
            let cell = empty[chance.random_range(0..empty.len())];
            self.cells[cell] = if chance.random_ratio(1, FOUR_IN) { 4 } else { 2 };
        }
    }

    fn slide(&mut self, direction: Direction) -> bool {
        let cells = self.slid(direction);
        if cells == self.cells {
            return false;
        }
        self.cells = cells;
        self.moves += 1;
        self.add(FIRST + self.moves);
        true
    }

    fn largest(&self) -> u32 {
        self.cells.iter().copied().max().unwrap_or_default()
    }
}

impl Rules for Merge {
    fn take(&mut self, input: &Input) -> bool {
        input.direction().is_some_and(|direction| self.slide(direction))
    }

    fn outcome(&self) -> Outcome {
        let stuck = || Direction::ALL.into_iter().all(|direction| self.slid(direction) == self.cells);
        if self.largest() >= self.goal {
            Outcome::Won
        } else if self.moves >= self.moves_max || stuck() {
            Outcome::Lost
        } else {
            Outcome::Open
        }
    }

    fn progress(&self) -> Progress {
        Progress { done: self.largest().min(self.goal), goal: self.goal }
    }

    fn scene(&self) -> Scene {
        let left = self.moves_max.saturating_sub(self.moves);
        let mut scene = Scene::titled(format!("Reach {}. Moves left: {left}", self.goal));
        for (cell, number) in self.cells.iter().enumerate() {
            let (colour, ink) = match number {
                0 => (PALE, INK),
                2 | 4 => ("#f3d9a4", INK),
                8 => (ORANGE, INK),
                16 => (RED, WHITE),
                32 => (PURPLE, WHITE),
                64 => (BLUE, WHITE),
                128 => (TEAL, WHITE),
                _ => (GREEN, WHITE),
            };
            GRID.fill(&mut scene, cell, colour);
            if *number > 0 {
                scene.words(number.to_string(), GRID.middle(cell), 24, ink);
            }
        }
        scene
    }

    fn words(&self) -> Vec<String> {
        let left = self.moves_max.saturating_sub(self.moves);
        let mut words = vec![format!("Moves left: {left}. The goal is {}.", self.goal)];
        words.extend(GRID.rows_in_words(|cell| match self.cells[cell] {
            0 => "empty".to_owned(),
            number => number.to_string(),
        }));
        words
    }

    fn solution(&self) -> Option<Vec<Step>> {
        solve::solve(self)
    }

    fn is_of(&self, start: &Self) -> bool {
        *self == Self { cells: self.cells.clone(), moves: self.moves, ..start.clone() }
            && self.cells.len() == GRID.cells()
    }
}

pub(crate) fn draw(draw: &mut Draw) -> Drawn<Merge> {
    let (goal, moves_max) = draw.level.of([(32, 26), (64, 46), (128, 80), (256, 150)]);
    let seed = draw.seed();
    let mut board = Merge { seed, cells: vec![0; GRID.cells()], goal, moves: 0, moves_max };
    (0..FIRST).for_each(|event| board.add(event));
    Drawn {
        instruction: format!(
            "Slide the numbers with the arrow keys: all of them move as far as they can, and two equal numbers that meet merge into \
             their sum. After each move a new 2 or 4 appears. Make the number {goal} in at most {moves_max} moves."
        ),
        title: "Merging numbers",
        board,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(cells: [u32; 16]) -> Merge {
        Merge { seed: 1, cells: cells.to_vec(), goal: 64, moves: 0, moves_max: 10 }
    }

    #[test]
    fn equal_numbers_merge_once_and_from_the_side_to_which_they_slide() {
        let start = board([2, 2, 2, 0, 4, 0, 4, 8, 2, 2, 2, 2, 0, 0, 0, 2]);
        assert_eq!(start.slid(Direction::Left), [4, 2, 0, 0, 8, 8, 0, 0, 4, 4, 0, 0, 2, 0, 0, 0]);
        assert_eq!(start.slid(Direction::Right), [0, 0, 2, 4, 0, 0, 8, 8, 0, 0, 4, 4, 0, 0, 0, 2]);
        assert_eq!(start.slid(Direction::Up), [2, 4, 2, 8, 4, 0, 4, 4, 2, 0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(start.slid(Direction::Down), [0, 0, 0, 0, 2, 0, 2, 0, 4, 0, 4, 8, 2, 4, 2, 4]);
    }

    #[test]
    fn a_move_adds_one_number_and_a_slide_that_moves_nothing_is_no_move() {
        let mut moved = board([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let before = moved.clone();
        assert!(!moved.take(&Input::Key("ArrowLeft".to_owned())));
        assert_eq!(moved, before);
        assert!(moved.take(&Input::Key("d".to_owned())));
        assert_eq!(moved.cells.iter().filter(|number| **number > 0).count(), 3);
    }

    #[test]
    fn a_full_board_without_equal_neighbours_is_lost_and_so_is_one_without_moves_left() {
        let stuck = board([2, 4, 2, 4, 4, 2, 4, 2, 2, 4, 2, 4, 4, 2, 4, 2]);
        assert_eq!(stuck.outcome(), Outcome::Lost);
        let mut late = board([2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(late.outcome(), Outcome::Open);
        late.moves = 10;
        assert_eq!(late.outcome(), Outcome::Lost);
        late.cells[15] = 64;
        assert_eq!(late.outcome(), Outcome::Won);
    }
}

//! Neighbours are swapped by dragging, so that three alike lie in line and go.

mod solve;

use std::collections::BTreeSet;

use palestra_widgets::Draw;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::input::Direction;
use crate::rules::{Drawn, Rules, chance};
use crate::scene::{BLUE, DARK, GREEN, ORANGE, PALE, PURPLE, RED, Scene, TEAL};
use crate::{Input, Outcome, Progress, Step};

/// Its skill, as one sentence.
pub(crate) const ABOUT: &str = "Swaps neighbours, so that three alike lie in line and go.";

/// Colours: their names and how they look.
const COLOURS: [(&str, &str); 7] = [
    ("red", RED),
    ("blue", BLUE),
    ("green", GREEN),
    ("orange", ORANGE),
    ("purple", PURPLE),
    ("teal", TEAL),
    ("grey", DARK),
];
/// Pieces that are alike and in line, to go.
const ALIKE: usize = 3;
/// Times that pieces go, one after the other, after one swap.
const CASCADES_MAX: u32 = 50;

/// A board full of coloured pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swaps {
    seed: u32,
    columns: usize,
    rows: usize,
    colours: usize,
    /// By cell: its colour.
    cells: Vec<usize>,
    /// The colour that counts.
    wanted: usize,
    collected: u32,
    goal: u32,
    moves: u32,
    moves_max: u32,
    /// Times that pieces were added: each has its own chance.
    events: u32,
}

impl Swaps {
    const fn grid(&self) -> Grid {
        Grid::new(self.columns, self.rows)
    }

    /// Cells of pieces that lie in line with at least two others alike.
    fn in_line(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for cell in 0..self.cells.len() {
            for direction in [Direction::Right, Direction::Down] {
                let line = std::iter::successors(Some(cell), |cell| self.grid().next(*cell, direction));
                let alike = line.take_while(|other| self.cells[*other] == self.cells[cell]);
                if alike.clone().count() >= ALIKE {
                    found.extend(alike);
                }
            }
        }
        found
    }

    /// True if a swap of two neighbours brings three alike into line.
    fn fits(&self, from: usize, to: usize) -> bool {
        let colour = |cell: usize| match cell {
            cell if cell == from => self.cells[to],
            cell if cell == to => self.cells[from],
            cell => self.cells[cell],
        };
        let run = |cell: usize, direction| {
            let line = std::iter::successors(Some(cell), move |cell| self.grid().next(*cell, direction));
            line.skip(1).take_while(|other| colour(*other) == colour(cell)).count()
        };
        let in_line = |cell| {
            let axes = [(Direction::Left, Direction::Right), (Direction::Up, Direction::Down)];
            axes.into_iter().any(|(one, other)| 1 + run(cell, one) + run(cell, other) >= ALIKE)
        };
        self.cells[from] != self.cells[to] && (in_line(from) || in_line(to))
    }

    /// Every swap that is allowed.
    fn allowed(&self) -> Vec<(usize, usize)> {
        let beside = |cell| {
            let next = [Direction::Right, Direction::Down].into_iter();
            next.filter_map(move |direction| Some((cell, self.grid().next(cell, direction)?)))
        };
        (0..self.cells.len()).flat_map(beside).filter(|(from, to)| self.fits(*from, *to)).collect()
    }

    fn swap(&mut self, from: usize, to: usize) -> bool {
        let beside = Direction::ALL.into_iter().any(|direction| self.grid().next(from, direction) == Some(to));
        if !beside || !self.fits(from, to) {
            return false;
        }
        self.cells.swap(from, to);
        self.moves += 1;
        for _ in 0..CASCADES_MAX {
            let gone = self.in_line();
            if gone.is_empty() {
                break;
            }
            let counted = gone.iter().filter(|cell| self.cells[**cell] == self.wanted).count();
            self.collected += u32::try_from(counted).unwrap_or_default();
            self.fall(&gone);
        }
        if self.allowed().is_empty() {
            self.mix();
        }
        true
    }

    /// Lets pieces fall into the cells of those that are gone, and new ones come from above.
    fn fall(&mut self, gone: &BTreeSet<usize>) {
        self.events += 1;
        let mut chance = chance(self.seed, self.events);
        for column in 0..self.columns {
            let cells: Vec<usize> = (0..self.rows).rev().map(|row| row * self.columns + column).collect();
            let left: Vec<usize> =
                cells.iter().filter(|cell| !gone.contains(cell)).map(|cell| self.cells[*cell]).collect();
            let new = std::iter::repeat_with(|| chance.random_range(0..self.colours));
            for (cell, colour) in cells.into_iter().zip(left.into_iter().chain(new)) {
                self.cells[cell] = colour;
            }
        }
    }

    /// Fills the board anew: nothing lies in line, and there is a swap.
    fn mix(&mut self) {
        self.events += 1;
        let mut chance = chance(self.seed, self.events);
        loop {
            for cell in 0..self.cells.len() {
                self.cells[cell] = chance.random_range(0..self.colours);
            }
            // Pieces in line are taken out one by one, which is sooner done than a board without any is drawn.
            while let Some(cell) = self.in_line().into_iter().nth(1) {
                self.cells[cell] = chance.random_range(0..self.colours);
            }
            if !self.allowed().is_empty() {
                return;
            }
        }
    }

    fn moves_left(&self) -> usize {
        usize::try_from(self.moves_max.saturating_sub(self.moves)).unwrap_or_default()
    }

    fn title(&self) -> String {
        let left = self.moves_left();
        format!("Collected: {} of {} {}. Swaps left: {left}", self.collected, self.goal, COLOURS[self.wanted].0)
    }

    fn drag(&self, (from, to): (usize, usize)) -> Step {
        Step::Drag(self.grid().middle(from), self.grid().middle(to))
    }
}

impl Rules for Swaps {
    fn take(&mut self, input: &Input) -> bool {
        let Input::Drag { from, to } = input else { return false };
        match (self.grid().cell_at(*from), self.grid().cell_at(*to)) {
            (Some(from), Some(to)) => self.swap(from, to),
            _ => false,
        }
    }

    fn outcome(&self) -> Outcome {
        if self.collected >= self.goal {
            Outcome::Won
        } else if self.moves >= self.moves_max {
            Outcome::Lost
        } else {
            Outcome::Open
        }
    }

    fn progress(&self) -> Progress {
        Progress { done: self.collected.min(self.goal), goal: self.goal }
    }

    fn scene(&self) -> Scene {
        let mut scene = Scene::titled(self.title());
        let grid = self.grid();
        for (cell, colour) in self.cells.iter().enumerate() {
            grid.fill(&mut scene, cell, PALE);
            scene.disc(grid.middle(cell), grid.edge() * 3 / 8, COLOURS[*colour].1);
        }
        scene
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("{}.", self.title()), self.grid().places_in_words()];
        words.extend(self.grid().rows_in_words(|cell| COLOURS[self.cells[cell]].0.to_owned()));
        words
    }

    fn solution(&self) -> Option<Vec<Step>> {
        solve::solve(self)
    }

    fn is_of(&self, start: &Self) -> bool {
        let Self { collected, moves, events, .. } = *self;
        *self == Self { cells: self.cells.clone(), collected, moves, events, ..start.clone() }
            && self.cells.len() == start.cells.len()
            && self.cells.iter().all(|colour| *colour < self.colours)
    }
}

pub(crate) fn draw(draw: &mut Draw) -> Drawn<Swaps> {
    let (edge, colours, goal, moves_max) =
        draw.level.of([(6, 4, 10, 6), (6, 5, 12, 8), (7, 6, 14, 12), (8, 7, 18, 14)]);
    let wanted = draw.place(colours);
    let seed = draw.seed();
    let cells = vec![0; edge * edge];
    let mut board = Swaps {
        seed,
        columns: edge,
        rows: edge,
        colours,
        cells,
        wanted,
        collected: 0,
        goal,
        moves: 0,
        moves_max,
        events: 0,
    };
    board.mix();
    // Where few pieces of the colour come, there are as many swaps as one needs who always takes the best at once.
    let greedy = solve::greedy(&board).map_or(0, |swaps| swaps.len());
    board.moves_max = moves_max.max(u32::try_from(greedy).unwrap_or(moves_max));
    let moves_max = board.moves_max;
    Drawn {
        instruction: format!(
            "Collect {goal} {} pieces in at most {moves_max} swaps. Drag a piece onto the one beside, above or below it to swap the two; \
             they only stay so if at least three alike then lie in line. Those go, what is above falls down, and new pieces come from \
             above; what then lies in line goes as well, and counts.",
            COLOURS[wanted].0
        ),
        title: "Three in line",
        board,
    }
}

#[cfg(test)]
mod tests {
    use palestra_widgets::Level;

    use super::*;

    /// Four by four: a swap of the last two pieces of the first column brings three of colour 0 into line.
    fn board() -> Swaps {
        let board = draw(&mut Draw::new(Level::One, 1)).board;
        let cells = vec![0, 1, 2, 3, 0, 2, 3, 1, 1, 3, 2, 0, 0, 1, 3, 2];
        Swaps { columns: 4, rows: 4, cells, wanted: 0, goal: 3, ..board }
    }

    fn drag(board: &mut Swaps, from: usize, to: usize) -> bool {
        let input = board.drag((from, to)).input().expect("an input");
        board.take(&input)
    }

    #[test]
    fn three_in_line_go_and_count() {
        let mut board = board();
        assert!(drag(&mut board, 12, 8));
        assert!(board.collected >= 3 && board.moves == 1);
        assert_eq!(board.outcome(), Outcome::Won);
        assert!(board.in_line().is_empty());
    }

    #[test]
    fn a_swap_that_brings_nothing_into_line_or_is_far_changes_nothing() {
        let mut board = board();
        let before = board.clone();
        for (from, to) in [(0, 1), (12, 4), (0, 0), (3, 4)] {
            assert!(!drag(&mut board, from, to), "{from} {to}");
        }
        assert!(!board.take(&Input::Drag { from: (-5, -5), to: board.grid().middle(0) }));
        assert_eq!(board, before);
    }

    #[test]
    fn boards_always_have_a_swap_and_nothing_in_line() {
        for level in Level::ALL {
            for seed in 0..20 {
                let mut board = draw(&mut Draw::new(level, seed)).board;
                (board.goal, board.moves_max) = (u32::MAX, 20);
                while board.outcome() == Outcome::Open {
                    assert!(board.in_line().is_empty(), "{level:?} {seed}");
                    let (from, to) = board.allowed()[0];
                    assert!(drag(&mut board, from, to), "{level:?} {seed}");
                }
            }
        }
    }
}

//! The board of any game.

use palestra_widgets::Draw;
use serde::{Deserialize, Serialize};

use crate::boxes::{self, Boxes};
use crate::catch::{self, Catch};
use crate::merge::{self, Merge};
use crate::mines::{self, Mines};
use crate::rules::{Drawn, Rules};
use crate::scene::{GREEN, RED, Shape, WHITE};
use crate::snake::{self, Snake};
use crate::swaps::{self, Swaps};
use crate::{Input, Outcome, Progress, Step};

/// One game.
#[derive(Clone, Copy)]
pub struct Game {
    /// Its name: letters, digits and `-`.
    pub name: &'static str,
    /// Its skill, as one sentence.
    pub about: &'static str,
    /// Draws a task. The same draw gives the same task.
    pub draw: fn(&mut Draw) -> Task,
}

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// The instruction: the rules, the controls and the goal.
    pub instruction: String,
    /// Title of the page.
    pub title: &'static str,
    /// The board at the beginning.
    pub board: Board,
}

/// Every game.
#[must_use]
pub fn all() -> Vec<Game> {
    vec![
        Game { name: "boxes", about: boxes::ABOUT, draw: |draw| Task::of(boxes::draw(draw), Board::Boxes) },
        Game { name: "catch", about: catch::ABOUT, draw: |draw| Task::of(catch::draw(draw), Board::Catch) },
        Game { name: "merge", about: merge::ABOUT, draw: |draw| Task::of(merge::draw(draw), Board::Merge) },
        Game { name: "mines", about: mines::ABOUT, draw: |draw| Task::of(mines::draw(draw), Board::Mines) },
        Game { name: "snake", about: snake::ABOUT, draw: |draw| Task::of(snake::draw(draw), Board::Snake) },
        Game { name: "swaps", about: swaps::ABOUT, draw: |draw| Task::of(swaps::draw(draw), Board::Swaps) },
    ]
}

impl Task {
    fn of<B>(drawn: Drawn<B>, board: fn(B) -> Board) -> Self {
        let Drawn { instruction, title, board: begun } = drawn;
        Self { instruction, title, board: board(begun) }
    }
}

/// The board of a game: plain data, which holds all that its rules look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Board {
    /// Boxes are pushed onto marks.
    Boxes(Boxes),
    /// Things that fall are caught.
    Catch(Catch),
    /// Numbers slide and merge.
    Merge(Merge),
    /// Cells without mines are opened.
    Mines(Mines),
    /// A snake eats.
    Snake(Snake),
    /// Neighbours are swapped, so that three alike lie in line.
    Swaps(Swaps),
}

/// The board as a page shows it.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// Shapes to draw, one over the other.
    pub shapes: Vec<Shape>,
    /// The board in words, one line each; empty where only the picture tells.
    pub words: Vec<String>,
    /// Milliseconds between two ticks, where time counts.
    pub tick_ms: Option<u32>,
    /// True if movements of the pointer are passed on.
    pub follows_pointer: bool,
}

impl Board {
    fn rules(&self) -> &dyn Rules {
        match self {
            Self::Boxes(board) => board,
            Self::Catch(board) => board,
            Self::Merge(board) => board,
            Self::Mines(board) => board,
            Self::Snake(board) => board,
            Self::Swaps(board) => board,
        }
    }

    fn rules_mut(&mut self) -> &mut dyn Rules {
        match self {
            Self::Boxes(board) => board,
            Self::Catch(board) => board,
            Self::Merge(board) => board,
            Self::Mines(board) => board,
            Self::Snake(board) => board,
            Self::Swaps(board) => board,
        }
    }

    /// Takes an input; true if it changed the board. What the rules do not allow changes nothing, and neither does anything after the
    /// end.
    pub fn take(&mut self, input: &Input) -> bool {
        self.outcome() == Outcome::Open && self.rules_mut().take(input)
    }

    /// State with regard to the end.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.rules().outcome()
    }

    /// The part of the goal that is reached.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.rules().progress()
    }

    /// Milliseconds of the page's clock between two ticks; `None` where or while time does not count.
    #[must_use]
    pub fn tick_ms(&self) -> Option<u32> {
        self.rules().tick_ms().filter(|_| self.outcome() == Outcome::Open)
    }

    /// The board as a page shows it, with or without words.
    #[must_use]
    pub fn view(&self, with_words: bool) -> View {
        let mut shapes = self.rules().scene().shapes;
        let ending = match self.outcome() {
            Outcome::Open => None,
            Outcome::Won => Some(("You won.", GREEN)),
            Outcome::Lost => Some(("You lost.", RED)),
        };
        let mut words = if with_words { self.rules().words() } else { Vec::new() };
        if let Some((told, colour)) = ending {
            let (x, y) = (crate::canvas::WIDTH / 2, crate::canvas::HEIGHT / 2);
            shapes.push(Shape::Box(x - 120, y - 40, 240, 80, colour));
            shapes.push(Shape::Words(told.to_owned(), x, y, 28, WHITE));
            if with_words {
                words.insert(0, told.to_owned());
            }
        }
        View { shapes, words, tick_ms: self.tick_ms(), follows_pointer: self.rules().follows_pointer() }
    }

    /// True for a board of the game that begins with `start`. Check a board that was read from outside with this first: the other
    /// functions may panic on one that fails.
    #[must_use]
    pub fn is_of(&self, start: &Self) -> bool {
        match (self, start) {
            (Self::Boxes(board), Self::Boxes(start)) => board.is_of(start),
            (Self::Catch(board), Self::Catch(start)) => board.is_of(start),
            (Self::Merge(board), Self::Merge(start)) => board.is_of(start),
            (Self::Mines(board), Self::Mines(start)) => board.is_of(start),
            (Self::Snake(board), Self::Snake(start)) => board.is_of(start),
            (Self::Swaps(board), Self::Swaps(start)) => board.is_of(start),
            _ => false,
        }
    }

    /// Steps that win from here, where some were found.
    #[must_use]
    pub fn solution(&self) -> Option<Vec<Step>> {
        self.rules().solution()
    }
}

//! Boxes are pushed onto marks. They cannot be pulled.

mod room;

use std::collections::VecDeque;

use palestra_widgets::Draw;
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::input::Direction;
use crate::rules::{Drawn, Rules};
use crate::scene::{BLUE, DARK, GREEN, ORANGE, PALE, RED, Scene};
use crate::{Input, Outcome, Progress, Step};

/// Its skill, as one sentence.
pub(crate) const ABOUT: &str = "Pushes boxes onto marks without pulling.";

/// A room with boxes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boxes {
    columns: usize,
    rows: usize,
    /// By cell: true for a wall.
    walls: Vec<bool>,
    /// Cells with marks.
    marks: Vec<usize>,
    /// Cells with boxes.
    boxes: Vec<usize>,
    player: usize,
    moves: u32,
    moves_max: u32,
}

impl Boxes {
    const fn grid(&self) -> Grid {
        Grid::new(self.columns, self.rows)
    }

    /// True for a cell that a box or the player can enter.
    fn is_free(&self, cell: usize) -> bool {
        !self.walls[cell] && !self.boxes.contains(&cell)
    }

    fn go(&mut self, direction: Direction) -> bool {
        let Some(next) = self.grid().next(self.player, direction) else { return false };
        if let Some(pushed) = self.boxes.iter().position(|cell| *cell == next) {
            let Some(beyond) = self.grid().next(next, direction).filter(|cell| self.is_free(*cell)) else {
                return false;
            };
            self.boxes[pushed] = beyond;
        } else if self.walls[next] {
            return false;
        }
        self.player = next;
        self.moves += 1;
        true
    }

    fn on_marks(&self) -> u32 {
        u32::try_from(self.boxes.iter().filter(|cell| self.marks.contains(cell)).count()).unwrap_or(u32::MAX)
    }

    /// The shortest walk of the player to a cell.
    fn walk(&self, to: usize) -> Option<Vec<Direction>> {
        let mut from: Vec<Option<(usize, Direction)>> = vec![None; self.walls.len()];
        let mut waiting = VecDeque::from([self.player]);
        while let Some(cell) = waiting.pop_front() {
            if cell == to {
                break;
            }
            for direction in Direction::ALL {
                let next = self.grid().next(cell, direction).filter(|next| self.is_free(*next));
                if let Some(next) = next.filter(|next| *next != self.player && from[*next].is_none()) {
                    from[next] = Some((cell, direction));
                    waiting.push_back(next);
                }
            }
        }
        let mut walk = Vec::new();
        let mut cell = to;
        while let Some((before, direction)) = from[cell] {
            walk.push(direction);
            cell = before;
        }
        walk.reverse();
        (cell == self.player).then_some(walk)
    }
}

impl Rules for Boxes {
    fn take(&mut self, input: &Input) -> bool {
        input.direction().is_some_and(|direction| self.go(direction))
    }

    fn outcome(&self) -> Outcome {
        if self.boxes.iter().all(|cell| self.marks.contains(cell)) {
            Outcome::Won
        } else if self.moves >= self.moves_max {
            Outcome::Lost
        } else {
            Outcome::Open
        }
    }

    fn progress(&self) -> Progress {
        Progress { done: self.on_marks(), goal: u32::try_from(self.boxes.len()).unwrap_or(u32::MAX).max(1) }
    }

    fn scene(&self) -> Scene {
        let grid = self.grid();
        let mut scene = Scene::titled(format!("Moves left: {}", self.moves_max.saturating_sub(self.moves)));
        for (cell, wall) in self.walls.iter().enumerate() {
            grid.fill(&mut scene, cell, if *wall { DARK } else { PALE });
        }
        for cell in &self.marks {
            scene.disc(grid.middle(*cell), grid.edge() / 5, RED);
        }
        for cell in &self.boxes {
            let ((x, y), half) = (grid.middle(*cell), grid.edge() * 3 / 8);
            let colour = if self.marks.contains(cell) { GREEN } else { ORANGE };
            scene.rectangle((x - half, y - half), (2 * half, 2 * half), colour);
        }
        scene.disc(grid.middle(self.player), grid.edge() / 3, BLUE);
        scene
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("Moves left: {}.", self.moves_max.saturating_sub(self.moves))];
        words.extend(self.grid().rows_in_words(|cell| {
            let thing = match (self.walls[cell], self.boxes.contains(&cell), self.player == cell) {
                (true, ..) => "wall",
                (_, true, _) => "box",
                (.., true) => "you",
                _ => "floor",
            };
            format!("{thing}{}", if self.marks.contains(&cell) { " on a mark" } else { "" })
        }));
        words
    }

    fn solution(&self) -> Option<Vec<Step>> {
        room::way(self).map(|way| way.into_iter().map(Direction::step).collect())
    }

    fn is_of(&self, start: &Self) -> bool {
        let same = Self { boxes: self.boxes.clone(), player: self.player, moves: self.moves, ..start.clone() };
        *self == same
            && self.boxes.len() == start.boxes.len()
            && self.boxes.iter().chain([&self.player]).all(|cell| *cell < self.walls.len())
    }
}

pub(crate) fn draw(draw: &mut Draw) -> Drawn<Boxes> {
    let room = draw.level.of([
        room::Plan { edge: 7, walls: 4, boxes: 1, pushes: (3, 5) },
        room::Plan { edge: 7, walls: 3, boxes: 2, pushes: (6, 8) },
        room::Plan { edge: 7, walls: 3, boxes: 3, pushes: (9, 12) },
        room::Plan { edge: 8, walls: 5, boxes: 3, pushes: (14, 18) },
    ]);
    let board = room.draw(draw);
    Drawn {
        instruction: format!(
            "Push every box onto a mark, in at most {} moves. The arrow keys move you by one cell, and push a box that lies ahead if the \
             cell behind it is free. Boxes cannot be pulled, and one cannot push two at once.",
            board.moves_max
        ),
        title: "Boxes",
        board,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A corridor of six cells: wall, player, box, floor, mark, wall.
    fn corridor() -> Boxes {
        let mut walls = vec![false; 6];
        (walls[0], walls[5]) = (true, true);
        Boxes { columns: 6, rows: 1, walls, marks: vec![4], boxes: vec![2], player: 1, moves: 0, moves_max: 9 }
    }

    fn press(board: &mut Boxes, key: &str) -> bool {
        board.take(&Input::Key(key.to_owned()))
    }

    #[test]
    fn a_box_is_pushed_and_not_pulled() {
        let mut board = corridor();
        assert!(!press(&mut board, "ArrowLeft"), "a wall");
        assert!(!press(&mut board, "ArrowUp"), "the edge");
        assert!(press(&mut board, "ArrowRight"));
        assert_eq!((board.player, board.boxes[0]), (2, 3));
        assert!(press(&mut board, "a"));
        assert_eq!((board.player, board.boxes[0], board.moves), (1, 3, 2));
        assert!(press(&mut board, "d") && press(&mut board, "d"));
        assert_eq!(board.outcome(), Outcome::Won);
    }

    #[test]
    fn two_boxes_in_line_and_a_box_before_a_wall_do_not_move() {
        let mut board = corridor();
        (board.boxes, board.marks) = (vec![2, 3], vec![3, 4]);
        let before = board.clone();
        assert!(!press(&mut board, "ArrowRight"));
        assert_eq!(board, before);
        (board.boxes, board.player) = (vec![4], 3);
        let before = board.clone();
        assert!(!press(&mut board, "ArrowRight"));
        assert_eq!(board, before);
    }

    #[test]
    fn it_is_lost_without_moves() {
        let mut board = Boxes { moves_max: 1, ..corridor() };
        assert!(press(&mut board, "ArrowRight"));
        assert_eq!(board.outcome(), Outcome::Lost);
    }
}

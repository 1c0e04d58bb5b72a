//! A snake moves with time, eats and grows.

mod solve;

use palestra_widgets::Draw;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::input::Direction;
use crate::rules::{Drawn, Rules, chance};
use crate::scene::{BLUE, DARK, GREEN, PALE, RED, Scene};
use crate::{Input, Outcome, Progress, Step};

/// Its skill, as one sentence.
pub(crate) const ABOUT: &str = "Steers a snake that moves with time to what it eats.";

/// Length of the snake at the beginning.
const LENGTH: usize = 3;

/// A snake on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snake {
    seed: u32,
    columns: usize,
    rows: usize,
    /// By cell: true for a wall.
    walls: Vec<bool>,
    /// Its cells, from its head on.
    body: Vec<usize>,
    /// The direction in which it last moved.
    direction: Direction,
    /// The direction of its next step.
    next: Direction,
    apple: usize,
    eaten: u32,
    goal: u32,
    ticks: u32,
    ticks_max: u32,
    tick_ms: u32,
    has_begun: bool,
    is_dead: bool,
}

impl Snake {
    const fn grid(&self) -> Grid {
        Grid::new(self.columns, self.rows)
    }

    /// The next direction; the snake cannot turn back into itself.
    fn turn(&mut self, direction: Direction) -> bool {
        if direction == self.direction.opposite() || (self.has_begun && direction == self.next) {
            return false;
        }
        self.next = direction;
        self.has_begun = true;
        true
    }

    fn step(&mut self) {
        self.ticks += 1;
        self.direction = self.next;
        let grows = self.grid().next(self.body[0], self.next) == Some(self.apple);
        // The tail moves away as the head comes.
        let kept = self.body.len() - usize::from(!grows);
        let free = |cell: &usize| !self.walls[*cell] && !self.body[..kept].contains(cell);
        match self.grid().next(self.body[0], self.next).filter(free) {
            None => self.is_dead = true,
            Some(head) => {
                self.body.truncate(kept);
                self.body.insert(0, head);
                if grows {
                    self.eaten += 1;
                    self.place_apple();
                }
            }
        }
    }

    fn place_apple(&mut self) {
        let free: Vec<usize> =
            (0..self.grid().cells()).filter(|cell| !self.walls[*cell] && !self.body.contains(cell)).collect();
        let mut chance = chance(self.seed, self.eaten);
        self.apple = if free.is_empty() { self.body[0] } else { free[chance.random_range(0..free.len())] };
    }
}

impl Rules for Snake {
    fn take(&mut self, input: &Input) -> bool {
        match (input, input.direction()) {
            (Input::Tick, _) if self.has_begun => {
                self.step();
                true
            }
            (_, Some(direction)) => self.turn(direction),
            _ => false,
        }
    }

    fn outcome(&self) -> Outcome {
        if self.eaten >= self.goal {
            Outcome::Won
        } else if self.is_dead || self.ticks >= self.ticks_max {
            Outcome::Lost
        } else {
            Outcome::Open
        }
    }

    fn progress(&self) -> Progress {
        Progress { done: self.eaten.min(self.goal), goal: self.goal }
    }

    fn tick_ms(&self) -> Option<u32> {
        self.has_begun.then_some(self.tick_ms)
    }

    fn scene(&self) -> Scene {
        let grid = self.grid();
        let left = self.ticks_max.saturating_sub(self.ticks);
        let mut scene = Scene::titled(format!("Eaten: {} of {}. Steps left: {left}", self.eaten, self.goal));
        for (cell, wall) in self.walls.iter().enumerate() {
            grid.fill(&mut scene, cell, if *wall { DARK } else { PALE });
        }
        scene.disc(grid.middle(self.apple), grid.edge() / 3, RED);
        for cell in self.body.iter().skip(1) {
            grid.fill(&mut scene, *cell, GREEN);
        }
        grid.fill(&mut scene, self.body[0], BLUE);
        scene
    }

    fn words(&self) -> Vec<String> {
        let direction = match self.next {
            Direction::Up => "up",
            Direction::Down => "down",
            Direction::Left => "left",
            Direction::Right => "right",
        };
        let state = if self.has_begun {
            format!("moves {direction},")
        } else {
            format!("looks {direction} and waits for the first key; then it moves")
        };
        let left = self.ticks_max.saturating_sub(self.ticks);
        let mut words = vec![format!(
            "Eaten: {} of {}. Steps left: {left}. The snake {state} one cell every {} milliseconds.",
            self.eaten, self.goal, self.tick_ms
        )];
        words.extend(self.grid().rows_in_words(|cell| {
            let part = self.body.iter().position(|part| *part == cell);
            match part {
                Some(0) => "head".to_owned(),
                Some(part) => format!("body {part}"),
                None if self.apple == cell => "apple".to_owned(),
                None if self.walls[cell] => "wall".to_owned(),
                None => "free".to_owned(),
            }
        }));
        words
    }

    fn solution(&self) -> Option<Vec<Step>> {
        solve::solve(self)
    }

    fn is_of(&self, start: &Self) -> bool {
        let Self { direction, next, apple, eaten, ticks, has_begun, is_dead, .. } = *self;
        let body = self.body.clone();
        *self == Self { body, direction, next, apple, eaten, ticks, has_begun, is_dead, ..start.clone() }
            && !self.body.is_empty()
            && self.body.iter().chain([&self.apple]).all(|cell| *cell < self.walls.len())
    }
}

pub(crate) fn draw(draw: &mut Draw) -> Drawn<Snake> {
    let (edge, walls, goal, tick_ms) = draw.level.of([(7, 0, 2, 500), (8, 0, 4, 500), (9, 5, 6, 500), (10, 8, 9, 250)]);
    let grid = Grid::new(edge, edge);
    let row = draw.place(edge);
    let body: Vec<usize> = (0..LENGTH).rev().map(|column| row * edge + column).collect();
    // Walls lie within, apart from each other and off the row of the snake, so that no cell is cut off.
    let apart = |cell: &usize| {
        let (at, column) = (grid.row(*cell), grid.column(*cell));
        at % 2 == 1 && column % 2 == 1 && at + 1 < edge && column + 1 < edge && at != row
    };
    let within: Vec<usize> = (0..grid.cells()).filter(apart).collect();
    let mut is_wall = vec![false; grid.cells()];
    draw.some(walls, &within).into_iter().for_each(|cell| is_wall[cell] = true);
    let seed = draw.seed();
    let ticks_max = goal * 4 * u32::try_from(edge).unwrap_or_default();
    let mut board = Snake {
        seed,
        columns: edge,
        rows: edge,
        walls: is_wall,
        body,
        direction: Direction::Right,
        next: Direction::Right,
        apple: 0,
        eaten: 0,
        goal,
        ticks: 0,
        ticks_max,
        tick_ms,
        has_begun: false,
        is_dead: false,
    };
    board.place_apple();
    Drawn {
        instruction: format!(
            "Steer the snake with the arrow keys, so that it eats {goal} apples within {ticks_max} of its steps. It waits for the first \
             key, and then moves by one cell every {tick_ms} milliseconds of the page's time, which stands still between your actions and \
             passes by 500 milliseconds with each; noop(wait_ms) lets that much pass. With each apple it grows by one cell. It must not \
             meet the edge, a wall or itself, and cannot turn back."
        ),
        title: "Snake",
        board,
    }
}

#[cfg(test)]
mod tests {
    use palestra_widgets::Level;

    use super::*;

    fn waiting() -> Snake {
        let mut snake = draw(&mut Draw::new(Level::One, 1)).board;
        // Row 3 of seven, with the head in column 2.
        snake.body = vec![23, 22, 21];
        snake.apple = 0;
        snake
    }

    fn press(snake: &mut Snake, key: &str) -> bool {
        snake.take(&Input::Key(key.to_owned()))
    }

    #[test]
    fn time_counts_from_the_first_key_on() {
        let mut snake = waiting();
        assert!(!snake.take(&Input::Tick));
        assert_eq!((snake.ticks, snake.tick_ms()), (0, None));
        assert!(press(&mut snake, "ArrowRight"));
        assert_eq!(snake.tick_ms(), Some(500));
        assert!(snake.take(&Input::Tick));
        assert_eq!(snake.body, [24, 23, 22]);
    }

    #[test]
    fn it_does_not_turn_back_even_by_two_keys_within_one_step() {
        let mut snake = waiting();
        assert!(!press(&mut snake, "ArrowLeft"));
        assert!(press(&mut snake, "ArrowUp"));
        assert!(!press(&mut snake, "ArrowLeft"));
        snake.take(&Input::Tick);
        assert_eq!(snake.body, [16, 23, 22]);
    }

    #[test]
    fn it_grows_by_eating_and_dies_at_the_edge_and_in_itself() {
        let mut snake = waiting();
        snake.apple = 24;
        press(&mut snake, "ArrowRight");
        snake.take(&Input::Tick);
        assert_eq!((snake.body.len(), snake.eaten), (4, 1));
        assert!(!snake.body.contains(&snake.apple));
        snake.apple = 0;
        (0..4).for_each(|_| assert!(snake.take(&Input::Tick)));
        assert_eq!(snake.outcome(), Outcome::Lost);

        let mut coiled = waiting();
        coiled.body = vec![16, 23, 24, 17, 10];
        press(&mut coiled, "ArrowRight");
        coiled.take(&Input::Tick);
        assert_eq!(coiled.outcome(), Outcome::Lost);
    }

    #[test]
    fn the_head_can_follow_the_tail() {
        let mut snake = waiting();
        snake.body = vec![16, 23, 24, 17];
        press(&mut snake, "ArrowRight");
        snake.take(&Input::Tick);
        assert_eq!((snake.outcome(), snake.body[0]), (Outcome::Open, 17));
    }
}

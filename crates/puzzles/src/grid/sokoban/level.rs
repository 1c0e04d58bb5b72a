//! Levels: their rules, and how they are made by pulling boxes away from their goals, so that each can be solved.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::walk::{Cell, Direction};
use palestra_environment::draws::{Refusal, Requirement};

/// Least sum of the distances of the boxes from their nearest goals, walls left aside, for a level to be worth solving:
/// less is too often solved by walking about.
const DISTANCE_MIN: u32 = 3;

/// One wall in so many inner places.
const WALL_ONE_IN: u32 = 7;

/// The walls leave room for boxes and player.
static ROOM: Requirement = Requirement::new("room", "the walls leave room for boxes and player", 0.02);

/// The boxes are far enough from their goals.
static FAR: Requirement = Requirement::new("far", "the boxes are far enough from their goals", 0.45);

/// No box stands on a goal.
static OFF_GOALS: Requirement = Requirement::new("off_goals", "no box stands on a goal", 0.15);

/// Result of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    To(Cell),
    Blocked,
}

/// Immovable part of a level.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    width: u8,
    height: u8,
    walls: Vec<bool>,
    goals: Vec<Cell>,
}

impl Grid {
    /// Reads a level: the grid, where the player stands, and the boxes in order.
    pub(super) fn read(rows: &[String]) -> (Self, Cell, Vec<Cell>) {
        let height = u8::try_from(rows.len()).unwrap_or(u8::MAX);
        let width = rows.first().map_or(0, |row| u8::try_from(row.len()).unwrap_or(u8::MAX));
        let mut grid = Self { width, height, walls: Vec::new(), goals: Vec::new() };
        let (mut player, mut boxes) = (Cell(0, 0), Vec::new());
        for (row, letters) in (0..height).zip(rows) {
            for (column, letter) in (0..width).zip(letters.bytes()) {
                let cell = Cell(row, column);
                grid.walls.push(letter == b'#');
                if matches!(letter, b'.' | b'*' | b'+') {
                    grid.goals.push(cell);
                }
                if matches!(letter, b'$' | b'*') {
                    boxes.push(cell);
                }
                if matches!(letter, b'@' | b'+') {
                    player = cell;
                }
            }
        }
        (grid, player, boxes)
    }

    /// The level as it stands, in the usual letters.
    pub(super) fn draw(&self, player: Cell, boxes: &[Cell]) -> Vec<String> {
        let letter = |cell: Cell| match (self.wall(cell), boxes.contains(&cell), self.goals.contains(&cell)) {
            (true, ..) => '#',
            (_, true, true) => '*',
            (_, true, false) => '$',
            (_, _, true) => {
                if cell == player {
                    '+'
                } else {
                    '.'
                }
            }
            _ => {
                if cell == player {
                    '@'
                } else {
                    '-'
                }
            }
        };
        (0..self.height).map(|row| (0..self.width).map(|column| letter(Cell(row, column))).collect()).collect()
    }

    /// Walks one place, pushing the box that stands there if it can move; keeps `boxes` in order.
    pub(super) fn step(&self, player: Cell, boxes: &mut [Cell], direction: Direction) -> Moved {
        let next = direction.from(player);
        if self.wall(next) {
            return Moved::Blocked;
        }
        if let Some(index) = boxes.iter().position(|cell| *cell == next) {
            let behind = direction.from(next);
            if self.wall(behind) || boxes.contains(&behind) {
                return Moved::Blocked;
            }
            boxes[index] = behind;
            boxes.sort_unstable();
        }
        Moved::To(next)
    }

    /// True if every box is on a goal.
    pub(super) fn solved(&self, boxes: &[Cell]) -> bool {
        self.placed(boxes) == boxes.len()
    }

    /// Number of boxes that are on goals.
    pub(super) fn placed(&self, boxes: &[Cell]) -> usize {
        boxes.iter().filter(|cell| self.goals.contains(cell)).count()
    }

    /// Pushes that are still needed, at least.
    pub(super) fn pushes_min(&self, boxes: &[Cell]) -> u32 {
        boxes.iter().map(|cell| self.goal_distance(*cell)).sum()
    }

    /// True if a box could never leave this place, a corner, and it is no goal.
    pub(super) fn stuck(&self, cell: Cell) -> bool {
        let [up, down, left, right] = Direction::ALL.map(|direction| self.wall(direction.from(cell)));
        (up || down) && (left || right) && !self.goals.contains(&cell)
    }

    /// True if somebody can stand at a place, after walks from `from`.
    pub(super) fn reaches(&self, walks: &[Option<Direction>], from: Cell, to: Cell) -> bool {
        to == from || (!self.wall(to) && walks[self.index(to)].is_some())
    }

    /// Where walks lead.
    pub(super) fn reached(&self, walks: &[Option<Direction>]) -> impl Iterator<Item = Cell> {
        let cells = (0..self.height).flat_map(|row| (0..self.width).map(move |column| Cell(row, column)));
        cells.zip(walks).filter(|(_, last)| last.is_some()).map(|(cell, _)| cell)
    }

    /// Places from `cell` to the nearest goal, through walls.
    fn goal_distance(&self, cell: Cell) -> u32 {
        let distance = |goal: &Cell| u32::from(goal.0.abs_diff(cell.0)) + u32::from(goal.1.abs_diff(cell.1));
        self.goals.iter().map(distance).min().unwrap_or(0)
    }

    fn wall(&self, cell: Cell) -> bool {
        // Outside is wall, whatever a state says about places.
        let inside = cell.0 < self.height && cell.1 < self.width;
        !inside || self.walls.get(self.index(cell)).copied().unwrap_or(true)
    }

    fn index(&self, Cell(row, column): Cell) -> usize {
        usize::from(row) * usize::from(self.width) + usize::from(column)
    }

    fn free(&self, cell: Cell, boxes: &[Cell]) -> bool {
        !self.wall(cell) && !boxes.contains(&cell)
    }

    /// For every place that can be walked to, the last move of a shortest walk there.
    pub(super) fn walks(&self, from: Cell, boxes: &[Cell]) -> Vec<Option<Direction>> {
        let mut last = vec![None; self.walls.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(cell) = queue.pop_front() {
            for direction in Direction::ALL {
                let next = direction.from(cell);
                if next != from && self.free(next, boxes) && last[self.index(next)].is_none() {
                    last[self.index(next)] = Some(direction);
                    queue.push_back(next);
                }
            }
        }
        last
    }

    /// The moves of the walk that `walks` found, in reverse order.
    fn walk_back(&self, walks: &[Option<Direction>], from: Cell, to: Cell) -> Vec<Direction> {
        let (mut cell, mut moves) = (to, Vec::new());
        while cell != from
            && let Some(direction) = walks[self.index(cell)]
        {
            moves.push(direction);
            cell = direction.back().from(cell);
        }
        moves
    }
}

/// A level that was made.
pub(super) struct Made {
    pub(super) rows: Vec<String>,
    pub(super) solution: Vec<Direction>,
}

/// Makes a level with `side` inner places each way by pulling `boxes` away from their goals at most `pulls` times. The pulls in
/// reverse are the solution.
///
/// # Errors
/// When the walls leave too little room, or too little came of the pulls.
pub(super) fn make(rng: &mut ChaCha8Rng, side: u32, boxes: u32, pulls: u32) -> Result<Made, Refusal> {
    let mut grid = random_walls(rng, u8::try_from(side)?);
    for _ in 0..boxes {
        let goal = random_floor(rng, &grid, &grid.goals).ok_or(&ROOM)?;
        grid.goals.push(goal);
    }
    grid.goals.sort_unstable();
    let mut boxes = grid.goals.clone();
    let mut player = random_floor(rng, &grid, &boxes).ok_or(&ROOM)?;
    let mut solution = Vec::new();
    for _ in 0..pulls {
        let walks = grid.walks(player, &boxes);
        let possible = possible_pulls(&grid, player, &boxes, &walks);
        if possible.is_empty() {
            break;
        }
        let (index, direction) = possible[rng.random_range(0..possible.len())];
        let stand = direction.from(boxes[index]);
        if !solution.is_empty() {
            // Forward, the walk to here is the way back from the push to come.
            solution.extend(grid.walk_back(&walks, player, stand).into_iter().rev());
        }
        solution.push(direction);
        boxes[index] = stand;
        player = direction.from(stand);
    }
    boxes.sort_unstable();
    FAR.demand(grid.pushes_min(&boxes) >= DISTANCE_MIN)?;
    OFF_GOALS.demand(grid.placed(&boxes) == 0)?;
    let solution: Vec<Direction> = solution.into_iter().rev().map(Direction::back).collect();
    let solution = shorten(&grid, player, &boxes, &solution);
    Ok(Made { rows: grid.draw(player, &boxes), solution })
}

/// One push of a solution.
struct Push {
    /// Where the boxes stand before it.
    boxes: Vec<Cell>,
    /// Where the player stands before it.
    stand: Cell,
    direction: Direction,
}

/// The same solution without detours: between pushes the shortest walk, and no pushes that lead back to where the boxes
/// stood before. Random pulls make many of both.
fn shorten(grid: &Grid, start: Cell, boxes: &[Cell], solution: &[Direction]) -> Vec<Direction> {
    let pushes = pushes_of(grid, start, boxes, solution);
    let (mut player, mut boxes, mut shorter, mut next) = (start, boxes.to_vec(), Vec::new(), 0);
    while next < pushes.len() && !grid.solved(&boxes) {
        let walks = grid.walks(player, &boxes);
        let reachable = |stand: Cell| stand == player || walks[grid.index(stand)].is_some();
        let last = pushes.iter().rposition(|push| push.boxes == boxes && reachable(push.stand)).unwrap_or(next);
        let push = &pushes[last];
        shorter.extend(grid.walk_back(&walks, player, push.stand).into_iter().rev());
        shorter.push(push.direction);
        grid.step(push.stand, &mut boxes, push.direction);
        player = push.direction.from(push.stand);
        next = last + 1;
    }
    shorter
}

fn pushes_of(grid: &Grid, start: Cell, boxes: &[Cell], solution: &[Direction]) -> Vec<Push> {
    let (mut player, mut boxes, mut pushes) = (start, boxes.to_vec(), Vec::new());
    for direction in solution {
        let before = boxes.clone();
        let moved = grid.step(player, &mut boxes, *direction);
        if boxes != before {
            pushes.push(Push { boxes: before, stand: player, direction: *direction });
        }
        if let Moved::To(cell) = moved {
            player = cell;
        }
    }
    pushes
}

/// Boxes that can be pulled from where the player can walk to, with the direction of the pull.
fn possible_pulls(grid: &Grid, player: Cell, boxes: &[Cell], walks: &[Option<Direction>]) -> Vec<(usize, Direction)> {
    let mut possible = Vec::new();
    for (index, cell) in boxes.iter().enumerate() {
        for direction in Direction::ALL {
            let stand = direction.from(*cell);
            if grid.reaches(walks, player, stand) && grid.free(stand, boxes) && grid.free(direction.from(stand), boxes)
            {
                possible.push((index, direction));
            }
        }
    }
    possible
}

/// A square of floor with some walls in it; floor that cannot be walked to from the rest is wall.
fn random_walls(rng: &mut ChaCha8Rng, side: u8) -> Grid {
    let size = side + 2;
    let mut grid = Grid { width: size, height: size, walls: Vec::new(), goals: Vec::new() };
    for row in 0..size {
        for column in 0..size {
            let edge = row == 0 || column == 0 || row == size - 1 || column == size - 1;
            grid.walls.push(edge || rng.random_ratio(1, WALL_ONE_IN));
        }
    }
    let middle = Cell(size / 2, size / 2);
    let place = grid.index(middle);
    grid.walls[place] = false;
    let walks = grid.walks(middle, &[]);
    for (index, wall) in grid.walls.iter_mut().enumerate() {
        *wall |= index != place && walks[index].is_none();
    }
    grid
}

fn random_floor(rng: &mut ChaCha8Rng, grid: &Grid, taken: &[Cell]) -> Option<Cell> {
    let inside = (0..grid.height).flat_map(|row| (0..grid.width).map(move |column| Cell(row, column)));
    let free: Vec<Cell> = inside.filter(|cell| grid.free(*cell, taken)).collect();
    if free.is_empty() { None } else { Some(free[rng.random_range(0..free.len())]) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use palestra_environment::task::seeded;

    /// Breadth-first search over the rules of [`Grid::step`] alone, knowing nothing of how levels are made.
    fn can_be_solved(rows: &[String]) -> bool {
        let (grid, player, boxes) = Grid::read(rows);
        let mut seen = HashSet::from([format!("{player:?}{boxes:?}")]);
        let mut queue = VecDeque::from([(player, boxes)]);
        while let Some((player, boxes)) = queue.pop_front() {
            if grid.solved(&boxes) {
                return true;
            }
            for direction in Direction::ALL {
                let mut boxes = boxes.clone();
                if let Moved::To(player) = grid.step(player, &mut boxes, direction)
                    && seen.insert(format!("{player:?}{boxes:?}"))
                {
                    queue.push_back((player, boxes));
                }
            }
        }
        false
    }

    #[test]
    fn a_search_solves_every_small_level() {
        let levels = (0_u32..200).filter_map(|seed| make(&mut seeded(&[&seed.to_le_bytes()]), 5, 1, 8).ok());
        let levels: Vec<Made> = levels.collect();
        assert!(levels.len() > 20, "{}", levels.len());
        assert!(levels.iter().all(|made| can_be_solved(&made.rows)));
        let stuck = ["#####", "#$-.#", "#-@-#", "#####"].map(str::to_owned);
        assert!(!can_be_solved(&stuck), "the search can also fail");
    }

    #[test]
    fn a_drawn_level_reads_as_itself() {
        let rows = ["#####", "#+$-#", "#*-.#", "#####"].map(str::to_owned).to_vec();
        let (grid, player, boxes) = Grid::read(&rows);
        assert_eq!(grid.draw(player, &boxes), rows);
    }

    #[test]
    fn walls_and_second_boxes_stop_a_push() {
        let rows = ["######", "#@$$-#", "######"].map(str::to_owned).to_vec();
        let (grid, player, mut boxes) = Grid::read(&rows);
        assert_eq!(grid.step(player, &mut boxes, Direction::Right), Moved::Blocked);
        assert_eq!(grid.step(player, &mut boxes, Direction::Up), Moved::Blocked);
        assert_eq!(grid.step(Cell(200, 200), &mut boxes, Direction::Up), Moved::Blocked);
    }
}

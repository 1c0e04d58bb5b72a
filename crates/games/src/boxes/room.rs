//! Rooms are drawn backwards: from boxes on their marks by pulls, so that every room has a solution, and its fewest pushes are known.
//! Sets of cells are bits of one word, for rooms of up to 64 cells with walls all around.

use std::collections::HashSet;

use palestra_widgets::Draw;

use super::Boxes;
use crate::grid::Grid;
use crate::input::Direction;

/// Positions that are looked at for one room.
const POSITIONS_MAX: usize = 30_000;
/// Draws of a room until one has enough pushes; after them the one with most is taken.
const DRAWS: usize = 12;

/// A kind of rooms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Cells of each side, with the walls around.
    pub(super) edge: usize,
    /// Cells within that are walls.
    pub(super) walls: usize,
    pub(super) boxes: usize,
    /// Fewest pushes of the solution: from, to.
    pub(super) pushes: (u32, u32),
}

/// Walls and marks of a room.
#[derive(Debug, Clone, Copy)]
struct Room {
    columns: usize,
    /// Cells without walls.
    floor: u64,
    marks: u64,
}

/// A position: where boxes lie, and where the player is.
#[derive(Debug, Clone, Copy)]
struct Position {
    boxes: u64,
    player: usize,
    pushes: u32,
    /// The position before, and the push from there: where the player stands for it, and its direction.
    from: Option<(usize, usize, Direction)>,
}

impl Room {
    fn of(board: &Boxes) -> Self {
        let floor = (0..board.walls.len()).filter(|cell| !board.walls[*cell]);
        Self { columns: board.columns, floor: bits(floor), marks: bits(board.marks.iter().copied()) }
    }

    const fn next(self, cell: usize, direction: Direction) -> usize {
        match direction {
            Direction::Up => cell.wrapping_sub(self.columns),
            Direction::Down => cell + self.columns,
            Direction::Left => cell.wrapping_sub(1),
            Direction::Right => cell + 1,
        }
    }

    /// Cells that the player reaches without a push.
    const fn reached(self, boxes: u64, player: usize) -> u64 {
        let free = self.floor & !boxes;
        let mut reached = 1 << player;
        loop {
            let beside = (reached << 1) | (reached >> 1) | (reached << self.columns) | (reached >> self.columns);
            let more = reached | (beside & free);
            if more == reached {
                return reached;
            }
            reached = more;
        }
    }

    /// The name of a position: the same for all places that the player reaches.
    const fn key(self, boxes: u64, player: usize) -> (u64, u32) {
        (boxes, self.reached(boxes, player).trailing_zeros())
    }

    /// Boxes and player after each pull.
    fn pulls(self, Position { boxes, player, .. }: Position) -> Vec<(u64, usize)> {
        let reached = self.reached(boxes, player);
        let mut pulls = Vec::new();
        for cell in cells(boxes) {
            for direction in Direction::ALL {
                let stand = self.next(cell, direction);
                if holds(reached, stand) && holds(self.floor & !boxes, self.next(stand, direction)) {
                    pulls.push((boxes ^ bit(cell) ^ bit(stand), self.next(stand, direction)));
                }
            }
        }
        pulls
    }

    /// Boxes, player and push after each push.
    fn pushes(self, Position { boxes, player, .. }: Position) -> Vec<(u64, usize, Direction)> {
        let reached = self.reached(boxes, player);
        let mut pushes = Vec::new();
        for cell in cells(boxes) {
            for direction in Direction::ALL {
                let (stand, beyond) = (self.next(cell, direction.opposite()), self.next(cell, direction));
                if holds(reached, stand) && holds(self.floor & !boxes, beyond) {
                    pushes.push((boxes ^ bit(cell) ^ bit(beyond), stand, direction));
                }
            }
        }
        pushes
    }
}

const fn bit(cell: usize) -> u64 {
    1 << cell
}

const fn holds(set: u64, cell: usize) -> bool {
    cell < 64 && set & bit(cell) != 0
}

fn bits(cells: impl Iterator<Item = usize>) -> u64 {
    cells.fold(0, |all, cell| all | bit(cell))
}

fn cells(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |cell| holds(set, *cell))
}

impl Plan {
    pub(super) fn draw(self, draw: &mut Draw) -> Boxes {
        let mut best: Option<(u32, Boxes)> = None;
        let mut draws = 0;
        let mut board = loop {
            draws += 1;
            let board = self.solved(draw);
            let (room, most) = (Room::of(&board), self.pushes.1);
            let positions = pulled(room, &board);
            let off_marks = positions.iter().filter(|at| at.boxes & room.marks == 0 && at.pushes <= most);
            let deepest = off_marks.clone().map(|position| position.pushes).max().unwrap_or_default();
            if deepest > best.as_ref().map_or(0, |(pushes, _)| *pushes) {
                let least = self.pushes.0.min(deepest);
                let start = draw.pick(&off_marks.filter(|position| position.pushes >= least).collect::<Vec<_>>());
                let board = Boxes { boxes: cells(start.boxes).collect(), player: start.player, ..board };
                best = Some((start.pushes, board));
            }
            match best {
                Some((pushes, board)) if pushes >= self.pushes.0 || draws >= DRAWS => break board,
                _ => {}
            }
        };
        let moves = way(&board).map_or(0, |way| way.len());
        board.moves_max = 3 * u32::try_from(moves).unwrap_or_default() + 10;
        board
    }

    /// A room whose boxes lie on their marks; the player can be anywhere.
    fn solved(self, draw: &mut Draw) -> Boxes {
        let grid = Grid::new(self.edge, self.edge);
        let is_edge = |cell: &usize| {
            let (row, column) = (grid.row(*cell), grid.column(*cell));
            row == 0 || column == 0 || row + 1 == self.edge || column + 1 == self.edge
        };
        let mut walls: Vec<bool> = (0..grid.cells()).map(|cell| is_edge(&cell)).collect();
        let within: Vec<usize> = (0..grid.cells()).filter(|cell| !is_edge(cell)).collect();
        let order = draw.shuffled(&within);
        order[..self.walls].iter().for_each(|cell| walls[*cell] = true);
        let mut marks = order[self.walls..self.walls + self.boxes].to_vec();
        marks.sort_unstable();
        let player = order[self.walls + self.boxes];
        let boxes = marks.clone();
        Boxes { columns: self.edge, rows: self.edge, walls, marks, boxes, player, moves: 0, moves_max: 0 }
    }
}

/// Every position from which the room can be solved, with its fewest pushes, nearest first.
fn pulled(room: Room, solved: &Boxes) -> Vec<Position> {
    let boxes = bits(solved.boxes.iter().copied());
    let mut seen = HashSet::new();
    let mut found: Vec<Position> = Vec::new();
    for player in cells(room.floor & !boxes) {
        if seen.insert(room.key(boxes, player)) {
            found.push(Position { boxes, player, pushes: 0, from: None });
        }
    }
    let mut at = 0;
    while let Some(position) = found.get(at).copied() {
        at += 1;
        for (boxes, player) in room.pulls(position) {
            if found.len() < POSITIONS_MAX && seen.insert(room.key(boxes, player)) {
                found.push(Position { boxes, player, pushes: position.pushes + 1, from: None });
            }
        }
    }
    found
}

/// Moves that solve the room with the fewest pushes.
pub(super) fn way(board: &Boxes) -> Option<Vec<Direction>> {
    let room = Room::of(board);
    let boxes = bits(board.boxes.iter().copied());
    let mut seen = HashSet::from([room.key(boxes, board.player)]);
    let mut found = vec![Position { boxes, player: board.player, pushes: 0, from: None }];
    let mut at = 0;
    while let Some(position) = found.get(at).copied() {
        if position.boxes & !room.marks == 0 {
            return walked(board, &found, at);
        }
        for (boxes, stand, direction) in room.pushes(position) {
            let player = room.next(stand, direction);
            if found.len() < POSITIONS_MAX && seen.insert(room.key(boxes, player)) {
                let pushes = position.pushes + 1;
                found.push(Position { boxes, player, pushes, from: Some((at, stand, direction)) });
            }
        }
        at += 1;
    }
    None
}

/// The moves of the pushes that lead to a position, with the walks between them.
fn walked(board: &Boxes, found: &[Position], last: usize) -> Option<Vec<Direction>> {
    let back = std::iter::successors(Some(last), |at| Some(found[*at].from?.0));
    let mut pushes: Vec<(usize, Direction)> =
        back.filter_map(|at| found[at].from).map(|(_, stand, direction)| (stand, direction)).collect();
    pushes.reverse();
    let mut board = board.clone();
    let mut way = Vec::new();
    for (stand, direction) in pushes {
        for step in board.walk(stand)?.into_iter().chain([direction]) {
            board.go(step);
            way.push(step);
        }
    }
    Some(way)
}

#[cfg(test)]
mod tests {
    use palestra_widgets::Level;

    use super::*;
    use crate::rules::Rules as _;
    use crate::{Input, Outcome};

    #[test]
    fn rooms_have_the_pushes_of_their_plan_and_no_box_on_a_mark() {
        let plan = Plan { edge: 7, walls: 3, boxes: 2, pushes: (5, 8) };
        for seed in 0..20 {
            let mut board = plan.draw(&mut Draw::new(Level::Two, seed));
            assert!(board.boxes.iter().all(|cell| !board.marks.contains(cell)), "{seed}");
            let moves = way(&board).expect("a way");
            let mut pushes = 0;
            for direction in moves {
                let before = board.boxes.clone();
                assert!(board.take(&Input::Key(format!("Arrow{direction:?}"))), "{seed}");
                pushes += u32::from(before != board.boxes);
            }
            assert_eq!(board.outcome(), Outcome::Won);
            assert!((5..=8).contains(&pushes), "{seed}: {pushes}");
        }
    }
}

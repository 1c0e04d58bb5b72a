//! Cells without mines are opened; each tells how many mines lie around it.

mod solve;

use palestra_widgets::Draw;
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::input::Button;
use crate::rules::{Drawn, Rules};
use crate::scene::{BLUE, DARK, GREEN, INK, ORANGE, PALE, PURPLE, RED, Scene, TEAL, WHITE};
use crate::{Input, Outcome, Progress, Step};

/// Its skill, as one sentence.
pub(crate) const ABOUT: &str = "Opens every cell that has no mine, by what its neighbours tell.";

/// Draws with as many mines; after them it is one mine less.
const DRAWS: usize = 60;
/// Colours of the numbers.
const INKS: [&str; 9] = [INK, BLUE, GREEN, RED, PURPLE, ORANGE, TEAL, INK, INK];

/// A field with mines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mines {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
    /// Cells that were open at the beginning.
    first: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    mine: bool,
    open: bool,
    marked: bool,
}

impl Mines {
    const fn grid(&self) -> Grid {
        Grid::new(self.columns, self.rows)
    }

    /// Mines around a cell.
    fn near(&self, cell: usize) -> usize {
        self.grid().around(cell).filter(|other| self.cells[*other].mine).count()
    }

    /// Opens a closed cell that is not marked, and the neighbours of every cell without mines around it.
    fn open(&mut self, cell: usize) -> bool {
        let mut waiting = vec![cell];
        let mut opened = false;
        while let Some(cell) = waiting.pop() {
            if self.cells[cell].open || self.cells[cell].marked {
                continue;
            }
            self.cells[cell].open = true;
            opened = true;
            if !self.cells[cell].mine && self.near(cell) == 0 {
                waiting.extend(self.grid().around(cell));
            }
        }
        opened
    }

    fn mark(&mut self, cell: usize) -> bool {
        let cell = &mut self.cells[cell];
        cell.marked = !cell.open && !cell.marked;
        !cell.open
    }

    fn count(&self, is: impl Fn(&Cell) -> bool) -> u32 {
        u32::try_from(self.cells.iter().filter(|cell| is(cell)).count()).unwrap_or(u32::MAX)
    }
}

impl Rules for Mines {
    fn take(&mut self, input: &Input) -> bool {
        let Input::Click { x, y, button } = input else { return false };
        match (self.grid().cell_at((*x, *y)), button) {
            (Some(cell), Button::Left) => self.open(cell),
            (Some(cell), Button::Right) => self.mark(cell),
            (None, _) => false,
        }
    }

    fn outcome(&self) -> Outcome {
        if self.cells.iter().any(|cell| cell.mine && cell.open) {
            Outcome::Lost
        } else if self.cells.iter().all(|cell| cell.mine || cell.open) {
            Outcome::Won
        } else {
            Outcome::Open
        }
    }

    fn progress(&self) -> Progress {
        let opened = self.count(|cell| cell.open && !cell.mine);
        let goal = self.count(|cell| !cell.mine).saturating_sub(self.first).max(1);
        Progress { done: opened.saturating_sub(self.first).min(goal), goal }
    }

    fn scene(&self) -> Scene {
        let (mines, marked) = (self.count(|cell| cell.mine), self.count(|cell| cell.marked));
        let mut scene = Scene::titled(format!("Mines: {mines}. Marked: {marked}"));
        let grid = self.grid();
        let size = grid.edge() / 2;
        for (place, cell) in self.cells.iter().enumerate() {
            let colour = match (cell.open, cell.mine) {
                (false, _) => DARK,
                (true, false) => PALE,
                (true, true) => RED,
            };
            grid.fill(&mut scene, place, colour);
            let near = self.near(place);
            if cell.marked {
                scene.words("!", grid.middle(place), size, WHITE);
            } else if cell.open && cell.mine {
                scene.disc(grid.middle(place), size / 2, INK);
            } else if cell.open && near > 0 {
                scene.words(near.to_string(), grid.middle(place), size, INKS[near]);
            }
        }
        scene
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("Mines: {}. {}", self.count(|cell| cell.mine), self.grid().places_in_words())];
        words.extend(self.grid().rows_in_words(|place| match self.cells[place] {
            Cell { open: true, mine: true, .. } => "mine".to_owned(),
            Cell { open: true, .. } => self.near(place).to_string(),
            Cell { marked: true, .. } => "marked".to_owned(),
            Cell { .. } => "closed".to_owned(),
        }));
        words
    }

    fn solution(&self) -> Option<Vec<Step>> {
        let clicks = solve::safe_clicks(self)?.into_iter();
        let step = |cell| {
            let (x, y) = self.grid().middle(cell);
            Step::Click(x, y)
        };
        Some(clicks.map(step).collect())
    }

    fn is_of(&self, start: &Self) -> bool {
        let mines = |field: &Self| -> Vec<bool> { field.cells.iter().map(|cell| cell.mine).collect() };
        *self == Self { cells: self.cells.clone(), ..start.clone() } && mines(self) == mines(start)
    }
}

/// A field that can be opened by thought alone from the cells that are open at the beginning.
fn field(draw: &mut Draw, grid: Grid, mines: usize) -> Mines {
    let all: Vec<usize> = (0..grid.cells()).collect();
    let mut attempt = 0;
    loop {
        // With fewer mines more fields are such.
        let mines = mines.saturating_sub(attempt / DRAWS).max(2);
        attempt += 1;
        let order = draw.shuffled(&all);
        let mut cells = vec![Cell::default(); grid.cells()];
        order[..mines].iter().for_each(|cell| cells[*cell].mine = true);
        let mut field = Mines { columns: grid.columns, rows: grid.rows, cells, first: 0 };
        let Some(start) = order[mines..].iter().copied().find(|cell| field.near(*cell) == 0) else { continue };
        field.open(start);
        field.first = field.count(|cell| cell.open);
        if field.outcome() == Outcome::Open && solve::safe_clicks(&field).is_some() {
            return field;
        }
    }
}

pub(crate) fn draw(draw: &mut Draw) -> Drawn<Mines> {
    let (edge, mines) = draw.level.of([(5, 4), (7, 8), (9, 15), (11, 25)]);
    let field = field(draw, Grid::new(edge, edge), mines);
    let mines = field.count(|cell| cell.mine);
    Drawn {
        instruction: format!(
            "Open every cell that has no mine. A left click opens a cell, and a right click marks one or takes the mark off; marks are no \
             part of the goal. An open cell tells how many of the up to eight cells around it have mines. There are {mines} mines, and \
             thought alone finds all of them. One opened mine loses the game."
        ),
        title: "Mines",
        board: field,
    }
}

#[cfg(test)]
mod tests {
    use palestra_widgets::Level;

    use super::*;

    fn click(field: &Mines, cell: usize, button: Button) -> Input {
        let (x, y) = field.grid().middle(cell);
        Input::Click { x, y, button }
    }

    /// Three by three, with a mine in the last cell.
    fn small() -> Mines {
        let mut cells = vec![Cell::default(); 9];
        cells[8].mine = true;
        Mines { columns: 3, rows: 3, cells, first: 0 }
    }

    #[test]
    fn an_empty_cell_opens_its_neighbours_and_a_mine_loses() {
        let mut field = small();
        assert!(field.take(&click(&field, 0, Button::Left)));
        assert_eq!((field.outcome(), field.count(|cell| cell.open)), (Outcome::Won, 8));
        let mut field = small();
        assert!(field.take(&click(&field, 4, Button::Left)));
        assert_eq!((field.outcome(), field.count(|cell| cell.open)), (Outcome::Open, 1));
        assert!(field.take(&click(&field, 8, Button::Left)));
        assert_eq!(field.outcome(), Outcome::Lost);
    }

    #[test]
    fn a_marked_cell_is_not_opened_until_the_mark_is_off() {
        let mut field = small();
        assert!(field.take(&click(&field, 8, Button::Right)));
        assert!(!field.take(&click(&field, 8, Button::Left)));
        assert_eq!(field.outcome(), Outcome::Open);
        assert!(field.take(&click(&field, 8, Button::Right)));
        assert!(field.take(&click(&field, 8, Button::Left)));
        let open = field.clone();
        assert!(!field.take(&click(&field, 8, Button::Right)), "an open cell takes no mark");
        assert_eq!(field, open);
    }

    #[test]
    fn words_tell_no_mine_that_is_closed() {
        for seed in 0..10 {
            let mut draw = Draw::new(Level::Four, seed);
            let field = field(&mut draw, Grid::new(9, 9), 12);
            let mut moved = field.clone();
            // The same cells are open, with the same numbers, wherever the other mines lie.
            for (place, cell) in moved.cells.iter_mut().enumerate() {
                let borders = field.grid().around(place).any(|other| field.cells[other].open);
                cell.mine = if borders { cell.mine } else { !cell.mine };
                cell.mine &= !cell.open;
            }
            assert_eq!(field.words()[1..], moved.words()[1..]);
        }
    }
}

//! Cells of a board: their places on the canvas and their neighbours. A cell is counted from 0, row by row.

use crate::canvas::{HEIGHT, WIDTH};
use crate::input::Direction;
use crate::scene::Scene;

/// Height of the line of words above a board.
const TITLE: i64 = 36;
/// Longest edge of a cell.
const CELL_MAX: i64 = 64;

/// A board of equal cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// A count of cells or pixels as a number that can be negative.
#[expect(clippy::cast_possible_wrap, reason = "boards have few cells")]
pub(crate) const fn signed(count: usize) -> i64 {
    count as i64
}

impl Grid {
    pub(crate) const fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows }
    }

    pub(crate) const fn cells(self) -> usize {
        self.columns * self.rows
    }

    pub(crate) const fn row(self, cell: usize) -> usize {
        cell / self.columns
    }

    pub(crate) const fn column(self, cell: usize) -> usize {
        cell % self.columns
    }

    /// Edge of a cell in pixels.
    pub(crate) fn edge(self) -> i64 {
        (WIDTH / signed(self.columns)).min((HEIGHT - TITLE) / signed(self.rows)).min(CELL_MAX)
    }

    /// Upper left corner of the board.
    pub(crate) fn corner(self) -> (i64, i64) {
        ((WIDTH - self.edge() * signed(self.columns)) / 2, TITLE)
    }

    /// The middle of a cell.
    pub(crate) fn middle(self, cell: usize) -> (i64, i64) {
        let (left, top) = self.corner();
        let along = |place: usize| self.edge() * signed(place) + self.edge() / 2;
        (left + along(self.column(cell)), top + along(self.row(cell)))
    }

    /// The cell at a place of the canvas.
    pub(crate) fn cell_at(self, (x, y): (i64, i64)) -> Option<usize> {
        let row = y.saturating_sub(self.corner().1).div_euclid(self.edge());
        let row = usize::try_from(row).ok().filter(|row| *row < self.rows)?;
        Some(row * self.columns + self.column_at(x)?)
    }

    /// The column at a place of the canvas.
    pub(crate) fn column_at(self, x: i64) -> Option<usize> {
        let column = x.saturating_sub(self.corner().0).div_euclid(self.edge());
        usize::try_from(column).ok().filter(|column| *column < self.columns)
    }

    /// The neighbour of a cell in a direction.
    pub(crate) fn next(self, cell: usize, direction: Direction) -> Option<usize> {
        let (row, column) = (self.row(cell), self.column(cell));
        match direction {
            Direction::Up => (row > 0).then(|| cell - self.columns),
            Direction::Down => (row + 1 < self.rows).then_some(cell + self.columns),
            Direction::Left => (column > 0).then(|| cell - 1),
            Direction::Right => (column + 1 < self.columns).then_some(cell + 1),
        }
    }

    /// The neighbours of a cell, up to eight of them.
    pub(crate) fn around(self, cell: usize) -> impl Iterator<Item = usize> {
        let (row, column) = (self.row(cell), self.column(cell));
        let rows = row.saturating_sub(1)..(row + 2).min(self.rows);
        let columns = column.saturating_sub(1)..(column + 2).min(self.columns);
        rows.flat_map(move |row| columns.clone().map(move |column| row * self.columns + column))
            .filter(move |other| *other != cell)
    }

    /// Fills a cell with a colour, up to a thin line around it.
    pub(crate) fn fill(self, scene: &mut Scene, cell: usize, colour: &'static str) {
        let (x, y) = self.middle(cell);
        let half = self.edge() / 2 - 1;
        scene.rectangle((x - half, y - half), (2 * half, 2 * half), colour);
    }

    /// The board in words, one line for each row.
    pub(crate) fn rows_in_words(self, word: impl Fn(usize) -> String) -> Vec<String> {
        (0..self.rows)
            .map(|row| {
                let cells: Vec<String> = (0..self.columns).map(|column| word(row * self.columns + column)).collect();
                format!("Row {}: {}", row + 1, cells.join(", "))
            })
            .collect()
    }

    /// The place of cells in the window, in words.
    pub(crate) fn places_in_words(self) -> String {
        let ((x, y), edge) = (self.middle(0), self.edge());
        format!(
            "The middle of row 1, column 1 is at x = {}, y = {} in the window; each further column adds {edge} to x, each further row \
             adds {edge} to y.",
            x + crate::canvas::LEFT,
            y + crate::canvas::TOP
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_belongs_to_the_cell_whose_middle_is_next() {
        for grid in [Grid::new(4, 4), Grid::new(11, 11), Grid::new(9, 8), Grid::new(1, 1)] {
            for cell in 0..grid.cells() {
                let (x, y) = grid.middle(cell);
                assert_eq!(grid.cell_at((x, y)), Some(cell));
                assert!((0..WIDTH).contains(&x) && (0..HEIGHT).contains(&y));
            }
            let (left, top) = grid.corner();
            for outside in [(left - 1, top), (left, top - 1), (left + grid.edge() * signed(grid.columns), top)] {
                assert_eq!(grid.cell_at(outside), None);
            }
            assert_eq!(grid.cell_at((i64::MIN, i64::MAX)), None);
        }
    }

    #[test]
    fn neighbours_end_at_the_edge() {
        let grid = Grid::new(3, 2);
        assert_eq!(grid.around(0).collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!(grid.around(4).count(), 5);
        let next: Vec<_> = Direction::ALL.into_iter().map(|direction| grid.next(5, direction)).collect();
        assert_eq!(next, [Some(2), None, Some(4), None]);
    }
}

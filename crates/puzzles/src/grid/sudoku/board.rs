//! Boards: their rules, and a solver that counts its work.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Cells of a board, row by row.
pub(super) const CELLS: usize = 81;

/// All nine digits; digit `d` is bit `d - 1`.
const DIGITS: u16 = 0x1ff;

/// Filled cells, without two of the same digit in a row, column or box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Board {
    /// The digits; 0 for an empty cell.
    cells: [u8; CELLS],
    rows: [u16; 9],
    columns: [u16; 9],
    boxes: [u16; 9],
}

impl Board {
    const EMPTY: Self = Self { cells: [0; CELLS], rows: [0; 9], columns: [0; 9], boxes: [0; 9] };

    /// Reads 81 digits, with points for empty cells; `None` when they are no board or break a rule.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text.len() != CELLS {
            return None;
        }
        let mut board = Self::EMPTY;
        for (cell, letter) in text.bytes().enumerate() {
            match letter {
                b'.' => {}
                b'1'..=b'9' if board.left(cell) & bit(letter - b'0') != 0 => board.put(cell, letter - b'0'),
                _ => return None,
            }
        }
        Some(board)
    }

    /// A board with every cell filled; `None` when it cannot be.
    pub(super) fn random(rng: &mut ChaCha8Rng) -> Option<Self> {
        let mut board = Self::EMPTY;
        // Boxes on the diagonal share no row and no column.
        for place in [0, 30, 60] {
            let mut digits = [1, 2, 3, 4, 5, 6, 7, 8, 9];
            digits.shuffle(rng);
            for (index, digit) in digits.into_iter().enumerate() {
                board.put(place + index / 3 * 9 + index % 3, digit);
            }
        }
        let mut empty = board.empty_cells();
        board.fill(&mut empty, rng).then_some(board)
    }

    /// As 81 digits, with points for empty cells.
    pub(super) fn write(&self) -> String {
        self.cells.iter().map(|digit| if *digit == 0 { '.' } else { char::from(b'0' + digit) }).collect()
    }

    /// Empties cells in random order, as long as there is one solution and more than `clues` cells are left.
    pub(super) fn dig(&mut self, rng: &mut ChaCha8Rng, clues: usize) {
        let mut order: Vec<usize> = (0..CELLS).collect();
        order.shuffle(rng);
        let mut empty = Vec::new();
        for cell in order {
            if CELLS - empty.len() <= clues {
                break;
            }
            let digit = self.cells[cell];
            self.take(cell);
            let others = self.left(cell) & !bit(digit);
            let unique = digits(others).all(|other| {
                self.put(cell, other);
                let solved = self.solve(&mut empty.clone(), &mut 0);
                self.take(cell);
                !solved
            });
            if unique {
                empty.push(cell);
            } else {
                self.put(cell, digit);
            }
        }
    }

    /// Finds a solution, always trying the digits of a cell with the fewest of them, in order. Adds the digits that it
    /// tried to `tried`; leaves the board as it was.
    pub(super) fn solve(&mut self, empty: &mut Vec<usize>, tried: &mut u32) -> bool {
        let Some(cell) = self.pop_tightest(empty) else { return true };
        let found = digits(self.left(cell)).any(|digit| {
            *tried += 1;
            self.put(cell, digit);
            let solved = self.solve(empty, tried);
            self.take(cell);
            solved
        });
        empty.push(cell);
        found
    }

    /// Empty cells.
    pub(super) fn empty_cells(&self) -> Vec<usize> {
        (0..CELLS).filter(|cell| self.cells[*cell] == 0).collect()
    }

    /// Fills the empty cells with digits in random order; false when it cannot be done.
    fn fill(&mut self, empty: &mut Vec<usize>, rng: &mut ChaCha8Rng) -> bool {
        let Some(cell) = self.pop_tightest(empty) else { return true };
        let left = self.left(cell);
        let turn = rng.random_range(0..9);
        for digit in (0..9).map(|step| (step + turn) % 9 + 1).filter(|digit| left & bit(*digit) != 0) {
            self.put(cell, digit);
            if self.fill(empty, rng) {
                return true;
            }
            self.take(cell);
        }
        empty.push(cell);
        false
    }

    /// Takes the first cell with the fewest digits left out of a list.
    fn pop_tightest(&self, empty: &mut Vec<usize>) -> Option<usize> {
        let (mut tightest, mut fewest) = (0, u32::MAX);
        for (index, cell) in empty.iter().enumerate() {
            let count = self.left(*cell).count_ones();
            if count < fewest {
                (tightest, fewest) = (index, count);
                if count <= 1 {
                    break;
                }
            }
        }
        (fewest < u32::MAX).then(|| empty.swap_remove(tightest))
    }

    /// The digits that are in neither row, column nor box of a cell.
    fn left(&self, cell: usize) -> u16 {
        DIGITS & !(self.rows[cell / 9] | self.columns[cell % 9] | self.boxes[box_of(cell)])
    }

    fn put(&mut self, cell: usize, digit: u8) {
        self.cells[cell] = digit;
        self.flip(cell, digit);
    }

    fn take(&mut self, cell: usize) {
        let digit = std::mem::take(&mut self.cells[cell]);
        self.flip(cell, digit);
    }

    fn flip(&mut self, cell: usize, digit: u8) {
        self.rows[cell / 9] ^= bit(digit);
        self.columns[cell % 9] ^= bit(digit);
        self.boxes[box_of(cell)] ^= bit(digit);
    }
}

const fn bit(digit: u8) -> u16 {
    1 << (digit - 1)
}

const fn box_of(cell: usize) -> usize {
    cell / 27 * 3 + cell % 9 / 3
}

fn digits(set: u16) -> impl Iterator<Item = u8> {
    (1..=9).filter(move |digit| set & bit(*digit) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    /// Solutions, counted cell by cell without any choice of order, up to two.
    fn solutions(board: &mut Board, cell: usize) -> u32 {
        let Some(cell) = (cell..CELLS).find(|cell| board.cells[*cell] == 0) else { return 1 };
        let mut count = 0;
        for digit in digits(board.left(cell)) {
            board.put(cell, digit);
            count += solutions(board, cell + 1);
            board.take(cell);
            if count > 1 {
                break;
            }
        }
        count
    }

    #[test]
    fn dug_boards_have_one_solution() {
        for (seed, clues) in (0_u8..12).zip([46, 40, 34, 30].into_iter().cycle()) {
            let mut rng = seeded(&[&[seed]]);
            let mut board = Board::random(&mut rng).expect("a board");
            assert!(board.empty_cells().is_empty());
            board.dig(&mut rng, clues);
            assert_eq!(board.empty_cells().len(), CELLS - clues);
            assert_eq!(solutions(&mut board, 0), 1, "{}", board.write());
        }
        let mut hardly = Board::read(&format!("1{}", ".".repeat(80))).expect("a board");
        assert_eq!(solutions(&mut hardly, 0), 2, "the count also finds more");
    }

    #[test]
    fn a_digit_comes_once_in_each_row_column_and_box() {
        let with = |cells: &[usize]| {
            let mut text = ".".repeat(CELLS).into_bytes();
            cells.iter().for_each(|cell| text[*cell] = b'7');
            Board::read(&String::from_utf8_lossy(&text))
        };
        assert!(with(&[0, 12, 24]).is_some());
        for pair in [[0, 8], [0, 72], [0, 20], [80, 60]] {
            assert!(with(&pair).is_none(), "{pair:?}");
        }
        assert_eq!(Board::read("1"), None);
        assert_eq!(Board::read(&"0".repeat(CELLS)), None);
    }
}

//! Squares named as on a chess board: a letter for the column, a number for the row.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A square: row from 0 at the top, column from 0 at the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Square {
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Square {
    /// Reads a name such as `b3`, in either case; `None` when it names no square of a board of `size` by `size`.
    pub(super) fn read(name: &str, size: usize) -> Option<Self> {
        let letter = name.bytes().next().filter(u8::is_ascii_alphabetic)?;
        let number = name.get(1..)?;
        let plain = matches!(number.as_bytes(), [b'1'..=b'9'] | [b'1'..=b'9', b'0'..=b'9']);
        let row = plain.then(|| number.parse::<usize>().ok()).flatten()? - 1;
        let column = usize::from(letter.to_ascii_lowercase() - b'a');
        (row < size && column < size).then_some(Self { row, column })
    }

    /// All squares of a board, row by row.
    pub(super) fn all(size: usize) -> impl Iterator<Item = Self> {
        (0..size * size).map(move |index| Self { row: index / size, column: index % size })
    }

    /// The squares above, below, left and right that are on the board.
    pub(super) fn beside(self, size: usize) -> impl Iterator<Item = Self> {
        self.around(size).filter(move |other| other.row == self.row || other.column == self.column)
    }

    /// The up to eight squares around that are on the board.
    pub(super) fn around(self, size: usize) -> impl Iterator<Item = Self> {
        let rows = self.row.saturating_sub(1)..(self.row + 2).min(size);
        let columns = self.column.saturating_sub(1)..(self.column + 2).min(size);
        let squares = rows.flat_map(move |row| columns.clone().map(move |column| Self { row, column }));
        squares.filter(move |other| *other != self)
    }

    /// Its letter on a board that is drawn as lines of letters.
    pub(super) fn on(self, rows: &[String]) -> Option<char> {
        rows.get(self.row).and_then(|row| row.as_bytes().get(self.column).copied()).map(char::from)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", letter(self.column), self.row + 1)
    }
}

/// The letters of the columns, over the rows with their numbers: how a board is drawn.
pub(super) fn draw<'a>(rows: impl Iterator<Item = &'a str>, size: usize) -> String {
    let mut drawn = format!("   {}", (0..size).map(letter).collect::<String>());
    for (index, row) in rows.enumerate() {
        drawn.push_str(&format!("\n{:>2} {row}", index + 1));
    }
    drawn
}

fn letter(column: usize) -> char {
    u8::try_from(column).ok().and_then(|column| b'a'.checked_add(column)).map_or('?', char::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_its_square_and_has_one_spelling() {
        for square in Square::all(12) {
            assert_eq!(Square::read(&square.to_string(), 12), Some(square));
        }
        assert_eq!(Square::read("B3", 3), Some(Square { row: 2, column: 1 }));
        for name in ["", "b", "3b", "b0", "b03", "b+3", "b4", "d1", "b3 ", "b 3", "é1", "ｂ3", "b３", "b99999999999999"]
        {
            assert_eq!(Square::read(name, 3), None, "{name}");
        }
    }

    #[test]
    fn neighbours_stay_on_the_board() {
        let counts = |size: usize| -> Vec<(usize, usize)> {
            Square::all(size).map(|square| (square.beside(size).count(), square.around(size).count())).collect()
        };
        assert_eq!(counts(1), [(0, 0)]);
        assert_eq!(counts(3), [(2, 3), (3, 5), (2, 3), (3, 5), (4, 8), (3, 5), (2, 3), (3, 5), (2, 3)]);
    }
}

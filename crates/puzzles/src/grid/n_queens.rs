//! `puzzle/n_queens`: complete a placement of queens that do not attack each other, on a board with closed squares.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::numbers::read_numbers;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Every row has a column that no queen before attacks.
static PLACED: Requirement = Requirement::new("placed", "every row has a column that no queen before attacks", 0.98);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct NQueens {
    version: u32,
    /// Rows of the smallest board.
    least: u32,
    /// In words.
    scale: &'static str,
}

/// The newest version.
pub(super) const NEWEST: NQueens =
    NQueens { version: 2, least: 8, scale: "Boards from 8 by 8 to 12 by 12, with fewer queens given." };

/// The version before, whose smallest boards had so few placements that one answer was often right.
pub(super) const FORMER: NQueens =
    NQueens { version: 1, least: 6, scale: "Boards from 6 by 6 to 12 by 12, with fewer queens given." };

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The board: `Q` a queen that stands there, `x` a closed square, `.` any other.
    rows: Vec<String>,
    /// The columns of the queens, from 1, row by row.
    solution: String,
}

impl Question for NQueens {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "n_queens",
            version: self.version,
            category: Category::Grid,
            tags: &["constraints"],
            multi_turn: false,
            description: "Complete a placement of queens that do not attack each other on a board with closed squares.",
            rule: "Any placement is right that keeps the queens given, uses no closed square and has no two queens in a row, column or diagonal.",
            scale: self.scale,
            effort: "Places queens row by row, columns in order; squares tried.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let size = usize::try_from(scale(difficulty, self.least, 12))?;
        let given = usize::try_from(scale(difficulty, 2, 1))?;
        draws.note("size", size);
        let queens = random_placement(rng, size).ok_or(&PLACED)?;
        queens.first().into_iter().for_each(|queen| draws.note("first_queen", queen));
        let mut order: Vec<usize> = (0..size).collect();
        order.shuffle(rng);
        let mut rows: Vec<String> = Vec::new();
        for (row, queen) in queens.iter().enumerate() {
            let kept = order[..given].contains(&row);
            let square = |column| match (column == *queen, kept) {
                (true, true) => 'Q',
                (true, false) => '.',
                // Two squares of five are closed.
                (false, _) if rng.random_ratio(2, 5) => 'x',
                (false, _) => '.',
            };
            rows.push((0..size).map(square).collect());
        }
        let columns: Vec<String> = queens.iter().map(|queen| (queen + 1).to_string()).collect();
        Ok(Instance { rows, solution: columns.join(" ") })
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"rows": instance.rows})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let size = instance.rows.len();
        format!(
            "Place {size} queens on this board of {size} by {size} squares, so that no two are in the same row, column or \
             diagonal. Queens that already stand there (Q) stay; no queen may stand on a closed square (x), but queens attack \
             across closed squares. All other squares are points.\n\
             {}\n\
             Answer with the column of the queen in each row, from the first row to the last; columns are numbered from 1 at the \
             left. On an empty board of 4 by 4 squares an answer would be: 2 4 1 3",
            instance.rows.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let size = instance.rows.len();
        let columns = match read_numbers(answer) {
            Some(columns) if columns.len() == size && columns.iter().all(|column| (1..=size).contains(column)) => {
                columns
            }
            _ => return Mark::wrong(format!("it is not {size} columns from 1 to {size}")),
        };
        for (row, column) in columns.iter().enumerate() {
            if !free(&instance.rows[row], column - 1) {
                return Mark::wrong(format!("row {}: no queen can stand in column {column}", row + 1));
            }
            if let Some(other) = (0..row).find(|other| attack(&columns, *other, row)) {
                return Mark::wrong(format!("the queens of rows {} and {} attack each other", other + 1, row + 1));
            }
        }
        Mark::right("no queen attacks another")
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.solution.clone()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut columns: Vec<usize> = (1..=instance.rows.len()).collect();
        columns.shuffle(rng);
        write(&columns)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One queen moves into the column of another.
        let mut columns = read_numbers(&instance.solution).unwrap_or_default();
        let from = rng.random_range(0..columns.len());
        let to = (from + rng.random_range(1..columns.len())) % columns.len();
        columns[from] = columns[to];
        write(&columns)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut tried = 0;
        place(&instance.rows, &mut Vec::new(), &mut tried);
        f64::from(tried)
    }
}

fn write(columns: &[usize]) -> String {
    columns.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// True if a queen may stand in a column, from 0, of a row: it is not closed, and no other queen is given in the row.
fn free(row: &str, column: usize) -> bool {
    match row.as_bytes().get(column) {
        Some(b'Q') => true,
        Some(b'.') => !row.contains('Q'),
        _ => false,
    }
}

/// True if the queens of two rows attack each other.
fn attack(columns: &[usize], one: usize, other: usize) -> bool {
    let apart = columns[one].abs_diff(columns[other]);
    apart == 0 || apart == one.abs_diff(other)
}

/// Places queens row by row until all stand, adding the squares that it looked at to `tried`.
fn place(rows: &[String], columns: &mut Vec<usize>, tried: &mut u32) -> bool {
    let row = columns.len();
    if row == rows.len() {
        return true;
    }
    for column in (0..rows.len()).filter(|column| free(&rows[row], *column)) {
        *tried += 1;
        columns.push(column);
        if (0..row).all(|other| !attack(columns, other, row)) && place(rows, columns, tried) {
            return true;
        }
        columns.pop();
    }
    false
}

/// Queens on an empty board: row by row in a random column that is not attacked; `None` when a row has none.
fn random_placement(rng: &mut ChaCha8Rng, size: usize) -> Option<Vec<usize>> {
    let mut queens: Vec<usize> = Vec::new();
    for row in 0..size {
        let safe = |column: &usize| {
            queens.iter().enumerate().all(|(other, queen)| {
                let apart = queen.abs_diff(*column);
                apart != 0 && apart != row - other
            })
        };
        let safe: Vec<usize> = (0..size).filter(safe).collect();
        if safe.is_empty() {
            return None;
        }
        queens.push(safe[rng.random_range(0..safe.len())]);
    }
    Some(queens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> Instance {
        let rows = ["......", "x....x", "......", "Q.....", ".x....", "......"].map(str::to_owned).to_vec();
        Instance { rows, solution: "2 4 6 1 3 5".to_owned() }
    }

    /// All answers there are, right or not.
    fn answers(size: usize) -> impl Iterator<Item = Vec<usize>> {
        (0..size.pow(u32::try_from(size).expect("small"))).map(move |number| {
            (0..size).map(|row| number / size.pow(u32::try_from(row).expect("small")) % size + 1).collect()
        })
    }

    #[test]
    fn every_placement_by_the_rules_is_right_and_no_other() {
        // The four placements of six queens on an empty board, by hand from any chess book.
        let four = ["2 4 6 1 3 5", "3 6 2 5 1 4", "4 1 5 2 6 3", "5 3 1 6 4 2"];
        let empty = Instance { rows: vec![".".repeat(6); 6], solution: four[0].to_owned() };
        let right: Vec<String> = answers(6)
            .map(|columns| write(&columns))
            .filter(|answer| NEWEST.check(&empty, answer).score == 1.0)
            .collect();
        assert_eq!(right.len(), 4);
        assert!(four.iter().all(|answer| right.iter().any(|found| found == answer)));
    }

    #[test]
    fn queens_given_and_closed_squares_bind() {
        let four = ["2 4 6 1 3 5", "3 6 2 5 1 4", "4 1 5 2 6 3", "5 3 1 6 4 2"];
        let scores = four.map(|answer| NEWEST.check(&instance(), answer).score);
        assert_eq!(scores, [1.0, 0.0, 0.0, 0.0]);
        let mut closed = Instance { rows: vec![".".repeat(6); 6], solution: four[1].to_owned() };
        closed.rows[0] = ".x.x..".to_owned();
        assert_eq!(four.map(|answer| NEWEST.check(&closed, answer).score), [0.0, 1.0, 0.0, 1.0]);
        for answer in ["[2, 4, 6, 1, 3, 5]", "2,4,6,1,3,5", "2\n4\n6\n1\n3\n5"] {
            assert_eq!(NEWEST.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in ["", "2 4 6 1 3", "2 4 6 1 3 5 2", "0 4 6 1 3 5", "2 4 6 1 3 7", "246135", "-2 4 6 1 3 5", "９"]
        {
            assert_eq!(NEWEST.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }
}

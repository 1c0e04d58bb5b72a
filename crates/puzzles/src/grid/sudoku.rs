//! `puzzle/sudoku`: fill a grid so that every row, column and box has every digit.

mod board;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::board::{Board, CELLS};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Number of clues above the wanted number that is still fine, where no more can be taken away.
const CLUES_ABOVE_MAX: usize = 1;

/// So many clues can be taken away that hardly more than wanted are left.
static DUG: Requirement =
    Requirement::new("dug", "so many clues can be taken away that hardly more than wanted are left", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sudoku;

/// A problem: 81 cells row by row, each a digit or, among the clues, a point.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    clues: String,
    solution: String,
}

impl Question for Sudoku {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "sudoku",
            version: 1,
            category: Category::Grid,
            tags: &["constraints"],
            multi_turn: false,
            description: "Complete a 9 by 9 grid so that every row, column and 3 by 3 box has each digit once.",
            rule: "The grid has to keep every clue and have each digit once in every row, column and box; there is one solution.",
            scale: "Fewer clues, from 46 to 25.",
            effort: "Tries the digits of a cell with the fewest left; digits tried.",
            floor: 0.01,
            heavy: true,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let clues = usize::try_from(scale(difficulty, 46, 25))?;
        let mut board =
            Board::random(rng).ok_or_else(|| Refusal::fault("the boxes on the diagonal cannot be completed"))?;
        let solution = board.write();
        board.dig(rng, clues);
        let left = CELLS - board.empty_cells().len();
        draws.note("clues_wanted", clues);
        DUG.demand(left <= clues + CLUES_ABOVE_MAX)?;
        Ok(Instance { clues: board.write(), solution })
    }

    fn content(&self, instance: &Instance) -> Value {
        // The names of the digits do not matter: they are numbered as they come.
        let mut order = String::new();
        let numbered = instance.clues.chars().map(|letter| {
            if letter != '.' && !order.contains(letter) {
                order.push(letter);
            }
            order.find(letter).map_or('.', |index| char::from(b"123456789"[index]))
        });
        Value::String(numbered.collect())
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"rows": rows(&instance.clues).collect::<Vec<_>>()})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let drawn: Vec<&str> = rows(&instance.clues).collect();
        format!(
            "Complete this Sudoku. Every row, every column and every one of the nine 3 by 3 boxes has to hold each of the digits \
             1 to 9 once. A point is an empty cell; the other cells must stay as they are. There is exactly one solution.\n\
             {}\n\
             Answer with the whole grid: nine lines of nine digits, the first such as 174258396. Spaces between digits are fine.",
            drawn.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(cells) = read_cells(answer) else {
            return Mark::wrong("it is not 81 digits from 1 to 9");
        };
        if let Some(cell) = (0..CELLS).find(|cell| !['.', cells[*cell]].contains(&letter(&instance.clues, *cell))) {
            return Mark::wrong(format!("the clue in row {}, column {} was changed", cell / 9 + 1, cell % 9 + 1));
        }
        match Board::read(&cells.iter().collect::<String>()) {
            Some(_) => Mark::right("every row, column and box has each digit once"),
            None => Mark::wrong("a digit comes twice in a row, column or box"),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        rows(&instance.solution).collect::<Vec<_>>().join("\n")
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Every row has each digit, which is the most that can be had without looking at columns.
        let filled = rows(&instance.clues).map(|row| {
            let mut missing: Vec<char> = ('1'..='9').filter(|digit| !row.contains(*digit)).collect();
            missing.shuffle(rng);
            row.chars().map(|clue| if clue == '.' { missing.pop().unwrap_or(clue) } else { clue }).collect::<String>()
        });
        filled.collect::<Vec<_>>().join("\n")
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Two cells of a row change places: another grid than the only solution.
        let mut cells = instance.solution.clone().into_bytes();
        let empty: Vec<usize> = (0..CELLS).filter(|cell| letter(&instance.clues, *cell) == '.').collect();
        let pairs: Vec<(usize, usize)> = empty
            .iter()
            .flat_map(|left| empty.iter().map(move |right| (*left, *right)))
            .filter(|(left, right)| left < right && left / 9 == right / 9)
            .collect();
        // More than nine cells are empty, so that two are in the same row.
        if !pairs.is_empty() {
            let (left, right) = pairs[rng.random_range(0..pairs.len())];
            cells.swap(left, right);
        }
        rows(&String::from_utf8_lossy(&cells)).collect::<Vec<_>>().join("\n")
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut tried = 0;
        if let Some(mut board) = Board::read(&instance.clues) {
            board.solve(&mut board.empty_cells(), &mut tried);
        }
        f64::from(tried)
    }
}

/// The nine rows of 81 letters.
fn rows(cells: &str) -> impl Iterator<Item = &str> {
    (0..CELLS).step_by(9).filter_map(|start| cells.get(start..start + 9))
}

fn letter(cells: &str, cell: usize) -> char {
    cells.as_bytes().get(cell).copied().map_or('.', char::from)
}

/// The digits of a grid, however it is drawn: with spaces, commas, brackets, quotes or lines of `|`, `-` and `+` between.
fn read_cells(answer: &str) -> Option<Vec<char>> {
    let cells: Vec<char> =
        answer.chars().filter(|letter| !letter.is_whitespace() && !",;[]\"'|+-".contains(*letter)).collect();
    (cells.len() == CELLS && cells.iter().all(|cell| ('1'..='9').contains(cell))).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance(difficulty: f64) -> Instance {
        let mut rng = seeded(&[b"sudoku"]);
        (0..100).find_map(|_| Sudoku.generate(&mut rng, difficulty, &mut Draws::default()).ok()).expect("a problem")
    }

    #[test]
    fn the_solution_is_right_however_it_is_drawn() {
        let instance = instance(0.5);
        let drawn = Sudoku.solution(&instance);
        let spaced: String = instance.solution.chars().flat_map(|digit| [digit, ' ']).collect();
        let ruled = drawn.replace('\n', "|\n------+------\n|");
        let json = serde_json::to_string(&rows(&instance.solution).collect::<Vec<_>>()).expect("JSON");
        for answer in [&drawn, &instance.solution, &spaced, &ruled, &json] {
            assert_eq!(Sudoku.check(&instance, answer).score, 1.0, "{answer}");
        }
    }

    #[test]
    fn other_grids_and_what_is_no_grid_are_wrong() {
        let instance = instance(0.5);
        // Digits renamed: a grid by the rules, but with other clues.
        let renamed: String = instance
            .solution
            .chars()
            .map(|digit| if digit == '9' { '1' } else { char::from(digit as u8 + 1) })
            .collect();
        let repeated = format!("{0}\n{0}", instance.solution);
        let zeros = instance.solution.replace('1', "0");
        let wide: String = instance.solution.replace('1', "１");
        let row = "123456789".repeat(9);
        for answer in ["", &instance.clues, &renamed, &repeated, &zeros, &wide, &row, &instance.solution[1..], "NaN"] {
            assert_eq!(Sudoku.check(&instance, answer).score, 0.0, "{answer}");
        }
        assert!(Sudoku.check(&instance, &renamed).evidence.starts_with("the clue in row"));
    }

    #[test]
    fn a_grid_with_other_names_of_digits_is_the_same_content() {
        let one = instance(1.0);
        let swap = |text: &str| text.replace('1', "x").replace('2', "1").replace('x', "2");
        let other = Instance { clues: swap(&one.clues), solution: swap(&one.solution) };
        assert_ne!(one.clues, other.clues);
        assert_eq!(Sudoku.content(&one), Sudoku.content(&other));
    }
}

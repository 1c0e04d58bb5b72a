//! Walking on squares: what puzzles share in which somebody goes up, down, left and right.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use palestra_environment::Input;
use palestra_environment::tool::function;
use palestra_environment::verifier::final_answer::extract;

/// Moves that one turn may hold.
pub(super) const MOVES_PER_TURN_MAX: usize = 100;

/// A place: row and column, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Cell(pub(super) u8, pub(super) u8);

/// Where one can walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
    Left,
    Right,
}

impl Direction {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Up, Self::Down, Self::Left, Self::Right];

    /// As it is written in answers.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Left => "left",
            Self::Right => "right",
        }
    }

    /// Its first letter.
    pub(super) fn letter(self) -> char {
        self.word().chars().next().unwrap_or_default()
    }

    /// The direction with this first letter.
    pub(super) fn of_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.letter() == letter)
    }

    /// The direction that a word or a letter names, in any case.
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| {
            let name = direction.word();
            word.eq_ignore_ascii_case(name) || word.eq_ignore_ascii_case(&name[..1])
        })
    }

    /// The way back.
    pub(super) const fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// The next place; at the edge the same one, which there is always wall.
    pub(super) const fn from(self, Cell(row, column): Cell) -> Cell {
        match self {
            Self::Up => Cell(row.saturating_sub(1), column),
            Self::Down => Cell(row.saturating_add(1), column),
            Self::Left => Cell(row, column.saturating_sub(1)),
            Self::Right => Cell(row, column.saturating_add(1)),
        }
    }
}

/// The tool by which one walks.
pub(super) fn move_tool() -> Value {
    let words: Vec<&str> = Direction::ALL.iter().map(|direction| direction.word()).collect();
    function(
        "move",
        "Makes moves in order.",
        json!({
            "type": "object", "required": ["directions"], "additionalProperties": false,
            "properties": {"directions": {
                "type": "array", "items": {"enum": words}, "minItems": 1, "maxItems": MOVES_PER_TURN_MAX
            }}
        }),
    )
}

/// The moves of a turn; `None` when it cannot be read.
pub(super) fn read_moves(input: Input<'_>) -> Option<Vec<Direction>> {
    match input {
        Input::Text(text) => read_words(extract(text)),
        Input::Call { arguments, .. } => {
            let words = arguments.get("directions")?.as_array()?.iter().take(MOVES_PER_TURN_MAX);
            words.map(|word| Direction::of_word(word.as_str()?)).collect()
        }
    }
}

/// Words or single letters, separated by spaces, commas or line breaks; nothing else may stand between.
fn read_words(text: &str) -> Option<Vec<Direction>> {
    let words = text.split([' ', ',', '\n', '\r', '\t']).filter(|word| !word.is_empty());
    let moves: Option<Vec<Direction>> = words.take(MOVES_PER_TURN_MAX + 1).map(Direction::of_word).collect();
    moves.filter(|moves| (1..=MOVES_PER_TURN_MAX).contains(&moves.len()))
}

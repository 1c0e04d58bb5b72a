//! `puzzle/battleship`: find hidden ships by shots, with counts of rows and columns as clues. Many turns.

mod gunner;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::square::{Square, draw};
use crate::facts::{Category, Facts};
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::{Input, Reaction};

/// Side of the smallest sea.
const SIZE_MIN: usize = 7;

/// Lengths of the ships, longest first, for seas from [`SIZE_MIN`] on.
const FLEETS: [&[usize]; 4] =
    [&[3, 2, 2, 1, 1], &[3, 3, 2, 2, 1, 1], &[4, 3, 2, 2, 2, 1, 1, 1], &[4, 3, 3, 2, 2, 2, 1, 1, 1, 1]];

/// Number of attempts to place a ship until a fleet counts as not fitting.
const PLACINGS_MAX: usize = 60;

/// A ship lies inside the sea and touches no other.
static FITTING: Requirement = Requirement::new("fitting", "a ship lies inside the sea and touches no other", 0.75);

/// Every ship finds a place in as many draws as are made.
static FLEET: Requirement = Requirement::new("fleet", "every ship finds a place in as many draws as are made", 0.05);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Battleship;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The squares of each ship.
    ships: Vec<Vec<Square>>,
    size: usize,
    shots_max: usize,
    /// Rows whose count is not told.
    silent_rows: Vec<usize>,
    /// Columns whose count is not told.
    silent_columns: Vec<usize>,
}

/// The shots so far, all different.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    shots: Vec<Square>,
}

/// Knowledge of a player about a square.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    Water,
    /// A part of a ship of which other parts are not hit.
    Hit,
    /// A part of a ship that is hit everywhere.
    Sunk,
}

impl Puzzle for Battleship {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "battleship",
            version: 1,
            category: Category::Grid,
            tags: &["hidden-information"],
            multi_turn: true,
            description: "Sink a hidden fleet with a limited number of shots; the ship squares of most rows and columns are counted.",
            rule: "Every square of every ship has to be hit.",
            scale: "Seas from 7 by 7 to 10 by 10 with more ships, and fewer rows and columns counted.",
            effort: "Shoots where the counts say that a ship must be or most likely is; shots fired.",
            floor: 0.01,
            heavy: false,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "shoot",
            "Fires one shot.",
            json!({
                "type": "object", "required": ["square"], "additionalProperties": false,
                "properties": {"square": {"type": "string", "description": "Column and row, such as b3."}}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        json!({
            "type": "object", "required": ["rows", "shots_left"],
            "properties": {"rows": {"type": "array", "items": {"type": "string"}}, "shots_left": {"type": "integer"}}
        })
    }

    fn steps_max(&self) -> u64 {
        // Turns that are no shot are answered with an error: there is room for as many of them.
        100
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let size = usize::try_from(scale(difficulty, 7, 10))?;
        let misses = usize::try_from(scale(difficulty, 8, 11))?;
        let silent = usize::try_from(scale(difficulty, 0, 4))?;
        let mut ships: Vec<Vec<Square>> = Vec::new();
        for length in fleet(size) {
            let ship = draws.until(&FITTING, PLACINGS_MAX, |draws| {
                let ship = random_ship(rng, size, *length);
                let fits = fits(&ships, &ship, size);
                draws.note_part("row", ship[0].row, fits);
                draws.note_part("column", ship[0].column, fits);
                fits.then_some(ship)
            });
            ships.push(ship.ok_or(&FLEET)?);
        }
        let shots_max = ships.iter().map(Vec::len).sum::<usize>() + misses;
        let mut lines = || {
            let mut lines: Vec<usize> = (0..size).collect();
            lines.shuffle(rng);
            lines.truncate(silent);
            lines.sort_unstable();
            lines
        };
        let (silent_rows, silent_columns) = (lines(), lines());
        Ok(Instance { ships, size, shots_max, silent_rows, silent_columns })
    }

    fn content(&self, instance: &Instance) -> Value {
        let mut squares: Vec<&Square> = instance.ships.iter().flatten().collect();
        squares.sort_unstable();
        json!([instance.size, squares])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        let (rows, columns) = counts(instance);
        json!({
            "size": instance.size, "fleet": fleet(instance.size), "row_counts": rows, "column_counts": columns,
            "shots_max": instance.shots_max
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let size = instance.size;
        let lengths: Vec<String> = fleet(size).iter().map(usize::to_string).collect();
        let (rows, columns) = counts(instance);
        let lines = |counts: &[Option<usize>]| {
            let counts = counts.iter().map(|count| count.map_or_else(|| "?".to_owned(), |count| count.to_string()));
            counts.collect::<Vec<_>>().join(" ")
        };
        format!(
            "Sink a fleet that is hidden in a sea of {size} by {size} squares. Its ships have the lengths {}; each lies straight, \
             across or down. Ships do not touch each other, not even at a corner. A ship is sunk when all its squares are hit.\n\
             Columns have letters, rows have numbers: b3 is in the second column and the third row.\n\
             Ship squares in each row, from row 1 (? is not told): {}\n\
             Ship squares in each column, from column a: {}\n\
             You have {} shots. Fire one a turn by naming a square, such as: b3. Or think first and put it into <answer></answer>; \
             or call the tool `shoot`. What you have found is drawn: ? unknown, ~ water, X hit, # sunk.",
            lengths.join(", "),
            lines(&rows),
            lines(&columns),
            instance.shots_max
        )
    }

    fn start(&self, _instance: &Instance) -> Progress {
        Progress { shots: Vec::new() }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        show(instance, progress, "")
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let name = match input {
            Input::Text(text) => extract(text),
            Input::Call { arguments, .. } => arguments.get("square").and_then(Value::as_str).unwrap_or_default(),
        };
        let square = Square::read(name.trim(), instance.size);
        let Some(square) = square.filter(|square| !progress.shots.contains(square)) else {
            let fault = if square.is_some() {
                "Error: you have already shot there; it costs nothing."
            } else {
                "Error: that is no shot; it costs nothing. A shot is the name of one square, such as b3, nothing else."
            };
            return Reaction { observation: show(instance, progress, fault), ..Reaction::default() };
        };
        progress.shots.push(square);
        let outcome = match seen(instance, &progress.shots, square) {
            Seen::Sunk => format!("{square}: hit. A ship is sunk."),
            Seen::Hit => format!("{square}: hit."),
            _ => format!("{square}: water."),
        };
        let terminated = progress.shots.len() >= instance.shots_max || all_sunk(instance, progress);
        Reaction { observation: show(instance, progress, &outcome), terminated, ..Reaction::default() }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let fired = &progress.shots[..progress.shots.len().min(instance.shots_max)];
        let hit = instance.ships.iter().flatten().filter(|square| fired.contains(square)).count();
        let squares = instance.ships.iter().flatten().count();
        let score = if hit == squares { 1.0 } else { 0.0 };
        Judgement::single(
            "fleet_sunk",
            score,
            format!("{hit} of {squares} ship squares are hit, by {} shots", fired.len()),
        )
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        instance.ships.iter().flatten().map(shot).collect()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        Action::Text(random_square(rng, instance.size).to_string())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // All but one ship square, in random order, and shots into the water until none is left.
        let mut squares: Vec<Square> = instance.ships.iter().flatten().copied().collect();
        let mut water: Vec<Square> = Square::all(instance.size).filter(|square| !squares.contains(square)).collect();
        squares.swap_remove(rng.random_range(0..squares.len()));
        squares.shuffle(rng);
        water.shuffle(rng);
        squares.iter().chain(&water).take(instance.shots_max).map(shot).collect()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let shots = gunner::shots(instance).len();
        u32::try_from(shots).map_or(f64::INFINITY, f64::from)
    }
}

fn shot(square: &Square) -> Action {
    call("shoot", "square", json!(square.to_string()))
}

fn fleet(size: usize) -> &'static [usize] {
    size.checked_sub(SIZE_MIN).and_then(|index| FLEETS.get(index)).copied().unwrap_or_default()
}

fn random_square(rng: &mut ChaCha8Rng, size: usize) -> Square {
    Square { row: rng.random_range(0..size), column: rng.random_range(0..size) }
}

/// A ship that begins on the board; it may lead out of it.
fn random_ship(rng: &mut ChaCha8Rng, size: usize, length: usize) -> Vec<Square> {
    let Square { row, column } = random_square(rng, size);
    let down = rng.random_bool(0.5);
    let part = |step| if down { Square { row: row + step, column } } else { Square { row, column: column + step } };
    (0..length).map(part).collect()
}

/// True if a ship lies inside and touches no other.
fn fits(ships: &[Vec<Square>], ship: &[Square], size: usize) -> bool {
    let inside = ship.iter().all(|square| square.row < size && square.column < size);
    let apart = |one: &Square, other: &Square| one.row.abs_diff(other.row) > 1 || one.column.abs_diff(other.column) > 1;
    inside && ships.iter().flatten().all(|other| ship.iter().all(|square| apart(square, other)))
}

/// Ship squares of each row and each column, where they are told.
fn counts(instance: &Instance) -> (Vec<Option<usize>>, Vec<Option<usize>>) {
    let squares = || instance.ships.iter().flatten();
    let rows = (0..instance.size).map(|row| {
        let told = !instance.silent_rows.contains(&row);
        told.then(|| squares().filter(|square| square.row == row).count())
    });
    let columns = (0..instance.size).map(|column| {
        let told = !instance.silent_columns.contains(&column);
        told.then(|| squares().filter(|square| square.column == column).count())
    });
    (rows.collect(), columns.collect())
}

fn all_sunk(instance: &Instance, progress: &Progress) -> bool {
    instance.ships.iter().flatten().all(|square| progress.shots.contains(square))
}

/// Result of the shots for a square.
fn seen(instance: &Instance, shots: &[Square], square: Square) -> Seen {
    if !shots.contains(&square) {
        return Seen::Nothing;
    }
    match instance.ships.iter().find(|ship| ship.contains(&square)) {
        None => Seen::Water,
        Some(ship) if ship.iter().all(|part| shots.contains(part)) => Seen::Sunk,
        Some(_) => Seen::Hit,
    }
}

fn show(instance: &Instance, progress: &Progress, before: &str) -> Observation {
    let letter = |square| match seen(instance, &progress.shots, square) {
        Seen::Nothing => '?',
        Seen::Water => '~',
        Seen::Hit => 'X',
        Seen::Sunk => '#',
    };
    let size = instance.size;
    let rows: Vec<String> =
        (0..size).map(|row| (0..size).map(|column| letter(Square { row, column })).collect()).collect();
    let left = instance.shots_max.saturating_sub(progress.shots.len());
    let after = if all_sunk(instance, progress) { " The fleet is sunk." } else { "" };
    let before = if before.is_empty() { String::new() } else { format!("{before}\n") };
    let text = format!("{before}{}\nShots left: {left}.{after}", draw(rows.iter().map(String::as_str), size));
    Observation { data: json!({"rows": rows, "shots_left": left}), ..Observation::text(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> Instance {
        let ship = |squares: &[&str]| squares.iter().map(|name| Square::read(name, 7).expect("a square")).collect();
        let ships = vec![ship(&["b2", "b3"]), ship(&["d7"])];
        Instance { ships, size: 7, shots_max: 4, silent_rows: vec![1], silent_columns: Vec::new() }
    }

    #[test]
    fn counts_say_how_many_ship_squares_lie_in_a_line() {
        let (rows, columns) = counts(&instance());
        assert_eq!(rows, [Some(0), None, Some(1), Some(0), Some(0), Some(0), Some(1)]);
        assert_eq!(columns, [0, 2, 0, 1, 0, 0, 0].map(Some));
    }

    #[test]
    fn the_last_hit_ends_it_and_only_shots_show_anything() {
        let instance = instance();
        let mut progress = Battleship.start(&instance);
        let reaction = Battleship.act(&instance, &mut progress, Input::Text("B3"));
        assert_eq!(reaction.observation.data["rows"][2], "?X?????");
        assert_eq!(reaction.observation.text.matches('?').count(), 48);
        let reaction = Battleship.act(&instance, &mut progress, Input::Text("<answer>b2</answer>"));
        assert!(reaction.observation.text.starts_with("b2: hit. A ship is sunk.") && !reaction.terminated);
        assert_eq!(reaction.observation.data["rows"][2], "?#?????");
        let arguments = json!({"square": "d7"});
        let call = Input::Call { tool: "shoot", arguments: arguments.as_object().expect("an object") };
        assert!(Battleship.act(&instance, &mut progress, call).terminated);
        assert_eq!(Battleship.judge(&instance, &progress).checks[0].score, 1.0);
    }

    #[test]
    fn shots_run_out_and_what_is_no_new_shot_costs_none() {
        let instance = instance();
        let mut progress = Battleship.start(&instance);
        Battleship.act(&instance, &mut progress, Input::Text("a1"));
        for text in ["", "a1", "A1", "h1", "a8", "a0", "b2 b3", "b", "ｂ2", "all"] {
            let reaction = Battleship.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error") && !reaction.terminated, "{text}");
        }
        assert_eq!(progress.shots.len(), 1);
        let ended =
            ["a2", "b2", "b3"].map(|name| Battleship.act(&instance, &mut progress, Input::Text(name)).terminated);
        assert_eq!(ended, [false, false, true]);
        assert_eq!(Battleship.judge(&instance, &progress).checks[0].score, 0.0);
    }
}

//! `puzzle/lights_out`: turn all lights off, where every press also switches the lights beside. Many turns.

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

/// Presses that one turn may hold.
const PRESSES_PER_TURN_MAX: usize = 100;

/// Squares of a board that are missing.
const HOLES: usize = 3;

/// Fewer presses are too easily found by trying.
const PRESSES_NEEDED_MIN: usize = 3;

/// Independent sets of presses that change nothing, beyond which the shortest solution is not looked for.
const IDLE_MAX: usize = 6;

/// So few sets of presses change nothing that the shortest solution is known.
static FEW_IDLE: Requirement =
    Requirement::new("few_idle", "so few sets of presses change nothing that the shortest solution is known", 0.03);

/// The lights need more than a few presses.
static PRESSES: Requirement = Requirement::new("presses", "the lights need more than a few presses", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct LightsOut;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The board in its beginning: `O` a light that is on, `.` one that is off, `#` no light.
    rows: Vec<String>,
    presses_max: usize,
    /// The fewest presses that turn all lights off, by names with spaces between.
    solution: String,
}

/// State of the lights.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    rows: Vec<String>,
    presses: usize,
}

impl Puzzle for LightsOut {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "lights_out",
            version: 1,
            category: Category::Grid,
            tags: &["planning"],
            multi_turn: true,
            description: "Turn all lights of a board off, where a press switches a light and those beside it.",
            rule: "Every light has to be off.",
            scale: "Boards from 5 by 5 to 9 by 9, more presses needed, and fewer presses to spare.",
            effort: "Solves the equations of all lights by elimination; additions of equations.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "press",
            "Presses lights in order.",
            json!({
                "type": "object", "required": ["lights"], "additionalProperties": false,
                "properties": {"lights": {
                    "type": "array", "minItems": 1, "maxItems": PRESSES_PER_TURN_MAX,
                    "items": {"type": "string", "description": "Column and row, such as b3."}
                }}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        json!({
            "type": "object", "required": ["rows", "presses_left"],
            "properties": {"rows": {"type": "array", "items": {"type": "string"}}, "presses_left": {"type": "integer"}}
        })
    }

    fn steps_max(&self) -> u64 {
        // Room for single presses and as many turns that are none.
        100
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let size = usize::try_from(scale(difficulty, 5, 9))?;
        let presses = usize::try_from(scale(difficulty, 4, 18))?;
        let spare = usize::try_from(scale(difficulty, 12, 4))?;
        let mut squares: Vec<Square> = Square::all(size).collect();
        squares.shuffle(rng);
        let mut rows = vec![".".repeat(size); size];
        let (holes, lights) = squares.split_at(HOLES);
        holes.iter().for_each(|hole| set(&mut rows, *hole, '#'));
        lights.iter().take(presses).for_each(|light| press(&mut rows, *light));
        draws.note("size", size);
        let (needed, _) = fewest_presses(&rows).map_err(|unsolved| match unsolved {
            Unsolved::Idle => Refusal::from(&FEW_IDLE),
            Unsolved::Never => Refusal::fault("what was pressed cannot be undone"),
        })?;
        let solution: Vec<String> = needed.iter().map(Square::to_string).collect();
        let presses_max = needed.len() + spare;
        PRESSES.demand(needed.len() >= PRESSES_NEEDED_MIN)?;
        Ok(Instance { rows, presses_max, solution: solution.join(" ") })
    }

    fn content(&self, instance: &Instance) -> Value {
        json!(instance.rows)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"rows": instance.rows, "presses_max": instance.presses_max})
    }

    fn prompt(&self, instance: &Instance) -> String {
        format!(
            "Turn all lights off. A press on a light switches it and the lights directly above, below, left and right of it: what \
             is on goes off, and what is off goes on. Where there is no light nothing can be pressed and nothing switches.\n\
             O on, . off, # no light. Columns have letters, rows have numbers: b3 is in the second column and the third row.\n\
             The beginning:\n{}\n\
             You have {} presses. Answer with up to {PRESSES_PER_TURN_MAX} of them, such as: a1 b3. Or think first and put them \
             into <answer></answer>; or call the tool `press` with {{\"lights\": [\"a1\", \"b3\"]}}.",
            drawing(&instance.rows),
            instance.presses_max
        )
    }

    fn start(&self, instance: &Instance) -> Progress {
        Progress { rows: instance.rows.clone(), presses: 0 }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        show(instance, progress, "")
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let Some(lights) = read_presses(&instance.rows, input) else {
            let text = format!(
                "Error: nothing was pressed. A turn is 1 to {PRESSES_PER_TURN_MAX} names of lights, such as a1 b3, and there has \
                 to be a light at each.\n"
            );
            return Reaction { observation: show(instance, progress, &text), ..Reaction::default() };
        };
        for light in lights {
            if over(instance, progress) {
                break;
            }
            progress.presses += 1;
            press(&mut progress.rows, light);
        }
        let observation = show(instance, progress, "");
        Reaction { observation, terminated: over(instance, progress), ..Reaction::default() }
    }

    fn judge(&self, _instance: &Instance, progress: &Progress) -> Judgement {
        let on = lights_on(&progress.rows);
        let score = if on == 0 { 1.0 } else { 0.0 };
        Judgement::single("lights_off", score, format!("{on} lights are on after {} presses", progress.presses))
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        vec![call("press", "lights", json!(instance.solution.split(' ').collect::<Vec<_>>()))]
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        let size = instance.rows.len();
        let lights: Vec<Square> = Square::all(size).filter(|square| square.on(&instance.rows) != Some('#')).collect();
        Action::Text(lights[rng.random_range(0..lights.len())].to_string())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // Some of the presses that are needed: were they enough, the solution would not be the shortest.
        let mut lights: Vec<&str> = instance.solution.split(' ').collect();
        lights.shuffle(rng);
        lights.truncate(rng.random_range(1..lights.len().max(2)));
        vec![call("press", "lights", json!(lights))]
    }

    fn effort(&self, instance: &Instance) -> f64 {
        fewest_presses(&instance.rows).map_or(0.0, |(_, additions)| f64::from(additions))
    }
}

fn over(instance: &Instance, progress: &Progress) -> bool {
    progress.presses >= instance.presses_max || lights_on(&progress.rows) == 0
}

fn lights_on(rows: &[String]) -> usize {
    rows.iter().map(|row| row.matches('O').count()).sum()
}

fn drawing(rows: &[String]) -> String {
    draw(rows.iter().map(String::as_str), rows.len())
}

fn show(instance: &Instance, progress: &Progress, before: &str) -> Observation {
    let left = instance.presses_max.saturating_sub(progress.presses);
    let after = if lights_on(&progress.rows) == 0 { " All lights are off." } else { "" };
    let text = format!("{before}{}\nPresses left: {left}.{after}", drawing(&progress.rows));
    Observation { data: json!({"rows": progress.rows, "presses_left": left}), ..Observation::text(text) }
}

/// Switches a light and those beside it.
fn press(rows: &mut [String], light: Square) {
    for square in light.beside(rows.len()).chain([light]) {
        match square.on(rows) {
            Some('O') => set(rows, square, '.'),
            Some('.') => set(rows, square, 'O'),
            _ => {}
        }
    }
}

fn set(rows: &mut [String], square: Square, letter: char) {
    let row = &mut rows[square.row];
    *row = row.chars().enumerate().map(|(column, old)| if column == square.column { letter } else { old }).collect();
}

/// Names of lights with spaces, commas or line breaks between; `None` when one of them is no light of the board.
fn read_presses(rows: &[String], input: Input<'_>) -> Option<Vec<Square>> {
    let read = |name: &str| Square::read(name, rows.len()).filter(|square| square.on(rows) != Some('#'));
    let lights: Option<Vec<Square>> = match input {
        Input::Text(text) => {
            let names = extract(text).split([' ', ',', '\n', '\r', '\t']).filter(|name| !name.is_empty());
            names.take(PRESSES_PER_TURN_MAX + 1).map(read).collect()
        }
        Input::Call { arguments, .. } => {
            let names = arguments.get("lights")?.as_array()?.iter().take(PRESSES_PER_TURN_MAX + 1);
            names.map(|name| read(name.as_str()?)).collect()
        }
    };
    lights.filter(|lights| (1..=PRESSES_PER_TURN_MAX).contains(&lights.len()))
}

/// Reason why the fewest presses are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsolved {
    /// No presses turn all lights off.
    Never,
    /// Too many sets of presses change nothing, to try them all.
    Idle,
}

/// The fewest presses that turn all lights off, and the additions of equations that it took to find them.
///
/// Presses are their own inverse and their order does not matter, so that each light is an equation over the field of two
/// elements: the sum of the presses on it and beside it is whether it is on. Gauss-Jordan elimination solves them.
fn fewest_presses(rows: &[String]) -> Result<(Vec<Square>, u32), Unsolved> {
    let size = rows.len();
    let lights: Vec<Square> = Square::all(size).filter(|square| square.on(rows) != Some('#')).collect();
    // One equation per light: bit `i` for press `i`, and the sum as the bit after all presses.
    let sum = 1_u128 << lights.len();
    let mut equations: Vec<u128> = Vec::new();
    for light in &lights {
        let switching = light.beside(size).chain([*light]).filter_map(|square| lights.binary_search(&square).ok());
        let presses = switching.fold(0, |bits, index| bits | 1 << index);
        equations.push(if light.on(rows) == Some('O') { presses | sum } else { presses });
    }
    let mut additions = 0;
    let mut pivots: Vec<usize> = Vec::new();
    for press in 0..lights.len() {
        let rank = pivots.len();
        let Some(found) = (rank..equations.len()).find(|row| equations[*row] >> press & 1 == 1) else { continue };
        equations.swap(rank, found);
        let pivot = equations[rank];
        for (row, equation) in equations.iter_mut().enumerate() {
            if row != rank && *equation >> press & 1 == 1 {
                *equation ^= pivot;
                additions += 1;
            }
        }
        pivots.push(press);
    }
    if equations[pivots.len()..].iter().any(|equation| *equation != 0) {
        return Err(Unsolved::Never);
    }
    let idle: Vec<usize> = (0..lights.len()).filter(|press| !pivots.contains(press)).collect();
    if idle.len() > IDLE_MAX {
        return Err(Unsolved::Idle);
    }
    let shortest = (0..1_usize << idle.len()).map(|choice| {
        let chosen = idle.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
        let chosen = chosen.fold(sum, |bits, (_, press)| bits | 1 << press);
        // What a pivot has to be follows from the presses chosen in its equation.
        let pressed = pivots.iter().zip(&equations).filter(|(_, equation)| (*equation & chosen).count_ones() % 2 == 1);
        pressed.fold(chosen ^ sum, |bits, (press, _)| bits | 1 << press)
    });
    let shortest = shortest.min_by_key(|presses| presses.count_ones()).ok_or(Unsolved::Never)?;
    let pressed = lights.into_iter().enumerate().filter(|(index, _)| shortest >> index & 1 == 1);
    Ok((pressed.map(|(_, light)| light).collect(), additions))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    fn instance() -> Instance {
        Instance { rows: rows(&["OO.", "O#.", "..."]), presses_max: 3, solution: "a1".to_owned() }
    }

    #[test]
    fn the_fewest_presses_are_those_of_trying_all() {
        for lit in 0..1_usize << 9 {
            let mut board = rows(&["...", ".#.", "..."]);
            let lights: Vec<Square> = Square::all(3).filter(|square| square.on(&board) == Some('.')).collect();
            lights
                .iter()
                .enumerate()
                .filter(|(index, _)| lit >> index & 1 == 1)
                .for_each(|(_, light)| set(&mut board, *light, 'O'));
            let all = (0..1_usize << lights.len()).filter(|choice| {
                let mut pressed = board.clone();
                lights
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| choice >> index & 1 == 1)
                    .for_each(|(_, light)| press(&mut pressed, *light));
                lights_on(&pressed) == 0
            });
            let fewest = all.map(usize::count_ones).min();
            let found = fewest_presses(&board).ok().map(|(presses, _)| u32::try_from(presses.len()).expect("few"));
            assert_eq!(found, fewest, "{board:?}");
        }
    }

    #[test]
    fn the_last_light_ends_it() {
        let instance = instance();
        let mut progress = LightsOut.start(&instance);
        let reaction = LightsOut.act(&instance, &mut progress, Input::Text("I see. <answer>A1, c3</answer>"));
        assert!(reaction.terminated);
        assert_eq!(progress.presses, 1, "presses after the solution are not made");
        assert_eq!(LightsOut.judge(&instance, &progress).checks[0].score, 1.0);
    }

    #[test]
    fn presses_run_out_and_what_cannot_be_read_costs_none() {
        let instance = instance();
        let mut progress = LightsOut.start(&instance);
        let long = "a1 ".repeat(PRESSES_PER_TURN_MAX + 1);
        for text in ["", "b2", "a4", "a1;a2", "1a", "a1 please", "ａ1", &long] {
            let reaction = LightsOut.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error") && !reaction.terminated, "{text:.20}");
        }
        assert_eq!((progress.presses, &progress.rows), (0, &instance.rows));
        let arguments = json!({"lights": ["c3", "c3"]});
        let call = Input::Call { tool: "press", arguments: arguments.as_object().expect("an object") };
        assert!(!LightsOut.act(&instance, &mut progress, call).terminated);
        assert_eq!(progress.rows, instance.rows, "pressing twice changes nothing");
        assert!(LightsOut.act(&instance, &mut progress, Input::Text("c3 a1")).terminated);
        assert_eq!(progress.presses, 3);
        assert_eq!(LightsOut.judge(&instance, &progress).checks[0].score, 0.0);
    }
}

//! `puzzle/sokoban`: push boxes onto goals. Many turns, and pushes that cannot be undone, so that forks are worth something.

mod level;
mod solver;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::level::{Grid, Moved};
use crate::facts::{Category, Facts};
use crate::walk::{self, Cell, Direction, MOVES_PER_TURN_MAX};
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal};
use palestra_environment::verifier::Judgement;
use palestra_environment::{Input, Reaction};

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sokoban;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The level in its beginning, in the usual letters.
    rows: Vec<String>,
    moves_max: u32,
    /// Moves that solve it, as letters.
    solution: String,
}

/// Where everything stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    player: Cell,
    /// In order, so that two boxes that swap places are the same state.
    boxes: Vec<Cell>,
    moves: u32,
}

impl Puzzle for Sokoban {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "sokoban",
            version: 2,
            category: Category::Grid,
            tags: &["planning"],
            multi_turn: true,
            description: "Push one to three boxes onto the goals of a small warehouse; boxes cannot be pulled.",
            rule: "Every box has to stand on a goal.",
            scale: "Larger rooms, more boxes, more pushes.",
            effort: "Searches over pushes, the most promising first (A*); positions gone on from, of 500 at most.",
            floor: 0.05,
            heavy: true,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![walk::move_tool()]
    }

    fn observation_schema(&self) -> Value {
        json!({
            "type": "object", "required": ["rows", "moves_left"],
            "properties": {"rows": {"type": "array", "items": {"type": "string"}}, "moves_left": {"type": "integer"}}
        })
    }

    fn steps_max(&self) -> u64 {
        500
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let side = scale(difficulty, 6, 9);
        let boxes = scale(difficulty, 1, 3);
        let pulls = scale(difficulty, 5, 24);
        draws.note("side", side);
        draws.note("boxes", boxes);
        let made = level::make(rng, side, boxes, pulls)?;
        let steps = u32::try_from(made.solution.len())?;
        let solution = made.solution.iter().map(|direction| direction.letter()).collect();
        Ok(Instance { rows: made.rows, moves_max: steps * 2 + 10, solution })
    }

    fn content(&self, instance: &Instance) -> Value {
        json!(instance.rows)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"rows": instance.rows, "moves_max": instance.moves_max})
    }

    fn prompt(&self, instance: &Instance) -> String {
        format!(
            "Push every box onto a goal. You walk up, down, left and right; walking into a box pushes it one place, if the place \
             behind it is free. Boxes cannot be pulled, and only one can be pushed at a time. Walking into a wall, or into a \
             box that cannot move, leaves everything as it is but counts as a move.\n\
             # wall, - floor, . goal, $ box, * box on a goal, @ you, + you on a goal\n\
             The beginning:\n{}\n\
             You have {} moves. Answer with up to {MOVES_PER_TURN_MAX} moves, such as: up up left. Or think first and put them \
             into <answer></answer>; or call the tool `move` with {{\"directions\": [\"up\", \"left\"]}}.",
            instance.rows.join("\n"),
            instance.moves_max
        )
    }

    fn start(&self, instance: &Instance) -> Progress {
        let (_, player, boxes) = Grid::read(&instance.rows);
        Progress { player, boxes, moves: 0 }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        let (grid, ..) = Grid::read(&instance.rows);
        show(instance, &grid, progress, "")
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let (grid, ..) = Grid::read(&instance.rows);
        let Some(directions) = walk::read_moves(input) else {
            let text = format!(
                "Error: nothing was moved. A turn is 1 to {MOVES_PER_TURN_MAX} of the words up, down, left and right.\n"
            );
            return Reaction { observation: show(instance, &grid, progress, &text), ..Reaction::default() };
        };
        let mut blocked = 0_u32;
        for direction in directions {
            if progress.moves >= instance.moves_max || grid.solved(&progress.boxes) {
                break;
            }
            progress.moves += 1;
            match grid.step(progress.player, &mut progress.boxes, direction) {
                Moved::To(cell) => progress.player = cell,
                Moved::Blocked => blocked += 1,
            }
        }
        let blocked = if blocked > 0 { format!("Moves against something: {blocked}.\n") } else { String::new() };
        let terminated = progress.moves >= instance.moves_max || grid.solved(&progress.boxes);
        Reaction { observation: show(instance, &grid, progress, &blocked), terminated, ..Reaction::default() }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let (grid, ..) = Grid::read(&instance.rows);
        let placed = grid.placed(&progress.boxes);
        let score = if grid.solved(&progress.boxes) { 1.0 } else { 0.0 };
        Judgement::single("boxes_on_goals", score, format!("{placed} of {} boxes are on goals", progress.boxes.len()))
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        let words: Vec<&str> =
            instance.solution.chars().filter_map(Direction::of_letter).map(Direction::word).collect();
        words.chunks(MOVES_PER_TURN_MAX).map(|turn| call("move", "directions", json!(turn))).collect()
    }

    fn guess(&self, _instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        Action::Text(Direction::ALL[rng.random_range(0..Direction::ALL.len())].word().to_owned())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // Stops somewhere before every box was on a goal for the first time.
        let (grid, mut player, mut boxes) = Grid::read(&instance.rows);
        let mut words = Vec::new();
        for direction in instance.solution.chars().filter_map(Direction::of_letter) {
            if let Moved::To(cell) = grid.step(player, &mut boxes, direction) {
                player = cell;
            }
            if grid.solved(&boxes) {
                break;
            }
            words.push(direction.word());
        }
        let made = rng.random_range(0..=words.len());
        words[..made].chunks(MOVES_PER_TURN_MAX).map(|turn| call("move", "directions", json!(turn))).collect()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        f64::from(solver::positions(&instance.rows))
    }
}

fn show(instance: &Instance, grid: &Grid, progress: &Progress, before: &str) -> Observation {
    let rows = grid.draw(progress.player, &progress.boxes);
    let left = instance.moves_max.saturating_sub(progress.moves);
    let after = if grid.solved(&progress.boxes) { " Every box is on a goal." } else { "" };
    let text = format!("{before}{}\nMoves left: {left}.{after}", rows.join("\n"));
    Observation { data: json!({"rows": rows, "moves_left": left}), ..Observation::text(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> Instance {
        let rows = ["######", "#@$-.#", "######"].map(str::to_owned).to_vec();
        Instance { rows, moves_max: 5, solution: "rr".to_owned() }
    }

    #[test]
    fn pushing_a_box_onto_its_goal_solves_it() {
        let instance = instance();
        let mut progress = Sokoban.start(&instance);
        let reaction = Sokoban.act(&instance, &mut progress, Input::Text("Right, r left"));
        assert!(reaction.terminated);
        assert_eq!(progress.moves, 2, "moves after the solution are not made");
        assert_eq!(reaction.observation.data["rows"][1], "#--@*#");
        assert_eq!(Sokoban.judge(&instance, &progress).checks[0].score, 1.0);
    }

    #[test]
    fn unreadable_turns_move_nothing_and_blocked_moves_count() {
        let instance = instance();
        let mut progress = Sokoban.start(&instance);
        let long = "up ".repeat(MOVES_PER_TURN_MAX + 1);
        for text in ["", "rl", "right please", "up;down", "ｕｐ", &long] {
            let reaction = Sokoban.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error"), "{text:.40}");
        }
        assert_eq!(progress.moves, 0);
        let reaction = Sokoban.act(&instance, &mut progress, Input::Text("up up up up up up"));
        assert!(reaction.terminated, "the moves ran out");
        assert!(reaction.observation.text.starts_with("Moves against something: 5."));
        assert_eq!(Sokoban.judge(&instance, &progress).checks[0].score, 0.0);
    }
}

//! `puzzle/sliding_tiles`: slide numbered tiles on a board with one gap into a given order. Many turns.

mod board;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::board::Board;
use crate::facts::{Category, Facts};
use crate::list::numbers;
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::{Input, Reaction};

/// Moves that one turn may hold.
const MOVES_PER_TURN_MAX: usize = 100;

/// The tiles are far from their places.
static FAR: Requirement = Requirement::new("far", "the tiles are far from their places", 0.25);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlidingTiles;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    start: Board,
    goal: Board,
    moves_max: usize,
    /// Tiles in the order in which they have to be moved.
    tiles: Vec<u8>,
}

/// State of the board.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    board: Board,
    moves: usize,
}

impl Puzzle for SlidingTiles {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "sliding_tiles",
            version: 1,
            category: Category::Sequential,
            tags: &["planning"],
            multi_turn: true,
            description: "Slide the tiles of a board of 3x3 to 4x4 places with one gap until they are in the order asked for.",
            rule: "The board has to be the one asked for, within the limit of moves.",
            scale: "Larger boards, more moves away from the order asked for, and fewer moves to spare.",
            effort: "Searches best first, guided by the distances of the tiles from their places; boards looked at.",
            floor: 0.05,
            heavy: false,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "slide",
            "Slides tiles into the gap, one after the other.",
            json!({
                "type": "object", "required": ["tiles"], "additionalProperties": false,
                "properties": {"tiles": {
                    "type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 15},
                    "minItems": 1, "maxItems": MOVES_PER_TURN_MAX
                }}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        json!({
            "type": "object", "required": ["board", "moves_left"],
            "properties": {
                "board": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                "moves_left": {"type": "integer"}
            }
        })
    }

    fn steps_max(&self) -> u64 {
        200
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let (rows, columns) = [(3, 3), (3, 4), (4, 4)][usize::try_from(scale(difficulty, 0, 2))?];
        let mut numbers: Vec<u8> = (0..rows * columns).collect();
        numbers.shuffle(rng);
        let goal = Board(numbers.chunks(usize::from(columns)).map(<[u8]>::to_vec).collect());
        let (mut start, mut tiles) = (goal.clone(), Vec::new());
        for _ in 0..scale(difficulty, 10, 60) {
            let mut movable = start.movable();
            // Moving the same tile twice would leave everything as it was.
            movable.retain(|tile| tiles.last() != Some(tile));
            let tile = *movable.choose(rng).ok_or_else(|| Refusal::fault("no tile can be moved"))?;
            start.slide(tile);
            tiles.push(tile);
        }
        tiles.reverse();
        let moves_max = tiles.len() + tiles.len() * usize::try_from(scale(difficulty, 100, 20))? / 100;
        draws.note("rows", rows);
        draws.note("columns", columns);
        // A walk that goes in circles is too easy.
        FAR.demand(start.apart(&goal) >= u32::try_from(tiles.len())? / 3 + 3)?;
        Ok(Instance { start, goal, moves_max, tiles })
    }

    fn content(&self, instance: &Instance) -> Value {
        json!([instance.start, instance.goal])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"start": instance.start, "goal": instance.goal, "moves_max": instance.moves_max})
    }

    fn prompt(&self, instance: &Instance) -> String {
        format!(
            "A board holds numbered tiles and one gap, shown as a dot. A move slides a tile that is next to the gap (left, right, \
             above or below) into it. Naming a tile that is not next to the gap leaves everything as it is but counts as a move.\n\
             The beginning:\n{}\nThe board to reach:\n{}\n\
             You have {} moves. Answer with the numbers of up to {MOVES_PER_TURN_MAX} tiles in the order in which they slide, such \
             as: 3 5 4. Or think first and put them into <answer></answer>; or call the tool `slide` with {{\"tiles\": [3, 5, 4]}}.",
            instance.start.draw(),
            instance.goal.draw(),
            instance.moves_max
        )
    }

    fn start(&self, instance: &Instance) -> Progress {
        Progress { board: instance.start.clone(), moves: 0 }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        show(instance, progress, "")
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let tiles = match input {
            Input::Text(text) => numbers(extract(text)),
            Input::Call { arguments, .. } => {
                let tiles = arguments.get("tiles").and_then(Value::as_array);
                tiles.and_then(|tiles| tiles.iter().map(Value::as_i64).collect())
            }
        };
        let known = |tile: &u8| instance.start.find(*tile).is_some() && *tile > 0;
        let tiles: Option<Vec<u8>> = tiles
            .filter(|tiles| (1..=MOVES_PER_TURN_MAX).contains(&tiles.len()))
            .and_then(|tiles| tiles.into_iter().map(|tile| u8::try_from(tile).ok().filter(known)).collect());
        let Some(tiles) = tiles else {
            let text = format!("Error: nothing was moved. A turn is the numbers of 1 to {MOVES_PER_TURN_MAX} tiles.\n");
            return Reaction { observation: show(instance, progress, &text), ..Reaction::default() };
        };
        let over = |progress: &Progress| progress.moves >= instance.moves_max || progress.board == instance.goal;
        let mut stuck = 0_u32;
        for tile in tiles {
            if over(progress) {
                break;
            }
            progress.moves += 1;
            stuck += u32::from(!progress.board.slide(tile));
        }
        let stuck = if stuck > 0 { format!("Moves of tiles not next to the gap: {stuck}.\n") } else { String::new() };
        Reaction { observation: show(instance, progress, &stuck), terminated: over(progress), ..Reaction::default() }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let reached = progress.board == instance.goal;
        let evidence = format!("{} after {} moves", if reached { "reached" } else { "not reached" }, progress.moves);
        Judgement::single("reaches_board", if reached { 1.0 } else { 0.0 }, evidence)
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        instance.tiles.chunks(MOVES_PER_TURN_MAX).map(|turn| call("slide", "tiles", json!(turn))).collect()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        let largest = instance.start.0.iter().flatten().max().copied().unwrap_or(1);
        Action::Text(rng.random_range(1..=largest).to_string())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // Stops somewhere before the board is reached for the first time.
        let mut board = instance.start.clone();
        let arrives = instance.tiles.iter().position(|tile| board.slide(*tile) && board == instance.goal).unwrap_or(0);
        let made = rng.random_range(0..=arrives);
        instance.tiles[..made].chunks(MOVES_PER_TURN_MAX).map(|turn| call("slide", "tiles", json!(turn))).collect()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        f64::from(instance.start.looked_at(&instance.goal))
    }
}

fn show(instance: &Instance, progress: &Progress, before: &str) -> Observation {
    let left = instance.moves_max.saturating_sub(progress.moves);
    let after = if progress.board == instance.goal { " The board is reached." } else { "" };
    let text = format!("{before}{}\nMoves left: {left}.{after}", progress.board.draw());
    Observation { data: json!({"board": progress.board, "moves_left": left}), ..Observation::text(text) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        let board = |rows: [[u8; 3]; 3]| Board(rows.map(|row| row.to_vec()).to_vec());
        Instance {
            start: board([[1, 2, 3], [4, 5, 6], [0, 7, 8]]),
            goal: board([[1, 2, 3], [4, 5, 6], [7, 8, 0]]),
            moves_max: 4,
            tiles: vec![7, 8],
        }
    }

    #[test]
    fn sliding_the_tiles_in_order_solves_it_in_one_turn_or_several() {
        let instance = instance();
        for turns in [&["7, 8, 8"][..], &["<answer>7</answer>", "8"], &["4 4", "[7 8]"]] {
            let mut progress = SlidingTiles.start(&instance);
            let reactions: Vec<Reaction> =
                turns.iter().map(|turn| SlidingTiles.act(&instance, &mut progress, Input::Text(turn))).collect();
            assert_eq!(reactions.iter().map(|reaction| reaction.terminated).collect::<Vec<_>>().last(), Some(&true));
            assert_eq!(SlidingTiles.judge(&instance, &progress).checks[0].score, 1.0, "{turns:?}");
        }
        let mut progress = SlidingTiles.start(&instance);
        SlidingTiles.act(&instance, &mut progress, Input::Text("7 8 8"));
        assert_eq!(progress.moves, 2, "moves after the solution are not made");
    }

    #[test]
    fn unreadable_turns_cost_nothing_and_impossible_moves_count() {
        let instance = instance();
        let mut progress = SlidingTiles.start(&instance);
        let long = "7 ".repeat(MOVES_PER_TURN_MAX + 1);
        for text in ["", "left", "0", "9", "-7", "7.5", "７", "7 8 x", "99999999999999999999", &long] {
            let reaction = SlidingTiles.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error") && !reaction.terminated, "{text:.40}");
        }
        let arguments = json!({"tiles": [7, 300]});
        let call = Input::Call { tool: "slide", arguments: arguments.as_object().expect("an object") };
        assert!(SlidingTiles.act(&instance, &mut progress, call).observation.text.starts_with("Error"));
        assert_eq!(progress.moves, 0);
        let reaction = SlidingTiles.act(&instance, &mut progress, Input::Text("1 2 3 5 7 8"));
        assert!(reaction.terminated, "the moves ran out");
        assert!(reaction.observation.text.starts_with("Moves of tiles not next to the gap: 4."));
        assert_eq!(SlidingTiles.judge(&instance, &progress).checks[0].score, 0.0);
    }

    #[test]
    fn made_boards_hold_every_tile_once_and_are_reached_by_their_tiles() {
        let mut rng = seeded(&[b"tiles"]);
        for difficulty in [0.0, 0.5, 1.0] {
            let made = SlidingTiles.generate(&mut rng, difficulty, &mut Draws::default()).expect("a problem");
            let mut board = made.start.clone();
            assert!(made.tiles.iter().all(|tile| board.slide(*tile)) && board == made.goal);
            let tiles: BTreeSet<u8> = board.0.iter().flatten().copied().collect();
            assert_eq!(tiles.len(), board.0.len() * board.0[0].len());
        }
    }
}

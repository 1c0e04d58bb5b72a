//! `puzzle/maze`: walk through a maze of which only the near squares are seen. Many turns.

use std::collections::VecDeque;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::walk::{self, Cell, Direction, MOVES_PER_TURN_MAX};
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::verifier::Judgement;
use palestra_environment::{Input, Reaction};

/// One wall between two rooms in so many is missing beside those that the tree of ways has opened, so that there are rings.
const RING_ONE_IN: u32 = 12;

/// Moves that a shortest way from start to exit has at least, for each room of a side.
const DISTANCE_PER_ROOM: usize = 3;

/// The exit is far from the start.
static FAR: Requirement = Requirement::new("far", "the exit is far from the start", 0.7);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maze;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The whole maze: `#` wall, `-` floor, `E` the exit.
    rows: Vec<String>,
    start: Cell,
    moves_max: u32,
    /// The directions of a shortest way, as letters.
    solution: String,
}

/// Where the player is, and what was seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    player: Cell,
    moves: u32,
    /// As in the maze, with `?` for what was never near.
    seen: Vec<String>,
}

impl Puzzle for Maze {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "maze",
            version: 1,
            category: Category::Graph,
            tags: &["hidden-information", "planning"],
            multi_turn: true,
            description: "Walk to the hidden exit of a maze of which only the squares around are seen, with a limited number of moves.",
            rule: "The walk has to end at the exit.",
            scale: "Mazes from 6 by 6 to 14 by 14 rooms, and fewer moves per square.",
            effort: "Walks to the nearest floor beside something unseen until it sees the exit; moves made.",
            floor: 0.05,
            heavy: false,
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
        let rooms = u8::try_from(scale(difficulty, 6, 14))?;
        let tenths = scale(difficulty, 20, 10);
        let mut rows = carve(rng, rooms);
        let floor = rows.iter().map(|row| row.matches('-').count()).sum::<usize>();
        let (start, exit) = (random_room(rng, rooms), random_room(rng, rooms));
        set(&mut rows, exit, 'E');
        draws.note("rooms", rooms);
        let way = way(&rows, start, |cell| letter(&rows, cell) == 'E');
        let way = way.ok_or_else(|| Refusal::fault("no way leads to the exit"))?;
        let moves_max = u32::try_from(floor)? * tenths / 10;
        let solution = way.iter().map(|direction| direction.letter()).collect();
        FAR.demand(way.len() >= usize::from(rooms) * DISTANCE_PER_ROOM)?;
        Ok(Instance { rows, start, moves_max, solution })
    }

    fn content(&self, instance: &Instance) -> Value {
        json!([instance.rows, instance.start])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"size": instance.rows.len(), "start": instance.start, "moves_max": instance.moves_max})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let size = instance.rows.len();
        format!(
            "Find the exit of a maze of {size} by {size} squares and walk to it. You walk up, down, left and right. You see the \
             eight squares around you, and a map shows all that you have seen so far:\n\
             ? not seen yet, # wall, - floor, E exit, @ you\n\
             A move into a wall leaves you where you are but counts as a move, and the rest of the turn is dropped.\n\
             You have {} moves. Answer with up to {MOVES_PER_TURN_MAX} moves, such as: up up left. Or think first and put them \
             into <answer></answer>; or call the tool `move` with {{\"directions\": [\"up\", \"left\"]}}.",
            instance.moves_max
        )
    }

    fn start(&self, instance: &Instance) -> Progress {
        let mut progress = Progress { player: instance.start, moves: 0, seen: unseen(instance) };
        look(instance, &mut progress);
        progress
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        show(instance, progress, "")
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let Some(directions) = walk::read_moves(input) else {
            let text = format!(
                "Error: no move was made. A turn is 1 to {MOVES_PER_TURN_MAX} of the words up, down, left and right.\n"
            );
            return Reaction { observation: show(instance, progress, &text), ..Reaction::default() };
        };
        let mut before = String::new();
        for (index, direction) in directions.iter().enumerate() {
            if over(instance, progress) {
                break;
            }
            progress.moves += 1;
            let next = direction.from(progress.player);
            if letter(&instance.rows, next) == '#' {
                before = format!("Move {} of the turn ({}) led into a wall.\n", index + 1, direction.word());
                break;
            }
            progress.player = next;
            look(instance, progress);
        }
        let observation = show(instance, progress, &before);
        Reaction { observation, terminated: over(instance, progress), ..Reaction::default() }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let found = found(instance, progress);
        let at = if found { "at" } else { "not at" };
        let evidence = format!("after {} moves the player is {at} the exit", progress.moves);
        Judgement::single("at_exit", if found { 1.0 } else { 0.0 }, evidence)
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        moves(&words(instance))
    }

    fn guess(&self, _instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        Action::Text(Direction::ALL[rng.random_range(0..Direction::ALL.len())].word().to_owned())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // A shortest way, given up before its end.
        let words = words(instance);
        moves(&words[..rng.random_range(1..words.len())])
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut progress = self.start(instance);
        while !found(instance, &progress) {
            let seen = &progress.seen;
            // Floor that was seen from afar has something unseen beside it.
            let inviting = |cell| {
                let beside = Direction::ALL.into_iter().any(|direction| letter(seen, direction.from(cell)) == '?');
                letter(seen, cell) == 'E' || (beside && !seen.iter().any(|row| row.contains('E')))
            };
            let Some(way) = way(seen, progress.player, inviting) else { break };
            for direction in way {
                progress.player = direction.from(progress.player);
                progress.moves += 1;
                look(instance, &mut progress);
            }
        }
        f64::from(progress.moves)
    }
}

fn words(instance: &Instance) -> Vec<&'static str> {
    instance.solution.chars().filter_map(Direction::of_letter).map(Direction::word).collect()
}

fn moves(words: &[&str]) -> Vec<Action> {
    words.chunks(MOVES_PER_TURN_MAX).map(|turn| call("move", "directions", json!(turn))).collect()
}

fn found(instance: &Instance, progress: &Progress) -> bool {
    letter(&instance.rows, progress.player) == 'E'
}

fn over(instance: &Instance, progress: &Progress) -> bool {
    found(instance, progress) || progress.moves >= instance.moves_max
}

fn unseen(instance: &Instance) -> Vec<String> {
    instance.rows.iter().map(|row| "?".repeat(row.len())).collect()
}

/// Adds what is around the player to what was seen.
fn look(instance: &Instance, progress: &mut Progress) {
    let Cell(row, column) = progress.player;
    for row in row.saturating_sub(1)..=row.saturating_add(1) {
        for column in column.saturating_sub(1)..=column.saturating_add(1) {
            let cell = Cell(row, column);
            set(&mut progress.seen, cell, letter(&instance.rows, cell));
        }
    }
}

fn show(instance: &Instance, progress: &Progress, before: &str) -> Observation {
    let mut rows = progress.seen.clone();
    set(&mut rows, progress.player, '@');
    let left = instance.moves_max.saturating_sub(progress.moves);
    let after = if found(instance, progress) { " You are at the exit." } else { "" };
    let text = format!("{before}{}\nMoves left: {left}.{after}", rows.join("\n"));
    Observation { data: json!({"rows": rows, "moves_left": left}), ..Observation::text(text) }
}

/// Letter drawn at a cell; outside is wall.
fn letter(rows: &[String], Cell(row, column): Cell) -> char {
    let letter = rows.get(usize::from(row)).and_then(|row| row.as_bytes().get(usize::from(column)));
    letter.copied().map_or('#', char::from)
}

/// Draws something at a place, if it is inside.
fn set(rows: &mut [String], Cell(row, column): Cell, letter: char) {
    let column = usize::from(column);
    if let Some(row) = rows.get_mut(usize::from(row)).filter(|row| column < row.len()) {
        row.replace_range(column..=column, letter.encode_utf8(&mut [0; 4]));
    }
}

/// A shortest walk over what is known to be floor, to the nearest place that is a goal.
fn way(rows: &[String], from: Cell, goal: impl Fn(Cell) -> bool) -> Option<Vec<Direction>> {
    let size = rows.len();
    let index = |Cell(row, column): Cell| usize::from(row) * size + usize::from(column);
    let mut last: Vec<Option<Direction>> = vec![None; size * size];
    let mut queue = VecDeque::from([from]);
    while let Some(cell) = queue.pop_front() {
        if goal(cell) {
            let steps = std::iter::successors(Some(cell), |cell| Some(last[index(*cell)]?.back().from(*cell)));
            let mut steps: Vec<Direction> = steps.map_while(|cell| last[index(cell)]).collect();
            steps.reverse();
            return Some(steps);
        }
        for direction in Direction::ALL {
            let next = direction.from(cell);
            if next != from && matches!(letter(rows, next), '-' | 'E') && last[index(next)].is_none() {
                last[index(next)] = Some(direction);
                queue.push_back(next);
            }
        }
    }
    None
}

/// A maze of rooms with a wall between each two, in which a random walk that goes back at dead ends has opened a way from
/// every room to every other one, and some further walls are missing.
fn carve(rng: &mut ChaCha8Rng, rooms: u8) -> Vec<String> {
    let size = usize::from(rooms) * 2 + 1;
    let mut rows = vec!["#".repeat(size); size];
    let first = random_room(rng, rooms);
    set(&mut rows, first, '-');
    let mut trail = vec![first];
    while let Some(room) = trail.last().copied() {
        let closed = |direction: &Direction| {
            let next = direction.from(direction.from(room));
            inside(next, rooms) && letter(&rows, next) == '#'
        };
        let choices: Vec<Direction> = Direction::ALL.into_iter().filter(closed).collect();
        if choices.is_empty() {
            trail.pop();
            continue;
        }
        let direction = choices[rng.random_range(0..choices.len())];
        let door = direction.from(room);
        set(&mut rows, door, '-');
        set(&mut rows, direction.from(door), '-');
        trail.push(direction.from(door));
    }
    for row in 0..rooms {
        for column in 0..rooms {
            let room = room_at(row, column);
            for direction in [Direction::Down, Direction::Right] {
                if inside(direction.from(direction.from(room)), rooms) && rng.random_ratio(1, RING_ONE_IN) {
                    set(&mut rows, direction.from(room), '-');
                }
            }
        }
    }
    rows
}

const fn room_at(row: u8, column: u8) -> Cell {
    Cell(row * 2 + 1, column * 2 + 1)
}

/// True if a place is a room's, given that it lies an even number of places from one.
const fn inside(Cell(row, column): Cell, rooms: u8) -> bool {
    row % 2 == 1 && column % 2 == 1 && row < rooms * 2 && column < rooms * 2
}

fn random_room(rng: &mut ChaCha8Rng, rooms: u8) -> Cell {
    room_at(rng.random_range(0..rooms), rng.random_range(0..rooms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        let rows =
            ["#######", "#-----#", "#####-#", "#E----#", "#-###-#", "#-----#", "#######"].map(str::to_owned).to_vec();
        Instance { rows, start: Cell(1, 1), moves_max: 12, solution: "rrrrddllll".to_owned() }
    }

    #[test]
    fn only_what_is_near_is_seen_and_it_is_remembered() {
        let instance = instance();
        let mut progress = Maze.start(&instance);
        assert_eq!(
            Maze.show(&instance, &progress).data["rows"],
            json!(["###????", "#@-????", "###????", "???????", "???????", "???????", "???????"])
        );
        let reaction = Maze.act(&instance, &mut progress, Input::Text("right r RIGHT"));
        assert_eq!(
            reaction.observation.data["rows"],
            json!(["######?", "#---@-?", "#####-?", "???????", "???????", "???????", "???????"])
        );
        assert_eq!(reaction.observation.data["moves_left"], 9);
        assert!(!reaction.observation.text.contains('E'));
    }

    #[test]
    fn a_wall_ends_the_turn_and_unreadable_turns_cost_nothing() {
        let instance = instance();
        let mut progress = Maze.start(&instance);
        for text in ["", "rl", "right please", "up;down", "ｕｐ"] {
            let reaction = Maze.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error") && !reaction.terminated, "{text}");
        }
        assert_eq!(progress.moves, 0);
        let reaction = Maze.act(&instance, &mut progress, Input::Text("right up right right"));
        assert!(reaction.observation.text.starts_with("Move 2 of the turn (up) led into a wall."));
        assert_eq!((progress.player, progress.moves), (Cell(1, 2), 2));
    }

    #[test]
    fn the_exit_ends_it_and_moves_run_out() {
        let instance = instance();
        let mut progress = Maze.start(&instance);
        let reaction = Maze.act(&instance, &mut progress, Input::Text("r r r r d d l l l l r r"));
        assert!(reaction.terminated);
        assert_eq!(progress.moves, 10, "moves after the exit are not made");
        assert_eq!(Maze.judge(&instance, &progress).checks[0].score, 1.0);
        let mut progress = Maze.start(&instance);
        for turn in 1..=6 {
            let reaction = Maze.act(&instance, &mut progress, Input::Text("right left"));
            assert_eq!(reaction.terminated, turn == 6);
        }
        assert_eq!(Maze.judge(&instance, &progress).checks[0].score, 0.0);
    }

    #[test]
    fn every_room_can_be_reached_from_every_other() {
        for seed in 0..40_u8 {
            let rows = carve(&mut seeded(&[&[seed]]), 6);
            let floor = rows.iter().map(|row| row.matches('-').count()).sum::<usize>();
            assert!((71..=71 + 25).contains(&floor), "{floor}");
            for row in 0..6 {
                for column in 0..6 {
                    assert!(way(&rows, room_at(0, 0), |cell| cell == room_at(row, column)).is_some());
                }
            }
        }
    }
}

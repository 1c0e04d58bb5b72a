//! Every game without a browser: draws are repeatable, solutions win, chance alone does worse from level to level, and what is no move
//! changes nothing.

use std::collections::BTreeSet;

use palestra_browser::action;
use palestra_games::{Board, Button, Game, Input, Outcome, Shape, Step, Task, all, document};
use palestra_widgets::{Draw, Level};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Seeds of each level whose solutions are played.
const SEEDS: u64 = 20;
/// Seeds of each level that chance plays.
const CHANCE_SEEDS: u64 = 60;
/// Steps of an episode.
const STEPS_MAX: usize = 200;
/// Size of the canvas.
const CANVAS: (i64, i64) = (720, 560);
/// Place of the canvas in the window.
const CORNER: (i64, i64) = (276, 110);
/// Size of the window.
const WINDOW: (i64, i64) = (1_280, 720);
/// The most that clicks at chance places may reach on average.
const FLOOR: f64 = 0.05;

fn draws(seeds: u64) -> impl Iterator<Item = (String, Game, Level, u64)> {
    all().into_iter().flat_map(move |game| {
        Level::ALL.into_iter().flat_map(move |level| {
            (0..seeds).map(move |seed| (format!("{} {level:?} {seed}", game.name), game, level, seed))
        })
    })
}

fn task(game: Game, level: Level, seed: u64) -> Task {
    (game.draw)(&mut Draw::new(level, seed))
}

/// Plays a step, and the ticks of the time that it takes; true if its input changed the board.
fn play(board: &mut Board, step: &Step) -> bool {
    let changed = step.input().is_some_and(|input| board.take(&input));
    pass_time(board, step.milliseconds());
    changed
}

fn pass_time(board: &mut Board, milliseconds: u32) {
    let Some(tick_ms) = board.tick_ms() else { return };
    (0..milliseconds / tick_ms).for_each(|_| {
        board.take(&Input::Tick);
    });
}

#[test]
fn names_and_instructions_are_well_formed_and_draws_repeatable() {
    let mut names = BTreeSet::new();
    for (name, game, level, seed) in draws(SEEDS) {
        names.insert(game.name);
        assert!(game.about.ends_with('.'), "{name}");
        let [one, other] = [0; 2].map(|_| task(game, level, seed));
        assert!(one.instruction.ends_with('.') && one.instruction.len() > 60, "{name}: {}", one.instruction);
        assert_eq!((&one.instruction, &one.board), (&other.instruction, &other.board), "{name}");
        assert_eq!(one.board.outcome(), Outcome::Open, "{name}");
        assert!(one.board.progress().done < one.board.progress().goal, "{name}");
    }
    assert_eq!(names.len(), all().len());
}

#[test]
fn draws_differ_by_seed_and_level() {
    for game in all() {
        let tasks: BTreeSet<String> = Level::ALL
            .into_iter()
            .flat_map(|level| {
                (0..SEEDS).map(move |seed| serde_json::to_string(&task(game, level, seed).board).expect("JSON"))
            })
            .collect();
        assert!(tasks.len() as u64 >= 4 * SEEDS - 4, "{}: {} different tasks", game.name, tasks.len());
    }
}

#[test]
fn every_solution_wins() {
    let mut faults = Vec::new();
    for game in all() {
        for level in Level::ALL {
            let begun = std::time::Instant::now();
            let mut lengths = Vec::new();
            for seed in 0..SEEDS {
                let mut board = task(game, level, seed).board;
                let Some(solution) = board.solution() else {
                    faults.push(format!("{} {level:?} {seed}: no solution", game.name));
                    continue;
                };
                lengths.push(solution.len());
                for (at, step) in solution.iter().enumerate() {
                    if board.outcome() != Outcome::Open || action::parse(&step.action()).is_err() {
                        faults.push(format!(
                            "{} {level:?} {seed}: step {at}: {step:?}, {:?}",
                            game.name,
                            board.outcome()
                        ));
                    }
                    play(&mut board, step);
                }
                if board.outcome() != Outcome::Won {
                    faults.push(format!("{} {level:?} {seed}: {:?}", game.name, board.progress()));
                }
            }
            let (least, most) = (lengths.iter().min(), lengths.iter().max());
            println!("{} {level:?}: {least:?} to {most:?} steps, {SEEDS} seeds in {:?}", game.name, begun.elapsed());
            if most.is_some_and(|most| *most > STEPS_MAX) {
                faults.push(format!("{} {level:?}: {most:?} steps", game.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A step at chance, whatever the game.
fn chance_step(random: &mut ChaCha8Rng) -> Step {
    let (x, y) = (random.random_range(0..CANVAS.0), random.random_range(0..CANVAS.1));
    match random.random_range(0..8) {
        0 => Step::Key("ArrowUp"),
        1 => Step::Key("ArrowDown"),
        2 => Step::Key("ArrowLeft"),
        3 => Step::Key("ArrowRight"),
        4 => Step::Click(x, y),
        5 => Step::Drag((x, y), (x + 64, y)),
        6 => Step::Drag((x, y), (x, y + 64)),
        _ => Step::Move(x, y),
    }
}

/// Plays moves at chance, but only such as the rules allow; true if that wins.
fn wins_by_chance(mut board: Board, random: &mut ChaCha8Rng) -> bool {
    for _ in 0..STEPS_MAX {
        let allowed = (0..400).map(|_| chance_step(random)).find(|step| {
            let mut tried = board.clone();
            step.input().is_some_and(|input| tried.take(&input))
        });
        play(&mut board, &allowed.unwrap_or(Step::Wait(500)));
        if board.outcome() != Outcome::Open {
            break;
        }
    }
    board.outcome() == Outcome::Won
}

#[test]
fn chance_wins_less_from_level_to_level() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut by_level = [0_u64; 4];
    for game in all() {
        let wins = Level::ALL.map(|level| {
            (0..CHANCE_SEEDS).filter(|seed| wins_by_chance(task(game, level, *seed).board, &mut random)).count() as u64
        });
        println!("{}: {wins:?} of {CHANCE_SEEDS} by level", game.name);
        assert!(wins.windows(2).all(|pair| pair[0] >= pair[1]), "{}: {wins:?}", game.name);
        assert!(wins[3] * 20 <= CHANCE_SEEDS, "{}: {wins:?}", game.name);
        by_level = std::array::from_fn(|level| by_level[level] + wins[level]);
    }
    println!("all: {by_level:?} of {}", CHANCE_SEEDS * all().len() as u64);
    assert!(by_level.windows(2).all(|pair| pair[0] > pair[1]), "{by_level:?}");
}

#[test]
fn doing_nothing_and_clicks_at_chance_places_stay_under_the_floor() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let (mut played, mut won) = (0, 0);
    for (_, game, level, seed) in draws(SEEDS) {
        let mut idle = task(game, level, seed).board;
        assert!((0..STEPS_MAX).all(|_| !idle.take(&Input::Tick)), "nothing moves before the first input");
        assert_eq!(idle, task(game, level, seed).board);
        let mut board = task(game, level, seed).board;
        for _ in 0..STEPS_MAX {
            // A click moves the pointer there first; beside the canvas it reaches no board.
            let (x, y) = (random.random_range(0..WINDOW.0) - CORNER.0, random.random_range(0..WINDOW.1) - CORNER.1);
            if (0..CANVAS.0).contains(&x) && (0..CANVAS.1).contains(&y) {
                board.take(&Input::Move { x, y });
                board.take(&Input::Click { x, y, button: Button::Left });
            }
            pass_time(&mut board, 500);
        }
        played += 1;
        won += u32::from(board.outcome() == Outcome::Won);
    }
    let share = f64::from(won) / f64::from(played);
    println!("clicks at chance places win {won} of {played}");
    assert!(share < FLOOR, "{share}");
}

#[test]
fn what_is_no_move_changes_nothing() {
    let far = i64::MAX;
    let inputs = [
        Input::Key("Enter".to_owned()),
        Input::Key(String::new()),
        Input::Key("ArrowUpArrowUp".to_owned()),
        Input::Click { x: -1, y: 5, button: Button::Left },
        Input::Click { x: far, y: -far, button: Button::Right },
        Input::Drag { from: (far, far), to: (-far, -far) },
        Input::Drag { from: (360, 300), to: (360, 300) },
        Input::Move { x: -far, y: far },
        Input::Tick,
    ];
    for (name, game, level, seed) in draws(3) {
        let before = task(game, level, seed).board;
        for input in &inputs {
            let mut board = before.clone();
            assert!(!board.take(input) && board == before, "{name}: {input:?}");
        }
    }
    for malformed in [
        "",
        "null",
        "{}",
        "[]",
        "\"tock\"",
        "{\"key\":3}",
        "{\"click\":{\"x\":1,\"y\":2}}",
        "{\"move\":{\"x\":1e99,\"y\":0}}",
    ] {
        assert!(serde_json::from_str::<Input>(malformed).is_err(), "{malformed}");
    }
}

#[test]
fn nothing_changes_after_the_end() {
    for (name, game, level, seed) in draws(2) {
        let mut board = task(game, level, seed).board;
        for step in board.solution().expect("a solution") {
            play(&mut board, &step);
        }
        let ended = board.clone();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..100 {
            play(&mut board, &chance_step(&mut random));
        }
        assert!(board == ended && !board.take(&Input::Tick), "{name}");
    }
}

#[test]
fn a_board_goes_on_from_its_data_as_before() {
    for (name, game, level, seed) in draws(2) {
        let mut board = task(game, level, seed).board;
        let solution = board.solution().expect("a solution");
        let (first, rest) = solution.split_at(solution.len() / 2);
        for step in first {
            play(&mut board, step);
        }
        let mut again: Board = serde_json::from_str(&serde_json::to_string(&board).expect("JSON"))
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(again == board && again.is_of(&task(game, level, seed).board), "{name}");
        for step in rest {
            play(&mut board, step);
            play(&mut again, step);
        }
        assert_eq!(again, board, "{name}");
        assert_eq!(board.outcome(), Outcome::Won, "{name}");
    }
}

/// Every place of a value: itself, and those within it.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| places(item, &format!("{here}/{at}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| places(field, &format!("{here}/{name}"), found));
        }
        _ => {}
    }
}

#[test]
fn a_board_whose_data_are_damaged_is_of_no_game_or_can_still_be_judged_and_shown() {
    let (mut refused, mut judged) = (0, 0);
    for (_, game, level, seed) in draws(1) {
        let start = task(game, level, seed).board;
        let whole = json!(start);
        let mut found = Vec::new();
        places(&whole, "", &mut found);
        for place in found {
            for other in [json!(0), json!(1_000), json!(u32::MAX), json!(true), json!(false), json!([]), json!([0, 1])]
            {
                let mut damaged = whole.clone();
                *damaged.pointer_mut(&place).expect("a place") = other;
                match serde_json::from_value::<Board>(damaged) {
                    Ok(board) if board.is_of(&start) => {
                        judged += 1;
                        assert!(board.progress().goal > 0);
                        assert!(!board.view(true).words.is_empty());
                    }
                    _ => refused += 1,
                }
            }
        }
    }
    println!("{refused} refused, {judged} judged");
    assert!(refused > 0 && judged > 0);
}

#[test]
fn a_board_is_of_its_own_game_and_draw_alone() {
    let boards: Vec<Board> = draws(2).map(|(_, game, level, seed)| task(game, level, seed).board).collect();
    for (at, board) in boards.iter().enumerate() {
        for (other, start) in boards.iter().enumerate() {
            assert_eq!(board.is_of(start), at == other, "{board:?} {start:?}");
        }
    }
}

/// True for a shape that lies on the canvas; of words the centre.
fn is_on_canvas(shape: &Shape) -> bool {
    let (left, top, right, bottom) = match shape {
        Shape::Box(left, top, width, height, _) => (*left, *top, left + width, top + height),
        Shape::Disc(x, y, radius, _) => (x - radius, y - radius, x + radius, y + radius),
        Shape::Words(_, x, y, ..) => (*x, *y, *x, *y),
    };
    left >= 0 && top >= 0 && right <= CANVAS.0 && bottom <= CANVAS.1
}

#[test]
fn pages_have_words_only_where_they_are_asked_for_and_fit_the_canvas() {
    for (name, game, level, seed) in draws(3) {
        let task = task(game, level, seed);
        let (told, untold) = (task.board.view(true), task.board.view(false));
        assert!(told.words.len() > 2 && untold.words.is_empty(), "{name}");
        assert_eq!(told.shapes, untold.shapes, "{name}");
        assert!(told.shapes.iter().all(is_on_canvas), "{name}: {:?}", told.shapes);
        let page = document(task.title, &untold).expect("a page");
        assert!(told.words.iter().all(|line| !page.contains(line.as_str())), "{name}");
        assert!(document(task.title, &told).expect("a page").contains(told.words[1].as_str()), "{name}");
    }
}

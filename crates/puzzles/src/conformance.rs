//! Suite of every puzzle, beyond that of every environment, measured on each puzzle of the list: a new one needs no test of its own
//! for any of this. `PALESTRA_PUZZLE_CASES` says how many instances are looked at: the usual number is 60, and with 250 a split is
//! tried in full, with the curves of the guide.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::id::EpisodeId;
use serde_json::{Map, Value};

use super::facts::Category;
use super::{Examinable, all};
use palestra_environment::EnvironmentKind;
use palestra_environment::proof::audit::{TASKS, audit};
use palestra_environment::task::{Task, seeded};
use palestra_environment::tool::Toolbox;
use palestra_environment::verifier::Case;
use palestra_environment::{Context, Input, Opening, Place, Secrets, Tasks};

/// Tasks of each puzzle that are looked at, unless `PALESTRA_PUZZLE_CASES` asks for another number; at least as many as it takes to
/// meet every difficulty that tests go through.
const CASES: u64 = 60;

/// Number of cases by `PALESTRA_PUZZLE_CASES`.
fn cases() -> u64 {
    let asked = std::env::var("PALESTRA_PUZZLE_CASES").ok();
    asked.map_or(CASES, |cases| cases.parse().expect("PALESTRA_PUZZLE_CASES is a number"))
}

/// Difficulties that are compared.
pub(super) const LEVELS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Instances of each difficulty whose efforts are averaged for the guide.
pub(super) const EFFORTS: u64 = 60;

/// The same where only the order of the averages is looked at, and these already show it.
pub(super) const EFFORTS_SHORT: u64 = 20;

/// Tasks of a split that must differ at most, seen from the first on.
const DISTINCT: u64 = 1000;

/// Cases from which on all is tried, which takes minutes.
const THOROUGH_CASES: u64 = 250;

/// True if the long form is asked for.
pub(super) fn thorough() -> bool {
    cases() >= THOROUGH_CASES
}

pub(super) fn generate(puzzle: &dyn Examinable, split: &str, seed: u64, difficulty: Option<f64>) -> Arc<Task> {
    let Tasks::Generated(generator) = puzzle.tasks() else { panic!("puzzles are generated") };
    let task = generator.generate(split, seed, difficulty);
    Arc::new(task.unwrap_or_else(|error| panic!("{}: {error}", puzzle.facts().name)))
}

/// Plays the actions until the episode ends, and judges: the score, and whether all actions were taken.
fn play(puzzle: &dyn Examinable, task: &Arc<Task>, actions: &[Action]) -> f64 {
    let tools = Toolbox::compile(&puzzle.spec().tools).expect("schemas");
    let config = Map::new();
    let opening = Opening {
        task,
        seed: 0,
        secrets: Secrets::Seed(0),
        config: &config,
        episode: EpisodeId::new(),
        resumed: false,
        folder: None,
        from: None,
    };
    let Ok(Place::Pure(mut place)) = puzzle.open(opening) else { panic!("puzzles are pure") };
    let mut context = Context::seeded(&[b"puzzles"]);
    for action in actions {
        let reaction = match action {
            Action::Text(text) => place.act(Input::Text(text), &mut context),
            Action::Tool { tool, arguments } => {
                tools.check(tool, arguments).unwrap_or_else(|error| panic!("{}: {error:?}", task.public.id));
                place.act(Input::Call { tool, arguments }, &mut context)
            }
            other => panic!("puzzles are not played by {other:?}"),
        };
        if reaction.terminated {
            break;
        }
    }
    let case = Case { task, state: &place.state(), trajectory: &[] };
    puzzle.verifier().pure().expect("a pure verifier").verify(&case).expect("a judgement").score().expect("a score")
}

#[test]
fn there_are_many_puzzles_in_every_category() {
    let mut categories: BTreeMap<Category, u32> = BTreeMap::new();
    for puzzle in all() {
        *categories.entry(puzzle.facts().category).or_default() += 1;
    }
    for category in Category::ALL {
        let count = categories.get(&category).copied().unwrap_or(0);
        assert!(count >= 3, "{category} has {count} puzzles");
    }
    assert!(all().len() >= 24, "{}", all().len());
    assert!(all().iter().filter(|puzzle| puzzle.facts().multi_turn).count() >= 6);
}

#[test]
fn plausible_mistakes_are_rejected_and_solutions_are_not() {
    for puzzle in all() {
        let mut told_apart = BTreeSet::new();
        for seed in 0..cases() {
            let level = LEVELS[usize::try_from(seed).expect("small") % LEVELS.len()];
            let task = generate(&*puzzle, "validation", seed, Some(level));
            let solution = puzzle.oracle(&task).expect("a solution");
            assert_eq!(play(&*puzzle, &task, &solution), 1.0, "{} {}", puzzle.facts().name, task.public.id);
            let mut rng = seeded(&[b"mistake", &seed.to_le_bytes()]);
            let mistake = puzzle.mistake(&task, &mut rng).expect("a mistake");
            let score = play(&*puzzle, &task, &mistake);
            assert!(score < 1.0, "{} {} {mistake:?}", puzzle.facts().name, task.public.id);
            told_apart.insert(serde_json::to_string(&mistake).expect("JSON"));
        }
        assert!(told_apart.len() > 3, "{} has few mistakes: {told_apart:?}", puzzle.facts().name);
    }
}

#[test]
fn tasks_of_a_split_are_distinct_and_splits_do_not_meet() {
    let count = if thorough() { DISTINCT } else { cases() };
    for puzzle in all() {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for split in ["train", "validation", "test"] {
            for seed in 0..count {
                let task = generate(&*puzzle, split, seed, None);
                let content = puzzle.content(&task).expect("a content").to_string();
                let earlier = seen.insert(content, task.public.id.clone());
                assert_eq!(earlier, None, "{} {}", puzzle.facts().name, task.public.id);
            }
        }
    }
}

/// Efforts of a reference solver for so many tasks of a difficulty, in increasing order.
pub(super) fn efforts(puzzle: &dyn Examinable, difficulty: f64, count: u64) -> Vec<f64> {
    let effort = |seed| puzzle.effort(&generate(puzzle, "train", seed, Some(difficulty))).expect("an effort");
    let mut efforts: Vec<f64> = (0..count).map(effort).collect();
    efforts.sort_by(f64::total_cmp);
    efforts
}

/// The geometric mean (of one more each), so that a few very hard instances do not decide.
pub(super) fn mean(efforts: &[f64]) -> f64 {
    let count = f64::from(u32::try_from(efforts.len()).expect("few instances"));
    (efforts.iter().map(|effort| effort.ln_1p()).sum::<f64>() / count).exp_m1()
}

#[test]
fn generators_throw_away_no_more_than_they_declare_and_lose_no_value() {
    let tasks = if thorough() { TASKS } else { cases() };
    let names = std::env::var("PALESTRA_PUZZLE").ok();
    let mut faults = Vec::new();
    for puzzle in all() {
        let name = puzzle.facts().name;
        if names.as_ref().is_some_and(|asked| asked != name) {
            continue;
        }
        let kind: Arc<dyn EnvironmentKind> = puzzle;
        let audit = audit(&kind, tasks);
        println!("{name}\n{audit}");
        faults.extend(audit.faults.into_iter().map(|(at, fault)| format!("{name} {at}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn texts_for_the_guide_are_sentences() {
    for puzzle in all() {
        let facts = puzzle.facts();
        for text in [facts.description, facts.rule, facts.scale, facts.effort] {
            assert!(text.ends_with('.') && text.len() > 10, "{}: {text:?}", facts.name);
        }
        assert!((0.0..=0.1).contains(&facts.floor), "{}", facts.name);
    }
}

#[test]
fn the_metadata_of_questions_is_an_object() {
    for puzzle in all() {
        let task = generate(&*puzzle, "train", 0, None);
        assert!(
            matches!(&task.public.metadata, Value::Object(fields) if !fields.is_empty()),
            "{}",
            puzzle.facts().name
        );
    }
}

//! Tests of suites that are written here in short.

use std::collections::BTreeSet;

use super::*;

const ENVIRONMENT: &str = "
name: sql/small
description: Small.
kind: question
splits: {train: 3, test: 2}
";

const CITIES: &str = "
world: shop
difficulty: 0.2
others: 2
parameters:
  city: {column: {table: customers, column: city, at_least: 3}}
  year: {choice: ['2023', '2024']}
  ordered_in:
    fixed: {sqlite: \"substr(o.ordered_on, 1, 4) = ${year}\", postgres: \"to_char(o.ordered_on, 'YYYY') = ${year}\"}
instruction: Which customers of ${city} ordered in ${year}?
gold: SELECT DISTINCT c.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.city = ${city} AND ${ordered_in}
";

const ANSWER: &str = "
world: shop
difficulty: 0.9
submission: answer
splits: [test]
parameters:
  it: {row: {table: products, where: {price_cents: {least: 5000}, discontinued_on: null}}}
instruction: What does ${it.name} cost, in euros?
checks:
  - {name: answer, check: {answer: {accept: ['${it.price_cents:money}']}}}
solution_submission: ${it.price_cents:money}
";

fn files(templates: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::from([("environment.yaml".to_owned(), ENVIRONMENT.as_bytes().to_vec())]);
    for (name, text) in templates {
        files.insert(format!("templates/{name}.yaml"), text.as_bytes().to_vec());
    }
    files
}

fn suite() -> Suite {
    Suite::load(&files(&[("cities", CITIES), ("answer", ANSWER)])).expect("a suite")
}

fn faults(files: &BTreeMap<String, Vec<u8>>) -> String {
    let faults = Suite::load(files).expect_err("faults");
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_task_follows_from_split_seed_and_difficulty() {
    let suite = suite();
    let tasks: Vec<Task> = (0..20).map(|seed| suite.task("train", seed, None).expect("a task")).collect();
    assert_eq!(tasks, (0..20).map(|seed| suite.task("train", seed, None).expect("a task")).collect::<Vec<_>>());
    let instructions: BTreeSet<&str> = tasks.iter().map(|task| task.instruction.as_str()).collect();
    assert!(instructions.len() > 5, "{instructions:?}");
}

#[test]
fn no_world_is_in_two_splits_and_hidden_worlds_are_never_played() {
    let suite = suite();
    let of = |split: &str| -> (BTreeSet<Data>, BTreeSet<Data>) {
        let tasks: Vec<Task> = (0..40).map(|seed| suite.task(split, seed, Some(0.2)).expect("a task")).collect();
        let others = tasks.iter().flat_map(|task| task.others.clone()).collect();
        (tasks.into_iter().map(|task| task.data).collect(), others)
    };
    let ((train, train_hidden), (test, test_hidden)) = (of("train"), of("test"));
    assert_eq!((train.len(), test.len()), (3, 2));
    let all = [&train, &train_hidden, &test, &test_hidden];
    let distinct: BTreeSet<&Data> = all.iter().flat_map(|data| data.iter()).collect();
    assert_eq!(distinct.len(), all.iter().map(|data| data.len()).sum::<usize>());
}

#[test]
fn a_value_that_is_drawn_occurs_in_every_world_of_the_task() {
    let suite = suite();
    for seed in 0..10 {
        let task = suite.drawn("cities", "train", seed).expect("a task").task;
        for data in std::iter::once(&task.data).chain(&task.others) {
            let source = suite.source(data, &task.setup, Dialect::Sqlite).expect("a source");
            let crate::source::Content::Script(script) = &source.content else { panic!("a script") };
            let city =
                task.instruction.split(" of ").nth(1).and_then(|rest| rest.split(" ordered").next()).expect("a city");
            assert!(script.matches(&format!("'{city}'")).count() >= 3, "{city} in {data:?}");
        }
    }
}

#[test]
fn dialects_get_their_own_words_and_answers_are_plain() {
    let suite = suite();
    let gold = suite.drawn("cities", "train", 1).expect("a task").gold;
    assert!(gold.in_dialect(Dialect::Sqlite).expect("SQLite's").contains("substr(o.ordered_on, 1, 4) = '202"));
    assert!(gold.in_dialect(Dialect::Postgres).expect("PostgreSQL's").contains("to_char(o.ordered_on, 'YYYY') = '202"));
    let task = suite.drawn("answer", "test", 1).expect("a task").task;
    let Some(Spoken::Any(answer)) = &task.solution_submission else { panic!("an answer") };
    assert!(answer.contains('.') && answer.parse::<f64>().expect("a number") >= 50.0, "{answer}");
    assert_eq!(task.checks[0].check, Check::Answer { accept: vec![answer.clone()] });
}

#[test]
fn difficulty_and_split_choose_among_templates() {
    let suite = suite();
    assert!((0..20).all(|seed| suite.task("train", seed, Some(0.9)).expect("a task").template == "cities"));
    let seen: BTreeSet<String> = (0..20).map(|seed| suite.task("test", seed, None).expect("a task").template).collect();
    assert_eq!(seen.len(), 2);
    assert!(suite.task("nowhere", 1, None).expect_err("no split").contains("nowhere"));
}

#[test]
fn every_fault_is_named_with_its_file() {
    let broken = files(&[
        ("a", &CITIES.replace("world: shop", "world: atlantis")),
        ("b", &CITIES.replace("column: city", "column: town")),
        ("c", &CITIES.replace("${city} ordered", "${place} ordered")),
        ("d", &CITIES.replace("difficulty: 0.2", "difficulty: 2")),
        ("e", &CITIES.replace("others: 2", "others: 2\nsurprise: 1")),
        ("f", &ANSWER.replace("splits: [test]", "splits: [tset]")),
        ("g", &CITIES.replace("at_least: 3", "at_least: 30000")),
    ]);
    let said = faults(&broken);
    for (place, detail) in [
        ("templates/a.yaml", "atlantis"),
        ("templates/b.yaml", "town"),
        ("templates/c.yaml", "place"),
        ("templates/d.yaml", "difficulty"),
        ("templates/e.yaml:", "surprise"),
        ("templates/f.yaml", "tset"),
        ("templates/g.yaml", "customers.city"),
    ] {
        assert!(said.lines().any(|line| line.starts_with(place) && line.contains(detail)), "{place} {detail}:\n{said}");
    }
}

#[test]
fn a_folder_without_environment_or_with_something_else_is_refused() {
    let mut without = files(&[("cities", CITIES)]);
    without.remove("environment.yaml");
    without.insert("notes.txt".to_owned(), Vec::new());
    let said = faults(&without);
    assert!(said.contains("environment.yaml: is missing") && said.contains("notes.txt"), "{said}");
    assert!(faults(&files(&[])).contains("templates"));
}

#[test]
fn a_slip_is_another_query_with_what_was_noticed() {
    let template = "
world: shop
difficulty: 0.5
parameters:
  bug: {slip: {kinds: [negation, comparison], of: \"SELECT id FROM orders WHERE status <> 'cancelled'\"}}
instruction: '${bug.symptom}: ${bug.sql}'
gold: SELECT id FROM orders WHERE status <> 'cancelled'
wrong: ['${bug.sql:raw}']
";
    let suite = Suite::load(&files(&[("slip", template)])).expect("a suite");
    for seed in 0..5 {
        let drawn = suite.drawn("slip", "train", seed).expect("a task");
        assert_ne!(drawn.wrong[0], drawn.gold);
        assert!(drawn.task.instruction.contains("orders"), "{}", drawn.task.instruction);
    }
}

//! Incidents: the answer is what the logs say, and nothing else gives it away.

use std::collections::{BTreeMap, BTreeSet};

use palestra_sql::session::Submitted;
use palestra_sql::task::{Check, Data, Task};
use palestra_sql::template::DrawnTask;
use palestra_sql::world;

use crate::ground::{Engines, arguments, ask, handed_in, neighbours, played, score, spoken, suite, templates, words};

fn answer(task: &Task) -> &str {
    let [only] = task.checks.as_slice() else { panic!("{}: one check", task.template) };
    let Check::Answer { accept } = &only.check else { panic!("{}: an answer", task.template) };
    &accept[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_query_finds_the_answer_and_nothing_else() {
    let suite = suite("incident");
    let engines = Engines::start().await;
    for engine in &engines.all {
        for split in ["train", "validation", "test"] {
            let tasks = neighbours(&suite, split);
            assert!(tasks.len() >= 12);
            let queries: Vec<&str> = tasks.iter().map(|drawn| spoken(&drawn.gold, engine.dialect())).collect();
            let results = ask(engine, &suite, &tasks[0].task.data, &queries).await;
            for (drawn, result) in tasks.iter().zip(results) {
                let found: Vec<String> = result.rows.iter().map(|row| words(&row[0])).collect();
                let task = &drawn.task;
                assert_eq!(found, [answer(task)], "{} {split} on {}", task.template, engine.dialect().name());
            }
        }
    }
    engines.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_counts_and_others_do_not() {
    let suite = suite("incident");
    let engines = Engines::start().await;
    for engine in &engines.all {
        for DrawnTask { task, .. } in neighbours(&suite, "train") {
            let template = &task.template;
            let right = handed_in(&task, engine.dialect());
            if template == "tunnel-remote" {
                assert_eq!(played(engine, &suite, &task, &[], &arguments(&right)).await, 1.0);
            }
            assert_eq!(score(engine, &suite, &task, &[], Some(right)).await, 1.0, "{template}");
            assert_eq!(score(engine, &suite, &task, &[], None).await, 0.0, "{template}: nothing is handed in");
            // What the same question would be answered with, had it been about another alert of the world.
            let others = (0..80).map(|seed| suite.drawn(template, "train", seed).expect("a task").task);
            let other = others.into_iter().find(|other| other.data == task.data && answer(other) != answer(&task));
            let other = other.expect("a question of the same world with another answer");
            let wrong = Submitted::Answer(answer(&other).to_owned());
            assert_eq!(score(engine, &suite, &task, &[], Some(wrong)).await, 0.0, "{template}: a like chain");
        }
    }
    engines.stop().await;
}

/// Every column's value that stands there more often than any other.
fn most_frequent(data: &Data) -> Vec<(String, String)> {
    let world = world::make(data).expect("a world");
    let mut found = Vec::new();
    for table in &world.dataset.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for row in &table.rows {
                *counts.entry(words(&row[place])).or_default() += 1;
            }
            let most = counts.values().max().copied().unwrap_or(0);
            let mut first = counts.into_iter().filter(|(_, count)| *count == most).map(|(value, _)| value);
            if let (Some(value), None) = (first.next(), first.next()) {
                found.push((format!("{}.{}", table.name, column.name), value));
            }
        }
    }
    found
}

/// Guessing the value that stands most often in the column where the answers stand wins now and then, since the hit of a chain are
/// busier than others, but not as a rule.
#[test]
fn answers_are_neither_told_nor_the_most_frequent_ones() {
    let suite = suite("incident");
    let mut frequent: BTreeMap<Data, Vec<(String, String)>> = BTreeMap::new();
    for template in templates(&suite) {
        let mut wins: BTreeMap<String, usize> = BTreeMap::new();
        let mut answers = BTreeSet::new();
        for seed in 0..TASKS {
            let task = suite.drawn(&template, "train", seed).expect("a task").task;
            let answer = answer(&task);
            assert!(!task.instruction.contains(answer), "{template}: {answer} stands in the question");
            answers.insert(answer.to_owned());
            let most = frequent.entry(task.data.clone()).or_insert_with(|| most_frequent(&task.data));
            for (column, _) in most.iter().filter(|(_, value)| value == answer) {
                *wins.entry(column.clone()).or_default() += 1;
            }
        }
        assert!(answers.len() >= 8, "{template}: {answers:?}");
        let often: Vec<_> = wins.iter().filter(|(_, wins)| **wins * 3 > TASKS as usize).collect();
        assert!(often.is_empty(), "{template}: the most frequent value is the answer too often: {often:?}");
    }
}

/// Tasks of each template that are looked at.
const TASKS: u64 = 24;

#[test]
fn no_world_is_in_two_splits() {
    for name in ["migration", "incident"] {
        let suite = suite(name);
        let mut splits: BTreeMap<&str, BTreeSet<Data>> = BTreeMap::new();
        for split in ["train", "validation", "test"] {
            for template in templates(&suite).iter().take(3) {
                for seed in 0..16 {
                    let task = suite.drawn(template, split, seed).expect("a task").task;
                    splits.entry(split).or_default().extend(std::iter::once(task.data).chain(task.others));
                }
            }
        }
        let (train, test) = (&splits["train"], &splits["test"]);
        assert!(train.is_disjoint(test) && train.is_disjoint(&splits["validation"]), "{name}");
        assert!((4..=12).contains(&train.len()), "{name}: {}", train.len());
    }
}

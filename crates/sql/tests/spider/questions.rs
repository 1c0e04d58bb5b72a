//! Every question: read, proven, judged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use palestra_sql::counterexample::Search;
use palestra_sql::engine::Engine;
use palestra_sql::import::{Admission, Imported, admit, read, try_out, vary};
use palestra_sql::judge::judge;
use palestra_sql::library::ScriptLibrary;
use palestra_sql::task::Task;
use serde_json::json;

use crate::folder::{OWN_QUESTIONS, TestEngines, folder, long};

/// Looks for variants less hard than a publisher would: other tests measure what they tell apart.
const SEARCH: Search = Search { seed: 7, candidates: 3, mutants: 4, variants: 1 };

async fn imported(engines: &TestEngines) -> (Imported, Admission) {
    let files = folder();
    let sqlite = &engines.engines.sqlite;
    let mut imported = read(&files, sqlite).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    vary(sqlite, &mut imported, SEARCH).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    let admission = admit(&engines.engines, &mut imported).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    (imported, admission)
}

/// Score of a submission.
async fn score(engine: &Arc<dyn Engine>, library: &ScriptLibrary, task: &Task, sql: &str) -> f64 {
    let evidence = json!({"steps": [], "submission": {"sql": sql}});
    let judged = judge(&**engine, library, task, 1, &evidence).await;
    judged.unwrap_or_else(|fault| panic!("{}: {fault}", task.instruction)).score()
}

/// Judges every `step`th reference that the engine speaks against itself, and counts them. All of them score 1.
async fn judged(engine: &Arc<dyn Engine>, library: &ScriptLibrary, imported: &Imported, step: usize) -> usize {
    let spoken = imported.rows.iter().filter_map(|(_, task)| {
        let gold = task.solution_submission.as_ref()?.in_dialect(engine.dialect())?;
        Some((task, gold))
    });
    let scores = spoken.step_by(step).map(|(task, gold)| async move {
        let score = score(engine, library, task, gold).await;
        assert_eq!(score, 1.0, "{} on {}: {gold}", task.instruction, engine.dialect().name());
    });
    futures::stream::iter(scores).buffer_unordered(4).count().await
}

fn say(questions: usize, admission: &Admission) {
    println!(
        "{questions} questions: {} references run on SQLite, {} give rows, {} leave their order open, {} are ambiguous",
        admission.sqlite, admission.with_rows, admission.unordered, admission.ambiguous
    );
    println!(
        "PostgreSQL: {} give the same rows, {} the same but for ties at a LIMIT",
        admission.postgres, admission.postgres_but_for_ties
    );
    for (reason, places) in &admission.left_out {
        println!("  {} left out: {reason}", places.len());
        for place in places {
            println!("      {place}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn references_score_one_on_both_engines() {
    let engines = TestEngines::new().await;
    let (imported, admission) = imported(&engines).await;
    let questions = imported.rows.len();
    say(questions, &admission);
    assert_eq!(admission.sqlite, questions);
    if long() && questions > OWN_QUESTIONS {
        // Every question of our own gives rows.
        assert_eq!((questions, admission.with_rows), (1_034 + OWN_QUESTIONS, 943 + OWN_QUESTIONS));
    }
    let library = ScriptLibrary::new(imported.scripts().expect("scripts"));
    let played = admission.postgres + admission.postgres_but_for_ties;
    let on_sqlite = judged(&engines.engines.sqlite, &library, &imported, 1).await;
    println!("SQLite: {on_sqlite} references judged, each scores 1");
    assert_eq!(on_sqlite, questions);
    if let Some(postgres) = &engines.engines.postgres {
        let step = if long() { 1 } else { 8 };
        let on_postgres = judged(postgres, &library, &imported, step).await;
        println!("PostgreSQL: {on_postgres} references judged, each scores 1");
        assert_eq!(on_postgres, played.div_ceil(step));
        assert!(played * 100 >= questions * 97, "{played} of {questions} on PostgreSQL");
    }
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_written_down_fails_on_other_rows() {
    let engines = TestEngines::new().await;
    let (imported, _) = imported(&engines).await;
    let library = ScriptLibrary::new(imported.scripts().expect("scripts"));
    let counts = |task: &&Task| task.instruction.starts_with("How many") && !task.others.is_empty();
    let mut tried = 0;
    for task in imported.rows.iter().map(|(_, task)| task).filter(counts).take(20) {
        let palestra_sql::task::Data::Stored(name) = &task.data else { continue };
        let rows: Vec<usize> = imported.databases[name].tables.iter().map(|table| table.rows.len()).collect();
        for number in rows {
            assert!(
                score(&engines.engines.sqlite, &library, task, &format!("SELECT {number}")).await < 1.0,
                "{}",
                task.instruction
            );
        }
        tried += 1;
    }
    assert!(tried >= 5, "only {tried} questions begin with \"How many\"");
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_folder_is_told() {
    let engines = TestEngines::new().await;
    let questions = r#"
{"db": "shop", "question": "How many?", "gold": "SELECT count(*) FROM items"}
{"db": "mall", "question": "How many?", "gold": "SELECT 1"}
{"db": "shop", "gold": "SELECT 1"}
"#;
    let file = |text: &str| text.as_bytes().to_vec();
    let mut files = BTreeMap::from([
        ("questions.jsonl".to_owned(), file(questions)),
        ("shop.sql".to_owned(), file("CREATE TABLE items (id INT); INSERT INTO items VALUES (1), (2)")),
        ("broken.sql".to_owned(), file("CREATE TABLE (")),
    ]);
    let faults = read(&files, &engines.engines.sqlite).await.expect_err("faults");
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert_eq!(faults[0], "questions.jsonl:4: there is no question: add it as question");
    assert!(
        faults[1].starts_with("broken.sql: the database cannot be made, correct what it is made of: "),
        "{faults:?}"
    );
    assert_eq!(faults[2], "questions.jsonl:3: there is no database mall: use one of broken, shop");

    files.remove("broken.sql");
    files.insert(
        "questions.jsonl".into(),
        file(r#"{"db": "Shop", "question": "How many?", "gold": "SELECT count(*) FROM goods"}"#),
    );
    let mut imported = read(&files, &engines.engines.sqlite).await.expect("a folder");
    let faults = try_out(&engines.engines.sqlite, &imported).await.expect_err("a reference that fails");
    let reported = faults[0].to_string();
    assert!(reported.starts_with("questions.jsonl:1: the reference fails: "), "{reported}");
    assert!(reported.contains("no such table: goods"), "{reported}");
    let faults = admit(&engines.engines, &mut imported).await.expect_err("a reference that fails");
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("no such table: goods"), "{faults:?}");
    engines.close().await;
}

/// A folder with one table, and a question for each reference.
async fn asked(engines: &TestEngines, golds: &[&str]) -> Imported {
    let questions: Vec<_> =
        golds.iter().map(|gold| json!({"db": "shop", "question": "Which?", "gold": gold, "split": "train"})).collect();
    let files = BTreeMap::from([
        ("questions.json".to_owned(), serde_json::to_vec(&questions).expect("JSON")),
        ("shop.sql".to_owned(), b"CREATE TABLE items (id INT); INSERT INTO items VALUES (1), (2), (3)".to_vec()),
    ]);
    read(&files, &engines.engines.sqlite).await.unwrap_or_else(|faults| panic!("{faults:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn references_that_do_not_end_or_do_not_repeat_are_told() {
    let endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r";
    let engines = TestEngines::new().await;
    let imported = asked(
        &engines,
        &[
            "SELECT count(*) FROM items",
            endless,
            "SELECT random()",
            endless,
            "SELECT count(*), abs(random()) % 1000 FROM items",
            "SELECT time('now')",
            "SELECT date('now'), 'random'",
            "SELECT id FROM items ORDER BY id DESC",
        ],
    )
    .await;
    let begun = Instant::now();
    let faults = try_out(&engines.engines.sqlite, &imported).await.expect_err("faults");
    // One that hangs is tried once; what else is busy may be waited for.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let slow = "the reference took more than 5 s";
    let unsteady = "the reference gives another result each time: ";
    let expected = [(2, slow), (3, unsteady), (4, slow), (5, unsteady), (6, unsteady)];
    assert_eq!(faults.len(), expected.len(), "{faults:?}");
    for (fault, (number, detail)) in faults.iter().zip(expected) {
        assert!(fault.starts_with(&format!("questions.json: question {number}: {detail}")), "{fault}");
    }
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_queries_that_do_not_end_hold_nothing_up() {
    let ends = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT max(i) FROM r";
    let engines = TestEngines::new().await;
    let mut imported = asked(&engines, &[ends, "SELECT count(*) FROM items"]).await;
    let begun = Instant::now();
    try_out(&engines.engines.sqlite, &imported).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    let search = Search { mutants: 40, ..SEARCH };
    vary(&engines.engines.sqlite, &mut imported, search).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    engines.close().await;
}

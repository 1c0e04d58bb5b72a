//! Every question: read, proven, judged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::StreamExt as _;
use palestra_sql::counterexample::Search;
use palestra_sql::engine::{Database, Engine, EngineError, Opening};
use palestra_sql::import::{Admission, Engines, Imported, admit, choose_moments, read, try_out, vary};
use palestra_sql::judge::judge;
use palestra_sql::library::ScriptLibrary;
use palestra_sql::source::Source;
use palestra_sql::task::Task;
use palestra_sql::value::Dialect;
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
        ("broken.sql".to_owned(), file("CREATE TABLE fine (id INT);\n\nCREATE TABLE (")),
    ]);
    let faults = read(&files, &engines.engines.sqlite).await.expect_err("faults");
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert_eq!(faults[0], "questions.jsonl:4: there is no question: add it as question");
    assert!(
        faults[1].starts_with("broken.sql:3: the database cannot be made, correct what it is made of: "),
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

/// PostgreSQL whose disk is full.
struct FullPostgres;

#[async_trait]
impl Engine for FullPostgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn prepare(&self, _source: &Arc<Source>) -> Result<(), EngineError> {
        Err(EngineError::Lost("No space left on device".to_owned()))
    }

    async fn open(&self, source: &Arc<Source>, _opening: &Opening) -> Result<Box<dyn Database>, EngineError> {
        self.prepare(source).await?;
        unreachable!("it fails");
    }
}

#[tokio::test]
async fn a_question_is_not_left_to_sqlite_because_postgres_failed() {
    let engines = TestEngines::new().await;
    let mut imported = asked(&engines, &["SELECT id FROM items"]).await;
    let broken = Engines { postgres: Some(Arc::new(FullPostgres)), ..engines.engines.clone() };
    let faults = admit(&broken, &mut imported).await.expect_err("PostgreSQL fails");
    assert_eq!(faults.len(), 1, "{faults:?}");
    let fault = faults[0].to_string();
    assert!(fault.starts_with("shop: PostgreSQL failed, publish again: "), "{fault}");
    assert!(fault.contains("No space left on device"), "{fault}");
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

/// Sales of some weeks of 2019, and what sells.
const SALES: &str = "CREATE TABLE sale (id INTEGER PRIMARY KEY, day DATE NOT NULL, cents INTEGER NOT NULL);
INSERT INTO sale VALUES (1, '2019-01-03', 150), (2, '2019-02-11', 400), (3, '2019-04-20', 80), (4, '2019-05-02', 900), (5, '2019-05-20', 20);";
const RECENT: &str = "SELECT count(*) FROM sale WHERE day > date('now', '-30 days')";
const RECENT_ON_POSTGRES: &str =
    "SELECT count(*) FROM sale WHERE day > to_char(now() - interval '30 days', 'YYYY-MM-DD')";

async fn of_sales(engines: &TestEngines, questions: &serde_json::Value) -> (Imported, Admission) {
    let files = BTreeMap::from([
        ("questions.json".to_owned(), serde_json::to_vec(questions).expect("JSON")),
        ("shop.sql".to_owned(), SALES.as_bytes().to_vec()),
    ]);
    let sqlite = &engines.engines.sqlite;
    let mut imported = read(&files, sqlite).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    choose_moments(sqlite, &mut imported).await;
    try_out(sqlite, &imported).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    vary(sqlite, &mut imported, Search { candidates: 6, ..SEARCH }).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    let admission = admit(&engines.engines, &mut imported).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    (imported, admission)
}

fn begins(task: &Task) -> String {
    task.begins_ms.map_or_else(|| "usual".to_owned(), |ms| ms.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn relative_times_are_asked_when_they_decide_something_and_constants_are_told() {
    let engines = TestEngines::new().await;
    let asked = |now: Option<&str>, gold: &str| json!({"db": "shop", "question": "?", "gold": gold, "now": now});
    let questions = json!([
        json!({"db": "shop", "question": "?", "gold": RECENT, "gold_postgres": RECENT_ON_POSTGRES}),
        asked(Some("2025-01-01"), "SELECT count(*) FROM sale WHERE day = date('now')"),
        asked(None, "SELECT sum(cents) FROM sale"),
        asked(None, "SELECT id, strftime('%Y', 'now') - strftime('%Y', day) FROM sale"),
        asked(None, "SELECT 42"),
    ]);
    let (imported, admission) = of_sales(&engines, &questions).await;
    let tasks: Vec<&Task> = imported.rows.iter().map(|(_, task)| task).collect();
    // The end of 2019-05-20: what was sold since 2019-04-20 counts.
    let moment = "1558396799000";
    let moments = tasks.iter().map(|task| begins(task)).collect::<Vec<_>>();
    assert_eq!(moments, [moment, "1735689600000", "usual", "usual", "usual"]);
    let told = imported.notes.iter().any(|note| note.contains("its time is 2019-05-20, because its relative times"));
    assert!(told, "{:?}", imported.notes);
    // In 2025 nothing was ever sold today: the author chose that time, and a constant is right.
    assert_eq!(admission.constant, [1, 4], "{:?}", imported.notes);
    let library = ScriptLibrary::new(imported.scripts().expect("scripts"));
    let score = async |task: &Task, sql: &str| score(&engines.engines.sqlite, &library, task, sql).await;
    assert_eq!(score(tasks[0], RECENT).await, 1.0);
    assert_eq!(score(tasks[0], "SELECT 2").await, 0.0);
    // The first data alone: two sales.
    let alone = Task { others: Vec::new(), ..tasks[0].clone() };
    assert_eq!(score(&alone, "SELECT 2").await, 1.0);
    if let Some(postgres) = &engines.engines.postgres {
        let gold = tasks[0].solution_submission.as_ref().and_then(|gold| gold.in_dialect(postgres.dialect()));
        let gold = gold.expect("it is played on PostgreSQL as well");
        assert_eq!(crate::questions::score(postgres, &library, tasks[0], gold).await, 1.0);
    }
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_accepted_query_is_right_on_both_engines_and_a_mixture_is_not() {
    let engines = TestEngines::new().await;
    let gold = ["SELECT id FROM sale ORDER BY cents DESC LIMIT 2", "SELECT id FROM sale WHERE cents > 200"];
    let questions = json!({"now": "2019-06-01", "databases": {"SHOP": {"now": "2019-05-21"}}, "questions": [
        {"db": "shop", "question": "Which are large?", "gold": gold, "accepted": ["SELECT id FROM sale WHERE cents > (SELECT avg(cents) FROM sale)"]},
        {"db": "shop", "question": "How many lately?", "gold": RECENT, "now": "2019-05-22T10:00:00Z"},
    ]});
    let (imported, admission) = of_sales(&engines, &questions).await;
    assert_eq!(admission.constant, Vec::<usize>::new());
    let (large, lately) = (&imported.rows[0].1, &imported.rows[1].1);
    assert_eq!([begins(large), begins(lately)], ["1558396800000", "1558519200000"], "a database's, a question's own");
    assert!(!large.others.is_empty());
    let library = ScriptLibrary::new(imported.scripts().expect("scripts"));
    for engine in std::iter::once(&engines.engines.sqlite).chain(&engines.engines.postgres) {
        let score = async |sql: &str| score(engine, &library, large, sql).await;
        for right in
            [gold[0], gold[1], "SELECT id FROM sale WHERE cents > (SELECT sum(cents) * 1.0 / count(*) FROM sale)"]
        {
            assert_eq!(score(right).await, 1.0, "{} on {}", right, engine.dialect().name());
        }
        let mixed = "SELECT id FROM sale WHERE cents > CASE WHEN (SELECT count(*) FROM sale) = 5 THEN 200 ELSE 0 END";
        assert_eq!(score(mixed).await, 0.0, "{}", engine.dialect().name());
    }
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_accepted_queries_and_moments_are_told() {
    let engines = TestEngines::new().await;
    let questions = json!([
        {"db": "shop", "question": "?", "gold": "SELECT 1", "accepted": ["SELECT 1; SELECT 2"]},
        {"db": "shop", "question": "?", "gold": ["SELECT 1", " "]},
        {"db": "shop", "question": "?", "gold": "SELECT 1", "now": "yesterday"},
        {"db": "shop", "question": "?", "gold": ["SELECT count(*) FROM sale", "SELECT colour FROM sale"]},
    ]);
    let mut files = BTreeMap::from([
        ("questions.json".to_owned(), serde_json::to_vec(&questions).expect("JSON")),
        ("shop.sql".to_owned(), SALES.as_bytes().to_vec()),
    ]);
    let sqlite = &engines.engines.sqlite;
    let faults = read(&files, sqlite).await.expect_err("faults");
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults[0], "questions.json: question 1: an accepted query must be one statement, and is 2");
    assert_eq!(faults[1], "questions.json: question 2: an accepted query is empty: fill it");
    assert!(faults[2].starts_with("questions.json: question 3: now must be a date or a time"), "{faults:?}");
    assert_eq!(faults.len(), 3);
    files.insert("questions.json".to_owned(), serde_json::to_vec(&json!([questions[3]])).expect("JSON"));
    let imported = read(&files, sqlite).await.unwrap_or_else(|faults| panic!("{faults:?}"));
    let faults = try_out(sqlite, &imported).await.expect_err("a fault");
    assert!(faults[0].to_string().contains("no such column: colour"), "{faults:?}");
    files.insert("questions.json".to_owned(), br#"{"now": "2024-01-01", "question": []}"#.to_vec());
    let faults = read(&files, sqlite).await.expect_err("a fault");
    assert!(faults[0].to_string().starts_with("questions.json: unknown field `question`"), "{faults:?}");
    engines.close().await;
}

//! An acting side that breaks its own database scores 0, with what it did as evidence; what the engine lacks is no score.

use std::ffi::OsString;
use std::sync::Arc;

use palestra_sql::engine::sqlite::{Settings, SqliteEngine};
use palestra_sql::engine::{Engine, Limits};
use palestra_sql::judge::{JudgeError, Judgement, judge};
use palestra_sql::library::Library;
use palestra_sql::session::{DatabaseSession, Evidence, Input, LoggedStep, SessionOpening, Submitted};
use palestra_sql::task::Task;
use palestra_sql::template::Suite;
use palestra_sql::value::Dialect;
use serde_json::{Value as Json, json};

use crate::ground::{Engines, solution, suite};

/// Ways to break a database: a name, and its statements in each dialect. `SOLUTION` are those that solve the task.
const WAYS: &[(&str, &[&str], &[&str])] = &[
    (
        "everything dropped",
        &[
            "DROP TABLE items",
            "DROP TABLE staff",
            "DROP TABLE stock",
            "DROP TABLE bookings",
            "DROP TABLE customers",
            "DROP TABLE depots",
            "DROP TABLE payments",
            "DROP TABLE inspections",
            "DROP TABLE prices",
            "DROP TABLE preferences",
        ],
        &["DROP TABLE items, staff, stock, bookings, customers, depots, payments, inspections, prices, preferences"],
    ),
    ("the table that is judged dropped", &["SOLUTION", "DROP TABLE items"], &["SOLUTION", "DROP TABLE items"]),
    (
        "tables under other names",
        &[
            "SOLUTION",
            "ALTER TABLE items RENAME TO a",
            "ALTER TABLE staff RENAME TO items",
            "ALTER TABLE a RENAME TO staff",
        ],
        &[
            "SOLUTION",
            "ALTER TABLE items RENAME TO a",
            "ALTER TABLE staff RENAME TO items",
            "ALTER TABLE a RENAME TO staff",
        ],
    ),
    (
        "a view that never ends",
        &[
            "DROP TABLE items",
            "CREATE VIEW items AS WITH RECURSIVE c (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id, 1 AS is_active FROM c",
        ],
        &[
            "DROP TABLE items",
            "CREATE VIEW items AS WITH RECURSIVE c (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id, 1 AS is_active FROM c",
        ],
    ),
    (
        "views that read each other",
        &["DROP TABLE items", "CREATE VIEW items AS SELECT * FROM other", "CREATE VIEW other AS SELECT * FROM items"],
        &[
            "DROP TABLE items",
            "CREATE VIEW items AS SELECT 1 AS id",
            "CREATE VIEW other AS SELECT id FROM items",
            "CREATE OR REPLACE VIEW items AS SELECT id FROM other",
        ],
    ),
    (
        "views that double",
        &[
            "SOLUTION",
            "CREATE VIEW v0 AS SELECT * FROM items",
            "CREATE VIEW v1 AS SELECT a.*, b.* FROM v0 a, v0 b",
            "CREATE VIEW v2 AS SELECT a.*, b.* FROM v1 a, v1 b",
            "CREATE VIEW v3 AS SELECT a.*, b.* FROM v2 a, v2 b",
            "CREATE VIEW v4 AS SELECT a.*, b.* FROM v3 a, v3 b",
            "CREATE VIEW v5 AS SELECT a.*, b.* FROM v4 a, v4 b",
            "CREATE VIEW v6 AS SELECT a.*, b.* FROM v5 a, v5 b",
            "CREATE VIEW v7 AS SELECT a.*, b.* FROM v6 a, v6 b",
            "CREATE VIEW v8 AS SELECT a.*, b.* FROM v7 a, v7 b",
        ],
        &[
            "SOLUTION",
            "CREATE VIEW v0 AS SELECT a.id FROM items a, items b",
            "CREATE VIEW v1 AS SELECT a.id FROM v0 a, v0 b",
            "CREATE VIEW v2 AS SELECT a.id FROM v1 a, v1 b",
        ],
    ),
    (
        "rules that refuse everything",
        &[
            "SOLUTION",
            "CREATE TRIGGER a BEFORE INSERT ON items BEGIN SELECT RAISE(ABORT, 'no'); END",
            "CREATE TRIGGER b BEFORE UPDATE ON items BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
            "CREATE TRIGGER c BEFORE DELETE ON items BEGIN SELECT RAISE(FAIL, 'no'); END",
        ],
        &["SOLUTION", "ALTER TABLE items ADD CHECK (false) NOT VALID"],
    ),
    (
        "a trigger that repeats itself, and rows that are hidden",
        &[
            "SOLUTION",
            "CREATE TRIGGER a AFTER UPDATE ON items BEGIN UPDATE items SET daily_cents = daily_cents + 1; END",
        ],
        &["SOLUTION", "ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"],
    ),
    (
        "the database filled to its limit",
        &[
            "CREATE TABLE junk (x)",
            "INSERT INTO junk WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 58) SELECT randomblob(1000000) FROM c",
            "INSERT INTO junk WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 40) SELECT randomblob(100000) FROM c",
            "SOLUTION",
        ],
        &[
            "CREATE TABLE junk (x text)",
            "INSERT INTO junk SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 50) i, generate_series(1, 30000) j GROUP BY i",
            "INSERT INTO junk SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 50) i, generate_series(1, 30000) j GROUP BY i",
            "SOLUTION",
        ],
    ),
    ("a transaction left open", &["BEGIN", "SOLUTION"], &["BEGIN", "SOLUTION"]),
    (
        "a transaction left broken",
        &["BEGIN", "SOLUTION", "SELECT * FROM nothing", "SAVEPOINT a"],
        &["BEGIN", "SOLUTION", "SELECT * FROM nothing"],
    ),
    (
        "settings changed",
        &["PRAGMA foreign_keys = OFF", "PRAGMA user_version = 7", "DELETE FROM items"],
        &[
            "SET search_path TO nowhere",
            "SET datestyle TO 'SQL, DMY'",
            "SET timezone TO 'Asia/Tokyo'",
            "DELETE FROM public.items",
        ],
    ),
    (
        "temporary things in place of tables",
        &[
            "CREATE TEMP TABLE items AS SELECT * FROM main.items",
            "CREATE TEMP VIEW staff AS SELECT 1 AS id",
            "CREATE TEMP TRIGGER t AFTER UPDATE ON items BEGIN DELETE FROM items; END",
            "CREATE TEMP TABLE \"a\"\"b'; --\" (x)",
        ],
        &[
            "CREATE TEMP TABLE items AS SELECT * FROM public.items",
            "CREATE TEMP VIEW staff AS SELECT 1 AS id",
            "CREATE DOMAIN pg_temp.date AS text",
            "CREATE TEMP TABLE \"a\"\"b'; --\" (x text)",
        ],
    ),
    (
        "rows that are too large to read",
        &["SOLUTION", "UPDATE items SET title = printf('%.*c', 700000, 'x')"],
        &["SOLUTION", "UPDATE items SET title = repeat('x', 900000)"],
    ),
    (
        "tables with names that have to be quoted",
        &[
            "SOLUTION",
            "CREATE TABLE \"a b\" (\"x\"\"y\" INTEGER, [z] INTEGER)",
            "CREATE TABLE empty_name (\"\" INTEGER)",
        ],
        &["SOLUTION", "CREATE TABLE \"c.d\" (\"x\"\"y\" integer)"],
    ),
    (
        "the schema dropped",
        &["SOLUTION", "DROP TABLE depots"],
        &["SOLUTION", "DROP SCHEMA public CASCADE", "DROP TABLE depots CASCADE"],
    ),
];

/// Plays in a session, whatever becomes of the statements, and judges.
async fn judged(
    engine: &Arc<dyn Engine>,
    suite: &Arc<Suite>,
    task: &Task,
    statements: &[String],
) -> Result<Judgement, JudgeError> {
    let library: Arc<dyn Library> = suite.clone();
    let opening = SessionOpening { seed: 7, limits: Limits::default(), from: None };
    let mut session =
        DatabaseSession::open(engine.clone(), library, Arc::new(task.clone()), opening).await.expect("a session");
    for sql in statements {
        let seen = session.act(Input::Call { tool: "query", arguments: &json!({"sql": sql}) }).await.expect("a step");
        assert!(!seen.text.contains("root:"), "{sql}: {}", seen.text);
    }
    session.act(Input::Call { tool: "submit", arguments: &json!({}) }).await.expect("a step");
    let evidence = session.evidence();
    session.close().await;
    judge(&**engine, &**suite, task, 7, &evidence).await
}

fn statements(task: &Task, dialect: Dialect, written: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for statement in written {
        match *statement {
            "SOLUTION" => all.extend(solution(task, dialect)),
            other => all.push(other.to_owned()),
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn breaking_the_database_scores_nothing_with_a_reason() {
    let suite = suite("migration");
    let task = suite.drawn("active-flag", "train", 0).expect("a task").task;
    let engines = Engines::start().await;
    let mut faults = Vec::new();
    for engine in &engines.all {
        let dialect = engine.dialect();
        for (name, sqlite, postgres) in WAYS {
            let written = if dialect == Dialect::Sqlite { sqlite } else { postgres };
            let result = judged(engine, &suite, &task, &statements(&task, dialect, written)).await;
            let right = result.as_ref().is_ok_and(|judgement| {
                let failed = judgement.checks.iter().find(|check| !check.passed);
                judgement.score() == 0.0 && failed.is_some_and(|check| check.evidence != json!({}))
            });
            let reported = match &result {
                Ok(judgement) => judgement
                    .checks
                    .iter()
                    .find(|check| !check.passed)
                    .map(|check| format!("{} {}", check.name, check.evidence))
                    .unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            println!("{} on {}: {}", name, dialect.name(), reported.chars().take(160).collect::<String>());
            if !right {
                faults.push(format!("{name} on {}: {reported}", dialect.name()));
            }
        }
    }
    engines.stop().await;
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Evidence of an episode that solves the task.
fn solved(task: &Task, dialect: Dialect) -> Json {
    let steps = (1..).zip(solution(task, dialect)).map(|(seq, sql)| LoggedStep {
        seq,
        sql,
        parameters: Vec::new(),
        now_ms: task.now_ms(seq),
        pure: false,
        cut: None,
    });
    json!(Evidence { steps: steps.collect(), submission: Some(Submitted::State), limits: Limits::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_engines_give_no_score() {
    let suite = suite("migration");
    let task = suite.drawn("active-flag", "train", 0).expect("a task").task;
    // A worker that is not there, and one that ends at once.
    for command in ["/nowhere/sqlite-worker", "/bin/false"] {
        let engine = SqliteEngine::new(Settings { workers: 1, ..Settings::new(vec![OsString::from(command)]) });
        let judged = judge(&engine, &*suite, &task, 7, &solved(&task, Dialect::Sqlite)).await;
        assert!(matches!(judged, Err(JudgeError::Infra(_))), "{command}: {judged:?}");
    }
    // A reference that fails is the task's fault, whatever the acting side did.
    let engines = Engines::start().await;
    let mut wrong = task.clone();
    wrong.setup = palestra_sql::task::Spoken::any("DROP TABLE items;");
    let judged = judge(&*engines.all[0], &*suite, &wrong, 7, &solved(&task, Dialect::Sqlite)).await;
    assert!(matches!(judged, Err(JudgeError::Verifier(_))), "{judged:?}");
    // A server that has been stopped.
    let postgres = engines.all.get(1).cloned();
    engines.stop().await;
    if let Some(postgres) = postgres {
        let judged = judge(&*postgres, &*suite, &task, 7, &solved(&task, Dialect::Postgres)).await;
        assert!(matches!(judged, Err(JudgeError::Infra(_))), "{judged:?}");
    }
}

/// Tries to get out, or to take more than there is, after which the work is done as it should be.
const ESCAPES: &[&str] = &[
    "ATTACH '/etc/passwd' AS x",
    "PRAGMA writable_schema = 1",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT * FROM sqlite_dbpage",
    "PRAGMA journal_mode = DELETE",
    "VACUUM INTO '/tmp/x'",
    "SELECT writefile('/tmp/x', 'y')",
    "SELECT fts3_tokenizer('x')",
    "PRAGMA temp_store_directory = '/tmp'",
    "SELECT zeroblob(2000000000)",
    "SELECT randomblob(900000000)",
    "SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000000)))",
    "SELECT printf('%.*c', 2000000000, 'x')",
    "SELECT 9223372036854775807 + 1",
    "SELECT abs(-9223372036854775808)",
    "SELECT 1e308 * 10, -1e308 * 10",
    "SELECT * FROM pragma_database_list",
    "SELECT sqlite_source_id(), sqlite_version()",
    "SELECT name FROM sqlite_schema WHERE name LIKE '%expected%' OR name LIKE '%palestra%'",
    "COPY items TO PROGRAM 'id'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "CREATE EXTENSION dblink",
    "DO $$ BEGIN PERFORM 1; END $$",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE RULE r AS ON UPDATE TO items DO INSTEAD NOTHING",
    "SET ROLE postgres",
    "SELECT pg_terminate_backend(1)",
    "SELECT datname FROM pg_database",
    "ALTER SYSTEM SET fsync = off",
    "SELECT repeat('x', 1000000000)",
    "SELECT pg_advisory_lock(1)",
    "CREATE POLICY p ON items USING (false)",
    "GRANT ALL ON items TO PUBLIC",
    "CREATE OPERATOR === (function = int4eq, leftarg = int, rightarg = int)",
    "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tries_to_get_out_change_nothing() {
    let suite = suite("migration");
    let task = suite.drawn("active-flag", "train", 0).expect("a task").task;
    let engines = Engines::start().await;
    for engine in &engines.all {
        let mut all: Vec<String> = ESCAPES.iter().map(|sql| (*sql).to_owned()).collect();
        all.push(format!("SELECT '{}'", "(".repeat(2_000)));
        all.push(format!("SELECT {}1{}", "(".repeat(2_000), ")".repeat(2_000)));
        all.push(format!("SELECT {} 1", "-".repeat(3_000)));
        all.push(format!("SELECT {} 1", "- ".repeat(3_000)));
        all.push(format!("SELECT 'x' LIKE '{}'", "%a".repeat(20_000)));
        all.push(format!("SELECT json('{}')", "[".repeat(10_000)));
        all.extend(solution(&task, engine.dialect()));
        let judged = judged(engine, &suite, &task, &all).await.expect("a judgement");
        assert_eq!(judged.score(), 1.0, "{:?}", judged.checks);
    }
    engines.stop().await;
}

//! Any sequence of statements, rewinds, forks and restarts equals a fresh run of the statements that stand.

use std::collections::HashMap;
use std::sync::Arc;

use palestra_sql::engine::{Access, Database, Limits, Opening, Step};
use palestra_sql::library::Library;
use palestra_sql::observe::observe;
use palestra_sql::session::{DatabaseSession, Evidence};
use palestra_sql::task::{Spoken, Submission, Task};
use palestra_sql::value::Dialect;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};

use crate::engines::{SEED, Shop, Stage, call, query, task};

#[derive(Debug, Clone)]
enum Move {
    Query(String),
    Rewind(usize),
    Look,
    Fork,
    Restart,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let sql = prop_oneof![
        (0..6).prop_map(|id| format!("INSERT INTO orders VALUES ({id}, 'Kiel', {id})")),
        (0..6).prop_map(|id| format!("DELETE FROM orders WHERE id = {id} RETURNING city")),
        (1..6).prop_map(|by| format!("UPDATE orders SET cents = cents + {by}; SELECT sum(cents) FROM orders")),
        Just("INSERT INTO audit (note) VALUES ('a'), ('b'); SELECT max(id) FROM audit".to_owned()),
        Just("INSERT INTO audit (note) VALUES (CURRENT_TIMESTAMP); SELECT note, random() FROM audit".to_owned()),
        Just("BEGIN".to_owned()),
        Just("COMMIT".to_owned()),
        Just("ROLLBACK".to_owned()),
        Just("SAVEPOINT a".to_owned()),
        Just("ROLLBACK TO a".to_owned()),
        Just("RELEASE a".to_owned()),
        Just("BEGIN; DELETE FROM orders; SELECT nix FROM orders; COMMIT".to_owned()),
        Just("SELECT * FROM orders ORDER BY id".to_owned()),
        Just("SELECT count(*) FROM scratch".to_owned()),
        Just("CREATE TEMP TABLE scratch AS SELECT * FROM orders".to_owned()),
        Just("CREATE TABLE scratch (id bigint)".to_owned()),
        Just("DROP TABLE scratch".to_owned()),
        Just("ALTER TABLE orders ADD COLUMN note text".to_owned()),
        Just("SELEKT".to_owned()),
    ];
    let one = prop_oneof![
        10 => sql.prop_map(Move::Query),
        3 => (0_usize..14).prop_map(Move::Rewind),
        1 => Just(Move::Look),
        1 => Just(Move::Fork),
        1 => Just(Move::Restart),
    ];
    proptest::collection::vec(one, 1..16)
}

fn without_seq(mut data: Json) -> Json {
    data.as_object_mut().expect("an object").remove("seq");
    data
}

/// Plays the moves; then every step that stands, run in a fresh database, gives what was seen of it, and leaves the same.
async fn play(stage: &Stage, task: &Arc<Task>, moves: Vec<Move>) {
    let mut session = stage.session(task, None).await;
    let mut seen: HashMap<u64, Json> = HashMap::new();
    for one in moves {
        let looked = match one {
            Move::Query(sql) => query(&mut session, &sql).await,
            Move::Rewind(to) => call(&mut session, "rewind", json!({"to_seq": to})).await,
            Move::Look => call(&mut session, "schema", json!({})).await,
            Move::Fork => {
                let fork = session.fork().await.expect("a fork");
                std::mem::replace(&mut session, fork).close().await;
                continue;
            }
            Move::Restart => {
                let again = stage.session(task, Some(session.snapshot())).await;
                std::mem::replace(&mut session, again).close().await;
                continue;
            }
        };
        seen.insert(session.seq(), without_seq(looked.data));
    }
    let evidence: Evidence = serde_json::from_value(session.evidence()).expect("evidence");
    let mut fresh = opened(stage, task).await;
    for logged in &evidence.steps {
        let step = Step { seq: logged.seq, sql: &logged.sql, parameters: &logged.parameters, now_ms: logged.now_ms };
        let ran = fresh.run(&step).await.expect("a step");
        let (_, data) = observe(stage.dialect(), &logged.sql, &ran, &Limits::default());
        assert_eq!(Some(&data), seen.get(&logged.seq), "step {} of {evidence:?}", logged.seq);
    }
    let last = session.seq() + 1;
    for (at, sql) in ["SELECT * FROM orders ORDER BY id", "ROLLBACK", "SELECT * FROM audit", "SELECT * FROM scratch"]
        .into_iter()
        .enumerate()
    {
        let there = without_seq(query(&mut session, sql).await.data);
        let seq = last + at as u64;
        let step = Step { seq, sql, parameters: &[], now_ms: palestra_sql::task::now_ms(None, seq) };
        let ran = fresh.run(&step).await.expect("a step");
        assert_eq!(there, observe(stage.dialect(), sql, &ran, &Limits::default()).1, "{sql} after {evidence:?}");
    }
    fresh.close().await;
    session.close().await;
}

async fn opened(stage: &Stage, task: &Task) -> Box<dyn Database> {
    let source = Shop.source(&task.data, &Spoken::Nothing, stage.dialect()).expect("data");
    let opening = Opening { access: Access::Define, limits: Limits::default(), seed: SEED };
    stage.engine.open(&source, &opening).await.expect("a database")
}

fn equals_a_fresh_run(dialect: Dialect, cases: u32) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let stage = match dialect {
        Dialect::Sqlite => runtime.block_on(async { Stage::sqlite() }),
        Dialect::Postgres => match runtime.block_on(Stage::postgres()) {
            Some(stage) => stage,
            None => return,
        },
    };
    let task = Arc::new(task(Submission::State, json!([])));
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let played = runner.run(&moves(), |moves| {
        runtime.block_on(play(&stage, &task, moves));
        Ok(())
    });
    runtime.block_on(stage.close());
    played.expect("it equals a fresh run");
}

#[test]
fn sessions_on_sqlite_equal_a_fresh_run_of_what_stands() {
    equals_a_fresh_run(Dialect::Sqlite, 200);
}

#[test]
fn sessions_on_postgres_equal_a_fresh_run_of_what_stands() {
    equals_a_fresh_run(Dialect::Postgres, 40);
}

async fn errors_and_looks(stage: Stage) {
    let task = Arc::new(task(Submission::Sql, json!([])));
    let mut session: DatabaseSession = stage.session(&task, None).await;
    assert!(session.observe().text.contains("orders (id "), "{}", session.observe().text);
    let failed = query(&mut session, "SELECT city FROM orders;\nSELECT nix FROM orders").await;
    assert_eq!(failed.data["error"]["statement"], 1);
    assert_eq!(failed.data["error"]["position"], 32, "{}", failed.text);
    assert!(failed.text.contains("SELECT nix FROM orders\n") && failed.text.contains('^'), "{}", failed.text);
    let looked = query(&mut session, "SELECT city, sum(cents) AS total FROM orders GROUP BY city ORDER BY 1").await;
    assert!(
        looked.text.starts_with(" city | total\n------+-------\n Bonn |   400\n Ulm  |   250\n(2 rows)"),
        "{}",
        looked.text
    );
    let plan = call(&mut session, "explain", json!({"sql": "SELECT * FROM orders WHERE id = 1"})).await;
    assert!(plan.data["plan"]["lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{}", plan.data);
    session.close().await;
    stage.close().await;
}

#[tokio::test]
async fn sqlite_shows_results_errors_and_plans() {
    errors_and_looks(Stage::sqlite()).await;
}

#[tokio::test]
async fn postgres_shows_results_errors_and_plans() {
    if let Some(stage) = Stage::postgres().await {
        errors_and_looks(stage).await;
    }
}

//! A statement that a limit cut stays cut: in the session, in a database in which its steps are run again, and for the judge.

use std::sync::Arc;

use palestra_sql::engine::Limits;
use palestra_sql::judge::judge;
use palestra_sql::session::{DatabaseSession, Input};
use palestra_sql::task::{Submission, Task};
use palestra_sql::value::Dialect;
use serde_json::{Value as Json, json};

use crate::engines::{SEED, Shop, Stage, call, query, task};

/// A statement that would change something if it came to an end.
const ENDLESS: &str = "INSERT INTO orders SELECT max(i), 'Kiel', 1 FROM \
     (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n) AS counted";

fn short() -> Limits {
    Limits { statement_ms: 700, ..Limits::default() }
}

fn generous() -> Limits {
    Limits { statement_ms: 120_000, ..Limits::default() }
}

async fn rows(session: &mut DatabaseSession) -> Json {
    query(session, "SELECT id FROM orders ORDER BY id").await.data["results"][0]["rows"].clone()
}

/// The rows that a session leaves, which are the same wherever its steps are run again, even where they could take longer.
async fn left(stage: &Stage, task: &Arc<Task>, limits: Limits, steps: &[&str]) -> Json {
    let mut session = stage.limited_session(task, None, limits).await;
    let mut replayed = stage.limited_session(task, None, generous()).await;
    let mut cut = 0;
    for sql in steps {
        let then = query(&mut session, sql).await.data;
        cut += usize::from(then["error"]["cut"].is_string());
        let call = json!({"sql": sql});
        let again = replayed.replay(Input::Call { tool: "query", arguments: &call }, &then).await.expect("a step");
        assert_eq!(again.data, then, "{:?} {sql}", stage.dialect());
    }
    assert_eq!(cut, 1, "{:?} {steps:?}", stage.dialect());
    let snapshot = session.snapshot();
    let mut evidence = session.evidence();
    query(&mut session, "ROLLBACK").await;
    let seen = rows(&mut session).await;
    session.close().await;
    let mut again = stage.limited_session(task, Some(snapshot), generous()).await;
    let mut fork = again.fork().await.expect("a fork");
    for session in [&mut again, &mut fork, &mut replayed] {
        query(session, "ROLLBACK").await;
        assert_eq!(rows(session).await, seen, "{:?} {steps:?}", stage.dialect());
    }
    again.close().await;
    fork.close().await;
    replayed.close().await;
    evidence["submission"] = json!("state");
    evidence["limits"] = json!(generous());
    let hidden = json!({"sql": "SELECT id FROM orders", "expect": seen});
    let checks = json!([{"name": "rows", "check": {"queries": {"queries": [hidden]}}}]);
    let asked = Task { others: Vec::new(), ..crate::engines::task(Submission::State, checks) };
    let judgement = judge(stage.engine.as_ref(), &Shop, &asked, SEED, &evidence).await.expect("a judgement");
    assert_eq!(judgement.score(), 1.0, "{:?} {steps:?}: {judgement:?}", stage.dialect());
    seen
}

async fn stays_ended(stage: Stage) {
    let task = Arc::new(task(Submission::State, json!([])));
    let dialect = stage.dialect();
    let insert = |id: u64| format!("INSERT INTO orders VALUES ({id}, 'Kiel', {id})");
    let cut = format!("{}; {}; {}", insert(7), ENDLESS, insert(8));
    assert_eq!(left(&stage, &task, short(), &[&cut]).await, json!([[1], [2], [3], [7]]));

    // SQLite rolls back a transaction in which it interrupts a change, and what follows stands; on PostgreSQL the block fails.
    let in_block = left(&stage, &task, short(), &["BEGIN", &cut, &insert(9), "COMMIT", &insert(10)]).await;
    let after = match dialect {
        Dialect::Sqlite => json!([[1], [2], [3], [9], [10]]),
        Dialect::Postgres => json!([[1], [2], [3], [10]]),
    };
    assert_eq!(in_block, after);
    let left_open = left(&stage, &task, short(), &[&format!("BEGIN; {}; {}", insert(7), ENDLESS)]).await;
    assert_eq!(left_open, json!([[1], [2], [3]]));

    if dialect == Dialect::Postgres {
        let huge = format!("{}; INSERT INTO orders VALUES (9, repeat('x', 3000000), 1) RETURNING city", insert(7));
        assert_eq!(left(&stage, &task, Limits::default(), &[&huge]).await, json!([[1], [2], [3], [7]]));
    }
    stage.close().await;
}

#[tokio::test]
async fn replay_keeps_statements_cut_by_limits_on_sqlite() {
    stays_ended(Stage::sqlite()).await;
}

#[tokio::test]
async fn replay_keeps_statements_cut_by_limits_on_postgres() {
    if let Some(stage) = Stage::postgres().await {
        stays_ended(stage).await;
    }
}

/// Ninety queries within each other: on PostgreSQL, each is a node of the plan.
fn deep_query() -> String {
    (0..90).fold("SELECT 1 AS x".to_owned(), |sql, level| {
        format!("SELECT x FROM ({sql}) AS t{level} LIMIT {}", 1_000 + level)
    })
}

async fn is_an_observation(stage: Stage) {
    let task = Arc::new(task(Submission::Sql, json!([])));
    let mut session = stage.session(&task, None).await;
    let plan = call(&mut session, "explain", json!({"sql": deep_query()})).await;
    let cut = &plan.data["error"]["cut"];
    if stage.dialect() == Dialect::Postgres {
        assert_eq!(cut, "size", "{}", plan.text);
    }
    assert_eq!(query(&mut session, &deep_query()).await.data["results"][0]["rows"], json!([[1]]));
    assert_eq!(rows(&mut session).await, json!([[1], [2], [3]]), "the session goes on");
    session.close().await;
    stage.close().await;
}

#[tokio::test]
async fn a_plan_too_deep_to_be_read_is_an_observation_on_sqlite() {
    is_an_observation(Stage::sqlite()).await;
}

#[tokio::test]
async fn a_plan_too_deep_to_be_read_is_an_observation_on_postgres() {
    if let Some(stage) = Stage::postgres().await {
        is_an_observation(stage).await;
    }
}

/// A statement that comes to an end only after one that was cut off, which nobody runs again.
const AFTER_CUT: &str = "INSERT INTO temp.q SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
     LIMIT (CASE WHEN last_insert_rowid() > 5 THEN 1 ELSE 1000000000 END)) SELECT i FROM n)";

#[tokio::test]
async fn steps_that_do_not_run_again_cost_their_author_and_no_episode() {
    let stage = Stage::sqlite();
    let task = Arc::new(task(Submission::State, json!([])));
    let mut session = stage.limited_session(&task, None, short()).await;
    let mut again = stage.limited_session(&task, None, short()).await;
    let endless =
        "INSERT INTO temp.big WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    for sql in
        ["CREATE TEMP TABLE q (x)", "CREATE TEMP TABLE big (x)", endless, AFTER_CUT, "INSERT INTO temp.q VALUES (1)"]
    {
        let then = query(&mut session, sql).await.data;
        assert_eq!(then["error"].is_null(), sql != endless, "{sql}: {then}");
        // Another session on the same steps goes on, whatever it sees.
        let call = json!({"sql": sql});
        again.replay(Input::Call { tool: "query", arguments: &call }, &then).await.expect("a step");
    }
    let refused = call(&mut session, "rewind", json!({"to_seq": 4})).await;
    assert!(refused.text.contains("cannot be had again") && !refused.terminated, "{refused:?}");
    let stands = query(&mut session, "SELECT count(*) FROM temp.q").await;
    assert_eq!(stands.data["results"][0]["rows"], json!([[2]]), "{stands:?}");
    let snapshot = session.snapshot();
    let mut fork = session.fork().await.expect("a fork");
    let mut restored = stage.limited_session(&task, Some(snapshot), short()).await;
    for other in [&mut fork, &mut restored] {
        let seen = query(other, "SELECT 1").await;
        assert!(!seen.terminated, "{seen:?}");
    }
    for session in [session, again, fork, restored] {
        session.close().await;
    }
    stage.close().await;
}

//! Honest solutions and cheats on both engines.

use palestra_sql::judge::judge;
use palestra_sql::task::{Submission, Task};
use palestra_sql::value::Dialect;
use serde_json::{Value as Json, json};

use crate::engines::{SEED, Shop, Stage, query, task};

/// The score of an episode with these statements, and why.
async fn scored(stage: &Stage, task: &Task, steps: &[&str], submission: Json) -> (f64, String) {
    let task = std::sync::Arc::new(task.clone());
    let mut session = stage.session(&task, None).await;
    for sql in steps {
        query(&mut session, sql).await;
    }
    let mut evidence = session.evidence();
    evidence["submission"] = submission;
    // What never ends is cut off soon.
    evidence["limits"]["statement_ms"] = json!(500);
    session.close().await;
    let judgement = judge(stage.engine.as_ref(), &Shop, &task, SEED, &evidence).await.expect("a judgement");
    (judgement.score(), format!("{judgement:?}"))
}

/// Runs the same on both engines, where they are.
async fn on_both(test: impl AsyncFn(&Stage)) {
    for stage in [Some(Stage::sqlite()), Stage::postgres().await].into_iter().flatten() {
        test(&stage).await;
        stage.close().await;
    }
}

const GOLD: &str = "UPDATE orders SET cents = cents + 1 WHERE city = 'Bonn'";

#[tokio::test]
async fn tables_cannot_be_passed_off() {
    let task = task(
        Submission::State,
        json!([
            {"name": "prices", "check": {"state": {"gold": GOLD, "tables": ["orders"]}}},
            {"name": "audit", "check": {"unchanged": {"tables": ["audit"]}}},
        ]),
    );
    let forged =
        "CREATE TABLE mine AS SELECT id, city, cents + CASE city WHEN 'Bonn' THEN 1 ELSE 0 END AS cents FROM orders;";
    let away = "DROP VIEW dear; ALTER TABLE orders RENAME TO real_orders;";
    on_both(async |stage| {
        for done in [&[GOLD][..], &["BEGIN", GOLD, "COMMIT"], &[GOLD, "BEGIN; DELETE FROM orders"]] {
            let (score, why) = scored(stage, &task, done, json!("state")).await;
            assert_eq!(score, 1.0, "{:?} {done:?}: {why}", stage.dialect());
        }
        let renamed = format!("{forged}{away}");
        let mut tries = vec![
            vec![],
            vec!["BEGIN", GOLD],
            vec!["UPDATE orders SET cents = 101 WHERE id = 1; UPDATE orders SET cents = 301 WHERE id = 3"],
            vec![&renamed, "CREATE VIEW orders AS SELECT * FROM mine"],
            vec![&renamed, "CREATE TEMP TABLE orders AS SELECT * FROM mine"],
            vec!["CREATE TEMP TABLE orders AS SELECT id, city, cents + 1 AS cents FROM orders WHERE city = 'Bonn'"],
            vec!["DELETE FROM orders"],
            vec![GOLD, "ALTER TABLE orders ADD COLUMN more text"],
        ];
        if stage.dialect() == Dialect::Postgres {
            tries.extend([
                vec![
                    "CREATE SCHEMA s",
                    "CREATE TABLE s.orders AS SELECT id, city, cents + 1 AS cents FROM orders",
                    "SET search_path = s",
                ],
                vec!["ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "ALTER TABLE orders FORCE ROW LEVEL SECURITY"],
                vec![&renamed, "CREATE MATERIALIZED VIEW orders AS SELECT * FROM mine"],
            ]);
        }
        for tried in tries {
            let (score, why) = scored(stage, &task, &tried, json!("state")).await;
            assert!(score < 1.0, "{:?} {tried:?}: {why}", stage.dialect());
        }
    })
    .await;
}

#[tokio::test]
async fn a_query_is_judged_on_what_outlives_the_session() {
    let task = task(
        Submission::Sql,
        json!([{"name": "answer", "check": {"result": {"gold": "SELECT city, sum(cents) FROM orders GROUP BY city"}}}]),
    );
    let right = json!({"sql": "SELECT city, sum(cents) AS n FROM orders GROUP BY city ORDER BY 2"});
    on_both(async |stage| {
        let mut harmless = vec![
            vec![],
            vec!["BEGIN; DELETE FROM orders"],
            vec!["CREATE TEMP TABLE orders (x int)"],
            vec!["CREATE TEMP VIEW orders AS SELECT 1 AS x"],
            vec!["BEGIN", "SELECT nix"],
        ];
        if stage.dialect() == Dialect::Postgres {
            harmless.push(vec!["CREATE SCHEMA s", "CREATE TABLE s.orders (x int)", "SET search_path = s"]);
            harmless.push(vec!["SET extra_float_digits = 0", "SET timezone = 'Asia/Tokyo'"]);
        }
        for steps in harmless {
            let (score, why) = scored(stage, &task, &steps, right.clone()).await;
            assert_eq!(score, 1.0, "{:?} {steps:?}: {why}", stage.dialect());
        }
        for wrong in [
            "SELECT 'Bonn', 400 UNION ALL SELECT 'Ulm', 250",
            "SELECT city, count(*) FROM orders GROUP BY city",
            "DELETE FROM orders RETURNING city, cents",
            "SELECT 1; SELECT 2",
            "EXPLAIN SELECT city, sum(cents) FROM orders GROUP BY city",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*), 1 FROM n",
        ] {
            let (score, why) = scored(stage, &task, &[], json!({"sql": wrong})).await;
            assert_eq!(score, 0.0, "{:?} {wrong}: {why}", stage.dialect());
        }
    })
    .await;
}

#[tokio::test]
async fn schemas_plans_probes_and_hidden_queries_hold_on_both() {
    let task = task(
        Submission::State,
        json!([
            {"name": "shape", "check": {"schema": {"expect": [
                {"column": {"table": "orders", "column": "cents", "sort": "integer", "not_null": true}},
                {"column": {"table": "orders", "column": "city", "sort": "text"}},
                {"primary_key": {"table": "orders", "columns": ["id"]}},
                {"index": {"table": "orders", "columns": ["cents"]}},
                {"view": "dear"},
            ]}}},
            {"name": "probes", "check": {"probes": {"probes": [
                {"sql": "INSERT INTO orders VALUES (9, 'Bonn', 1)", "fails": false, "why": "orders are taken"},
                {"sql": "INSERT INTO orders VALUES (1, 'Bonn', 1)", "fails": true, "why": "the key is kept"},
                {"sql": "INSERT INTO orders VALUES (8, NULL, 1)", "fails": true, "why": "a city is there"},
            ]}}},
            {"name": "hidden", "check": {"queries": {"gold": GOLD, "queries": [
                {"sql": "SELECT city, cents FROM dear"}, {"sql": "SELECT count(*) FROM orders"},
            ]}}},
            {"name": "cost", "check": {"plan": {"query": "SELECT cents FROM orders WHERE cents = 101", "budget": [
                {"step_share": 2.0}, {"cost_share": 2.0},
            ]}}},
        ]),
    );
    on_both(async |stage| {
        let index = "CREATE INDEX by_cents ON orders (cents)";
        let (score, why) = scored(stage, &task, &[index, GOLD], json!("state")).await;
        assert_eq!(score, 1.0, "{:?}: {why}", stage.dialect());
        let (score, why) = scored(stage, &task, &[index, "SELECT nix"], json!("state")).await;
        assert_eq!(score, 0.75, "{:?}: {why}", stage.dialect());
        let (score, why) = scored(stage, &task, &["DROP VIEW dear", "DROP TABLE orders"], json!("state")).await;
        assert_eq!(score, 0.0, "{:?}: {why}", stage.dialect());
    })
    .await;
}

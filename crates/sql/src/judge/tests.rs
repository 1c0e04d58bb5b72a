//! Judging on the stand-in engine: what passes, what does not, and what tries to pass for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value as Json, json};
use tokio_util::task::TaskTracker;

use super::{JudgeError, Judgement, judge};
use crate::engine::Access;
use crate::stand_in::{FORBIDDEN, LETHAL, SLOW, Scripts, StandIn, Switches};
use crate::task::{Check, Data, Kind, Spoken, Submission, Task, WeightedCheck};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT NOT NULL, cents INTEGER);\
                      CREATE TABLE audit (note TEXT); CREATE VIEW dear AS SELECT * FROM orders WHERE cents > 100;";
const MAIN: &str = "INSERT INTO orders VALUES (1, 'Bonn', 100), (2, 'Ulm', 250), (3, 'Bonn', 300);";
const OTHER: &str = "INSERT INTO orders VALUES (1, 'Kiel', 900), (2, 'Bonn', 50);";

fn library() -> Scripts {
    Scripts(BTreeMap::from([("main", format!("{ORDERS}{MAIN}")), ("other", format!("{ORDERS}{OTHER}"))]))
}

fn task(submission: Submission, checks: Json) -> Task {
    let Json::Array(checks) = checks else { panic!("not a list") };
    let weighted = |(at, check): (usize, Json)| WeightedCheck {
        name: format!("check {at}"),
        weight: 1.0,
        required: false,
        check: serde_json::from_value::<Check>(check).expect("a check"),
    };
    Task {
        kind: Kind::Question,
        template: "orders".to_owned(),
        instruction: "…".to_owned(),
        difficulty: None,
        data: Data::Stored("main".to_owned()),
        others: vec![Data::Stored("other".to_owned())],
        setup: Spoken::Nothing,
        access: Access::Define,
        submission,
        checks: checks.into_iter().enumerate().map(weighted).collect(),
        solution: Vec::new(),
        solution_submission: None,
        begins_ms: None,
        metadata: BTreeMap::new(),
    }
}

/// Evidence of an episode with these steps.
fn left(steps: &[&str], submission: Json) -> Json {
    let steps = steps.iter().enumerate().map(|(at, sql)| json!({"seq": at + 1, "sql": sql, "now_ms": 0}));
    let mut evidence = json!({"steps": steps.collect::<Vec<_>>()});
    evidence["submission"] = submission;
    evidence
}

async fn judged_on(switches: &Arc<Switches>, task: &Task, evidence: &Json) -> Result<Judgement, JudgeError> {
    judge(&StandIn(Arc::clone(switches)), &library(), task, 7, evidence).await
}

async fn judged(task: &Task, evidence: &Json) -> Judgement {
    let stubborn = Arc::<Switches>::default();
    stubborn.stubborn.store(true, Ordering::Relaxed);
    let here = judged_on(&Arc::default(), task, evidence).await.expect("a judgement");
    let there = judged_on(&stubborn, task, evidence).await.expect("a judgement");
    assert_eq!(here, there, "how an engine returns to older states makes no difference");
    here
}

/// Checks whether the only check passes, and why.
async fn passes(task: &Task, evidence: &Json) -> (bool, String) {
    let judgement = judged(task, evidence).await;
    let check = judgement.checks.first().expect("a check");
    (check.passed, check.evidence.to_string())
}

fn question(gold: &str) -> Task {
    task(Submission::Sql, json!([{"result": {"gold": gold}}]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn judging_can_be_moved_between_threads() {
    let judging = TaskTracker::new().spawn(async {
        let query = left(&[], json!({"sql": "SELECT count(*) FROM orders"}));
        judged_on(&Arc::default(), &question("SELECT count(*) FROM orders"), &query).await
    });
    assert_eq!(judging.await.expect("it ends").expect("a judgement").score(), 1.0);
}

#[tokio::test]
async fn each_accepted_reading_is_right_and_a_mixture_of_them_is_not() {
    // "How much do orders cost?": all together, or on average.
    let accepted = json!([{"gold": "SELECT avg(cents) FROM orders"}, {"gold": {"postgres": "SELECT nothing"}}]);
    let task =
        task(Submission::Sql, json!([{"result": {"gold": "SELECT sum(cents) FROM orders", "accepted": accepted}}]));
    let tried = async |sql: &str| passes(&task, &left(&[], json!({"sql": sql}))).await;
    let first = tried("SELECT total(cents) FROM orders").await;
    assert!(first.0 && first.1.contains(r#""passed":1,"tried":2"#), "{}", first.1);
    let second = tried("SELECT sum(cents) / count(*) * 1.0 FROM orders").await;
    assert!(!second.0, "whole numbers are divided as such: {}", second.1);
    let second = tried("SELECT 1.0 * sum(cents) / count(*) FROM orders").await;
    assert!(second.0 && second.1.contains(r#""passed":2"#), "{}", second.1);
    // The sum where there are three orders, else the mean: right on each data in another reading.
    let mixed = "SELECT CASE WHEN count(*) = 3 THEN sum(cents) ELSE avg(cents) END FROM orders";
    let mixed = tried(mixed).await;
    assert!(!mixed.0 && mixed.1.contains(r#""passed":null,"tried":2"#), "{}", mixed.1);
    assert!(!tried("SELECT max(cents) FROM orders").await.0);
}

#[tokio::test]
async fn a_query_is_right_when_it_gives_the_references_rows_on_every_data() {
    let task = question("SELECT city, sum(cents) FROM orders GROUP BY city");
    let tried = async |sql: &str| passes(&task, &left(&[], json!({"sql": sql}))).await;
    let right = tried("SELECT o.city, total(o.cents) FROM orders AS o GROUP BY 1 ORDER BY 2").await;
    assert!(right.0, "{}", right.1);
    let fixed = tried("SELECT 'Bonn', 400 UNION SELECT 'Ulm', 250").await;
    assert!(!fixed.0 && fixed.1.contains("\"other_data\":1"), "{}", fixed.1);
    for (sql, why) in [
        ("SELECT city, count(*) FROM orders GROUP BY city", "missing"),
        ("SELECT city FROM orders", "expected 2 columns, found 1: city"),
        ("SELECT nix FROM orders", "no such column: nix"),
        ("SELECT 1; SELECT 2", "not a single statement"),
        ("", "not a single statement"),
        ("DELETE FROM orders RETURNING city, cents", "not a single statement that only reads"),
        ("EXPLAIN SELECT 1", "only reads"),
        ("PRAGMA user_version", "only reads"),
        ("SELEKT", "syntax error"),
    ] {
        let (passed, evidence) = tried(sql).await;
        assert!(!passed && evidence.contains(why), "{sql}: {evidence}");
    }
    for nothing in [Json::Null, json!({"answer": "400"}), json!("state")] {
        let (passed, evidence) = passes(&task, &left(&[], nothing)).await;
        assert!(!passed && evidence.contains("no query was handed in"), "{evidence}");
    }
}

#[tokio::test]
async fn a_query_is_run_on_what_the_acting_side_left_and_the_reference_is_not() {
    let task = question("SELECT count(*) FROM orders");
    let emptied = left(&["DELETE FROM orders"], json!({"sql": "SELECT count(*) FROM orders"}));
    let (passed, evidence) = passes(&task, &emptied).await;
    assert!(!passed && evidence.contains("expected 3, found 0"), "{evidence}");
    let repaired = left(
        &["DROP VIEW dear; CREATE VIEW dear AS SELECT count(*) AS n FROM orders"],
        json!({"sql": "SELECT n FROM dear"}),
    );
    assert!(passes(&task, &repaired).await.0);
}

#[tokio::test]
async fn session_state_is_not_there_for_the_judge() {
    let task = question("SELECT count(*) FROM orders");
    let count = json!({"sql": "SELECT count(*) FROM orders"});
    for steps in [
        &["BEGIN; DELETE FROM orders"][..],
        &["CREATE TEMP TABLE orders (id)"],
        &["CREATE TEMP VIEW orders AS SELECT 1"],
        &[
            "CREATE TEMP TABLE \"a\"\"b\" (id); CREATE TEMP TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM orders; END",
        ],
    ] {
        let (passed, evidence) = passes(&task, &left(steps, count.clone())).await;
        assert!(passed, "{steps:?}: {evidence}");
    }
}

#[tokio::test]
async fn tables_are_compared_and_cannot_be_passed_off() {
    let gold = "UPDATE orders SET cents = cents + 1 WHERE city = 'Bonn'";
    let task = task(Submission::State, json!([{"state": {"gold": gold, "tables": ["orders"]}}]));
    for steps in [
        &[gold][..],
        &[
            "BEGIN",
            "UPDATE orders SET cents = 1 + cents WHERE city LIKE 'bonn'",
            "INSERT INTO audit VALUES ('x'); COMMIT",
        ],
        &["DROP TABLE orders", "nonsense", "CREATE TABLE orders (cents, city, id)"],
    ] {
        let (passed, evidence) = passes(&task, &left(steps, json!("state"))).await;
        assert_eq!(passed, !steps[0].starts_with("DROP"), "{steps:?}: {evidence}");
    }
    let forged =
        "CREATE TABLE real AS SELECT id, city, cents + (city = 'Bonn') AS cents FROM orders; DROP TABLE orders;";
    for (steps, why) in [
        (&[][..], "column \\\"cents\\\": expected 101, found 100"),
        (&["UPDATE orders SET cents = 101 WHERE id = 1; UPDATE orders SET cents = 301 WHERE id = 3"], "other_data"),
        (&["BEGIN", gold], "missing"),
        (&[forged, "CREATE VIEW orders AS SELECT * FROM real"], "there is no table orders"),
        (&[forged, "CREATE TEMP TABLE orders AS SELECT * FROM real"], "there is no table orders"),
        (&[gold, "ALTER TABLE orders ADD COLUMN more"], "expected 3 columns, found 4"),
        (&[gold, "ALTER TABLE orders RENAME COLUMN cents TO pence"], "no column"),
        (&["CREATE TEMP TABLE orders AS SELECT id, city, cents + (city = 'Bonn') AS cents FROM orders"], "found 100"),
    ] {
        let (passed, evidence) = passes(&task, &left(steps, json!("state"))).await;
        assert!(!passed && (evidence.contains(why) || evidence.contains("missing")), "{steps:?}: {evidence}");
    }
}

#[tokio::test]
async fn unchanged_tables_are_compared_exactly() {
    let task = task(Submission::State, json!([{"unchanged": {"tables": ["orders", "AUDIT"]}}]));
    let tried = async |sql: &str| passes(&task, &left(&[sql], json!("state"))).await;
    assert!(tried("SELECT 1").await.0);
    assert!(
        tried("UPDATE orders SET cents = 5; UPDATE orders SET cents = 7; ROLLBACK; CREATE TABLE c (x)")
            .await
            .1
            .contains("orders")
    );
    assert!(tried("INSERT INTO audit VALUES (NULL)").await.1.contains("AUDIT"));
    assert!(tried("UPDATE orders SET city = CAST(city AS BLOB)").await.1.contains("orders"));
    assert!(tried("BEGIN; DELETE FROM orders").await.0);
}

#[tokio::test]
async fn unchanged_tables_keep_their_constraints() {
    let task = task(Submission::State, json!([{"unchanged": {"tables": ["orders"]}}]));
    let tried = async |sql: &str| passes(&task, &left(&[sql], json!("state"))).await;
    let again = |columns: &str| {
        let kept = "CREATE TABLE kept AS SELECT * FROM orders; DROP TABLE orders; CREATE TABLE orders";
        format!("{kept} ({columns}); INSERT INTO orders SELECT * FROM kept; DROP TABLE kept")
    };
    for (sql, why) in [
        ("CREATE TRIGGER t BEFORE INSERT ON orders BEGIN SELECT RAISE(IGNORE); END".to_owned(), "besides: trigger t"),
        (again("id INTEGER PRIMARY KEY, city TEXT, cents INTEGER"), "lost: city is never NULL"),
        (again("id INTEGER, city TEXT NOT NULL, cents INTEGER"), "lost: id is never NULL"),
        (again("id INTEGER PRIMARY KEY, city TEXT NOT NULL, cents BIGINT"), "lost: column cents integer"),
    ] {
        let (passed, evidence) = tried(&sql).await;
        assert!(!passed && (evidence.contains(why) || evidence.contains("error")), "{sql}: {evidence}");
    }
    for sql in [
        again("id INTEGER PRIMARY KEY, city TEXT NOT NULL, cents INTEGER"),
        again("ID INTEGER NOT NULL PRIMARY KEY, \"city\" text NOT NULL, cents integer"),
        "CREATE INDEX i ON orders (city); CREATE TABLE more (x); CREATE UNIQUE INDEX u ON orders (id, city)".to_owned(),
    ] {
        let (passed, evidence) = tried(&sql).await;
        assert!(passed, "{sql}: {evidence}");
    }
}

/// A table that is not named, and which the reference changes, keeps what the reference leaves it.
#[tokio::test]
async fn changed_tables_keep_the_constraints_that_the_reference_keeps() {
    let gold = "ALTER TABLE orders ADD COLUMN currency TEXT";
    let checks = json!([{"unchanged": {"tables": ["audit"]}},
        {"queries": {"gold": gold, "queries": [{"sql": "SELECT id, city, cents, currency FROM orders"}]}}]);
    let task = task(Submission::State, checks);
    let again = |columns: &str| {
        let kept = "CREATE TABLE kept AS SELECT *, NULL FROM orders; DROP VIEW dear; DROP TABLE orders;";
        format!("{kept} CREATE TABLE orders ({columns}); INSERT INTO orders SELECT * FROM kept; DROP TABLE kept")
    };
    let (passed, evidence) = passes(&task, &left(&[gold], json!("state"))).await;
    assert!(passed, "{evidence}");
    let kept = again("id INTEGER PRIMARY KEY, city VARCHAR(9) NOT NULL, cents INTEGER, currency TEXT");
    let (passed, evidence) = passes(&task, &left(&[&kept], json!("state"))).await;
    assert!(passed, "{evidence}");
    let lost = again("id INTEGER PRIMARY KEY, city TEXT, cents INTEGER, currency TEXT");
    let (passed, evidence) = passes(&task, &left(&[&lost], json!("state"))).await;
    assert!(!passed && evidence.contains("orders has lost: city is never NULL"), "{evidence}");
}

#[tokio::test]
async fn hidden_queries_ask_the_reference_or_what_is_written() {
    let gold = "INSERT INTO orders (city, cents) SELECT city, 1 FROM orders WHERE id = 1";
    let asked = json!([{"queries": {"gold": gold, "queries": [
        {"sql": "SELECT count(*) FROM orders"},
        {"sql": "SELECT city FROM dear", "gold_sql": "SELECT city FROM orders WHERE cents > 100"},
    ]}}]);
    let referred = task(Submission::State, asked);
    let right = "INSERT INTO orders VALUES (77, 'x', 0)";
    assert!(passes(&referred, &left(&[right], json!("state"))).await.0);
    assert!(passes(&referred, &left(&[], json!("state"))).await.1.contains("\"query\":1"));
    assert!(
        passes(&referred, &left(&[right, "DROP VIEW dear"], json!("state"))).await.1.contains("no such table: dear")
    );
    let living = task(
        Submission::State,
        json!([{"queries": {
            "gold": "CREATE VIEW cities AS SELECT DISTINCT city FROM orders",
            "queries": [{"after": "INSERT INTO orders VALUES (50, 'Jena', 1); DELETE FROM orders WHERE id = 1",
                "sql": "SELECT city FROM cities"}, {"sql": "SELECT count(*) FROM orders"}],
        }}]),
    );
    let view = "CREATE VIEW cities AS SELECT city FROM orders GROUP BY city";
    let (passed, evidence) = passes(&living, &left(&[view], json!("state"))).await;
    assert!(passed, "what changed is undone: {evidence}");
    for dead in [
        "CREATE TABLE cities AS SELECT DISTINCT city FROM orders",
        &format!("{view}; CREATE TRIGGER t BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'full'); END"),
    ] {
        assert!(!passes(&living, &left(&[dead], json!("state"))).await.0, "{dead}");
    }
    let written = task(
        Submission::State,
        json!([{"queries": {"queries": [{"sql": "SELECT max(id), NULL, 'a' FROM orders", "expect": [[4, null, "a"]]}]}}]),
    );
    assert!(passes(&written, &left(&["INSERT INTO orders VALUES (4, 'x', 0)"], json!("state"))).await.0);
    assert!(passes(&written, &left(&[], json!("state"))).await.1.contains("expected 4, found 3"));
}

#[tokio::test]
async fn probes_are_tried_and_undone() {
    let checks = json!([{"probes": {"probes": [
        {"sql": "INSERT INTO orders VALUES (9, 'Bonn', 1)", "fails": false, "why": "an order can be taken"},
        {"sql": "INSERT INTO orders VALUES (9, 'Bonn', 2)", "fails": false, "why": "the first try is undone"},
        {"sql": "INSERT INTO orders VALUES (1, 'Bonn', 1)", "fails": true, "why": "the key is kept"},
        {"sql": "UPDATE orders SET cents = -1 WHERE id = 2", "fails": true, "why": "no negative prices"},
    ]}}, {"state": {"gold": "", "tables": ["orders"]}}]);
    let task = task(Submission::State, checks);
    let guard =
        "CREATE TRIGGER t BEFORE UPDATE ON orders WHEN new.cents < 0 BEGIN SELECT RAISE(ABORT, 'negative'); END";
    let guarded = judged(&task, &left(&[guard], json!("state"))).await;
    assert_eq!(guarded.score(), 1.0, "{guarded:?}");
    let (passed, evidence) = passes(&task, &left(&[], json!("state"))).await;
    assert!(!passed && evidence.contains("no negative prices") && evidence.contains("it succeeded"), "{evidence}");
    let gone = left(&["ALTER TABLE orders RENAME COLUMN cents TO pence"], json!("state"));
    let (passed, evidence) = passes(&task, &gone).await;
    assert!(!passed && evidence.contains("for another reason"), "what is gone refuses nothing: {evidence}");
}

#[tokio::test]
async fn properties_plans_and_schemas_are_checked() {
    let query = json!({"sql": "SELECT city FROM orders o WHERE cents = 250 ORDER BY 1"});
    let properties = |list: Json| task(Submission::Sql, json!([{"properties": {"properties": list}}]));
    let right = properties(json!([{"reads": "orders"}, {"uses": "order_by"}, {"avoids": "join"}, "read_only"]));
    assert!(passes(&right, &left(&[], query.clone())).await.0);
    let wrong = properties(json!([{"uses": "window"}, {"reads": "orders"}]));
    assert_eq!(passes(&wrong, &left(&[], query.clone())).await.1, json!({"failed": [{"uses": "window"}]}).to_string());

    let budget = json!([
        {"never": {"node": "scan", "table": "orders"}},
        {"has": {"node": "search", "table": "orders"}},
        {"step_share": 0.9},
        {"cost_share": 0.5},
    ]);
    let plan = task(Submission::Sql, json!([{"plan": {"budget": budget}}]));
    let index = "CREATE INDEX by_cents ON orders (cents)";
    let (passed, evidence) = passes(&plan, &left(&[index], query.clone())).await;
    assert!(passed, "{evidence}");
    let (passed, evidence) = passes(&plan, &left(&[], query.clone())).await;
    assert!(!passed && evidence.contains("\"never\""), "an alias hides no table: {evidence}");
    let (passed, evidence) = passes(&plan, &left(&["DROP TABLE orders"], query)).await;
    assert!(!passed && evidence.contains("no such table"), "{evidence}");

    let facts = json!([
        {"table": "Orders"}, {"no_table": "nothing"}, {"view": "dear"}, {"no_column": {"table": "orders", "column": "x"}},
        {"column": {"table": "orders", "column": "city", "sort": "text", "not_null": true}},
        {"column": {"table": "orders", "column": "id", "sort": "integer", "not_null": true}},
        {"primary_key": {"table": "orders", "columns": ["id"]}}, {"indexes_at_most": {"table": "orders", "count": 1}},
        {"index": {"table": "orders", "columns": ["cents"]}},
    ]);
    let schema = task(Submission::State, json!([{"schema": {"expect": facts}}]));
    assert!(passes(&schema, &left(&[index], json!("state"))).await.0);
    let missing = json!({"missing": [{"index": {"table": "orders", "columns": ["cents"]}}]});
    assert_eq!(passes(&schema, &left(&[], json!("state"))).await.1, missing.to_string());
}

#[tokio::test]
async fn a_required_check_that_fails_takes_the_whole_score() {
    let checks = json!([{"unchanged": {"tables": ["audit"]}}, {"unchanged": {"tables": ["orders"]}}]);
    let mut task = task(Submission::State, checks);
    task.checks[0].weight = 3.0;
    let emptied = left(&["DELETE FROM orders"], json!("state"));
    assert_eq!(judged(&task, &emptied).await.score(), 0.75);
    task.checks[1].required = true;
    let judgement = judged(&task, &emptied).await;
    assert_eq!(judgement.score(), 0.0);
    assert!(judgement.checks[0].passed, "it says of each whether it passed");
    assert_eq!(judgement.checks[0].evidence["required_failed"], json!(["check 1"]));
    assert_eq!(judged(&task, &left(&[], json!("state"))).await.score(), 1.0);
}

#[tokio::test]
async fn faults_of_the_task_and_of_the_engine_are_no_scores() {
    let right = left(&[], json!({"sql": "SELECT count(*) FROM orders"}));
    for task in [question("SELECT nix FROM orders"), question(""), question("SELECT 1; SELECT 2")] {
        let error = judged_on(&Arc::default(), &task, &right).await.expect_err("the reference is broken");
        assert!(matches!(error, JudgeError::Verifier(_)), "{error}");
    }
    let task = question("SELECT count(*) FROM orders");
    let broken = judged_on(&Arc::default(), &task, &json!({"steps": 1})).await.expect_err("no evidence");
    assert!(matches!(broken, JudgeError::Verifier(_)));
    let switches = Arc::<Switches>::default();
    switches.losses.store(1, Ordering::Relaxed);
    assert_eq!(judged_on(&switches, &task, &right).await.expect("a second try").score(), 1.0);
    switches.losses.store(2, Ordering::Relaxed);
    let lost = judged_on(&switches, &task, &right).await.expect_err("it is lost twice");
    assert!(matches!(lost, JudgeError::Infra(_)), "{lost}");
}

#[tokio::test]
async fn steps_that_lose_their_database_twice_are_the_acting_sides_fault() {
    let count = "SELECT count(*) FROM orders";
    let checks =
        json!([{"answer": {"accept": ["3"]}}, {"result": {"gold": count}}, {"unchanged": {"tables": ["orders"]}}]);
    let task = task(Submission::Sql, checks);
    let lethal = format!("{count} {LETHAL}");
    for evidence in [left(&[], json!({"sql": lethal})), left(&[&format!("ANALYZE {LETHAL}")], json!({"sql": count}))] {
        let judgement = judged(&task, &evidence).await;
        assert_eq!(judgement.checks[0].evidence, json!({"error": "no answer was handed in"}));
        for check in &judgement.checks[1..] {
            assert!(!check.passed && check.evidence.to_string().contains("broke the database twice"), "{check:?}");
        }
    }
    let reference = question(&lethal);
    let lost = judged_on(&Arc::default(), &reference, &left(&["ANALYZE"], json!({"sql": count}))).await;
    assert!(
        matches!(lost, Err(JudgeError::Infra(_))),
        "a reference that does is no fault of the acting side: {lost:?}"
    );
    let switches = Arc::<Switches>::default();
    switches.losses.store(1, Ordering::Relaxed);
    let once = judged_on(&switches, &task, &left(&["ANALYZE"], json!({"sql": count}))).await.expect("a judgement");
    assert!(once.checks[1].passed && once.checks[2].passed, "{once:?}");
}

#[tokio::test]
async fn a_step_that_a_limit_ended_ends_there_for_the_judge() {
    let gold = "INSERT INTO orders VALUES (8, 'Kiel', 1)";
    let task = task(Submission::State, json!([{"state": {"gold": gold, "tables": ["orders"]}}]));
    let step = |rest: &str| format!("{gold}; INSERT {SLOW} INTO orders VALUES (9, 'Kiel', 1){rest}");
    let evidence = |sql: String, cut: Json| {
        let step = json!({"seq": 1, "sql": sql, "now_ms": 0, "cut": cut});
        json!({"steps": [step], "submission": "state"})
    };
    let cut = |in_transaction: bool| json!({"statement": 1, "by": "time", "in_transaction": in_transaction});
    let (passed, why) = passes(&task, &evidence(step("; DELETE FROM orders"), cut(false))).await;
    assert!(passed, "{why}");
    let begun = evidence(format!("BEGIN; {}", step("")), json!({"statement": 2, "by": "time", "in_transaction": true}));
    assert!(!passes(&task, &begun).await.0, "what is not committed does not stand");
    let (passed, why) = passes(&task, &evidence(step(""), Json::Null)).await;
    assert!(!passed, "where nothing is known of a limit it goes through: {why}");
}

#[tokio::test]
async fn a_query_that_cannot_be_read_fails_its_check() {
    let properties = task(Submission::Sql, json!([{"properties": {"properties": ["read_only"]}}]));
    let deep = format!("SELECT 1{}", "+1".repeat(100_000));
    let odd = "SELECT 1 WHERE 1 ISNULL IS NOT DISTINCT FROM 0";
    assert!(crate::parse::statements(odd, crate::value::Dialect::Sqlite, drop).is_err(), "SQLite reads it");
    for (sql, why) in [(deep.as_str(), "nested too deeply"), ("SELEKT", "Expected"), (odd, "cannot read the query")] {
        let (passed, evidence) = passes(&properties, &left(&[], json!({"sql": sql}))).await;
        assert!(
            !passed && evidence.contains("the judge cannot read the query") && evidence.contains(why),
            "{evidence}"
        );
    }
}

#[tokio::test]
async fn a_probe_that_is_refused_is_the_tasks_fault_where_the_reference_makes_it_so() {
    let insert = json!({"sql": "INSERT INTO orders VALUES (9, 'Bonn', 1)", "fails": false, "why": "orders are taken"});
    let gold = "CREATE TABLE more (x)";
    let checks = json!([{"probes": {"probes": [insert]}}, {"state": {"gold": gold, "tables": ["more"]}}]);
    let probed = task(Submission::State, checks);
    let trigger = format!("CREATE TRIGGER t BEFORE INSERT ON orders BEGIN SELECT {FORBIDDEN}(); END");
    let judgement = judged(&probed, &left(&[gold, &trigger], json!("state"))).await;
    assert!(!judgement.checks[0].passed && judgement.checks[1].passed, "{judgement:?}");
    assert!(judgement.checks[0].evidence["error"].as_str().is_some_and(|why| why.contains(FORBIDDEN)));
    let refused = task(
        Submission::State,
        json!([{"probes": {"probes": [{"sql": format!("SELECT {FORBIDDEN}()"), "fails": true, "why": "never"}]}}]),
    );
    let error = judged_on(&Arc::default(), &refused, &left(&["ANALYZE"], json!("state"))).await;
    assert!(matches!(error, Err(JudgeError::Verifier(_))), "{error:?}");
}

#[tokio::test]
async fn an_answer_is_compared_as_words() {
    let task = task(Submission::Answer, json!([{"answer": {"accept": ["Host-07", "1250"]}}]));
    for (answer, right) in [("host-07 ", true), ("1,250.00", true), ("host-7", false), ("", false)] {
        assert_eq!(passes(&task, &left(&[], json!({"answer": answer}))).await.0, right, "{answer}");
    }
    assert!(!passes(&task, &left(&[], Json::Null)).await.0);
}

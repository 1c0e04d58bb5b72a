//! Sessions on a stand-in engine.

mod random_moves;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value as Json, json};
use tokio_util::task::TaskTracker;

use super::{DatabaseSession, Input, Observation, SessionOpening};
use crate::engine::{Access, EngineError, Limits};
use crate::stand_in::{LETHAL, SLOW, Scripts, StandIn, Switches};
use crate::task::{Data, Kind, Spoken, Submission, Task};

const SCRIPT: &str = "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\
                      INSERT INTO people VALUES (1, 'Ann'), (2, 'Bo');";

fn task(submission: Submission) -> Task {
    Task {
        kind: Kind::Question,
        template: "people".to_owned(),
        instruction: "Name everybody.".to_owned(),
        difficulty: None,
        data: Data::Stored("people".to_owned()),
        others: Vec::new(),
        setup: Spoken::Nothing,
        access: Access::Define,
        submission,
        checks: Vec::new(),
        solution: Vec::new(),
        solution_submission: None,
        begins_ms: None,
        metadata: BTreeMap::new(),
    }
}

async fn opened(switches: &Arc<Switches>, submission: Submission, from: Option<Json>) -> DatabaseSession {
    let library = Scripts(BTreeMap::from([("people", SCRIPT.to_owned())]));
    let opening = SessionOpening { seed: 7, limits: Limits::default(), from };
    let engine = Arc::new(StandIn(Arc::clone(switches)));
    DatabaseSession::open(engine, Arc::new(library), Arc::new(task(submission)), opening).await.expect("a session")
}

async fn query(session: &mut DatabaseSession, sql: &str) -> Observation {
    call(session, "query", json!({"sql": sql})).await
}

async fn call(session: &mut DatabaseSession, tool: &str, arguments: Json) -> Observation {
    let input = Input::Call { tool, arguments: &arguments };
    match session.act(input).await {
        Ok(seen) => seen,
        // The database that was built again was lost as well; the action did not happen.
        Err(_) => session.act(input).await.expect("an answer"),
    }
}

async fn names(session: &mut DatabaseSession) -> Json {
    let seen = query(session, "SELECT name FROM people ORDER BY id").await;
    json!(
        seen.data["results"][0]["rows"].as_array().expect("rows").iter().map(|row| row[0].clone()).collect::<Vec<_>>()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acting_can_be_moved_between_threads() {
    let mut session = opened(&Arc::default(), Submission::Sql, None).await;
    let acting = TaskTracker::new().spawn(async move {
        session.act(Input::Text("DELETE FROM people WHERE id = 1")).await.expect("an answer");
        let mut fork = session.fork().await.expect("a fork");
        names(&mut fork).await
    });
    assert_eq!(acting.await.expect("it ends"), json!(["Bo"]));
}

#[tokio::test]
async fn the_first_look_tells_the_task_the_tables_and_what_can_be_done() {
    let session = opened(&Arc::default(), Submission::Sql, None).await;
    let Observation { text, data, terminated } = session.observe();
    for words in ["Name everybody.", "SQLite", "people (id INTEGER, name TEXT)", "```submit", "alter"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert_eq!(data["schema"]["tables"][0]["name"], "people");
    assert!(!terminated);
}

#[tokio::test]
async fn a_rewind_returns_and_strikes_what_came_later() {
    for stubborn in [false, true] {
        let switches = Arc::<Switches>::default();
        switches.stubborn.store(stubborn, Ordering::Relaxed);
        let mut session = opened(&switches, Submission::State, None).await;
        query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
        assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
        query(&mut session, "DELETE FROM people WHERE id < 3").await;
        let back = call(&mut session, "rewind", json!({"to_seq": 2})).await;
        assert_eq!(back.data["undone"], 1);
        assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
        let struck = call(&mut session, "rewind", json!({"to_seq": 3})).await;
        assert!(struck.text.contains("those that do: 0 to 2, 4 to 5"), "{}", struck.text);
        query(&mut session, "DELETE FROM people").await;
        call(&mut session, "rewind", json!({"to_seq": 4})).await;
        assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
        call(&mut session, "rewind", json!({"to_seq": 0})).await;
        assert_eq!(names(&mut session).await, json!(["Ann", "Bo"]));
        let evidence = session.evidence();
        assert_eq!(evidence["steps"].as_array().expect("steps").len(), 1, "only the last look stands: {evidence}");
        assert_eq!(evidence["steps"][0]["pure"], true);
    }
}

#[tokio::test]
async fn a_whole_number_may_be_written_as_a_float() {
    let mut session = opened(&Arc::default(), Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    query(&mut session, "DELETE FROM people").await;
    for (to_seq, names_then) in [
        (json!(1.0), json!(["Ann", "Bo", "Cy"])),
        (json!(0.0), json!(["Ann", "Bo"])),
        (json!(-0.0), json!(["Ann", "Bo"])),
    ] {
        let back = call(&mut session, "rewind", json!({"to_seq": to_seq})).await;
        assert_eq!(back.data["error"], Json::Null, "{}", back.text);
        assert_eq!(names(&mut session).await, names_then);
    }
}

#[tokio::test]
async fn pure_steps_are_not_replayed() {
    let switches = Arc::<Switches>::default();
    switches.stubborn.store(true, Ordering::Relaxed);
    let mut session = opened(&switches, Submission::State, None).await;
    names(&mut session).await;
    names(&mut session).await;
    call(&mut session, "rewind", json!({"to_seq": 1})).await;
    assert_eq!(switches.opened.load(Ordering::Relaxed), 1, "nothing had changed");
}

#[tokio::test]
async fn a_lost_database_is_built_again_and_nobody_sees_it() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    query(&mut session, "BEGIN; DELETE FROM people WHERE id = 1").await;
    switches.losses.store(1, Ordering::Relaxed);
    query(&mut session, "ROLLBACK").await;
    assert_eq!(switches.opened.load(Ordering::Relaxed), 2);
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    switches.losses.store(1, Ordering::Relaxed);
    query(&mut session, "INSERT INTO people VALUES (4, 'Di')").await;
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy", "Di"]), "it acted once");
}

#[tokio::test]
async fn a_step_that_a_limit_ended_ends_there_when_it_is_run_again() {
    for stubborn in [false, true] {
        let switches = Arc::<Switches>::default();
        switches.stubborn.store(stubborn, Ordering::Relaxed);
        let mut session = opened(&switches, Submission::State, None).await;
        let insert = |id: u64, mark: &str| format!("INSERT {mark} INTO people VALUES ({id}, 'n{id}')");
        let cut = format!("{}; {}; {}", insert(3, ""), insert(4, SLOW), insert(5, ""));
        assert_eq!(query(&mut session, &cut).await.data["error"]["cut"], "time");
        query(&mut session, &format!("BEGIN; {}; {}", insert(6, ""), insert(7, SLOW))).await;
        query(&mut session, "COMMIT").await;
        let evidence = session.evidence();
        let at = |statement: u64, open: bool| json!({"statement": statement, "by": "time", "in_transaction": open});
        assert_eq!((&evidence["steps"][0]["cut"], &evidence["steps"][1]["cut"]), (&at(1, false), &at(2, true)));
        let expected = json!(["Ann", "Bo", "n3", "n6"]);
        assert_eq!(names(&mut session).await, expected);
        assert_eq!(names(&mut session.fork().await.expect("a fork")).await, expected);
        assert_eq!(names(&mut roomier(&switches, session.snapshot()).await).await, expected);
    }
}

/// The session at a snapshot, where a statement may take longer.
async fn roomier(switches: &Arc<Switches>, from: Json) -> DatabaseSession {
    let library = Scripts(BTreeMap::from([("people", SCRIPT.to_owned())]));
    let limits = Limits { statement_ms: 60_000, ..Limits::default() };
    let opening = SessionOpening { seed: 7, limits, from: Some(from) };
    let engine = Arc::new(StandIn(Arc::clone(switches)));
    DatabaseSession::open(engine, Arc::new(library), Arc::new(task(Submission::State)), opening)
        .await
        .expect("a session")
}

#[tokio::test]
async fn a_step_that_went_through_and_is_cut_off_later_makes_no_database() {
    let switches = Arc::<Switches>::default();
    let mut snapshot = opened(&switches, Submission::State, None).await.snapshot();
    snapshot["steps"] = json!([{"seq": 1, "sql": format!("DELETE {SLOW} FROM people"), "now_ms": 0}]);
    let library = Scripts(BTreeMap::from([("people", SCRIPT.to_owned())]));
    let opening = SessionOpening { seed: 7, limits: Limits::default(), from: Some(snapshot) };
    let task = Arc::new(task(Submission::State));
    let again = DatabaseSession::open(Arc::new(StandIn(switches)), Arc::new(library), task, opening).await;
    // The session opens all the same: an untouched database stands, so that the step is to blame.
    let seen = query(&mut again.expect("a session"), "SELECT 1").await;
    assert_eq!(seen.data["error"]["cut"], "lost", "{}", seen.text);
}

#[tokio::test]
async fn an_action_whose_database_cannot_be_had_again_is_cut_off_where_an_untouched_one_stands() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    // The second and the third while it is built again.
    switches.losses.store(3, Ordering::Relaxed);
    let seen = query(&mut session, "DELETE FROM people").await;
    assert_eq!((&seen.data["error"]["cut"], &seen.data["seq"]), (&json!("lost"), &json!(2)), "{}", seen.text);
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    // Where the untouched one is lost as well, the action did not happen.
    let seq = session.seq();
    switches.losses.store(4, Ordering::Relaxed);
    let sql = json!({"sql": "DELETE FROM people"});
    let error = session.act(Input::Call { tool: "query", arguments: &sql }).await.expect_err("it is lost");
    assert!(matches!(error, EngineError::Lost(_)));
    assert_eq!(session.seq(), seq);
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
}

#[tokio::test]
async fn an_action_that_no_database_survives_is_cut_off_where_an_untouched_one_stands() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    let lethal = json!({"sql": format!("DELETE {LETHAL} FROM people")});
    let seen = session.act(Input::Call { tool: "query", arguments: &lethal }).await.expect("an observation");
    assert_eq!((&seen.data["error"]["cut"], &seen.data["seq"]), (&json!("lost"), &json!(2)), "{}", seen.text);
    assert_eq!(switches.opened.load(Ordering::Relaxed), 3, "its own, another one, and an untouched one");
    let mut again = opened(&switches, Submission::State, Some(session.snapshot())).await;
    for session in [&mut session, &mut again] {
        assert_eq!(names(session).await, json!(["Ann", "Bo", "Cy"]));
    }
    // Where the untouched one is lost as well, the engine is to blame.
    switches.losses.store(3, Ordering::Relaxed);
    let mut fresh = opened(&switches, Submission::State, None).await;
    let harmless = json!({"sql": "SELECT 1"});
    let error = fresh.act(Input::Call { tool: "query", arguments: &harmless }).await.expect_err("it is lost");
    assert!(matches!(error, EngineError::Lost(_)), "{error:?}");
    assert_eq!(fresh.seq(), 0);
}

#[tokio::test]
async fn a_statement_that_its_database_does_not_survive_is_cut_off_and_never_run_again() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    query(&mut session, "BEGIN").await;
    switches.midway.store(1, Ordering::Relaxed);
    let seen = query(&mut session, "DELETE FROM people WHERE id = 1").await;
    assert_eq!((&seen.data["error"]["cut"], &seen.data["seq"]), (&json!("lost"), &json!(3)), "{}", seen.text);
    assert!(seen.text.contains("stands as it was before"), "{}", seen.text);
    assert_eq!(switches.opened.load(Ordering::Relaxed), 1, "it was not run in another database");
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    assert_eq!(switches.opened.load(Ordering::Relaxed), 2);
    query(&mut session, "ROLLBACK").await;
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]), "its transaction was open again");
    call(&mut session, "rewind", json!({"to_seq": 3})).await;
    query(&mut session, "COMMIT").await;
    let mut again = opened(&switches, Submission::State, Some(session.snapshot())).await;
    let mut fork = session.fork().await.expect("a fork");
    for session in [&mut session, &mut again, &mut fork] {
        assert_eq!(names(session).await, json!(["Ann", "Bo", "Cy"]));
        let steps = &session.evidence()["steps"];
        assert_eq!((&steps[2]["seq"], &steps[2]["pure"]), (&json!(3), &json!(true)), "{steps}");
    }
}

#[tokio::test]
async fn a_database_that_is_lost_while_it_is_built_is_built_again() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    for lost in [&switches.midway, &switches.losses] {
        switches.midway.store(1, Ordering::Relaxed);
        query(&mut session, "DELETE FROM people").await;
        // The insert meets it when it is run again.
        lost.store(1, Ordering::Relaxed);
        assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    }
    assert_eq!(switches.opened.load(Ordering::Relaxed), 5, "two databases for each of the two that were lost");
}

#[tokio::test]
async fn lost_databases_leave_the_session_as_it_was() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    for (tool, arguments) in [("schema", json!({})), ("explain", json!({"sql": "SELECT * FROM people"}))] {
        switches.midway.store(1, Ordering::Relaxed);
        let seen = call(&mut session, tool, arguments).await;
        assert_eq!(seen.data["error"]["cut"], "lost", "{}", seen.text);
        assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    }
    query(&mut session, "DELETE FROM people").await;
    switches.midway.store(1, Ordering::Relaxed);
    let back = call(&mut session, "rewind", json!({"to_seq": 1})).await;
    assert_eq!(back.data["rewound_to"], 1, "{}", back.text);
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    switches.midway.store(1, Ordering::Relaxed);
    let mut fork = session.fork().await.expect("a fork");
    assert_eq!(names(&mut fork).await, names(&mut session).await);
}

#[tokio::test]
async fn a_schema_that_is_too_large_is_an_error_and_the_session_goes_on() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    switches.large.store(true, Ordering::Relaxed);
    let seen = call(&mut session, "schema", json!({})).await;
    assert!(seen.text.starts_with("Error: the schema is too large"), "{}", seen.text);
    assert_eq!(seen.data["error"]["cut"], "size");
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo"]));
    assert_eq!(switches.opened.load(Ordering::Relaxed), 1, "its database stands");
}

#[tokio::test]
async fn an_action_that_is_broken_off_did_not_happen() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
    let before = (session.seq(), session.evidence(), session.snapshot());
    {
        let act = session.act(Input::Text("DELETE FROM people"));
        let mut act = std::pin::pin!(act);
        let polled = std::future::poll_fn(|context| std::task::Poll::Ready(act.as_mut().poll(context))).await;
        assert!(polled.is_pending(), "it is under way");
    }
    assert_eq!((session.seq(), session.evidence(), session.snapshot()), before);
    assert_eq!(names(&mut session).await, json!(["Ann", "Bo", "Cy"]));
    assert_eq!(switches.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_snapshot_is_gone_on_from_and_looks_the_same_at_first() {
    let switches = Arc::<Switches>::default();
    let mut session = opened(&switches, Submission::State, None).await;
    query(&mut session, "DROP TABLE people").await;
    query(
        &mut session,
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT); BEGIN; INSERT INTO people VALUES (9, 'Zo')",
    )
    .await;
    names(&mut session).await;
    let mut again = opened(&switches, Submission::State, Some(session.snapshot())).await;
    assert_eq!(again.observe(), session.observe());
    assert_eq!((again.seq(), again.evidence()), (session.seq(), session.evidence()));
    for session in [&mut session, &mut again] {
        query(session, "COMMIT").await;
        assert_eq!(names(session).await, json!(["Zo"]));
        call(session, "rewind", json!({"to_seq": 1})).await;
        assert!(query(session, "SELECT * FROM people").await.text.starts_with("Error: no such table: people"));
    }
    assert_eq!(again.snapshot(), session.snapshot());
    let library = Arc::new(Scripts(BTreeMap::from([("people", SCRIPT.to_owned())])));
    let opening = SessionOpening { seed: 7, limits: Limits::default(), from: Some(json!({"steps": 3})) };
    let refused =
        DatabaseSession::open(Arc::new(StandIn(switches)), library, Arc::new(task(Submission::State)), opening).await;
    assert!(matches!(refused.err(), Some(EngineError::Source(_))));
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    for stubborn in [false, true] {
        let switches = Arc::<Switches>::default();
        switches.stubborn.store(stubborn, Ordering::Relaxed);
        let mut session = opened(&switches, Submission::State, None).await;
        query(&mut session, "INSERT INTO people VALUES (3, 'Cy')").await;
        let mut fork = session.fork().await.expect("a fork");
        query(&mut session, "DELETE FROM people WHERE id = 1").await;
        query(&mut fork, "DELETE FROM people WHERE id = 2").await;
        assert_eq!(names(&mut session).await, json!(["Bo", "Cy"]));
        assert_eq!(names(&mut fork).await, json!(["Ann", "Cy"]));
        call(&mut fork, "rewind", json!({"to_seq": 0})).await;
        assert_eq!(names(&mut fork).await, json!(["Ann", "Bo"]));
        assert_eq!(names(&mut session).await, json!(["Bo", "Cy"]));
        session.close().await;
    }
}

#[tokio::test]
async fn plain_text_is_a_query_or_its_last_block_is() {
    let mut session = opened(&Arc::default(), Submission::Sql, None).await;
    let seen = |data: &Json| data["results"][0]["rows"][0][0].clone();
    for (text, value) in [
        ("SELECT 41", json!(41)),
        ("First:\n```sql\nSELECT 1\n```\nthen\n```sql\nSELECT 42;\n```\nDone.", json!(42)),
        ("```sql\nSELECT 43", json!(43)),
        ("```\nnot this\n```\n```SQL\nSELECT 44\n```\n```text\nnor this\n```", json!(44)),
    ] {
        let answer = session.act(Input::Text(text)).await.expect("an answer");
        assert_eq!(seen(&answer.data), value, "{text}");
    }
    let words = session.act(Input::Text("I think it is Ann.")).await.expect("an answer");
    assert!(words.text.starts_with("Error: near \"I\": syntax error"), "{}", words.text);
    let end = session.act(Input::Text("It is\n```submit\nSELECT name FROM people\n```")).await.expect("an answer");
    assert!(end.terminated);
    assert_eq!(session.evidence()["submission"], json!({"sql": "SELECT name FROM people"}));
    let late = session.act(Input::Text("DROP TABLE people")).await.expect("an answer");
    assert!(late.terminated && late.text.contains("has ended"));
    assert_eq!(session.evidence()["steps"].as_array().map(Vec::len), Some(5));
}

#[tokio::test]
async fn only_what_is_asked_for_can_be_handed_in() {
    for (wanted, wrong, right, log) in [
        (Submission::Sql, json!({"answer": "3"}), json!({"sql": "SELECT 3"}), json!({"sql": "SELECT 3"})),
        (Submission::Sql, json!({"sql": "  "}), json!({"sql": "SELECT 3", "answer": ""}), json!({"sql": "SELECT 3"})),
        (Submission::Answer, json!({"sql": "SELECT 3"}), json!({"answer": 3}), json!({"answer": "3"})),
        (Submission::State, json!({"answer": "done"}), json!({}), json!("state")),
    ] {
        let mut session = opened(&Arc::default(), wanted, None).await;
        let refused = call(&mut session, "submit", wrong).await;
        assert!(!refused.terminated && refused.text.starts_with("Error: "), "{}", refused.text);
        assert_eq!(session.evidence()["submission"], Json::Null);
        assert!(call(&mut session, "submit", right).await.terminated);
        assert_eq!(session.evidence()["submission"], log);
    }
}

#[tokio::test]
async fn invalid_actions_are_reported_and_counted() {
    let mut session = opened(&Arc::default(), Submission::Sql, None).await;
    for (tool, arguments, words) in [
        ("drop", json!({}), "there is no tool"),
        ("query", json!({}), "query needs sql"),
        ("query", json!({"sql": 3}), "sql is a string"),
        ("query", json!([]), "are an object"),
        ("query", json!({"sql": "SELECT 1", "limit": 3}), "no argument \"limit\""),
        ("query", json!({"sql": "SELECT ?", "parameters": [{}]}), "a parameter is"),
        ("query", json!({"sql": ";".repeat(300 << 10)}), "SQL may have"),
        ("query", json!({"sql": "SELECT 1;".repeat(600)}), "500 statements"),
        ("rewind", json!({"to_seq": -1}), "needs to_seq"),
        ("rewind", json!({"to_seq": 1.5}), "needs to_seq"),
        ("rewind", json!({"to_seq": 1e16}), "needs to_seq"),
        ("rewind", json!({"to_seq": "1"}), "needs to_seq"),
        ("rewind", json!({"to_seq": 99}), "does not stand"),
        ("rewind", json!({"to_seq": 1e9}), "action 1000000000 does not stand"),
        ("schema", json!({"table": "nobody"}), "there are people"),
    ] {
        let before = session.seq();
        let seen = call(&mut session, tool, arguments).await;
        assert!(seen.text.contains(words), "{}", seen.text);
        assert_eq!(seen.data["error"]["cut"], "refused");
        assert_eq!(session.seq(), before + 1);
    }
    assert_eq!(session.evidence()["steps"], json!([]));
}

#[tokio::test]
async fn parameters_schema_and_plan_are_there() {
    let mut session = opened(&Arc::default(), Submission::Sql, None).await;
    let arguments = json!({"sql": "SELECT ?1, ?2, ?3, ?4", "parameters": [1, 2.5, "x", null]});
    let seen = call(&mut session, "query", arguments).await;
    assert_eq!(seen.data["results"][0]["rows"], json!([[1, 2.5, "x", null]]));
    let table = call(&mut session, "schema", json!({"table": "PEOPLE"})).await;
    assert_eq!(table.text, "Table people\n  id INTEGER\n  name TEXT not null\n  primary key (id)");
    assert!(call(&mut session, "schema", json!({})).await.text.contains("Table people"));
    let plan =
        call(&mut session, "explain", json!({"sql": "SELECT * FROM people WHERE id = ?", "parameters": [1]})).await;
    assert!(plan.text.contains("SEARCH people"), "{}", plan.text);
    for sql in ["CREATE TABLE z (a)", "INSERT INTO people VALUES (9, 'Zo')"] {
        let plan = call(&mut session, "explain", json!({"sql": sql})).await;
        assert_eq!(plan.text, "(no plan: the statement reads nothing)", "{sql}");
        assert_eq!((&plan.data["plan"]["lines"], &plan.data["error"]), (&json!([]), &Json::Null), "{sql}");
    }
    let broken = call(&mut session, "explain", json!({"sql": "SELECT nix"})).await;
    assert!(broken.text.starts_with("Error: no such column"), "{}", broken.text);
}

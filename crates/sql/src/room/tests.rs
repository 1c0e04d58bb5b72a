//! Rooms on a stand-in engine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tokio_util::task::TaskTracker;

use super::{Input, Room, RoomOpening, Seen};
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
        metadata: BTreeMap::new(),
    }
}

async fn opened(switches: &Arc<Switches>, submission: Submission, from: Option<Json>) -> Room {
    let library = Scripts(BTreeMap::from([("people", SCRIPT.to_owned())]));
    let opening = RoomOpening { seed: 7, limits: Limits::default(), from };
    let engine = Arc::new(StandIn(Arc::clone(switches)));
    Room::open(engine, Arc::new(library), Arc::new(task(submission)), opening).await.expect("a room")
}

async fn query(room: &mut Room, sql: &str) -> Seen {
    call(room, "query", json!({"sql": sql})).await
}

async fn call(room: &mut Room, tool: &str, arguments: Json) -> Seen {
    let input = Input::Call { tool, arguments: &arguments };
    match room.act(input).await {
        Ok(seen) => seen,
        // The database that was built again was lost as well; the action did not happen.
        Err(_) => room.act(input).await.expect("an answer"),
    }
}

async fn names(room: &mut Room) -> Json {
    let seen = query(room, "SELECT name FROM people ORDER BY id").await;
    json!(
        seen.data["results"][0]["rows"].as_array().expect("rows").iter().map(|row| row[0].clone()).collect::<Vec<_>>()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acting_can_be_moved_between_threads() {
    let mut room = opened(&Arc::default(), Submission::Sql, None).await;
    let acting = TaskTracker::new().spawn(async move {
        room.act(Input::Text("DELETE FROM people WHERE id = 1")).await.expect("an answer");
        let mut fork = room.fork().await.expect("a fork");
        names(&mut fork).await
    });
    assert_eq!(acting.await.expect("it ends"), json!(["Bo"]));
}

#[tokio::test]
async fn the_first_look_tells_the_task_the_tables_and_what_can_be_done() {
    let room = opened(&Arc::default(), Submission::Sql, None).await;
    let Seen { text, data, terminated } = room.observe();
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
        let mut room = opened(&switches, Submission::State, None).await;
        query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
        assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
        query(&mut room, "DELETE FROM people WHERE id < 3").await;
        let back = call(&mut room, "rewind", json!({"to_seq": 2})).await;
        assert_eq!(back.data["undone"], 1);
        assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
        let struck = call(&mut room, "rewind", json!({"to_seq": 3})).await;
        assert!(struck.text.contains("those that do: 0 to 2, 4 to 5"), "{}", struck.text);
        query(&mut room, "DELETE FROM people").await;
        call(&mut room, "rewind", json!({"to_seq": 4})).await;
        assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
        call(&mut room, "rewind", json!({"to_seq": 0})).await;
        assert_eq!(names(&mut room).await, json!(["Ann", "Bo"]));
        let evidence = room.evidence();
        assert_eq!(evidence["steps"].as_array().expect("steps").len(), 1, "only the last look stands: {evidence}");
        assert_eq!(evidence["steps"][0]["pure"], true);
    }
}

#[tokio::test]
async fn a_whole_number_may_be_written_as_a_float() {
    let mut room = opened(&Arc::default(), Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    query(&mut room, "DELETE FROM people").await;
    for (to_seq, names_then) in [
        (json!(1.0), json!(["Ann", "Bo", "Cy"])),
        (json!(0.0), json!(["Ann", "Bo"])),
        (json!(-0.0), json!(["Ann", "Bo"])),
    ] {
        let back = call(&mut room, "rewind", json!({"to_seq": to_seq})).await;
        assert_eq!(back.data["error"], Json::Null, "{}", back.text);
        assert_eq!(names(&mut room).await, names_then);
    }
}

#[tokio::test]
async fn what_was_only_read_is_not_run_again() {
    let switches = Arc::<Switches>::default();
    switches.stubborn.store(true, Ordering::Relaxed);
    let mut room = opened(&switches, Submission::State, None).await;
    names(&mut room).await;
    names(&mut room).await;
    call(&mut room, "rewind", json!({"to_seq": 1})).await;
    assert_eq!(switches.opened.load(Ordering::Relaxed), 1, "nothing had changed");
}

#[tokio::test]
async fn a_lost_database_is_built_again_and_nobody_sees_it() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    query(&mut room, "BEGIN; DELETE FROM people WHERE id = 1").await;
    switches.losses.store(1, Ordering::Relaxed);
    query(&mut room, "ROLLBACK").await;
    assert_eq!(switches.opened.load(Ordering::Relaxed), 2);
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    switches.losses.store(1, Ordering::Relaxed);
    query(&mut room, "INSERT INTO people VALUES (4, 'Di')").await;
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy", "Di"]), "it acted once");
}

#[tokio::test]
async fn a_step_that_a_limit_ended_ends_there_when_it_is_run_again() {
    for stubborn in [false, true] {
        let switches = Arc::<Switches>::default();
        switches.stubborn.store(stubborn, Ordering::Relaxed);
        let mut room = opened(&switches, Submission::State, None).await;
        let insert = |id: u64, mark: &str| format!("INSERT {mark} INTO people VALUES ({id}, 'n{id}')");
        let cut = format!("{}; {}; {}", insert(3, ""), insert(4, SLOW), insert(5, ""));
        assert_eq!(query(&mut room, &cut).await.data["error"]["cut"], "time");
        query(&mut room, &format!("BEGIN; {}; {}", insert(6, ""), insert(7, SLOW))).await;
        query(&mut room, "COMMIT").await;
        let evidence = room.evidence();
        let at = |statement: u64, open: bool| json!({"statement": statement, "by": "time", "in_transaction": open});
        assert_eq!((&evidence["steps"][0]["cut"], &evidence["steps"][1]["cut"]), (&at(1, false), &at(2, true)));
        let expected = json!(["Ann", "Bo", "n3", "n6"]);
        assert_eq!(names(&mut room).await, expected);
        assert_eq!(names(&mut room.fork().await.expect("a fork")).await, expected);
        assert_eq!(names(&mut roomy(&switches, room.snapshot()).await).await, expected);
    }
}

/// The room at a snapshot, where a statement may take longer.
async fn roomy(switches: &Arc<Switches>, from: Json) -> Room {
    let library = Scripts(BTreeMap::from([("people", SCRIPT.to_owned())]));
    let limits = Limits { statement_ms: 60_000, ..Limits::default() };
    let opening = RoomOpening { seed: 7, limits, from: Some(from) };
    let engine = Arc::new(StandIn(Arc::clone(switches)));
    Room::open(engine, Arc::new(library), Arc::new(task(Submission::State)), opening).await.expect("a room")
}

#[tokio::test]
async fn a_step_that_went_through_and_is_cut_off_later_makes_no_database() {
    let switches = Arc::<Switches>::default();
    let mut snapshot = opened(&switches, Submission::State, None).await.snapshot();
    snapshot["steps"] = json!([{"seq": 1, "sql": format!("DELETE {SLOW} FROM people"), "now_ms": 0}]);
    let library = Scripts(BTreeMap::from([("people", SCRIPT.to_owned())]));
    let opening = RoomOpening { seed: 7, limits: Limits::default(), from: Some(snapshot) };
    let task = Arc::new(task(Submission::State));
    let again = Room::open(Arc::new(StandIn(switches)), Arc::new(library), task, opening).await;
    // The room opens all the same: an untouched database stands, so that the step is to blame.
    let seen = query(&mut again.expect("a room"), "SELECT 1").await;
    assert_eq!(seen.data["error"]["cut"], "lost", "{}", seen.text);
}

#[tokio::test]
async fn an_action_whose_database_cannot_be_had_again_is_cut_off_where_an_untouched_one_stands() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    // The second and the third while it is built again.
    switches.losses.store(3, Ordering::Relaxed);
    let seen = query(&mut room, "DELETE FROM people").await;
    assert_eq!((&seen.data["error"]["cut"], &seen.data["seq"]), (&json!("lost"), &json!(2)), "{}", seen.text);
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    // Where the untouched one is lost as well, the action did not happen.
    let seq = room.seq();
    switches.losses.store(4, Ordering::Relaxed);
    let sql = json!({"sql": "DELETE FROM people"});
    let error = room.act(Input::Call { tool: "query", arguments: &sql }).await.expect_err("it is lost");
    assert!(matches!(error, EngineError::Lost(_)));
    assert_eq!(room.seq(), seq);
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
}

#[tokio::test]
async fn an_action_that_no_database_survives_is_cut_off_where_an_untouched_one_stands() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    let lethal = json!({"sql": format!("DELETE {LETHAL} FROM people")});
    let seen = room.act(Input::Call { tool: "query", arguments: &lethal }).await.expect("an observation");
    assert_eq!((&seen.data["error"]["cut"], &seen.data["seq"]), (&json!("lost"), &json!(2)), "{}", seen.text);
    assert_eq!(switches.opened.load(Ordering::Relaxed), 3, "its own, another one, and an untouched one");
    let mut again = opened(&switches, Submission::State, Some(room.snapshot())).await;
    for room in [&mut room, &mut again] {
        assert_eq!(names(room).await, json!(["Ann", "Bo", "Cy"]));
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
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    query(&mut room, "BEGIN").await;
    switches.midway.store(1, Ordering::Relaxed);
    let seen = query(&mut room, "DELETE FROM people WHERE id = 1").await;
    assert_eq!((&seen.data["error"]["cut"], &seen.data["seq"]), (&json!("lost"), &json!(3)), "{}", seen.text);
    assert!(seen.text.contains("stands as it was before"), "{}", seen.text);
    assert_eq!(switches.opened.load(Ordering::Relaxed), 1, "it was not run in another database");
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    assert_eq!(switches.opened.load(Ordering::Relaxed), 2);
    query(&mut room, "ROLLBACK").await;
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]), "its transaction was open again");
    call(&mut room, "rewind", json!({"to_seq": 3})).await;
    query(&mut room, "COMMIT").await;
    let mut again = opened(&switches, Submission::State, Some(room.snapshot())).await;
    let mut fork = room.fork().await.expect("a fork");
    for room in [&mut room, &mut again, &mut fork] {
        assert_eq!(names(room).await, json!(["Ann", "Bo", "Cy"]));
        let steps = &room.evidence()["steps"];
        assert_eq!((&steps[2]["seq"], &steps[2]["pure"]), (&json!(3), &json!(true)), "{steps}");
    }
}

#[tokio::test]
async fn a_database_that_is_lost_while_it_is_built_is_built_again() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    for lost in [&switches.midway, &switches.losses] {
        switches.midway.store(1, Ordering::Relaxed);
        query(&mut room, "DELETE FROM people").await;
        // The insert meets it when it is run again.
        lost.store(1, Ordering::Relaxed);
        assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    }
    assert_eq!(switches.opened.load(Ordering::Relaxed), 5, "two databases for each of the two that were lost");
}

#[tokio::test]
async fn whatever_a_database_does_not_survive_leaves_the_session_as_it_was() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    for (tool, arguments) in [("schema", json!({})), ("explain", json!({"sql": "SELECT * FROM people"}))] {
        switches.midway.store(1, Ordering::Relaxed);
        let seen = call(&mut room, tool, arguments).await;
        assert_eq!(seen.data["error"]["cut"], "lost", "{}", seen.text);
        assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    }
    query(&mut room, "DELETE FROM people").await;
    switches.midway.store(1, Ordering::Relaxed);
    let back = call(&mut room, "rewind", json!({"to_seq": 1})).await;
    assert_eq!(back.data["rewound_to"], 1, "{}", back.text);
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    switches.midway.store(1, Ordering::Relaxed);
    let mut fork = room.fork().await.expect("a fork");
    assert_eq!(names(&mut fork).await, names(&mut room).await);
}

#[tokio::test]
async fn a_schema_that_is_too_large_is_an_error_and_the_session_goes_on() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    switches.large.store(true, Ordering::Relaxed);
    let seen = call(&mut room, "schema", json!({})).await;
    assert!(seen.text.starts_with("Error: the schema is too large"), "{}", seen.text);
    assert_eq!(seen.data["error"]["cut"], "size");
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo"]));
    assert_eq!(switches.opened.load(Ordering::Relaxed), 1, "its database stands");
}

#[tokio::test]
async fn an_action_that_is_broken_off_did_not_happen() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
    let before = (room.seq(), room.evidence(), room.snapshot());
    {
        let act = room.act(Input::Text("DELETE FROM people"));
        let mut act = std::pin::pin!(act);
        let polled = std::future::poll_fn(|context| std::task::Poll::Ready(act.as_mut().poll(context))).await;
        assert!(polled.is_pending(), "it is under way");
    }
    assert_eq!((room.seq(), room.evidence(), room.snapshot()), before);
    assert_eq!(names(&mut room).await, json!(["Ann", "Bo", "Cy"]));
    assert_eq!(switches.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_snapshot_is_gone_on_from_and_looks_the_same_at_first() {
    let switches = Arc::<Switches>::default();
    let mut room = opened(&switches, Submission::State, None).await;
    query(&mut room, "DROP TABLE people").await;
    query(
        &mut room,
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT); BEGIN; INSERT INTO people VALUES (9, 'Zo')",
    )
    .await;
    names(&mut room).await;
    let mut again = opened(&switches, Submission::State, Some(room.snapshot())).await;
    assert_eq!(again.observe(), room.observe());
    assert_eq!((again.seq(), again.evidence()), (room.seq(), room.evidence()));
    for room in [&mut room, &mut again] {
        query(room, "COMMIT").await;
        assert_eq!(names(room).await, json!(["Zo"]));
        call(room, "rewind", json!({"to_seq": 1})).await;
        assert!(query(room, "SELECT * FROM people").await.text.starts_with("Error: no such table: people"));
    }
    assert_eq!(again.snapshot(), room.snapshot());
    let library = Arc::new(Scripts(BTreeMap::from([("people", SCRIPT.to_owned())])));
    let opening = RoomOpening { seed: 7, limits: Limits::default(), from: Some(json!({"steps": 3})) };
    let refused = Room::open(Arc::new(StandIn(switches)), library, Arc::new(task(Submission::State)), opening).await;
    assert!(matches!(refused.err(), Some(EngineError::Source(_))));
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    for stubborn in [false, true] {
        let switches = Arc::<Switches>::default();
        switches.stubborn.store(stubborn, Ordering::Relaxed);
        let mut room = opened(&switches, Submission::State, None).await;
        query(&mut room, "INSERT INTO people VALUES (3, 'Cy')").await;
        let mut fork = room.fork().await.expect("a fork");
        query(&mut room, "DELETE FROM people WHERE id = 1").await;
        query(&mut fork, "DELETE FROM people WHERE id = 2").await;
        assert_eq!(names(&mut room).await, json!(["Bo", "Cy"]));
        assert_eq!(names(&mut fork).await, json!(["Ann", "Cy"]));
        call(&mut fork, "rewind", json!({"to_seq": 0})).await;
        assert_eq!(names(&mut fork).await, json!(["Ann", "Bo"]));
        assert_eq!(names(&mut room).await, json!(["Bo", "Cy"]));
        room.close().await;
    }
}

#[tokio::test]
async fn plain_text_is_a_query_or_its_last_block_is() {
    let mut room = opened(&Arc::default(), Submission::Sql, None).await;
    let seen = |data: &Json| data["results"][0]["rows"][0][0].clone();
    for (text, value) in [
        ("SELECT 41", json!(41)),
        ("First:\n```sql\nSELECT 1\n```\nthen\n```sql\nSELECT 42;\n```\nDone.", json!(42)),
        ("```sql\nSELECT 43", json!(43)),
        ("```\nnot this\n```\n```SQL\nSELECT 44\n```\n```text\nnor this\n```", json!(44)),
    ] {
        let answer = room.act(Input::Text(text)).await.expect("an answer");
        assert_eq!(seen(&answer.data), value, "{text}");
    }
    let words = room.act(Input::Text("I think it is Ann.")).await.expect("an answer");
    assert!(words.text.starts_with("Error: near \"I\": syntax error"), "{}", words.text);
    let end = room.act(Input::Text("It is\n```submit\nSELECT name FROM people\n```")).await.expect("an answer");
    assert!(end.terminated);
    assert_eq!(room.evidence()["submission"], json!({"sql": "SELECT name FROM people"}));
    let late = room.act(Input::Text("DROP TABLE people")).await.expect("an answer");
    assert!(late.terminated && late.text.contains("has ended"));
    assert_eq!(room.evidence()["steps"].as_array().map(Vec::len), Some(5));
}

#[tokio::test]
async fn only_what_is_asked_for_can_be_handed_in() {
    for (wanted, wrong, right, kept) in [
        (Submission::Sql, json!({"answer": "3"}), json!({"sql": "SELECT 3"}), json!({"sql": "SELECT 3"})),
        (Submission::Sql, json!({"sql": "  "}), json!({"sql": "SELECT 3", "answer": ""}), json!({"sql": "SELECT 3"})),
        (Submission::Answer, json!({"sql": "SELECT 3"}), json!({"answer": 3}), json!({"answer": "3"})),
        (Submission::State, json!({"answer": "done"}), json!({}), json!("state")),
    ] {
        let mut room = opened(&Arc::default(), wanted, None).await;
        let refused = call(&mut room, "submit", wrong).await;
        assert!(!refused.terminated && refused.text.starts_with("Error: "), "{}", refused.text);
        assert_eq!(room.evidence()["submission"], Json::Null);
        assert!(call(&mut room, "submit", right).await.terminated);
        assert_eq!(room.evidence()["submission"], kept);
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_told_and_counts() {
    let mut room = opened(&Arc::default(), Submission::Sql, None).await;
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
        let before = room.seq();
        let seen = call(&mut room, tool, arguments).await;
        assert!(seen.text.contains(words), "{}", seen.text);
        assert_eq!(seen.data["error"]["cut"], "refused");
        assert_eq!(room.seq(), before + 1);
    }
    assert_eq!(room.evidence()["steps"], json!([]));
}

#[tokio::test]
async fn parameters_schema_and_plan_are_there() {
    let mut room = opened(&Arc::default(), Submission::Sql, None).await;
    let arguments = json!({"sql": "SELECT ?1, ?2, ?3, ?4", "parameters": [1, 2.5, "x", null]});
    let seen = call(&mut room, "query", arguments).await;
    assert_eq!(seen.data["results"][0]["rows"], json!([[1, 2.5, "x", null]]));
    let table = call(&mut room, "schema", json!({"table": "PEOPLE"})).await;
    assert_eq!(table.text, "Table people\n  id INTEGER\n  name TEXT not null\n  primary key (id)");
    assert!(call(&mut room, "schema", json!({})).await.text.contains("Table people"));
    let plan = call(&mut room, "explain", json!({"sql": "SELECT * FROM people WHERE id = ?", "parameters": [1]})).await;
    assert!(plan.text.contains("SEARCH people"), "{}", plan.text);
    for sql in ["CREATE TABLE z (a)", "INSERT INTO people VALUES (9, 'Zo')"] {
        let plan = call(&mut room, "explain", json!({"sql": sql})).await;
        assert_eq!(plan.text, "(no plan: the statement reads nothing)", "{sql}");
        assert_eq!((&plan.data["plan"]["lines"], &plan.data["error"]), (&json!([]), &Json::Null), "{sql}");
    }
    let broken = call(&mut room, "explain", json!({"sql": "SELECT nix"})).await;
    assert!(broken.text.starts_with("Error: no such column"), "{}", broken.text);
}

#[derive(Debug, Clone)]
enum Move {
    Query(String),
    Rewind(usize),
    Fork,
    Restore,
    Lose,
    Strike,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let sql = prop_oneof![
        (0..6).prop_map(|id| format!("INSERT INTO people VALUES ({id}, 'n{id}')")),
        (0..6).prop_map(|id| format!("DELETE FROM people WHERE id = {id}")),
        (0..6).prop_map(|id| format!(
            "UPDATE people SET name = name || '{id}' WHERE id <> {id}; SELECT count(*) FROM people"
        )),
        Just("BEGIN".to_owned()),
        Just("COMMIT".to_owned()),
        Just("ROLLBACK".to_owned()),
        Just("SELECT * FROM people".to_owned()),
        Just("CREATE TEMP TABLE IF NOT EXISTS scratch AS SELECT * FROM people".to_owned()),
        Just("DROP TABLE people; SELECT 1".to_owned()),
    ];
    let one = prop_oneof![
        6 => sql.prop_map(Move::Query),
        2 => (0_usize..12).prop_map(Move::Rewind),
        1 => Just(Move::Fork),
        1 => Just(Move::Restore),
        1 => Just(Move::Lose),
        1 => Just(Move::Strike),
    ];
    proptest::collection::vec(one, 1..16)
}

async fn content(room: &mut Room) -> Vec<Json> {
    let mut seen = Vec::new();
    for sql in
        ["SELECT * FROM people ORDER BY id", "SELECT * FROM scratch ORDER BY id", "ROLLBACK", "SELECT * FROM people"]
    {
        let mut data = query(room, sql).await.data;
        data["seq"] = Json::Null;
        seen.push(data);
    }
    seen
}

/// Plays the moves, then compares with a room in which only the surviving steps were run.
async fn plays_as_its_surviving_steps(moves: Vec<Move>, stubborn: bool) {
    let switches = Arc::<Switches>::default();
    switches.stubborn.store(stubborn, Ordering::Relaxed);
    let mut room = opened(&switches, Submission::State, None).await;
    for one in moves {
        match one {
            Move::Query(sql) => drop(query(&mut room, &sql).await),
            Move::Rewind(to) => drop(call(&mut room, "rewind", json!({"to_seq": to})).await),
            Move::Fork => {
                let fork = room.fork().await;
                room = fork.unwrap_or(room);
            }
            Move::Restore if switches.losses.load(Ordering::Relaxed) > 0 => {}
            Move::Restore => room = opened(&switches, Submission::State, Some(room.snapshot())).await,
            Move::Lose => switches.losses.store(1, Ordering::Relaxed),
            Move::Strike => {
                switches.midway.store(1, Ordering::Relaxed);
                drop(query(&mut room, "DELETE FROM people").await);
                switches.midway.store(0, Ordering::Relaxed);
            }
        }
    }
    switches.losses.store(0, Ordering::Relaxed);
    let evidence = room.evidence();
    let mut fresh = opened(&Arc::default(), Submission::State, None).await;
    // What its database did not survive stands as a step that changed nothing, as a query does.
    for step in evidence["steps"].as_array().expect("steps").iter().filter(|step| step["pure"] != true) {
        query(&mut fresh, step["sql"].as_str().expect("SQL")).await;
    }
    assert_eq!(content(&mut room).await, content(&mut fresh).await, "{evidence}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_moves_equal_a_fresh_run_of_the_surviving_statements(moves in moves(), stubborn in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(plays_as_its_surviving_steps(moves, stubborn));
    }
}

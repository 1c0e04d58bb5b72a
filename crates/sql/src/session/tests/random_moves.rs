//! Random moves leave what their surviving steps leave alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{call, opened, query};
use crate::session::DatabaseSession;
use crate::stand_in::Switches;
use crate::task::Submission;

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

async fn content(session: &mut DatabaseSession) -> Vec<Json> {
    let mut seen = Vec::new();
    for sql in
        ["SELECT * FROM people ORDER BY id", "SELECT * FROM scratch ORDER BY id", "ROLLBACK", "SELECT * FROM people"]
    {
        let mut data = query(session, sql).await.data;
        data["seq"] = Json::Null;
        seen.push(data);
    }
    seen
}

/// Plays the moves, then compares with a session in which only the surviving steps were run.
async fn plays_as_its_surviving_steps(moves: Vec<Move>, stubborn: bool) {
    let switches = Arc::<Switches>::default();
    switches.stubborn.store(stubborn, Ordering::Relaxed);
    let mut session = opened(&switches, Submission::State, None).await;
    for one in moves {
        match one {
            Move::Query(sql) => drop(query(&mut session, &sql).await),
            Move::Rewind(to) => drop(call(&mut session, "rewind", json!({"to_seq": to})).await),
            Move::Fork => {
                let fork = session.fork().await;
                session = fork.unwrap_or(session);
            }
            Move::Restore if switches.losses.load(Ordering::Relaxed) > 0 => {}
            Move::Restore => session = opened(&switches, Submission::State, Some(session.snapshot())).await,
            Move::Lose => switches.losses.store(1, Ordering::Relaxed),
            Move::Strike => {
                switches.midway.store(1, Ordering::Relaxed);
                drop(query(&mut session, "DELETE FROM people").await);
                switches.midway.store(0, Ordering::Relaxed);
            }
        }
    }
    switches.losses.store(0, Ordering::Relaxed);
    let evidence = session.evidence();
    let mut fresh = opened(&Arc::default(), Submission::State, None).await;
    // What its database did not survive stands as a step that changed nothing, as a query does.
    for step in evidence["steps"].as_array().expect("steps").iter().filter(|step| step["pure"] != true) {
        query(&mut fresh, step["sql"].as_str().expect("SQL")).await;
    }
    assert_eq!(content(&mut session).await, content(&mut fresh).await, "{evidence}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_moves_equal_a_fresh_run_of_the_surviving_statements(moves in moves(), stubborn in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(plays_as_its_surviving_steps(moves, stubborn));
    }
}

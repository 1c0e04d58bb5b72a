//! Marks, copies, and what needs neither.

use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::value::{Dialect, Value};

use super::guest::{Guest, dump};
use super::{number, open, rows, run, shop};

pub(crate) async fn every_step_can_be_returned_to(engine: Arc<dyn Engine>) {
    let mut guest = Guest::new(&engine, &shop(engine.dialect())).await;
    let steps = [
        "INSERT INTO items (name, price) VALUES ('kiwi', 5)",
        "CREATE TABLE notes (body text)",
        "INSERT INTO notes VALUES ('a'), ('b')",
        "ALTER TABLE items ADD COLUMN colour text",
        "UPDATE items SET colour = 'green' WHERE price < 30",
        "DROP TABLE notes",
        "CREATE INDEX items_price ON items (price)",
    ];
    let mut states = vec![dump(&mut guest.database, 1_000).await];
    assert!(guest.database.rewind(0).await.expect("it stands"), "nothing was changed");
    for sql in steps {
        assert_eq!(guest.step(sql).await.error, None, "{sql}");
        let seq = guest.log.last().expect("a step").seq;
        states.push(dump(&mut guest.database, 1_000 + seq).await);
        guest.rewind(guest.log.len()).await;
    }
    for steps in (0..states.len()).rev() {
        guest.rewind(steps).await;
        assert_eq!(dump(&mut guest.database, 2_000).await, states[steps], "after {steps} steps");
        guest.rewind(steps).await;
    }
}

pub(crate) async fn a_transaction_that_was_open_is_open_again(engine: Arc<dyn Engine>) {
    let mut guest = Guest::new(&engine, &shop(engine.dialect())).await;
    guest.step("BEGIN").await;
    guest.step("DELETE FROM lines").await;
    guest.step("COMMIT").await;
    guest.rewind(2).await;
    let ran = guest.step("ROLLBACK").await;
    assert_eq!(ran.error, None, "{ran:?}");
    assert_eq!(number(&mut guest.database, 10, "SELECT count(*) FROM lines").await, 2);
}

pub(crate) async fn counters_return_as_well(engine: Arc<dyn Engine>) {
    let mut guest = Guest::new(&engine, &shop(engine.dialect())).await;
    let insert = "INSERT INTO items (name) VALUES ('kiwi') RETURNING id";
    let first = guest.step(insert).await;
    assert_eq!(first.results[0].rows, [[Value::Integer(4)]]);
    guest.rewind(0).await;
    assert_eq!(guest.step(insert).await.results[0].rows, [[Value::Integer(4)]]);
    if engine.dialect() == Dialect::Sqlite {
        let counters = "SELECT changes(), total_changes(), last_insert_rowid()";
        let before = guest.step(counters).await.results;
        guest.step("INSERT INTO items (name) VALUES ('lime'), ('nut')").await;
        guest.rewind(2).await;
        guest.rewind(1).await;
        assert_eq!(guest.step(counters).await.results, before);
    }
}

pub(crate) async fn a_fork_and_its_origin_go_their_own_ways(engine: Arc<dyn Engine>) {
    let mut guest = Guest::new(&engine, &shop(engine.dialect())).await;
    guest.step("INSERT INTO items (name) VALUES ('kiwi')").await;
    let mut origin = guest.move_to_fork().await;
    guest.step("DELETE FROM lines; DELETE FROM items").await;
    origin.step("INSERT INTO items (name) VALUES ('lime')").await;
    let count = "SELECT count(*) FROM items";
    assert_eq!(number(&mut guest.database, 10, count).await, 0);
    assert_eq!(number(&mut origin.database, 10, count).await, 5);
    drop(origin);
    guest.rewind(1).await;
    assert_eq!(number(&mut guest.database, 20, count).await, 4, "the copy stands without its origin");
}

pub(crate) async fn reads_are_pure_and_changes_are_not(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let pure = ["SELECT * FROM items", "WITH a AS (SELECT 1 AS x) SELECT * FROM a; SELECT count(*) FROM lines"];
    for (seq, sql) in (1..).zip(pure) {
        assert!(run(&mut database, seq, sql).await.pure, "{sql}");
    }
    let changing =
        ["UPDATE items SET price = 1", "CREATE TABLE w (a integer)", "BEGIN", "INSERT INTO w VALUES (1)", "ROLLBACK"];
    for (seq, sql) in (10..).zip(changing) {
        let ran = run(&mut database, seq, sql).await;
        assert_eq!((ran.error, ran.pure), (None, false), "{sql}");
    }
}

pub(crate) async fn databases_of_one_source_do_not_see_each_other(engine: Arc<dyn Engine>) {
    let source = shop(engine.dialect());
    let mut one = open(&engine, &source).await;
    let mut two = open(&engine, &source).await;
    rows(&mut one, 1, "BEGIN; UPDATE items SET price = 99").await;
    assert_eq!(number(&mut two, 1, "SELECT sum(price) FROM items").await, 100, "nothing is seen, and nothing waits");
    rows(&mut two, 2, "UPDATE items SET price = 1").await;
    rows(&mut one, 2, "COMMIT").await;
    assert_eq!(number(&mut two, 3, "SELECT sum(price) FROM items").await, 3);
    one.close().await;
    let mut three = open(&engine, &source).await;
    assert_eq!(number(&mut three, 1, "SELECT sum(price) FROM items").await, 100, "the template is as it was");
}

//! Transactions that the acting side opens.

use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::value::Dialect;

use super::{number, open, rows, run, shop};

const COUNT: &str = "SELECT count(*) FROM items";

pub(crate) async fn a_transaction_goes_on_across_steps(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let begin = run(&mut database, 1, "BEGIN").await;
    assert_eq!(begin.results[0].command, "BEGIN");
    assert!(!begin.pure);
    rows(&mut database, 2, "DELETE FROM lines; DELETE FROM items").await;
    assert_eq!(number(&mut database, 3, COUNT).await, 0);
    assert_eq!(run(&mut database, 4, "ROLLBACK").await.results[0].command, "ROLLBACK");
    assert_eq!(number(&mut database, 5, COUNT).await, 3);
    rows(&mut database, 6, "BEGIN; DELETE FROM lines").await;
    assert_eq!(run(&mut database, 7, "COMMIT").await.results[0].command, "COMMIT");
    assert_eq!(number(&mut database, 8, "SELECT count(*) FROM lines").await, 0);
}

pub(crate) async fn an_error_in_a_transaction_leaves_what_the_dialect_leaves(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    rows(&mut database, 1, "BEGIN; INSERT INTO items (name) VALUES ('kiwi')").await;
    assert!(run(&mut database, 2, "INSERT INTO items (name) VALUES ('pear')").await.error.is_some());
    let after = run(&mut database, 3, COUNT).await;
    match engine.dialect() {
        Dialect::Sqlite => assert_eq!(after.error, None, "the statement alone was undone"),
        Dialect::Postgres => assert_eq!(after.error.expect("the transaction is aborted").code, "25P02"),
    }
    run(&mut database, 4, "COMMIT").await;
    let left = if engine.dialect() == Dialect::Sqlite { 4 } else { 3 };
    assert_eq!(number(&mut database, 5, COUNT).await, left);
}

pub(crate) async fn savepoints_nest(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    rows(&mut database, 1, "BEGIN; SAVEPOINT a; INSERT INTO items (name) VALUES ('kiwi')").await;
    rows(&mut database, 2, "SAVEPOINT b; INSERT INTO items (name) VALUES ('lime')").await;
    rows(&mut database, 3, "ROLLBACK TO SAVEPOINT b").await;
    assert_eq!(number(&mut database, 4, COUNT).await, 4);
    rows(&mut database, 5, "RELEASE SAVEPOINT b; ROLLBACK TO SAVEPOINT a; COMMIT").await;
    assert_eq!(number(&mut database, 6, COUNT).await, 3);
    assert!(run(&mut database, 7, "ROLLBACK TO SAVEPOINT a").await.error.is_some(), "it is gone with its transaction");
}

pub(crate) async fn constraints_that_are_deferred_fail_at_the_commit(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let dangling = "INSERT INTO lines (id, item_id, amount) VALUES (3, 99, 1)";
    assert!(run(&mut database, 1, dangling).await.error.is_some(), "alone, a statement is a transaction");
    rows(&mut database, 2, "BEGIN").await;
    rows(&mut database, 3, dangling).await;
    assert!(run(&mut database, 4, "COMMIT").await.error.is_some());
    run(&mut database, 5, "ROLLBACK").await;
    assert_eq!(number(&mut database, 6, "SELECT count(*) FROM lines").await, 2);
    rows(&mut database, 7, &format!("BEGIN; {dangling}; INSERT INTO items (id, name) VALUES (99, 'lime'); COMMIT"))
        .await;
    assert_eq!(number(&mut database, 8, "SELECT count(*) FROM lines").await, 3);
}

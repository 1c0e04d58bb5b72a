//! The acting side's transactions, which are savepoints underneath, behave as PostgreSQL's.

use palestra_sql::engine::Access;

use crate::cluster::TestCluster;

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_kept_or_undone_as_a_whole() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let count = "SELECT count(*) FROM people";
    assert_eq!(
        player.commands("BEGIN; DELETE FROM orders; DELETE FROM people; ROLLBACK").await.last().expect("one"),
        "ROLLBACK"
    );
    assert_eq!(player.value(count).await, "3");
    player.commands("START TRANSACTION").await;
    player.commands("INSERT INTO people VALUES (9, 'x', 1)").await;
    assert_eq!(player.commands("END").await, ["COMMIT"]);
    assert_eq!(player.value(count).await, "4");
    assert_eq!(player.commands("COMMIT; ROLLBACK; ABORT").await, ["COMMIT", "ROLLBACK", "ROLLBACK"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_block_does_nothing_until_it_ends() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    player.commands("BEGIN; INSERT INTO people VALUES (9, 'x', 1)").await;
    assert_eq!(player.fails("SELECT 1/0").await.0, "22012");
    let (code, message) = player.fails("SELECT 1").await;
    assert_eq!(
        (&*code, &*message),
        ("25P02", "current transaction is aborted, commands ignored until end of transaction block")
    );
    assert_eq!(player.fails("SAVEPOINT a").await.0, "25P02");
    assert_eq!(player.fails("BEGIN").await.0, "25P02");
    assert_eq!(player.fails("SELECT FROM WHERE").await.0, "42601", "syntax is looked at first");
    assert_eq!(player.commands("COMMIT").await, ["ROLLBACK"]);
    assert_eq!(player.value("SELECT count(*) FROM people").await, "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn savepoints_nest_and_their_names_are_used_again() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let add = |id: i64| format!("INSERT INTO people VALUES ({id}, 'x', 1)");
    player
        .commands(&format!("BEGIN; SAVEPOINT a; {}; SAVEPOINT a; {}; ROLLBACK TO a; {}", add(10), add(11), add(12)))
        .await;
    assert_eq!(player.rows("SELECT id FROM people WHERE id > 3 ORDER BY 1").await, [["10"], ["12"]]);
    player.commands("RELEASE a; ROLLBACK TO SAVEPOINT a").await;
    assert_eq!(player.value("SELECT count(*) FROM people").await, "3");
    let (code, message) = player.fails("ROLLBACK TO b").await;
    assert_eq!((&*code, &*message), ("3B001", "savepoint \"b\" does not exist"));
    assert_eq!(player.fails("SELECT 1").await.0, "25P02");
    player.commands("ROLLBACK TO a; SELECT 1; COMMIT").await;
    for (sql, words) in
        [("SAVEPOINT a", "SAVEPOINT"), ("RELEASE a", "RELEASE SAVEPOINT"), ("ROLLBACK TO a", "ROLLBACK TO SAVEPOINT")]
    {
        let (code, message) = player.fails(sql).await;
        assert_eq!((&*code, message), ("25P01", format!("{words} can only be used in transaction blocks")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_constraints_are_checked_where_a_transaction_ends() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let orphan = "INSERT INTO orders (person, cents) VALUES (77, 1)";
    assert_eq!(player.fails(orphan).await.0, "23503", "a statement alone is a transaction");
    player.commands(&format!("BEGIN; {orphan}; INSERT INTO people VALUES (77, 'late', 1); COMMIT")).await;
    player.commands(&format!("BEGIN; {}", orphan.replace("77", "78"))).await;
    assert_eq!(player.fails("COMMIT").await.0, "23503");
    assert_eq!(player.value("SELECT count(*) FROM orders").await, "4");
    player.commands("BEGIN; SET CONSTRAINTS ALL IMMEDIATE").await;
    assert_eq!(player.fails(&orphan.replace("77", "78")).await.0, "23503");
    player.commands("ROLLBACK").await;
    player.commands(&format!("BEGIN; {}; ROLLBACK", orphan.replace("77", "78"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_constraints_are_dropped_renamed_and_added() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    let orphan = |person: i64| format!("INSERT INTO orders (person, cents) VALUES ({person}, 1)");
    player.commands("UPDATE orders SET person = 2").await;
    player.commands("ALTER TABLE orders RENAME CONSTRAINT orders_person_fkey TO known").await;
    assert_eq!(player.fails(&orphan(77)).await.0, "23503");
    player.commands(&format!("BEGIN; {}; INSERT INTO people VALUES (77, 'late', 1); COMMIT", orphan(77))).await;
    player.commands("BEGIN; ALTER TABLE orders DROP CONSTRAINT known; ROLLBACK").await;
    assert_eq!(player.fails(&orphan(78)).await.0, "23503");
    player
        .commands(&format!("UPDATE orders SET person = 1; ALTER TABLE orders DROP CONSTRAINT known; {}", orphan(78)))
        .await;
    player
        .commands(
            "BEGIN; CREATE TABLE notes (person bigint REFERENCES people (id) DEFERRABLE INITIALLY DEFERRED); \
             INSERT INTO notes VALUES (79); INSERT INTO people VALUES (79, 'late', 1); COMMIT",
        )
        .await;
    player.commands("DROP TABLE notes").await;
    assert_eq!(player.value("SELECT count(*) FROM orders").await, "5");
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_blocks_end_with_their_block() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    player.commands("BEGIN READ ONLY; SELECT 1").await;
    assert_eq!(player.fails("DELETE FROM orders").await.0, "25006");
    player.commands("ROLLBACK; DELETE FROM orders").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn now_stands_still_in_a_block() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    player.commands("BEGIN").await;
    let first = player.value("SELECT now()").await;
    assert_eq!(player.value("SELECT now()").await, first);
    player.commands("COMMIT").await;
    assert_ne!(player.value("SELECT now()").await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_last_as_long_as_they_say() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    player.commands("SET LOCAL timezone = 'Asia/Tokyo'").await;
    assert_eq!(player.value("SHOW timezone").await, "UTC", "there is no block");
    player.commands("BEGIN; SET LOCAL timezone = 'Asia/Tokyo'").await;
    assert_eq!(player.value("SHOW timezone").await, "Asia/Tokyo");
    player.commands("COMMIT").await;
    assert_eq!(player.value("SHOW timezone").await, "UTC");
    player.commands("BEGIN; SET timezone = 'Asia/Tokyo'; ROLLBACK").await;
    assert_eq!(player.value("SHOW timezone").await, "UTC");
    player.commands("SET timezone = 'Asia/Tokyo'; SET search_path = pg_catalog, public").await;
    assert_eq!(player.value("SELECT now()").await, "2025-06-16 00:16:40+09");
    assert_eq!(player.value("SHOW search_path").await, "pg_catalog, public");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_seem_to_read_may_write() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let ran = player.step("WITH gone AS (DELETE FROM orders RETURNING id) SELECT count(*) FROM gone").await;
    assert!(ran.error.is_none() && !ran.pure, "{ran:?}");
    assert_eq!(player.value("SELECT count(*) FROM orders").await, "0");
    assert_eq!(player.value("SELECT nextval('orders_id_seq')").await, "4");
    player.commands("SELECT id FROM people FOR UPDATE").await;
    player.commands("CREATE TEMP TABLE t (a int); SELECT * FROM t; DROP TABLE t").await;
    assert_eq!(player.fails("CREATE TABLE t (a int)").await.0, "42501");
    let mut reader = cluster.open(Access::Read).await;
    assert_eq!(
        reader.fails("WITH gone AS (DELETE FROM orders RETURNING id) SELECT count(*) FROM gone").await.0,
        "25006"
    );
}

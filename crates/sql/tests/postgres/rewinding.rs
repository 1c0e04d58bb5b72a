//! Rewinds, in place where the place still stands.

use palestra_sql::engine::Access;

use crate::cluster::TestCluster;

#[tokio::test(flavor = "multi_thread")]
async fn every_earlier_step_can_be_returned_to() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    let count = "SELECT count(*) FROM people";
    player.commands("INSERT INTO people VALUES (4, 'x', 1)").await;
    player.commands("CREATE TABLE extra (a serial, b int)").await;
    player.commands("INSERT INTO extra (a, b) VALUES (1, 1), (2, 2); INSERT INTO people VALUES (5, 'y', 1)").await;
    assert_eq!(player.value(count).await, "5");
    assert!(player.database.rewind(2).await.expect("alive"));
    assert_eq!(player.value(count).await, "4");
    assert!(!player.database.rewind(3).await.expect("alive"), "it was forgotten");
    assert!(player.database.rewind(0).await.expect("alive"));
    assert_eq!(player.value(count).await, "3");
    assert_eq!(player.fails("SELECT * FROM extra").await.0, "42P01");
    assert_eq!(player.rows("INSERT INTO orders (person, cents) VALUES (1, 1) RETURNING id").await, [["4"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn drawn_sequence_values_cannot_be_rewound_in_place() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    assert_eq!(player.fails("SELECT currval('orders_id_seq')").await.0, "55000");
    let insert = "INSERT INTO orders (person, cents) VALUES (1, 1)";
    player.commands(insert).await;
    let after = player.seq;
    player.commands("DELETE FROM orders; CREATE SEQUENCE own").await;
    assert!(!player.database.rewind(1).await.expect("alive"), "`currval` would be remembered");
    assert!(player.database.rewind(after).await.expect("alive"), "a new sequence that gave nothing does not matter");
    assert_eq!(player.value("SELECT currval('orders_id_seq')").await, "4");
    let drawing = [
        ("SELECT setval('orders_id_seq', 4)", true),
        ("SELECT setval('orders_id_seq', 4, false)", false),
        ("CREATE SEQUENCE own; SELECT nextval('own'); DROP SEQUENCE own", false),
        ("CREATE SEQUENCE own; DROP SEQUENCE own", true),
        ("BEGIN; SELECT nextval('orders_id_seq'); ROLLBACK", false),
        ("DROP TABLE orders CASCADE", false),
    ];
    for (sql, unchanged) in drawing {
        let mut player = cluster.open(Access::Define).await;
        assert_eq!(player.value("SELECT nextval('orders_id_seq')").await, "4");
        player.commands(sql).await;
        assert_eq!(player.database.rewind(1).await.expect("alive"), unchanged, "{sql}");
    }
    let mut player = cluster.open(Access::Define).await;
    player.commands("SELECT setval('orders_id_seq', 3)").await;
    assert!(!player.database.rewind(0).await.expect("alive"), "it is where it was, and `currval` was not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_sequences_is_looked_after() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let script = "CREATE TABLE t (a int); \
                  DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('CREATE SEQUENCE s%s', i); END LOOP; END $$";
    let mut player = cluster.open_on(script, Access::Write, Default::default()).await;
    player.commands("INSERT INTO t VALUES (1)").await;
    player.commands("SELECT nextval('s1999')").await;
    assert!(!player.database.rewind(1).await.expect("alive"));
    player.commands("DELETE FROM t").await;
    assert!(player.database.rewind(2).await.expect("alive"));
    assert_eq!(player.value("SELECT count(*) FROM t").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_temporary_objects_are_not_pure() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    assert!(player.step("SELECT * FROM people").await.pure);
    player.commands("CREATE TEMP SEQUENCE s").await;
    player.commands("CREATE TEMP VIEW v AS SELECT nextval('s') AS a").await;
    player.commands("SELECT 1 AS a INTO TEMP t").await;
    let writing = [
        "SELECT nextval('s')",
        "SELECT a FROM v",
        "WITH new AS (INSERT INTO t VALUES (2) RETURNING a) SELECT a FROM new",
        "SELECT setval('s', 7)",
    ];
    for sql in writing {
        let ran = player.step(sql).await;
        assert_eq!((ran.error, ran.pure), (None, false), "{sql}");
    }
    assert!(!player.database.rewind(player.seq - 1).await.expect("alive"));
    player.commands("DROP TABLE t; DROP VIEW v; DROP SEQUENCE s").await;
    assert!(player.step("SELECT * FROM people").await.pure, "nothing is temporary any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_returned_into() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    player.commands("BEGIN; SAVEPOINT a; INSERT INTO people VALUES (4, 'x', 1)").await;
    player.commands("COMMIT").await;
    player.commands("DELETE FROM orders").await;
    assert!(player.database.rewind(1).await.expect("alive"), "into a block that was committed since");
    player.commands("ROLLBACK TO a").await;
    assert_eq!(player.value("SELECT count(*) FROM people").await, "3");
    player.commands("ROLLBACK").await;
    assert!(
        !player.database.rewind(1).await.expect("alive"),
        "into a block that was rolled back: its savepoint is gone"
    );
    assert!(player.database.rewind(0).await.expect("alive"));
    player.commands("BEGIN").await;
    let failed = player.seq + 1;
    player.fails("SELECT 1/0").await;
    player.commands("ROLLBACK; INSERT INTO people VALUES (4, 'x', 1)").await;
    assert!(!player.database.rewind(failed).await.expect("alive"));
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_outside_transactions_end_the_marks_before_them() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    player.commands("INSERT INTO people VALUES (4, 'x', 1)").await;
    assert_eq!(player.commands("VACUUM people").await, ["VACUUM"]);
    assert_eq!(player.commands("CREATE INDEX CONCURRENTLY ages ON people (age)").await, ["CREATE INDEX"]);
    let after = player.seq;
    player.commands("DELETE FROM orders").await;
    assert!(!player.database.rewind(1).await.expect("alive"));
    assert!(player.database.rewind(after).await.expect("alive"));
    assert_eq!(player.value("SELECT count(*) FROM orders").await, "3");
    player.commands("BEGIN").await;
    let (code, message) = player.fails("VACUUM").await;
    assert_eq!((&*code, &*message), ("25001", "VACUUM cannot run inside a transaction block"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_moves_nothing() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    player.commands("DELETE FROM orders WHERE id = 1").await;
    for _ in 0..3 {
        assert!(player.step("SELECT * FROM orders").await.pure);
    }
    assert!(player.database.rewind(3).await.expect("alive"));
    assert_eq!(player.value("SELECT count(*) FROM orders").await, "2");
    assert!(player.database.rewind(0).await.expect("alive"));
    assert_eq!(player.value("SELECT count(*) FROM orders").await, "3");
    assert!(player.database.fork().await.expect("alive").is_none());
}

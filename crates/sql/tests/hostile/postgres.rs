//! Statements of somebody who wants more than the session's database: refused or cut off with a clear error, while neighbours go on.

use std::time::{Duration, Instant};

use palestra_sql::engine::{Access, CutReason, Limits};

use crate::cluster::{TestCluster, ask};

/// Statements that no session may send, whatever its access.
const REFUSED: &[&str] = &[
    // Files and programs
    "COPY people TO PROGRAM 'id'",
    "COPY people FROM PROGRAM 'id'",
    "COPY people TO '/tmp/palestra-hostile'",
    "COPY (SELECT 1) TO STDOUT",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.pg_read_binary_file('/etc/passwd')",
    "SELECT * FROM pg_ls_dir('/')",
    "SELECT \"pg_ls_waldir\"()",
    "SELECT U&\"pg_read_f\\0069le\"('/etc/passwd')",
    "SELECT pg_stat_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/palestra-hostile')",
    "SELECT lo_create(1)",
    "SELECT lo_from_bytea(0, '\\x00')",
    "CREATE VIEW v AS SELECT pg_read_file('/etc/passwd')",
    "ALTER TABLE people ADD x text DEFAULT pg_read_file('/etc/passwd')",
    "CREATE TABLESPACE t LOCATION '/tmp'",
    // Code
    "DO $$ BEGIN PERFORM 1; END $$",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE FUNCTION f() RETURNS int AS '/lib/libc.so', 'system' LANGUAGE c",
    "CREATE PROCEDURE p() LANGUAGE sql AS 'SELECT 1'",
    "CREATE LANGUAGE plperl",
    "CREATE EXTENSION dblink",
    "CREATE EXTENSION file_fdw",
    "CREATE RULE r AS ON INSERT TO people DO INSTEAD NOTHING",
    "CREATE AGGREGATE a (int) (sfunc = int4pl, stype = int)",
    "CREATE OPERATOR + (function = int4pl, leftarg = int, rightarg = int)",
    "LOAD 'auto_explain'",
    "PREPARE p AS SELECT 1",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "EXPLAIN ANALYZE SELECT 1",
    // What the server cannot interrupt
    "SELECT xpath('count(//a[count(//a) > 0])', '<a/>')",
    "SELECT pg_catalog.xpath_exists('//a', '<a/>')",
    "SELECT '<a/>'::xml IS NULL OR XMLEXISTS('//a' PASSING ('<a/>'::xml))",
    "SELECT x.* FROM XMLTABLE /* here */ ('//a' PASSING ('<a/>'::xml) COLUMNS b text) AS x",
    "CREATE VIEW v AS SELECT x.b FROM xmltable('//a' PASSING ('<a/>'::xml) COLUMNS b text) AS x",
    // Other servers and databases
    "CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw",
    "CREATE FOREIGN TABLE f (a int) SERVER s",
    "IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public",
    "CREATE PUBLICATION p FOR ALL TABLES",
    "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1' PUBLICATION p",
    "CREATE DATABASE other",
    "DROP DATABASE postgres",
    "ALTER DATABASE postgres SET work_mem = '1GB'",
    // Roles and rights
    "SET ROLE palestra",
    "SET SESSION AUTHORIZATION palestra",
    "RESET ROLE",
    "CREATE ROLE r SUPERUSER",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "GRANT palestra TO CURRENT_USER",
    "GRANT ALL ON people TO PUBLIC",
    "REASSIGN OWNED BY CURRENT_USER TO palestra",
    "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC",
    // Limits of the session
    "SET statement_timeout = 0",
    "SET LOCAL temp_file_limit = -1",
    "SET work_mem = '4GB'",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "RESET ALL",
    "DISCARD ALL",
    "SELECT set_config('statement_timeout', '0', false)",
    "SET palestra.now = '2000-01-01'",
    "ALTER SYSTEM SET fsync = on",
    "SELECT pg_reload_conf()",
    // Neighbours
    "SELECT pg_terminate_backend(1)",
    "SELECT pg_cancel_backend(1)",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_xact_lock_shared(1, 2)",
    "SELECT pg_sleep(100)",
    "LISTEN a",
    "NOTIFY a",
    "SELECT pg_notify('a', 'b')",
    "LOCK TABLE pg_catalog.pg_database",
    "PREPARE TRANSACTION 'x'",
    "COMMIT PREPARED 'x'",
    "SELECT pg_export_snapshot()",
    "SELECT pg_switch_wal()",
    "CHECKPOINT",
    "SELECT txid_current()",
];

/// Statements that the rules let through and that the session's role has no right to, also when it changes everything else.
const FORBIDDEN: &[&str] = &[
    "SELECT * FROM pg_stat_activity",
    "SELECT * FROM pg_locks",
    "SELECT rolpassword FROM pg_authid",
    "SELECT rolname FROM pg_roles",
    "SELECT datname FROM pg_database",
    "SELECT * FROM pg_database FOR UPDATE",
    "DELETE FROM pg_class",
    "UPDATE pg_proc SET proname = 'x'",
    "INSERT INTO pg_language (lanname) VALUES ('x')",
    "TRUNCATE pg_depend",
    "CREATE TABLE pg_catalog.x (a int)",
    "CREATE TABLE palestra.x (a int)",
    "CREATE SCHEMA x",
    "ALTER TABLE people OWNER TO palestra",
    "ALTER TABLE people SET SCHEMA pg_catalog",
    "CREATE INDEX i ON pg_class (relname)",
    "DROP SCHEMA palestra CASCADE",
    "DROP FUNCTION palestra.now()",
    "SHOW data_directory",
];

/// Actions that the role itself has no right to, should the rules ever let them through.
const WALLED: &[&str] = &[
    "COPY people TO PROGRAM 'id'",
    "COPY people TO '/tmp/palestra-hostile'",
    "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.lo_create(1)",
    "SELECT pg_catalog.pg_advisory_lock(1)",
    "SELECT pg_catalog.set_config('statement_timeout', '0', false)",
    "SELECT pg_catalog.query_to_xml('SELECT 1', true, true, '')",
    "SELECT pg_catalog.pg_terminate_backend(1)",
    "SELECT pg_catalog.pg_sleep(1)",
    "SELECT pg_catalog.xpath('//a', '<a/>')",
    "SELECT XMLEXISTS('//a' PASSING ('<a/>'::xml))",
    "SELECT pg_catalog.now()",
    "SELECT pg_catalog.gen_random_uuid()",
    "DO $$ BEGIN END $$",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE EXTENSION pg_trgm",
    "SET ROLE palestra",
    "CREATE ROLE r",
    "CREATE DATABASE d",
    "ALTER SYSTEM SET fsync = on",
    "SET temp_file_limit = -1",
];

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_reach_beyond_the_database_are_refused() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    let before = player.database.schema().await.expect("alive");
    for sql in REFUSED.iter().chain(FORBIDDEN) {
        let error = player.step(sql).await.error.unwrap_or_else(|| panic!("{sql} succeeds"));
        assert_eq!(error.cut, Some(CutReason::Refused), "{sql}: {error:?}");
        assert!(!error.message.is_empty());
    }
    assert_eq!(player.database.schema().await.expect("alive"), before);
    assert_eq!(player.value("SELECT count(*) FROM people").await, "3");
    assert!(!std::path::Path::new("/tmp/palestra-hostile").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_roles_rights_hold_without_the_rules() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let _player = cluster.open(Access::Define).await;
    let _neighbour = cluster.open(Access::Write).await;
    let names =
        cluster.ask("SELECT datname FROM pg_database WHERE datname LIKE 'palestra\\_test\\_s\\_%' ORDER BY 1").await;
    let [own, other] = names.as_slice() else { panic!("{names:?}") };
    for sql in WALLED {
        let mut gone = ask(&cluster.url(own, own), sql).await.expect_err(sql);
        while gone == "53300" {
            // The connection before this one has not ended yet, and there may be two.
            tokio::task::yield_now().await;
            gone = ask(&cluster.url(own, own), sql).await.expect_err(sql);
        }
        assert!(["42501", "42704"].contains(&&*gone), "{sql}: {gone}");
    }
    for database in [other, "postgres", "template0", "template1", "palestra_test_base"] {
        let rights = cluster
            .ask(&format!(
                "SELECT right_name FROM unnest(ARRAY['CONNECT', 'TEMPORARY', 'CREATE']) AS right_name \
                 WHERE has_database_privilege('{own}', '{database}', right_name)"
            ))
            .await;
        assert_eq!(rights, [""; 0], "{database}");
        let reported = ask(&cluster.url(own, database), "CREATE TABLE x (a int)").await;
        assert!(reported.is_err(), "{database}: {reported:?}");
    }
    let reported = ask(&cluster.url(own, other), "SELECT 1").await.expect_err("a neighbour's database is closed");
    assert!(["42501", "53300"].contains(&&*reported), "{reported}");
}

/// Statements that take more than they may, and what ends them.
const GREEDY: &[(&str, &[CutReason])] = &[
    ("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b", &[CutReason::Time]),
    (
        "SELECT count(*) FROM people a, people b, generate_series(1, 1000000000) c",
        &[CutReason::Time, CutReason::Memory],
    ),
    (
        "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t",
        &[CutReason::Time, CutReason::Memory],
    ),
    (
        "WITH RECURSIVE t (s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t",
        &[CutReason::Time, CutReason::Memory],
    ),
    ("SELECT repeat('x', 1000000000)", &[CutReason::Memory, CutReason::Size, CutReason::Time]),
    ("SELECT repeat('x', 100000000)", &[CutReason::Size, CutReason::Time]),
    ("SELECT repeat('x', 100000000), repeat('y', 100000000)", &[CutReason::Size, CutReason::Memory, CutReason::Time]),
    (
        "SELECT string_agg(repeat('x', 1000000), '') FROM generate_series(1, 2000)",
        &[CutReason::Memory, CutReason::Time, CutReason::Size],
    ),
    ("SELECT array_agg(i) FROM generate_series(1, 1000000000) i", &[CutReason::Memory, CutReason::Time]),
    ("SELECT i FROM generate_series(1, 300000000) i ORDER BY i % 1000, i DESC", &[CutReason::Memory, CutReason::Time]),
    ("INSERT INTO junk SELECT repeat(md5(i::text), 45) FROM generate_series(1, 10000000) i", &[CutReason::Growth]),
    ("CREATE TABLE copy AS SELECT repeat(md5(i::text), 45) FROM generate_series(1, 10000000) i", &[CutReason::Growth]),
    (
        "CREATE TEMP TABLE copy AS SELECT repeat(md5(i::text), 45) FROM generate_series(1, 10000000) i",
        &[CutReason::Growth],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn greed_is_cut_off_and_neighbours_keep_their_latency() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let script = "CREATE TABLE people (id int); INSERT INTO people VALUES (1), (2); CREATE TABLE junk (a text)";
    let limits = Limits { statement_ms: 2_000, growth_max: 16 << 20, ..Limits::default() };
    let mut player = cluster.open_on(script, Access::Define, limits).await;
    // Time enough to grow, on a machine that is busy as well.
    let patient = Limits { statement_ms: 20_000, ..limits };
    let mut grower = cluster.open_on(script, Access::Define, patient).await;
    let mut neighbour = cluster.open(Access::Write).await;
    let attack = async {
        for (sql, cuts) in GREEDY {
            let player = if cuts.contains(&CutReason::Growth) { &mut grower } else { &mut player };
            let began = Instant::now();
            println!("{sql}");
            let error = player.step(sql).await.error.unwrap_or_else(|| panic!("{sql} succeeds"));
            assert!(error.cut.is_some_and(|cut| cuts.contains(&cut)), "{sql}: {error:?}");
            assert!(began.elapsed() < Duration::from_secs(30), "{sql} took {:?}", began.elapsed());
            assert_eq!(player.value("SELECT count(*) FROM people").await, "2", "after {sql}");
        }
    };
    let mut times = Vec::new();
    let live = async {
        loop {
            let began = Instant::now();
            neighbour.commands("UPDATE people SET age = age + 1; SELECT * FROM people").await;
            times.push(began.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = attack => {}
        () = live => unreachable!("it goes on for ever"),
    }
    times.sort();
    let median = times[times.len() / 2];
    assert!(times.len() > 20 && median < Duration::from_millis(500), "median {median:?} of {}", times.len());
    let left = cluster
        .ask("SELECT pg_database_size(datname) FROM pg_database WHERE datname LIKE 'palestra\\_test\\_s\\_%'")
        .await;
    assert!(left.iter().all(|bytes| bytes.parse::<u64>().expect("a number") < 400 << 20), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_things_are_bounded_too() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    let error = player.step(&format!("BEGIN; {}", "SAVEPOINT a; ".repeat(4_100))).await.error.expect("too many");
    assert_eq!(error.cut, Some(CutReason::Refused), "{error:?}");
    player.commands("ROLLBACK; SELECT 1").await;
    let tables: String = (0..1_100).map(|number| format!("CREATE TABLE t{number} (a int); ")).collect();
    let error = player.step(&format!("BEGIN; {tables}")).await.error.expect("too many");
    assert_eq!(error.cut, Some(CutReason::Growth), "{error:?}");
    player.commands("ROLLBACK; SELECT 1").await;
    let error =
        player.step(&format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000))).await.error.expect("too deep");
    assert!(["54001", "42601"].contains(&&*error.code), "{error:?}");
    assert_eq!(player.value("SELECT 1").await, "1");
}

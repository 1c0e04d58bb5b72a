//! Tests of server resources that sessions may take, and that they leave nothing.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palestra_sql::engine::{Access, CutReason, EngineError, Limits, Step};
use tokio_postgres::NoTls;

use crate::cluster::{SHOP, TestCluster};

#[tokio::test(flavor = "multi_thread")]
async fn results_are_cut_by_rows_and_bytes() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let limits = Limits { rows_max: 10, bytes_max: 1000, ..Limits::default() };
    let mut player = cluster.open_on("CREATE TABLE t (a int)", Access::Write, limits).await;
    let ran = player.step("SELECT generate_series(1, 10)").await;
    assert_eq!((ran.results[0].rows.len(), ran.results[0].truncated), (10, false));
    let ran = player.step("SELECT generate_series(1, 11)").await;
    assert_eq!((ran.results[0].rows.len(), ran.results[0].truncated), (10, true));
    let ran = player.step("SELECT repeat('x', 300) FROM generate_series(1, 9); SELECT 'y'").await;
    assert_eq!((ran.results[0].rows.len(), ran.results[0].truncated), (3, true));
    let ran = player.step("INSERT INTO t SELECT generate_series(1, 50) RETURNING a").await;
    let result = &ran.results[0];
    assert_eq!((result.rows.len(), result.truncated, &*result.command), (10, true, "INSERT 0 50"));
    let error = player.step("SELECT repeat('x', 100000000)").await.error.expect("too large");
    assert_eq!(error.cut, Some(CutReason::Size), "{error:?}");
    assert_eq!(player.value("SELECT count(*) FROM t").await, "50");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_end_after_their_time() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let limits = Limits { statement_ms: 200, ..Limits::default() };
    let mut player = cluster.open_on("CREATE TABLE t (a int)", Access::Write, limits).await;
    let error = player.step("SELECT count(*) FROM generate_series(1, 1000000000)").await.error.expect("too long");
    assert_eq!(error.cut, Some(CutReason::Time), "{error:?}");
    assert_eq!(player.value("SELECT 1").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_goes_on_when_it_is_told_to_end_is_never_run_again() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let limits = Limits { statement_ms: 200, ..Limits::default() };
    let mut player = cluster.open_on(SHOP, Access::Write, limits).await;
    let own = cluster.ask("SELECT pid FROM pg_stat_activity WHERE datname LIKE 'palestra\\_test\\_s\\_%'").await;
    let [process] = own.as_slice() else { panic!("{own:?}") };
    let process = Pid::from_raw(process.parse().expect("a number"));
    // A process that stands still ends nothing.
    kill(process, Signal::SIGSTOP).expect("our server");
    let ran = player.database.run(&Step { seq: 1, sql: "DELETE FROM people", parameters: &[], now_ms: 0 }).await;
    kill(process, Signal::SIGCONT).expect("our server");
    assert!(matches!(&ran, Err(EngineError::Midway(why)) if why.contains("did not end")), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_quote_what_is_long_are_cut() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Read).await;
    let error = player.step("SELECT repeat('x', 20000000)::int").await.error.expect("no number");
    assert_eq!((&*error.code, error.cut), ("22P02", None));
    assert!(error.message.len() < 9_000, "{} bytes", error.message.len());
    assert!(error.message.ends_with(" bytes more)"), "{}", &error.message[8_000..]);
    assert_eq!(player.value("SELECT 1").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_too_large_is_an_error_and_the_session_goes_on() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    player.commands("INSERT INTO people VALUES (4, 'x', 1)").await;
    // Each column has its default in the schema.
    let default = "x".repeat(100_000);
    for number in 0..50 {
        player.commands(&format!("CREATE TABLE t{number} (a text DEFAULT '{default}')")).await;
    }
    let error = player.database.schema().await.expect_err("five million characters");
    assert!(matches!(&error, EngineError::Cut(error) if error.cut == Some(CutReason::Refused)), "{error:?}");
    assert_eq!(player.value("SELECT count(*) FROM people").await, "4");
    assert!(player.database.rewind(1).await.expect("alive"));
    assert_eq!(player.database.schema().await.expect("it fits again").tables.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_the_schema_that_takes_too_long_is_an_error_and_the_session_goes_on() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let limits = Limits { statement_ms: 3_000, ..Limits::default() };
    let mut player = cluster.open_on(SHOP, Access::Define, limits).await;
    let names = cluster.ask("SELECT datname FROM pg_database WHERE datname LIKE 'palestra\\_test\\_s\\_%'").await;
    let [name] = names.as_slice() else { panic!("{names:?}") };
    // A view cannot be written down while somebody holds its table, however fast the machine is.
    let (holder, connection) =
        tokio_postgres::connect(&cluster.url("palestra", name), NoTls).await.expect("our server");
    let look = async {
        holder.batch_execute("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").await.expect("nobody else holds it");
        let error = player.database.schema().await.expect_err("too long");
        assert!(matches!(&error, EngineError::Cut(error) if error.cut == Some(CutReason::Time)), "{error:?}");
        assert_eq!(player.value("SELECT 1").await, "1");
        drop(holder);
    };
    tokio::join!(look, connection).1.expect("it was let go");
    assert_eq!(player.database.schema().await.expect("nobody holds it").tables.len(), 3);
}

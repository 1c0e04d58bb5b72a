//! What sessions may take of the server, and that they leave nothing.

use palestra_sql::engine::{Access, Cut, Limits};

use crate::cluster::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn results_are_cut_by_rows_and_bytes() {
    let Some(bench) = Bench::new(0).await else { return };
    let limits = Limits { rows_max: 10, bytes_max: 1000, ..Limits::default() };
    let mut player = bench.open_on("CREATE TABLE t (a int)", Access::Write, limits).await;
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
    assert_eq!(error.cut, Some(Cut::Size), "{error:?}");
    assert_eq!(player.value("SELECT count(*) FROM t").await, "50");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_end_after_their_time() {
    let Some(bench) = Bench::new(0).await else { return };
    let limits = Limits { statement_ms: 200, ..Limits::default() };
    let mut player = bench.open_on("CREATE TABLE t (a int)", Access::Write, limits).await;
    let error = player.step("SELECT count(*) FROM generate_series(1, 1000000000)").await.error.expect("too long");
    assert_eq!(error.cut, Some(Cut::Time), "{error:?}");
    assert_eq!(player.value("SELECT 1").await, "1");
}

//! A process that holds an engine is killed: nothing of it is left, at the latest after the next start.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_sql::engine::postgres::{Cluster, PostgresEngine, Settings};
use palestra_sql::engine::{Access, Engine, EngineError, Limits, Opening, Step};
use palestra_sql::source::Source;

use crate::cluster::{SHOP, TestCluster, settings};

/// Where the process that is to be killed finds what it holds: a URL, or a folder for a private cluster.
const HELD: &str = "PALESTRA_TEST_HELD";

fn of(held: &str) -> Settings {
    let cluster = match held.strip_prefix("folder=") {
        Some(folder) => Cluster::Private { folder: folder.into(), binaries: None },
        None => Cluster::Url(held.to_owned()),
    };
    Settings { cluster, node: "crash".to_owned(), ..settings(std::path::Path::new("/tmp"), 1) }
}

/// The process that is killed. Without the variable it is an ordinary test that has nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn holder() {
    let Ok(held) = std::env::var(HELD) else { return };
    let engine = PostgresEngine::connect(of(&held)).await.expect("an engine");
    let source = Arc::new(Source::script(SHOP));
    let opening = Opening { access: Access::Write, limits: Limits::default(), seed: 1 };
    let _first = engine.open(&source, &opening).await.expect("a database");
    let _second = engine.open(&source, &opening).await.expect("a database");
    println!("\nholds");
    std::future::pending::<()>().await;
}

fn start(held: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "crash::holder", "--nocapture"])
        .env(HELD, held)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program again")
}

/// Starts it and waits until it holds sessions.
fn hold(held: &str) -> Child {
    let mut child = start(held);
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let holds = lines.map_while(Result::ok).any(|line| line == "holds");
    assert!(holds, "the holder ended: {:?}", child.wait());
    child
}

fn kill(mut child: Child) {
    child.kill().expect("our child");
    child.wait().expect("our child");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_leaves_nothing_in_a_named_cluster() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let url = cluster.url("palestra", "postgres");
    let child = hold(&url);
    // What the cluster was told before the kill it goes on with, so that the place kept ready has to be there first.
    let began = Instant::now();
    while cluster.left("crash").await.len() < 11 {
        assert!(began.elapsed() < Duration::from_secs(20), "groups, base, template, and two for each of three places");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    kill(child);
    let engine = PostgresEngine::connect(of(&url)).await.expect("an engine");
    let base: Vec<String> = ["base", "define", "read", "write"].map(|name| format!("palestra_crash_{name}")).into();
    assert_eq!(cluster.left("crash").await, base);
    engine.close().await;
    assert_eq!(cluster.left("crash").await, [""; 0]);
}

/// Process numbers of the administrators of the node `crash` that wait for the lock. The text of their statements is not shown: a private
/// cluster keeps none.
async fn waiting(cluster: &TestCluster) -> Vec<String> {
    let held_up = "wait_event_type = 'Lock' AND starts_with(application_name, 'palestra_crash_')";
    cluster.ask(&format!("SELECT pid FROM pg_stat_activity WHERE {held_up} ORDER BY pid")).await
}

/// PostgreSQL goes on with a statement whose client is gone. Held up by a lock, the database is not there yet when the next process looks.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_cluster_still_makes_for_a_killed_process_is_not_left_behind() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let url = cluster.url("palestra", "postgres");
    let config: tokio_postgres::Config = url.parse().expect("a URL");
    let (locker, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
    let connection = tokio::spawn(connection);
    // Queries read the table all the same; nobody adds a database.
    locker.batch_execute("BEGIN; LOCK TABLE pg_catalog.pg_database IN SHARE MODE").await.expect("the lock");
    let child = start(&url);
    let began = Instant::now();
    let earlier = loop {
        if let [one] = &*waiting(&cluster).await {
            break one.clone();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the holder makes no database");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    kill(child);
    assert_eq!(waiting(&cluster).await, [&*earlier], "PostgreSQL does not see that its client is gone");
    #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
    let next = tokio::spawn({
        let url = url.clone();
        async move { PostgresEngine::connect(of(&url)).await }
    });
    while !waiting(&cluster).await.iter().any(|process| *process != earlier) {
        assert!(began.elapsed() < Duration::from_secs(120), "the next process makes no database");
        assert!(!next.is_finished(), "{:?}", next.await.map(|engine| engine.err()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    locker.batch_execute("COMMIT").await.expect("the end of the lock");
    drop(locker);
    connection.await.expect("a task").expect("an end without error");
    let engine = next.await.expect("a task").expect("an engine");
    engine.close().await;
    assert_eq!(cluster.left("crash").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_cluster_ends_with_its_process() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let folder = cluster.folder().join("killed");
    let held = format!("folder={}", folder.display());
    let child = hold(&held);
    let status = fs::read_to_string(folder.join("data/postmaster.pid")).expect("a running server");
    let process = status.lines().next().expect("its number").to_owned();
    kill(child);
    let began = Instant::now();
    while runs(&process, &folder.display().to_string()) {
        assert!(began.elapsed() < Duration::from_secs(20), "the server outlives its process");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // What it left in its folder is in nobody's way.
    PostgresEngine::connect(of(&held)).await.expect("an engine").close().await;
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_cluster_that_was_killed_is_started_again() {
    let Some(cluster) = TestCluster::new(1).await else { return };
    let mut before = cluster.open(Access::Write).await;
    before.commands("DELETE FROM orders").await;
    let folder = cluster.folder().join("pg");
    let status = fs::read_to_string(folder.join("data/postmaster.pid")).expect("a running server");
    let process = status.lines().next().expect("its number").to_owned();
    let number = nix::unistd::Pid::from_raw(process.parse().expect("a number"));
    nix::sys::signal::kill(number, nix::sys::signal::Signal::SIGKILL).expect("our server");
    // Until then the engine has not seen its end.
    while std::path::Path::new("/proc").join(&process).exists() {
        tokio::task::yield_now().await;
    }
    let mut after = cluster.open(Access::Write).await;
    assert_eq!(after.value("SELECT count(*) FROM orders").await, "3");
    let step = Step { seq: 9, sql: "SELECT 1", parameters: &[], now_ms: 0 };
    assert!(matches!(before.database.run(&step).await, Err(EngineError::Lost(_))), "its place went with the server");
    drop(before);
    assert_eq!(after.value("SELECT 1").await, "1", "what is left of the first server does not touch the second");
    drop(after);
    cluster.engine.close().await;
    assert!(!folder.exists());
    let source = Arc::new(Source::script(SHOP));
    let opening = Opening { access: Access::Write, limits: Limits::default(), seed: 1 };
    assert!(cluster.engine.open(&source, &opening).await.is_err(), "it was closed");
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_databases_whose_connections_broke_are_made_anew() {
    let Some(cluster) = TestCluster::new(2).await else { return };
    let source = Arc::new(Source::script(SHOP));
    drop(cluster.open(Access::Write).await);
    assert_eq!(cluster.engine.ready(&source, Access::Write), 0, "one session is no reason to keep databases warm");
    drop(cluster.open(Access::Write).await);
    let began = Instant::now();
    while cluster.engine.ready(&source, Access::Write) < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing becomes warm");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let others = "FROM pg_stat_activity WHERE datname LIKE 'palestra\\_test\\_s\\_%'";
    cluster.ask(&format!("SELECT pg_terminate_backend(pid) {others}")).await;
    assert_eq!(cluster.open(Access::Write).await.value("SELECT count(*) FROM orders").await, "3");
}

/// True if a process is there and serves this folder.
fn runs(process: &str, folder: &str) -> bool {
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|words| String::from_utf8_lossy(&words).contains(folder))
}

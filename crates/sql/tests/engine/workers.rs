//! The life of worker processes: they die, are replaced, are overdrawn, and end with whoever started them.

use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palestra_sql::engine::sqlite::{Settings, SqliteEngine, WorkerUsage};
use palestra_sql::engine::{Database, Engine, EngineError};
use palestra_sql::source::Source;
use palestra_sql::value::Dialect;

use crate::sqlite::settings;
use crate::suite::guest::Guest;
use crate::suite::{number, opening, run, shop};

const COUNT: &str = "SELECT count(*) FROM items";
/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn engine_with(change: impl FnOnce(&mut Settings)) -> SqliteEngine {
    let mut settings = Settings { workers: 1, ..settings() };
    change(&mut settings);
    SqliteEngine::new(settings)
}

fn engine_of(command: &[&str], change: impl FnOnce(&mut Settings)) -> SqliteEngine {
    engine_with(|settings| {
        settings.command = command.iter().map(OsString::from).collect();
        change(settings);
    })
}

async fn open(engine: &SqliteEngine) -> Result<Box<dyn Database>, EngineError> {
    engine.open(&shop(Dialect::Sqlite), &opening()).await
}

/// Usage of the single worker, once it is as expected.
async fn usage_when(engine: &SqliteEngine, expected: impl Fn(&WorkerUsage) -> bool) -> WorkerUsage {
    let begun = Instant::now();
    loop {
        let usage = engine.usage().await;
        if let [usage] = usage.as_slice()
            && expected(usage)
        {
            return *usage;
        }
        assert!(begun.elapsed() < LONG, "{usage:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn runs(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

fn wait_until_ended(pid: u32) {
    let begun = Instant::now();
    while runs(pid) {
        assert!(begun.elapsed() < LONG, "process {pid} goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until nothing is left of it: while its threads end one after the other, its pipes are still open.
fn wait_until_gone(pid: u32) {
    let begun = Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(begun.elapsed() < LONG, "something is left of process {pid}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill_process(pid: u32) {
    kill(Pid::from_raw(i32::try_from(pid).expect("a process")), Signal::SIGKILL).expect("it runs");
}

#[tokio::test]
async fn sessions_of_a_worker_that_is_killed_are_lost_and_new_ones_come_on_another() {
    let engine = engine_with(|_| ());
    let mut one = open(&engine).await.expect("a database");
    let mut two = open(&engine).await.expect("a database");
    run(&mut one, 1, "DELETE FROM lines").await;
    let first = usage_when(&engine, |usage| usage.sessions == 2).await;
    kill_process(first.pid);
    tokio::task::spawn_blocking(move || wait_until_gone(first.pid)).await.expect("it ended");
    for database in [&mut one, &mut two] {
        let error = database.rewind(0).await.expect_err("its worker is gone");
        assert!(matches!(&error, EngineError::Lost(why) if why.contains(&first.pid.to_string())), "{error:?}");
        assert!(matches!(database.schema().await, Err(EngineError::Lost(_))));
    }
    let mut three = open(&engine).await.expect("another worker");
    assert_eq!(number(&mut three, 1, "SELECT count(*) FROM lines").await, 2);
    let counterexample = usage_when(&engine, |usage| usage.sessions == 1).await;
    assert_ne!(first.pid, counterexample.pid);
}

#[tokio::test]
async fn a_step_under_way_is_lost_with_its_worker_and_told_from_one_that_was_not() {
    let engine = engine_with(|_| ());
    let mut database = engine.open(&shop(Dialect::Sqlite), &opening()).await.expect("a database");
    let pid = usage_when(&engine, |usage| usage.sessions == 1).await.pid;
    let step = palestra_sql::engine::Step {
        seq: 1,
        sql: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        parameters: &[],
        now_ms: 0,
    };
    let (ran, ()) = tokio::join!(database.run(&step), async {
        // The worker answers others while the statement runs.
        engine.usage().await;
        kill_process(pid);
    });
    assert!(matches!(&ran, Err(EngineError::Midway(why)) if why.contains(&pid.to_string())), "{ran:?}");
    assert!(matches!(database.run(&step).await, Err(EngineError::Lost(_))), "nobody could have begun with this");
}

#[tokio::test]
async fn a_worker_that_ends_again_and_again_is_missing_and_says_why() {
    let engine =
        engine_of(&["/bin/sh", "-c", "echo 'no such luck' >&2; exit 7"], |settings| settings.starts_per_minute_max = 4);
    let mut errors = Vec::new();
    for _ in 0..4 {
        errors.push(open(&engine).await.err().expect("it cannot open"));
    }
    assert!(matches!(&errors[0], EngineError::Lost(why) if why.contains("no such luck")), "{errors:?}");
    let Some(EngineError::Missing(why)) = errors.pop() else { panic!("{errors:?}") };
    assert!(why.contains("again and again") && why.contains("no such luck"), "{why}");

    let engine = engine_of(&["/nonexistent/worker"], |_| ());
    let error = open(&engine).await.err();
    assert!(matches!(&error, Some(EngineError::Missing(why)) if why.contains("/nonexistent/worker")), "{error:?}");
}

#[tokio::test]
async fn a_worker_that_says_nonsense_or_nothing_is_killed() {
    let nonsense = engine_of(&["/bin/sh", "-c", "echo nonsense nonsense nonsense; exec /bin/cat >/dev/null"], |_| ());
    assert!(matches!(open(&nonsense).await.err(), Some(EngineError::Lost(_))));

    let silent = engine_of(&["/bin/sh", "-c", "exec /bin/sleep 1000"], |settings| {
        settings.patience = Duration::from_millis(50);
        settings.template_ms = 1;
    });
    let error = open(&silent).await.err();
    assert!(matches!(&error, Some(EngineError::Lost(why)) if why.contains("did not answer")), "{error:?}");
}

#[tokio::test]
async fn a_worker_that_stands_still_is_killed_and_replaced() {
    let engine = engine_with(|settings| settings.patience = Duration::from_millis(200));
    let mut database = open(&engine).await.expect("a database");
    let pid = usage_when(&engine, |usage| usage.sessions == 1).await.pid;
    kill(Pid::from_raw(i32::try_from(pid).expect("a process")), Signal::SIGSTOP).expect("it runs");
    let error = database.rewind(0).await.expect_err("it does not answer");
    assert!(matches!(&error, EngineError::Midway(why) if why.contains("did not answer")), "{error:?}");
    tokio::task::spawn_blocking(move || wait_until_ended(pid)).await.expect("it was killed");
    let mut other = open(&engine).await.expect("another worker");
    assert_eq!(number(&mut other, 1, COUNT).await, 3);
}

#[tokio::test]
async fn a_lost_session_comes_back_by_its_steps() {
    let engine: Arc<SqliteEngine> = Arc::new(engine_with(|_| ()));
    let shared: Arc<dyn Engine> = engine.clone();
    let mut guest = Guest::new(&shared, &shop(Dialect::Sqlite)).await;
    for sql in [
        "INSERT INTO items (name, price) VALUES ('kiwi', abs(random() % 100)) RETURNING price",
        "BEGIN; SELECT random(), CURRENT_TIMESTAMP",
        "DELETE FROM lines; SELECT changes(), total_changes(), last_insert_rowid()",
        "SELECT * FROM nowhere",
    ] {
        guest.step(sql).await;
    }
    kill_process(usage_when(&engine, |usage| usage.sessions == 1).await.pid);
    assert!(guest.database.rewind(1).await.is_err());
    guest.database = guest.replay().await;
    assert_eq!(guest.step("ROLLBACK").await.error, None, "its transaction is open again");
    assert_eq!(number(&mut guest.database, 100, "SELECT count(*) FROM lines").await, 2);
}

#[tokio::test]
async fn files_that_are_no_database_are_no_source() {
    let engine = engine_with(|_| ());
    for bytes in
        [&b"hardly a database, though long enough to be looked at as one by whoever reads its first bytes"[..], b"x"]
    {
        let error = engine.open(&Arc::new(Source::sqlite_file(bytes)), &opening()).await.err();
        assert!(matches!(error, Some(EngineError::Source(_))), "{error:?}");
    }
}

#[tokio::test]
async fn places_have_a_bound_and_come_back() {
    let engine = engine_with(|settings| settings.sessions_max = 2);
    let mut one = open(&engine).await.expect("a database");
    let two = open(&engine).await.expect("a database");
    assert!(matches!(open(&engine).await.err(), Some(EngineError::Busy { .. })));
    assert!(matches!(one.fork().await.err(), Some(EngineError::Busy { .. })));
    drop(two);
    usage_when(&engine, |usage| usage.sessions == 1).await;
    let begun = Instant::now();
    let copy = loop {
        // The place is free when the answer to its end is there.
        match one.fork().await {
            Ok(copy) => break copy,
            Err(error) => assert!(begun.elapsed() < LONG, "{error}"),
        }
        tokio::task::yield_now().await;
    };
    assert!(copy.is_some());
    one.close().await;
    drop(copy);
    usage_when(&engine, |usage| usage.sessions == 0).await;
}

#[tokio::test]
async fn templates_are_made_once_and_the_oldest_is_forgotten() {
    let engine = engine_with(|settings| settings.templates_max = 2);
    let together = join_all((0..16).map(|_| open(&engine))).await;
    assert!(together.iter().all(Result::is_ok));
    usage_when(&engine, |usage| usage.sessions == 16 && usage.templates == 1).await;
    for n in 0..5 {
        let source = Arc::new(Source::script(format!("CREATE TABLE t{n} (a integer)")));
        engine.prepare(&source).await.expect("a template");
    }
    usage_when(&engine, |usage| usage.templates == 2).await;
    for mut database in together.into_iter().flatten() {
        assert_eq!(number(&mut database, 1, COUNT).await, 3, "sessions outlive their template");
    }
    let mut again = open(&engine).await.expect("a template that is made again");
    assert_eq!(number(&mut again, 1, COUNT).await, 3);
}

#[tokio::test]
async fn a_step_that_nobody_waits_for_loses_its_database_and_ends() {
    let engine = engine_with(|_| ());
    let mut database = engine.open(&shop(Dialect::Sqlite), &opening()).await.expect("a database");
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    let step = palestra_sql::engine::Step { seq: 1, sql: endless, parameters: &[], now_ms: 0 };
    assert!(tokio::time::timeout(Duration::from_millis(100), database.run(&step)).await.is_err());
    assert!(matches!(database.rewind(0).await, Err(EngineError::Lost(_))), "nobody knows what it did");
    drop(database);
    usage_when(&engine, |usage| usage.sessions == 0).await;
}

#[tokio::test]
async fn workers_end_with_their_engine() {
    let engine = engine_with(|_| ());
    let mut database = open(&engine).await.expect("a database");
    let pid = usage_when(&engine, |usage| usage.sessions == 1).await.pid;
    drop(engine);
    assert!(matches!(
        tokio::time::timeout(LONG, async {
            loop {
                if let Err(error) = database.rewind(0).await {
                    break error;
                }
            }
        })
        .await,
        Ok(EngineError::Lost(_) | EngineError::Midway(_))
    ));
    tokio::task::spawn_blocking(move || wait_until_ended(pid)).await.expect("it ended");
}

/// Says that this process stands in for a server.
const STAND_IN: &str = "PALESTRA_TEST_STAND_IN";

/// Not a test by itself: the process that [`workers_end_when_their_server_is_killed`] kills.
#[tokio::test]
async fn stand_in_for_a_server() {
    if std::env::var_os(STAND_IN).is_none() {
        return;
    }
    let engine = SqliteEngine::new(settings());
    let first = open(&engine).await.expect("a database");
    let counterexample = open(&engine).await.expect("a database");
    let pids: Vec<_> = engine.usage().await.iter().map(|usage| usage.pid.to_string()).collect();
    println!("workers: {}", pids.join(" "));
    std::future::pending::<()>().await;
    drop((first, counterexample));
}

#[test]
fn workers_end_when_their_server_is_killed() {
    let mut server = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "workers::stand_in_for_a_server", "--nocapture"])
        .env(STAND_IN, "")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let lines = std::io::BufReader::new(server.stdout.take().expect("its output")).lines();
    let pids =
        lines.map_while(Result::ok).find_map(|line| line.split_once("workers: ").map(|(_, pids)| pids.to_owned()));
    let pids: Vec<u32> = pids.expect("it says so").split(' ').map(|pid| pid.parse().expect("a number")).collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| runs(*pid)));
    server.kill().expect("it runs");
    assert_eq!(server.wait().expect("it ended").signal(), Some(9));
    for pid in pids {
        wait_until_ended(pid);
    }
}

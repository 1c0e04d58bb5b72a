//! A thousand sessions at a time. What they cost is measured by the load tests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use palestra_sql::engine::sqlite::{Settings, SqliteEngine};
use palestra_sql::engine::{Database, Engine};
use palestra_sql::source::Source;
use palestra_sql::value::Value;

use crate::sqlite::settings;
use crate::suite::{opening, run};

const SESSIONS: i64 = 1_000;

fn source() -> Arc<Source> {
    Arc::new(Source::script(
        "CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, amount INTEGER NOT NULL);
         WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000)
         INSERT INTO events SELECT x, 'kind of event ' || (x % 17), x * 7 % 1000 FROM c;
         CREATE INDEX events_kind ON events (kind, amount)",
    ))
}

async fn amount(database: &mut Box<dyn Database>, seq: u64) -> Value {
    let ran = run(database, seq, "SELECT sum(amount) FROM events WHERE kind = 'new'").await;
    ran.results[0].rows[0][0].clone()
}

/// A session that inserts what tells it from others, with a fork of it; then it returns to the beginning.
async fn session(engine: &SqliteEngine, source: &Arc<Source>, own: i64) -> [Box<dyn Database>; 2] {
    let mut database = engine.open(source, &opening()).await.expect("a place");
    let ran = run(&mut database, 1, &format!("INSERT INTO events (kind, amount) VALUES ('new', {own})")).await;
    assert_eq!(ran.error, None);
    assert_eq!(amount(&mut database, 2).await, Value::Integer(own));
    let copy = database.fork().await.expect("it stands").expect("a copy");
    assert!(database.rewind(0).await.expect("it stands"));
    [database, copy]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_and_their_forks_act_at_a_time_and_leave_nothing() {
    let engine = SqliteEngine::new(Settings { sessions_max: 2 * SESSIONS.unsigned_abs() as usize, ..settings() });
    let source = source();
    let mut kept = join_all((0..SESSIONS).map(|own| session(&engine, &source, own))).await;
    for (own, [database, copy]) in (0..SESSIONS).zip(&mut kept) {
        assert_eq!(amount(database, 3).await, Value::Null, "it is back at the beginning");
        assert_eq!(amount(copy, 3).await, Value::Integer(own), "a fork goes on where it was made");
    }
    drop(kept);
    let begun = Instant::now();
    while engine.usage().await.iter().any(|usage| usage.sessions > 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "sessions are left");
        tokio::task::yield_now().await;
    }
}

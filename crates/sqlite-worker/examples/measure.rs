//! Prints how long sessions take to open, answer, rewind and copy, in microseconds, without the way through the pipes:
//! `cargo run --release --example measure`.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::sync::Arc;
use std::time::Instant;

use palestra_sqlite_worker::guard::Asking;
use palestra_sqlite_worker::pages::{self, Table};
use palestra_sqlite_worker::run::Step;
use palestra_sqlite_worker::session::{Session, Settings};
use palestra_sqlite_worker::wire::{Access, Content, Limits};
use palestra_sqlite_worker::{heap, raw, template};

const SESSIONS: usize = 1_000;
const LIMITS: Limits =
    Limits { statement_ms: 60_000, rows_max: 1_000, bytes_max: 1 << 20, memory_max: 64 << 20, growth_max: 64 << 20 };

fn main() -> Result<(), String> {
    raw::initialise();
    for rows in [1_500, 75_000] {
        let script = format!(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, cents INTEGER, day DATE);
             CREATE TABLE sale(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id), amount INTEGER);
             CREATE INDEX sale_item ON sale(item);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows})
             INSERT INTO item SELECT i, 'the item of number ' || i, i * 37 % 1000, '2025-01-01' FROM n;
             INSERT INTO sale SELECT id, id, id % 7 FROM item;"
        );
        let table = template::make(&Content::Script(script.into()), LIMITS)?;
        println!("database of {} KB, {SESSIONS} sessions", table.len() >> 10);
        measure(&table)?;
    }
    Ok(())
}

fn measure(table: &Table) -> Result<(), String> {
    let settings = Settings {
        asking: Asking::Session(Access::Define),
        limits: LIMITS,
        seed: 1,
        size_max: table.len() + LIMITS.growth_max,
    };
    let (heap, held) = (heap::total(), pages::total());
    let mut sessions = Vec::new();
    let mut opened = Vec::new();
    for _ in 0..SESSIONS {
        let begun = Instant::now();
        sessions.push(Session::open(table, settings, Arc::default())?);
        opened.push(begun.elapsed().as_micros());
    }
    report("open", opened);
    timed("first query", &mut sessions, |session| query(session, 1, "SELECT name FROM item WHERE id = 77"));
    timed("another query", &mut sessions, |session| query(session, 2, "SELECT name FROM item WHERE id = 78"));
    timed("insert", &mut sessions, |session| query(session, 3, "INSERT INTO sale VALUES (NULL, 5, 1)"));
    timed("update of 100 rows", &mut sessions, |session| {
        query(session, 4, "UPDATE sale SET amount = amount + 1 WHERE id <= 100");
    });
    println!(
        "  per session: {} KB of SQLite's memory, {} KB of pages of its own",
        ((heap::total() - heap) / SESSIONS) >> 10,
        (usize::try_from(pages::total() - held).unwrap_or(0) / SESSIONS) >> 10
    );
    let mut copies = Vec::new();
    timed("copy", &mut sessions, |session| copies.extend(session.fork(Arc::default())));
    timed("rewind", &mut sessions, |session| assert!(session.rewind(3)));
    timed("query after it", &mut sessions, |session| query(session, 5, "SELECT name FROM item WHERE id = 79"));
    timed("close", &mut sessions.into_iter().map(Some).collect::<Vec<_>>(), |session| drop(session.take()));
    Ok(())
}

fn query(session: &mut Session, seq: u64, sql: &str) {
    let ran = session.run(Step { seq, sql, parameters: &[], now_ms: 0, may_change: true });
    assert_eq!(ran.error, None);
}

fn timed<T>(name: &str, all: &mut [T], mut what: impl FnMut(&mut T)) {
    let times = all.iter_mut().map(|one| {
        let begun = Instant::now();
        what(one);
        begun.elapsed().as_micros()
    });
    report(name, times.collect());
}

fn report(name: &str, mut times: Vec<u128>) {
    times.sort_unstable();
    println!("  {name:20} median {:6} us, 99th of 100 {:6} us", times[times.len() / 2], times[times.len() * 99 / 100]);
}

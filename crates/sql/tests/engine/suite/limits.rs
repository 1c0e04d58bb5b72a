//! Tests of limits and of forbidden statements.

use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_sql::engine::{Access, CutReason, Engine, EngineError, Limits, Opening};
use palestra_sql::source::Source;

use super::{number, opening, run, shop};

const ENDLESS: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

fn limited(limits: Limits) -> Opening {
    Opening { limits, ..opening() }
}

pub(crate) async fn rows_and_bytes_have_a_limit_and_say_so(engine: Arc<dyn Engine>) {
    let source = shop(engine.dialect());
    let few = limited(Limits { rows_max: 2, ..Limits::default() });
    let mut database = engine.open(&source, &few).await.expect("a database");
    let ran = run(&mut database, 1, "SELECT id FROM items ORDER BY id; SELECT id FROM lines ORDER BY id").await;
    let seen: Vec<_> = ran.results.iter().map(|result| (result.rows.len(), result.truncated)).collect();
    assert_eq!(seen, [(2, true), (2, false)]);
    let ran = run(&mut database, 2, "UPDATE items SET price = 1 RETURNING id").await;
    assert_eq!((ran.results[0].rows.len(), ran.results[0].truncated, ran.results[0].affected), (2, true, Some(3)));
    assert_eq!(number(&mut database, 3, "SELECT sum(price) FROM items").await, 3, "what is not shown was done");

    let small = limited(Limits { bytes_max: 10_000, ..Limits::default() });
    let mut database = engine.open(&source, &small).await.expect("a database");
    let long = "'0123456789012345678901234567890123456789' || x";
    let sql =
        format!("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 900) SELECT {long} FROM c");
    let ran = run(&mut database, 1, &sql).await;
    let shown = ran.results.first().map_or(0, |result| result.rows.len());
    assert!(shown < 300, "{shown} rows of 43 bytes are shown");
    let says = ran.results.iter().any(|result| result.truncated)
        || ran.error.is_some_and(|error| error.cut == Some(CutReason::Size));
    assert!(says, "whoever reads is told that there is more");
    assert_eq!(number(&mut database, 2, "SELECT count(*) FROM items").await, 3);
}

pub(crate) async fn a_statement_that_takes_too_long_is_cut_and_the_session_goes_on(engine: Arc<dyn Engine>) {
    let source = shop(engine.dialect());
    let brief = limited(Limits { statement_ms: 300, ..Limits::default() });
    let mut database = engine.open(&source, &brief).await.expect("a database");
    run(&mut database, 1, "INSERT INTO items (name) VALUES ('kiwi')").await;
    let begun = Instant::now();
    let ran = run(&mut database, 2, &format!("SELECT 1; {ENDLESS}; DELETE FROM lines")).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let error = ran.error.expect("it never ends by itself");
    assert_eq!((error.cut, error.statement), (Some(CutReason::Time), 1), "{error:?}");
    assert_eq!(number(&mut database, 3, "SELECT count(*) FROM items").await, 4);
    assert_eq!(number(&mut database, 4, "SELECT count(*) FROM lines").await, 2);
}

pub(crate) async fn a_database_cannot_grow_beyond_its_limit(engine: Arc<dyn Engine>) {
    let source = shop(engine.dialect());
    let tight = limited(Limits { growth_max: 2 << 20, ..Limits::default() });
    let mut database = engine.open(&source, &tight).await.expect("a database");
    run(&mut database, 1, "CREATE TABLE filler (body text)").await;
    let sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) \
               INSERT INTO filler SELECT x || '0123456789012345678901234567890123456789012345678901234567890123456789' FROM c";
    let mut cut = None;
    for seq in 2..100 {
        if let Some(error) = run(&mut database, seq, sql).await.error {
            cut = Some(error);
            break;
        }
    }
    let error = cut.expect("98 times 150 kilobytes are too many");
    assert_eq!(error.cut, Some(CutReason::Growth), "{error:?}");
    assert_eq!(number(&mut database, 200, "SELECT count(*) FROM items").await, 3, "it can still be read");
}

pub(crate) async fn statements_beyond_the_access_are_refused(engine: Arc<dyn Engine>) {
    let source = shop(engine.dialect());
    let reads = "SELECT count(*) FROM items";
    let writes = "INSERT INTO items (name) VALUES ('kiwi')";
    let defines = "CREATE TABLE w (a integer)";
    let allowed = [
        (Access::Read, [true, false, false]),
        (Access::Write, [true, true, false]),
        (Access::Define, [true, true, true]),
    ];
    for (access, expected) in allowed {
        let mut database = engine.open(&source, &Opening { access, ..opening() }).await.expect("a database");
        for ((seq, sql), allowed) in (1..).zip([reads, writes, defines]).zip(expected) {
            let error = run(&mut database, seq, sql).await.error;
            assert_eq!(error.is_none(), allowed, "{access:?} {sql}: {error:?}");
            assert!(error.is_none_or(|error| error.cut == Some(CutReason::Refused)), "{access:?} {sql}");
        }
    }
}

pub(crate) async fn a_source_that_is_broken_says_so(engine: Arc<dyn Engine>) {
    let broken = Arc::new(Source::script("CREATE TABLE a (x integer); INSERT INTO b VALUES (1)"));
    let Err(error) = engine.open(&broken, &opening()).await else { panic!("it opened") };
    let EngineError::Source(why) = error else { panic!("{error:?}") };
    assert!(why.contains('b'), "{why}");
    assert!(engine.prepare(&broken).await.is_err());
    assert_eq!(engine.prepare(&shop(engine.dialect())).await, Ok(()), "others are not touched by it");
}

//! SQLite on its workers.

use std::ffi::OsString;
use std::sync::Arc;

use palestra_sql::engine::sqlite::{Settings, SqliteEngine};
use palestra_sql::engine::{CutReason, Engine, EngineError};
use palestra_sql::value::Dialect;

use crate::suite::{conformance, number, open, run, shop};

/// Workers of the program that this package builds.
pub(crate) fn settings() -> Settings {
    Settings { workers: 2, ..Settings::new(vec![OsString::from(env!("CARGO_BIN_EXE_palestra-sqlite-worker"))]) }
}

pub(crate) async fn make() -> Option<Arc<dyn Engine>> {
    Some(Arc::new(SqliteEngine::new(settings())))
}

conformance!(crate::sqlite::make);

/// Runs statements that succeed, so many at a time as a session may.
async fn run_all(database: &mut Box<dyn palestra_sql::engine::Database>, statements: &[String]) {
    for (seq, some) in (1..).zip(statements.chunks(500)) {
        assert_eq!(run(database, seq, &some.join(";")).await.error, None);
    }
}

#[tokio::test]
async fn a_schema_of_thousands_of_tables_is_told_whole() {
    let engine = make().await.expect("an engine");
    let mut database = open(&engine, &shop(Dialect::Sqlite)).await;
    let tables = (0..4_000).map(|n| format!("CREATE TABLE t{n:04} (a INTEGER PRIMARY KEY, b TEXT)"));
    let indexes = (0..500).map(|n| format!("CREATE INDEX i{n:03} ON t{:04} (b) WHERE a > {n}", n / 4));
    run_all(&mut database, &tables.chain(indexes).collect::<Vec<_>>()).await;
    let schema = database.schema().await.expect("the database stands");
    assert_eq!((schema.tables.len(), schema.indexes.len()), (4_002, 500));
    assert!(schema.tables.iter().all(|table| table.columns.len() >= 2), "each is described");
    assert_eq!(schema.indexes[499].condition.as_deref(), Some("a > 499"));
    assert_eq!(number(&mut database, 100, "SELECT count(*) FROM items").await, 3);
}

#[tokio::test]
async fn a_schema_that_is_too_large_is_an_error_and_the_database_stands() {
    let engine = make().await.expect("an engine");
    let mut database = open(&engine, &shop(Dialect::Sqlite)).await;
    // Each column of a reference tells the name of the table that it refers to.
    let columns = (0..400).map(|n| format!("c{n}")).collect::<Vec<_>>().join(", ");
    let long = "x".repeat(60_000);
    let sql = format!("CREATE TABLE w ({columns}, FOREIGN KEY ({columns}) REFERENCES {long} ({columns}))");
    run_all(&mut database, &[sql]).await;
    for _ in 0..2 {
        let error = database.schema().await.expect_err("24 MB of names");
        let EngineError::Cut(error) = error else { panic!("{error:?}") };
        assert_eq!(error.cut, Some(CutReason::Size));
        assert!(error.message.starts_with("the schema is too large: "), "{error:?}");
    }
    assert_eq!(run(&mut database, 2, "DROP TABLE w").await.error, None);
    assert_eq!(database.schema().await.expect("it stands").tables.len(), 2);
}

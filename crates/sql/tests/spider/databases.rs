//! Datasets survive the way through an engine and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_sql::compare::difference;
use palestra_sql::dataset::{Dataset, quoted};
use palestra_sql::engine::{Access, Engine, Limits, Opening, StatementResult, Step};
use palestra_sql::import::dataset;
use palestra_sql::source::Source;
use palestra_sql::task::Compare;
use palestra_sql::value::{Dialect, Value};

use crate::folder::{TestEngines, folder};

/// Everything that a reader of databases has to mind.
const AWKWARD: &str = r#"
PRAGMA foreign_keys = OFF;
CREATE TABLE "Order" (id INTEGER PRIMARY KEY, "Group" text DEFAULT 'it''s', price decimal(9,2), sold datetime,
    parent int REFERENCES "Order"(id) ON DELETE CASCADE, any_thing, data blob, UNIQUE ("Group", sold));
INSERT INTO "Order" VALUES (1, 'a', 98, '2020-01-01', NULL, 5, x'00ff'), (2, NULL, 0.1, NULL, 1, 'five', x''),
    (3, 'O''Neil "x" \n', -1e300, '', 1, 2.5, NULL);
CREATE TABLE lines (a int, b int, note varchar(20), PRIMARY KEY (b, a), FOREIGN KEY (a) REFERENCES nowhere) WITHOUT ROWID;
INSERT INTO lines VALUES (1, 9223372036854775807, 'x'), (2, -9223372036854775808, '');
CREATE TABLE empty (x);
CREATE INDEX by_note ON lines (note, a);
CREATE INDEX partial ON lines (a) WHERE a > 1;
CREATE VIEW many AS SELECT count(*) AS n FROM lines;
"#;

async fn rows(engine: &dyn Engine, script: String, sql: String) -> StatementResult {
    let limits = Limits { rows_max: 100_000, bytes_max: 64 << 20, ..Limits::default() };
    let opening = Opening { access: Access::Read, limits, seed: 0 };
    let mut database = engine.open(&Arc::new(Source::script(script)), &opening).await.expect("a database");
    let mut ran = database.run(&Step { seq: 1, sql: &sql, parameters: &[], now_ms: 0 }).await.expect("it runs");
    assert_eq!(ran.error, None, "{sql}");
    database.close().await;
    ran.results.pop().expect("a result")
}

/// Reads the database again from its own script, and its tables from PostgreSQL.
async fn comes_back(engines: &TestEngines, read: &Dataset) {
    let script = read.script(Dialect::Sqlite).expect("a script");
    let again = dataset(&*engines.engines.sqlite, &Arc::new(Source::script(script))).await.expect("it is read again");
    assert_eq!(&again.dataset, read);
    let Some(postgres) = &engines.engines.postgres else { return };
    for table in &read.tables {
        let script = read.script(Dialect::Postgres).expect("a script");
        let name = quoted(&table.name, Dialect::Postgres);
        let found = rows(&**postgres, script, format!("SELECT * FROM {name}")).await;
        let expected = StatementResult { columns: found.columns.clone(), rows: table.rows.clone(), ..found.clone() };
        let how = Compare { tolerance: 0.0, ..Compare::default() };
        assert_eq!(difference((&expected).into(), (&found).into(), &how), None, "{}", table.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_awkward_database_comes_back() {
    let engines = TestEngines::new().await;
    let source = Arc::new(Source::script(AWKWARD));
    let read = dataset(&*engines.engines.sqlite, &source).await.expect("it is read");
    let names: Vec<&str> = read.dataset.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["Order", "lines", "empty"]);
    assert_eq!(read.dataset.tables[1].primary_key, ["b", "a"]);
    assert_eq!(read.dataset.tables[0].rows[1][5], Value::Text("five".into()));
    assert!(!read.dataset.tables[0].foreign_keys[0].unenforced);
    assert!(read.dataset.tables[1].foreign_keys[0].unenforced);
    assert_eq!(
        read.notes,
        [
            "partial: indexes of expressions or of some rows are left out",
            "many: the view is left out of PostgreSQL",
            "Order.any_thing: text beside other values; PostgreSQL holds all of them as text",
            "lines(a) -> nowhere: PostgreSQL does not enforce it: there is no such table: name one that the database has",
        ]
    );
    comes_back(&engines, &read.dataset).await;
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_spider_come_back() {
    let files = folder();
    let engines = TestEngines::new().await;
    let scripts: BTreeMap<_, _> = files.into_iter().filter(|(path, _)| path.ends_with(".sql")).collect();
    for (path, script) in scripts {
        let script = String::from_utf8(script).expect("UTF-8");
        let source = Arc::new(Source::script(format!("PRAGMA foreign_keys = OFF;\n{script}")));
        let read = dataset(&*engines.engines.sqlite, &source).await.unwrap_or_else(|fault| panic!("{path}: {fault}"));
        comes_back(&engines, &read.dataset).await;
    }
    engines.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_database_is_refused_in_words() {
    let engines = TestEngines::new().await;
    let broken = [b"SQLite format 3\0".as_slice(), &[0x5a; 4_096]].concat();
    for source in [Source::script("CREATE TABLE t (a; DROP"), Source::sqlite_file(broken)] {
        let fault = dataset(&*engines.engines.sqlite, &Arc::new(source)).await.expect_err("no database");
        assert!(fault.to_string().starts_with("the database cannot be made, correct what it is made of: "), "{fault}");
    }
    engines.close().await;
}

//! Statements that want out of their database, or to change how it is kept: by whom each is refused, in which words, and that nothing of
//! it is left.

use palestra_sqlite_worker::wire::{Access, Answer, Ask, CutReason, SqlError, StepResult, Value};

use crate::worker::Worker;

/// Refusing party.
#[derive(Debug, Clone, Copy)]
enum By {
    /// Our rules, in words that begin so.
    Rule(&'static str),
    /// Our rules about the function of this name.
    Function(&'static str),
    /// SQLite, which knows no such thing, or has a rule of its own: its words.
    Sqlite(&'static str),
}
use By::{Function, Rule, Sqlite};

impl By {
    fn check(self, error: &SqlError, sql: &str) {
        match self {
            Rule(words) => {
                assert_eq!(
                    (error.cut, error.code.as_str()),
                    (Some(CutReason::Refused), "SQLITE_AUTH"),
                    "{sql}: {error:?}"
                );
                assert!(error.message.starts_with(words), "{sql}: {error:?}");
            }
            Function(name) => {
                assert_eq!(
                    (error.cut, error.code.as_str()),
                    (Some(CutReason::Refused), "SQLITE_ERROR"),
                    "{sql}: {error:?}"
                );
                assert!(
                    error.message.starts_with(&format!("the function {name}() is not allowed")),
                    "{sql}: {error:?}"
                );
            }
            Sqlite(words) => {
                assert_eq!((error.cut, error.code.as_str()), (None, "SQLITE_ERROR"), "{sql}: {error:?}");
                assert_eq!(error.message, words, "{sql}");
            }
        }
    }
}

const ATTACH: By = Rule("ATTACH and DETACH are not allowed");
const VACUUM_INTO: By = Rule("VACUUM INTO is not allowed");
const EXTENSION: By = Function("load_extension");
const UNSAFE: By = Sqlite("unsafe use of load_extension()");
const VIRTUAL: By = Rule("virtual tables are not allowed");

/// Statements that are refused as they stand.
const REFUSED: &[(By, &str)] = &[
    (ATTACH, "ATTACH '/etc/passwd' AS x"),
    (ATTACH, "ATTACH ':memory:' AS x"),
    (ATTACH, "ATTACH '' AS x"),
    (ATTACH, "DETACH main"),
    (VACUUM_INTO, "VACUUM INTO '/tmp/palestra-copy.db'"),
    (VACUUM_INTO, "VACUUM main INTO 'file:/tmp/palestra-copy.db?mode=rwc'"),
    (VACUUM_INTO, "VACUUM INTO '/tmp/' || 'palestra-copy.db'"),
    (VACUUM_INTO, "-- a copy\nvacuum/**/\"main\" into (SELECT load_extension('x'))"),
    (VACUUM_INTO, "VACUUM INTO json_patch('1', '2')"),
    (VACUUM_INTO, "VACUUM INTO ''"),
    (VACUUM_INTO, "VACUUM INTO ?1"),
    (EXTENSION, "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6')"),
    (EXTENSION, "WITH x AS (SELECT load_extension('x')) SELECT * FROM x"),
    (Sqlite("no such function: readfile"), "SELECT readfile('/etc/passwd')"),
    (Sqlite("no such function: writefile"), "SELECT writefile('/tmp/x', 'y')"),
    (Sqlite("no such function: edit"), "SELECT edit('x')"),
    (Sqlite("no such function: fts3_tokenizer"), "SELECT fts3_tokenizer('simple', x'0011223344556677')"),
    (VIRTUAL, "CREATE VIRTUAL TABLE x USING fts5(a)"),
    (VIRTUAL, "CREATE VIRTUAL TABLE x USING fts3(a)"),
    (VIRTUAL, "CREATE VIRTUAL TABLE x USING rtree(a, b, c)"),
    (VIRTUAL, "CREATE VIRTUAL TABLE temp.x USING dbstat"),
    (VIRTUAL, "CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')"),
    (Rule("dbstat may not be read"), "SELECT * FROM dbstat"),
    (Sqlite("no such table: sqlite_dbpage"), "SELECT * FROM sqlite_dbpage"),
    (Sqlite("no such table: sqlite_stmt"), "SELECT * FROM sqlite_stmt"),
    (Sqlite("no such function: rtreecheck"), "SELECT rtreecheck('t')"),
    (Rule("PRAGMA writable_schema is not allowed to set"), "PRAGMA writable_schema = ON"),
    (Rule("PRAGMA journal_mode is not allowed to set"), "PRAGMA journal_mode = WAL"),
    (Rule("PRAGMA journal_mode is not allowed to set"), "PRAGMA journal_mode = OFF"),
    (Rule("PRAGMA temp_store is not allowed to set"), "PRAGMA temp_store = FILE"),
    (Rule("PRAGMA temp_store_directory is not allowed to set"), "PRAGMA temp_store_directory = '/tmp'"),
    (Rule("PRAGMA data_store_directory is not allowed to set"), "PRAGMA data_store_directory = '/tmp'"),
    (Rule("PRAGMA mmap_size is not allowed to set"), "PRAGMA mmap_size = 0"),
    (Rule("PRAGMA max_page_count is not allowed to set"), "PRAGMA max_page_count = 1000000000"),
    (Rule("PRAGMA hard_heap_limit is not allowed to set"), "PRAGMA hard_heap_limit = 0"),
    (Rule("PRAGMA soft_heap_limit is not allowed to set"), "PRAGMA soft_heap_limit = 1"),
    (Rule("PRAGMA cache_size is not allowed to set"), "PRAGMA cache_size = 1000000"),
    (Rule("PRAGMA cache_spill is not allowed to set"), "PRAGMA cache_spill = 0"),
    (Rule("PRAGMA locking_mode is not allowed to set"), "PRAGMA locking_mode = EXCLUSIVE"),
    (Rule("PRAGMA trusted_schema is not allowed to set"), "PRAGMA trusted_schema = ON"),
    (Rule("PRAGMA case_sensitive_like is not allowed to set"), "PRAGMA case_sensitive_like = ON"),
    (Rule("PRAGMA page_size is not allowed to set"), "PRAGMA page_size = 65536"),
    (Rule("PRAGMA threads is not allowed to set"), "PRAGMA threads = 8"),
    (Rule("PRAGMA schema_version is not allowed to set"), "PRAGMA schema_version = 9"),
    (Rule("PRAGMA encoding is not allowed to set"), "PRAGMA encoding = 'UTF-16'"),
    (Rule("PRAGMA recursive_triggers is not allowed to set"), "PRAGMA recursive_triggers = ON"),
    (Rule("PRAGMA auto_vacuum is not allowed to set"), "PRAGMA auto_vacuum = FULL"),
    (Rule("PRAGMA defer_foreign_keys is allowed within a transaction only"), "PRAGMA defer_foreign_keys = ON"),
    (Rule("PRAGMA shrink_memory is not allowed"), "PRAGMA shrink_memory"),
    (Rule("PRAGMA wal_checkpoint is not allowed"), "PRAGMA wal_checkpoint"),
    (Rule("PRAGMA lock_status is not allowed"), "PRAGMA lock_status"),
    (Rule("PRAGMA optimize is not allowed"), "PRAGMA optimize"),
    (Rule("PRAGMA incremental_vacuum is not allowed"), "PRAGMA incremental_vacuum"),
    (Rule("PRAGMA journal_mode is not allowed"), "SELECT * FROM pragma_journal_mode"),
    (Sqlite("unknown database 'delete'"), "SELECT * FROM pragma_journal_mode('delete')"),
    (Sqlite("too many arguments on pragma_foreign_keys() - max 0"), "SELECT * FROM pragma_foreign_keys(0)"),
    (Sqlite("no such table: pragma_wal_checkpoint"), "SELECT * FROM pragma_wal_checkpoint"),
    (Rule("PRAGMA foreign_keys cannot be explained"), "EXPLAIN PRAGMA foreign_keys = OFF"),
    (Rule("PRAGMA foreign_keys cannot be explained"), "explain/**/query plan PRAGMA main.foreign_keys(0)"),
    (Rule("PRAGMA user_version cannot be explained"), "EXPLAIN PRAGMA user_version = 9"),
    (Rule("PRAGMA application_id cannot be explained"), "EXPLAIN PRAGMA application_id = 9"),
    (Rule("PRAGMA writable_schema is not allowed to set"), "EXPLAIN PRAGMA writable_schema = ON"),
    (Rule("statistics may not be written by hand"), "INSERT INTO sqlite_stat1 VALUES ('t', NULL, '1')"),
    (Sqlite("no such function: readfile"), "CREATE INDEX i ON t(readfile(b))"),
    (EXTENSION, "CREATE INDEX i ON t(load_extension(b))"),
    (Sqlite("table sqlite_master may not be modified"), "UPDATE sqlite_schema SET sql = 'x'"),
    (Sqlite("table sqlite_master may not be modified"), "DELETE FROM sqlite_master"),
    (Sqlite("table sqlite_master may not be dropped"), "DROP TABLE sqlite_schema"),
    (Sqlite("object name reserved for internal use: sqlite_x"), "CREATE TABLE sqlite_x(a)"),
    (Sqlite("no such function: sqlite_rename_table"), "SELECT sqlite_rename_table('main','table','x','y','t','z',0)"),
    (Sqlite("the text holds a zero byte"), "SELECT '\0'"),
];

/// Objects that may be made, and are refused where they are used.
const REFUSED_WHEN_USED: &[(By, &str, &str, &str)] = &[
    (UNSAFE, "CREATE VIEW v AS SELECT load_extension('x')", "SELECT * FROM v", "DROP VIEW v"),
    (
        EXTENSION,
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT load_extension('x'); END",
        "INSERT INTO t VALUES (NULL, 1)",
        "DROP TRIGGER r",
    ),
    (UNSAFE, "CREATE TABLE d(a DEFAULT (load_extension('x')))", "INSERT INTO d DEFAULT VALUES", "DROP TABLE d"),
    (
        Sqlite("no such function: readfile"),
        "CREATE VIEW v AS SELECT readfile('/etc/passwd')",
        "SELECT * FROM v",
        "DROP VIEW v",
    ),
];

/// Everything that one of them could have changed: what there is, what it holds, and how it is kept.
const STATE: &str = "SELECT (SELECT group_concat(type || ' ' || name || ' ' || sql) FROM sqlite_schema), \
    (SELECT group_concat(name) FROM temp.sqlite_schema), (SELECT group_concat(a || b) FROM t), \
    (SELECT group_concat(name || file) FROM pragma_database_list), \
    (SELECT foreign_keys FROM pragma_foreign_keys), (SELECT defer_foreign_keys FROM pragma_defer_foreign_keys), \
    (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), \
    (SELECT recursive_triggers FROM pragma_recursive_triggers), (SELECT encoding FROM pragma_encoding), \
    (SELECT auto_vacuum FROM pragma_auto_vacuum), (SELECT page_size FROM pragma_page_size), 'A' LIKE 'a'";

fn worker() -> Worker {
    let mut worker = Worker::start();
    worker.template(
        "small",
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'); ANALYZE",
    );
    worker.open(1, "small", Access::Define);
    worker
}

fn state(worker: &mut Worker, seq: u64) -> StepResult {
    let mut ran = worker.run(1, seq, STATE);
    assert_eq!(ran.error, None);
    ran.results[0].vm_steps = 0;
    ran
}

#[test]
fn there_is_no_way_out() {
    let mut worker = worker();
    for (seq, (by, sql)) in (1..).step_by(3).zip(REFUSED) {
        let before = state(&mut worker, seq);
        by.check(&worker.fail(1, seq + 1, sql), sql);
        assert_eq!(state(&mut worker, seq + 2), before, "{sql} has left something");
    }
    assert!(!std::path::Path::new("/tmp/palestra-copy.db").exists());
}

#[test]
fn objects_that_lead_out_may_be_made_and_not_used() {
    let mut worker = worker();
    for (seq, (by, make, using, unmake)) in (1..).step_by(5).zip(REFUSED_WHEN_USED) {
        let before = state(&mut worker, seq);
        assert_eq!(worker.run(1, seq + 1, make).error, None, "{make}");
        by.check(&worker.fail(1, seq + 2, using), using);
        assert_eq!(worker.run(1, seq + 3, unmake).error, None, "{unmake}");
        assert_eq!(state(&mut worker, seq + 4), before, "{using} has left something");
    }
}

/// SQLite changes some settings while it compiles, so that the plan of such a statement must not be had either.
#[test]
fn no_setting_is_changed_by_asking_for_a_plan() {
    let mut worker = worker();
    worker.run(1, 1, "BEGIN");
    let before = state(&mut worker, 2);
    for (name, value) in
        [("foreign_keys", "OFF"), ("defer_foreign_keys", "ON"), ("user_version", "9"), ("application_id", "9")]
    {
        let sql = format!("PRAGMA {name} = {value}");
        let ask = Ask::Explain { session: 1, sql: sql.clone(), parameters: Vec::new() };
        let Answer::Explained(Err(error)) = worker.ask(ask) else { panic!("{sql} has a plan") };
        assert_eq!(error.message, format!("PRAGMA {name} cannot be explained where it sets something"));
        assert_eq!(error.cut, Some(CutReason::Refused));
    }
    assert_eq!(state(&mut worker, 3), before);
}

#[test]
fn settings_and_counters_are_not_pure_and_reads_are() {
    let mut worker = worker();
    for (seq, (sql, pure)) in (1..).zip([
        ("PRAGMA foreign_keys = OFF", false),
        ("PRAGMA foreign_keys(1)", false),
        ("PRAGMA user_version = 3", false),
        ("PRAGMA application_id = 3", false),
        ("PRAGMA foreign_keys", true),
        ("PRAGMA table_info(t)", true),
        ("SELECT * FROM pragma_user_version", true),
        ("EXPLAIN SELECT * FROM t", true),
        ("EXPLAIN QUERY PLAN SELECT * FROM t", true),
        ("EXPLAIN PRAGMA user_version", true),
        // `changes()` is 0 after it.
        ("EXPLAIN DELETE FROM t", false),
    ]) {
        let ran = worker.run(1, seq, sql);
        assert_eq!((ran.pure, ran.error), (pure, None), "{sql}");
    }
}

#[test]
fn dropped_tables_take_their_statistics_along() {
    let mut worker = worker();
    let made =
        "CREATE TABLE d(a, b); CREATE INDEX i ON d(a); CREATE INDEX j ON d(b); INSERT INTO d VALUES (1, 2); ANALYZE";
    assert_eq!(worker.run(1, 1, made).error, None);
    for (seq, (sql, left)) in (2..).step_by(2).zip([("DROP INDEX i", "d,t"), ("DROP TABLE d", "t")]) {
        assert_eq!(worker.run(1, seq, sql).error, None, "{sql}");
        let known = worker.value(1, seq + 1, "SELECT group_concat(DISTINCT tbl ORDER BY tbl) FROM sqlite_stat1");
        assert_eq!(known, Value::Text(left.to_owned()), "{sql}");
    }
    let error = worker.fail(1, 9, "DELETE FROM sqlite_stat1");
    assert_eq!(error.message, "statistics may not be written by hand; ANALYZE writes them");
}

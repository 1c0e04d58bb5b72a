//! Sessions as the server sees them: isolation, marks, copies, answers.

use palestra_sqlite_worker::wire::{Access, Answer, Ask, Content, CutReason, StepResult, Value};

use crate::worker::{LIMITS, Worker};

const SHOP: &str = "PRAGMA foreign_keys = OFF; BEGIN TRANSACTION;
    CREATE TABLE items(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, cents INTEGER CHECK (cents >= 0));
    CREATE TABLE sales(item INTEGER NOT NULL REFERENCES items(id), day DATE);
    INSERT INTO items(name, cents) VALUES ('pen', 120), ('ink', 900), ('paper', 450);
    INSERT INTO sales VALUES (1, '2025-01-01'), (2, '2025-01-02');
    COMMIT;";

fn shop(access: Access) -> Worker {
    let mut worker = Worker::start();
    worker.template("shop", SHOP);
    worker.open(1, "shop", access);
    worker
}

fn integer(number: i64) -> Value {
    Value::Integer(number)
}

#[test]
fn a_query_gives_names_types_rows_and_a_tag() {
    let mut worker = shop(Access::Read);
    let ran = worker.run(1, 1, "SELECT id, name, cents / 100.0 AS price FROM items ORDER BY id;");
    let result = &ran.results[0];
    assert_eq!(result.command, "SELECT 3");
    let columns = [("id", "INTEGER"), ("name", "TEXT"), ("price", "")];
    assert_eq!(result.columns, columns.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    assert_eq!(result.rows[0], [integer(1), Value::Text("pen".into()), Value::Real(1.2)]);
    assert!(ran.pure && result.vm_steps > 10 && !result.truncated && result.affected.is_none(), "{ran:?}");
}

#[test]
fn several_statements_run_up_to_the_first_that_fails() {
    let mut worker = shop(Access::Write);
    let ran =
        worker.run(1, 1, "UPDATE items SET cents = 1; DELETE FROM sales; INSERT INTO sales VALUES (9, NULL); SELECT 1");
    let tags: Vec<_> = ran.results.iter().map(|result| result.command.as_str()).collect();
    assert_eq!(tags, ["UPDATE 3", "DELETE 2"]);
    let error = ran.error.expect("a violation");
    assert_eq!((error.code.as_str(), error.statement), ("SQLITE_CONSTRAINT_FOREIGNKEY", 2));
    assert_eq!(error.message, "FOREIGN KEY constraint failed");
    assert_eq!(worker.value(1, 2, "SELECT count(*) FROM sales"), integer(0), "what succeeded stays");
}

#[test]
fn an_error_says_where_it_is() {
    let mut worker = shop(Access::Read);
    let error = worker.fail(1, 1, "SELECT 1; SELECT nme FROM items");
    assert_eq!((error.code.as_str(), error.statement, error.offset), ("SQLITE_ERROR", 1, Some(17)));
    assert_eq!(error.message, "no such column: nme");
    assert_eq!(worker.fail(1, 2, "SELEC 1").message, "near \"SELEC\": syntax error");
}

#[test]
fn parameters_are_bound_to_a_single_statement() {
    let mut worker = shop(Access::Read);
    let sql = "SELECT name FROM items WHERE cents > ? AND name <> :name";
    let ran = worker.run_with(1, 1, sql, vec![integer(200), Value::Text("ink".into())]);
    assert_eq!(ran.results[0].rows, [[Value::Text("paper".into())]]);
    assert!(
        worker.run_with(1, 2, sql, vec![integer(200)]).error.is_some_and(|error| error.message.contains("2 param"))
    );
    let two = worker.run_with(1, 3, "SELECT ?; SELECT 1", vec![integer(1)]);
    assert!(two.error.is_some_and(|error| error.message.contains("single statement")));
    assert_eq!(worker.run_with(1, 4, "SELECT ?; -- done", vec![integer(1)]).error, None);
}

#[test]
fn sessions_share_a_template_and_nothing_else() {
    let mut worker = shop(Access::Define);
    worker.open(2, "shop", Access::Define);
    worker.run(1, 1, "UPDATE items SET cents = 0; DROP TABLE sales; CREATE TABLE mine(a)");
    assert_eq!(worker.value(2, 1, "SELECT sum(cents) FROM items"), integer(1_470));
    assert_eq!(worker.value(2, 2, "SELECT count(*) FROM sales"), integer(2));
    assert_eq!(worker.fail(2, 3, "SELECT * FROM mine").message, "no such table: mine");
    worker.open(3, "shop", Access::Read);
    assert_eq!(worker.value(3, 1, "SELECT count(*) FROM sales"), integer(2));
}

#[test]
fn a_rewind_brings_back_data_and_what_the_connection_remembered() {
    let mut worker = shop(Access::Define);
    let memory = "SELECT changes() || ' ' || total_changes() || ' ' || last_insert_rowid() || ' ' || random()";
    worker.run(1, 1, "INSERT INTO items(name, cents) VALUES ('a', 1), ('b', 2)");
    let first = worker.value(1, 2, memory);
    worker.run(1, 3, "DELETE FROM sales; DELETE FROM items; INSERT INTO items(name) VALUES ('z'); DROP TABLE sales");
    assert!(worker.rewind(1, 1));
    assert_eq!(worker.value(1, 2, memory), first);
    assert_eq!(worker.value(1, 3, "SELECT count(*) FROM items"), integer(5));
    worker.run(1, 4, "INSERT INTO items(name) VALUES ('next')");
    assert_eq!(worker.value(1, 5, "SELECT last_insert_rowid()"), integer(6), "the sequence is back too");
    assert!(worker.rewind(1, 0));
    assert_eq!(worker.value(1, 6, "SELECT sum(cents) FROM items"), integer(1_470));
    assert!(!worker.rewind(1, 5), "later marks are gone");
}

#[test]
fn transactions_go_on_across_steps_and_are_no_marks() {
    let mut worker = shop(Access::Write);
    worker.run(1, 1, "BEGIN");
    worker.run(1, 2, "DELETE FROM sales");
    assert!(!worker.rewind(1, 1), "an open transaction belongs to its connection");
    assert_eq!(worker.value(1, 3, "SELECT count(*) FROM sales"), integer(0), "nothing has changed");
    assert_eq!(worker.run(1, 4, "ROLLBACK").results[0].command, "ROLLBACK");
    assert_eq!(worker.value(1, 5, "SELECT count(*) FROM sales"), integer(2));
    worker.run(1, 6, "CREATE TEMP TABLE t(a)");
    assert!(!worker.rewind(1, 6) && worker.rewind(1, 5));
    assert_eq!(worker.fail(1, 7, "SELECT * FROM t").message, "no such table: t");
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut worker = shop(Access::Write);
    worker.run(1, 1, "DELETE FROM sales WHERE item = 1");
    assert_eq!(worker.ask(Ask::Fork { session: 1, copy: 2 }), Answer::Rewound(true));
    worker.run(1, 2, "DELETE FROM sales");
    worker.run(2, 2, "INSERT INTO sales VALUES (3, NULL)");
    assert_eq!(worker.value(1, 3, "SELECT count(*) FROM sales"), integer(0));
    assert_eq!(worker.value(2, 3, "SELECT count(*) FROM sales"), integer(2));
    assert!(worker.rewind(2, 0), "the copy has the marks");
    assert_eq!(worker.value(2, 4, "SELECT count(*) FROM sales"), integer(2));
    worker.run(1, 4, "BEGIN");
    assert_eq!(worker.ask(Ask::Fork { session: 1, copy: 3 }), Answer::Rewound(false));
    assert!(matches!(worker.ask(Ask::Close { session: 3 }), Answer::Wrong(_)));
}

#[test]
fn statements_are_allowed_by_the_access() {
    let mut worker = shop(Access::Read);
    worker.open(2, "shop", Access::Write);
    worker.open(3, "shop", Access::Define);
    let mut seq = 0;
    for (sql, allowed) in [
        ("SELECT * FROM items", [true, true, true]),
        ("PRAGMA table_info(items)", [true, true, true]),
        ("SELECT name FROM pragma_table_info('items')", [true, true, true]),
        ("EXPLAIN SELECT 1", [true, true, true]),
        ("INSERT INTO sales VALUES (1, NULL)", [false, true, true]),
        ("WITH a AS (SELECT 1) DELETE FROM sales", [false, true, true]),
        ("BEGIN; COMMIT", [false, true, true]),
        ("CREATE TEMP TABLE x(a); INSERT INTO x VALUES (1); DROP TABLE x", [false, true, true]),
        ("CREATE TABLE x(a)", [false, false, true]),
        ("ALTER TABLE items ADD COLUMN note TEXT", [false, false, true]),
        ("CREATE INDEX i ON items(cents)", [false, false, true]),
        ("CREATE VIEW v AS SELECT random() AS r", [false, false, true]),
        ("ANALYZE", [false, false, true]),
        ("REINDEX", [false, false, true]),
        ("VACUUM", [false, false, true]),
        ("PRAGMA user_version = 3", [false, false, true]),
        ("PRAGMA foreign_keys = OFF", [false, false, true]),
    ] {
        for (session, allowed) in (1..=3).zip(allowed) {
            seq += 1;
            let ran = worker.run(session, seq, sql);
            match ran.error {
                None => assert!(allowed, "{sql} by {session}"),
                Some(error) => assert_eq!((error.cut, allowed), (Some(CutReason::Refused), false), "{sql}: {error:?}"),
            }
        }
    }
    assert_eq!(worker.fail(1, 900, "DELETE FROM sales").message, "rows may not be changed: this session may only read");
    assert_eq!(worker.run(3, 901, "SELECT * FROM v").error, None, "a view may draw random numbers");
}

#[test]
fn time_stands_where_the_server_says() {
    let mut worker = shop(Access::Read);
    let now = "SELECT datetime('now') || date('now', 'localtime') || strftime('%s')";
    assert_eq!(worker.value(1, 60, now), Value::Text("2026-01-01 00:01:002026-01-011767225660".into()));
}

#[test]
fn rows_and_bytes_are_bounded_and_changes_carried_through() {
    let mut worker = shop(Access::Write);
    let numbers = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 5000)";
    let ran = worker.run(1, 1, &format!("{numbers} SELECT a FROM n"));
    assert!(ran.results[0].truncated && ran.results[0].rows.len() == 1_000 && ran.error.is_none());
    let ran = worker.run(1, 2, &format!("{numbers} INSERT INTO sales SELECT 1, a FROM n RETURNING day"));
    assert_eq!((ran.results[0].affected, ran.results[0].rows.len()), (Some(5_000), 1_000));
    let ran = worker.run(1, 3, &format!("{numbers} SELECT zeroblob(300000) FROM n LIMIT 5; SELECT 1"));
    assert_eq!(ran.results[0].rows.len(), 3);
    assert!(ran.results[0].truncated && ran.error.is_none());
}

#[test]
fn a_plan_is_told_without_running_anything() {
    let mut worker = shop(Access::Write);
    let sql = "DELETE FROM items WHERE id = ?".to_owned();
    let Answer::Explained(Ok(rows)) = worker.ask(Ask::Explain { session: 1, sql, parameters: vec![integer(1)] }) else {
        panic!("no plan");
    };
    assert_eq!(rows[0].detail, "SEARCH items USING INTEGER PRIMARY KEY (rowid=?)");
    assert_eq!(worker.value(1, 1, "SELECT count(*) FROM items"), integer(3));
    worker.run(1, 2, "UPDATE sales SET day = NULL");
    let plan = || Ask::Explain { session: 1, sql: "DELETE FROM items".to_owned(), parameters: Vec::new() };
    assert!(matches!(worker.ask(plan()), Answer::Explained(Ok(_))));
    assert_eq!(worker.value(1, 3, "SELECT changes()"), integer(2), "it is no step, and leaves no trace");
    worker.ask(plan());
    worker.run(1, 4, "BEGIN; COMMIT");
    assert!(worker.rewind(1, 4));
    assert_eq!(worker.value(1, 5, "SELECT changes()"), integer(2));
    assert_eq!(worker.value(1, 6, "DELETE FROM sales WHERE item = 1; SELECT changes()"), integer(1));
    let wrong = worker.ask(Ask::Explain { session: 1, sql: "SELECT x".into(), parameters: Vec::new() });
    assert!(matches!(wrong, Answer::Explained(Err(error)) if error.offset == Some(7)));
}

#[test]
fn a_file_goes_out_and_comes_in_again() {
    let mut worker = shop(Access::Define);
    worker.run(1, 1, "DELETE FROM sales; BEGIN; DELETE FROM items WHERE id = 3");
    let Answer::File(bytes) = worker.ask(Ask::File { session: 1 }) else { panic!("no file") };
    let mut log = bytes.to_vec();
    log[18..20].fill(2);
    for (name, bytes) in [("plain", bytes.to_vec()), ("log", log)] {
        let content = Content::File(bytes.into());
        let made = worker.ask(Ask::Prepare { template: name.into(), content, limits: LIMITS });
        assert!(matches!(made, Answer::Prepared(Ok(_))), "{made:?}");
        let session = name.len() as u64 * 10;
        worker.open(session, name, Access::Write);
        let counts = "SELECT (SELECT count(*) FROM items) * 10 + (SELECT count(*) FROM sales)";
        assert_eq!(worker.value(session, 1, counts), integer(30), "without what is not committed");
        assert_eq!(worker.run(session, 2, "DELETE FROM items").error, None);
    }
}

#[test]
fn broken_content_makes_no_template() {
    let mut worker = Worker::start();
    for (content, says) in [
        (Content::Script("CREATE TABLE a(b); INSERT INTO c VALUES (1)".into()), "statement 2"),
        (Content::Script("BEGIN; CREATE TABLE a(b)".into()), "transaction open"),
        (Content::Script("ATTACH 'x' AS y".into()), "ATTACH"),
        (Content::File((*b"not a database").into()), "no database file"),
    ] {
        match worker.ask(Ask::Prepare { template: "t".into(), content, limits: LIMITS }) {
            Answer::Prepared(Err(error)) => assert!(error.contains(says), "{error}"),
            other => panic!("{other:?}"),
        }
    }
    let open = Ask::Open { session: 1, template: "t".into(), access: Access::Read, limits: LIMITS, seed: 0 };
    assert!(matches!(worker.ask(open), Answer::Wrong(_)));
    assert!(matches!(worker.ask(Ask::Rewind { session: 1, seq: 0 }), Answer::Wrong(_)));
}

#[test]
fn nothing_is_left_of_closed_sessions() {
    let mut worker = shop(Access::Define);
    let Answer::Usage(before) = worker.ask(Ask::Usage) else { panic!("no usage") };
    for session in 10..30 {
        worker.open(session, "shop", Access::Define);
        let ran: StepResult =
            worker.run(session, 1, "INSERT INTO sales SELECT 1, randomblob(2000) FROM items, items, items");
        assert_eq!(ran.error, None);
        worker.run(session, 2, "BEGIN; CREATE TEMP TABLE t AS SELECT * FROM sales");
    }
    let Answer::Usage(between) = worker.ask(Ask::Usage) else { panic!("no usage") };
    assert!(between.page_bytes > before.page_bytes + 20 * 54_000 && between.sessions == 21, "{between:?}");
    for session in 10..30 {
        assert_eq!(worker.ask(Ask::Close { session }), Answer::Done);
    }
    let Answer::Usage(after) = worker.ask(Ask::Usage) else { panic!("no usage") };
    assert_eq!((after.page_bytes, after.sessions), (before.page_bytes, 1));
    // SQLite passes pages of its cache on between connections, so that the one that is left may hold one more or less.
    assert!(after.heap_bytes.abs_diff(before.heap_bytes) < 10_000, "{after:?} after {before:?}");
}

#[test]
fn many_sessions_at_once_each_keep_their_order() {
    const SESSIONS: u64 = 200;
    const STEPS: u64 = 15;
    let mut worker = shop(Access::Write);
    let mut asked = Vec::new();
    for session in 100..100 + SESSIONS {
        let open = Ask::Open { session, template: "shop".into(), access: Access::Write, limits: LIMITS, seed: session };
        asked.push(worker.send(open));
    }
    // Nothing is read before everything is written.
    let mut sums = Vec::new();
    for seq in 1..=STEPS {
        for session in 100..100 + SESSIONS {
            let sql = format!(
                "INSERT INTO items(name, cents) VALUES ('{session} {seq}', {session}); SELECT sum(cents), max(id) FROM items"
            );
            sums.push((session, seq, worker.send(Ask::Run { session, seq, sql, parameters: Vec::new(), now_ms: 0 })));
        }
    }
    for id in asked {
        assert_eq!(worker.answer(id), Answer::Done);
    }
    for (session, seq, id) in sums {
        let Answer::Ran(ran) = worker.answer(id) else { panic!("no answer") };
        let expected = [session * seq + 1_470, 3 + seq].map(|number| integer(i64::try_from(number).expect("small")));
        assert_eq!(ran.results[1].rows, [expected], "session {session}, step {seq}");
    }
}

#[test]
fn requests_to_a_copy_wait_until_it_is_there() {
    let mut worker = shop(Access::Write);
    let slow = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 300000) SELECT count(*) FROM n; DELETE FROM sales";
    let run = |session, sql: &str| Ask::Run { session, seq: 1, sql: sql.into(), parameters: Vec::new(), now_ms: 0 };
    let first = worker.send(run(1, slow));
    let forked = worker.send(Ask::Fork { session: 1, copy: 2 });
    let counted = worker.send(run(2, "SELECT count(*) FROM sales"));
    let Answer::Ran(ran) = worker.answer(counted) else { panic!("no answer") };
    assert_eq!(ran.results[0].rows, [[integer(0)]]);
    assert_eq!(worker.answer(forked), Answer::Rewound(true));
    assert!(matches!(worker.answer(first), Answer::Ran(ran) if ran.error.is_none()));
}

#[test]
fn a_look_changes_nothing_and_sees_what_a_reader_may_not_ask() {
    let mut worker = shop(Access::Read);
    let look = |sql: &str| Ask::Look { session: 1, sql: sql.into(), bytes_max: 1 << 20 };
    let Answer::Ran(ran) =
        worker.ask(look("PRAGMA main.table_xinfo(\"items\"); SELECT count(*) FROM temp.sqlite_schema"))
    else {
        panic!("no answer")
    };
    assert!(ran.error.is_none() && ran.results.len() == 2);
    for sql in ["DELETE FROM items", "PRAGMA foreign_keys = OFF", "CREATE TABLE x(a)", "ATTACH ':memory:' AS x"] {
        let Answer::Ran(ran) = worker.ask(look(sql)) else { panic!("no answer") };
        assert!(ran.error.is_some(), "{sql}");
    }
    assert_eq!(worker.value(1, 1, "SELECT count(*) FROM items"), integer(3));
}

#[test]
fn instructions_tell_nothing_of_their_connection() {
    let mut worker = shop(Access::Define);
    worker.open(2, "shop", Access::Define);
    for session in [1, 2] {
        worker.run(session, 1, "VACUUM");
    }
    assert!(worker.rewind(1, 1), "its connection is another one");
    for (seq, sql) in (2..).zip(["EXPLAIN DELETE FROM items", "EXPLAIN SELECT * FROM pragma_table_info('items')"]) {
        let (one, two) = (worker.run(1, seq, sql), worker.run(2, seq, sql));
        assert_eq!(one, two, "{sql}");
        let words = format!("{one:?}");
        assert!(words.contains("Transaction") || words.contains("\"vtab\""), "{words}");
    }
}

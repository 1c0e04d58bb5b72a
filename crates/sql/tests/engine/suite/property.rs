//! Any steps, rewinds and forks equal a fresh run of the steps that survive: in what is seen, and in what is left.

use std::sync::Arc;

use palestra_sql::engine::{Database, Engine};
use palestra_sql::value::Dialect;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::guest::{Guest, dump};
use super::shop;
use crate::form::thorough;

/// Next operation.
#[derive(Debug, Clone)]
enum NextOperation {
    Step(String),
    /// Back to one of the surviving steps, or to the beginning.
    Rewind(Index),
    /// On in a copy; the origin does something else and goes.
    Fork,
}

/// Cases that are tried; `PROPTEST_CASES` asks for another number, and `PALESTRA_SUITES=all` for all of them on PostgreSQL.
const CASES: u32 = 48;
const POSTGRES_CASES: u32 = 16;

/// Among it what changes more than rows, and what looks as if it changed nothing.
const SQLITE_OWN: &[&str] = &[
    "SELECT changes(), total_changes(), last_insert_rowid()",
    "VACUUM",
    "INSERT OR REPLACE INTO items (id, name) VALUES (2, 'pear')",
    "CREATE TRIGGER counted AFTER INSERT ON items BEGIN INSERT INTO lines VALUES (NULL, new.id, 1); END",
    "SELECT name FROM sqlite_schema ORDER BY name",
    "BEGIN IMMEDIATE",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA foreign_keys = ON",
    "PRAGMA defer_foreign_keys = ON",
    "PRAGMA user_version = 3",
    "PRAGMA application_id = 4",
    "SELECT * FROM pragma_foreign_keys, pragma_defer_foreign_keys, pragma_user_version, pragma_application_id",
    "PRAGMA foreign_key_check",
    "PRAGMA table_info(items)",
    "PRAGMA database_list",
    "EXPLAIN PRAGMA foreign_keys = OFF",
    "EXPLAIN QUERY PLAN PRAGMA defer_foreign_keys = ON",
    "EXPLAIN PRAGMA user_version = 5",
    "EXPLAIN QUERY PLAN SELECT * FROM items WHERE id = 1",
    "EXPLAIN DELETE FROM items",
    "EXPLAIN QUERY PLAN UPDATE items SET price = 1",
    "EXPLAIN CREATE TEMP TABLE s1 (a integer)",
    "EXPLAIN ROLLBACK",
    "CREATE TEMP TABLE s2 (a integer PRIMARY KEY AUTOINCREMENT, b)",
    "INSERT INTO s2 (b) SELECT name FROM items; DELETE FROM s2 WHERE a > 1",
    "CREATE TABLE w3 (a integer PRIMARY KEY AUTOINCREMENT, b)",
    "INSERT INTO w3 (b) VALUES ('x'), ('y'), ('z'); DELETE FROM w3 WHERE a > 2",
    "SELECT * FROM sqlite_sequence ORDER BY name",
    "UPDATE sqlite_sequence SET seq = 40",
    "DELETE FROM items; DELETE FROM sqlite_sequence",
    "CREATE TEMP VIEW s3 AS SELECT count(*) AS n FROM items",
    "REINDEX",
];

const SQLITE_MEMORY: &str = "SELECT changes(), total_changes(), last_insert_rowid(), *
    FROM pragma_foreign_keys, pragma_defer_foreign_keys, pragma_user_version, pragma_application_id";

fn statement(dialect: Dialect) -> impl Strategy<Value = String> {
    let small = 0..6_i64;
    let read = prop_oneof![
        Just("SELECT id, name, price FROM items ORDER BY id".to_owned()),
        Just("SELECT count(*), sum(amount) FROM lines".to_owned()),
        Just("SELECT random(), CURRENT_TIMESTAMP".to_owned()),
        Just("SELECT * FROM w1 ORDER BY a".to_owned()),
        Just("SELECT colour FROM items ORDER BY id".to_owned()),
        Just("SELECT * FROM nowhere".to_owned()),
        Just("SELEC 1".to_owned()),
        Just("SELECT 1 / 0".to_owned()),
    ];
    let write = prop_oneof![
        small.clone().prop_map(|n| format!("INSERT INTO items (name, price) VALUES ('name {n}', {n})")),
        small.clone().prop_map(|n| format!(
            "INSERT INTO items (name, price) SELECT 'of ' || id, {n} FROM items WHERE id <= {n} RETURNING id"
        )),
        small.clone().prop_map(|n| format!("INSERT INTO items (id, name) VALUES ({n}, 'given {n}')")),
        (small.clone(), small.clone())
            .prop_map(|(n, m)| format!("INSERT INTO lines (id, item_id, amount) VALUES ({n}, {m}, {m})")),
        (small.clone(), small.clone())
            .prop_map(|(n, m)| format!("UPDATE items SET price = price + {n} WHERE id % 3 = {m}")),
        small.clone().prop_map(|n| format!("UPDATE items SET price = price - {n}0")),
        small.clone().prop_map(|n| format!(
            "UPDATE items SET price = abs(CAST(random() * 1000 AS integer) % 100) WHERE id = {n}"
        )),
        small.clone().prop_map(|n| format!("DELETE FROM items WHERE id = {n}")),
        small.clone().prop_map(|n| format!("DELETE FROM lines WHERE id > {n}")),
        small.prop_map(|n| format!("INSERT INTO w1 VALUES ({n})")),
    ];
    let define = prop_oneof![
        Just("CREATE TABLE w1 (a integer)".to_owned()),
        Just("CREATE TABLE w2 AS SELECT id, name FROM items".to_owned()),
        Just("DROP TABLE w1".to_owned()),
        Just("DROP TABLE w2".to_owned()),
        Just("ALTER TABLE items ADD COLUMN colour text DEFAULT 'red'".to_owned()),
        Just("ALTER TABLE w1 RENAME TO w2".to_owned()),
        Just("CREATE INDEX items_price ON items (price)".to_owned()),
        Just("DROP INDEX items_price".to_owned()),
        Just("CREATE UNIQUE INDEX w1_a ON w1 (a)".to_owned()),
        Just("CREATE VIEW cheap AS SELECT name FROM items WHERE price < 25".to_owned()),
        Just("CREATE TEMP TABLE s1 (a integer)".to_owned()),
        Just("INSERT INTO s1 VALUES (1)".to_owned()),
    ];
    let control = prop_oneof![
        2 => Just("BEGIN".to_owned()),
        2 => Just("COMMIT".to_owned()),
        2 => Just("ROLLBACK".to_owned()),
        1 => (0..2).prop_map(|n| format!("SAVEPOINT p{n}")),
        1 => (0..2).prop_map(|n| format!("RELEASE SAVEPOINT p{n}")),
        1 => (0..2).prop_map(|n| format!("ROLLBACK TO SAVEPOINT p{n}")),
    ];
    let own = match dialect {
        Dialect::Sqlite => SQLITE_OWN,
        Dialect::Postgres => &[
            "SELECT now(), clock_timestamp()",
            "VACUUM",
            "INSERT INTO items (id, name) VALUES (2, 'pear') ON CONFLICT (id) DO UPDATE SET price = 1",
            "TRUNCATE lines",
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname",
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "SELECT nextval('items_id_seq')",
            "SELECT currval('items_id_seq')",
            "SELECT lastval()",
            "SELECT setval('items_id_seq', 20)",
            "SELECT setval('items_id_seq', 20, false)",
            "CREATE TEMP SEQUENCE t1",
            "CREATE SEQUENCE t1 CACHE 5",
            "SELECT nextval('t1')",
            "DROP SEQUENCE t1",
            "CREATE TEMP TABLE s2 (a serial, b integer)",
            "WITH new AS (INSERT INTO s2 (b) VALUES (1) RETURNING a) SELECT a FROM new",
            "CREATE TEMP VIEW s3 AS SELECT nextval('t1') AS a",
            "SELECT a FROM s3",
            "SELECT 1 AS a INTO TEMP s4",
            "SET timezone = 'Asia/Tokyo'",
            "SET LOCAL datestyle = 'SQL, DMY'",
            "RESET timezone",
            "SHOW timezone",
            "SELECT 'now'::timestamptz, current_user, 'today'::date",
            "EXPLAIN (ANALYZE) DELETE FROM lines",
            "EXPLAIN (COSTS OFF) DELETE FROM lines",
            "ALTER TABLE lines DROP CONSTRAINT lines_item_id_fkey",
        ][..],
    };
    let own = (0..own.len()).prop_map(move |at| own[at].to_owned());
    // Each has more of its own that must be met in a row.
    prop_oneof![3 => read, 6 => write, 3 => define, 4 => control, 6 => own]
}

fn deed(dialect: Dialect) -> impl Strategy<Value = NextOperation> {
    let step = proptest::collection::vec(statement(dialect), 1..4)
        .prop_map(|statements| NextOperation::Step(statements.join("; ")));
    let alone = statement(dialect).prop_map(NextOperation::Step);
    let rewind = proptest::prelude::any::<Index>().prop_map(NextOperation::Rewind);
    prop_oneof![8 => alone, 3 => step, 3 => rewind, 1 => Just(NextOperation::Fork)]
}

async fn act(engine: Arc<dyn Engine>, deeds: Vec<NextOperation>) {
    let mut guest = Guest::new(&engine, &shop(engine.dialect())).await;
    for deed in deeds {
        match deed {
            NextOperation::Step(sql) => {
                guest.step(&sql).await;
            }
            NextOperation::Rewind(index) => guest.rewind(index.index(guest.log.len() + 1)).await,
            NextOperation::Fork => {
                let mut origin = guest.move_to_fork().await;
                origin.step("DELETE FROM lines; INSERT INTO items (name) VALUES ('elsewhere')").await;
            }
        }
    }
    let last = 1_000;
    let mut stands = state(&mut guest.database, engine.dialect(), last).await;
    stands.extend(state_after_rollback(&mut guest.database, engine.dialect(), last).await);
    for (mut other, words) in
        [(guest.replay().await, "in a fresh run"), (guest.replay_changes().await, "in a fresh run of what is not pure")]
    {
        let mut state = state(&mut other, engine.dialect(), last).await;
        state.extend(state_after_rollback(&mut other, engine.dialect(), last).await);
        assert_eq!(stands, state, "as it stands and {words}, after {:#?}", guest.log);
    }
}

/// State of the connection and everything in the database.
async fn state(database: &mut Box<dyn Database>, dialect: Dialect, seq: u64) -> Vec<String> {
    let mut all = Vec::new();
    if dialect == Dialect::Sqlite {
        all.push(format!("{:?}", super::run(database, seq, SQLITE_MEMORY).await));
    }
    all.extend(dump(database, seq).await);
    all
}

/// The same without a transaction that was open.
async fn state_after_rollback(database: &mut Box<dyn Database>, dialect: Dialect, seq: u64) -> Vec<String> {
    super::run(database, seq + 1, "ROLLBACK").await;
    state(database, dialect, seq + 2).await
}

/// Tries it; `make` is asked once.
pub(crate) fn steps_and_rewinds_equal_a_fresh_run_of_the_surviving_steps<F, E>(make: F)
where
    F: Fn() -> E,
    E: Future<Output = Option<Arc<dyn Engine>>>,
{
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let Some(engine) = runtime.block_on(make()) else { return };
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(if thorough(engine.dialect()) { CASES } else { POSTGRES_CASES });
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let deeds = proptest::collection::vec(deed(engine.dialect()), 1..24);
    let mut runner = TestRunner::new(config);
    let result = runner.run(&deeds, |deeds| {
        runtime.block_on(act(Arc::clone(&engine), deeds));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

//! Whatever was run, rewound and copied: a session stands where a fresh one would after the steps that survive.

use std::sync::Arc;

use palestra_sqlite_worker::guard::Asking;
use palestra_sqlite_worker::pages::Table;
use palestra_sqlite_worker::raw;
use palestra_sqlite_worker::run::Step;
use palestra_sqlite_worker::session::{Session, Settings};
use palestra_sqlite_worker::template;
use palestra_sqlite_worker::wire::{Access, Content, StepResult};
use proptest::prelude::*;

use crate::worker::LIMITS;

const TEMPLATE: &str = "CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER UNIQUE, s TEXT);
    CREATE TABLE b(a INTEGER REFERENCES a(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, r);
    CREATE TABLE log(what, changed, total, last);
    CREATE TRIGGER t AFTER UPDATE ON a BEGIN
        INSERT INTO b VALUES (new.id, random());
        INSERT INTO log VALUES ('update', changes(), total_changes(), last_insert_rowid());
    END;
    INSERT INTO a(n, s) VALUES (1, 'x'), (2, 'y'), (3, hex(zeroblob(30)));";

/// Statements of which each does something that a rewind must undo, or remembers something that it must bring back.
const SQL: [&str; 34] = [
    "INSERT INTO a(n, s) VALUES (abs(random() % 50), 'new')",
    "INSERT INTO a(n) VALUES (1), (2)",
    "INSERT OR REPLACE INTO a(n, s) VALUES (2, 'again')",
    "UPDATE a SET s = s || 'z' WHERE n < 10",
    "UPDATE a SET n = n + 1",
    "DELETE FROM a WHERE id % 2 = 0",
    "DELETE FROM b",
    "INSERT INTO b VALUES (99, 1)",
    "INSERT INTO b SELECT id, randomblob(9) FROM a RETURNING *",
    "INSERT INTO log SELECT 'seen', changes(), total_changes(), last_insert_rowid()",
    "SELECT changes(), total_changes(), last_insert_rowid(), random()",
    "SELECT * FROM a ORDER BY id",
    "SELECT count(*), sum(n) FROM a; SELECT datetime('now')",
    "SELECT * FROM missing",
    "BEGIN",
    "BEGIN IMMEDIATE; INSERT INTO a(n) VALUES (77)",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT p",
    "ROLLBACK TO p",
    "RELEASE p",
    "CREATE TABLE IF NOT EXISTS c AS SELECT * FROM a",
    "DROP TABLE IF EXISTS c",
    "INSERT INTO c SELECT * FROM c",
    "CREATE INDEX IF NOT EXISTS i ON a(s)",
    "DROP INDEX i",
    "ALTER TABLE a ADD COLUMN extra DEFAULT 5",
    "CREATE TEMP TABLE IF NOT EXISTS tmp AS SELECT random() AS r",
    "SELECT * FROM tmp",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA foreign_keys = ON",
    "VACUUM",
    "ANALYZE; SELECT * FROM sqlite_stat1",
    "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT 300) INSERT INTO a(n, s) SELECT i, i FROM n",
];

const END: &str =
    "SELECT * FROM a; SELECT * FROM b; SELECT * FROM log; SELECT * FROM sqlite_schema; SELECT * FROM sqlite_sequence;
    SELECT changes(), total_changes(), last_insert_rowid(), random(); PRAGMA foreign_keys; PRAGMA page_count;
    PRAGMA freelist_count; INSERT INTO a(n) VALUES (NULL) RETURNING *";

#[derive(Debug, Clone)]
enum Act {
    Run(usize),
    Rewind(usize),
    Fork,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..SQL.len()).prop_map(Act::Run),
        2 => any::<usize>().prop_map(Act::Rewind),
        1 => Just(Act::Fork),
    ];
    proptest::collection::vec(act, 1..40)
}

struct Played {
    table: Table,
    session: Session,
    surviving: Vec<(u64, &'static str, StepResult)>,
}

impl Played {
    fn new(table: &Table) -> Self {
        Self { table: table.clone(), session: fresh(table), surviving: Vec::new() }
    }

    fn run(&mut self, seq: u64, sql: &'static str) {
        let ran = step(&mut self.session, seq, sql);
        self.surviving.push((seq, sql, ran));
    }

    fn rewind(&mut self, to: usize) {
        let keep = to % (self.surviving.len() + 1);
        let seq = keep.checked_sub(1).map_or(0, |last| self.surviving[last].0);
        self.surviving.truncate(keep);
        if !self.session.rewind(seq) {
            self.session = self.again();
        }
    }

    /// A fresh session after the surviving steps, each of which gives what it gave.
    fn again(&self) -> Session {
        let mut session = fresh(&self.table);
        for (seq, sql, ran) in &self.surviving {
            assert_eq!(&step(&mut session, *seq, sql), ran, "step {seq}: {sql}");
        }
        session
    }
}

fn fresh(table: &Table) -> Session {
    let asking = Asking::Session(Access::Define);
    let settings = Settings { asking, limits: LIMITS, seed: 5, size_max: table.len() + LIMITS.growth_max };
    Session::open(table, settings, Arc::default()).expect("a session")
}

fn step(session: &mut Session, seq: u64, sql: &str) -> StepResult {
    let now_ms = 1_700_000_000_000 + i64::try_from(seq).expect("small") * 1_000;
    session.run(Step { seq, sql, parameters: &[], now_ms, may_change: true })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_rewind_is_a_fresh_run_of_what_survives(acts in acts()) {
        raw::initialise();
        let table = template::make(&Content::Script(TEMPLATE.into()), LIMITS).expect("a template");
        let mut played = vec![Played::new(&table)];
        let mut seq = 0;
        for act in acts {
            seq += 1;
            let last = played.last_mut().expect("one at least");
            match act {
                Act::Run(sql) => last.run(seq, SQL[sql]),
                Act::Rewind(to) => last.rewind(to),
                Act::Fork => {
                    if let Some(session) = last.session.fork(Arc::default()) {
                        let copy = Played { table: table.clone(), session, surviving: last.surviving.clone() };
                        played.push(copy);
                    }
                }
            }
        }
        for mut one in played {
            let mut again = one.again();
            let (there, fresh) = (step(&mut one.session, 1_000, END), step(&mut again, 1_000, END));
            for (there, fresh) in there.results.iter().zip(&fresh.results) {
                prop_assert_eq!(there, fresh);
            }
            prop_assert_eq!(there.error, fresh.error);
        }
    }
}

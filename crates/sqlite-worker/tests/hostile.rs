//! Statements that try to get out, to take everything, or never to end. Each is refused or cut off, and what stands beside it goes on.

use std::time::{Duration, Instant};

use palestra_sqlite_worker::wire::{Access, Answer, Ask, Content, CutReason, Limits, Value};

use crate::worker::{LIMITS, Worker};

const NUMBERS: &str = "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
    INSERT INTO t SELECT value, 'row ' || value FROM (
        WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 1000) SELECT value FROM n);";

const FAST: Limits = Limits { statement_ms: 300, ..LIMITS };

fn worker() -> Worker {
    let mut worker = Worker::start();
    worker.template("numbers", NUMBERS);
    for session in [1, 2] {
        let (template, access) = ("numbers".to_owned(), Access::Define);
        assert_eq!(worker.ask(Ask::Open { session, template, access, limits: FAST, seed: 1 }), Answer::Done);
    }
    worker
}

#[test]
fn statements_that_take_too_much_are_cut_off() {
    let mut worker = worker();
    let endless = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n)";
    for (seq, (sql, cuts)) in [
        (format!("{endless} SELECT count(*) FROM n"), &[CutReason::Time][..]),
        (format!("{endless} SELECT a FROM n ORDER BY a"), &[CutReason::Time, CutReason::Memory]),
        (format!("{endless} SELECT group_concat(a) FROM n"), &[CutReason::Time, CutReason::Size]),
        ("SELECT count(*) FROM t, t, t, t, t, t".to_owned().replace("t, t", "t x1, t x2"), &[]),
        (
            "SELECT count(*) FROM t a, t b, t c, t d, t e WHERE a.a + b.a = c.a * d.a - e.a".to_owned(),
            &[CutReason::Time],
        ),
        (
            "SELECT DISTINCT a.b || b.b || c.b FROM t a, t b, t c ORDER BY 1 DESC".to_owned(),
            &[CutReason::Time, CutReason::Memory],
        ),
        ("SELECT zeroblob(1000000000)".to_owned(), &[CutReason::Size]),
        ("SELECT randomblob(1000000000)".to_owned(), &[CutReason::Size]),
        ("SELECT hex(zeroblob(900000))".to_owned(), &[CutReason::Size]),
        ("SELECT replace(hex(zeroblob(400000)), '0', 'long')".to_owned(), &[CutReason::Size]),
        (format!("SELECT {}1", "hex(zeroblob(400000)) || ".repeat(8)), &[CutReason::Size]),
        (
            format!("{endless} INSERT INTO t SELECT NULL, hex(zeroblob(1000)) FROM n"),
            &[CutReason::Growth, CutReason::Time],
        ),
        (
            format!("CREATE TABLE big AS {endless} SELECT hex(randomblob(40000)) FROM n"),
            &[CutReason::Growth, CutReason::Time],
        ),
        (
            format!("CREATE TEMP TABLE big AS {endless} SELECT hex(randomblob(40000)) FROM n"),
            &[CutReason::Memory, CutReason::Time],
        ),
        (format!("{endless} SELECT max(json_group_array(a)) OVER () FROM n"), &[]),
        (
            format!("{endless} SELECT json_group_array(hex(zeroblob(1000))) FROM n"),
            &[CutReason::Size, CutReason::Memory, CutReason::Time],
        ),
        (format!("{endless} SELECT sum(a) OVER (ORDER BY a DESC) FROM n"), &[CutReason::Memory, CutReason::Time]),
        (format!("SELECT {}", vec!["b LIKE '%x'"; 100].join(" + ") + " FROM t"), &[CutReason::Refused]),
        ("SELECT 1;".repeat(10_001), &[CutReason::Size]),
    ]
    .into_iter()
    .enumerate()
    {
        let begun = worker.cpu();
        let error = worker.fail(1, seq as u64, &sql);
        assert!(cuts.is_empty() || error.cut.is_some_and(|cut| cuts.contains(&cut)), "{sql:.80}: {error:?}");
        let took = worker.cpu().saturating_sub(begun);
        assert!(took < Duration::from_secs(10), "{sql:.80} took {took:?}");
        let count = worker.value(1, 1_000 + seq as u64, "SELECT count(*) FROM t");
        assert_eq!(count, Value::Integer(1_000), "{sql:.80}");
        assert_eq!(worker.value(2, seq as u64, "SELECT count(*) FROM t"), Value::Integer(1_000));
    }
}

#[test]
fn too_deep_or_too_wide_statements_are_errors() {
    let mut worker = worker();
    let views: String =
        (1..=40).map(|level| format!("CREATE VIEW v{level} AS SELECT a.* FROM v{0} a, v{0} b;", level - 1)).collect();
    let setup = worker.run(1, 1, &format!("CREATE VIEW v0 AS SELECT a FROM t; {views}"));
    assert_eq!(setup.error, None);
    for (seq, sql) in [
        "SELECT * FROM v40".to_owned(),
        format!("SELECT {}1", "-".repeat(5_000).replace('-', "- ")),
        format!("SELECT {}", vec!["1"; 3_000].join(", ")),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(1_000)),
        format!("SELECT {}", vec!["1"; 5_000].join(" + ")),
        format!("SELECT * FROM {}", (0..70).map(|n| format!("t t{n}")).collect::<Vec<_>>().join(", ")),
        format!("SELECT 'x' LIKE '{}'", "%a".repeat(1_000)),
        format!("SELECT 'x' GLOB '{}'", "*a".repeat(1_000)),
        format!("SELECT json('{}')", "[".repeat(100_000)),
        format!("SELECT {}1{}", "(SELECT ".repeat(500), ")".repeat(500)),
        format!("SELECT {}", vec!["?"; 40_000].join(",")),
        "SELECT ?999999".to_owned(),
        format!("SELECT {}1{} FROM t", "abs(".repeat(2_000), ")".repeat(2_000)),
        format!("CREATE TABLE w({})", (0..3_000).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",")),
        format!("SELECT * FROM t WHERE {}", vec!["(a = 1 AND b = 'x')"; 20_000].join(" OR ")),
    ]
    .into_iter()
    .enumerate()
    {
        let begun = worker.cpu();
        worker.fail(1, 10 + seq as u64, &sql);
        let took = worker.cpu().saturating_sub(begun);
        assert!(took < Duration::from_secs(10), "{sql:.80} took {took:?}");
        assert_eq!(worker.value(1, 100 + seq as u64, "SELECT count(*) FROM t"), Value::Integer(1_000), "{sql:.80}");
    }
}

/// Nothing ends a single call of a function, so that none may take long.
#[test]
fn no_single_call_takes_long() {
    let mut worker = worker();
    let long = "hex(zeroblob(500000))";
    for (seq, sql) in [
        format!("SELECT instr({long}, substr({long}, 1, 500000) || '1')"),
        format!("SELECT length(replace({long}, substr({long}, 1, 500000) || '1', 'x'))"),
        format!("SELECT length(trim({long}, replace({long}, '0', 'é')))"),
        format!("SELECT length(rtrim({long}, 'abcdef' || {long}))"),
        format!("SELECT {long} LIKE '%{}1'", "0".repeat(95)),
        format!("SELECT {long} GLOB '*{}1'", "0".repeat(95)),
        format!("SELECT {long} LIKE '{}1'", "%0".repeat(48)),
        format!("SELECT {long} GLOB '{}1'", "*0".repeat(48)),
        format!("SELECT {long} LIKE '{}1'", "%_0".repeat(32)),
        format!("SELECT {long} GLOB '*{}1'", "[0-9a-f]".repeat(12)),
        format!("SELECT length(upper({long}) || '')"),
        format!("SELECT unhex(replace({long}, '0', 'z'), replace({long}, '0', 'y') || 'z')"),
        format!("SELECT 1 {}", format!("+ instr({long}, '1')").repeat(900)),
        format!("SELECT 1 {}", format!("+ length(upper({long}))").repeat(900)),
        format!("SELECT json_patch({long}, {long})"),
        String::from("SELECT length(printf('%.900000f', 1e300)), length(printf('%900000.900000d', 7))"),
        format!("SELECT strftime(replace({long}, '0', '%J'))"),
        format!("SELECT soundex({long}), quote({long}), unistr({long}), substr({long}, -5), {long} < {long} || 'a'"),
        format!("SELECT json_set(j {}) FROM (SELECT '{{\"a\":1' || replace(hex(zeroblob(60000)), '00', ',\"k\":1') || '}}' AS j)",
            (0..60).map(|n| format!(", '$.n{n}', 1")).collect::<String>()),
        format!("SELECT count(*) FROM {} WHERE {}",
            (0..60).map(|n| format!("t t{n}")).collect::<Vec<_>>().join(", "),
            (1..60).map(|n| format!("t{n}.a = t{}.a", n - 1)).collect::<Vec<_>>().join(" AND ")),
        format!("SELECT count(*) FROM {} WHERE {}",
            (0..60).map(|n| format!("t t{n}")).collect::<Vec<_>>().join(", "),
            (1..60).map(|n| format!("(t{n}.a = t{}.a OR t{n}.a = t0.a OR t{n}.b = t0.b)", n - 1)).collect::<Vec<_>>().join(" AND ")),
        format!("CREATE TABLE w({}); SELECT 1 FROM w{}",
            (0..1_990).map(|n| format!("c{n}")).collect::<Vec<_>>().join(","),
            (0..60).map(|n| format!(" NATURAL JOIN w w{n}")).collect::<String>()),
        format!("CREATE VIEW v0 AS SELECT a FROM t; {} ALTER TABLE t RENAME COLUMN b TO c",
            (1..40).map(|level| format!("CREATE VIEW v{level} AS SELECT a.* FROM v{0} a, v{0} b;", level - 1)).collect::<String>()),
        format!("SELECT count(*) FROM json_each('[' || replace({long}, '00', '0,') || '0]')"),
    ]
    .into_iter()
    .enumerate()
    {
        let begun = worker.cpu();
        let ran = worker.run(1, seq as u64, &sql);
        let took = worker.cpu().saturating_sub(begun);
        assert!(took < Duration::from_secs(5), "{sql:.200} took {took:?}: {:?}", ran.error);
    }
}

#[test]
fn an_interruption_ends_what_runs_and_nothing_else() {
    let mut worker = worker();
    let limits = Limits { statement_ms: 60_000, ..LIMITS };
    let open = Ask::Open { session: 3, template: "numbers".into(), access: Access::Write, limits, seed: 1 };
    assert_eq!(worker.ask(open), Answer::Done);
    let sql = "DELETE FROM t WHERE a < 10; WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT count(*) FROM n";
    let running = worker.send(Ask::Run { session: 3, seq: 1, sql: sql.into(), parameters: Vec::new(), now_ms: 0 });
    let ended = loop {
        // It may not have begun: what does not run is not interrupted.
        assert_eq!(worker.ask(Ask::Interrupt { session: 3 }), Answer::Done);
        if let Some(answer) = worker.answer_within(running, Duration::from_millis(50)) {
            break answer;
        }
    };
    let Answer::Ran(ran) = ended else { panic!("{ended:?}") };
    let error = ran.error.expect("interrupted");
    assert_eq!((error.cut, error.statement), (Some(CutReason::Time), 1));
    assert_eq!(worker.value(3, 2, "SELECT count(*) FROM t"), Value::Integer(991));
    assert!(worker.rewind(3, 0));
}

#[test]
fn neighbours_keep_their_latency() {
    let mut worker = worker();
    let limits = Limits { statement_ms: 3_000, ..LIMITS };
    let endless = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT count(*) FROM n";
    let mut running = Vec::new();
    for session in 10..30 {
        let open = Ask::Open { session, template: "numbers".into(), access: Access::Read, limits, seed: 1 };
        assert_eq!(worker.ask(open), Answer::Done);
        let sql = endless.to_owned();
        running.push(worker.send(Ask::Run { session, seq: 1, sql, parameters: Vec::new(), now_ms: 0 }));
    }
    let mut times: Vec<_> = (0..100)
        .map(|seq| {
            let begun = Instant::now();
            assert_eq!(worker.value(1, seq, "SELECT count(*) FROM t"), Value::Integer(1_000));
            begun.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[50] < Duration::from_millis(200), "{times:?}");
    for session in 10..30 {
        assert_eq!(worker.ask(Ask::Close { session }), Answer::Done, "closing interrupts");
    }
    for id in running {
        assert!(matches!(worker.answer(id), Answer::Ran(ran) if ran.error.is_some()));
    }
}

#[test]
fn a_closed_session_runs_nothing_that_still_waits() {
    let mut worker = worker();
    let endless = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT count(*) FROM n";
    let limits = Limits { statement_ms: 60_000, ..LIMITS };
    let open = Ask::Open { session: 3, template: "numbers".into(), access: Access::Read, limits, seed: 1 };
    assert_eq!(worker.ask(open), Answer::Done);
    let run = |seq| Ask::Run { session: 3, seq, sql: endless.to_owned(), parameters: Vec::new(), now_ms: 0 };
    let waiting: Vec<_> = (1..20).map(|seq| worker.send(run(seq))).collect();
    assert_eq!(worker.ask(Ask::Close { session: 3 }), Answer::Done);
    for id in waiting {
        let answer = worker.answer(id);
        assert!(matches!(&answer, Answer::Ran(ran) if ran.error.is_some()) || matches!(answer, Answer::Wrong(_)));
    }
}

/// A session that rewrites its data again and again keeps old pages for its marks, up to a point.
#[test]
fn marks_do_not_pile_up() {
    let mut worker = worker();
    worker.run(1, 1, "CREATE TABLE big AS SELECT a, randomblob(4000) AS b FROM t");
    for seq in 2..40 {
        assert_eq!(worker.run(1, seq, "UPDATE big SET b = randomblob(4000)").error, None);
    }
    let Answer::Usage(usage) = worker.ask(Ask::Usage) else { panic!("no usage") };
    assert!(usage.page_bytes < 4 * LIMITS.growth_max, "{usage:?}");
    assert!(!worker.rewind(1, 5), "an old mark is given up");
    assert_eq!(worker.value(1, 40, "SELECT count(*) FROM big"), Value::Integer(1_000));
    assert!(worker.rewind(1, 38) && worker.rewind(1, 0), "late ones and the beginning stay");
    assert_eq!(worker.fail(1, 41, "SELECT * FROM big").message, "no such table: big");
}

#[test]
fn damaged_files_do_no_harm() {
    let mut worker = worker();
    worker.run(
        1,
        1,
        "CREATE INDEX i ON t(b); CREATE TABLE u(x, y, z BLOB); INSERT INTO u SELECT a, b, zeroblob(a * 10) FROM t WHERE a <= 200",
    );
    let Answer::File(bytes) = worker.ask(Ask::File { session: 1 }) else { panic!("no file") };
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    let mut opened = 0;
    for round in 0..150_u64 {
        let mut broken = bytes.to_vec();
        for _ in 0..1 + next(12) {
            // Half of the damage is where the structure is.
            let at = if next(2) == 0 { next(broken.len() / 4096) * 4096 + next(128) } else { next(broken.len()) };
            let at = at.min(broken.len() - 1);
            broken[at] = u8::try_from(next(256)).expect("a byte");
        }
        if next(5) == 0 {
            broken.truncate(next(broken.len()));
        }
        let (template, content) = (format!("broken {round}"), Content::File(broken.into()));
        let answer = worker.ask(Ask::Prepare { template: template.clone(), content, limits: FAST });
        let Answer::Prepared(made) = answer else { panic!("{answer:?}") };
        if made.is_err() {
            continue;
        }
        opened += 1;
        let session = 1_000 + round;
        let open = Ask::Open { session, template, access: Access::Define, limits: FAST, seed: 1 };
        if worker.ask(open) == Answer::Done {
            for (seq, sql) in [
                "SELECT * FROM u, t WHERE x = a ORDER BY b",
                "UPDATE u SET z = zeroblob(5000) WHERE x % 3 = 0",
                "DELETE FROM t WHERE a % 2; INSERT INTO t SELECT NULL, hex(z) FROM u",
                "VACUUM",
                "PRAGMA integrity_check",
            ]
            .into_iter()
            .enumerate()
            {
                worker.run(session, seq as u64 + 1, sql);
            }
            worker.rewind(session, 0);
        }
        worker.ask(Ask::Close { session });
    }
    assert!(opened > 5, "{opened} files passed for whole");
    assert_eq!(worker.value(2, 1, "SELECT count(*) FROM t"), Value::Integer(1_000));
}

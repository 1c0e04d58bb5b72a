//! Tests of parsing, on the stack that threads of the server have.

use std::time::{Duration, Instant};

use super::{LEVELS_MAX, REFERENCE_LEVELS_MAX, Unreadable, reference, statements};
use crate::dataset::{Column, Dataset, Table};
use crate::value::Dialect;
use crate::{counterexample, import, mutate, rewrite, translate};

/// Runs a test on a thread with the stack of the server's threads.
pub(crate) fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).expect("a thread").join().expect("it holds");
}

/// Texts that would be read as trees of so many levels, by what makes them deep.
pub(crate) fn deep(levels: usize) -> Vec<(&'static str, String)> {
    let chain = |begin: &str, link: &str, end: &str| format!("{begin}{}{end}", link.repeat(levels));
    let nested = |open: &str, inner: &str, close: &str| {
        format!("SELECT {}{inner}{} FROM t", open.repeat(levels), close.repeat(levels))
    };
    vec![
        ("sums", chain("SELECT 1", "+1", " FROM t")),
        ("conjunctions", chain("SELECT a FROM t WHERE ", "a AND ", "a")),
        ("disjunctions", chain("SELECT a FROM t WHERE ", "a = 1 OR ", "a")),
        ("set operations", chain("SELECT a, b FROM t", " UNION ALL SELECT 1, 2", "")),
        ("concatenations", chain("SELECT 'a'", "||'b'", " FROM t")),
        ("comparisons", chain("SELECT a", "=1", " FROM t")),
        ("tests for NULL", chain("SELECT a", " IS NULL", " FROM t")),
        ("collations", chain("SELECT a", " COLLATE c", " FROM t")),
        ("casts", chain("SELECT a", "::int", " FROM t")),
        ("subscripts", chain("SELECT a", "[1]", " FROM t")),
        ("ranges", chain("SELECT a", " BETWEEN 1 AND 2", " FROM t")),
        ("memberships", chain("SELECT a", " IN (1, 2)", " FROM t")),
        ("joins", chain("SELECT 1 FROM t", " JOIN t ON a = b", "")),
        ("calls", chain("SELECT f", "(1)", " FROM t")),
        ("negations", chain("SELECT ", "NOT ", "a FROM t")),
        ("signs", chain("SELECT ", "- ", "1 FROM t")),
        ("parentheses", nested("(", "1", ")")),
        ("subqueries", nested("(SELECT ", "1", ")")),
        ("derived tables", format!("SELECT 1 FROM {}t{}", "(SELECT 1 FROM ".repeat(levels), ")".repeat(levels))),
        ("tables in parentheses", format!("SELECT 1 FROM {}t{}", "(".repeat(levels), ")".repeat(levels))),
        ("cases", nested("CASE WHEN a AND ", "b", " THEN 1 END")),
        ("cases with sums", nested("CASE WHEN a AND ", "b", " THEN 1 END + 1")),
        ("functions", nested("coalesce(a, ", "1", ")")),
        ("lists", nested("(1, ", "1", ")")),
        ("never closed", chain("SELECT ", "(", "")),
        ("never ended", chain("SELECT ", "CASE ", "")),
        ("never opened", chain("SELECT 1", ")", " FROM t")),
    ]
}

#[test]
fn chains_and_nests_without_measure_are_not_read() {
    on_a_small_stack(|| {
        for dialect in Dialect::ALL {
            for (what, sql) in deep(120_000).into_iter().chain(deep(40_000)) {
                let begun = Instant::now();
                assert!(statements(&sql, dialect, drop).is_err(), "{what}");
                assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {:?}", begun.elapsed());
            }
            let (_, sql) = &deep(40_000)[0];
            assert!(matches!(statements(sql, dialect, drop), Err(Unreadable::Deep { levels: 40_000.., .. })));
        }
    });
}

#[test]
fn trees_just_within_the_bound_are_walked_printed_copied_and_dropped() {
    on_a_small_stack(|| {
        for dialect in Dialect::ALL {
            for (what, sql) in deep(LEVELS_MAX - 10) {
                let seen = statements(&sql, dialect, |statements| {
                    let printed = format!("{statements:?}").len() + statements[0].to_string().len();
                    assert_eq!(statements.clone(), statements);
                    printed
                });
                // What takes a call of the parser for each level ends at its own bound.
                assert!(seen.is_ok_and(|printed| printed > LEVELS_MAX) || !is_chain(what), "{dialect:?} {what}");
            }
        }
    });
}

pub(crate) fn is_chain(what: &str) -> bool {
    ["sums", "conjunctions", "disjunctions", "set operations", "concatenations", "comparisons"].contains(&what)
}

fn dataset() -> Dataset {
    let columns = ["a", "b"].map(|name| Column { name: name.to_owned(), ..Column::default() });
    let table = Table { name: "t".to_owned(), columns: columns.into(), ..Table::default() };
    Dataset { tables: vec![table], ..Dataset::default() }
}

/// Everything that reads references which others wrote, with whether it could.
fn read_by_all(sql: &str) -> Vec<(&'static str, bool)> {
    let dataset = dataset();
    let mut read = vec![
        ("translations", !matches!(translate::to_postgres(sql, &dataset), Err(translate::Untranslatable::Syntax(_)))),
        ("orders", import::is_ordered(&format!("{sql} ORDER BY 1"))),
        ("other databases", !counterexample::make(&dataset, &[sql], 1).tables.is_empty()),
    ];
    for dialect in Dialect::ALL {
        read.extend([
            ("mutants", !mutate::mutants(sql, dialect, &dataset).is_empty()),
            ("rewrites", !rewrite::rewrites(sql, dialect, &dataset).is_empty()),
        ]);
    }
    read
}

#[test]
fn every_reader_refuses_what_is_too_deep() {
    on_a_small_stack(|| {
        for (what, sql) in deep(40_000) {
            for (reader, read) in read_by_all(&sql) {
                assert!(!read || reader == "other databases", "{reader} of {what}");
            }
        }
    });
}

/// Changes take a time that grows faster than the levels, and the stack for each level is the same: fewer are enough here.
#[test]
fn every_reader_has_the_stack_for_the_levels() {
    on_a_small_stack(|| {
        for (what, sql) in deep(60).iter().filter(|(what, _)| is_chain(what)) {
            for (reader, read) in read_by_all(sql) {
                assert!(read || reader == "mutants", "{reader} of {what}");
            }
        }
        for (what, sql) in deep(REFERENCE_LEVELS_MAX - 10).iter().filter(|(what, _)| is_chain(what)) {
            assert!(import::is_ordered(&format!("{sql} ORDER BY 1")), "{what}");
            assert_eq!(counterexample::make(&dataset(), &[sql], 1).tables.len(), 1, "{what}");
        }
        for (what, sql) in deep(LEVELS_MAX - 10).iter().filter(|(what, _)| is_chain(what)) {
            let translated = translate::to_postgres(sql, &dataset());
            assert!(!matches!(translated, Err(translate::Untranslatable::Syntax(_))), "{what}");
        }
    });
}

#[test]
fn accepted_texts_are_parsed_at_once() {
    on_a_small_stack(|| {
        for dialect in Dialect::ALL {
            for (what, sql) in [10, 20, 30, 40].into_iter().flat_map(deep) {
                let begun = Instant::now();
                let read = statements(&sql, dialect, drop).is_ok();
                assert!(begun.elapsed() < Duration::from_secs(5), "{dialect:?} {what}: {read}, {:?}", begun.elapsed());
            }
        }
    });
}

#[test]
fn long_lists_are_not_deep() {
    let many = |item: &str| vec![item; 5_000].join(", ");
    for dialect in Dialect::ALL {
        for sql in [
            format!("SELECT a FROM t WHERE a IN ({}) OR a = -1", many("-1")),
            format!("INSERT INTO t (a, b) VALUES {}", many("(-1 + 2, 'x' || 'y')")),
            format!("SELECT {} FROM t", many("CASE WHEN a IS NULL THEN 1 ELSE -a END AS c")),
            format!("SELECT 1 FROM t{}", " LEFT JOIN u ON t.a = u.a AND t.b = u.b".repeat(60)),
            format!("SELECT CASE {} END FROM t", "WHEN a = 1 AND b = 2 THEN 'x' ".repeat(900)),
            format!("SELECT a FROM t WHERE {} a = 1", "a = 1 OR ".repeat(900)),
            format!("SELECT a FROM t WHERE {} a = 1", "(a = 1 AND b BETWEEN 2 AND 3) OR ".repeat(900)),
            "SELECT 1; ".repeat(5_000),
        ] {
            let begun: String = sql.chars().take(80).collect();
            assert_eq!(statements(&sql, dialect, drop), Ok(()), "{begun}");
        }
    }
}

#[test]
fn a_query_is_one_statement() {
    for dialect in Dialect::ALL {
        assert_eq!(reference("SELECT 1 + 1", dialect, |query| query.to_string()).as_deref(), Some("SELECT 1 + 1"));
        for sql in ["SELECT 1; SELECT 2", "DELETE FROM t", "SELEKT", ""] {
            assert_eq!(reference(sql, dialect, drop), None, "{sql}");
        }
    }
    let long = format!("SELECT '{}'", "x".repeat(super::BYTES_MAX));
    assert_eq!(statements(&long, Dialect::Sqlite, drop), Err(Unreadable::Long(long.len())));
}

//! Tests that every kind of slip occurs, and that each is a query.

use std::collections::BTreeMap;

use palestra_sql::dataset::{Column, Dataset, ForeignKey, Sort, Table};
use palestra_sql::mutate::{Kind, hard_coded, inject, mutants};
use palestra_sql::value::{Dialect, Value};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::databases::databases;
use crate::lite::Lite;

/// Customers and their orders: money in cents, one customer without orders, ties and NULLs.
pub(crate) fn shop() -> Dataset {
    let column = |name: &str, sort, not_null| Column { name: name.into(), sort, not_null, ..Column::default() };
    let text = |text: &str| Value::Text(text.into());
    let customers = Table {
        name: "customers".into(),
        columns: vec![
            column("id", Sort::Integer, true),
            column("name", Sort::Text, true),
            column("city", Sort::Text, false),
        ],
        primary_key: vec!["id".into()],
        rows: vec![
            vec![Value::Integer(1), text("Ada"), text("Oslo")],
            vec![Value::Integer(2), text("Bo"), Value::Null],
            vec![Value::Integer(3), text("Cy"), text("Oslo")],
        ],
        ..Table::default()
    };
    let orders = Table {
        name: "orders".into(),
        columns: vec![
            column("id", Sort::Integer, true),
            column("customer_id", Sort::Integer, true),
            column("total_cents", Sort::Integer, true),
            column("status", Sort::Text, true),
            column("placed_on", Sort::Date, false),
        ],
        primary_key: vec!["id".into()],
        foreign_keys: vec![ForeignKey {
            columns: vec!["customer_id".into()],
            table: "customers".into(),
            references: vec!["id".into()],
            ..ForeignKey::default()
        }],
        rows: vec![
            vec![Value::Integer(1), Value::Integer(1), Value::Integer(500), text("paid"), text("2025-01-31")],
            vec![Value::Integer(2), Value::Integer(1), Value::Integer(500), text("open"), text("2025-02-01")],
            vec![Value::Integer(3), Value::Integer(2), Value::Integer(900), text("paid"), Value::Null],
        ],
        ..Table::default()
    };
    Dataset { tables: vec![customers, orders], ..Dataset::default() }
}

fn texts(sql: &str, dialect: Dialect) -> BTreeMap<String, Kind> {
    mutants(sql, dialect, &shop()).into_iter().map(|mutant| (mutant.sql, mutant.kind)).collect()
}

#[test]
fn every_sort_of_slip_is_made() {
    let grouped = texts(
        "SELECT c.city, COUNT(o.id) AS n FROM customers AS c JOIN orders AS o ON c.id = o.customer_id WHERE o.total_cents >= 500 AND o.status = 'paid' GROUP BY c.city HAVING COUNT(o.id) > 1 ORDER BY n DESC LIMIT 3",
        Dialect::Sqlite,
    );
    let has = |kind: Kind, part: &str| grouped.iter().any(|(sql, other)| *other == kind && sql.contains(part));
    assert!(has(Kind::Comparison, "o.total_cents > 500"), "{grouped:#?}");
    assert!(has(Kind::Constant, "o.total_cents >= 501"), "{grouped:#?}");
    assert!(has(Kind::Constant, "o.status = 'open'"), "{grouped:#?}");
    assert!(has(Kind::Condition, "WHERE o.status = 'paid' GROUP"), "{grouped:#?}");
    assert!(has(Kind::Connective, "(o.total_cents >= 500 OR o.status = 'paid')"), "{grouped:#?}");
    assert!(has(Kind::Distinct, "COUNT(DISTINCT o.id) AS n"), "{grouped:#?}");
    assert!(has(Kind::Aggregate, "SUM(o.id) AS n"), "{grouped:#?}");
    assert!(has(Kind::JoinColumn, "ON c.id = o.total_cents"), "{grouped:#?}");
    assert!(has(Kind::JoinKind, "LEFT JOIN"), "{grouped:#?}");
    assert!(has(Kind::Having, "GROUP BY c.city ORDER"), "{grouped:#?}");
    assert!(has(Kind::Order, "ORDER BY n ASC"), "{grouped:#?}");
    assert!(has(Kind::Order, "HAVING COUNT(o.id) > 1 LIMIT 3"), "{grouped:#?}");
    assert!(has(Kind::Limit, "LIMIT 4") && has(Kind::Limit, "LIMIT 2"), "{grouped:#?}");
    assert!(
        !grouped.values().any(|kind| *kind == Kind::Grouping),
        "PostgreSQL would refuse a city outside its group: {grouped:#?}"
    );

    let others = texts(
        "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders) UNION SELECT name FROM customers WHERE city IS NULL",
        Dialect::Postgres,
    );
    let has = |kind: Kind, part: &str| others.iter().any(|(sql, other)| *other == kind && sql.contains(part));
    assert!(has(Kind::Negation, "id IN (SELECT"), "{others:#?}");
    assert!(has(Kind::Negation, "city IS NOT NULL"), "{others:#?}");
    assert!(has(Kind::SetOperation, "INTERSECT") && has(Kind::SetOperation, "UNION ALL"), "{others:#?}");
    assert!(has(Kind::Column, "SELECT city FROM customers WHERE id NOT IN"), "{others:#?}");

    let counted =
        texts("SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON c.id = o.customer_id", Dialect::Postgres);
    assert_eq!(counted.get("SELECT COUNT(*) FROM customers AS c"), Some(&Kind::JoinDropped), "{counted:#?}");
}

#[test]
fn a_condition_that_is_connected_otherwise_keeps_its_place() {
    let found = texts("SELECT id FROM orders WHERE id > 1 AND status = 'paid' AND total_cents < 9", Dialect::Sqlite);
    assert_eq!(
        found.get("SELECT id FROM orders WHERE (id > 1 OR status = 'paid') AND total_cents < 9"),
        Some(&Kind::Connective),
        "{found:#?}"
    );
    let found = texts("SELECT id FROM orders WHERE id > 1 AND status = 'paid' OR total_cents < 9", Dialect::Sqlite);
    assert_eq!(
        found.get("SELECT id FROM orders WHERE ((id > 1 AND status = 'paid') AND (total_cents < 9))"),
        Some(&Kind::Connective),
        "{found:#?}"
    );
}

#[test]
fn statements_that_are_no_queries_have_no_mutants() {
    for sql in ["", "SELECT", "DELETE FROM orders", "SELECT 1; SELECT 2", "PRAGMA user_version"] {
        assert_eq!(mutants(sql, Dialect::Sqlite, &shop()), [], "{sql}");
    }
}

#[test]
fn an_injected_slip_follows_from_its_seed() {
    let sql = "SELECT name FROM customers WHERE city = 'Oslo' ORDER BY name";
    let draw = |seed| inject(sql, Dialect::Postgres, &shop(), &mut ChaCha8Rng::seed_from_u64(seed)).expect("a mutant");
    assert_eq!(draw(1), draw(1));
    let kinds: std::collections::BTreeSet<Kind> = (0..40).map(|seed| draw(seed).kind).collect();
    assert!(kinds.len() >= 4, "{kinds:?}");
    assert!(kinds.iter().all(|kind| !kind.symptom().is_empty()));
}

#[test]
fn a_result_is_written_out_exactly() {
    let engine = Lite::new(&shop());
    let rows = engine.rows("SELECT name, city, id, 0.5 FROM customers").expect("rows");
    assert_eq!(engine.rows(&hard_coded(4, &rows).sql).expect("rows"), rows);
    let none = hard_coded(2, &[]);
    assert_eq!(engine.rows(&none.sql).expect("rows"), Vec::<Vec<Value>>::new(), "{}", none.sql);
}

#[test]
fn mutants_of_real_queries_are_queries() {
    let (mut counts, mut broken, mut unread, mut references) = (BTreeMap::<Kind, usize>::new(), Vec::new(), 0, 0);
    for database in &databases() {
        let engine = Lite::new(&database.dataset);
        for reference in &database.references {
            let mutants = mutants(reference, Dialect::Sqlite, &database.dataset);
            references += 1;
            unread += usize::from(mutants.is_empty());
            for mutant in mutants {
                *counts.entry(mutant.kind).or_default() += 1;
                if let Err(error) = engine.rows(&mutant.sql)
                    && error != "interrupted"
                {
                    broken.push(format!("{error}: {} from {reference}", mutant.sql));
                }
            }
        }
    }
    println!("mutants by kind: {counts:?}, broken {}, references without {unread}", broken.len());
    broken.iter().take(40).for_each(|line| println!("{line}"));
    let all: usize = counts.values().sum();
    assert_eq!(unread, 0);
    assert!(all >= 6 * references && broken.len() * 50 <= all, "{all} mutants, {} broken", broken.len());
}

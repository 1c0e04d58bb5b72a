//! Rewrites give the same results on databases at random, and where they would not, there are none.

use std::collections::BTreeMap;

use palestra_sql::dataset::Dataset;
use palestra_sql::rewrite::{Kind, Rewrite, rewrites};
use palestra_sql::value::Dialect;

use crate::databases::databases;
use crate::lite::{Lite, same};
use crate::numbers::InProcess;
use crate::random;
use crate::slips::shop;

fn of(sql: &str) -> Vec<Rewrite> {
    rewrites(sql, Dialect::Sqlite, &shop())
}

fn kinds(sql: &str) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = of(sql).into_iter().map(|rewrite| rewrite.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Rewrites whose results differ from the query's on one of the databases.
fn wrong(sql: &str, rewrites: &[Rewrite], engines: &[Lite]) -> Vec<String> {
    let ordered = sql.to_lowercase().contains("order by");
    let mut found = Vec::new();
    for rewrite in rewrites {
        for (place, engine) in engines.iter().enumerate() {
            let (expected, given) = (engine.rows(sql), engine.rows(&rewrite.sql));
            if given.is_err() != expected.is_err() || !same(&expected, &given, ordered) {
                found.push(format!(
                    "{:?} on {place}: {} FOR {sql}: {given:?} for {expected:?}",
                    rewrite.kind, rewrite.sql
                ));
                break;
            }
        }
    }
    found
}

fn engines(dataset: &Dataset, queries: &[String], count: u64) -> Vec<Lite> {
    let constants = random::constants(queries);
    (0..count).map(|seed| Lite::new(&random::database(dataset, &constants, seed + 7_000))).collect()
}

const QUERIES: [&str; 24] = [
    "SELECT name FROM customers WHERE city = 'Oslo' AND id > 2 OR name LIKE 'a%'",
    "SELECT name FROM customers WHERE city NOT LIKE 'a%' AND NOT (city = 'a1' OR id < 4)",
    "SELECT id FROM orders WHERE total_cents BETWEEN 2 AND 8 AND status IN ('a1', 'b2', 'paid')",
    "SELECT id FROM orders WHERE total_cents NOT BETWEEN 2 AND 8 OR status NOT IN ('a1', 'b2')",
    "SELECT id FROM orders WHERE total_cents >= 2 AND total_cents <= 8",
    "SELECT city FROM customers WHERE city = 'a1' OR city = 'b2'",
    "SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON c.id = o.customer_id",
    "SELECT c.city, COUNT(*) FROM customers AS c LEFT JOIN orders AS o ON c.id = o.customer_id GROUP BY c.city HAVING COUNT(o.id) > 1",
    "SELECT COUNT(o.id), COUNT(city), COUNT(placed_on) FROM customers AS c LEFT JOIN orders AS o ON c.id = o.customer_id",
    "SELECT o.id, c.city FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE c.city <> 'a1'",
    "SELECT o.total_cents FROM customers AS c JOIN orders AS o ON c.id = o.customer_id WHERE c.city = 'a1' OR c.city IS NULL",
    "SELECT DISTINCT c.name FROM customers AS c JOIN orders AS o ON c.id = o.customer_id WHERE o.total_cents > 3",
    "SELECT SUM(o.total_cents), status FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE c.id > 3 GROUP BY status",
    "SELECT DISTINCT city FROM customers",
    "SELECT city, name FROM customers GROUP BY city, name",
    "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE status = 'a1')",
    "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE total_cents > 5)",
    "SELECT city FROM customers WHERE city NOT IN (SELECT status FROM orders) OR id = 1",
    "SELECT name FROM customers WHERE city IN (SELECT o.status FROM orders AS o JOIN customers AS d ON d.id = o.customer_id WHERE d.city = 'a1') AND id > 2",
    "SELECT city FROM customers UNION SELECT status FROM orders",
    "SELECT city FROM customers INTERSECT SELECT status FROM orders WHERE total_cents > 1",
    "SELECT city FROM customers EXCEPT SELECT status FROM orders",
    "SELECT id, name FROM customers WHERE id > 1 AND city <> 'b2' ORDER BY name, id DESC",
    "SELECT a.name, b.name FROM customers AS a JOIN customers AS b ON a.city = b.city WHERE a.id < b.id",
];

#[test]
fn rewrites_give_the_same_on_databases_at_random() {
    let queries: Vec<String> = QUERIES.iter().map(|query| (*query).to_string()).collect();
    let engines = engines(&shop(), &queries, 80);
    let (mut counts, mut failures) = (BTreeMap::<Kind, usize>::new(), Vec::new());
    for query in QUERIES {
        let rewrites = of(query);
        rewrites.iter().for_each(|rewrite| *counts.entry(rewrite.kind).or_default() += 1);
        failures.extend(wrong(query, &rewrites, &engines));
    }
    println!("rewrites by kind: {counts:?}");
    assert_eq!(failures, [""; 0]);
    let all = [
        Kind::Alias,
        Kind::Letters,
        Kind::Parentheses,
        Kind::PredicateOrder,
        Kind::Turned,
        Kind::Between,
        Kind::InList,
        Kind::Not,
        Kind::Count,
        Kind::JoinOrder,
        Kind::JoinInWhere,
        Kind::SubqueryForJoin,
        Kind::JoinForSubquery,
        Kind::Exists,
        Kind::Distinct,
        Kind::SetOrder,
        Kind::Derived,
        Kind::Common,
    ];
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), all);
}

#[test]
fn rewrites_that_need_a_key_or_not_null_are_not_made_without() {
    // The city may be NULL, where NOT IN and NOT EXISTS part ways.
    assert!(!kinds("SELECT name FROM customers WHERE city NOT IN (SELECT status FROM orders)").contains(&Kind::Exists));
    // Counting a column that may be NULL is not counting rows.
    assert!(!of("SELECT COUNT(city) FROM customers").iter().any(|rewrite| rewrite.kind == Kind::Count));
    // Nor is counting what an outer join may leave out.
    let counted = of("SELECT COUNT(o.id) FROM customers AS c LEFT JOIN orders AS o ON c.id = o.customer_id");
    assert!(!counted.iter().any(|rewrite| rewrite.kind == Kind::Count), "{counted:?}");
    // A customer with two orders counts twice.
    let joined = kinds("SELECT c.name FROM customers AS c JOIN orders AS o ON c.id = o.customer_id");
    assert!(!joined.contains(&Kind::SubqueryForJoin), "{joined:?}");
    // Columns of all tables would change places.
    assert!(!kinds("SELECT * FROM customers AS c JOIN orders AS o ON c.id = o.customer_id").contains(&Kind::JoinOrder));
}

#[test]
fn a_result_that_is_left_open_is_spelled_otherwise_only() {
    let spelling = [Kind::Alias, Kind::Letters, Kind::Parentheses];
    for query in [
        "SELECT name FROM customers WHERE id > 1 AND city = 'a' ORDER BY city LIMIT 1",
        "SELECT name FROM customers WHERE id > 1 AND city = 'a' ORDER BY city",
        "SELECT name, COUNT(*) FROM customers WHERE id > 1 AND city = 'a' GROUP BY city",
        "SELECT group_concat(name) FROM customers WHERE id > 1 AND city = 'a'",
        "SELECT name, row_number() OVER () FROM customers WHERE id > 1 AND city = 'a'",
    ] {
        let kinds = kinds(query);
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| spelling.contains(kind)), "{query}: {kinds:?}");
    }
    assert_eq!(of("DELETE FROM orders"), []);
}

#[test]
fn words_are_written_otherwise_and_texts_are_not() {
    let found = of("select name from customers where city = 'St. And''rews' or name = \"It's\"");
    let letters = found.iter().find(|rewrite| rewrite.kind == Kind::Letters).expect("other letters");
    assert_eq!(letters.sql, "SELECT NAME FROM CUSTOMERS WHERE CITY = 'St. And''rews' OR NAME = \"It's\"");
}

#[tokio::test]
async fn rewrites_of_real_queries_are_accepted() {
    let (mut counts, mut failures, mut references) = (BTreeMap::<Kind, usize>::new(), Vec::new(), 0);
    for database in &databases() {
        let texts: Vec<&str> = database.references.iter().map(String::as_str).collect();
        let how = palestra_sql::counterexample::Search { mutants: 12, candidates: 6, ..Default::default() };
        let found =
            palestra_sql::counterexample::search(&database.dataset, &texts, how, &InProcess).await.expect("others");
        let mut judges = vec![Lite::new(&database.dataset)];
        judges.extend(found.datasets.iter().map(Lite::new));
        judges.extend(engines(&database.dataset, &database.references, 12));
        for reference in &database.references {
            let rewrites = rewrites(reference, Dialect::Sqlite, &database.dataset);
            references += 1;
            assert!(!rewrites.is_empty(), "{reference}");
            rewrites.iter().for_each(|rewrite| *counts.entry(rewrite.kind).or_default() += 1);
            failures.extend(
                wrong(reference, &rewrites, &judges).into_iter().map(|line| format!("{}: {line}", database.name)),
            );
        }
    }
    let all: usize = counts.values().sum();
    println!("{all} rewrites of {references} references, {} not accepted: {counts:?}", failures.len());
    assert_eq!(failures, [""; 0]);
    assert!(all >= 6 * references);
}

//! Other databases meet the schema that they share with the first one.

use std::collections::BTreeSet;

use palestra_sql::counterexample::{Search, make, search};
use palestra_sql::dataset::{Dataset, Table};
use palestra_sql::value::Value;

use crate::databases::{databases, library};
use crate::lite::{Lite, Rows};
use crate::numbers::InProcess;
use crate::slips::shop;

/// Violations of a dataset's own keys, references or NOT NULLs.
fn broken(dataset: &Dataset) -> Vec<String> {
    let place = |table: &Table, name: &str| {
        table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)).expect("a column")
    };
    let values = |table: &Table, row: &[Value], names: &[String]| -> Vec<Value> {
        names.iter().map(|name| row[place(table, name)].clone()).collect()
    };
    let mut found = Vec::new();
    for table in &dataset.tables {
        let mut keys = BTreeSet::new();
        for row in &table.rows {
            let key = values(table, row, &table.primary_key);
            if !key.is_empty() && (key.contains(&Value::Null) || !keys.insert(format!("{key:?}"))) {
                found.push(format!("{}: key {key:?}", table.name));
            }
            for (column, value) in table.columns.iter().zip(row) {
                if column.not_null && *value == Value::Null {
                    found.push(format!("{}: NULL in {}", table.name, column.name));
                }
            }
            for key in table.foreign_keys.iter().filter(|key| !key.unenforced) {
                let own = values(table, row, &key.columns);
                let parent =
                    dataset.tables.iter().find(|other| other.name.eq_ignore_ascii_case(&key.table)).expect("a table");
                let held = parent.rows.iter().any(|other| values(parent, other, &key.references) == own);
                if !own.contains(&Value::Null) && !held {
                    found.push(format!("{}: {own:?} refers to nothing in {}", table.name, key.table));
                }
            }
        }
    }
    found
}

#[test]
fn keys_are_unique_and_references_hold() {
    for database in &databases() {
        let references: Vec<&str> = database.references.iter().map(String::as_str).collect();
        for seed in 0..4 {
            let other = make(&database.dataset, &references, seed);
            assert_eq!(broken(&other), [""; 0], "{}", database.name);
            assert!(other.tables.iter().all(|table| table.rows.len() <= 200));
            assert!(
                other.tables.iter().zip(&database.dataset.tables).all(|(other, first)| other.columns == first.columns)
            );
            assert!(other.tables.iter().zip(&database.dataset.tables).any(|(other, first)| other.rows != first.rows));
        }
    }
}

#[test]
fn a_not_null_column_that_a_query_compares_with_a_nullable_one_holds_no_null() {
    let author =
        "SELECT name FROM author WHERE author_id NOT IN (SELECT author_id FROM book WHERE author_id IS NOT NULL)";
    let status = "SELECT o.id FROM orders AS o JOIN customers AS c ON o.status = c.city";
    for (dataset, reference) in [(library().dataset, author), (shop(), status)] {
        for seed in 0..16 {
            assert_eq!(broken(&make(&dataset, &[reference], seed)), [""; 0], "{reference}, seed {seed}");
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_rows() {
    let references = ["SELECT name FROM customers WHERE city = 'Oslo'"];
    assert_eq!(make(&shop(), &references, 3), make(&shop(), &references, 3));
    assert_ne!(make(&shop(), &references, 3), make(&shop(), &references, 4));
}

#[test]
fn conditions_of_a_table_are_met() {
    let mut shop = shop();
    shop.tables[1].checks = vec!["total_cents > 0 AND (status <> 'open' OR total_cents <= 500)".into()];
    let references = ["SELECT id FROM orders WHERE total_cents < 1 OR (status = 'open' AND total_cents > 900)"];
    for seed in 0..8 {
        // The engine refuses rows that do not.
        let engine = Lite::new(&make(&shop, &references, seed));
        assert_ne!(engine.rows("SELECT COUNT(*) FROM orders").expect("a count"), [[Value::Integer(0)]]);
        assert_eq!(engine.rows("PRAGMA foreign_key_check").expect("a check"), Rows::new());
    }
}

#[test]
fn rows_lie_on_both_sides_of_each_constant() {
    let references = [
        "SELECT c.name FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.total_cents >= 730 AND c.city = 'Oslo'",
        "SELECT city, COUNT(*) FROM customers GROUP BY city HAVING COUNT(*) > 3",
        "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
        "SELECT name FROM customers WHERE name LIKE '%zed'",
    ];
    let engine = Lite::new(&make(&shop(), &references, 1));
    let count =
        |condition: &str| match engine.rows(&format!("SELECT COUNT(*) FROM {condition}")).expect("a count")[0][0] {
            Value::Integer(count) => count,
            ref other => panic!("{other:?} is no count"),
        };
    for condition in [
        "orders WHERE total_cents = 730",
        "orders WHERE total_cents = 729",
        "orders WHERE total_cents = 731",
        "orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE o.total_cents = 730 AND c.city = 'Oslo'",
        "customers WHERE city IS NULL",
        "customers WHERE id NOT IN (SELECT customer_id FROM orders)",
        "(SELECT 1 FROM customers GROUP BY city HAVING COUNT(*) > 3)",
        "(SELECT 1 FROM customers GROUP BY city HAVING COUNT(*) <= 3)",
        "customers WHERE name LIKE '%zed'",
        "customers WHERE name LIKE '%zed%' AND name NOT LIKE '%zed'",
        "(SELECT 1 FROM orders GROUP BY placed_on HAVING COUNT(*) > 1)",
    ] {
        assert!(count(condition) > 0, "no row in {condition}");
    }
}

#[tokio::test]
async fn a_reference_that_fails_has_no_others() {
    let references = ["SELECT nothing FROM nowhere", "SELECT name FROM customers WHERE city = 'Oslo'"];
    let found = search(&shop(), &references, Search::default(), &InProcess).await.expect("others");
    assert_eq!(found.stats[0].others, [0_usize; 0]);
    assert_eq!(found.stats[1].others.len(), 2);
    assert!(
        found.stats[1].deterministic
            && found.stats[1].rejected > 0
            && found.stats[1].rejected <= found.stats[1].mutants
    );
    assert!(found.stats[1].others.iter().all(|place| *place < found.datasets.len()));
}

#[tokio::test]
async fn where_an_order_leaves_ties_open_databases_without_ties_are_chosen() {
    let references = [
        "SELECT total_cents FROM orders ORDER BY placed_on LIMIT 1",
        "SELECT id FROM orders ORDER BY total_cents DESC, id",
    ];
    let found = search(&shop(), &references, Search::default(), &InProcess).await.expect("others");
    assert!(found.stats.iter().all(|reported| reported.deterministic), "{:?}", found.stats);
}

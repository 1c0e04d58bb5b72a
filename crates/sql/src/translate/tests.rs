//! Translations as they are written. That they give the same rows is tried on both engines elsewhere.

use super::*;
use crate::dataset::{Column, Sort, Table};
use crate::value::Value;

/// People with a text of digits, and their dogs.
fn dataset() -> Dataset {
    let column = |name: &str, sort, declared: &str| Column {
        name: name.into(),
        sort,
        declared: Some(declared.into()),
        ..Column::default()
    };
    let text = |text: &str| Value::Text(text.into());
    let people = Table {
        name: "People".into(),
        columns: vec![
            column("ID", Sort::Integer, "int"),
            column("Name", Sort::Text, "text"),
            column("Year", Sort::Text, "text"),
            column("Height", Sort::Real, "double"),
        ],
        primary_key: vec!["ID".into()],
        rows: vec![
            vec![Value::Integer(1), text("Ada"), text("1999"), Value::Real(1.5)],
            vec![Value::Integer(2), text("Bo"), text("2001"), Value::Real(1.5)],
        ],
        ..Table::default()
    };
    let dogs = Table {
        name: "dogs".into(),
        columns: vec![
            column("Owner", Sort::Integer, "int"),
            column("Name", Sort::Text, "text"),
            column("Order", Sort::Integer, "int"),
        ],
        rows: vec![
            vec![Value::Integer(1), text("Rex"), Value::Integer(1)],
            vec![Value::Integer(1), text("Fido"), Value::Integer(2)],
        ],
        ..Table::default()
    };
    Dataset { tables: vec![people, dogs], ..Dataset::default() }
}

fn translated(sql: &str) -> String {
    to_postgres(sql, &dataset()).unwrap_or_else(|fault| panic!("{sql}: {fault}"))
}

fn refused(sql: &str) -> &'static str {
    to_postgres(sql, &dataset()).expect_err("no translation").reason()
}

#[test]
fn names_are_written_as_in_scripts() {
    assert_eq!(
        translated("SELECT T1.Name, \"ORDER\" FROM PEOPLE AS T1 JOIN Dogs AS T2 ON T1.id = T2.owner"),
        "SELECT t1.name, \"order\" FROM people AS t1 JOIN dogs AS t2 ON t1.id = t2.owner"
    );
    assert_eq!(refused("SELECT nothing FROM dogs"), "unknown name");
    assert_eq!(refused("SELECT 1 FROM cats"), "unknown name");
}

#[test]
fn double_quotes_around_no_column_are_text() {
    assert_eq!(translated("SELECT name FROM dogs WHERE name = \"Rex\""), "SELECT name FROM dogs WHERE name = 'Rex'");
}

#[test]
fn commas_and_bare_joins_are_cross_joins() {
    assert_eq!(
        translated("SELECT 1 FROM people, dogs JOIN dogs AS d ON d.owner = people.id"),
        "SELECT 1 FROM people CROSS JOIN dogs JOIN dogs AS d ON d.owner = people.id"
    );
    assert_eq!(translated("SELECT 1 FROM people JOIN dogs"), "SELECT 1 FROM people CROSS JOIN dogs");
}

#[test]
fn text_and_numbers_meet_as_affinities_say() {
    let cases = [
        ("SELECT 1 FROM people WHERE year > 2000", "SELECT 1 FROM people WHERE year > '2000'"),
        ("SELECT 1 FROM people WHERE year = 2.50", "SELECT 1 FROM people WHERE year = '2.5'"),
        ("SELECT 1 FROM people WHERE id = '2'", "SELECT 1 FROM people WHERE id = 2"),
        ("SELECT 1 FROM people WHERE id != 'two'", "SELECT 1 FROM people WHERE CAST(id AS TEXT) <> 'two'"),
        (
            "SELECT 1 FROM people JOIN dogs ON year = owner",
            "SELECT 1 FROM people JOIN dogs ON year = CAST(owner AS TEXT)",
        ),
        (
            "SELECT 1 FROM people WHERE year IN (SELECT owner FROM dogs)",
            "SELECT 1 FROM people WHERE year IN (SELECT CAST(owner AS TEXT) FROM dogs)",
        ),
    ];
    for (sqlite, postgres) in cases {
        assert_eq!(translated(sqlite), postgres);
    }
    assert_eq!(refused("SELECT 1 FROM people WHERE id < 'two'"), "text compared with numbers");
    assert_eq!(refused("SELECT 1 FROM people GROUP BY name HAVING count(*) = '2'"), "text compared with numbers");
}

#[test]
fn groups_are_widened_by_what_they_determine() {
    let cases = [
        // PostgreSQL sees it by the primary key.
        ("SELECT name FROM people GROUP BY id", "SELECT name FROM people GROUP BY id"),
        // By the join and the key.
        (
            "SELECT t1.name, count(*) FROM people AS t1 JOIN dogs AS t2 ON t1.id = t2.owner GROUP BY t2.owner",
            "SELECT t1.name, count(*) FROM people AS t1 JOIN dogs AS t2 ON t1.id = t2.owner GROUP BY t2.owner, t1.name",
        ),
        // By the rows.
        ("SELECT year, count(*) FROM people GROUP BY name", "SELECT year, count(*) FROM people GROUP BY name, year"),
        // The row that has the maximum.
        (
            "SELECT name, max(id) FROM people",
            "SELECT (array_agg(name ORDER BY id DESC NULLS LAST))[1], max(id) FROM people",
        ),
    ];
    for (sqlite, postgres) in cases {
        assert_eq!(translated(sqlite), postgres);
    }
    assert_eq!(refused("SELECT name, count(*) FROM dogs GROUP BY owner"), "value from any row of a group");
    assert_eq!(refused("SELECT name, count(*) FROM dogs"), "value from any row of a group");
}

#[test]
fn null_is_the_least_value() {
    assert_eq!(
        translated("SELECT id FROM people ORDER BY id, year DESC, height"),
        "SELECT id FROM people ORDER BY id, year DESC NULLS LAST, height NULLS FIRST"
    );
    assert_eq!(
        translated("SELECT name FROM people UNION SELECT name FROM dogs ORDER BY Name DESC"),
        "SELECT name FROM people UNION SELECT name FROM dogs ORDER BY 1 DESC NULLS LAST"
    );
}

#[test]
fn distinct_rows_in_another_order_are_groups() {
    assert_eq!(
        translated("SELECT DISTINCT name FROM people ORDER BY year"),
        "SELECT name FROM people GROUP BY name ORDER BY min(year) NULLS FIRST"
    );
    assert_eq!(refused("SELECT DISTINCT owner FROM dogs ORDER BY name"), "value from any row of a group");
}

#[test]
fn limits_are_said_in_the_common_way() {
    assert_eq!(translated("SELECT 1 FROM dogs LIMIT 2, 3"), "SELECT 1 FROM dogs LIMIT 3 OFFSET 2");
    assert_eq!(translated("SELECT 1 FROM dogs LIMIT -1"), "SELECT 1 FROM dogs");
}

#[test]
fn set_operations_go_from_left_to_right() {
    assert_eq!(
        translated("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3"),
        "(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3"
    );
    assert_eq!(translated("SELECT 1 EXCEPT SELECT 2 UNION SELECT 3"), "SELECT 1 EXCEPT SELECT 2 UNION SELECT 3");
}

#[test]
fn values_of_queries_are_their_first_rows() {
    assert_eq!(
        translated("SELECT 1 FROM people WHERE id = (SELECT owner FROM dogs)"),
        "SELECT 1 FROM people WHERE id = (SELECT owner FROM dogs LIMIT 1)"
    );
    assert_eq!(
        translated("SELECT 1 FROM people WHERE id = (SELECT max(owner) FROM dogs)"),
        "SELECT 1 FROM people WHERE id = (SELECT max(owner) FROM dogs)"
    );
}

#[test]
fn functions_have_their_counterparts() {
    let cases = [
        ("SELECT ifnull(name, 'x') FROM dogs", "SELECT coalesce(name, 'x') FROM dogs"),
        ("SELECT name FROM dogs WHERE name LIKE '%re%'", "SELECT name FROM dogs WHERE name ILIKE '%re%'"),
        ("SELECT substr(name, -2) FROM dogs", "SELECT right(name, 2) FROM dogs"),
        ("SELECT instr(name, 'e') FROM dogs", "SELECT strpos(name, 'e') FROM dogs"),
        ("SELECT strftime('%Y', year) FROM people", "SELECT to_char(CAST(year AS TIMESTAMP), 'YYYY') FROM people"),
        ("SELECT owner / id FROM dogs, people", "SELECT owner / nullif(id, 0) FROM dogs CROSS JOIN people"),
        ("SELECT sum(owner) / 2 FROM dogs", "SELECT CAST(sum(owner) AS BIGINT) / 2 FROM dogs"),
        ("SELECT owner || name FROM dogs", "SELECT CAST(owner AS TEXT) || name FROM dogs"),
        ("SELECT owner > 1 FROM dogs", "SELECT CAST(owner > 1 AS INTEGER) FROM dogs"),
        ("SELECT 1 FROM dogs WHERE owner", "SELECT 1 FROM dogs WHERE (owner) <> 0"),
    ];
    for (sqlite, postgres) in cases {
        assert_eq!(translated(sqlite), postgres);
    }
    assert_eq!(refused("SELECT randomblob(3)"), "function without a counterpart");
    assert_eq!(refused("DELETE FROM dogs"), "construct without a counterpart");
    assert_eq!(refused("SELECT FROM WHERE"), "not read by the parser");
}

#[test]
fn common_tables_hide_tables() {
    assert_eq!(
        translated("WITH dogs AS (SELECT id AS Pet FROM people) SELECT PET FROM Dogs"),
        "WITH dogs AS (SELECT id AS pet FROM people) SELECT pet FROM dogs"
    );
    assert_eq!(refused("WITH dogs AS (SELECT id AS pet FROM people) SELECT owner FROM dogs"), "unknown name");
}

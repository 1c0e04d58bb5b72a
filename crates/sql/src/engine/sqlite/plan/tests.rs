//! Plans in SQLite's words, and what they mean.

use super::*;
use crate::engine::IndexInfo;
use crate::parse::tests::{deep, on_a_small_stack};

fn schema() -> Schema {
    let table = |name: &str| TableInfo { name: name.to_owned(), ..TableInfo::default() };
    let view = |name: &str, sql: &str| TableInfo { view: true, sql: Some(sql.to_owned()), ..table(name) };
    let index =
        |name: &str, table: &str| IndexInfo { name: name.to_owned(), table: table.to_owned(), ..IndexInfo::default() };
    Schema {
        tables: vec![
            table("orders"),
            table("tiny"),
            view("recent", "CREATE VIEW recent AS SELECT * FROM orders AS inner_o"),
        ],
        indexes: vec![index("orders_day", "orders")],
        triggers: Vec::new(),
    }
}

fn read(sql: &str, detail: &str) -> Vec<PlanNode> {
    plan(&[PlanRow { id: 2, parent: 0, detail: detail.to_owned() }], sql, &schema()).nodes
}

fn node(kind: PlanKind, table: Option<&str>, index: Option<&str>) -> PlanNode {
    PlanNode { kind, table: table.map(str::to_owned), index: index.map(str::to_owned) }
}

#[test]
fn tables_are_named_whatever_the_query_calls_them() {
    use PlanKind::{Other, Scan, Search, Sort};
    let cases = [
        ("SELECT * FROM orders", "SCAN orders", node(Scan, Some("orders"), None)),
        ("SELECT * FROM main.Orders", "SCAN main.Orders", node(Scan, Some("orders"), None)),
        ("SELECT * FROM orders AS o", "SCAN o", node(Scan, Some("orders"), None)),
        (
            "SELECT * FROM orders o",
            "SCAN o USING COVERING INDEX orders_day",
            node(Scan, Some("orders"), Some("orders_day")),
        ),
        (
            "SELECT * FROM orders o",
            "SEARCH o USING INDEX orders_day (day=?)",
            node(Search, Some("orders"), Some("orders_day")),
        ),
        ("SELECT * FROM orders o", "SEARCH o USING INTEGER PRIMARY KEY (rowid=?)", node(Search, Some("orders"), None)),
        ("SELECT * FROM orders o", "SEARCH o USING AUTOMATIC COVERING INDEX (day=?)", node(Scan, Some("orders"), None)),
        ("SELECT * FROM recent", "SCAN inner_o", node(Scan, Some("orders"), None)),
        ("SELECT * FROM tiny LEFT JOIN orders AS o", "SCAN o LEFT-JOIN", node(Scan, Some("orders"), None)),
        ("WITH c AS (SELECT 1) SELECT * FROM c", "SCAN c", node(Scan, None, None)),
        ("SELECT 1", "SCAN CONSTANT ROW", node(Other, None, None)),
        ("SELECT 1", "USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY", node(Sort, None, None)),
        ("SELECT 1", "USE TEMP B-TREE FOR DISTINCT", node(Other, None, None)),
        ("SELECT 1", "CORRELATED SCALAR SUBQUERY 2", node(Other, None, None)),
    ];
    for (sql, detail, expected) in cases {
        assert_eq!(read(sql, detail), [expected], "{sql}: {detail}");
    }
}

#[test]
fn an_alias_hides_no_scan() {
    let hidden = "SELECT * FROM orders AS tiny";
    assert_eq!(read(hidden, "SCAN tiny"), [node(PlanKind::Scan, Some("orders"), None)]);

    let alias = r#"SELECT * FROM orders AS "x USING INTEGER PRIMARY KEY (rowid=?)""#;
    let detail = "SCAN x USING INTEGER PRIMARY KEY (rowid=?)";
    assert_eq!(read(alias, detail), [node(PlanKind::Scan, Some("orders"), None)]);

    let twice = "SELECT (SELECT count(*) FROM tiny AS t), t.* FROM orders AS t";
    let both = [node(PlanKind::Scan, Some("orders"), None), node(PlanKind::Scan, Some("tiny"), None)];
    assert_eq!(read(twice, "SCAN t"), both, "it may be either");
    let search = "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)";
    assert_eq!(read(twice, search), [node(PlanKind::Search, None, None)], "it is certain of neither");

    let strange = "SELECT * FROM orders AS o WHERE @@@";
    assert_eq!(
        read(strange, "SCAN o"),
        [node(PlanKind::Scan, Some("orders"), None)],
        "what cannot be parsed is taken by its words"
    );
}

#[test]
fn lines_are_indented_as_the_plan_is() {
    let row = |id, parent, detail: &str| PlanRow { id, parent, detail: detail.to_owned() };
    let rows = [row(2, 0, "MATERIALIZE c"), row(5, 2, "SCAN orders"), row(9, 0, "SCAN c")];
    let plan = plan(&rows, "WITH c AS MATERIALIZED (SELECT * FROM orders) SELECT * FROM c", &schema());
    assert_eq!(plan.lines, ["MATERIALIZE c", "  SCAN orders", "SCAN c"]);
    assert_eq!(plan.cost, None);
}

#[test]
fn a_plan_of_a_query_that_is_too_deep_to_be_read_leaves_a_doubt() {
    on_a_small_stack(|| {
        for (what, sql) in deep(40_000) {
            let sql = format!("{sql} -- of orders");
            assert_eq!(read(&sql, "SCAN o"), [node(PlanKind::Scan, Some("orders"), None)], "{what}");
        }
    });
}

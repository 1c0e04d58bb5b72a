//! Schemas and plans.

use std::sync::Arc;

use palestra_sql::engine::{CutReason, Engine, PlanKind};
use palestra_sql::value::Dialect;

use super::{open, rows, shop};

pub(crate) async fn the_schema_is_told_as_it_is_now(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let sql = "CREATE TABLE pairs (a integer, b integer, c text DEFAULT 'x', PRIMARY KEY (b, a), UNIQUE (c, a)); \
               CREATE VIEW cheap AS SELECT name FROM items WHERE price < 30; \
               CREATE INDEX items_price ON items (price) WHERE price > 0";
    rows(&mut database, 1, sql).await;
    let schema = database.schema().await.expect("it stands");
    let names: Vec<_> = schema.tables.iter().map(|table| (table.name.as_str(), table.view)).collect();
    assert_eq!(names, [("cheap", true), ("items", false), ("lines", false), ("pairs", false)]);
    let find = |name: &str| schema.tables.iter().find(|table| table.name == name).expect("the table");

    let items = find("items");
    let columns: Vec<_> = items.columns.iter().map(|column| (column.name.as_str(), column.not_null)).collect();
    let id_refuses_null = engine.dialect() == Dialect::Postgres;
    assert_eq!(columns, [("id", id_refuses_null), ("name", true), ("price", true)]);
    assert_eq!(items.columns[1].type_name.to_lowercase(), "text");
    assert_eq!(items.columns[2].default.as_deref(), Some("0"));
    assert_eq!(items.primary_key, ["id"]);
    assert_eq!(items.unique, [["name"]]);
    assert_eq!(items.checks.len(), 1);
    assert!(items.checks[0].contains("price >= 0"), "{:?}", items.checks);

    let [reference] = find("lines").foreign_keys.as_slice() else { panic!("{:?}", find("lines")) };
    let (from, to) = (reference.columns.as_slice(), reference.references.as_slice());
    assert_eq!(
        (from, reference.table.as_str(), to, reference.on_delete.as_str()),
        (&["item_id".to_owned()][..], "items", &["id".to_owned()][..], "NO ACTION")
    );

    assert_eq!(find("pairs").primary_key, ["b", "a"]);
    assert_eq!(find("pairs").unique, [["c", "a"]]);
    assert_eq!(find("cheap").columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["name"]);
    let [index] = schema.indexes.as_slice() else { panic!("{:?}", schema.indexes) };
    assert_eq!((index.name.as_str(), index.table.as_str(), index.unique), ("items_price", "items", false));
    assert_eq!(index.columns, ["price"]);
    assert!(index.condition.as_deref().is_some_and(|condition| condition.contains("price > 0")), "{index:?}");

    rows(&mut database, 2, "DROP VIEW cheap; DROP TABLE pairs").await;
    let schema = database.schema().await.expect("it stands");
    assert_eq!(schema.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["items", "lines"]);
}

pub(crate) async fn a_plan_tells_scans_from_searches(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let fill = "WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c WHERE x < 3000) \
                INSERT INTO items (id, name, price) SELECT x, 'item ' || x, x % 50 FROM c; ANALYZE items";
    rows(&mut database, 1, fill).await;
    let sql = "SELECT i.name FROM items AS i WHERE i.price + 0 = 7 ORDER BY i.price + 1";
    let plan = database.explain(sql, &[]).await.expect("it stands").expect("a plan");
    let find = |kind| plan.nodes.iter().find(|node| node.kind == kind);
    assert_eq!(find(PlanKind::Scan).and_then(|node| node.table.as_deref()), Some("items"), "{plan:?}");
    assert!(find(PlanKind::Sort).is_some(), "{plan:?}");
    assert_eq!(plan.cost.is_some(), engine.dialect() == Dialect::Postgres);
    assert!(!plan.lines.is_empty());

    let sql = "SELECT name FROM items AS i WHERE i.name = 'item 77'";
    let plan = database.explain(sql, &[]).await.expect("it stands").expect("a plan");
    let [node] = plan.nodes.as_slice() else { panic!("{plan:?}") };
    assert_eq!((node.kind, node.table.as_deref()), (PlanKind::Search, Some("items")));
    assert!(node.index.is_some());

    let error = database.explain("SELECT * FROM nowhere", &[]).await.expect("it stands").expect_err("no such table");
    assert!(error.message.contains("nowhere"), "{error:?}");
    for (sql, count) in [("SELECT 1; SELEC nonsense", 2), (" -- nothing", 0)] {
        let error = database.explain(sql, &[]).await.expect("it stands").expect_err("not one statement");
        assert_eq!(error.message, format!("one statement can be explained, and there are {count}"));
        assert_eq!(error.cut, Some(CutReason::Refused));
    }
    database.explain("SELECT ';'; -- that is all;", &[]).await.expect("it stands").expect("a plan");
    let ran = rows(&mut database, 2, "SELECT count(*) FROM items WHERE id >= 10").await;
    database.explain("DELETE FROM items", &[]).await.expect("it stands").expect("a plan");
    assert_eq!(
        rows(&mut database, 3, "SELECT count(*) FROM items WHERE id >= 10").await,
        ran,
        "what is explained is not run"
    );
}

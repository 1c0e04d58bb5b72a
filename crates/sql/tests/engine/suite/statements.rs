//! Tests of statements.

use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::value::{Dialect, Value};

use super::{number, open, rows, run, run_with, shop};

pub(crate) async fn a_query_gives_columns_and_typed_rows(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let sql = "SELECT name, price, price * CAST(0.5 AS double precision) AS half, NULL AS blank FROM items ORDER BY id LIMIT 2";
    let ran = run(&mut database, 1, sql).await;
    assert_eq!(ran.error, None);
    let [result] = ran.results.as_slice() else { panic!("{:?}", ran.results) };
    assert_eq!(
        result.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(),
        ["name", "price", "half", "blank"]
    );
    let row = |name: &str, price: i64, half| {
        vec![Value::Text(name.to_owned()), Value::Integer(price), Value::Real(half), Value::Null]
    };
    assert_eq!(result.rows, [row("pear", 30, 15.0), row("plum", 20, 10.0)]);
    assert_eq!((result.command.as_str(), result.affected, result.truncated), ("SELECT 2", None, false));
    assert_eq!(result.columns[0].type_name.to_lowercase(), "text");
}

pub(crate) async fn statements_run_one_after_the_other_up_to_the_first_that_fails(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let sql = "INSERT INTO items (name, price) VALUES ('kiwi', 1), ('lime', 2); -- two more\n\
               UPDATE items SET price = price + 1 WHERE price < 3;\n\
               DELETE FROM lines WHERE id = 1;;\n\
               SELECT * FROM nowhere;\n\
               DELETE FROM lines";
    let ran = run(&mut database, 1, sql).await;
    let commands: Vec<_> = ran.results.iter().map(|result| (result.command.as_str(), result.affected)).collect();
    assert_eq!(commands, [("INSERT 0 2", Some(2)), ("UPDATE 2", Some(2)), ("DELETE 1", Some(1))]);
    let error = ran.error.expect("there is no such table");
    assert!(error.message.contains("nowhere"), "{error:?}");
    assert_eq!(error.statement, 3);
    assert!(!ran.pure);
    assert_eq!(number(&mut database, 2, "SELECT count(*) FROM lines").await, 1, "the last statement was not run");
    assert_eq!(number(&mut database, 3, "SELECT count(*) FROM items").await, 5, "and the first ones stand");
}

pub(crate) async fn parameters_are_values_and_never_sql(engine: Arc<dyn Engine>) {
    let dialect = engine.dialect();
    let mut database = open(&engine, &shop(dialect)).await;
    let (first, counterexample) = if dialect == Dialect::Sqlite { ("?1", "?2") } else { ("$1", "$2") };
    let insert = format!("INSERT INTO items (name, price) VALUES ({first}, {counterexample})");
    let name = Value::Text("'); DROP TABLE lines; --".to_owned());
    let ran = run_with(&mut database, 1, &insert, &[name.clone(), Value::Integer(9)]).await;
    assert_eq!(ran.error, None);
    let select = format!("SELECT name, price FROM items WHERE name = {first}");
    let ran = run_with(&mut database, 2, &select, std::slice::from_ref(&name)).await;
    assert_eq!(ran.results[0].rows, [vec![name.clone(), Value::Integer(9)]]);
    assert_eq!(number(&mut database, 3, "SELECT count(*) FROM lines").await, 2);

    let too_few = run_with(&mut database, 4, &insert, std::slice::from_ref(&name)).await;
    assert!(too_few.error.is_some(), "{too_few:?}");
    let several = run_with(&mut database, 5, &format!("{select}; SELECT 1"), std::slice::from_ref(&name)).await;
    assert!(several.error.is_some(), "parameters belong to one statement: {several:?}");
}

pub(crate) async fn errors_say_where_they_are(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    let sql = "SELECT 'zażółć gęślą'; SELECT price, colour FROM items";
    let error = run(&mut database, 1, sql).await.error.expect("no such column");
    assert!(error.message.contains("colour"), "{error:?}");
    assert_eq!(error.statement, 1);
    let place = sql.char_indices().position(|(at, _)| sql[at..].starts_with("colour"));
    assert_eq!(error.position, place, "{error:?}");
    assert_eq!(error.cut, None);

    let taken =
        run(&mut database, 2, "INSERT INTO items (name) VALUES ('pear')").await.error.expect("the name is taken");
    let code = if engine.dialect() == Dialect::Sqlite { "SQLITE_CONSTRAINT_UNIQUE" } else { "23505" };
    assert_eq!(taken.code, code, "{taken:?}");
    assert_eq!(number(&mut database, 3, "SELECT count(*) FROM items").await, 3);
}

pub(crate) async fn nothing_is_a_step_as_well(engine: Arc<dyn Engine>) {
    let mut database = open(&engine, &shop(engine.dialect())).await;
    for (seq, sql) in (1..).zip(["", " ; ;", "-- nothing", "/* nothing */;"]) {
        let ran = run(&mut database, seq, sql).await;
        assert_eq!((ran.results.len(), ran.error, ran.pure), (0, None, true), "{sql:?}");
    }
}

pub(crate) async fn the_same_step_gives_the_same_chance_and_the_same_moment(engine: Arc<dyn Engine>) {
    let source = shop(engine.dialect());
    let sql = "SELECT random() AS a, CURRENT_TIMESTAMP AS t";
    let mut database = open(&engine, &source).await;
    let first = rows(&mut database, 1, sql).await;
    let counterexample = rows(&mut database, 2, sql).await;
    assert_ne!(first[0][0], counterexample[0][0], "another step, another chance");
    assert!(format!("{:?}", first[0][1]).contains("2026-01-01 00:00:01"), "{first:?}");
    let mut other = open(&engine, &source).await;
    assert_eq!(rows(&mut other, 1, sql).await, first);
    assert_eq!(rows(&mut other, 2, sql).await, counterexample);
}

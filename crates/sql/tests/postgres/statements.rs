//! Statements, values, errors, plans and schemas as PostgreSQL gives them.

use palestra_sql::engine::{Access, CutReason, PlanKind};
use palestra_sql::value::Value;

use crate::cluster::TestCluster;

#[tokio::test(flavor = "multi_thread")]
async fn results_have_types_tags_and_counts() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let ran = player
        .step("SELECT true AS a, 1::int2 AS b, 0.1::float4 AS c, 1.50::numeric AS d, 'x' AS e, '\\x00ff'::bytea AS f, NULL AS g, ARRAY[1,2] AS h")
        .await;
    let result = &ran.results[0];
    assert_eq!(result.command, "SELECT 1");
    let types: Vec<&str> = result.columns.iter().map(|column| &*column.type_name).collect();
    assert_eq!(types, ["bool", "int2", "float4", "numeric", "text", "bytea", "text", "_int4"]);
    let expected = vec![
        Value::Boolean(true),
        Value::Integer(1),
        Value::Real(0.1),
        Value::Decimal("1.50".to_owned()),
        Value::Text("x".to_owned()),
        Value::Blob(vec![0, 255]),
        Value::Null,
        Value::Text("{1,2}".to_owned()),
    ];
    assert_eq!(result.rows, vec![expected]);
    assert!(ran.pure);

    let ran = player.step("INSERT INTO people VALUES (4, 'Barbara', 80), (5, 'Ken', 79) RETURNING name; UPDATE people SET age = age + 1").await;
    assert_eq!(ran.error, None);
    let reported: Vec<_> = ran.results.iter().map(|result| (&*result.command, result.affected)).collect();
    assert_eq!(reported, [("INSERT 0 2", Some(2)), ("UPDATE 5", Some(5))]);
    assert!(!ran.pure);
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_take_the_types_that_the_statement_wants() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let parameters = [Value::Integer(36), Value::Text("Ada".to_owned()), Value::Null];
    let ran = player.with("SELECT id FROM people WHERE age = $1 AND name = $2 AND $3::date IS NULL", &parameters).await;
    assert_eq!(ran.results[0].rows, vec![vec![Value::Integer(1)]]);
    let ran = player.with("SELECT 1; SELECT $1", &parameters[..1]).await;
    assert_eq!(ran.error.and_then(|error| error.cut), Some(CutReason::Refused));
    let ran = player.with("SELECT $1::int", &[Value::Text("ä".to_owned())]).await;
    assert_eq!(ran.error.map(|error| error.code).as_deref(), Some("22P02"));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_where_in_the_step_they_are() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Write).await;
    let sql = "SELECT 'ä', now(); /* ; */ SELECT current_date, wrong FROM people";
    let error = player.step(sql).await.error.expect("an error");
    assert_eq!((&*error.code, error.statement), ("42703", 1));
    assert_eq!(error.position, Some(sql.chars().count() - "wrong FROM people".len()));
    assert_eq!(error.message, "column \"wrong\" does not exist");
    let error = player.step("SELECT nme FROM people").await.error.expect("an error");
    assert_eq!(error.hint.as_deref(), Some("Perhaps you meant to reference the column \"people.name\"."));
    let error = player.step("INSERT INTO people VALUES (1, 'Ada', 3)").await.error.expect("an error");
    assert_eq!(error.detail.as_deref(), Some("Key (id)=(1) already exists."));
    let error = player.step("SELEC 1; SELECT 2").await.error.expect("an error");
    assert_eq!(error.cut, Some(CutReason::Refused), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_and_randomness_are_the_servers_own() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let ask = "SELECT now(), CURRENT_DATE, clock_timestamp(), LOCALTIME(0), age(timestamp '2025-06-01'), random(), gen_random_uuid()";
    let mut first = cluster.open(Access::Read).await;
    let mut counterexample = cluster.open(Access::Read).await;
    let rows = first.rows(ask).await;
    assert_eq!(rows, counterexample.rows(ask).await);
    assert_eq!(
        &rows[0][..5],
        ["2025-06-15 15:07:40+00", "2025-06-15", "2025-06-15 15:07:40+00", "15:07:40", "14 days"]
    );
    assert_ne!(first.rows(ask).await, rows, "a later step has another time and other values");
    let uuid = &rows[0][6];
    assert_eq!((uuid.as_bytes()[14], uuid.len()), (b'4', 36));
    assert_eq!(first.value("SELECT placed FROM orders WHERE id = 1").await, "2025-01-01 00:00:00+00");
    let mut writer = cluster.open(Access::Write).await;
    writer.rows("INSERT INTO orders (person, cents) VALUES (3, 1)").await;
    assert_eq!(writer.value("SELECT placed FROM orders WHERE id = 4").await, "2025-06-15 15:07:40+00");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_every_place_has_for_itself_are_not_seen() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    let ask = "SELECT current_user, current_database(), ARRAY[session_user], table_catalog, tableowner, length(current_user) > 20 \
               FROM information_schema.tables JOIN pg_tables ON tablename = table_name WHERE table_name = 'people'";
    let own = "palestra_session";
    assert_eq!(player.rows(ask).await, [[own, own, "{palestra_session}", own, "palestra_define", "true"]]);
    assert_eq!(player.fails("CREATE SCHEMA x").await.1, "permission denied for database palestra_session");
    player.commands("CREATE TEMP TABLE t (a int)").await;
    assert_eq!(
        player.value("SELECT table_schema FROM information_schema.tables WHERE table_name = 't'").await,
        "pg_temp"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_in_words_are_read_by_the_servers_own_clock() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    let cases = [
        ("'now'::timestamptz = now(), timestamp 'today', CAST(E'tomorrow' AS date), date('Yesterday')", "2025-06-15"),
        (
            "'now'::timestamptz = now(), timestamp(0) 'today 00:00', '{tomorrow}'::date[], $$yesterday$$::date",
            "{2025-06-16}",
        ),
        ("'now'::time = localtime, 'now' > timestamp '2025-06-15', 'now', 'now'::text, 'TODAY'", "TODAY"),
    ];
    for (ask, expected) in cases {
        let row = player.rows(&format!("SELECT {ask}")).await.remove(0);
        assert_eq!(row[0], "true", "{ask}");
        assert!(row.iter().any(|value| value.starts_with(expected)), "{ask}: {row:?}");
        assert!(!row.iter().any(|value| value.starts_with("20") && !value.starts_with("2025-06-1")), "{ask}: {row:?}");
    }
    let words = [Value::Text("today".to_owned()), Value::Text("today".to_owned())];
    let ran = player.with("SELECT $1::date, $2::text", &words).await;
    assert_eq!(ran.results[0].rows, [["2025-06-15", "today"].map(|text| Value::Text(text.to_owned())).to_vec()]);
    player.commands("INSERT INTO orders (person, cents, placed) VALUES (1, 1, 'now'), (2, 2, 'yesterday')").await;
    assert_eq!(player.value("SELECT count(*) FROM orders WHERE placed BETWEEN 'yesterday' AND 'now'").await, "2");
    assert_eq!(player.value("CREATE TABLE day AS SELECT date 'today' AS d; SELECT d FROM day").await, "2025-06-15");
    let (code, message) = player.fails("ALTER TABLE day ALTER d SET DEFAULT 'today'").await;
    assert!(code == "42501" && message.contains("current_date"), "{message}");
    player.commands("COMMENT ON TABLE day IS 'today'; CREATE TABLE w (t text DEFAULT 'see you today')").await;
    let sql = "SELECT 'now'::date, wrong";
    let error = player.step(sql).await.error.expect("no such column");
    assert_eq!((&*error.code, error.position), ("42703", Some(sql.len() - 5)));
    let plan = player.database.explain("SELECT * FROM orders WHERE placed > 'today'", &[]).await.expect("alive");
    let lines = plan.expect("a plan").lines.join("\n");
    assert!(lines.contains("2025-01-01"), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_are_shown_and_not_run() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let script =
        "CREATE TABLE big (a int PRIMARY KEY, b int); INSERT INTO big SELECT i, i % 7 FROM generate_series(1, 20000) i";
    let mut player = cluster.open_on(script, Access::Write, Default::default()).await;
    let explain = async |player: &mut crate::cluster::Player, sql: &str| {
        player.database.explain(sql, &[Value::Integer(3)]).await.expect("a database")
    };
    let plan = explain(&mut player, "SELECT * FROM big WHERE a = $1").await.expect("a plan");
    let found = plan.nodes.iter().find(|node| node.kind == PlanKind::Search).expect("a search");
    assert_eq!((found.table.as_deref(), found.index.as_deref()), (Some("big"), Some("big_pkey")));
    assert!(plan.cost.is_some_and(|cost| cost > 0.0 && cost < 100.0), "{plan:?}");
    let plan = explain(&mut player, "SELECT * FROM big WHERE b > $1 ORDER BY b, a").await.expect("a plan");
    let kinds: Vec<PlanKind> = plan.nodes.iter().map(|node| node.kind).collect();
    assert_eq!(kinds, [PlanKind::Sort, PlanKind::Scan]);
    assert!(plan.lines[0].starts_with("Sort "), "{:?}", plan.lines);
    explain(&mut player, "DELETE FROM big WHERE a = $1").await.expect("a plan");
    assert_eq!(player.value("SELECT count(*) FROM big").await, "20000");
    let sql = "SELECT wrong FROM big";
    let error = player.database.explain(sql, &[]).await.expect("a database").expect_err("no such column");
    assert_eq!(error.position, Some(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_read_from_the_catalogs() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let mut player = cluster.open(Access::Define).await;
    player.rows("CREATE UNIQUE INDEX names ON people (lower(name)) WHERE age > 1; ALTER TABLE people ADD UNIQUE (name, age)").await;
    let schema = player.database.schema().await.expect("a schema");
    let names: Vec<&str> = schema.tables.iter().map(|table| &*table.name).collect();
    assert_eq!(names, ["orders", "people", "totals"]);
    let (orders, people) = (&schema.tables[0], &schema.tables[1]);
    assert_eq!(orders.primary_key, ["id"]);
    assert_eq!(
        (&*orders.foreign_keys[0].table, &orders.foreign_keys[0].columns[..]),
        ("people", &["person".to_owned()][..])
    );
    assert_eq!(orders.foreign_keys[0].on_delete, "NO ACTION");
    assert_eq!(people.checks, ["(age >= 0)"]);
    assert_eq!(people.unique, [["name", "age"]]);
    assert_eq!((&*people.columns[0].type_name, people.columns[1].not_null), ("bigint", true));
    assert!(schema.tables[2].view && schema.tables[2].sql.as_deref().is_some_and(|sql| sql.contains("sum(")));
    let indexes: Vec<&str> = schema.indexes.iter().map(|index| &*index.name).collect();
    assert_eq!(indexes, ["names", "orders_person"]);
    assert_eq!((&schema.indexes[0].columns[..], schema.indexes[0].unique), (&["lower(name)".to_owned()][..], true));
    assert_eq!(schema.indexes[0].condition.as_deref(), Some("(age > 1)"));
}

//! Places for sessions: made ahead of need, used once, gone afterwards; in our own cluster and in one that is named.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use palestra_sql::engine::postgres::{Cluster, PostgresEngine, Settings};
use palestra_sql::engine::{Access, Engine, EngineError, Limits, Opening};
use palestra_sql::source::Source;

use crate::cluster::{Player, SHOP, TestCluster, settings};

/// Waits for something that happens in the background.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} does not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn opening() -> Opening {
    Opening { access: Access::Write, limits: Limits { statement_ms: 60_000, ..Limits::default() }, seed: 1 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_sessions_play_at_once_and_leave_nothing() {
    let Some(cluster) = TestCluster::new(2).await else { return };
    let source = Arc::new(Source::script(SHOP));
    let sessions =
        join_all((0..100).map(|_| async { cluster.engine.open(&source, &opening()).await.expect("a database") })).await;
    assert_eq!(cluster.engine.open_sessions(), 100);
    let mut players: Vec<Player> = sessions.into_iter().map(|database| Player { database, seq: 0 }).collect();
    let play = players.iter_mut().enumerate().map(async |(number, player)| {
        player.commands(&format!("INSERT INTO people VALUES ({}, 'guest', 1)", 100 + number)).await;
        player.commands("BEGIN; DELETE FROM orders").await;
        assert!(player.database.rewind(1).await.expect("alive"));
        player.rows("SELECT id FROM people WHERE name = 'guest'").await
    });
    for (number, rows) in join_all(play).await.into_iter().enumerate() {
        assert_eq!(rows, [[(100 + number).to_string()]], "each sees its own");
    }
    drop(players);
    assert_eq!(cluster.engine.open_sessions(), 0);
    until("the removal of sessions", async || {
        let warm = cluster.engine.ready(&source, Access::Write);
        let left = cluster.left("test").await;
        // The base, the template, three groups, and a database and a role for each warm place.
        warm == 2 && left.len() == 5 + 2 * warm
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_are_still_to_be_removed_do_not_pile_up() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let source = Arc::new(Source::script(SHOP));
    let many =
        join_all((0..100).map(|_| async { cluster.engine.open(&source, &opening()).await.expect("a database") }));
    drop(many.await);
    let _next = cluster.engine.open(&source, &opening()).await.expect("a database");
    let count =
        cluster.ask("SELECT count(*)::text FROM pg_database WHERE datname LIKE 'palestra\\_test\\_s\\_%'").await;
    let count: usize = count[0].parse().expect("a number");
    assert!(count <= 32, "{count} databases are there while one is used");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_bounded_and_templates_make_way() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    let named = Cluster::Url(cluster.url("palestra", "postgres"));
    let settings = Settings { cluster: named, node: "small".to_owned(), warm: 0, sessions_max: 2, templates_max: 2 };
    let engine = PostgresEngine::connect(settings.clone()).await.expect("an engine");
    let sources: Vec<_> =
        (0..4).map(|number| Arc::new(Source::script(format!("CREATE TABLE t AS SELECT {number} AS a")))).collect();
    let first = engine.open(&sources[0], &opening()).await.expect("a database");
    let _second = engine.open(&sources[1], &opening()).await.expect("a database");
    let third = engine.open(&sources[2], &opening()).await.err();
    assert!(matches!(third, Some(EngineError::Busy { .. })), "{third:?}");
    drop(first);
    for source in &sources {
        let database = engine.open(source, &opening()).await.expect("a database");
        let mut player = Player { database, seq: 0 };
        let number = sources.iter().position(|known| known == source).expect("one of them");
        assert_eq!(player.value("SELECT a FROM t").await, number.to_string());
    }
    let templates = cluster.left("small").await.into_iter().filter(|name| name.contains("_t_")).count();
    assert_eq!(templates, 2);
    let broken = Arc::new(Source::script("CREATE TABLE a (b int); INSERT INTO a VALUES ('x')"));
    let error = engine.prepare(&broken).await.expect_err("no number");
    assert!(
        matches!(&error, EngineError::Source(words) if words.contains("22P02") && words.contains("INSERT INTO a")),
        "{error}"
    );
    engine.close().await;
    assert_eq!(cluster.left("small").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_cluster_needs_no_superuser_but_rights() {
    let Some(cluster) = TestCluster::new(0).await else { return };
    // The test's own cluster is closed to everybody else; the owner of a named one lets the role in.
    cluster.ask("CREATE ROLE plain LOGIN; GRANT CONNECT ON DATABASE postgres TO plain").await;
    let settings = |user: &str| Settings {
        cluster: Cluster::Url(cluster.url(user, "postgres")),
        node: "named".to_owned(),
        warm: 1,
        sessions_max: 10,
        templates_max: 2,
    };
    let refused = PostgresEngine::connect(settings("plain")).await.err().expect("no rights");
    assert!(refused.to_string().contains("CREATEDB"), "{refused}");
    cluster.ask("ALTER ROLE plain CREATEDB CREATEROLE").await;
    cluster.ask("CREATE DATABASE palestra_other").await;
    let engine = PostgresEngine::connect(settings("plain")).await.expect("an engine");
    let source = Arc::new(Source::script(SHOP));
    for access in [Access::Read, Access::Write, Access::Define] {
        let database = engine.open(&source, &Opening { access, ..opening() }).await.expect("a database");
        let mut player = Player { database, seq: 0 };
        assert_eq!(player.value("SELECT sum(cents) FROM totals").await, "1349");
        assert_eq!(player.step("DELETE FROM orders").await.error.is_none(), access >= Access::Write);
        assert_eq!(player.step("ALTER TABLE people ADD x int").await.error.is_none(), access >= Access::Define);
        assert_eq!(player.fails("SELECT pg_advisory_lock(1)").await.0, "42501");
    }
    engine.close().await;
    assert_eq!(cluster.left("named").await, [""; 0]);
    assert_eq!(cluster.ask("SELECT datname FROM pg_database WHERE datname = 'palestra_other'").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_requirements_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = |url: &str| Settings { cluster: Cluster::Url(url.to_owned()), ..settings(folder.path(), 0) };
    let error =
        |settings: Settings| async move { PostgresEngine::connect(settings).await.err().expect("none").to_string() };
    assert!(error(url("postgres://a@127.0.0.1:1/b")).await.contains("refused"));
    assert!(error(url("postgres://a@127.0.0.1/b?sslmode=require")).await.contains("encrypted"));
    assert!(error(url("nonsense")).await.contains("URL"));
    let cluster = Cluster::Private { folder: folder.path().to_owned(), binaries: Some("/nonexistent".into()) };
    assert!(error(Settings { cluster, ..settings(folder.path(), 0) }).await.contains("initdb"));
    assert!(error(Settings { node: "a_b".to_owned(), ..settings(folder.path(), 0) }).await.contains("node"));
}

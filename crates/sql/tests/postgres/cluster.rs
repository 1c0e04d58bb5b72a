//! A private cluster for each test, and short ways to use it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use palestra_sql::engine::postgres::{Cluster, PostgresEngine, Settings};
use palestra_sql::engine::{Access, Database, Engine, EngineError, Limits, Opening, Step, StepResult};
use palestra_sql::source::Source;
use palestra_sql::value::Value;

/// Schema that the tests play with.
pub(crate) const SHOP: &str = "
    CREATE TABLE people (id bigint PRIMARY KEY, name text NOT NULL, age int CHECK (age >= 0));
    CREATE TABLE orders (id bigserial PRIMARY KEY, person bigint NOT NULL REFERENCES people (id) DEFERRABLE INITIALLY DEFERRED,
                         cents bigint NOT NULL, placed timestamptz NOT NULL DEFAULT now());
    CREATE INDEX orders_person ON orders (person);
    CREATE VIEW totals AS SELECT person, sum(cents) AS cents FROM orders GROUP BY person;
    INSERT INTO people VALUES (1, 'Ada', 36), (2, 'Grace', 85), (3, 'Edsger', 72);
    INSERT INTO orders (person, cents) VALUES (1, 1000), (1, 250), (2, 99);
";

/// An engine in a folder of its own; both are gone when it is dropped.
pub(crate) struct TestCluster {
    pub(crate) engine: PostgresEngine,
    folder: tempfile::TempDir,
}

impl TestCluster {
    /// `None`, said aloud, where PostgreSQL is not installed.
    pub(crate) async fn new(warm: usize) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("palestra-pg-").tempdir_in("/tmp").expect("a folder");
        // The user that runs the server has to get through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our folder");
        let engine = match PostgresEngine::connect(settings(folder.path(), warm)).await {
            Err(EngineError::Missing(words)) if words.contains("not installed") => {
                palestra_test_support::not_tried("PostgreSQL");
                return None;
            }
            engine => engine.expect("an engine"),
        };
        Some(Self { engine, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// URL by which others than the engine reach the cluster.
    pub(crate) fn url(&self, user: &str, database: &str) -> String {
        format!("host={} user={user} dbname={database}", self.folder.path().join("pg").display())
    }

    /// The first column of a query of the administrator's.
    pub(crate) async fn ask(&self, sql: &str) -> Vec<String> {
        ask(&self.url("palestra", "postgres"), sql).await.expect("an answer")
    }

    /// Databases and roles that bear the name of a node.
    pub(crate) async fn left(&self, node: &str) -> Vec<String> {
        let prefix = format!("palestra_{node}_");
        let sql = format!(
            "SELECT datname FROM pg_database WHERE starts_with(datname, '{prefix}') \
             UNION ALL SELECT rolname FROM pg_roles WHERE starts_with(rolname, '{prefix}') ORDER BY 1"
        );
        self.ask(&sql).await
    }

    pub(crate) async fn open(&self, access: Access) -> Player {
        self.open_on(SHOP, access, Limits::default()).await
    }

    pub(crate) async fn open_on(&self, script: &str, access: Access, limits: Limits) -> Player {
        let source = Arc::new(Source::script(script));
        let database = self.engine.open(&source, &Opening { access, limits, seed: 7 }).await.expect("a database");
        Player { database, seq: 0 }
    }
}

pub(crate) fn settings(folder: &Path, warm: usize) -> Settings {
    let cluster = Cluster::Private { folder: folder.join("pg"), binaries: None };
    Settings { cluster, node: "test".to_owned(), warm, sessions_max: 200, templates_max: 8 }
}

/// A session that counts its steps.
pub(crate) struct Player {
    pub(crate) database: Box<dyn Database>,
    pub(crate) seq: u64,
}

impl Player {
    pub(crate) async fn step(&mut self, sql: &str) -> StepResult {
        self.with(sql, &[]).await
    }

    pub(crate) async fn with(&mut self, sql: &str, parameters: &[Value]) -> StepResult {
        self.seq += 1;
        let now_ms = 1_750_000_000_000 + i64::try_from(self.seq).expect("small") * 60_000;
        self.database.run(&Step { seq: self.seq, sql, parameters, now_ms }).await.expect("a live database")
    }

    /// Runs what must succeed and gives the rows of the last statement as texts.
    pub(crate) async fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let ran = self.step(sql).await;
        assert_eq!(ran.error, None, "{sql}");
        let rows = ran.results.into_iter().next_back().map(|result| result.rows).unwrap_or_default();
        rows.iter().map(|row| row.iter().map(shown).collect()).collect()
    }

    /// The first value of what must succeed.
    pub(crate) async fn value(&mut self, sql: &str) -> String {
        self.rows(sql).await.into_iter().next().and_then(|row| row.into_iter().next()).expect("a value")
    }

    /// The code of what must fail, and its message.
    pub(crate) async fn fails(&mut self, sql: &str) -> (String, String) {
        let error = self.step(sql).await.error.unwrap_or_else(|| panic!("{sql} succeeds"));
        (error.code, error.message)
    }

    /// The commands that succeeded.
    pub(crate) async fn commands(&mut self, sql: &str) -> Vec<String> {
        let ran = self.step(sql).await;
        assert_eq!(ran.error, None, "{sql}");
        ran.results.into_iter().map(|result| result.command).collect()
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Decimal(text) | Value::Text(text) => text.clone(),
        Value::Blob(bytes) => format!("{bytes:?}"),
    }
}

/// The first column of what a query gives somebody who comes past the engine, or the error's code.
pub(crate) async fn ask(url: &str, sql: &str) -> Result<Vec<String>, String> {
    let config: tokio_postgres::Config = url.parse().expect("a URL");
    let code =
        |error: &tokio_postgres::Error| error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned());
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.map_err(|error| code(&error))?;
    let talk = async {
        let messages = client.simple_query(sql).await.map_err(|error| code(&error))?;
        let rows = messages.iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(rows.collect())
    };
    tokio::select! {
        rows = talk => rows,
        _ = connection => Err("the connection ended".to_owned()),
    }
}

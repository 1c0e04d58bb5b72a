//! Both engines, with the same small database.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use palestra_sql::engine::postgres::PostgresEngine;
use palestra_sql::engine::sqlite::SqliteEngine;
use palestra_sql::engine::{Access, Engine, Limits, postgres, sqlite};
use palestra_sql::library::Library;
use palestra_sql::session::{DatabaseSession, Input, Observation, SessionOpening};
use palestra_sql::source::Source;
use palestra_sql::task::{Data, Kind, Spoken, Submission, Task};
use palestra_sql::value::Dialect;
use serde_json::{Value as Json, json};

use crate::private;

pub(crate) const SEED: u64 = 7;

/// An engine, and what must live as long as it.
pub(crate) struct Stage {
    pub(crate) engine: Arc<dyn Engine>,
    cluster: Option<(PostgresEngine, tempfile::TempDir)>,
}

impl Stage {
    pub(crate) fn sqlite() -> Self {
        let command = vec![OsString::from(env!("CARGO_BIN_EXE_palestra-sqlite-worker"))];
        let engine = SqliteEngine::new(sqlite::Settings { workers: 1, ..sqlite::Settings::new(command) });
        Self { engine: Arc::new(engine), cluster: None }
    }

    /// `None` where PostgreSQL is not installed.
    pub(crate) async fn postgres() -> Option<Self> {
        let settings = |cluster| postgres::Settings {
            cluster,
            node: "sessions".to_owned(),
            warm: 1,
            sessions_max: 50,
            templates_max: 8,
        };
        let (engine, folder) = private::postgres(settings).await?;
        Some(Self { engine: Arc::new(engine.clone()), cluster: Some((engine, folder)) })
    }

    pub(crate) async fn close(self) {
        if let Some((engine, _folder)) = self.cluster {
            engine.close().await;
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.engine.dialect()
    }

    pub(crate) async fn session(&self, task: &Arc<Task>, from: Option<Json>) -> DatabaseSession {
        self.limited_session(task, from, Limits::default()).await
    }

    pub(crate) async fn limited_session(
        &self,
        task: &Arc<Task>,
        from: Option<Json>,
        limits: Limits,
    ) -> DatabaseSession {
        let opening = SessionOpening { seed: SEED, limits, from };
        DatabaseSession::open(Arc::clone(&self.engine), Arc::new(Shop), Arc::clone(task), opening)
            .await
            .expect("a session")
    }
}

pub(crate) async fn call(session: &mut DatabaseSession, tool: &str, arguments: Json) -> Observation {
    session.act(Input::Call { tool, arguments: &arguments }).await.expect("an answer")
}

pub(crate) async fn query(session: &mut DatabaseSession, sql: &str) -> Observation {
    call(session, "query", json!({"sql": sql})).await
}

/// A shop, and the same with other rows.
pub(crate) struct Shop;

impl Library for Shop {
    fn source(&self, data: &Data, setup: &Spoken, dialect: Dialect) -> Result<Arc<Source>, String> {
        let key = match dialect {
            Dialect::Sqlite => "INTEGER PRIMARY KEY AUTOINCREMENT",
            Dialect::Postgres => "bigserial PRIMARY KEY",
        };
        let rows = match data {
            Data::Stored(name) if name == "main" => "(1, 'Bonn', 100), (2, 'Ulm', 250), (3, 'Bonn', 300)",
            Data::Stored(name) if name == "other" => "(1, 'Kiel', 900), (2, 'Bonn', 50)",
            other => return Err(format!("no data {other:?}")),
        };
        let setup = setup.in_dialect(dialect).unwrap_or_default();
        Ok(Arc::new(Source::script(format!(
            "CREATE TABLE orders (id bigint PRIMARY KEY, city text NOT NULL, cents bigint NOT NULL);\
             CREATE TABLE audit (id {key}, note text);\
             CREATE VIEW dear AS SELECT * FROM orders WHERE cents > 100;\
             INSERT INTO orders VALUES {rows};{setup}"
        ))))
    }
}

pub(crate) fn task(submission: Submission, checks: Json) -> Task {
    Task {
        kind: Kind::Migration,
        template: "shop".to_owned(),
        instruction: "Put the shop in order.".to_owned(),
        difficulty: None,
        data: Data::Stored("main".to_owned()),
        others: vec![Data::Stored("other".to_owned())],
        setup: Spoken::Nothing,
        access: Access::Define,
        submission,
        checks: serde_json::from_value(checks).expect("checks"),
        solution: Vec::new(),
        solution_submission: None,
        begins_ms: None,
        metadata: BTreeMap::new(),
    }
}

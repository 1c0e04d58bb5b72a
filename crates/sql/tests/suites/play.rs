//! Episodes: a session that acts and submits, and its judge.

use std::sync::Arc;

use palestra_sql::engine::{Access, Engine, Limits, Opening, StatementResult, Step};
use palestra_sql::judge;
use palestra_sql::library::Library;
use palestra_sql::session::{DatabaseSession, Input, SessionOpening};
use palestra_sql::task::{Data, Spoken, Submission, Task};
use serde_json::json;

/// Where episodes are played.
pub(crate) struct Table {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) library: Arc<dyn Library>,
}

/// Moves of an episode.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moves {
    /// Statements, one action each.
    pub(crate) steps: Vec<String>,
    /// Submission; nothing where the episode is given up.
    pub(crate) submission: Option<String>,
}

/// Outcome of an episode.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) score: f64,
    /// Errors of the session, and reasons of failed checks.
    pub(crate) notes: Vec<String>,
}

impl Table {
    /// Plays and judges.
    pub(crate) async fn play(&self, task: &Task, moves: &Moves) -> Outcome {
        let opening = SessionOpening { seed: 1, limits: Limits::default(), from: None };
        let task = Arc::new(task.clone());
        let mut session =
            DatabaseSession::open(Arc::clone(&self.engine), Arc::clone(&self.library), Arc::clone(&task), opening)
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", task.template));
        let mut notes = Vec::new();
        for sql in &moves.steps {
            let seen =
                session.act(Input::Call { tool: "query", arguments: &json!({"sql": sql}) }).await.expect("an action");
            if !seen.data["error"].is_null() {
                notes.push(seen.text);
            }
        }
        if let Some(text) = &moves.submission {
            let arguments = match task.submission {
                Submission::Sql => json!({"sql": text}),
                Submission::Answer => json!({"answer": text}),
                Submission::State => json!({}),
            };
            let seen = session.act(Input::Call { tool: "submit", arguments: &arguments }).await.expect("an action");
            if !seen.terminated {
                notes.push(seen.text);
            }
        }
        let evidence = session.evidence();
        session.close().await;
        let judged = judge::judge(self.engine.as_ref(), self.library.as_ref(), &task, 1, &evidence).await;
        let judged = judged.unwrap_or_else(|error| panic!("{}: {error}\n{task:#?}", task.template));
        notes.extend(
            judged
                .checks
                .iter()
                .filter(|check| !check.passed)
                .map(|check| format!("{}: {}", check.name, check.evidence)),
        );
        Outcome { score: judged.score(), notes }
    }

    /// Rows of a query on untouched data.
    pub(crate) async fn rows(&self, data: &Data, setup: &Spoken, sql: &str) -> StatementResult {
        let source = self.library.source(data, setup, self.engine.dialect()).expect("a source");
        let limits = Limits { rows_max: 100_000, bytes_max: 64 << 20, ..Limits::default() };
        let opening = Opening { access: Access::Read, limits, seed: 1 };
        let mut database =
            self.engine.open(&source, &opening).await.unwrap_or_else(|error| panic!("{data:?}: {error}"));
        let ran = database.run(&Step { seq: 1, sql, parameters: &[], now_ms: 0 }).await.expect("a database");
        database.close().await;
        assert_eq!(ran.error, None, "{sql}");
        ran.results.into_iter().last().expect("a result")
    }
}

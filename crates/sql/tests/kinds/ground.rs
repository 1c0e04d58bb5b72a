//! Setup of the tests: engines, shipped environments, and episodes from the first look to the verdict.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sql::engine::postgres::{PostgresEngine, Settings as PostgresSettings};
use palestra_sql::engine::sqlite::{Settings, SqliteEngine};
use palestra_sql::engine::{Access, Engine, Limits, Opening, StatementResult, Step};
use palestra_sql::judge::judge;
use palestra_sql::library::Library;
use palestra_sql::script;
use palestra_sql::session::{DatabaseSession, Evidence, Input, LoggedStep, SessionOpening, Submitted};
use palestra_sql::task::{Data, Spoken, Submission, Task};
use palestra_sql::template::{DrawnTask, Suite};
use palestra_sql::value::{Dialect, Value};
use serde_json::{Value as Json, json};

use crate::private;

/// Seeds among which a task on a world is looked for.
const SEEDS_MAX: u64 = 200;

/// Templates of which a task takes a second to draw without optimisation: they choose the world on which all others are looked for.
const SLOW_TO_DRAW: [&str; 3] = ["rewrite-join-as-text", "rewrite-or-across-tables", "rewrite-materialized"];

/// Engines with what they need as long as they run.
pub(crate) struct Engines {
    pub(crate) all: Vec<Arc<dyn Engine>>,
    postgres: Option<PostgresEngine>,
    _folder: Option<tempfile::TempDir>,
}

impl Engines {
    /// SQLite, and PostgreSQL where it is installed.
    pub(crate) async fn start() -> Self {
        let worker = OsString::from(env!("CARGO_BIN_EXE_palestra-sqlite-worker"));
        let sqlite = SqliteEngine::new(Settings { workers: 2, ..Settings::new(vec![worker]) });
        let mut all: Vec<Arc<dyn Engine>> = vec![Arc::new(sqlite)];
        let settings = |cluster| PostgresSettings {
            cluster,
            node: "kinds".to_owned(),
            warm: 0,
            sessions_max: 16,
            templates_max: 64,
        };
        let (postgres, folder) = private::postgres(settings).await.unzip();
        all.extend(postgres.clone().map(|engine| Arc::new(engine) as Arc<dyn Engine>));
        Self { all, postgres, _folder: folder }
    }

    pub(crate) async fn stop(self) {
        if let Some(postgres) = self.postgres {
            postgres.close().await;
        }
    }
}

/// A shipped environment.
pub(crate) fn suite(name: &str) -> Arc<Suite> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../environments/sql").join(name);
    let mut files = BTreeMap::new();
    let mut read = |path: &Path, name: String| files.insert(name, std::fs::read(path).expect("a file"));
    read(&folder.join("environment.yaml"), "environment.yaml".to_owned());
    for entry in std::fs::read_dir(folder.join("templates")).expect("templates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        read(&path, format!("templates/{name}"));
    }
    Arc::new(Suite::load(&files).unwrap_or_else(|faults| panic!("{name}: {faults:#?}")))
}

/// Names of a suite's templates.
pub(crate) fn templates(suite: &Suite) -> Vec<String> {
    suite.templates().map(|(name, _)| name.to_owned()).collect()
}

/// Statements of a task's solution, in a dialect.
pub(crate) fn solution(task: &Task, dialect: Dialect) -> Vec<String> {
    let texts = task.solution.iter().map(|text| spoken(text, dialect));
    texts.flat_map(|text| script::split(text, dialect)).map(|statement| statement.text.to_owned()).collect()
}

/// The text of a dialect.
pub(crate) fn spoken(text: &Spoken, dialect: Dialect) -> &str {
    text.in_dialect(dialect).expect("both dialects")
}

/// Submission of a task's solution.
pub(crate) fn handed_in(task: &Task, dialect: Dialect) -> Submitted {
    let text = task.solution_submission.as_ref().map(|text| spoken(text, dialect).to_owned());
    match (task.submission, text) {
        (Submission::State, _) => Submitted::State,
        (Submission::Sql, Some(sql)) => Submitted::Sql(sql),
        (Submission::Answer, Some(answer)) => Submitted::Answer(answer),
        (_, None) => panic!("{}: nothing is handed in", task.template),
    }
}

/// The arguments by which that is handed in.
pub(crate) fn arguments(submission: &Submitted) -> Json {
    match submission {
        Submitted::State => json!({}),
        Submitted::Sql(sql) => json!({"sql": sql}),
        Submitted::Answer(answer) => json!({"answer": answer}),
    }
}

/// Plays an episode in a session: statements, each of which succeeds, then what is handed in; and its score.
pub(crate) async fn played(
    engine: &Arc<dyn Engine>,
    suite: &Arc<Suite>,
    task: &Task,
    statements: &[String],
    submission: &Json,
) -> f64 {
    let opening = SessionOpening { seed: 7, limits: Limits::default(), from: None };
    let library: Arc<dyn Library> = suite.clone();
    let mut session =
        DatabaseSession::open(engine.clone(), library, Arc::new(task.clone()), opening).await.expect("a session");
    for sql in statements {
        let seen = session.act(Input::Call { tool: "query", arguments: &json!({"sql": sql}) }).await.expect("a step");
        assert!(seen.data["error"].is_null(), "{}: {sql}\n{}", task.template, seen.text);
    }
    let seen = session.act(Input::Call { tool: "submit", arguments: submission }).await.expect("a step");
    assert!(seen.terminated, "{}: {}", task.template, seen.text);
    let evidence = session.evidence();
    session.close().await;
    judged(engine, suite, task, &evidence).await
}

/// The score of an episode of these statements, which a session would have kept like this.
pub(crate) async fn score(
    engine: &Arc<dyn Engine>,
    suite: &Arc<Suite>,
    task: &Task,
    statements: &[String],
    submission: Option<Submitted>,
) -> f64 {
    let steps = (1..).zip(statements);
    let step = |(seq, sql): (u64, &String)| LoggedStep {
        seq,
        sql: sql.clone(),
        parameters: Vec::new(),
        now_ms: task.now_ms(seq),
        pure: false,
        cut: None,
    };
    let evidence = Evidence { steps: steps.map(step).collect(), submission, limits: Limits::default() };
    judged(engine, suite, task, &json!(evidence)).await
}

async fn judged(engine: &Arc<dyn Engine>, suite: &Suite, task: &Task, evidence: &Json) -> f64 {
    let judged = judge(&**engine, suite, task, 7, evidence).await;
    let judged = judged.unwrap_or_else(|error| panic!("{} on {}: {error}", task.template, engine.dialect().name()));
    if judged.score() < 1.0 {
        let failed = judged.checks.iter().find(|check| !check.passed).map(|check| (&check.name, &check.evidence));
        println!("{} on {}: {failed:?}", task.template, engine.dialect().name());
    }
    judged.score()
}

/// Tasks of every template, all of a split and on one world, so that few databases are made.
pub(crate) fn neighbours(suite: &Suite, split: &str) -> Vec<DrawnTask> {
    neighbours_of(suite, split, &templates(suite))
}

/// Tasks of these templates, all of a split and on one world.
pub(crate) fn neighbours_of(suite: &Suite, split: &str, names: &[String]) -> Vec<DrawnTask> {
    let draw = |name: &String, seed| suite.drawn(name, split, seed).expect("a task");
    let slow: Vec<&String> = names.iter().filter(|name| SLOW_TO_DRAW.contains(&name.as_str())).collect();
    let choosing = if slow.is_empty() { vec![&names[0]] } else { slow };
    let mut drawn: BTreeMap<&String, Vec<DrawnTask>> = BTreeMap::new();
    let world = (0..SEEDS_MAX).find_map(|seed| {
        choosing.iter().for_each(|name| drawn.entry(name).or_default().push(draw(name, seed)));
        let has = |tasks: &[DrawnTask], data: &Data| tasks.iter().any(|one| one.task.data == *data);
        let mut worlds = drawn[choosing[0]].iter().map(|one| &one.task.data);
        worlds.find(|data| drawn.values().all(|tasks| has(tasks, data))).cloned()
    });
    let world = world.expect("a world on which all of them are drawn");
    let on_it = |name: &String| {
        let known = drawn.remove(name).unwrap_or_default();
        let further = (known.len() as u64..SEEDS_MAX).map(|seed| draw(name, seed));
        known.into_iter().chain(further).find(|one| one.task.data == world).expect("a task on that world")
    };
    names.iter().map(on_it).collect()
}

/// Results of queries on the initial data.
pub(crate) async fn ask(
    engine: &Arc<dyn Engine>,
    suite: &Suite,
    data: &Data,
    queries: &[&str],
) -> Vec<StatementResult> {
    let source = suite.source(data, &Spoken::Nothing, engine.dialect()).expect("a source");
    let limits = Limits { rows_max: 100_000, ..Limits::default() };
    let opening = Opening { access: Access::Read, limits, seed: 1 };
    let mut database = engine.open(&source, &opening).await.expect("a database");
    let mut results = Vec::new();
    for (seq, sql) in (1..).zip(queries) {
        let step = Step { seq, sql, parameters: &[], now_ms: 0 };
        let mut ran = database.run(&step).await.expect("an engine that lives");
        assert!(ran.error.is_none(), "{sql}: {:?}", ran.error);
        results.push(ran.results.pop().expect("a result"));
    }
    database.close().await;
    results
}

/// A value in words.
pub(crate) fn words(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Decimal(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

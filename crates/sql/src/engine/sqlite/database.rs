//! A session on a worker.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use palestra_sqlite_worker::wire::{Answer, Ask};
use tokio::runtime::Handle;

use super::capacity::Permit;
use super::process::WorkerLost;
use super::schema::{Answers, Objects, Rows};
use super::worker::Worker;
use super::{Host, convert, plan, schema};
use crate::engine::{
    CutReason, Database, EngineError, Opening, Plan, Schema, SchemaDetail, SqlError, Step, StepResult,
};
use crate::script::split;
use crate::value::{Dialect, Value};

/// Factor by which a statement may exceed its time where the machine is busy with others, as the worker measures it.
const BUSY: u64 = 4;
/// Time limit of a step in times of a statement's limit, however many statements it has, as the worker measures it.
const STEP: u64 = 10;
/// Bytes of a schema, in all that is asked about it.
const SCHEMA_BYTES_MAX: u64 = 16 << 20;

/// A session on a worker. Dropping it ends the session in the background.
pub(super) struct SqliteDatabase {
    host: Arc<Host>,
    worker: Arc<Worker>,
    permit: Option<Permit>,
    session: u64,
    opening: Opening,
    /// Set while a request is under way. Where it is found set, its answer never came, or who asked went away before: nobody knows
    /// what was done.
    midway: bool,
    runtime: Handle,
}

impl SqliteDatabase {
    pub(super) fn new(host: Arc<Host>, worker: Arc<Worker>, permit: Permit, session: u64, opening: Opening) -> Self {
        Self { host, worker, permit: Some(permit), session, opening, midway: false, runtime: Handle::current() }
    }

    /// Opens the session on a template.
    pub(super) async fn open(&self, template: String) -> Result<(), EngineError> {
        let Opening { access, limits, seed } = self.opening;
        let ask = Ask::Open {
            session: self.session,
            template,
            access: convert::access(access),
            limits: convert::limits(&limits),
            seed,
        };
        match self.exchange(ask, self.patience()).await? {
            Ok(Answer::Done) => Ok(()),
            Ok(other) => Err(self.worker.confused(&other).into()),
            Err(error) => Err(EngineError::Lost(error.message)),
        }
    }

    /// One request. Inside, the error of a request that no frame can hold.
    async fn exchange(&self, ask: Ask, time: Duration) -> Result<Result<Answer, SqlError>, WorkerLost> {
        match self.worker.process.frame(ask) {
            Ok(frame) => self.worker.process.exchange(frame, time).await.map(Ok),
            Err(_) => Ok(Err(SqlError {
                code: "SQLITE_TOOBIG".to_owned(),
                message: "string or blob too big".to_owned(),
                cut: Some(CutReason::Size),
                ..SqlError::default()
            })),
        }
    }

    async fn ask(&mut self, ask: Ask, time: Duration) -> Result<Result<Answer, SqlError>, EngineError> {
        if self.midway {
            return Err(EngineError::Lost(
                "an earlier request was never answered, or its answer not waited for".to_owned(),
            ));
        }
        self.midway = true;
        let answer = self.exchange(ask, time).await.map_err(lost)?;
        self.midway = false;
        Ok(answer)
    }

    /// The error where an answer is none to what was asked: nobody knows what was done.
    fn confused(&mut self, answer: Result<Answer, SqlError>) -> EngineError {
        self.midway = true;
        answer.map_or_else(|error| EngineError::Lost(error.message), |answer| lost(self.worker.confused(&answer)))
    }

    fn patience(&self) -> Duration {
        self.host.settings.patience
    }

    /// The time of a step with so many statements at most.
    fn time(&self, statements: usize) -> Duration {
        let times = (statements as u64).saturating_mul(BUSY).min(STEP);
        Duration::from_millis(self.opening.limits.statement_ms.saturating_mul(times)).saturating_add(self.patience())
    }

    /// Asks questions of ours, which change nothing: the rows of each, or why one of them failed.
    async fn look(&mut self, sql: String, left: &mut u64) -> Result<Result<Vec<Rows>, SqlError>, EngineError> {
        if sql.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let ask = Ask::Look { session: self.session, sql, bytes_max: *left };
        let ran = match self.ask(ask, self.time(1)).await? {
            Ok(Answer::Ran(ran)) => convert::ran(ran, ""),
            other => return Err(self.confused(other)),
        };
        if let Some(error) = ran.error {
            return Ok(Err(error));
        }
        let rows: Vec<Rows> = ran.results.into_iter().map(|result| result.rows).collect();
        *left = left.saturating_sub(rows.iter().map(schema::bytes).sum());
        Ok(Ok(rows))
    }

    /// Asks questions of which none may fail: a part of a schema is never taken for the whole.
    async fn look_at_all(&mut self, sql: String, left: &mut u64) -> Result<std::vec::IntoIter<Rows>, EngineError> {
        let rows = self.look(sql, left).await?.map_err(|error| {
            let why = if error.cut.is_some() { "is too large" } else { "cannot be read" };
            EngineError::Cut(Box::new(SqlError { message: format!("the schema {why}: {}", error.message), ..error }))
        })?;
        Ok(rows.into_iter())
    }

    /// Answers about every table and view. What is broken has none.
    async fn ask_about(&mut self, objects: &Objects, left: &mut u64) -> Result<BTreeMap<usize, Answers>, EngineError> {
        let tables = objects.tables();
        let questions = tables.iter().map(|at| objects.ask_columns(*at) + &objects.ask_table(*at)).collect();
        let mut rows = self.look_at_all(questions, left).await?;
        let mut answers = BTreeMap::new();
        for at in &tables {
            let (Some(columns), Some(indexes), Some(foreign_keys)) = (rows.next(), rows.next(), rows.next()) else {
                break;
            };
            answers.insert(*at, Answers::new(columns, indexes, foreign_keys));
        }
        let questions = answers.iter().map(|(at, answers)| objects.ask_indexes(*at, answers)).collect();
        let mut rows = self.look_at_all(questions, left).await?;
        for answers in answers.values_mut() {
            answers.add_indexes(&mut rows);
        }
        for at in objects.views() {
            let columns = match self.look(objects.ask_columns(at), left).await? {
                Ok(mut rows) => rows.pop().unwrap_or_default(),
                // Views on views can be made to take any time and room: where one takes too much, no other is asked.
                Err(error) if error.cut.is_some() => break,
                Err(_) => Rows::new(),
            };
            answers.insert(at, Answers::new(columns, Rows::new(), Rows::new()));
        }
        Ok(answers)
    }
}

/// Error of a session whose request has no answer.
fn lost(lost: WorkerLost) -> EngineError {
    if lost.midway { EngineError::Midway(lost.why) } else { lost.into() }
}

#[async_trait]
impl Database for SqliteDatabase {
    async fn run(&mut self, step: &Step<'_>) -> Result<StepResult, EngineError> {
        let ask = Ask::Run {
            session: self.session,
            seq: step.seq,
            sql: step.sql.to_owned(),
            parameters: convert::parameters(step.parameters),
            now_ms: step.now_ms,
        };
        let statements = step.sql.matches(';').count() + 1;
        match self.ask(ask, self.time(statements)).await? {
            Ok(Answer::Ran(ran)) => Ok(convert::ran(ran, step.sql)),
            Err(error) => Ok(StepResult { error: Some(error), pure: true, ..StepResult::default() }),
            other => Err(self.confused(other)),
        }
    }

    async fn rewind(&mut self, seq: u64) -> Result<bool, EngineError> {
        match self.ask(Ask::Rewind { session: self.session, seq }, self.patience()).await? {
            Ok(Answer::Rewound(done)) => Ok(done),
            other => Err(self.confused(other)),
        }
    }

    async fn fork(&mut self) -> Result<Option<Box<dyn Database>>, EngineError> {
        let Some(permit) = &self.permit else { return Ok(None) };
        let permit = self.host.place_beside(permit)?;
        let copy = self.host.name_session();
        // Made before the worker is asked, so that the copy ends also where nobody waits for it any more.
        let database = Self::new(Arc::clone(&self.host), Arc::clone(&self.worker), permit, copy, self.opening);
        match self.ask(Ask::Fork { session: self.session, copy }, self.patience()).await? {
            Ok(Answer::Rewound(true)) => Ok(Some(Box::new(database))),
            Ok(Answer::Rewound(false)) => Ok(None),
            other => Err(self.confused(other)),
        }
    }

    async fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Result<Plan, SqlError>, EngineError> {
        // SQLite would explain the first and not look at the others.
        let statements = split(sql, Dialect::Sqlite).len();
        if statements != 1 {
            return Ok(Err(SqlError {
                code: "SQLITE_AUTH".to_owned(),
                message: format!("one statement can be explained, and there are {statements}"),
                cut: Some(CutReason::Refused),
                ..SqlError::default()
            }));
        }
        let ask =
            Ask::Explain { session: self.session, sql: sql.to_owned(), parameters: convert::parameters(parameters) };
        let rows = match self.ask(ask, self.time(1)).await? {
            Ok(Answer::Explained(Ok(rows))) => rows,
            Ok(Answer::Explained(Err(error))) => return Ok(Err(convert::sql_error(error, sql))),
            Err(error) => return Ok(Err(error)),
            other => return Err(self.confused(other)),
        };
        let schema = self.schema().await?;
        Ok(Ok(plan::plan(&rows, sql, &schema)))
    }

    async fn schema(&mut self) -> Result<Schema, EngineError> {
        let mut left = SCHEMA_BYTES_MAX;
        let listed = self.look_at_all(schema::OBJECTS.to_owned(), &mut left).await?.next();
        let objects = Objects::read(&listed.unwrap_or_default());
        let answers = self.ask_about(&objects, &mut left).await?;
        Ok(objects.describe(answers))
    }

    async fn schema_details(&mut self) -> Result<BTreeSet<SchemaDetail>, EngineError> {
        let mut left = SCHEMA_BYTES_MAX;
        let listed = self.look_at_all(schema::OBJECTS.to_owned(), &mut left).await?.next();
        let objects = Objects::read(&listed.unwrap_or_default());
        let answers = self.ask_about(&objects, &mut left).await?;
        let mut schema_details = objects.schema_details(&answers);
        schema_details.extend(schema::numbers(self.look_at_all(schema::NUMBERS.to_owned(), &mut left).await?));
        Ok(schema_details)
    }

    async fn close(self: Box<Self>) {}
}

impl Drop for SqliteDatabase {
    fn drop(&mut self) {
        let (worker, permit, session) = (Arc::clone(&self.worker), self.permit.take(), self.session);
        let (midway, patience) = (self.midway, self.patience());
        self.host.tasks.spawn_on(
            async move {
                if midway {
                    worker.process.notify(Ask::Interrupt { session });
                }
                if let Ok(frame) = worker.process.frame(Ask::Close { session }) {
                    // Where it is not answered its worker is gone, and the session with it.
                    let _ = worker.process.exchange(frame, patience).await;
                }
                drop(permit);
            },
            &self.runtime,
        );
    }
}

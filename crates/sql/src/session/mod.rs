//! A database session: the acting side runs statements, reads the schema, rewinds, and submits.
//!
//! The session keeps a log of its surviving steps. Where a database cannot do something in place (rewind, fork,
//! survive its process), the session opens another one and replays the log. Time and randomness of SQL derive from
//! the seed and the action's number, so a replay gives the same results.

mod input;
mod log;
mod operation;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::cut_off::CutOff;
use crate::engine::{Access, CutReason, Database, Engine, EngineError, Limits, Opening, SqlError, Step};
use crate::library::Library;
use crate::observe;
use crate::source::Source;
use crate::task::{Submission, Task};
use crate::value::{Dialect, Value};

use input::Action;
pub use input::{Input, SQL_BYTES_MAX, STATEMENTS_MAX, random_call, tools};
use log::Snapshot;
pub use log::{Evidence, LoggedStep, Submitted};
use operation::{Explain, Operation, Query, ReadSchema, Replay, Rewind};

/// Bytes of the first observation's list of tables.
const TABLES_BYTES_MAX: usize = 8 << 10;

/// Settings of a new session.
#[derive(Debug, Clone)]
pub struct SessionOpening {
    /// Seed of SQL's random functions.
    pub seed: u64,
    /// Resource limits of statements.
    pub limits: Limits,
    /// Snapshot to resume from.
    pub from: Option<Json>,
}

/// Observation of the acting side.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// In words; see [`observe`].
    pub text: String,
    /// As data; see [`observe`].
    pub data: Json,
    /// True if the episode has ended.
    pub terminated: bool,
}

/// A session on one task.
pub struct DatabaseSession {
    factory: DatabaseFactory,
    task: Arc<Task>,
    first: Observation,
    /// `None` while an action runs, and after it was interrupted or its database was lost; the next action builds it
    /// again.
    database: Option<Box<dyn Database>>,
    log: Snapshot,
}

/// Source of this session's databases.
#[derive(Clone)]
struct DatabaseFactory {
    engine: Arc<dyn Engine>,
    source: Arc<Source>,
    opening: Opening,
}

impl DatabaseFactory {
    /// Builds a database by replaying these steps, without the pure ones. A first database that is lost on the way is
    /// replaced once, since the loss says nothing about the steps.
    async fn build(&self, steps: &[LoggedStep]) -> Result<Box<dyn Database>, EngineError> {
        match self.build_once(steps).await {
            Err(EngineError::Lost(why) | EngineError::Midway(why)) => {
                tracing::info!(%why, "a database was lost while it was built, and is built again");
                self.build_once(steps).await
            }
            built => built,
        }
    }

    async fn build_once(&self, steps: &[LoggedStep]) -> Result<Box<dyn Database>, EngineError> {
        let mut database = self.engine.open(&self.source, &self.opening).await?;
        self.replay(database.as_mut(), steps).await?;
        Ok(database)
    }

    /// As [`Self::build`]; `None` where the replay fails although an untouched database can be opened: then the steps
    /// are to blame.
    async fn rebuilt(&self, steps: &[LoggedStep]) -> Result<Option<Box<dyn Database>>, EngineError> {
        match self.build(steps).await {
            Err(EngineError::Lost(why) | EngineError::Midway(why)) => {
                self.try_untouched().await?;
                tracing::info!(%why, "the steps of a session do not run again, while an untouched database stands");
                Ok(None)
            }
            built => built.map(Some),
        }
    }

    /// Checks that an untouched database can be opened.
    async fn try_untouched(&self) -> Result<(), EngineError> {
        let mut untouched = self.engine.open(&self.source, &self.opening).await?;
        let step = Step { seq: 1, sql: "SELECT 1", parameters: &[], now_ms: 0 };
        untouched.run(&step).await?;
        untouched.close().await;
        Ok(())
    }

    /// Replays steps. A step that succeeded before and is cut off now gives a wrong database, which is an error.
    async fn replay(&self, database: &mut dyn Database, steps: &[LoggedStep]) -> Result<(), EngineError> {
        for logged in steps.iter().filter(|logged| !logged.pure) {
            let ran = logged.replay(database, self.engine.dialect()).await?;
            if logged.differs(&ran) {
                let seq = logged.seq;
                return Err(EngineError::Lost(format!("action {seq} was cut off when it was run again")));
            }
        }
        Ok(())
    }
}

/// Mark of a database after these steps.
fn mark(steps: &[LoggedStep]) -> u64 {
    steps.iter().rev().find(|logged| !logged.pure).map_or(0, |logged| logged.seq)
}

impl DatabaseSession {
    /// Opens a database for a task, at the beginning or where `opening.from` was taken.
    ///
    /// # Errors
    /// [`EngineError::Source`] when the task has no data in this dialect or its data is broken, or when `from` is no snapshot; else
    /// when no database can be had.
    pub async fn open(
        engine: Arc<dyn Engine>,
        library: Arc<dyn Library>,
        task: Arc<Task>,
        opening: SessionOpening,
    ) -> Result<Self, EngineError> {
        let source = library.source(&task.data, &task.setup, engine.dialect()).map_err(EngineError::Source)?;
        let log: Snapshot = match opening.from {
            Some(snapshot) => serde_json::from_value(snapshot)
                .map_err(|error| EngineError::Source(format!("no snapshot: {error}")))?,
            None => Snapshot { standing: vec![0], ..Snapshot::default() },
        };
        let opening = Opening { access: task.access, limits: opening.limits, seed: opening.seed };
        let factory = DatabaseFactory { engine, source, opening };
        let mut database = factory.build(&[]).await?;
        let first = first_look(&task, factory.engine.dialect(), database.as_mut()).await?;
        let database = match factory.replay(database.as_mut(), &log.steps).await {
            Ok(()) => Some(database),
            Err(EngineError::Lost(_) | EngineError::Midway(_)) => factory.rebuilt(&log.steps).await?,
            Err(error) => return Err(error),
        };
        Ok(Self { factory, task, first, database, log })
    }

    /// First observation: the instruction, the tables, and the tools.
    #[must_use]
    pub fn observe(&self) -> Observation {
        self.first.clone()
    }

    /// Number of actions so far.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.log.seq
    }

    /// Carries out the next action. Errors of the action are in the observation, and the action counts all the same.
    ///
    /// # Errors
    /// When the database was lost and could not be built again; the action did not happen then.
    pub async fn act(&mut self, input: Input<'_>) -> Result<Observation, EngineError> {
        self.take(input, None).await
    }

    /// Replays an action of another session on the same task; `then` is the data of its observation. An action that
    /// was cut off there is not tried again, but leaves the same state.
    ///
    /// # Errors
    /// As [`DatabaseSession::act`].
    pub async fn replay(&mut self, input: Input<'_>, then: &Json) -> Result<Observation, EngineError> {
        self.take(input, Some(then)).await
    }

    async fn take(&mut self, input: Input<'_>, then: Option<&Json>) -> Result<Observation, EngineError> {
        let seq = self.log.seq + 1;
        let ended = then.filter(|then| matches!(cut_of(then), Some(cut) if cut != CutReason::Refused));
        let mut seen = if self.log.submission.is_some() {
            Observation { terminated: true, ..refused("the episode has ended") }
        } else {
            match Action::read(input, self.dialect(), self.task.submission) {
                Ok(action) => match ended {
                    Some(then) => self.replay_cut(seq, action, then).await?,
                    None => self.carry_out(seq, action).await?,
                },
                Err(words) => refused(&words),
            }
        };
        self.log.seq = seq;
        self.log.standing.push(seq);
        // What `rewind` can be told.
        seen.data["seq"] = json!(seq);
        Ok(seen)
    }

    /// Evidence for a judge: the surviving steps, the submission, and the limits.
    #[must_use]
    pub fn evidence(&self) -> Json {
        let Snapshot { steps, submission, .. } = self.log.clone();
        json!(Evidence { steps, submission, limits: self.factory.opening.limits })
    }

    /// Value from which a session can be opened again, as its opening's `from`.
    #[must_use]
    pub fn snapshot(&self) -> Json {
        json!(self.log)
    }

    /// Forks the session. The same statements give the same results in both, random values included.
    ///
    /// # Errors
    /// When no database can be had.
    pub async fn fork(&mut self) -> Result<Self, EngineError> {
        let copy = match self.database.as_mut() {
            Some(database) => match database.fork().await {
                Ok(copy) => copy,
                Err(EngineError::Lost(_) | EngineError::Midway(_)) => {
                    self.database = None;
                    None
                }
                Err(error) => return Err(error),
            },
            None => None,
        };
        let database = match copy {
            Some(copy) => Some(copy),
            None => self.factory.rebuilt(&self.log.steps).await?,
        };
        Ok(Self {
            factory: self.factory.clone(),
            task: Arc::clone(&self.task),
            first: self.first.clone(),
            database,
            log: self.log.clone(),
        })
    }

    /// Closes the database.
    pub async fn close(mut self) {
        if let Some(database) = self.database.take() {
            database.close().await;
        }
    }

    fn dialect(&self) -> Dialect {
        self.factory.engine.dialect()
    }

    async fn carry_out(&mut self, seq: u64, action: Action) -> Result<Observation, EngineError> {
        match action {
            Action::Query { sql, parameters } => self.query(seq, sql, parameters).await,
            Action::Schema { table } => self.schema(table.as_deref()).await,
            Action::Explain { sql, parameters } => self.explain(&sql, &parameters).await,
            Action::Rewind { to_seq } => self.rewind(to_seq).await,
            Action::Submit { sql, answer } => Ok(self.submit(sql, answer)),
        }
    }

    /// Replays an action that was cut off, up to that point.
    async fn replay_cut(&mut self, seq: u64, action: Action, then: &Json) -> Result<Observation, EngineError> {
        if let (Action::Query { sql, parameters }, Some(cut)) = (action, CutOff::seen(then)) {
            let logged =
                LoggedStep { seq, sql, parameters, now_ms: self.task.now_ms(seq), pure: false, cut: Some(cut) };
            self.with_database(Replay(&logged, self.dialect())).await?;
            self.log.steps.push(logged);
        }
        let text = then["error"]["message"].as_str().unwrap_or_default().to_owned();
        Ok(Observation { text, data: then.clone(), terminated: false })
    }

    /// Runs an operation, once more on a rebuilt database if the first is lost. If the second is lost too while an
    /// untouched one can be opened, the operation is to blame and counts as cut off; else the engine is. The session
    /// has no database meanwhile.
    async fn with_database<E: Operation>(&mut self, operation: E) -> Result<E::Done, EngineError> {
        if let Some(database) = self.database.take() {
            match self.attempt(&operation, database).await {
                Err(EngineError::Lost(why)) => tracing::info!(%why, "a database was lost and is built again"),
                done => return done,
            }
        }
        let Some(database) = self.factory.rebuilt(&self.log.steps).await? else {
            return Ok(operation.cut_off(ended(self.dialect())));
        };
        match self.attempt(&operation, database).await {
            Err(EngineError::Lost(why)) => {
                self.factory.try_untouched().await?;
                tracing::info!(%why, "an action lost two databases while an untouched one stands, and is cut off");
                Ok(operation.cut_off(ended(self.dialect())))
            }
            done => done,
        }
    }

    /// Runs an operation on a database, which becomes the session's unless it is lost. An operation whose database
    /// was lost midway counts as cut off and is never repeated.
    async fn attempt<E: Operation>(
        &mut self,
        operation: &E,
        mut database: Box<dyn Database>,
    ) -> Result<E::Done, EngineError> {
        match operation.run(database.as_mut()).await {
            Err(EngineError::Lost(why)) => Err(EngineError::Lost(why)),
            Err(EngineError::Midway(why)) => {
                tracing::info!(%why, "a database was lost in the middle of an action, which is cut off");
                Ok(operation.cut_off(ended(self.dialect())))
            }
            done => {
                self.database = Some(database);
                match done {
                    Err(EngineError::Cut(error)) => Ok(operation.cut_off(*error)),
                    done => done,
                }
            }
        }
    }

    async fn query(&mut self, seq: u64, sql: String, parameters: Vec<Value>) -> Result<Observation, EngineError> {
        let mut logged = LoggedStep { seq, sql, parameters, now_ms: self.task.now_ms(seq), pure: false, cut: None };
        let ran = self.with_database(Query(logged.step())).await?;
        (logged.pure, logged.cut) = (ran.pure, CutOff::of(&ran));
        let (text, data) = observe::observe(self.dialect(), &logged.sql, &ran, &self.factory.opening.limits);
        self.log.steps.push(logged);
        Ok(Observation { text, data, terminated: false })
    }

    async fn schema(&mut self, table: Option<&str>) -> Result<Observation, EngineError> {
        let schema = match self.with_database(ReadSchema).await? {
            Ok(schema) => schema,
            Err(error) => return Ok(self.failed("", &error)),
        };
        let Some(name) = table else {
            let text = observe::schema_text(&schema, observe::TEXT_BYTES_MAX);
            return Ok(Observation { text, data: json!({"schema": schema, "error": null}), terminated: false });
        };
        let Some(info) = schema.tables.iter().find(|info| info.name.eq_ignore_ascii_case(name)) else {
            let names: Vec<&str> = schema.tables.iter().take(200).map(|info| info.name.as_str()).collect();
            return Ok(refused(&format!("there is no table {name:?}; there are {}", names.join(", "))));
        };
        let text = observe::table_text(info, &schema);
        Ok(Observation { text, data: json!({"table": info, "error": null}), terminated: false })
    }

    async fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Observation, EngineError> {
        let plan = self.with_database(Explain(sql, parameters)).await?;
        Ok(match plan {
            Ok(plan) => Observation {
                text: match plan.lines.as_slice() {
                    // SQLite says nothing of what looks up no rows.
                    [] => "(no plan: the statement reads nothing)".to_owned(),
                    lines => observe::lines_text(lines),
                },
                data: json!({"plan": {"lines": plan.lines, "cost": plan.cost}, "error": null}),
                terminated: false,
            },
            Err(error) => self.failed(sql, &error),
        })
    }

    /// Observation of a failure that is reported as a statement's.
    fn failed(&self, sql: &str, error: &SqlError) -> Observation {
        let (text, data) = observe::failed(self.dialect(), sql, error, &self.factory.opening.limits);
        Observation { text, data, terminated: false }
    }

    async fn rewind(&mut self, to_seq: u64) -> Result<Observation, EngineError> {
        if !self.log.standing.contains(&to_seq) {
            return Ok(refused(&format!(
                "action {to_seq} does not stand; those that do: {}",
                spans(&self.log.standing)
            )));
        }
        let stands = self.log.steps.partition_point(|logged| logged.seq <= to_seq);
        if self.log.steps[stands..].iter().any(|logged| !logged.pure) {
            let shorter = self.log.steps[..stands].to_vec();
            let target = mark(&shorter);
            let in_place = self.with_database(Rewind(target)).await?;
            if !in_place {
                let Some(fresh) = self.factory.rebuilt(&shorter).await? else {
                    return Ok(refused(&format!(
                        "the state after action {to_seq} cannot be had again: what was done up to it does not run again \
                         as it did; nothing is undone"
                    )));
                };
                self.database = Some(fresh);
            }
        }
        self.log.steps.truncate(stands);
        let undone = self.log.standing.iter().filter(|seq| **seq > to_seq).count();
        self.log.standing.retain(|seq| *seq <= to_seq);
        let place = if to_seq == 0 { "the beginning".to_owned() } else { format!("the state after action {to_seq}") };
        let text = format!("Back at {place}; {undone} later actions are undone.");
        Ok(Observation {
            text,
            data: json!({"rewound_to": to_seq, "undone": undone, "error": null}),
            terminated: false,
        })
    }

    fn submit(&mut self, sql: Option<String>, answer: Option<String>) -> Observation {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let submitted = match (self.task.submission, given(sql), given(answer)) {
            (Submission::Sql, Some(sql), None) => Submitted::Sql(sql),
            (Submission::Answer, None, Some(answer)) => Submitted::Answer(answer),
            (Submission::State, None, None) => Submitted::State,
            (Submission::Sql, ..) => {
                return refused("this task asks for a query: submit {\"sql\": …} and nothing else");
            }
            (Submission::Answer, ..) => {
                return refused("this task asks for a value: submit {\"answer\": …} and nothing else");
            }
            (Submission::State, ..) => {
                return refused("the state of the database is the result of this task: submit {} without anything");
            }
        };
        self.log.submission = Some(submitted);
        Observation { text: "Submitted.".to_owned(), data: json!({"submitted": true, "error": null}), terminated: true }
    }
}

/// Error of an operation that lost its database, as the engine reports an ended statement.
fn ended(dialect: Dialect) -> SqlError {
    let code = match dialect {
        Dialect::Sqlite => "SQLITE_INTERRUPT",
        Dialect::Postgres => "57014",
    };
    SqlError {
        code: code.to_owned(),
        message: "ended: the database was lost in the middle of this, and stands as it was before".to_owned(),
        cut: Some(CutReason::Lost),
        ..SqlError::default()
    }
}

/// Cut of an action, from the data of its observation.
fn cut_of(data: &Json) -> Option<CutReason> {
    CutReason::deserialize(&data["error"]["cut"]).ok()
}

fn refused(words: &str) -> Observation {
    let (text, data) = observe::refusal("action", words);
    Observation { text, data, terminated: false }
}

/// `0 to 3, 7`.
fn spans(seqs: &[u64]) -> String {
    let runs = seqs.chunk_by(|a, b| a + 1 == *b).filter_map(|run| Some((run.first()?, run.last()?)));
    let words: Vec<String> = runs
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    words.join(", ")
}

async fn first_look(task: &Task, dialect: Dialect, database: &mut dyn Database) -> Result<Observation, EngineError> {
    let schema = database.schema().await?;
    let engine = match dialect {
        Dialect::Sqlite => "SQLite",
        Dialect::Postgres => "PostgreSQL",
    };
    let allowed = match task.access {
        Access::Read => "You may read.",
        Access::Write => "You may read and change rows.",
        Access::Define => "You may read, change rows, and create, alter and drop tables, indexes, views and triggers.",
    };
    let (handed_in, block) = match task.submission {
        Submission::Sql => ("Hand in a query", "the query"),
        Submission::Answer => ("Hand in a value", "the value"),
        Submission::State => ("When the database is as it should be, end the episode", "nothing"),
    };
    let begins = task.begins_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let now = begins
        .map(|begins| format!(" The time is {} (UTC).", begins.strftime("%Y-%m-%d %H:%M:%S")))
        .unwrap_or_default();
    let text = format!(
        "{}\n\nThe database is {engine}. {allowed}{now} Its tables:\n{}\n\n\
         {handed_in} with `submit`; `query`, `schema`, `explain` and `rewind` are there for the way to it. In plain text, a block \
         fenced with ```sql is a query, one fenced with ```submit hands {block} in, and text without either is a query.",
        task.instruction.trim_end(),
        observe::schema_lines(&schema, TABLES_BYTES_MAX),
    );
    let submission = json!(task.submission);
    let data = json!({"instruction": task.instruction, "dialect": dialect, "access": task.access, "submission": submission, "schema": schema});
    Ok(Observation { text, data, terminated: false })
}

//! A session: one database in which the acting side runs statements, looks around, goes back, and hands something in.
//!
//! The room keeps the steps that stand, and nothing else: whatever a database cannot do in place (return to an older state, be
//! copied, survive its process) is done by opening another one and running those steps again. Time and randomness of SQL follow from
//! the seed and the number of the action, so that they give the same there.

mod errand;
mod input;
mod log;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::cut_off::CutOff;
use crate::engine::{Access, Cut, Database, Engine, EngineError, Limits, Opening, SqlError, Step};
use crate::library::Library;
use crate::observe;
use crate::source::Source;
use crate::task::{Submission, Task};
use crate::value::{Dialect, Value};

use errand::{Again, Errand, Explain, Look, Query, Return};
use input::Action;
pub use input::{Input, SQL_BYTES_MAX, STATEMENTS_MAX, random_call, tools};
use log::Snapshot;
pub use log::{Evidence, Logged, Submitted, now_ms};

/// Bytes of the first observation's list of tables.
const TABLES_BYTES_MAX: usize = 8 << 10;

/// With what a room is opened.
#[derive(Debug, Clone)]
pub struct RoomOpening {
    /// Randomness that SQL functions give follows from it.
    pub seed: u64,
    /// How much statements may take.
    pub limits: Limits,
    /// What [`Room::snapshot`] gave, to go on from there.
    pub from: Option<Json>,
}

/// What the acting side sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// In words; see [`observe`].
    pub text: String,
    /// As data; see [`observe`].
    pub data: Json,
    /// Whether the episode has ended.
    pub terminated: bool,
}

/// A session on one task.
pub struct Room {
    home: Home,
    task: Arc<Task>,
    first: Seen,
    /// Nothing while an action runs, and when it was broken off or its database was lost: it is built again then.
    database: Option<Box<dyn Database>>,
    kept: Snapshot,
}

/// From where databases of this session come.
#[derive(Clone)]
struct Home {
    engine: Arc<dyn Engine>,
    source: Arc<Source>,
    opening: Opening,
}

impl Home {
    /// A database in which these steps were run; pure ones are left out, for they change nothing. Another one where the first is lost
    /// on the way: that has nothing to do with what it is built for.
    async fn build(&self, steps: &[Logged]) -> Result<Box<dyn Database>, EngineError> {
        match self.build_once(steps).await {
            Err(EngineError::Lost(why) | EngineError::Midway(why)) => {
                tracing::info!(%why, "a database was lost while it was built, and is built again");
                self.build_once(steps).await
            }
            built => built,
        }
    }

    async fn build_once(&self, steps: &[Logged]) -> Result<Box<dyn Database>, EngineError> {
        let mut database = self.engine.open(&self.source, &self.opening).await?;
        self.replay(database.as_mut(), steps).await?;
        Ok(database)
    }

    /// The same; `None` where these steps do not come to their end again, while a database in which nothing was done stands: then it is
    /// they that are to blame.
    async fn rebuilt(&self, steps: &[Logged]) -> Result<Option<Box<dyn Database>>, EngineError> {
        match self.build(steps).await {
            Err(EngineError::Lost(why) | EngineError::Midway(why)) => {
                self.try_untouched().await?;
                tracing::info!(%why, "the steps of a session do not run again, while an untouched database stands");
                Ok(None)
            }
            built => built.map(Some),
        }
    }

    /// Whether a database in which nothing was done stands.
    async fn try_untouched(&self) -> Result<(), EngineError> {
        let mut untouched = self.engine.open(&self.source, &self.opening).await?;
        let step = Step { seq: 1, sql: "SELECT 1", parameters: &[], now_ms: now_ms(1) };
        untouched.run(&step).await?;
        untouched.close().await;
        Ok(())
    }

    /// Runs steps again. What went through and is cut off now makes another database than the session's, which is of no use.
    async fn replay(&self, database: &mut dyn Database, steps: &[Logged]) -> Result<(), EngineError> {
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

/// The mark at which a database with these steps stands.
fn mark(steps: &[Logged]) -> u64 {
    steps.iter().rev().find(|logged| !logged.pure).map_or(0, |logged| logged.seq)
}

impl Room {
    /// Opens a database for a task, at the beginning or where `opening.from` was taken.
    ///
    /// # Errors
    /// [`EngineError::Source`] when the task has no data in this dialect or its data is broken, or when `from` is no snapshot; else
    /// when no database can be had.
    pub async fn open(
        engine: Arc<dyn Engine>,
        library: Arc<dyn Library>,
        task: Arc<Task>,
        opening: RoomOpening,
    ) -> Result<Self, EngineError> {
        let source = library.source(&task.data, &task.setup, engine.dialect()).map_err(EngineError::Source)?;
        let kept: Snapshot = match opening.from {
            Some(snapshot) => serde_json::from_value(snapshot)
                .map_err(|error| EngineError::Source(format!("no snapshot: {error}")))?,
            None => Snapshot { standing: vec![0], ..Snapshot::default() },
        };
        let opening = Opening { access: task.access, limits: opening.limits, seed: opening.seed };
        let home = Home { engine, source, opening };
        let mut database = home.build(&[]).await?;
        let first = first_look(&task, home.engine.dialect(), database.as_mut()).await?;
        let database = match home.replay(database.as_mut(), &kept.steps).await {
            Ok(()) => Some(database),
            Err(EngineError::Lost(_) | EngineError::Midway(_)) => home.rebuilt(&kept.steps).await?,
            Err(error) => return Err(error),
        };
        Ok(Self { home, task, first, database, kept })
    }

    /// The first look: what is asked for, which tables there are, and what can be done.
    #[must_use]
    pub fn observe(&self) -> Seen {
        self.first.clone()
    }

    /// How many actions there have been.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.kept.seq
    }

    /// Carries out the next action. What is wrong with it is in what comes back, and it counts all the same.
    ///
    /// # Errors
    /// When the database was lost and could not be built again; the action did not happen then.
    pub async fn act(&mut self, input: Input<'_>) -> Result<Seen, EngineError> {
        self.take(input, None).await
    }

    /// Carries out the next action as one that was carried out before, in another room on the same task; `then` is the data of what was
    /// seen of it. What a limit ended then, or a database did not survive, is not tried again: it leaves what it left then.
    ///
    /// # Errors
    /// As [`Room::act`].
    pub async fn act_again(&mut self, input: Input<'_>, then: &Json) -> Result<Seen, EngineError> {
        self.take(input, Some(then)).await
    }

    async fn take(&mut self, input: Input<'_>, then: Option<&Json>) -> Result<Seen, EngineError> {
        let seq = self.kept.seq + 1;
        let ended = then.filter(|then| matches!(cut_of(then), Some(cut) if cut != Cut::Refused));
        let mut seen = if self.kept.submission.is_some() {
            Seen { terminated: true, ..refused("the episode has ended") }
        } else {
            match Action::read(input, self.dialect(), self.task.submission) {
                Ok(action) => match ended {
                    Some(then) => self.end_again(seq, action, then).await?,
                    None => self.carry_out(seq, action).await?,
                },
                Err(words) => refused(&words),
            }
        };
        self.kept.seq = seq;
        self.kept.standing.push(seq);
        // What `rewind` can be told.
        seen.data["seq"] = json!(seq);
        Ok(seen)
    }

    /// What a judge needs: the steps that stand, what was handed in, and under which limits they ran.
    #[must_use]
    pub fn evidence(&self) -> Json {
        let Snapshot { steps, submission, .. } = self.kept.clone();
        json!(Evidence { steps, submission, limits: self.home.opening.limits })
    }

    /// What a room can be opened again from, as [`RoomOpening::from`].
    #[must_use]
    pub fn snapshot(&self) -> Json {
        json!(self.kept)
    }

    /// An independent room at this point. The same statements give the same in both, random values included.
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
            None => self.home.rebuilt(&self.kept.steps).await?,
        };
        Ok(Self {
            home: self.home.clone(),
            task: Arc::clone(&self.task),
            first: self.first.clone(),
            database,
            kept: self.kept.clone(),
        })
    }

    /// Ends it.
    pub async fn close(mut self) {
        if let Some(database) = self.database.take() {
            database.close().await;
        }
    }

    fn dialect(&self) -> Dialect {
        self.home.engine.dialect()
    }

    async fn carry_out(&mut self, seq: u64, action: Action) -> Result<Seen, EngineError> {
        match action {
            Action::Query { sql, parameters } => self.query(seq, sql, parameters).await,
            Action::Schema { table } => self.schema(table.as_deref()).await,
            Action::Explain { sql, parameters } => self.explain(&sql, &parameters).await,
            Action::Rewind { to_seq } => self.rewind(to_seq).await,
            Action::Submit { sql, answer } => Ok(self.submit(sql, answer)),
        }
    }

    /// What an action left that ended before its end, without what ended it.
    async fn end_again(&mut self, seq: u64, action: Action, then: &Json) -> Result<Seen, EngineError> {
        if let (Action::Query { sql, parameters }, Some(cut)) = (action, CutOff::seen(then)) {
            let logged = Logged { seq, sql, parameters, now_ms: now_ms(seq), pure: false, cut: Some(cut) };
            self.with_database(Again(&logged, self.dialect())).await?;
            self.kept.steps.push(logged);
        }
        let text = then["error"]["message"].as_str().unwrap_or_default().to_owned();
        Ok(Seen { text, data: then.clone(), terminated: false })
    }

    /// Does something with the database, once more with another one where it was lost before. What loses that one as well is to blame
    /// where a database in which nothing was done stands, and is cut off; else the engine is. While it is under way, or where it is broken
    /// off, the room has none.
    async fn with_database<E: Errand>(&mut self, errand: E) -> Result<E::Done, EngineError> {
        if let Some(database) = self.database.take() {
            match self.attempt(&errand, database).await {
                Err(EngineError::Lost(why)) => tracing::info!(%why, "a database was lost and is built again"),
                done => return done,
            }
        }
        let Some(database) = self.home.rebuilt(&self.kept.steps).await? else {
            return Ok(errand.cut_off(ended(self.dialect())));
        };
        match self.attempt(&errand, database).await {
            Err(EngineError::Lost(why)) => {
                self.home.try_untouched().await?;
                tracing::info!(%why, "an action lost two databases while an untouched one stands, and is cut off");
                Ok(errand.cut_off(ended(self.dialect())))
            }
            done => done,
        }
    }

    /// Does something with a database, which is the room's afterwards unless it is lost. What its loss came in the middle of may have
    /// brought it about, and must not do so again: that counts as cut off, and the next action finds the database as it was before.
    async fn attempt<E: Errand>(
        &mut self,
        errand: &E,
        mut database: Box<dyn Database>,
    ) -> Result<E::Done, EngineError> {
        match errand.run(database.as_mut()).await {
            Err(EngineError::Lost(why)) => Err(EngineError::Lost(why)),
            Err(EngineError::Midway(why)) => {
                tracing::info!(%why, "a database was lost in the middle of an action, which is cut off");
                Ok(errand.cut_off(ended(self.dialect())))
            }
            done => {
                self.database = Some(database);
                match done {
                    Err(EngineError::Cut(error)) => Ok(errand.cut_off(*error)),
                    done => done,
                }
            }
        }
    }

    async fn query(&mut self, seq: u64, sql: String, parameters: Vec<Value>) -> Result<Seen, EngineError> {
        let mut logged = Logged { seq, sql, parameters, now_ms: now_ms(seq), pure: false, cut: None };
        let ran = self.with_database(Query(logged.step())).await?;
        (logged.pure, logged.cut) = (ran.pure, CutOff::of(&ran));
        let (text, data) = observe::observe(self.dialect(), &logged.sql, &ran, &self.home.opening.limits);
        self.kept.steps.push(logged);
        Ok(Seen { text, data, terminated: false })
    }

    async fn schema(&mut self, table: Option<&str>) -> Result<Seen, EngineError> {
        let schema = match self.with_database(Look).await? {
            Ok(schema) => schema,
            Err(error) => return Ok(self.failed("", &error)),
        };
        let Some(name) = table else {
            let text = observe::schema_text(&schema, observe::TEXT_BYTES_MAX);
            return Ok(Seen { text, data: json!({"schema": schema, "error": null}), terminated: false });
        };
        let Some(info) = schema.tables.iter().find(|info| info.name.eq_ignore_ascii_case(name)) else {
            let names: Vec<&str> = schema.tables.iter().take(200).map(|info| info.name.as_str()).collect();
            return Ok(refused(&format!("there is no table {name:?}; there are {}", names.join(", "))));
        };
        let text = observe::table_text(info, &schema);
        Ok(Seen { text, data: json!({"table": info, "error": null}), terminated: false })
    }

    async fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Seen, EngineError> {
        let plan = self.with_database(Explain(sql, parameters)).await?;
        Ok(match plan {
            Ok(plan) => Seen {
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

    /// What is seen of something that failed as a statement does.
    fn failed(&self, sql: &str, error: &SqlError) -> Seen {
        let (text, data) = observe::failed(self.dialect(), sql, error, &self.home.opening.limits);
        Seen { text, data, terminated: false }
    }

    async fn rewind(&mut self, to_seq: u64) -> Result<Seen, EngineError> {
        if !self.kept.standing.contains(&to_seq) {
            return Ok(refused(&format!(
                "action {to_seq} does not stand; those that do: {}",
                spans(&self.kept.standing)
            )));
        }
        let stands = self.kept.steps.partition_point(|logged| logged.seq <= to_seq);
        if self.kept.steps[stands..].iter().any(|logged| !logged.pure) {
            let shorter = self.kept.steps[..stands].to_vec();
            let target = mark(&shorter);
            let in_place = self.with_database(Return(target)).await?;
            if !in_place {
                let Some(fresh) = self.home.rebuilt(&shorter).await? else {
                    return Ok(refused(&format!(
                        "the state after action {to_seq} cannot be had again: what was done up to it does not run again \
                         as it did; nothing is undone"
                    )));
                };
                self.database = Some(fresh);
            }
        }
        self.kept.steps.truncate(stands);
        let undone = self.kept.standing.iter().filter(|seq| **seq > to_seq).count();
        self.kept.standing.retain(|seq| *seq <= to_seq);
        let place = if to_seq == 0 { "the beginning".to_owned() } else { format!("the state after action {to_seq}") };
        let text = format!("Back at {place}; {undone} later actions are undone.");
        Ok(Seen { text, data: json!({"rewound_to": to_seq, "undone": undone, "error": null}), terminated: false })
    }

    fn submit(&mut self, sql: Option<String>, answer: Option<String>) -> Seen {
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
        self.kept.submission = Some(submitted);
        Seen { text: "Submitted.".to_owned(), data: json!({"submitted": true, "error": null}), terminated: true }
    }
}

/// The error of what lost its database: that of a statement that was ended, as the engine has it.
fn ended(dialect: Dialect) -> SqlError {
    let code = match dialect {
        Dialect::Sqlite => "SQLITE_INTERRUPT",
        Dialect::Postgres => "57014",
    };
    SqlError {
        code: code.to_owned(),
        message: "ended: the database was lost in the middle of this, and stands as it was before".to_owned(),
        cut: Some(Cut::Lost),
        ..SqlError::default()
    }
}

/// What ended an action before its end, from the data of what was seen of it.
fn cut_of(data: &Json) -> Option<Cut> {
    Cut::deserialize(&data["error"]["cut"]).ok()
}

fn refused(words: &str) -> Seen {
    let (text, data) = observe::refusal("action", words);
    Seen { text, data, terminated: false }
}

/// `0 to 3, 7`.
fn spans(seqs: &[u64]) -> String {
    let runs = seqs.chunk_by(|a, b| a + 1 == *b).filter_map(|run| Some((run.first()?, run.last()?)));
    let words: Vec<String> = runs
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    words.join(", ")
}

async fn first_look(task: &Task, dialect: Dialect, database: &mut dyn Database) -> Result<Seen, EngineError> {
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
    let text = format!(
        "{}\n\nThe database is {engine}. {allowed} Its tables:\n{}\n\n\
         {handed_in} with `submit`; `query`, `schema`, `explain` and `rewind` are there for the way to it. In plain text, a block \
         fenced with ```sql is a query, one fenced with ```submit hands {block} in, and text without either is a query.",
        task.instruction.trim_end(),
        observe::schema_lines(&schema, TABLES_BYTES_MAX),
    );
    let submission = json!(task.submission);
    let data = json!({"instruction": task.instruction, "dialect": dialect, "access": task.access, "submission": submission, "schema": schema});
    Ok(Seen { text, data, terminated: false })
}

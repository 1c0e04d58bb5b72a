//! Databases of a judging: what the acting side left, and what the reference leaves.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::JudgeError;
use crate::engine::{
    Database, Engine, EngineError, Limits, Opening, Plan, Schema, SchemaDetail, SqlError, StatementResult, Step,
};
use crate::library::Library;
use crate::script;
use crate::session::{Evidence, LoggedStep};
use crate::task::{Data, Spoken, Task};
use crate::value::{Dialect, Value};

/// Time that everything may take that the acting side wrote, in one judging.
const ACTING_TIME: Duration = Duration::from_secs(120);
/// The judge allows so many times the session's time and memory, so that what was quick enough there is quick enough here.
const GENEROSITY: u64 = 4;
/// Rows and bytes of whole tables.
const ROWS_MAX: usize = 200_000;
const BYTES_MAX: usize = 64 << 20;

/// Reason why a check came to no verdict.
#[derive(Debug)]
pub(super) enum CheckFailure {
    /// The acting side's fault: the check fails.
    Acting(String),
    /// The task's fault.
    Verifier(String),
    Infra(String),
    /// A database was lost: worth another attempt.
    Lost(String),
    /// One was lost in which, or by what, the acting side did: worth another attempt, and its fault if that ends alike.
    Broken(String),
}

impl CheckFailure {
    /// Meaning of an engine's error where the acting side's statements were run.
    fn of_acting(error: EngineError) -> Self {
        match Self::from(error) {
            Self::Lost(why) => Self::Broken(why),
            other => other,
        }
    }
}

impl From<CheckFailure> for JudgeError {
    fn from(failure: CheckFailure) -> Self {
        match failure {
            CheckFailure::Verifier(why) => Self::Verifier(why),
            CheckFailure::Acting(why)
            | CheckFailure::Infra(why)
            | CheckFailure::Lost(why)
            | CheckFailure::Broken(why) => Self::Infra(why),
        }
    }
}

impl From<EngineError> for CheckFailure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Source(_) => Self::Verifier(error.to_string()),
            EngineError::Lost(_) | EngineError::Midway(_) => Self::Lost(error.to_string()),
            EngineError::Cut(_) => Self::Acting(error.to_string()),
            EngineError::Busy { .. } | EngineError::Missing(_) => Self::Infra(error.to_string()),
        }
    }
}

/// Author of the statements that are run: whose fault it is when it fails, and whose time it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Acting,
    Task,
}

/// State that all databases of a judging share.
pub(super) struct JudgeContext<'a> {
    engine: &'a dyn Engine,
    library: &'a dyn Library,
    pub(super) task: &'a Task,
    pub(super) evidence: &'a Evidence,
    opening: Opening,
    /// The moment of everything that is run here and was not run in the session.
    now_ms: i64,
    acting_left: Mutex<Duration>,
    /// Reason why the state that the acting side left is lost.
    given_up: Mutex<Option<String>>,
}

impl<'a> JudgeContext<'a> {
    pub(super) fn new(
        engine: &'a dyn Engine,
        library: &'a dyn Library,
        task: &'a Task,
        seed: u64,
        evidence: &'a Evidence,
    ) -> Self {
        let session = evidence.limits;
        let limits = Limits {
            statement_ms: session.statement_ms.saturating_mul(GENEROSITY),
            rows_max: session.rows_max.max(ROWS_MAX),
            bytes_max: session.bytes_max.max(BYTES_MAX),
            memory_max: session.memory_max.saturating_mul(GENEROSITY as usize).max(2 * BYTES_MAX),
            growth_max: session.growth_max,
        };
        let last = evidence.steps.last().map_or(0, |logged| logged.seq);
        let opening = Opening { access: task.access, limits, seed };
        let now_ms = task.now_ms(last + 1);
        Self {
            engine,
            library,
            task,
            evidence,
            opening,
            now_ms,
            acting_left: Mutex::new(ACTING_TIME),
            given_up: Mutex::default(),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.engine.dialect()
    }

    /// Text of a task in the engine's dialect.
    pub(super) fn spoken<'b>(&self, spoken: &'b Spoken, what: &str) -> Result<&'b str, CheckFailure> {
        let missing = || CheckFailure::Verifier(format!("{what} is not there for {}", self.dialect().name()));
        spoken.in_dialect(self.dialect()).ok_or_else(missing)
    }

    /// Waits for something of which the acting side has only so much time.
    async fn timed<T>(
        &self,
        author: Author,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, CheckFailure> {
        if author == Author::Task {
            return Ok(work.await?);
        }
        let left = *self.acting_left.lock();
        let begun = Instant::now();
        let done = tokio::time::timeout(left, work).await;
        *self.acting_left.lock() = left.saturating_sub(begun.elapsed());
        match done {
            Ok(done) => done.map_err(CheckFailure::of_acting),
            Err(_) => {
                let seconds = ACTING_TIME.as_secs();
                Err(CheckFailure::Acting(format!("the statements took more than the judge's {seconds} s")))
            }
        }
    }
}

/// The databases for one data: never more than two at a time.
pub(super) struct TaskDatabases<'a> {
    pub(super) context: &'a JudgeContext<'a>,
    data: &'a Data,
    left: Option<ReplayedDatabase<'a>>,
    reference: Option<(String, ReplayedDatabase<'a>)>,
}

impl<'a> TaskDatabases<'a> {
    pub(super) fn new(context: &'a JudgeContext<'a>, data: &'a Data) -> Self {
        Self { context, data, left: None, reference: None }
    }

    /// Database as the acting side left it.
    pub(super) async fn left(&mut self) -> Result<&mut ReplayedDatabase<'a>, CheckFailure> {
        let given_up = self.context.given_up.lock().clone();
        if let Some(why) = given_up {
            return Err(CheckFailure::Acting(why));
        }
        let replayed = match self.left.take() {
            Some(replayed) => replayed,
            None => {
                let steps = self.context.evidence.steps.iter().filter(|logged| !logged.pure).cloned().collect();
                ReplayedDatabase::open(self.context, self.data, steps, Author::Acting).await?
            }
        };
        Ok(self.left.insert(replayed))
    }

    /// Database as the reference's statements leave it; without any, the data as it was.
    pub(super) async fn reference(&mut self, gold: &str) -> Result<&mut ReplayedDatabase<'a>, CheckFailure> {
        let untouched = self.context.evidence.steps.iter().all(|logged| logged.pure);
        if gold.trim().is_empty() && untouched {
            return self.left().await;
        }
        let replayed = match self.reference.take() {
            Some((stands, replayed)) if stands == gold => replayed,
            other => {
                if let Some((_, old)) = other {
                    old.close().await;
                }
                let now_ms = self.context.now_ms;
                let step =
                    LoggedStep { seq: 1, sql: gold.to_owned(), parameters: Vec::new(), now_ms, pure: false, cut: None };
                let steps = if gold.trim().is_empty() { Vec::new() } else { vec![step] };
                ReplayedDatabase::open(self.context, self.data, steps, Author::Task).await?
            }
        };
        Ok(&mut self.reference.insert((gold.to_owned(), replayed)).1)
    }

    /// Verdict for statements of the acting side that lost their database twice. That is its fault where a database in which
    /// nothing was done stands, and then no later check looks at what it left; else it is the engine's.
    pub(super) async fn give_up(&mut self, why: &str) -> CheckFailure {
        self.clear().await;
        match self.try_untouched().await {
            Err(failure) => failure,
            Ok(()) => {
                let why = format!("the statements broke the database twice: {why}");
                *self.context.given_up.lock() = Some(why.clone());
                CheckFailure::Acting(why)
            }
        }
    }

    async fn try_untouched(&self) -> Result<(), CheckFailure> {
        let mut untouched = ReplayedDatabase::open(self.context, self.data, Vec::new(), Author::Task).await?;
        untouched.asked("SELECT 1", "a query of nothing").await?;
        untouched.close().await;
        Ok(())
    }

    /// Ends all databases; others are made when they are asked for.
    pub(super) async fn clear(&mut self) {
        for replayed in self.left.take().into_iter().chain(self.reference.take().map(|(_, replayed)| replayed)) {
            replayed.close().await;
        }
    }
}

/// A database in which steps were run. Everything that is run later is undone.
pub(super) struct ReplayedDatabase<'a> {
    context: &'a JudgeContext<'a>,
    data: &'a Data,
    steps: Vec<LoggedStep>,
    author: Author,
    /// Nothing after something was broken off; it is built again then.
    database: Option<Box<dyn Database>>,
    /// The mark of what stands.
    stands: u64,
    seq: u64,
}

impl<'a> ReplayedDatabase<'a> {
    async fn open(
        context: &'a JudgeContext<'a>,
        data: &'a Data,
        steps: Vec<LoggedStep>,
        author: Author,
    ) -> Result<Self, CheckFailure> {
        let mut replayed = Self { context, data, steps, author, database: None, stands: 0, seq: 0 };
        replayed.build().await?;
        Ok(replayed)
    }

    async fn build(&mut self) -> Result<(), CheckFailure> {
        self.database = None;
        self.seq = 0;
        let context = self.context;
        let source = context
            .library
            .source(self.data, &context.task.setup, context.dialect())
            .map_err(CheckFailure::Verifier)?;
        let mut database = context.engine.open(&source, &context.opening).await?;
        for logged in &self.steps {
            let ran = context.timed(self.author, logged.replay(database.as_mut(), context.dialect())).await?;
            match (self.author, &ran.error) {
                (Author::Task, Some(error)) => {
                    return Err(CheckFailure::Verifier(format!("the reference fails: {}", error.message)));
                }
                // On the session's data it went through with less; on other data it may take more, and fails there.
                (Author::Acting, Some(error)) if self.is_the_sessions() && logged.differs(&ran) => {
                    return Err(CheckFailure::Broken(format!("action {} was cut off: {}", logged.seq, error.message)));
                }
                _ => {}
            }
            self.seq = logged.seq;
        }
        if !self.steps.is_empty() {
            self.end_session(database.as_mut()).await?;
        }
        self.stands = self.seq;
        self.database = Some(database);
        Ok(())
    }

    fn is_the_sessions(&self) -> bool {
        std::ptr::eq(self.data, &self.context.task.data)
    }

    /// Ends what ends with a session, as a new connection would find it.
    async fn end_session(&mut self, database: &mut dyn Database) -> Result<(), CheckFailure> {
        let (resets, temporary) = match self.context.dialect() {
            Dialect::Sqlite => (SQLITE_RESETS, SQLITE_TEMPORARY),
            Dialect::Postgres => (POSTGRES_RESETS, POSTGRES_TEMPORARY),
        };
        for reset in resets {
            // It fails where there is nothing to reset: where no transaction is open, or none may be.
            drop(self.run(database, reset, self.context.now_ms, self.author).await?);
        }
        let listed = self.run(database, temporary, self.context.now_ms, self.author).await?.0;
        let listed = listed.map_err(|error| self.blamed("there is no list of temporary objects", &error))?;
        for row in listed.rows {
            let [Value::Text(sql)] = row.as_slice() else { continue };
            let removed = self.run(database, sql, self.context.now_ms, self.author).await?.0;
            removed.map_err(|error| self.blamed("a temporary object cannot be removed", &error))?;
        }
        Ok(())
    }

    /// The fault of whoever's statements were run here.
    fn blamed(&self, what: &str, error: &SqlError) -> CheckFailure {
        let why = format!("{what}: {}", error.message);
        match self.author {
            Author::Acting => CheckFailure::Acting(why),
            Author::Task => CheckFailure::Verifier(why),
        }
    }

    /// Result of the last of some statements, and whether they certainly changed nothing.
    async fn run(
        &mut self,
        database: &mut dyn Database,
        sql: &str,
        now_ms: i64,
        author: Author,
    ) -> Result<(Result<StatementResult, SqlError>, bool), CheckFailure> {
        self.seq += 1;
        let step = Step { seq: self.seq, sql, parameters: &[], now_ms };
        let ran = self.context.timed(author, database.run(&step)).await?;
        let done = match (ran.error, ran.results.into_iter().next_back()) {
            (Some(error), _) => Err(error),
            (None, Some(result)) => Ok(result),
            (None, None) => Err(SqlError { message: "no statement".to_owned(), ..SqlError::default() }),
        };
        Ok((done, ran.pure))
    }

    /// Result of one statement. Whatever it changes is undone.
    pub(super) async fn read(
        &mut self,
        sql: &str,
        author: Author,
    ) -> Result<Result<StatementResult, SqlError>, CheckFailure> {
        self.read_after("", sql, author).await
    }

    /// As [`ReplayedDatabase::read`], after statements that are undone as well.
    pub(super) async fn read_after(
        &mut self,
        changes: &str,
        sql: &str,
        author: Author,
    ) -> Result<Result<StatementResult, SqlError>, CheckFailure> {
        self.read_at(self.context.now_ms, changes, sql, author).await
    }

    /// As [`ReplayedDatabase::read_after`], at another moment.
    pub(super) async fn read_at(
        &mut self,
        now_ms: i64,
        changes: &str,
        sql: &str,
        author: Author,
    ) -> Result<Result<StatementResult, SqlError>, CheckFailure> {
        let count = script::split(sql, self.context.dialect()).len();
        if count != 1 {
            let message = format!("expected one statement, found {count}");
            return Ok(Err(SqlError { message, ..SqlError::default() }));
        }
        let mut database = self.take().await?;
        let (changed, unchanging) = match changes.trim() {
            "" => (Ok(()), true),
            changes => {
                let (changed, unchanging) = self.run(database.as_mut(), changes, now_ms, author).await?;
                (changed.map(drop), unchanging)
            }
        };
        let (done, pure) = match changed {
            Ok(()) => self.run(database.as_mut(), sql, now_ms, author).await?,
            Err(error) => (Err(error), false),
        };
        if (pure && unchanging) || self.context.timed(author, database.rewind(self.stands)).await? {
            self.database = Some(database);
        }
        Ok(done)
    }

    /// As [`ReplayedDatabase::read`], for what the task asks: its failure is the task's fault.
    pub(super) async fn asked(&mut self, sql: &str, what: &str) -> Result<StatementResult, CheckFailure> {
        self.asked_after("", sql, what).await
    }

    /// As [`ReplayedDatabase::read_after`] and [`ReplayedDatabase::asked`].
    pub(super) async fn asked_after(
        &mut self,
        changes: &str,
        sql: &str,
        what: &str,
    ) -> Result<StatementResult, CheckFailure> {
        let result = self.read_after(changes, sql, Author::Task).await?;
        let result = result.map_err(|error| CheckFailure::Verifier(format!("{what} fails: {}", error.message)))?;
        if result.truncated {
            return Err(CheckFailure::Verifier(format!("{what} gives more than {} rows", result.rows.len())));
        }
        Ok(result)
    }

    pub(super) async fn schema(&mut self) -> Result<Schema, CheckFailure> {
        let mut database = self.take().await?;
        let schema = self.context.timed(self.author, database.schema()).await?;
        self.database = Some(database);
        Ok(schema)
    }

    pub(super) async fn schema_details(&mut self) -> Result<BTreeSet<SchemaDetail>, CheckFailure> {
        let mut database = self.take().await?;
        let schema_details = self.context.timed(self.author, database.schema_details()).await?;
        self.database = Some(database);
        Ok(schema_details)
    }

    pub(super) async fn explain(&mut self, sql: &str) -> Result<Result<Plan, SqlError>, CheckFailure> {
        let mut database = self.take().await?;
        let plan = self.context.timed(self.author, database.explain(sql, &[])).await?;
        self.database = Some(database);
        Ok(plan)
    }

    /// Estimated cost of a query, for an engine that gives one.
    pub(super) async fn run_cost(
        &mut self,
        sql: &str,
        author: Author,
    ) -> Result<Result<Option<f64>, SqlError>, CheckFailure> {
        let mut database = self.take().await?;
        let cost = self.context.timed(author, database.run_cost(sql)).await?;
        self.database = Some(database);
        Ok(cost)
    }

    async fn take(&mut self) -> Result<Box<dyn Database>, CheckFailure> {
        if self.database.is_none() {
            self.build().await?;
        }
        self.database.take().ok_or_else(|| CheckFailure::Infra("no database".to_owned()))
    }

    async fn close(self) {
        if let Some(database) = self.database {
            database.close().await;
        }
    }
}

// The second is refused where it could not have been changed.
const SQLITE_RESETS: &[&str] = &["ROLLBACK", "PRAGMA foreign_keys = ON"];

/// Statements that drop what is temporary: triggers and views before the tables that they are on.
const SQLITE_TEMPORARY: &str = "SELECT 'DROP ' || type || ' temp.\"' || replace(name, '\"', '\"\"') || '\"' \
     FROM temp.sqlite_schema WHERE type IN ('trigger', 'view', 'table') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
     ORDER BY type = 'table', type = 'view'";

const POSTGRES_RESETS: &[&str] = &[
    "ROLLBACK",
    "RESET search_path",
    "RESET timezone",
    "RESET datestyle",
    "RESET intervalstyle",
    "RESET extra_float_digits",
];

const POSTGRES_TEMPORARY: &str = "SELECT 'DROP ' || CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END || \
     ' IF EXISTS ' || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) || ' CASCADE' \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relpersistence = 't' AND c.relkind IN ('r', 'p', 'v', 'S') ORDER BY c.oid";

//! A database used as a session uses it: where it cannot return in place, it opens another and runs the surviving steps.

use std::sync::Arc;

use palestra_sql::engine::{Database, Engine, StepResult};
use palestra_sql::source::Source;

use super::{opening, run};

/// A step that was run, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) seq: u64,
    pub(crate) sql: String,
    pub(crate) ran: StepResult,
}

/// A session with its surviving steps.
pub(crate) struct Guest {
    engine: Arc<dyn Engine>,
    source: Arc<Source>,
    pub(crate) database: Box<dyn Database>,
    pub(crate) log: Vec<Done>,
    last: u64,
}

impl Guest {
    pub(crate) async fn new(engine: &Arc<dyn Engine>, source: &Arc<Source>) -> Self {
        let database = engine.open(source, &opening()).await.expect("a database");
        Self { engine: Arc::clone(engine), source: Arc::clone(source), database, log: Vec::new(), last: 0 }
    }

    /// Runs the next step.
    pub(crate) async fn step(&mut self, sql: &str) -> StepResult {
        self.last += 1;
        let ran = run(&mut self.database, self.last, sql).await;
        self.log.push(Done { seq: self.last, sql: sql.to_owned(), ran: ran.clone() });
        ran
    }

    /// Returns to the point after so many surviving steps.
    pub(crate) async fn rewind(&mut self, steps: usize) {
        let seq = steps.checked_sub(1).map_or(0, |last| self.log[last].seq);
        self.log.truncate(steps);
        // A rewind is a step of the session itself.
        self.last += 1;
        if !self.database.rewind(seq).await.expect("the database stands") {
            self.database = self.replay().await;
        }
    }

    /// Goes on in a copy, and gives back the origin.
    pub(crate) async fn move_to_fork(&mut self) -> Self {
        let copy = match self.database.fork().await.expect("the database stands") {
            Some(copy) => copy,
            None => self.replay().await,
        };
        Self {
            engine: Arc::clone(&self.engine),
            source: Arc::clone(&self.source),
            database: std::mem::replace(&mut self.database, copy),
            log: self.log.clone(),
            last: self.last,
        }
    }

    /// A fresh database in which the surviving steps were run, and gave what they gave.
    pub(crate) async fn replay(&self) -> Box<dyn Database> {
        self.replay_of(|_| true).await
    }

    /// As [`Self::replay`], without the steps that are said to have changed nothing.
    pub(crate) async fn replay_changes(&self) -> Box<dyn Database> {
        self.replay_of(|done| !done.ran.pure).await
    }

    async fn replay_of(&self, chosen: impl Fn(&Done) -> bool) -> Box<dyn Database> {
        let mut database = self.engine.open(&self.source, &opening()).await.expect("a database");
        for done in self.log.iter().filter(|done| chosen(done)) {
            let ran = run(&mut database, done.seq, &done.sql).await;
            assert_eq!(ran, done.ran, "step {} again: {}\nof {:#?}", done.seq, done.sql, self.log);
        }
        database
    }
}

/// Everything in a database, as far as it can be read now: each table with its rows, and the schema around them.
pub(crate) async fn dump(database: &mut Box<dyn Database>, seq: u64) -> Vec<String> {
    let schema = database.schema().await.expect("the database stands");
    let mut all = vec![format!("{:?} {:?}", schema.indexes, schema.triggers)];
    for table in &schema.tables {
        let name = table.name.rsplit('.').next().unwrap_or_default();
        let ran = run(database, seq, &format!("SELECT * FROM {name} ORDER BY 1")).await;
        all.push(format!("{table:?}: {:?} {:?}", ran.results, ran.error));
    }
    all
}

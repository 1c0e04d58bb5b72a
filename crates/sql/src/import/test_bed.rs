//! A database and its counterexamples, open on both engines.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::engines::Engines;
use super::order;
use crate::dataset::Dataset;
use crate::engine::{Access, CutReason, Database, Engine, EngineError, Limits, Opening, StatementResult, Step};
use crate::fault::Fault;
use crate::source::Source;
use crate::task::now_ms;
use crate::value::Value;

/// Seconds that a reference may take: as many as a statement of a session.
const REFERENCE_S: u64 = 5;
/// Limits of a reference: more room than a statement of a session, and no more time.
const REFERENCE: Limits = Limits {
    statement_ms: REFERENCE_S * 1_000,
    rows_max: 20_000,
    bytes_max: 16 << 20,
    memory_max: 128 << 20,
    growth_max: 1 << 20,
};
/// Limits of a wrong query that a reference is told from: what takes longer is wrong anyway.
const MUTANT: Limits = Limits { statement_ms: 1_000, ..REFERENCE };

/// A database and its variants.
pub(super) struct TestBed {
    sqlite: BTreeMap<String, OpenDatabase>,
    postgres: BTreeMap<String, OpenDatabase>,
    /// Reason why a database is not on PostgreSQL.
    pub(super) why_not: String,
}

/// An open database.
pub(super) struct OpenDatabase {
    database: Box<dyn Database>,
    seq: u64,
}

/// Reason why a reference does not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// It was ended.
    #[error("the reference took more than {REFERENCE_S} s: simplify it")]
    Slow,
    /// The engine refuses it, or it gives too much.
    #[error("the reference fails: {0}")]
    Failed(String),
    /// It is something else, by this name.
    #[error("the reference must be a query, and is {0}")]
    NoQuery(String),
    /// It differs from itself.
    #[error("the reference gives another result each time: {0}")]
    Unsteady(String),
    /// The engine failed, which says nothing about the reference.
    #[error("the engine failed while the reference ran, publish again: {0}")]
    Engine(String),
}

/// Ties of rows in a reference's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ties {
    /// None do, or it has no order.
    None,
    /// Their order is open.
    InOrder,
    /// The result may hold any of them.
    AtTheCut,
}

impl TestBed {
    pub(super) async fn open(
        engines: &Engines,
        databases: &BTreeMap<String, Dataset>,
        name: &str,
        notes: &mut Vec<String>,
    ) -> Result<Self, Fault> {
        let mut test_bed =
            Self { sqlite: BTreeMap::new(), postgres: BTreeMap::new(), why_not: "PostgreSQL is not here".into() };
        let variants = format!("{name}#");
        for (name, dataset) in databases.iter().filter(|(other, _)| *other == name || other.starts_with(&variants)) {
            let opened = OpenDatabase::open(&engines.sqlite, dataset).await;
            let opened = opened.map_err(|why| Fault::new(name, why.to_string()))?;
            test_bed.sqlite.insert(name.clone(), opened);
            let Some(engine) = &engines.postgres else { continue };
            match OpenDatabase::open(engine, dataset).await {
                Ok(opened) => drop(test_bed.postgres.insert(name.clone(), opened)),
                Err(why) if !matches!(why, EngineError::Source(_)) => {
                    test_bed.close().await;
                    return Err(Fault::new(name, format!("PostgreSQL failed, publish again: {why}")));
                }
                Err(why) => {
                    notes.push(format!("{name}: not on PostgreSQL: {why}"));
                    test_bed.why_not = "the database does not load on PostgreSQL".into();
                }
            }
        }
        Ok(test_bed)
    }

    pub(super) fn sqlite(&mut self, name: &str) -> Option<&mut OpenDatabase> {
        self.sqlite.get_mut(name)
    }

    /// The database on SQLite and on PostgreSQL.
    pub(super) fn both(&mut self, name: &str) -> (Option<&mut OpenDatabase>, Option<&mut OpenDatabase>) {
        (self.sqlite.get_mut(name), self.postgres.get_mut(name))
    }

    pub(super) async fn close(self) {
        for opened in self.sqlite.into_values().chain(self.postgres.into_values()) {
            opened.database.close().await;
        }
    }
}

impl OpenDatabase {
    /// A database for references.
    pub(super) async fn open(engine: &Arc<dyn Engine>, dataset: &Dataset) -> Result<Self, EngineError> {
        Self::open_on(engine, &source(engine, dataset)?, REFERENCE).await
    }

    /// One for references and one for wrong queries.
    pub(super) async fn open_both(engine: &Arc<dyn Engine>, dataset: &Dataset) -> Result<(Self, Self), EngineError> {
        let source = source(engine, dataset)?;
        let references = Self::open_on(engine, &source, REFERENCE).await?;
        Ok((references, Self::open_on(engine, &source, MUTANT).await?))
    }

    async fn open_on(engine: &Arc<dyn Engine>, source: &Arc<Source>, limits: Limits) -> Result<Self, EngineError> {
        let opening = Opening { access: Access::Read, limits, seed: 0 };
        Ok(Self { database: engine.open(source, &opening).await?, seq: 0 })
    }

    pub(super) async fn close(self) {
        self.database.close().await;
    }

    /// Result of a query in the first action of a session that begins at this moment.
    pub(super) async fn run(&mut self, sql: &str, begins_ms: Option<i64>) -> Result<StatementResult, Failure> {
        self.run_at(sql, now_ms(begins_ms, 1)).await
    }

    /// Result of a query at a time, with fresh randomness.
    pub(super) async fn run_at(&mut self, sql: &str, now_ms: i64) -> Result<StatementResult, Failure> {
        self.seq += 1;
        let step = Step { seq: self.seq, sql, parameters: &[], now_ms };
        let ran = self.database.run(&step).await;
        let mut ran = ran.map_err(|fault| match fault {
            EngineError::Cut(_) => Failure::Failed(fault.to_string()),
            _ => Failure::Engine(fault.to_string()),
        })?;
        match (ran.error, ran.results.pop()) {
            (Some(error), _) if error.cut == Some(CutReason::Time) => Err(Failure::Slow),
            (Some(error), _) => Err(Failure::Failed(format!("{}: {}", error.code, error.message))),
            (None, Some(result)) if result.truncated => {
                Err(Failure::Failed("the reference gives more rows than it may: ask for fewer".into()))
            }
            (None, Some(result)) => Ok(result),
            (None, None) => Err(Failure::Failed("the reference must hold a statement".into())),
        }
    }

    pub(super) async fn ties(&mut self, sql: &str, begins_ms: Option<i64>) -> Ties {
        let Some([up, down]) = order::probes(sql) else { return Ties::None };
        match (self.run(&up, begins_ms).await, self.run(&down, begins_ms).await) {
            (Ok(up), Ok(down)) if up.rows == down.rows => Ties::None,
            (Ok(up), Ok(down)) if sorted(&up.rows) == sorted(&down.rows) => Ties::InOrder,
            (Ok(_), Ok(_)) => Ties::AtTheCut,
            // DISTINCT does not take more keys everywhere; then nothing is known.
            _ => Ties::None,
        }
    }
}

/// The script of a data set in the dialect of an engine.
fn source(engine: &Arc<dyn Engine>, dataset: &Dataset) -> Result<Arc<Source>, EngineError> {
    let script = dataset.script(engine.dialect()).map_err(|fault| EngineError::Source(fault.to_string()))?;
    Ok(Arc::new(Source::script(script)))
}

fn sorted(rows: &[Vec<Value>]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

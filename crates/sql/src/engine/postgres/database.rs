//! A session as a database: its steps, and the way back.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use super::clock::{self, NOW_SETTING};
use super::non_transactional::NonTransactionalState;
use super::rules::{Act, judge};
use super::session::{Mark, PendingStatement, Session, StatementOutcome, refusal};
use super::{catalog, explain, schema_details};
use crate::engine::{Database, EngineError, Plan, Schema, SchemaDetail, SqlError, Step, StepResult};
use crate::script::split;
use crate::value::{Dialect, Value};

impl Session {
    async fn step(&mut self, step: &Step<'_>) -> Result<StepResult, EngineError> {
        let statements = split(step.sql, Dialect::Postgres);
        let mut ran = StepResult { pure: true, ..StepResult::default() };
        if statements.len() > 1 && !step.parameters.is_empty() {
            let words = format!("parameters need a single statement, and there are {}", statements.len());
            ran.error = Some(refusal(words, 0, None));
            return Ok(ran);
        }
        let before = self.transaction.clone();
        let parameters: Vec<Option<String>> = step.parameters.iter().map(super::values::text).collect();
        self.pending.push(format!("SELECT pg_catalog.setseed({})", self.seed(step.seq)));
        let mut bytes_left = self.opening.limits.bytes_max;
        for (index, statement) in statements.iter().enumerate() {
            let outcome = match judge(statement, self.opening.access) {
                Err(words) => Err(refusal(words, index, Some(statement.start_chars))),
                Ok(act) => {
                    ran.pure &= act == Act::Read && !self.non_transactional.temporary;
                    let now_ms = self.transaction.block.as_ref().map_or(step.now_ms, |block| block.now_ms);
                    let now = format!("SET {NOW_SETTING} = '{}'", clock::moment(now_ms));
                    let pending = PendingStatement {
                        statement,
                        act,
                        now: &now,
                        now_ms,
                        literals: &BTreeMap::new(),
                        parameters: &parameters,
                        bytes_left,
                    };
                    self.dated(pending, &mut ran.pure).await?
                }
            };
            match outcome {
                Ok((result, bytes)) => {
                    bytes_left = bytes_left.saturating_sub(bytes);
                    ran.results.push(result);
                }
                Err(error) => {
                    // PostgreSQL would have said no as well, and that fails a block.
                    self.transaction.fail();
                    ran.error = Some(SqlError { statement: index, ..error });
                    break;
                }
            }
        }
        ran.pure &= self.transaction == before;
        ran.in_transaction = self.transaction.block.is_some();
        match self.marks.last() {
            // Nothing has changed: the same slot.
            Some(last) if ran.pure => self.marks.push(Mark { seq: step.seq, ..last.clone() }),
            _ => self.mark(step.seq).await?,
        }
        Ok(ran)
    }

    /// Carries out an order after dates in words are settled.
    async fn dated(&mut self, pending: PendingStatement<'_>, pure: &mut bool) -> Result<StatementOutcome, EngineError> {
        if !pending.act.has_dates() || self.transaction.failed() {
            return self.execute(&pending, pure).await;
        }
        match self.dates(pending.statement, pending.parameters, pending.now).await? {
            Err(error) => Ok(Err(error)),
            Ok(dates) => self.execute(&pending.with(&dates), pure).await,
        }
    }

    fn enter(&mut self) -> Result<(), EngineError> {
        if std::mem::replace(&mut self.busy, true) {
            return Err(EngineError::Lost("an earlier call was given up halfway".to_owned()));
        }
        Ok(())
    }
}

#[async_trait]
impl Database for Session {
    async fn run(&mut self, step: &Step<'_>) -> Result<StepResult, EngineError> {
        self.enter()?;
        let ran = Box::pin(self.step(step)).await?;
        self.busy = false;
        Ok(ran)
    }

    async fn rewind(&mut self, seq: u64) -> Result<bool, EngineError> {
        self.enter()?;
        let at = self.marks.iter().rposition(|mark| mark.seq == seq);
        let in_place =
            |mark: &Mark| self.standing.stands(mark.point) && self.non_transactional.draws_as(&mark.non_transactional);
        let rewound = match at.filter(|at| in_place(&self.marks[*at])) {
            None => false,
            Some(at) => {
                self.marks.truncate(at + 1);
                let mark = self.marks[at].clone();
                self.go_back(mark.point);
                self.transaction = mark.transaction;
                self.non_transactional = NonTransactionalState::clone(&mark.non_transactional);
                self.types.forget();
                self.stale = false;
                self.run_simple(&[]).await?;
                true
            }
        };
        self.busy = false;
        Ok(rewound)
    }

    async fn fork(&mut self) -> Result<Option<Box<dyn Database>>, EngineError> {
        // A database with a transaction in it cannot be copied as it looks from the inside.
        Ok(None)
    }

    async fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Result<Plan, SqlError>, EngineError> {
        self.enter()?;
        let plan = explain::explain(self, sql, parameters).await?;
        self.busy = false;
        Ok(plan)
    }

    async fn run_cost(&mut self, sql: &str) -> Result<Result<Option<f64>, SqlError>, EngineError> {
        self.enter()?;
        let cost = explain::run_cost(self, sql).await?;
        self.busy = false;
        Ok(cost)
    }

    async fn schema(&mut self) -> Result<Schema, EngineError> {
        self.enter()?;
        let schema = catalog::schema(self).await;
        self.busy = matches!(schema, Err(EngineError::Lost(_) | EngineError::Midway(_)));
        schema
    }

    async fn schema_details(&mut self) -> Result<BTreeSet<SchemaDetail>, EngineError> {
        self.enter()?;
        let found = schema_details::schema_details(self).await;
        self.busy = matches!(found, Err(EngineError::Lost(_) | EngineError::Midway(_)));
        found
    }

    async fn close(self: Box<Self>) {}
}

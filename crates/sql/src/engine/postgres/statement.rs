//! Runs one statement in a session, so that it ends as it would in a session of the server's own client.

use super::clock::{Rewritten, rewrite_with};
use super::rules::{Act, Verb};
use super::session::{PendingStatement, RELEASE, SAVE, Session, StatementOutcome, refusal, savepoint_missing};
use super::transaction::Block;
use super::values::value;
use super::watch::Watch;
use super::wire::{BatchStatement, Bounds, Reply, ServerError};
use crate::engine::{Access, CutReason, EngineError, SqlError, StatementResult};
use crate::value::{Column, Value};

const READ_ONLY: &str = "SET LOCAL transaction_read_only = on";
const SIZE: &str = "SELECT pg_catalog.pg_database_size(pg_catalog.current_database())";
/// No statement of any version: it fails a transaction.
const NONSENSE: &str = "palestra";

/// Changes of the schema in one transaction of the server: each holds locks, and all sessions share the room for them.
const DEFINED_MAX: usize = 1_000;
/// Savepoints that an acting side may have at once.
const SAVEPOINTS_MAX: usize = 4_000;

impl Session {
    /// Carries out an order. `pure` becomes false when it turns out that a statement that seems to read does more.
    pub(super) async fn execute(
        &mut self,
        pending: &PendingStatement<'_>,
        pure: &mut bool,
    ) -> Result<StatementOutcome, EngineError> {
        if let Act::Transaction(verb) = &pending.act {
            return self.transact(pending, verb).await;
        }
        if self.transaction.failed() {
            return self.refuse_in_failed_block(pending).await;
        }
        match &pending.act {
            Act::Read => {
                let outcome = self.read(pending).await?;
                // SQLSTATE of a statement that would write in a transaction that may only read.
                let writes = outcome.as_ref().is_err_and(|error| error.code == "25006");
                if !writes || self.transaction.read_only() || self.opening.access == Access::Read {
                    return Ok(outcome);
                }
                *pure = false;
                self.write(pending).await
            }
            Act::Define => {
                self.defined += 1;
                if self.defined > DEFINED_MAX {
                    if self.transaction.block.is_some() {
                        let words = format!("a transaction may change the schema {DEFINED_MAX} times");
                        return Ok(Err(SqlError { cut: Some(CutReason::Growth), ..refusal(words, 0, None) }));
                    }
                    self.commit();
                }
                let outcome = self.write(pending).await;
                self.stale = true;
                outcome
            }
            Act::Set { name, local } => self.set(pending, name, *local).await,
            Act::Constraints if self.transaction.block.is_none() => self.run_kept(pending, false).await,
            Act::Constraints => self.set_constraints(pending).await,
            Act::Outside => self.run_outside(pending).await,
            Act::Write | Act::Transaction(_) => self.write(pending).await,
        }
    }

    /// A statement that may only read, so that certainly nothing has changed.
    async fn read(&mut self, pending: &PendingStatement<'_>) -> Result<StatementOutcome, EngineError> {
        let sent = pending.sent();
        let batch = [
            BatchStatement::plain(SAVE),
            BatchStatement::plain(pending.now),
            BatchStatement::plain(READ_ONLY),
            self.batch_statement(pending, &sent, false),
            BatchStatement::plain(RELEASE),
        ];
        let (mut answer, cut) = self.run_batch(&batch, Watch::Time).await?;
        if let Some(error) = answer.error {
            self.undo();
            return Ok(Err(self.error(pending, &sent, &error, answer.replies.len() == 3, cut)));
        }
        let reply = answer.replies.swap_remove(3);
        self.result(pending, reply).await
    }

    /// A statement that may change the database. Outside of a block, constraints are checked as at the end of a transaction.
    async fn write(&mut self, pending: &PendingStatement<'_>) -> Result<StatementOutcome, EngineError> {
        self.refresh().await?;
        let sent = pending.sent();
        let mut batch = vec![BatchStatement::plain(SAVE), BatchStatement::plain(pending.now)];
        if self.transaction.read_only() {
            batch.push(BatchStatement::plain(READ_ONLY));
        }
        let main = batch.len();
        batch.push(self.batch_statement(pending, &sent, true));
        let alone = self.transaction.block.is_none();
        let check = self.non_transactional.check().filter(|_| alone);
        // A definition may have dropped or renamed constraints: those that are there are looked up before the next statement.
        let defer = self.non_transactional.defer().filter(|_| alone && pending.act != Act::Define);
        batch.extend(check.iter().chain(&defer).map(|sql| BatchStatement::plain(sql)));
        batch.push(BatchStatement::plain(SIZE));
        let (mut answer, cut) = self.run_batch(&batch, Watch::Size).await?;
        if let Some(error) = answer.error {
            self.undo();
            let error = self.error(pending, &sent, &error, answer.replies.len() == main, cut);
            if error.cut == Some(CutReason::Growth) {
                self.measure_overflow().await?;
            }
            return Ok(Err(error));
        }
        let size = answer.replies.last().map_or(0, size);
        if size > self.size_max {
            self.undo();
            self.measure_overflow().await?;
            return Ok(Err(self.too_large(pending)));
        }
        let reply = answer.replies.swap_remove(main);
        if reply.huge_row && reply.rows.is_empty() {
            self.undo();
        } else {
            self.pending.push(RELEASE.to_owned());
        }
        self.result(pending, reply).await
    }

    /// A statement that changes the connection alone. Where its effect ends with the transaction that it makes up by itself, it is not
    /// kept.
    async fn run_kept(&mut self, pending: &PendingStatement<'_>, keep: bool) -> Result<StatementOutcome, EngineError> {
        let sent = pending.sent();
        let (mut answer, cut) = self
            .run_batch(&[BatchStatement::plain(SAVE), self.batch_statement(pending, &sent, true)], Watch::Time)
            .await?;
        if let Some(error) = answer.error {
            self.undo();
            return Ok(Err(self.error(pending, &sent, &error, answer.replies.len() == 1, cut)));
        }
        if keep {
            self.pending.push(RELEASE.to_owned());
        } else {
            self.undo();
        }
        let reply = answer.replies.swap_remove(1);
        self.result(pending, reply).await
    }

    /// In a block. What a released savepoint changed about constraints is not put back when an outer one is returned to, so the one
    /// before this stands.
    async fn set_constraints(&mut self, pending: &PendingStatement<'_>) -> Result<StatementOutcome, EngineError> {
        let before = self.point();
        let sent = pending.sent();
        let (mut answer, cut) = self.run_batch(&[self.batch_statement(pending, &sent, true)], Watch::Time).await?;
        match (answer.error, answer.replies.pop()) {
            (None, Some(reply)) => self.result(pending, reply).await,
            (error, _) => {
                self.go_back(before);
                Ok(Err(self.error(pending, &sent, &error.unwrap_or_default(), true, cut)))
            }
        }
    }

    async fn set(
        &mut self,
        pending: &PendingStatement<'_>,
        name: &str,
        local: bool,
    ) -> Result<StatementOutcome, EngineError> {
        let Some(block) = &self.transaction.block else { return self.run_kept(pending, !local).await };
        let known = block.local.iter().any(|(known, _)| known == name);
        let before = if local && !known {
            let answer = self.run_simple(&[&format!("SELECT pg_catalog.current_setting('{name}')")]).await?;
            answer.replies.into_iter().next().and_then(|reply| reply.rows.into_iter().next()?.into_iter().next()?)
        } else {
            None
        };
        let outcome = self.run_kept(pending, true).await?;
        if let (Ok(_), Some(block)) = (&outcome, &mut self.transaction.block) {
            if let Some(before) = before {
                block.local.push((name.to_owned(), before));
            } else if !local {
                block.local.retain(|(known, _)| known != name);
            }
        }
        Ok(outcome)
    }

    /// A statement that manages its own transactions: the outer one is committed before it. In a block it fails in the server's words.
    async fn run_outside(&mut self, pending: &PendingStatement<'_>) -> Result<StatementOutcome, EngineError> {
        if self.transaction.block.is_some() {
            return self.run_kept(pending, true).await;
        }
        self.pending.push("COMMIT".to_owned());
        self.standing.clear();
        self.run_simple(&[]).await?;
        self.stale = true;
        let sent = pending.sent();
        let (mut answer, cut) = self.run_batch(&[self.batch_statement(pending, &sent, true)], Watch::Size).await?;
        self.pending.push("BEGIN".to_owned());
        match (answer.error, answer.replies.pop()) {
            (None, Some(reply)) => self.result(pending, reply).await,
            (error, _) => Ok(Err(self.error(pending, &sent, &error.unwrap_or_default(), true, cut))),
        }
    }

    /// Refuses statements in a failed transaction block, as the server does: it is made to fail once more, and asked.
    async fn refuse_in_failed_block(
        &mut self,
        pending: &PendingStatement<'_>,
    ) -> Result<StatementOutcome, EngineError> {
        let nonsense = BatchStatement { parse_only: true, ..BatchStatement::plain(NONSENSE) };
        self.run_batch(&[BatchStatement::plain(SAVE), nonsense], Watch::Time).await?;
        let sent = pending.sent();
        let (answer, cut) = self.run_batch(&[self.batch_statement(pending, &sent, true)], Watch::Time).await?;
        self.undo();
        let error = answer.error.unwrap_or_default();
        Ok(Err(self.error(pending, &sent, &error, true, cut)))
    }

    /// Begins, ends and divides transaction blocks.
    async fn transact(&mut self, pending: &PendingStatement<'_>, verb: &Verb) -> Result<StatementOutcome, EngineError> {
        let sent = pending.sent();
        let understood = BatchStatement { parse_only: true, ..BatchStatement::plain(&sent.sql) };
        let (answer, cut) = self
            .run_batch(&[BatchStatement::plain(SAVE), understood, BatchStatement::plain(RELEASE)], Watch::Time)
            .await?;
        if let Some(error) = answer.error {
            self.undo();
            return Ok(Err(self.error(pending, &sent, &error, true, cut)));
        }
        let command = match verb {
            Verb::Commit { chain } => return self.end(pending, true, *chain).await,
            Verb::Rollback { chain } => return self.end(pending, false, *chain).await,
            Verb::RollbackTo(name) => {
                let Some(block) = &mut self.transaction.block else {
                    return Ok(Err(no_block("ROLLBACK TO SAVEPOINT")));
                };
                let Some(point) = block.go_back(name) else { return Ok(Err(savepoint_missing(name))) };
                self.go_back(point);
                self.stale = self.stale || self.opening.access > Access::Read;
                "ROLLBACK"
            }
            _ if self.transaction.failed() => return self.refuse_in_failed_block(pending).await,
            Verb::Begin { start, modes } => {
                if self.transaction.block.is_none() {
                    let beginning = self.point();
                    let block = Block::new(beginning, pending.now_ms, modes.read_only.unwrap_or(false));
                    self.transaction.block = Some(block);
                }
                if *start { "START TRANSACTION" } else { "BEGIN" }
            }
            Verb::Modes(modes) => {
                if let (Some(block), Some(read_only)) = (&mut self.transaction.block, modes.read_only) {
                    block.read_only = read_only;
                }
                "SET"
            }
            Verb::Savepoint(name) => {
                if self.standing.count() >= SAVEPOINTS_MAX {
                    return Ok(Err(refusal(
                        format!("there are {SAVEPOINTS_MAX} savepoints, and no more can be had"),
                        0,
                        None,
                    )));
                }
                if self.transaction.block.is_none() {
                    return Ok(Err(no_block("SAVEPOINT")));
                }
                let point = self.point();
                if let Some(block) = &mut self.transaction.block {
                    block.named.push((name.clone(), point));
                }
                "SAVEPOINT"
            }
            Verb::Release(name) => {
                let Some(block) = &mut self.transaction.block else { return Ok(Err(no_block("RELEASE SAVEPOINT"))) };
                if !block.release(name) {
                    return Ok(Err(savepoint_missing(name)));
                }
                "RELEASE"
            }
        };
        Ok(Ok(done(command)))
    }

    /// The end of a block, by COMMIT or ROLLBACK.
    async fn end(
        &mut self,
        pending: &PendingStatement<'_>,
        commit: bool,
        chain: bool,
    ) -> Result<StatementOutcome, EngineError> {
        let name = if commit { "COMMIT" } else { "ROLLBACK" };
        let Some(block) = self.transaction.block.take() else {
            return Ok(if chain { Err(no_block(&format!("{name} AND CHAIN"))) } else { Ok(done(name)) });
        };
        let kept = commit && !block.failed;
        if kept {
            self.refresh().await?;
            let (check, defer) = (self.non_transactional.check(), self.non_transactional.defer());
            if check.is_some() {
                self.point();
            }
            let batch: Vec<BatchStatement<'_>> =
                check.iter().chain(&defer).map(|sql| BatchStatement::plain(sql)).collect();
            let (answer, cut) = self.run_batch(&batch, Watch::Time).await?;
            if let Some(error) = answer.error {
                self.go_back(block.beginning);
                self.stale = self.stale || self.opening.access > Access::Read;
                return Ok(Err(self.error(pending, &pending.sent(), &error, false, cut)));
            }
            for (name, value) in &block.local {
                // A search path is a list of names, the others are single values.
                let value = if name == "search_path" { value.clone() } else { super::server::literal(value) };
                self.pending.push(format!("SET {name} = {value}"));
            }
        } else {
            self.go_back(block.beginning);
            self.stale = self.stale || self.opening.access > Access::Read;
        }
        if chain {
            let beginning = self.point();
            self.transaction.block = Some(Block::new(beginning, pending.now_ms, block.read_only));
        }
        Ok(Ok(done(if kept { "COMMIT" } else { "ROLLBACK" })))
    }

    fn batch_statement<'a>(
        &self,
        pending: &PendingStatement<'a>,
        sent: &'a Rewritten,
        to_end: bool,
    ) -> BatchStatement<'a> {
        let bounds = Bounds { rows_max: self.opening.limits.rows_max, bytes_max: pending.bytes_left, to_end };
        BatchStatement { sql: &sent.sql, parameters: pending.parameters, bounds, parse_only: false }
    }

    async fn measure_overflow(&mut self) -> Result<(), EngineError> {
        let answer = self.run_simple(&[SIZE]).await?;
        self.overflow(answer.replies.first().map_or(0, size));
        Ok(())
    }

    fn too_large(&self, pending: &PendingStatement<'_>) -> SqlError {
        let bytes = self.opening.limits.growth_max;
        SqlError {
            code: "53100".to_owned(),
            message: format!("the database would grow by more than {bytes} bytes, and may not"),
            position: Some(pending.statement.start_chars),
            cut: Some(CutReason::Growth),
            ..SqlError::default()
        }
    }

    /// An error in the server's words, at its place in the step's SQL.
    pub(super) fn error(
        &self,
        pending: &PendingStatement<'_>,
        sent: &Rewritten,
        error: &ServerError,
        placed: bool,
        cut: Option<CutReason>,
    ) -> SqlError {
        if cut == Some(CutReason::Growth) {
            return self.too_large(pending);
        }
        let position = error.position.filter(|_| placed).map(|position| sent.original(position.saturating_sub(1)));
        SqlError {
            position: position.map(|position| position + pending.statement.start_chars),
            ..self.words(error, cut)
        }
    }

    async fn result(&mut self, pending: &PendingStatement<'_>, reply: Reply) -> Result<StatementOutcome, EngineError> {
        if reply.huge_row && reply.rows.is_empty() {
            let message =
                format!("a row of the result is larger than the {} bytes that are given back", pending.bytes_left);
            let position = Some(pending.statement.start_chars);
            return Ok(Err(SqlError {
                code: "54000".to_owned(),
                message,
                position,
                cut: Some(CutReason::Size),
                ..SqlError::default()
            }));
        }
        let unknown = reply.fields.iter().map(|field| field.type_oid).filter(|oid| self.types.name(*oid).is_none());
        let unknown: Vec<String> = unknown.map(|oid| oid.to_string()).collect();
        if !unknown.is_empty() {
            let names = format!("SELECT oid, typname FROM pg_catalog.pg_type WHERE oid IN ({})", unknown.join(", "));
            let answer = self.run_simple(&[&names]).await?;
            self.types.learn(answer.replies.into_iter().next().map(|reply| reply.rows).unwrap_or_default());
        }
        let oids: Vec<u32> = reply.fields.iter().map(|field| field.type_oid).collect();
        let row = |row: Vec<Option<String>>| -> Vec<Value> {
            let shown = row.into_iter().map(|text| text.map(|text| self.aliases.put(text)));
            shown.zip(&oids).map(|(text, oid)| value(*oid, text)).collect()
        };
        let rows: Vec<Vec<Value>> = reply.rows.into_iter().map(row).collect();
        // A statement that was not run to its end has no tag.
        let command = if reply.tag.is_empty() { format!("SELECT {}", rows.len()) } else { reply.tag };
        let counts = ["INSERT ", "UPDATE ", "DELETE ", "MERGE "].iter().any(|verb| command.starts_with(verb));
        let affected = command.rsplit(' ').next().filter(|_| counts).and_then(|count| count.parse().ok());
        let column = |field: super::wire::Field| {
            let type_name = self.types.name(field.type_oid).unwrap_or_default();
            Column { name: field.name, type_name }
        };
        let columns = reply.fields.into_iter().map(column).collect();
        let result = StatementResult { command, columns, rows, truncated: reply.truncated, affected, vm_steps: None };
        Ok(Ok((result, reply.bytes)))
    }
}

impl PendingStatement<'_> {
    /// The statement as it is sent.
    pub(super) fn sent(&self) -> Rewritten {
        rewrite_with(self.statement.text, &self.statement.tokens, self.literals)
    }
}

fn done(command: &str) -> (StatementResult, usize) {
    (StatementResult { command: command.to_owned(), ..StatementResult::default() }, 0)
}

fn no_block(statement: &str) -> SqlError {
    let message = format!("{statement} can only be used in transaction blocks");
    SqlError { code: "25P01".to_owned(), message, ..SqlError::default() }
}

fn size(reply: &Reply) -> u64 {
    reply.rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok()).unwrap_or(0)
}

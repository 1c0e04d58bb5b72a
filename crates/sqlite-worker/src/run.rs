//! Runs the statements of a step.

use std::ffi::CString;

use crate::limits;
use crate::pages;
use crate::raw::{self, Fault, Statement};
use crate::session::Session;
use crate::wire::{CutReason, PlanRow, SqlError, StatementResult, StepResult, Value};
use crate::words::{self, Kind};

/// Statements of one step. A script that makes a template and what the server asks for itself may have any number.
const STATEMENTS_MAX: usize = 10_000;
/// Overhead of a value, a row and a result beside their bytes.
const OVERHEAD: u64 = 16;

/// A step.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Its number: random functions follow from it.
    pub seq: u64,
    /// Its statements.
    pub sql: &'a str,
    /// Values of the parameters, where there is one statement.
    pub parameters: &'a [Value],
    /// The time that SQL sees as now, in milliseconds since 1970.
    pub now_ms: i64,
    /// True if statements may change anything at all.
    pub may_change: bool,
}

impl Session {
    /// Runs a step and leaves its mark.
    pub fn run(&mut self, step: Step<'_>) -> StepResult {
        let mut ran = self.within(step.seq, step.now_ms, |session| session.statements(step));
        ran.in_transaction = !self.connection.is_autocommit();
        if !ran.pure {
            self.tidy();
        }
        self.mark(step.seq, ran.pure);
        ran
    }

    /// Runs a script of any number of statements, of which nothing is given back.
    ///
    /// # Errors
    /// SQLite's, with the number of the statement.
    pub fn run_script(&mut self, sql: &str) -> Result<(), SqlError> {
        self.within(0, TEMPLATE_NOW_MS, |session| {
            let text = Text::of(sql).ok_or_else(|| zero_byte(0))?;
            let mut place = Place { statement: 0, at: 0 };
            session.meter.begin(session.settings.limits.statement_ms);
            while let Some(mut compiled) = session.compile(&text, &mut place).map_err(|error| *error)? {
                while compiled.statement.step().map_err(|fault| session.error(fault, place, 0))? {}
                place.statement += 1;
            }
            if session.connection.is_autocommit() {
                return Ok(());
            }
            Err(SqlError { message: "the script leaves a transaction open".to_owned(), ..SqlError::default() })
        })
        .inspect(|()| self.note_committed())
    }

    /// Runs queries of the server's own, any number: no step, no mark, no rows beyond `bytes_max`. One that would change something is
    /// refused.
    pub fn look(&mut self, sql: &str, bytes_max: u64) -> StepResult {
        let own = self.settings.limits;
        self.settings.limits.rows_max = u64::MAX;
        self.settings.limits.bytes_max = bytes_max;
        self.guard.look(true);
        let mut ran = self.within(0, 0, |session| {
            session.statements(Step { seq: 0, sql, parameters: &[], now_ms: 0, may_change: false })
        });
        self.guard.look(false);
        self.settings.limits = own;
        if let Some(statement) = ran.results.iter().position(|result| result.truncated) {
            let place = Place { statement, at: 0 };
            ran.error = Some(cut(CutReason::Size, &format!("there are more than {bytes_max} bytes"), place));
        }
        ran
    }

    /// The plan of one statement, which is not run.
    ///
    /// # Errors
    /// SQLite's; the offset counts from the beginning of the statement.
    pub fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<PlanRow>, SqlError> {
        const PREFIX: &str = "EXPLAIN QUERY PLAN ";
        let shorten = |mut error: SqlError| {
            error.offset = error.offset.map(|offset| offset.saturating_sub(PREFIX.len() as u64));
            error
        };
        self.within(0, 0, |session| {
            let full = format!("{PREFIX}{sql}");
            let text = Text::of(&full).ok_or_else(|| zero_byte(0))?;
            let mut place = Place { statement: 0, at: 0 };
            session.meter.begin(session.settings.limits.statement_ms);
            let Some(mut compiled) = session.compile(&text, &mut place).map_err(|error| *error)? else {
                return Err(misuse("there is no statement", 0));
            };
            session.bind(&mut compiled.statement, parameters, &full[place.at..], place)?;
            if !compiled.statement.only_reads() {
                // SQLite counts the rows that it has not changed: none.
                session.functions.set_changes(Some(session.changes()));
            }
            let mut rows = Vec::new();
            while compiled.statement.step().map_err(|fault| session.error(fault, place, 0))? {
                let integer = |column| match compiled.statement.value(column) {
                    Value::Integer(number) => number,
                    _ => 0,
                };
                let Value::Text(detail) = compiled.statement.value(3) else { continue };
                rows.push(PlanRow { id: integer(0), parent: integer(1), detail });
            }
            Ok(rows)
        })
        .map_err(shorten)
    }

    /// Runs something with the session's memory, time and randomness.
    fn within<T>(&mut self, seq: u64, now_ms: i64, what: impl FnOnce(&mut Self) -> T) -> T {
        let _paying = self.account.pays();
        pages::set_now(now_ms);
        self.functions.begin_step(self.settings.seed, seq);
        self.meter.begin_step(self.settings.limits.statement_ms);
        let result = what(self);
        self.meter.end();
        result
    }

    fn statements(&mut self, step: Step<'_>) -> StepResult {
        let mut ran = StepResult { pure: true, ..StepResult::default() };
        let Some(text) = Text::of(step.sql) else {
            return StepResult { error: Some(zero_byte(0)), ..StepResult::default() };
        };
        let mut place = Place { statement: 0, at: 0 };
        let mut room = self.settings.limits.bytes_max;
        loop {
            match self.statement(step, &text, &mut place, &mut room) {
                Ok(Some((result, pure))) => {
                    ran.pure &= pure;
                    ran.results.push(result);
                }
                Ok(None) => break,
                Err(error) => {
                    ran.error = Some(error);
                    ran.pure = false;
                    break;
                }
            }
            self.note_committed();
            place.statement += 1;
        }
        self.note_committed();
        ran
    }

    /// Runs the next statement; `None` at the end.
    fn statement(
        &self,
        step: Step<'_>,
        text: &Text<'_>,
        place: &mut Place,
        room: &mut u64,
    ) -> Result<Option<(StatementResult, bool)>, SqlError> {
        let begin = place.at;
        self.meter.begin(self.settings.limits.statement_ms);
        let Some(Compiled { mut statement, kind }) = self.compile(text, place).map_err(|error| *error)? else {
            return Ok(None);
        };
        if step.may_change && place.statement >= STATEMENTS_MAX {
            return Err(cut(CutReason::Size, &format!("a step may have {STATEMENTS_MAX} statements"), *place));
        }
        if !step.may_change && (!statement.only_reads() || self.guard.sets()) {
            return Err(misuse("only queries can be asked", place.statement));
        }
        if !step.parameters.is_empty() || statement.parameters() > 0 {
            self.bind(&mut statement, step.parameters, &step.sql[place.at..], *place)?;
        }
        let mut result = StatementResult { columns: statement.columns(), ..StatementResult::default() };
        *room =
            room.saturating_sub(OVERHEAD + result.columns.iter().map(|(a, b)| (a.len() + b.len()) as u64).sum::<u64>());
        let done = self.rows(&mut statement, &mut result, room, *place, begin);
        if kind.changes_rows() || kind == Kind::Explain && !statement.only_reads() {
            self.functions.set_changes(None);
        }
        done?;
        if kind == Kind::Explain {
            result.rows.iter_mut().for_each(|row| hide_connection(row));
        }
        result.vm_steps = statement.vm_steps();
        // What SQLite does on behalf of EXPLAIN is not nothing either: that of a DELETE sets `changes()`.
        let harmless = matches!(kind, Kind::Select | Kind::Explain | Kind::Pragma);
        let pure = harmless && statement.only_reads() && !self.guard.sets();
        drop(statement);
        result.affected = kind.changes_rows().then(|| self.connection.changes());
        result.command = kind.tag(result.affected.unwrap_or(result.rows.len() as u64));
        Ok(Some((result, pure)))
    }

    /// Steps through a statement and keeps rows up to the limits. One that changes something is carried through even when its rows
    /// are not wanted any more.
    fn rows(
        &self,
        statement: &mut Statement<'_>,
        result: &mut StatementResult,
        room: &mut u64,
        place: Place,
        begin: usize,
    ) -> Result<(), SqlError> {
        let only_reads = statement.only_reads();
        while statement.step().map_err(|fault| self.error(fault, place, begin))? {
            let columns = 0..result.columns.len();
            let bytes = columns.clone().map(|column| statement.size(column) as u64 + OVERHEAD).sum::<u64>() + OVERHEAD;
            result.truncated |= result.rows.len() as u64 >= self.settings.limits.rows_max || bytes > *room;
            if !result.truncated {
                *room -= bytes;
                result.rows.push(columns.map(|column| statement.value(column)).collect());
            } else if only_reads {
                break;
            }
        }
        Ok(())
    }

    /// Compiles the next statement; `None` where there is none.
    fn compile(&self, text: &Text<'_>, place: &mut Place) -> Result<Option<Compiled<'_>>, Box<SqlError>> {
        loop {
            let rest = text.rest(*place);
            if rest.is_empty() {
                return Ok(None);
            }
            let error = |fault| Box::new(self.error(fault, *place, place.at));
            if self.meter.over() {
                let message = "interrupted".to_owned();
                return Err(error(Fault { code: rusqlite::ffi::SQLITE_INTERRUPT, message, offset: None }));
            }
            let kind = Kind::of(rest);
            self.guard.begin(&kind, !self.connection.is_autocommit()).map_err(error)?;
            let (statement, next) = Statement::compile(&self.connection, &text.raw, place.at).map_err(error)?;
            place.at = next;
            if let Some(statement) = statement {
                return Ok(Some(Compiled { statement, kind }));
            }
        }
    }

    fn bind(&self, statement: &mut Statement<'_>, values: &[Value], rest: &str, place: Place) -> Result<(), SqlError> {
        if !values.is_empty() && (place.statement > 0 || !words::blank(rest)) {
            return Err(misuse("values of parameters are taken with a single statement only", place.statement));
        }
        let wanted = statement.parameters();
        if wanted != values.len() {
            let message = format!("the statement has {wanted} parameters, and {} values were given", values.len());
            return Err(misuse(&message, place.statement));
        }
        for (index, value) in values.iter().enumerate() {
            statement.bind(index + 1, value).map_err(|fault| self.error(fault, place, 0))?;
        }
        Ok(())
    }

    /// A fault of SQLite in the words of the wire. `begin` is where the text of the statement begins.
    fn error(&self, fault: Fault, place: Place, begin: usize) -> SqlError {
        let limits = &self.settings.limits;
        let refusal = self.guard.take_refusal();
        let cut = if refusal.is_some() { Some(CutReason::Refused) } else { limits::cut(&fault) };
        let said = refusal.or_else(|| limits::explain(cut?, limits));
        SqlError {
            code: crate::codes::name(fault.code),
            message: said.unwrap_or(fault.message),
            statement: place.statement as u64,
            offset: fault.offset.map(|offset| (begin + offset) as u64),
            cut,
        }
    }
}

/// Now, for scripts that make templates: the beginning of 2026.
const TEMPLATE_NOW_MS: i64 = 1_767_225_600_000;

/// Where in a text of several statements: how many were before, and the byte from which the rest is.
#[derive(Debug, Clone, Copy)]
struct Place {
    statement: usize,
    at: usize,
}

/// Statements, also as C wants them.
struct Text<'a> {
    sql: &'a str,
    raw: CString,
}

impl<'a> Text<'a> {
    /// `None` where there is a zero byte.
    fn of(sql: &'a str) -> Option<Self> {
        Some(Self { sql, raw: raw::text(sql)? })
    }

    /// Remaining text; statements end after a semicolon or at the end, and never within a character.
    fn rest(&self, place: Place) -> &'a str {
        self.sql.get(place.at..).unwrap_or_default()
    }
}

struct Compiled<'c> {
    statement: Statement<'c>,
    kind: Kind,
}

/// Takes out of an instruction what belongs to the connection: how often it has read the schema, and where something lies in memory.
fn hide_connection(instruction: &mut [Value]) {
    let [_, Value::Text(opcode), _, _, _, p4, ..] = instruction else { return };
    match p4 {
        Value::Text(_) if opcode == "Transaction" => *p4 = Value::Null,
        Value::Text(text) if text.starts_with("vtab:") => text.truncate("vtab".len()),
        _ => {}
    }
}

fn misuse(message: &str, statement: usize) -> SqlError {
    SqlError {
        code: "SQLITE_RANGE".to_owned(),
        message: message.to_owned(),
        statement: statement as u64,
        ..SqlError::default()
    }
}

fn zero_byte(statement: u64) -> SqlError {
    SqlError {
        code: "SQLITE_ERROR".to_owned(),
        message: "the text holds a zero byte".to_owned(),
        statement,
        ..SqlError::default()
    }
}

fn cut(cut: CutReason, message: &str, place: Place) -> SqlError {
    SqlError {
        code: "SQLITE_TOOBIG".to_owned(),
        message: message.to_owned(),
        statement: place.statement as u64,
        offset: None,
        cut: Some(cut),
    }
}

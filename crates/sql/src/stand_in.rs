//! An engine for tests of what stands on engines: SQLite in this process, whose databases can be told to be lost, and not to return
//! to older states.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::types::Value as Held;
use rusqlite::{Connection, StatementStatus, params_from_iter};

use crate::engine::{
    Access, ColumnInfo, CutReason, Database, Engine, EngineError, IndexInfo, Limits, Opening, Plan, PlanKind, PlanNode,
    Schema, SqlError, StatementResult, Step, StepResult, TableInfo,
};
use crate::library::Library;
use crate::script;
use crate::source::{Content, Source};
use crate::task::{Data, Spoken};
use crate::value::{Column, Dialect, Value};

/// Switches and counters of a test's stand-in.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    /// Databases cannot return to older states nor be copied in place.
    pub(crate) stubborn: AtomicBool,
    /// So many of the next runs lose their databases before they begin.
    pub(crate) losses: AtomicI64,
    /// So many of the next requests of any kind lose their databases when they have acted.
    pub(crate) midway: AtomicI64,
    /// A schema is too much to tell.
    pub(crate) large: AtomicBool,
    pub(crate) opened: AtomicUsize,
}

/// In a statement that takes longer than a session allows, and not longer than a judge does.
pub(crate) const SLOW: &str = "/* slow */";
/// In a statement that loses its database.
pub(crate) const LETHAL: &str = "/* lethal */";

/// A function that may not be called.
pub(crate) const FORBIDDEN: &str = "forbidden";

pub(crate) struct StandIn(pub(crate) Arc<Switches>);

#[async_trait]
impl Engine for StandIn {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn prepare(&self, _: &Arc<Source>) -> Result<(), EngineError> {
        Ok(())
    }

    async fn open(&self, source: &Arc<Source>, opening: &Opening) -> Result<Box<dyn Database>, EngineError> {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        let connection = Mutex::new(connect(source, opening)?);
        let (source, switches) = (Arc::clone(source), Arc::clone(&self.0));
        Ok(Box::new(InProcess { connection, source, opening: *opening, switches, steps: Vec::new(), lost: false }))
    }
}

struct InProcess {
    connection: Mutex<Connection>,
    source: Arc<Source>,
    opening: Opening,
    switches: Arc<Switches>,
    steps: Vec<(u64, String, Vec<Value>)>,
    lost: bool,
}

fn connect(source: &Source, opening: &Opening) -> Result<Connection, EngineError> {
    let broken = |error: rusqlite::Error| EngineError::Source(error.to_string());
    let Content::Script(script) = &source.content else {
        return Err(EngineError::Source("not a script".to_owned()));
    };
    let connection = Connection::open_in_memory().map_err(broken)?;
    connection.execute_batch(script).map_err(broken)?;
    if opening.access == Access::Read {
        connection.pragma_update(None, "query_only", true).map_err(broken)?;
    }
    Ok(connection)
}

impl InProcess {
    fn alive(&self) -> Result<(), EngineError> {
        if self.lost { Err(EngineError::Lost("as the test wants it".to_owned())) } else { Ok(()) }
    }

    /// Loses the database, where the test wants that.
    fn survive(&mut self) -> Result<(), EngineError> {
        let left = self.switches.midway.load(Ordering::Relaxed);
        if left == 0 {
            return Ok(());
        }
        self.switches.midway.store(left - 1, Ordering::Relaxed);
        self.lost = true;
        Err(EngineError::Midway("as the test wants it".to_owned()))
    }

    fn replayed(&self, seq: u64) -> Result<Connection, EngineError> {
        let connection = connect(&self.source, &self.opening)?;
        for (_, sql, parameters) in self.steps.iter().filter(|step| step.0 <= seq) {
            run(&connection, sql, parameters, &self.opening);
        }
        Ok(connection)
    }
}

#[async_trait]
impl Database for InProcess {
    async fn run(&mut self, step: &Step<'_>) -> Result<StepResult, EngineError> {
        self.alive()?;
        assert!(self.steps.last().is_none_or(|last| last.0 < step.seq), "marks only go up");
        self.lost = self.switches.losses.fetch_sub(1, Ordering::Relaxed) > 0 || step.sql.contains(LETHAL);
        self.alive()?;
        // Here an action can be broken off.
        tokio::task::yield_now().await;
        let ran = run(&self.connection.lock(), step.sql, step.parameters, &self.opening);
        self.steps.push((step.seq, step.sql.to_owned(), step.parameters.to_vec()));
        self.survive()?;
        Ok(ran)
    }

    async fn rewind(&mut self, seq: u64) -> Result<bool, EngineError> {
        self.alive()?;
        self.survive()?;
        assert!(seq == 0 || self.steps.iter().any(|step| step.0 == seq), "there is no mark {seq}");
        if self.switches.stubborn.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.connection = Mutex::new(self.replayed(seq)?);
        self.steps.retain(|step| step.0 <= seq);
        Ok(true)
    }

    async fn fork(&mut self) -> Result<Option<Box<dyn Database>>, EngineError> {
        self.alive()?;
        self.survive()?;
        if self.switches.stubborn.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let connection = Mutex::new(self.replayed(u64::MAX)?);
        let (source, switches) = (Arc::clone(&self.source), Arc::clone(&self.switches));
        Ok(Some(Box::new(Self {
            connection,
            source,
            opening: self.opening,
            switches,
            steps: self.steps.clone(),
            lost: false,
        })))
    }

    async fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Result<Plan, SqlError>, EngineError> {
        self.alive()?;
        self.survive()?;
        let ran = run(&self.connection.lock(), &format!("EXPLAIN QUERY PLAN {sql}"), parameters, &self.opening);
        Ok(match (ran.error, ran.results.first()) {
            (None, Some(result)) => Ok(plan(result)),
            (error, _) => Err(error.unwrap_or_default()),
        })
    }

    async fn schema(&mut self) -> Result<Schema, EngineError> {
        self.alive()?;
        self.survive()?;
        if self.switches.large.load(Ordering::Relaxed) {
            let message = "the schema is too large".to_owned();
            return Err(EngineError::Cut(Box::new(SqlError {
                message,
                cut: Some(CutReason::Size),
                ..SqlError::default()
            })));
        }
        schema(&self.connection.lock()).map_err(|error| EngineError::Lost(error.to_string()))
    }

    async fn close(self: Box<Self>) {}
}

fn run(connection: &Connection, sql: &str, parameters: &[Value], opening: &Opening) -> StepResult {
    let mut ran = StepResult { pure: true, ..StepResult::default() };
    for (number, statement) in script::split(sql, Dialect::Sqlite).iter().enumerate() {
        let name = statement.name(Dialect::Sqlite);
        ran.pure &= matches!(name.as_str(), "SELECT" | "EXPLAIN" | "VALUES");
        if statement.text.contains(SLOW) && opening.limits.statement_ms <= Limits::default().statement_ms {
            let message = "it took too long".to_owned();
            ran.error =
                Some(SqlError { message, statement: number, cut: Some(CutReason::Time), ..SqlError::default() });
            break;
        }
        match one(connection, statement.text, &name, parameters, opening) {
            Ok(result) => ran.results.push(result),
            Err(error) => {
                let position = match &error {
                    rusqlite::Error::SqlInputError { offset, .. } if *offset >= 0 => {
                        Some(statement.start_chars + *offset as usize)
                    }
                    _ => None,
                };
                let message = match error {
                    rusqlite::Error::SqliteFailure(_, Some(message)) => message,
                    rusqlite::Error::SqlInputError { msg, .. } => msg,
                    other => other.to_string(),
                };
                let cut = message.contains(FORBIDDEN).then_some(CutReason::Refused);
                ran.error = Some(SqlError { message, statement: number, position, cut, ..SqlError::default() });
                break;
            }
        }
    }
    ran.in_transaction = !connection.is_autocommit();
    ran
}

fn one(
    connection: &Connection,
    sql: &str,
    name: &str,
    parameters: &[Value],
    opening: &Opening,
) -> rusqlite::Result<StatementResult> {
    let mut statement = connection.prepare(sql)?;
    let columns: Vec<Column> = statement
        .columns()
        .iter()
        .map(|column| Column {
            name: column.name().to_owned(),
            type_name: column.decl_type().unwrap_or_default().to_lowercase(),
        })
        .collect();
    let mut rows = Vec::new();
    let mut truncated = false;
    let mut cursor = statement.query(params_from_iter(parameters.iter().map(held)))?;
    while let Some(row) = cursor.next()? {
        if rows.len() == opening.limits.rows_max {
            truncated = true;
            break;
        }
        rows.push((0..columns.len()).map(|at| Ok(value(row.get::<_, Held>(at)?))).collect::<rusqlite::Result<_>>()?);
    }
    drop(cursor);
    let changes = matches!(name, "INSERT" | "UPDATE" | "DELETE").then(|| connection.changes());
    let command = match (name, changes) {
        ("INSERT", Some(count)) => format!("INSERT 0 {count}"),
        (name, Some(count)) => format!("{name} {count}"),
        ("SELECT" | "VALUES", None) => format!("SELECT {}", rows.len()),
        (name, None) => name.to_owned(),
    };
    let vm_steps = Some(u64::from(statement.get_status(StatementStatus::VmStep).unsigned_abs()));
    Ok(StatementResult { command, columns, rows, truncated, affected: changes, vm_steps })
}

fn held(value: &Value) -> Held {
    match value {
        Value::Null => Held::Null,
        Value::Boolean(value) => Held::Integer(i64::from(*value)),
        Value::Integer(value) => Held::Integer(*value),
        Value::Real(value) => Held::Real(*value),
        Value::Decimal(text) | Value::Text(text) => Held::Text(text.clone()),
        Value::Blob(bytes) => Held::Blob(bytes.clone()),
    }
}

fn value(held: Held) -> Value {
    match held {
        Held::Null => Value::Null,
        Held::Integer(value) => Value::Integer(value),
        Held::Real(value) => Value::Real(value),
        Held::Text(text) => Value::Text(text),
        Held::Blob(bytes) => Value::Blob(bytes),
    }
}

fn plan(result: &StatementResult) -> Plan {
    let mut plan = Plan::default();
    for row in &result.rows {
        let Some(Value::Text(line)) = row.last() else { continue };
        let words: Vec<&str> = line.split(' ').collect();
        let kind = match words[0] {
            "SCAN" => PlanKind::Scan,
            "SEARCH" => PlanKind::Search,
            _ => PlanKind::Other,
        };
        let table = words.get(1).map(|name| (*name).to_owned());
        plan.nodes.push(PlanNode { kind, table, index: None });
        plan.lines.push(line.clone());
    }
    plan
}

fn schema(connection: &Connection) -> rusqlite::Result<Schema> {
    let mut schema = Schema::default();
    let mut objects = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name")?;
    let mut rows = objects.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name, table): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sql: Option<String> = row.get(3)?;
        match kind.as_str() {
            "trigger" => schema.triggers.push((name, table)),
            "index" if sql.is_some() => {
                let columns = texts(connection, "SELECT name FROM pragma_index_info(?1)", &name)?;
                let unique = sql.is_some_and(|sql| sql.to_uppercase().contains("UNIQUE"));
                schema.indexes.push(IndexInfo { name, table, columns, unique, ..IndexInfo::default() });
            }
            "table" | "view" => {
                let mut columns = connection.prepare("SELECT name, type, \"notnull\" FROM pragma_table_info(?1)")?;
                let columns = columns.query_map([&name], |row| {
                    Ok(ColumnInfo { name: row.get(0)?, type_name: row.get(1)?, not_null: row.get(2)?, default: None })
                })?;
                let columns = columns.collect::<rusqlite::Result<_>>()?;
                let key = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
                let primary_key = texts(connection, key, &name)?;
                let view = kind == "view";
                schema.tables.push(TableInfo { name, view, columns, primary_key, sql, ..TableInfo::default() });
            }
            _ => {}
        }
    }
    Ok(schema)
}

fn texts(connection: &Connection, sql: &str, of: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([of], |row| row.get(0))?.collect()
}

/// Data from scripts, by name.
pub(crate) struct Scripts(pub(crate) BTreeMap<&'static str, String>);

impl Library for Scripts {
    fn source(&self, data: &Data, setup: &Spoken, dialect: Dialect) -> Result<Arc<Source>, String> {
        let Data::Stored(name) = data else { return Err("no worlds here".to_owned()) };
        let script = self.0.get(name.as_str()).ok_or_else(|| format!("no data {name}"))?;
        let setup = setup.in_dialect(dialect).ok_or("no setup in this dialect")?;
        Ok(Arc::new(Source::script(format!("{script}\n;{setup}"))))
    }
}

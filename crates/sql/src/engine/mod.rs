//! Engines, which run statements. Both are driven through [`Engine`] and [`Database`], which hide how they isolate sessions.

pub mod postgres;
pub mod sqlite;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::source::Source;
use crate::value::{Column, Dialect, Value};

/// Makes databases.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Its dialect.
    fn dialect(&self) -> Dialect;

    /// Databases of a source that wait to be handed out; 0 where they are made at once.
    fn ready(&self, _source: &Source, _access: Access) -> usize {
        0
    }

    /// Makes the template of a source, if there is none yet. Databases of it can then be had without waiting for it.
    ///
    /// # Errors
    /// [`EngineError::Source`] when the content is broken, with the engine's own words; else when the engine failed.
    async fn prepare(&self, source: &Arc<Source>) -> Result<(), EngineError>;

    /// Opens a database of its own, at the beginning. Makes the template where there is none.
    ///
    /// # Errors
    /// As [`Engine::prepare`], and [`EngineError::Busy`] when all places are taken.
    async fn open(&self, source: &Arc<Source>, opening: &Opening) -> Result<Box<dyn Database>, EngineError>;
}

/// Version of an engine.
///
/// # Errors
/// When it cannot be asked.
pub async fn version(engine: &dyn Engine) -> Result<String, EngineError> {
    let opening = Opening { access: Access::Read, limits: Limits::default(), seed: 0 };
    let mut database = engine.open(&Arc::new(Source::script("")), &opening).await?;
    let sql = match engine.dialect() {
        Dialect::Sqlite => "SELECT sqlite_version()",
        Dialect::Postgres => "SHOW server_version",
    };
    let ran = database.run(&Step { seq: 1, sql, parameters: &[], now_ms: 0 }).await;
    database.close().await;
    let ran = ran?;
    match (ran.results.first().and_then(|result| result.rows.first()?.first()), ran.error) {
        (Some(Value::Text(version)), None) => Ok(version.clone()),
        (_, error) => Err(EngineError::Lost(error.map_or_else(|| "no answer".to_owned(), |error| error.message))),
    }
}

/// Settings of a new database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opening {
    /// Allowed statements.
    pub access: Access,
    /// Resource limits of statements.
    pub limits: Limits,
    /// Seed of SQL's random functions, together with the time.
    pub seed: u64,
}

/// Access rights of statements. None of them may leave the database, see files, or act on other sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read.
    #[default]
    Read,
    /// Also insert, update, delete, and use temporary tables and transactions.
    Write,
    /// Also create, alter and drop tables, indexes, views and triggers.
    Define,
}

/// Resource limits of statements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Milliseconds of one statement.
    pub statement_ms: u64,
    /// Rows that are given back of one statement.
    pub rows_max: usize,
    /// Bytes of values that are given back of one step.
    pub bytes_max: usize,
    /// Bytes of memory that a session's statements may use.
    pub memory_max: usize,
    /// Bytes by which the database may grow beyond its template.
    pub growth_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { statement_ms: 5_000, rows_max: 1_000, bytes_max: 1 << 20, memory_max: 64 << 20, growth_max: 64 << 20 }
    }
}

/// A database that belongs to one session. After each [`Database::run`] there is a mark to which [`Database::rewind`] returns.
#[async_trait]
pub trait Database: Send + Sync {
    /// Runs one step: statements, one after the other up to the first that fails. Transactions go on across steps, and everything
    /// behaves as in a session of the engine's own client in autocommit mode.
    ///
    /// Errors of statements, forbidden statements and exceeded limits are in [`StepResult::error`]; the database then stands as the engine
    /// leaves it after such an error.
    ///
    /// # Errors
    /// [`EngineError::Lost`] and [`EngineError::Midway`] when the database is gone; whether the step acted does not matter then, since
    /// its database is gone too.
    async fn run(&mut self, step: &Step<'_>) -> Result<StepResult, EngineError>;

    /// Returns to the mark after step `seq` (0: the beginning) and forgets later marks. `false` where this cannot be done in place:
    /// nothing has changed then, and the caller opens another database and runs the surviving steps.
    ///
    /// # Errors
    /// As [`Database::run`].
    async fn rewind(&mut self, seq: u64) -> Result<bool, EngineError>;

    /// An independent copy at this point, with its marks or without them; `None` where this cannot be done in place.
    ///
    /// # Errors
    /// As [`Database::run`], and [`EngineError::Busy`] when all places are taken.
    async fn fork(&mut self) -> Result<Option<Box<dyn Database>>, EngineError>;

    /// The plan of one statement, which is not run: the engine's own words, and its estimate of the cost where it has one.
    ///
    /// # Errors
    /// As [`Database::run`].
    async fn explain(&mut self, sql: &str, parameters: &[Value]) -> Result<Result<Plan, SqlError>, EngineError>;

    /// Estimated cost of a query, in the planner's units: its estimate, or what its scans cost as often as they really run and for as
    /// many rows as they really visit, where that is more. So nothing is gained by conditions that mislead the planner. `None` for an
    /// engine without estimates (SQLite counts [`StatementResult::vm_steps`]), and for what may change something.
    ///
    /// # Errors
    /// As [`Database::run`].
    async fn run_cost(&mut self, _sql: &str) -> Result<Result<Option<f64>, SqlError>, EngineError> {
        Ok(Ok(None))
    }

    /// Tables, views, indexes and triggers as they are now, those of the engine left out.
    ///
    /// # Errors
    /// As [`Database::run`], and [`EngineError::Cut`] when there is too much to tell.
    async fn schema(&mut self) -> Result<Schema, EngineError>;

    /// Facts that [`Database::schema`] leaves out: for judges that compare all of it. Never told to the acting side.
    ///
    /// # Errors
    /// As [`Database::schema`].
    async fn schema_details(&mut self) -> Result<BTreeSet<SchemaDetail>, EngineError> {
        Ok(BTreeSet::new())
    }

    /// Ends it. What is left outside the process is removed in the background. Dropping does the same.
    async fn close(self: Box<Self>);
}

/// SQL of one action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// The mark that stands after it. Higher than that of the step before.
    pub seq: u64,
    /// One or several statements.
    pub sql: &'a str,
    /// Values of `?`, `?1`, `:name` (SQLite) or `$1` (PostgreSQL) by position; only where there is one statement.
    pub parameters: &'a [Value],
    /// The time that SQL sees as now, in milliseconds since 1970 (UTC).
    pub now_ms: i64,
}

/// Outcome of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepResult {
    /// Results of the statements that succeeded, in order.
    pub results: Vec<StatementResult>,
    /// Reason why the next one did not; later ones were not run.
    pub error: Option<SqlError>,
    /// True if certainly nothing has changed, so that a replay would make no difference to later steps.
    pub pure: bool,
    /// True if a transaction that statements began is open afterwards.
    pub in_transaction: bool,
}

/// Result of one statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatementResult {
    /// Command tag, as PostgreSQL writes it: `SELECT 3`, `INSERT 0 2`, `CREATE TABLE`, `BEGIN`.
    pub command: String,
    /// Columns of its result; empty where it has none.
    pub columns: Vec<Column>,
    /// Rows, up to the limits.
    pub rows: Vec<Vec<Value>>,
    /// True if there are rows that are not in `rows`.
    pub truncated: bool,
    /// Rows that it inserted, updated or deleted; `None` where it is no such statement.
    pub affected: Option<u64>,
    /// Instructions of SQLite's virtual machine that it took; `None` on PostgreSQL.
    pub vm_steps: Option<u64>,
}

/// Bytes of each text of an error: statements can have errors quote whatever they hold.
const ERROR_TEXT_BYTES_MAX: usize = 8 << 10;

/// A text of an error, cut where it is too long, with how much was left out.
pub(crate) fn error_text(mut text: String) -> String {
    if text.len() > ERROR_TEXT_BYTES_MAX {
        let end = text.floor_char_boundary(ERROR_TEXT_BYTES_MAX);
        let rest = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… ({rest} bytes more)"));
    }
    text
}

/// An error of SQL, in the dialect's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlError {
    /// SQLSTATE (`42P01`), or the name of SQLite's extended code (`SQLITE_CONSTRAINT_FOREIGNKEY`).
    pub code: String,
    /// The engine's message.
    pub message: String,
    /// More about it, where the engine says more.
    pub detail: Option<String>,
    /// Hint, if the engine gives one.
    pub hint: Option<String>,
    /// Index of the statement in the step, from 0.
    pub statement: usize,
    /// Position in the step's SQL: characters before it, where it is known.
    pub position: Option<usize>,
    /// Set where a limit or a rule of the session ended it, not the engine.
    pub cut: Option<CutReason>,
}

/// Limit or rule that ended a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutReason {
    /// It may not be done here.
    Refused,
    /// It took too long.
    Time,
    /// Its result is too large.
    Size,
    /// It took too much memory.
    Memory,
    /// The database would be too large.
    Growth,
    /// The database did not survive it, and stands as it was before the step.
    Lost,
}

impl CutReason {
    /// True if it is a limit, so that with more room or time the statement might have gone through.
    #[must_use]
    pub const fn is_limit(self) -> bool {
        !matches!(self, Self::Refused | Self::Lost)
    }
}

/// A plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The engine's own words, one node per line.
    pub lines: Vec<String>,
    /// The planner's estimate of the total cost (PostgreSQL alone).
    pub cost: Option<f64>,
    /// Every node.
    pub nodes: Vec<PlanNode>,
}

/// A node of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNode {
    /// Access path of the node.
    pub kind: PlanKind,
    /// The table, if it reads one.
    pub table: Option<String>,
    /// The index that it uses, if it does.
    pub index: Option<String>,
}

/// Access path to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanKind {
    /// By reading the whole table.
    Scan,
    /// By looking up an index or the primary key.
    Search,
    /// By sorting.
    Sort,
    /// Anything else.
    Other,
}

/// Tables, views and indexes of a database, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Tables and views.
    pub tables: Vec<TableInfo>,
    /// Indexes, those of constraints left out.
    pub indexes: Vec<IndexInfo>,
    /// Triggers: name and table.
    pub triggers: Vec<(String, String)>,
}

/// A table or view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// Its name; with its schema (`audit.log`) where that is not the usual one.
    pub name: String,
    /// True if it is a view.
    pub view: bool,
    /// Columns in order.
    pub columns: Vec<ColumnInfo>,
    /// Columns of the primary key, in its order.
    pub primary_key: Vec<String>,
    /// Column sets that are unique beside it: constraints and unique indexes.
    pub unique: Vec<Vec<String>>,
    /// References to other tables.
    pub foreign_keys: Vec<ForeignKeyInfo>,
    /// Expressions of CHECK constraints, in the engine's words.
    pub checks: Vec<String>,
    /// The statement that makes it, where the engine keeps it (SQLite; views on both).
    pub sql: Option<String>,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Its type in the engine's words, with length or precision.
    pub type_name: String,
    /// True if NULL is refused.
    pub not_null: bool,
    /// Its default, as an expression.
    pub default: Option<String>,
}

/// A reference to another table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKeyInfo {
    /// Columns here.
    pub columns: Vec<String>,
    /// The table there.
    pub table: String,
    /// Columns there.
    pub references: Vec<String>,
    /// Action on the deletion of the referenced row: `NO ACTION`, `CASCADE`, `SET NULL`, `RESTRICT`, `SET DEFAULT`.
    pub on_delete: String,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Columns or expressions in order.
    pub columns: Vec<String>,
    /// True if it is unique.
    pub unique: bool,
    /// The condition of a partial index.
    pub condition: Option<String>,
    /// Comparison that differs from that of its columns, in the engine's words: collations, operator classes, NULL that is not
    /// distinct. For judges; never told to the acting side.
    #[serde(default, skip_serializing)]
    pub comparison: Option<String>,
}

/// A detail of a schema that is neither a column, a key, a check nor an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SchemaDetail {
    /// Its kind.
    pub sort: SchemaDetailKind,
    /// The table, or the column as `table.column`; empty for what belongs to none.
    pub of: String,
    /// It, in the engine's words.
    pub words: String,
}

/// Kinds of schema details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaDetailKind {
    /// A column that is worked out from others.
    Generated,
    /// A column that numbers its rows by itself: an identity, a sequence of its own, AUTOINCREMENT.
    Numbered,
    /// More about a reference, which begins with its columns in parentheses.
    Reference,
    /// A trigger with its definition, which begins with its name and a colon.
    Trigger,
    /// A trigger that can do nothing but refuse (SQLite).
    Refusal,
    /// Anything else: rules, functions, types, schemas, collations, storage, row security.
    Other,
}

/// Reasons why an engine gives no answer; never the fault of a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The content of a source is broken.
    #[error("the database cannot be made, correct what it is made of: {0}")]
    Source(String),
    /// Everything is in use.
    #[error("every database place is in use; try again in {retry_after_ms} ms")]
    Busy {
        /// In so many milliseconds one may be free.
        retry_after_ms: u64,
    },
    /// The engine cannot be had here.
    #[error("{0}")]
    Missing(String),
    /// The database is gone: its process died, or its connection.
    #[error("the database was lost, play the episode again: {0}")]
    Lost(String),
    /// The database is gone, and went while it was asked: what was asked for may be why, and is not to be asked for again.
    #[error("the database was lost while it was asked, play the episode again: {0}")]
    Midway(String),
    /// A resource limit was exceeded. The database stands.
    #[error("{}", .0.message)]
    Cut(Box<SqlError>),
}

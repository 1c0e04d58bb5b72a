//! Tasks: what is asked for, on which data, and how it is judged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::{Access, PlanKind};
use crate::value::Dialect;

/// A task. All of it but [`Task::instruction`] and [`Task::submission`] is for the judge and the gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its kind.
    pub kind: Kind,
    /// The template or file it is made of.
    pub template: String,
    /// Instruction.
    pub instruction: String,
    /// In [0, 1].
    #[serde(default)]
    pub difficulty: Option<f64>,
    /// The data.
    pub data: Data,
    /// Data on which it is judged as well, so that a fixed answer fails. Same schema, other rows.
    #[serde(default)]
    pub others: Vec<Data>,
    /// Statements that are run on the data, played or judged, before anybody sees it: a view that is broken, an index that is
    /// missing. By dialect; the same ones for both under `any`.
    #[serde(default)]
    pub setup: Spoken,
    /// Allowed statements.
    #[serde(default)]
    pub access: Access,
    /// Kind of submission.
    pub submission: Submission,
    /// Checks of the outcome: the score is the weighted mean.
    pub checks: Vec<WeightedCheck>,
    /// Solution, for gates and tests: statements for `query`, in order.
    #[serde(default)]
    pub solution: Vec<Spoken>,
    /// Submission of the solution, where a query or an answer is handed in.
    #[serde(default)]
    pub solution_submission: Option<Spoken>,
    /// The moment at which every session of it begins, in milliseconds since 1970; 2025-01-01 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_ms: Option<i64>,
    /// Anything else that may be known to everybody: hardness, the source of the question.
    #[serde(default)]
    pub metadata: BTreeMap<String, serde_json::Value>,
}

/// 2025-01-01T00:00:00Z, when a session begins whose task says nothing else.
const BEGINS_MS: i64 = 1_735_689_600_000;

impl Task {
    /// The time that SQL sees as now in the action `seq`, in milliseconds since 1970: each action takes a second.
    #[must_use]
    pub fn now_ms(&self, seq: u64) -> i64 {
        now_ms(self.begins_ms, seq)
    }
}

/// As [`Task::now_ms`], of a task that begins at this moment.
#[must_use]
pub fn now_ms(begins_ms: Option<i64>, seq: u64) -> i64 {
    let since = i64::try_from(seq).unwrap_or(i64::MAX).saturating_mul(1_000);
    begins_ms.unwrap_or(BEGINS_MS).saturating_add(since)
}

/// The kinds of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Answer a question by a query.
    Question,
    /// Repair a broken query from the text of an issue.
    Repair,
    /// Repair or migrate a schema, keeping the data.
    Migration,
    /// Make a query fit a plan budget.
    Tuning,
    /// Find out from logs what happened.
    Incident,
    /// Act under policies that constraints and triggers enforce.
    Policy,
}

/// SQL in one or both dialects: a text that both speak, or one each.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Spoken {
    /// Nothing.
    #[default]
    Nothing,
    /// Both dialects.
    Any(String),
    /// One text per dialect; a dialect that is missing cannot play the task.
    Each(BTreeMap<Dialect, String>),
}

impl Spoken {
    /// The text in a dialect; `None` where the dialect is missing, empty for [`Spoken::Nothing`].
    #[must_use]
    pub fn in_dialect(&self, dialect: Dialect) -> Option<&str> {
        match self {
            Self::Nothing => Some(""),
            Self::Any(text) => Some(text),
            Self::Each(texts) => texts.get(&dialect).map(String::as_str),
        }
    }

    /// The same text for both dialects.
    #[must_use]
    pub fn any(text: impl Into<String>) -> Self {
        Self::Any(text.into())
    }

    /// A text for each dialect.
    #[must_use]
    pub fn each(sqlite: impl Into<String>, postgres: impl Into<String>) -> Self {
        Self::Each(BTreeMap::from([(Dialect::Sqlite, sqlite.into()), (Dialect::Postgres, postgres.into())]))
    }
}

/// The data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Data {
    /// A database that came with the environment, by name. Its variants, `name#1` and on, have other rows.
    Stored(String),
    /// A world that is made from a seed.
    World {
        /// The world's name.
        world: String,
        /// Everything in it follows from it.
        seed: u64,
        /// Sizes and switches that the world understands.
        #[serde(default)]
        settings: BTreeMap<String, i64>,
    },
}

/// Kinds of submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Submission {
    /// A query, by `submit {"sql"}`.
    Sql,
    /// A value in words, by `submit {"answer"}`.
    Answer,
    /// The state of the database: `submit {}` only ends the episode.
    State,
}

/// A check with its share of the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedCheck {
    /// Shown in the verdict.
    pub name: String,
    /// Its share.
    #[serde(default = "one")]
    pub weight: f64,
    /// True if the score is 0 when it fails, whatever else passes.
    #[serde(default)]
    pub required: bool,
    /// The check.
    pub check: Check,
}

fn one() -> f64 {
    1.0
}

/// Kinds of checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// The query that was handed in gives what a reference gives: on the task's data and on every other.
    Result {
        /// The reference.
        gold: Spoken,
        /// Aspects that are compared.
        #[serde(default)]
        compare: Compare,
        /// Other readings of what is asked for. The query may give what one of them gives instead, but then on all data.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted: Vec<Accepted>,
    },
    /// The words that were handed in are one of these, up to case, outer space and the writing of numbers.
    Answer {
        /// Any of them will do.
        accept: Vec<String>,
    },
    /// After the acting side's statements, these tables hold what they hold after the reference's, in every data.
    State {
        /// Statements of the reference, run in a fresh database.
        gold: Spoken,
        /// The tables; every other one may differ.
        tables: Vec<String>,
        /// Aspects that are compared.
        #[serde(default)]
        compare: Compare,
    },
    /// These tables hold what they held at the beginning, and are what they are after the reference: the same columns, keys, rules and
    /// triggers, but for indexes. Tables that are not named lose no key, rule or trigger that the reference leaves them.
    Unchanged {
        /// The tables.
        tables: Vec<String>,
    },
    /// The whole database is what the reference of another check leaves, or what it was where no check has one: every table, view, column,
    /// key, rule, trigger and row, and nothing besides. See [`Free`] for what may differ.
    Whole {
        /// Aspects that are free.
        #[serde(default)]
        free: Free,
    },
    /// Hidden queries on what the acting side left, each against what the reference leaves.
    Queries {
        /// Statements of the reference, run in a fresh database; empty: the queries alone are compared with `expect`.
        #[serde(default)]
        gold: Spoken,
        /// The queries.
        queries: Vec<HiddenQuery>,
        /// Aspects that are compared.
        #[serde(default)]
        compare: Compare,
    },
    /// Statements that must fail, or succeed, on what the acting side left: each is tried alone and undone.
    Probes {
        /// The statements.
        probes: Vec<Probe>,
    },
    /// Syntactic properties of the submitted query.
    Properties {
        /// Every one must hold.
        properties: Vec<Property>,
    },
    /// Plan of a query in the database that the acting side left.
    Plan {
        /// The query; where left out, the one that was handed in.
        #[serde(default)]
        query: Option<Spoken>,
        /// The query whose effort in the untouched database is the measure of shares; where left out, the same query.
        #[serde(default)]
        baseline: Option<Spoken>,
        /// Every one must hold.
        budget: Vec<PlanLimit>,
    },
    /// State of the schema.
    Schema {
        /// Every one must hold.
        expect: Vec<SchemaFact>,
    },
}

/// Differences from the reference that are allowed where the whole database is compared. Always free are names of indexes and constraints,
/// the order of columns, further indexes of columns that are not unique and have no condition, the text of checks and views that the
/// reference makes or changes, and of its new columns the default and the name of the type within its sort.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Free {
    /// Columns (`table.column`) whose values may be chosen: numbers of new rows.
    pub values: Vec<String>,
    /// Columns (`table.column`) that may refuse NULL or not.
    pub nullable: Vec<String>,
    /// Tables that may have any primary key, unique columns and columns without NULL, or none: copies that are only kept.
    pub keys: Vec<String>,
    /// Tables whose rules may be triggers that do nothing but refuse.
    pub triggers: Vec<String>,
    /// Tables that may have any index that is not unique, and need none.
    pub indexes: Vec<String>,
}

/// Aspects that count when results are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compare {
    /// True if rows must come in the reference's order. Without it, rows are a multiset.
    pub ordered: bool,
    /// Matching of columns.
    pub columns: Columns,
    /// Tolerance of numbers: |a-b| <= tolerance * max(1, |a|, |b|). Two whole numbers must be equal.
    #[serde(deserialize_with = "tolerance")]
    pub tolerance: f64,
    /// True if `1` and `'1'`, `1` and `1.0`, `true` and `1` differ. Without it numbers are compared as numbers, also where one is
    /// written as text; dates and times by what they mean.
    pub strict_types: bool,
    /// True if duplicate rows count. They do, unless the reference says otherwise.
    pub distinct: bool,
}

impl Default for Compare {
    fn default() -> Self {
        Self { ordered: false, columns: Columns::Position, tolerance: 1e-6, strict_types: false, distinct: false }
    }
}

fn tolerance<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number >= 0.0 {
        Ok(number)
    } else {
        Err(serde::de::Error::custom("the tolerance must be a number of at least 0"))
    }
}

/// Another reference that is right as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// It; a dialect that is missing does without it.
    pub gold: Spoken,
    /// True if rows count in its order.
    #[serde(default)]
    pub ordered: bool,
}

/// Matching of columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Columns {
    /// The first with the first.
    #[default]
    Position,
    /// By name, up to case; in any order.
    Name,
    /// By any order that makes the results equal.
    Any,
}

/// A hidden query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HiddenQuery {
    /// Statements that change both what the acting side left and what the reference leaves before it is asked, undone after: what was
    /// computed once differs then from what is computed anew.
    #[serde(default)]
    pub after: Spoken,
    /// Asked of what the acting side left.
    pub sql: Spoken,
    /// Asked of what the reference leaves, where it is another one there.
    #[serde(default)]
    pub gold_sql: Option<Spoken>,
    /// Expected rows as JSON, where there is no reference.
    #[serde(default)]
    pub expect: Option<Vec<Vec<serde_json::Value>>>,
}

/// A statement that is tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// It.
    pub sql: Spoken,
    /// True if it must fail.
    pub fails: bool,
    /// Its purpose.
    pub why: String,
}

/// Syntactic property of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Property {
    /// It uses this construct.
    Uses(Construct),
    /// It does not.
    Avoids(Construct),
    /// It reads this table.
    Reads(String),
    /// It does not.
    ReadsNot(String),
    /// It calls this function.
    Calls(String),
    /// It does not.
    CallsNot(String),
    /// It is a single statement that only reads.
    ReadOnly,
}

/// A construct of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Construct {
    /// `JOIN` or several tables in `FROM`.
    Join,
    /// A query within the query, `WITH` included.
    Subquery,
    /// `WITH`.
    CommonTable,
    /// `WITH RECURSIVE` that refers to itself.
    Recursion,
    /// `OVER`.
    Window,
    /// `GROUP BY`.
    GroupBy,
    /// `HAVING`.
    Having,
    /// `DISTINCT`.
    Distinct,
    /// `UNION`, `INTERSECT`, `EXCEPT`.
    SetOperation,
    /// `LIMIT` or `FETCH`.
    Limit,
    /// `ORDER BY`.
    OrderBy,
    /// `*` as a column.
    Star,
    /// `CASE`.
    Case,
    /// `EXISTS`.
    Exists,
    /// No table at all, or rows that are written out: an answer that is not looked up.
    Literal,
}

/// A limit on a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanLimit {
    /// No node of this kind on this table.
    Never {
        /// The node.
        node: PlanKind,
        /// The table, or any.
        #[serde(default)]
        table: Option<String>,
    },
    /// A node of this kind on this table.
    Has {
        /// The node.
        node: PlanKind,
        /// The table, or any.
        #[serde(default)]
        table: Option<String>,
    },
    /// The planner's estimate, and what the scans cost when the query runs, are at most this share of the estimate at the beginning
    /// (PostgreSQL; on SQLite always met).
    CostShare(f64),
    /// At most so many rows are visited, counted while the query runs, as a share of what it takes at the beginning (SQLite: virtual
    /// machine steps; on PostgreSQL always met).
    StepShare(f64),
}

/// A fact of a schema. Names are compared up to case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SchemaFact {
    /// There is such a table.
    Table(String),
    /// There is no such table or view.
    NoTable(String),
    /// There is such a view.
    View(String),
    /// A column, with a type of this sort and whether it refuses NULL, where they are said.
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Purpose of the type, whatever the dialect calls it.
        #[serde(default)]
        sort: Option<TypeSort>,
        /// True if NULL is refused.
        #[serde(default)]
        not_null: Option<bool>,
    },
    /// There is no such column.
    NoColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The primary key.
    PrimaryKey {
        /// The table.
        table: String,
        /// Its columns in order.
        columns: Vec<String>,
    },
    /// A set of columns is unique.
    Unique {
        /// The table.
        table: String,
        /// The columns, in any order.
        columns: Vec<String>,
    },
    /// A reference.
    ForeignKey {
        /// The table.
        table: String,
        /// Its columns.
        columns: Vec<String>,
        /// The table there.
        references: String,
    },
    /// An index that begins with these columns.
    Index {
        /// The table.
        table: String,
        /// The first columns, in order.
        columns: Vec<String>,
    },
    /// At most so many indexes on a table.
    IndexesAtMost {
        /// The table.
        table: String,
        /// Their number.
        count: usize,
    },
    /// A trigger on a table.
    Trigger {
        /// Its name.
        name: String,
        /// The table.
        table: String,
    },
}

/// Purpose of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeSort {
    /// Whole numbers.
    Integer,
    /// Any numbers.
    Number,
    /// Text.
    Text,
    /// A date or a time (text in SQLite).
    Time,
    /// True or false (a number in SQLite).
    Boolean,
    /// Bytes.
    Blob,
}

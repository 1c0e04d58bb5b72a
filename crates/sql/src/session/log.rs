//! Log of a session: its surviving steps, by which it is rebuilt and judged.

use serde::{Deserialize, Serialize};

use crate::cut_off::CutOff;
use crate::engine::{Database, EngineError, Limits, Step, StepResult};
use crate::script;
use crate::value::{Dialect, Value};

/// A surviving step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedStep {
    /// Number of the action in the session, from 1.
    pub seq: u64,
    /// SQL statements.
    pub sql: String,
    /// Values of parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Value>,
    /// The time that it saw as now, in milliseconds since 1970.
    pub now_ms: i64,
    /// True if it changed nothing, so that a replay leaves it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pure: bool,
    /// The point at which a limit cut it off, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutOff>,
}

/// Fails on PostgreSQL in any state, and fails the open transaction block with it.
const FAILURE: &str = "\n;palestra";
/// Fails on SQLite without an open transaction, and changes nothing then.
const ROLLBACK: &str = "\n;ROLLBACK";

impl LoggedStep {
    /// Replays the step in another database. A step that a limit cut off ends at the same point, whatever the limits
    /// are now.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub(crate) async fn replay(
        &self,
        database: &mut dyn Database,
        dialect: Dialect,
    ) -> Result<StepResult, EngineError> {
        let step = self.step();
        match self.cut {
            None => database.run(&step).await,
            Some(cut) => database.run(&Step { sql: &self.until(cut, dialect), parameters: &[], ..step }).await,
        }
    }

    /// True if a limit cut off the replay but not the original step.
    pub(crate) fn differs(&self, again: &StepResult) -> bool {
        self.cut.is_none() && CutOff::of(again).is_some()
    }

    /// The step as it was run.
    pub(super) fn step(&self) -> Step<'_> {
        Step { seq: self.seq, sql: &self.sql, parameters: &self.parameters, now_ms: self.now_ms }
    }

    /// Statements that ran before it was cut off, with their effect on an open transaction.
    fn until(&self, cut: CutOff, dialect: Dialect) -> String {
        let statements = script::split(&self.sql, dialect);
        let end = statements.get(cut.statement).map_or(self.sql.len(), |statement| statement.start);
        let after = match dialect {
            Dialect::Postgres => FAILURE,
            Dialect::Sqlite if cut.in_transaction => "",
            Dialect::Sqlite => ROLLBACK,
        };
        format!("{}{after}", &self.sql[..end])
    }
}

/// Submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Submitted {
    /// A query.
    Sql(String),
    /// A value in words.
    Answer(String),
    /// The state of the database.
    State,
}

/// Input of a judge: the surviving steps in order, and the submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Surviving steps.
    pub steps: Vec<LoggedStep>,
    /// Submission; none where the episode ended otherwise.
    pub submission: Option<Submitted>,
    /// Limits of the steps.
    #[serde(default)]
    pub limits: Limits,
}

/// State from which a session is resumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    /// The last action.
    pub(super) seq: u64,
    /// Actions that can be rewound to.
    pub(super) standing: Vec<u64>,
    pub(super) steps: Vec<LoggedStep>,
    pub(super) submission: Option<Submitted>,
}

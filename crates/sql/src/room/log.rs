//! What is kept of a session: the steps that stand, from which it can be built again and judged.

use serde::{Deserialize, Serialize};

use crate::cut_off::CutOff;
use crate::engine::{Database, EngineError, Limits, Ran, Step};
use crate::script;
use crate::value::{Dialect, Value};

/// 2025-01-01T00:00:00Z, when every session begins; each action takes a second.
const BEGINNING_MS: i64 = 1_735_689_600_000;

/// What SQL takes for now in the action `seq`, in milliseconds since 1970.
#[must_use]
pub fn now_ms(seq: u64) -> i64 {
    BEGINNING_MS.saturating_add(i64::try_from(seq).unwrap_or(i64::MAX).saturating_mul(1_000))
}

/// A step that stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Which action of the session it was, from 1.
    pub seq: u64,
    /// Its statements.
    pub sql: String,
    /// Values of parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Value>,
    /// What it took for now, in milliseconds since 1970.
    pub now_ms: i64,
    /// It changed nothing, and need not be run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pure: bool,
    /// Where a limit ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutOff>,
}

/// Fails on PostgreSQL whatever there is, and with it the block that is open.
const FAILURE: &str = "\n;palestra";
/// Fails on SQLite where no transaction is open, and changes nothing then.
const ROLLBACK: &str = "\n;ROLLBACK";

impl Logged {
    /// Runs it again, in another database in which everything before it was run. Where a limit ended it, that is where it ends now,
    /// whatever the limits are here: it leaves what it left in the session.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub(crate) async fn replay(&self, database: &mut dyn Database, dialect: Dialect) -> Result<Ran, EngineError> {
        let step = self.step();
        match self.cut {
            None => database.run(&step).await,
            Some(cut) => database.run(&Step { sql: &self.until(cut, dialect), parameters: &[], ..step }).await,
        }
    }

    /// Whether a limit ended it when it was run again, and did not in the session.
    pub(crate) fn differs(&self, again: &Ran) -> bool {
        self.cut.is_none() && CutOff::of(again).is_some()
    }

    /// As what it was run.
    pub(super) fn step(&self) -> Step<'_> {
        Step { seq: self.seq, sql: &self.sql, parameters: &self.parameters, now_ms: self.now_ms }
    }

    /// What was done before it was cut off, and what that did to an open transaction.
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

/// What was handed in.
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

/// What a judge is given: the steps that stand, in order, and what was handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Steps that stand.
    pub steps: Vec<Logged>,
    /// What was handed in; nothing where the episode ended otherwise.
    pub submission: Option<Submitted>,
    /// Under which limits the steps ran.
    #[serde(default)]
    pub limits: Limits,
}

/// From what a room is opened again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    /// The last action.
    pub(super) seq: u64,
    /// Actions to which one may return.
    pub(super) standing: Vec<u64>,
    pub(super) steps: Vec<Logged>,
    pub(super) submission: Option<Submitted>,
}

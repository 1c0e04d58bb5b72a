//! What is kept of a session: the steps that stand, from which it can be built again and judged.

use serde::{Deserialize, Serialize};

use crate::engine::Limits;
use crate::value::Value;

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

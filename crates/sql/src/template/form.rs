//! The files of an environment, as they are written: `environment.yaml`, and one file per template in `templates/`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::engine::Access;
use crate::fault::Fault;
use crate::mutate::Kind;
use crate::task::{Compare, Kind as TaskKind, Spoken, Submission, WeightedCheck};
use crate::value::Dialect;

/// Definition of an environment: `environment.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Its name, with the family in front: `sql/question`.
    pub name: String,
    /// Description for lists.
    pub description: String,
    /// Kind of its tasks.
    pub kind: TaskKind,
    /// Engines on which it can be played.
    #[serde(default = "both")]
    pub engines: Vec<Dialect>,
    /// Its splits, each with the number of different worlds that its tasks are played on. No world is in two splits.
    #[serde(default = "usual_splits")]
    pub splits: BTreeMap<String, usize>,
}

fn both() -> Vec<Dialect> {
    Dialect::ALL.to_vec()
}

fn usual_splits() -> BTreeMap<String, usize> {
    BTreeMap::from([("train".to_owned(), 8), ("validation".to_owned(), 4), ("test".to_owned(), 4)])
}

/// A template of tasks. In its texts `${parameter}` stands for a value.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    /// The world that it is played in.
    pub(super) world: String,
    /// Sizes and switches of the world.
    #[serde(default)]
    pub(super) settings: BTreeMap<String, i64>,
    /// Its splits; all where none are named.
    #[serde(default)]
    pub(super) splits: Vec<String>,
    /// In [0, 1].
    pub(super) difficulty: f64,
    /// Allowed statements.
    #[serde(default)]
    pub(super) access: Access,
    /// Kind of submission.
    #[serde(default = "sql")]
    pub(super) submission: Submission,
    /// On how many other worlds it is judged as well.
    #[serde(default)]
    pub(super) others: usize,
    /// Parameters that are drawn for each task.
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, ParameterSource>,
    /// Parameters that the text tells and that change nothing in what is expected: a query that is shown with its fault.
    #[serde(default)]
    pub(super) told_only: Vec<String>,
    /// Instruction.
    pub(super) instruction: String,
    /// Statements before anybody sees the data.
    #[serde(default)]
    pub(super) setup: Spoken,
    /// The query that answers it. Where a query is handed in, it is a check of its own, and the solution.
    #[serde(default)]
    pub(super) gold: Spoken,
    /// Aspects that count when results are compared with those of `gold`.
    #[serde(default)]
    pub(super) compare: Compare,
    /// Checks beside `gold`.
    #[serde(default)]
    pub(super) checks: Vec<WeightedCheck>,
    /// Statements that solve it.
    #[serde(default)]
    pub(super) solution: Vec<Spoken>,
    /// Submission of the solution, where that is not `gold`.
    #[serde(default)]
    pub(super) solution_submission: Option<Spoken>,
    /// Near misses, as statements or as submissions: for tests.
    #[serde(default)]
    pub(super) wrong: Vec<Spoken>,
    /// Anything that may be known to everybody.
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, Json>,
}

fn sql() -> Submission {
    Submission::Sql
}

/// Where a parameter comes from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ParameterSource {
    /// Always this: a value, named values, or SQL by dialect.
    Fixed(Json),
    /// One of these.
    Choice(Vec<Json>),
    /// A whole number.
    Range(Range),
    /// A value of a column, that occurs in the task's world and in every other on which it is judged.
    Column(Values),
    /// The named values of one row of the task's world.
    Row(Rows),
    /// The named values of one fact of the task's world.
    Fact(String),
    /// A query with a slip in it, as `sql`, and what somebody noticed, as `symptom`.
    Slip(Slip),
}

/// A slip that is made in a query, by its syntax tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slip {
    /// The query, in words that both dialects speak. Other parameters may stand in it.
    pub(super) of: String,
    /// Sorts of slips that show in every world.
    pub(super) kinds: Vec<Kind>,
}

/// A range of whole numbers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    /// The least.
    pub(super) from: i64,
    /// The largest.
    pub(super) to: i64,
    /// Distance between neighbours.
    #[serde(default = "one")]
    pub(super) step: i64,
}

fn one() -> i64 {
    1
}

/// Values of a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    /// Its table.
    pub(super) table: String,
    /// Its name.
    pub(super) column: String,
    /// In how many rows the value stands at least.
    #[serde(default = "once")]
    pub(super) at_least: usize,
    /// Condition of the rows.
    #[serde(default, rename = "where")]
    pub(super) matching: BTreeMap<String, Json>,
}

fn once() -> usize {
    1
}

/// Rows of a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    /// The table.
    pub(super) table: String,
    /// Condition of the rows: by column a value, a list of values, null, or `{least, most}`.
    #[serde(default, rename = "where")]
    pub(super) matching: BTreeMap<String, Json>,
}

/// Reads a YAML file.
///
/// # Errors
/// The fault, with its line and column.
pub(super) fn read<T: for<'de> Deserialize<'de>>(path: &str, bytes: &[u8]) -> Result<T, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::new(path, "is no UTF-8"))?;
    palestra_yaml::read(text).map_err(|error| {
        let place = match error.place {
            Some((line, column)) => format!("{path}:{line}:{column}"),
            None => path.to_owned(),
        };
        Fault::new(place, error.detail)
    })
}

//! Environments and their tasks, as the API shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::list;
use crate::observation::Message;
use crate::shared::Shared;

/// An environment: its description and its capabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Environment {
    /// `family/name`.
    pub name: String,
    /// Rises with every change that can be observed.
    pub version: u32,
    /// Names the definition's content: `sha256:<hex>`.
    pub digest: String,
    /// The part of the name before the slash.
    pub family: String,
    /// The task of the acting side.
    pub description: String,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// The tools, as OpenAI function tools or, with `?tools=mcp`, as MCP tools.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Value>))]
    #[serde(deserialize_with = "list::plain")]
    pub tools: Shared<Vec<Value>>,
    /// JSON Schema of the actions that make sense here.
    pub action_schema: Value,
    /// JSON Schema of `observation.data`.
    pub observation_schema: Value,
    /// Splits and how many tasks each has; a generator states a virtual length.
    pub splits: BTreeMap<String, u64>,
    /// The number of task templates.
    pub templates: u64,
    /// Limits that hold where a session names none.
    pub limits: Limits,
    /// The most that a null or random policy may reach on average.
    pub floor: f64,
    /// True if steps before the last carry a reward.
    pub step_rewards: bool,
    /// The capabilities of its sessions.
    pub capabilities: Capabilities,
}

/// An environment as a row of a list: all but its tools and schemas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentSummary {
    /// `family/name`.
    pub name: String,
    /// Rises with every change that can be observed.
    pub version: u32,
    /// Names the definition's content: `sha256:<hex>`.
    pub digest: String,
    /// The part of the name before the slash.
    pub family: String,
    /// The task of the acting side.
    pub description: String,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// Splits and how many tasks each has; a generator states a virtual length.
    pub splits: BTreeMap<String, u64>,
    /// The number of task templates.
    pub templates: u64,
    /// Limits that hold where a session names none.
    pub limits: Limits,
    /// The most that a null or random policy may reach on average.
    pub floor: f64,
    /// True if steps before the last carry a reward.
    pub step_rewards: bool,
    /// The capabilities of its sessions.
    pub capabilities: Capabilities,
}

impl From<Environment> for EnvironmentSummary {
    fn from(whole: Environment) -> Self {
        Self {
            name: whole.name,
            version: whole.version,
            digest: whole.digest,
            family: whole.family,
            description: whole.description,
            tags: whole.tags,
            splits: whole.splits,
            templates: whole.templates,
            limits: whole.limits,
            floor: whole.floor,
            step_rewards: whole.step_rewards,
            capabilities: whole.capabilities,
        }
    }
}

/// The capabilities of sessions of an environment; an unsupported call is `409 not_supported`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Capabilities {
    /// Same version, task, seed and actions give the same observations, state hash and verdict.
    pub deterministic: bool,
    /// The remains of a session after the server died.
    pub recovery: Recovery,
    /// The parts that a fork copies.
    pub fork: ForkKind,
    /// Where a fork may start.
    pub at_seq: AtSeq,
}

impl Capabilities {
    /// Everything: a pure function of task, seed and actions.
    pub const PURE: Self =
        Self { deterministic: true, recovery: Recovery::Replay, fork: ForkKind::State, at_seq: AtSeq::Any };
}

/// The way in which a session comes back after the server died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// By running the recorded actions again.
    Replay,
    /// Files survive, processes do not.
    Files,
    /// Nothing survives.
    None,
}

/// The parts that a fork copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForkKind {
    /// The whole state.
    State,
    /// Files, but no processes.
    Files,
    /// No fork is possible.
    None,
}

/// Where a fork may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AtSeq {
    /// At any step of the past.
    Any,
    /// At snapshots.
    Snapshots,
    /// At the present only.
    None,
}

/// Limits of an episode (`idle_ms` and those of model calls: of a session).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Turns in an episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub steps: Option<u64>,
    /// Tool calls in an episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub calls: Option<u64>,
    /// Milliseconds from an episode's beginning to its last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub wall_ms: Option<u64>,
    /// Milliseconds without a command after which a session is parked or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub idle_ms: Option<u64>,
    /// Model calls in a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub model_calls: Option<u64>,
    /// Tokens that model calls of a session read and write: once it is reached, no further call begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub model_tokens: Option<u64>,
    /// Cost of the model calls of a session, by the prices of their upstreams: once it is reached, no further call begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.0))]
    pub model_cost: Option<f64>,
}

impl Limits {
    /// These, and those of `other` where one is left out.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps.or(other.steps),
            calls: self.calls.or(other.calls),
            wall_ms: self.wall_ms.or(other.wall_ms),
            idle_ms: self.idle_ms.or(other.idle_ms),
            model_calls: self.model_calls.or(other.model_calls),
            model_tokens: self.model_tokens.or(other.model_tokens),
            model_cost: self.model_cost.or(other.model_cost),
        }
    }
}

/// One task of a split, without anything that gives its answer away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Task {
    /// Recreates the task exactly.
    pub id: String,
    /// The split it belongs to.
    pub split: String,
    /// Its place in the split; null for a task that was asked for by seed.
    pub index: Option<u64>,
    /// From 0 (easy) to 1 (hard); null where the environment has no such scale.
    pub difficulty: Option<f64>,
    /// Which template it was made from.
    pub template: String,
    /// System and policy text, then the user's instruction: all that a policy is told.
    pub messages: Vec<Message>,
    /// The tools that this task offers, as OpenAI function tools.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Value>))]
    #[serde(deserialize_with = "list::plain")]
    pub tools: Shared<Vec<Value>>,
    /// Scores between which it is rescaled; absent where its scores are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_range: Option<ScoreRange>,
    /// Anything else that its maker attached.
    pub metadata: Value,
}

/// Scores of a task between which others are rescaled: that of doing nothing, and that of a solution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ScoreRange {
    /// Most that doing nothing may score, in [0, 1).
    #[serde(default)]
    pub floor: f64,
    /// Least that a solution must score, above the floor and at most 1.
    #[serde(default = "ScoreRange::most")]
    pub ceiling: f64,
}

impl ScoreRange {
    /// A range that is declared by one of its ends, or both; `None` where neither is.
    ///
    /// # Errors
    /// When it is none, in words.
    pub fn declared(floor: Option<f64>, ceiling: Option<f64>) -> Result<Option<Self>, String> {
        if floor.is_none() && ceiling.is_none() {
            return Ok(None);
        }
        let range = Self { floor: floor.unwrap_or(0.0), ceiling: ceiling.unwrap_or_else(Self::most) };
        if 0.0 <= range.floor && range.floor < range.ceiling && range.ceiling <= 1.0 {
            return Ok(Some(range));
        }
        Err(format!(
            "floor and ceiling must be from 0 to 1, and the floor below the ceiling, not {} and {}",
            range.floor, range.ceiling
        ))
    }

    /// A score rescaled so that the floor is 0 and the ceiling 1; what is beyond either is cut off.
    #[must_use]
    pub fn rescaled(&self, score: f64) -> f64 {
        ((score - self.floor) / (self.ceiling - self.floor)).clamp(0.0, 1.0)
    }

    fn most() -> f64 {
        1.0
    }
}

impl Default for ScoreRange {
    fn default() -> Self {
        Self { floor: 0.0, ceiling: Self::most() }
    }
}

/// An app's definition, as it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Definition {
    /// The sort of definition: `app`.
    pub kind: String,
    /// The text of each file, by its name.
    pub files: BTreeMap<String, String>,
}

/// Which task is to be proven, of an environment whose tasks are done in sandboxes or databases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProveTask {
    /// The split.
    pub split: String,
    /// Its place: among the rows of the split, or among what its templates make, each template in turn.
    #[cfg_attr(feature = "openapi", schema(maximum = 9_007_199_254_740_991_u64))]
    pub number: u64,
}

/// The result of proving a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProvenTask {
    /// Its name.
    pub name: String,
    /// Its faults; none where its solution solves it, and nothing less does.
    pub faults: Vec<String>,
}

/// The answer to publishing a definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Published {
    /// The environment as it can be played now.
    pub environment: Environment,
    /// True if this call made a new version; false when the same content was there already.
    pub created: bool,
    /// Notes from reading it, such as tasks that can be played on one engine alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

//! Runs: owners of sessions, alive as long as their lease is renewed.

use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::time::Timestamp;

/// Starts a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateRun {
    /// A caller-made id makes creation idempotent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RunId>,
    /// Milliseconds that the run lives without a call that names it. 1 s to 24 h.
    #[cfg_attr(feature = "openapi", schema(minimum = 1_000, maximum = 86_400_000))]
    pub lease_ms: u64,
}

/// Plan of a run, as whoever plays it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// The policy that acts, such as `builtin:random`; 1 to 10,000 bytes.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 10_000))]
    pub policy: String,
    /// The split of its tasks; null where they are of several.
    #[serde(default)]
    pub split: Option<String>,
    /// The seed that chose tasks and randomness.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// Number of episodes that it plays if nothing interrupts it.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_u64))]
    pub episodes: u64,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Run {
    /// The run.
    pub id: RunId,
    /// Its state.
    pub state: RunState,
    /// Milliseconds that it lives without a call that names it.
    pub lease_ms: u64,
    /// When it ends unless renewed.
    pub lease_expires_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its plan; null where nobody told it.
    #[serde(default)]
    pub plan: Option<RunPlan>,
}

/// A run as a row of a list, with what its episodes came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// Its state.
    pub state: RunState,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its episodes, those that still run among them.
    pub episodes: u64,
    /// Those of them that have a score.
    pub scored: u64,
    /// The mean of the scores; null without any.
    pub mean_score: Option<f64>,
    /// The environment of its episodes, the first by name of several; null without any.
    #[serde(default)]
    pub environment: Option<String>,
    /// Number of environments that its episodes have; the mean over several says little.
    #[serde(default)]
    pub environments: u64,
    /// Its plan; null where nobody told it.
    #[serde(default)]
    pub plan: Option<RunPlan>,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It does.
    Active,
    /// It was deleted.
    Deleted,
    /// Its lease expired.
    Expired,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Active, Self::Deleted, Self::Expired];

    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

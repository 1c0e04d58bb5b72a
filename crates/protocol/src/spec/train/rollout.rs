//! The playing of episodes and their reward.

use serde::{Deserialize, Serialize};

use super::finite;
use crate::spec::Faults;
use crate::spec::tool_format::ToolFormat;

/// Most sessions that one job plays at once.
pub const CONCURRENT_SESSIONS_MAX: u32 = 4_096;

/// The playing of episodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(default, deny_unknown_fields)]
pub struct Rollout {
    /// Sessions at once.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4096))]
    pub concurrent_sessions: u32,
    /// Most turns of an episode.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_turns: u32,
    /// Most tokens of one answer.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 131_072))]
    pub max_tokens: u32,
    /// Most tokens of a whole episode, prompt included; a longer one is cut there as `max_tokens`.
    #[cfg_attr(feature = "openapi", schema(minimum = 8, maximum = 1_048_576))]
    pub max_context_tokens: u32,
    /// Divides the logits.
    pub temperature: f64,
    /// The form of actions in the text; left out, that with which the policy was trained before, `auto` where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_format: Option<ToolFormat>,
    /// By how many updates the weights that play may lag behind.
    #[cfg_attr(feature = "openapi", schema(maximum = 16))]
    pub staleness_updates_max: u32,
    /// Share of episodes of one update that may fail for reasons of infrastructure before the job fails; they are masked.
    pub masked_share_max: f64,
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            concurrent_sessions: 64,
            max_turns: 8,
            max_tokens: 512,
            max_context_tokens: 2_048,
            temperature: 1.0,
            tool_format: None,
            staleness_updates_max: 0,
            masked_share_max: 0.5,
        }
    }
}

/// The reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(default, deny_unknown_fields)]
pub struct Reward {
    /// Which number of an episode.
    pub from: RewardFrom,
    /// The reward of an episode that a limit cut: `max_turns`, `max_context_tokens`, or `max_tokens` in one of its answers.
    pub truncated: Truncated,
    /// Taken from the reward per token of an answer, in thousandths: r - cost x tokens / 1000.
    pub length_cost: f64,
}

impl Default for Reward {
    fn default() -> Self {
        Self { from: RewardFrom::Score, truncated: Truncated::Score, length_cost: 0.0 }
    }
}

/// Which number of an episode is its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewardFrom {
    /// The verdict's score.
    Score,
    /// The verdict's strict score: 1 or 0.
    Strict,
    /// The sum of the steps' rewards.
    Return,
}

/// The reward of an episode that a limit cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Truncated {
    /// Its verdict.
    Score,
    /// It leaves the update.
    Mask,
    /// Nothing.
    Zero,
}

impl Reward {
    pub(super) fn check(&self, faults: &mut Faults) {
        let sane = finite(self.length_cost) && self.length_cost >= 0.0;
        faults.unless(sane, "reward.length_cost", "must be 0 or more");
    }
}

impl Rollout {
    pub(super) fn check(&self, faults: &mut Faults) {
        let sessions = (1..=CONCURRENT_SESSIONS_MAX).contains(&self.concurrent_sessions);
        faults.unless(sessions, "rollout.concurrent_sessions", format!("must be 1 to {CONCURRENT_SESSIONS_MAX}"));
        faults.unless((1..=100_000).contains(&self.max_turns), "rollout.max_turns", "must be 1 to 100000");
        faults.unless((1..=131_072).contains(&self.max_tokens), "rollout.max_tokens", "must be 1 to 131072");
        faults.unless(
            (8..=1_048_576).contains(&self.max_context_tokens),
            "rollout.max_context_tokens",
            "must be 8 to 1048576",
        );
        faults.unless(
            finite(self.temperature) && self.temperature > 0.0 && self.temperature <= 10.0,
            "rollout.temperature",
            "above 0, at most 10",
        );
        faults.unless(self.staleness_updates_max <= 16, "rollout.staleness_updates_max", "at most 16");
        faults.unless((0.0..=1.0).contains(&self.masked_share_max), "rollout.masked_share_max", "must be 0 to 1");
    }
}

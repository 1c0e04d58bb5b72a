//! The comparison of episodes, and the aggregation of their token losses.

use serde::{Deserialize, Serialize};

use super::finite;
use crate::spec::Faults;

/// The computation of advantages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Advantage {
    /// (r - mean) / (sd of n - 1 + eps).
    GroupNormalised {
        /// Keeps the quotient finite.
        #[serde(default = "tiny")]
        epsilon: f64,
    },
    /// r - mean.
    GroupCentred,
    /// r - mean of the others.
    LeaveOneOut,
    /// Return to go, whitened over all tokens of the batch.
    BatchWhitened {
        /// Takes the group's mean away first.
        #[serde(default)]
        group_mean_first: bool,
    },
    /// (r - median) / (median absolute deviation + eps); the median rollout leaves the update.
    GroupMedian {
        /// Keeps the quotient finite.
        #[serde(default = "thousandth")]
        epsilon: f64,
    },
    /// Episode advantage + weight x step advantage within groups of equal states.
    GroupInGroup {
        /// Weight of the step advantage.
        #[serde(default = "one")]
        step_weight: f64,
        /// Divides by the spread too.
        #[serde(default = "yes")]
        normalise: bool,
    },
    /// alpha x normalised within strata + (1 - alpha) x normalised in the group.
    Stratified {
        /// Weight of the form within strata.
        #[serde(default = "four_fifths")]
        alpha: f64,
        /// Keeps the quotients finite.
        #[serde(default = "tiny")]
        epsilon: f64,
    },
    /// R - b(game, role), b moving by (1 - decay) after each batch.
    RoleBaseline {
        /// The share of the baseline that stays.
        #[serde(default = "nineteen_twentieths")]
        decay: f64,
    },
}

fn tiny() -> f64 {
    1e-6
}

fn thousandth() -> f64 {
    1e-3
}

fn one() -> f64 {
    1.0
}

fn four_fifths() -> f64 {
    0.8
}

fn nineteen_twentieths() -> f64 {
    0.95
}

fn yes() -> bool {
    true
}

/// The aggregation of token losses into one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Aggregation {
    /// Mean over all tokens of the batch.
    TokenMean,
    /// Mean over sequences of their token means.
    SequenceMeanOfTokenMean,
    /// Mean over sequences of their token sums.
    SequenceMeanOfTokenSum,
    /// Sum over tokens divided by sequences x a constant.
    TokenSumOverConstant {
        /// The constant, in tokens: commonly the longest answer.
        constant: f64,
    },
}

impl Advantage {
    /// True if it needs several rollouts of one task.
    #[must_use]
    pub const fn compares_within_groups(&self) -> bool {
        !matches!(self, Self::RoleBaseline { .. } | Self::BatchWhitened { group_mean_first: false })
    }

    pub(super) fn check(&self, faults: &mut Faults) {
        let not_negative = |value: f64| finite(value) && value >= 0.0;
        let share = |value: f64| (0.0..=1.0).contains(&value);
        match *self {
            Self::GroupNormalised { epsilon } | Self::GroupMedian { epsilon } => {
                faults.unless(not_negative(epsilon), "algorithm.advantage.epsilon", "must be 0 or more");
            }
            Self::GroupInGroup { step_weight, .. } => {
                faults.unless(not_negative(step_weight), "algorithm.advantage.step_weight", "must be 0 or more");
            }
            Self::Stratified { alpha, epsilon } => {
                faults.unless(share(alpha), "algorithm.advantage.alpha", "must be 0 to 1");
                faults.unless(not_negative(epsilon), "algorithm.advantage.epsilon", "must be 0 or more");
            }
            Self::RoleBaseline { decay } => faults.unless(share(decay), "algorithm.advantage.decay", "must be 0 to 1"),
            Self::GroupCentred | Self::LeaveOneOut | Self::BatchWhitened { .. } => {}
        }
    }
}

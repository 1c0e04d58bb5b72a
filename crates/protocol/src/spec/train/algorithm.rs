//! The learning algorithm: presets, and parts that can be set apart.

use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, Aggregation};
use super::finite;
use crate::spec::Faults;

/// The learning algorithm: a preset by name, whose parts can be set apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Algorithm {
    /// The preset.
    pub name: AlgorithmName,
    /// Rollouts of one task; for algorithms that compare within groups. 8 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 1_024))]
    pub group_size: Option<u32>,
    /// Tasks of one update; 8 where left out. Episodes per update are `tasks_per_step` x `group_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_536))]
    pub tasks_per_step: Option<u32>,
    /// Passes over the episodes of one update; 1 where left out, 4 for `ppo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 64))]
    pub epochs: Option<u32>,
    /// Parts into which the episodes of one update are cut, with a change of weights after each; 2 where left out, 4 for `ppo`. With 1 of
    /// both no weights change between two looks at an episode, so `clip` bounds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub minibatches: Option<u32>,
    /// Bounds of the probability ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<Clip>,
    /// Keeps the policy near another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl: Option<Kl>,
    /// The computation of advantages; that of the preset where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advantage: Option<Advantage>,
    /// The aggregation of token losses into one number; that of the preset where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// Weight of the entropy bonus; 0 where left out, 0.01 for `ppo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Weight of the value loss of `ppo`; 0.5 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Discount per turn for algorithms that look at turns (`gigpo`, `reinforce_pp`; 1 where left out) and for `ppo` over vectors (0.99
    /// where left out). `ppo` of a language model discounts per token of its answers; 1 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Trace decay of generalised advantage estimation, per turn over vectors and per token of a language model; 0.95 where left out.
    /// For `ppo` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// More terms of the loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 8))]
    pub auxiliary: Vec<Auxiliary>,
}

/// A preset of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlgorithmName {
    /// Supervised: masked cross-entropy over the global token count.
    Sft,
    /// Proximal policy optimisation with a value function and generalised advantages: over the turns of a policy over vectors, over the
    /// tokens of a language model.
    Ppo,
    /// Group-relative: (r - mean) / (sd + eps), mean over sequences of token means.
    Grpo,
    /// Group-relative without the division by spread and length.
    DrGrpo,
    /// Leave one out: the mean of the others as baseline.
    Rloo,
    /// Batch-wide whitening, optionally with group means taken first.
    ReinforcePp,
    /// Wider upper clip, token mean, groups with equal rewards drawn again, overlong answers masked.
    Dapo,
    /// One ratio per sequence.
    Gspo,
    /// Median baseline; the median rollout leaves the update.
    McGrpo,
    /// Episode advantage plus step advantage within equal states.
    Gigpo,
    /// Normalised within strata of equal numbers of tool calls.
    Stratified,
    /// Self-play: a running baseline per game and role.
    RoleConditioned,
}

/// Bounds of the probability ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// The ratio counts as no less than 1 - low.
    pub low: f64,
    /// The ratio counts as no more than 1 + high.
    pub high: f64,
    /// Bound of ratio x |A| for negative advantages, above 1; none where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual: Option<f64>,
}

/// Keeps the policy near another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Kl {
    /// To whom.
    #[serde(default)]
    pub to: KlTo,
    /// Weight in the loss; 0 costs nothing.
    pub beta: f64,
    /// The estimator.
    #[serde(default)]
    pub estimator: KlEstimator,
}

/// To whom a policy is kept near.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KlTo {
    /// The policy that the job started from.
    #[default]
    Reference,
}

/// An estimator of a divergence from sampled tokens, with d = ln p_ref - ln p, <http://joschu.net/blog/kl-approx.html>.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// -d.
    K1,
    /// d^2 / 2.
    K2,
    /// e^d - d - 1.
    #[default]
    K3,
}

/// One more term of the loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auxiliary {
    /// Cross-entropy on observation tokens, in the same forward pass.
    Echo {
        /// Its weight.
        weight: f64,
    },
}

impl AlgorithmName {
    /// Every preset.
    pub const ALL: [Self; 12] = [
        Self::Sft,
        Self::Ppo,
        Self::Grpo,
        Self::DrGrpo,
        Self::Rloo,
        Self::ReinforcePp,
        Self::Dapo,
        Self::Gspo,
        Self::McGrpo,
        Self::Gigpo,
        Self::Stratified,
        Self::RoleConditioned,
    ];

    /// True if it compares rollouts of one task.
    #[must_use]
    pub const fn is_grouped(self) -> bool {
        !matches!(self, Self::Sft | Self::Ppo | Self::RoleConditioned)
    }
}

impl Algorithm {
    pub(super) fn check(&self, faults: &mut Faults) {
        self.check_owners(faults);
        self.check_advantage(faults);
        self.check_clip(faults);
        self.check_bounds(faults);
    }

    /// Faults of what a policy over vectors cannot be trained with.
    pub(super) fn check_of_vectors(&self, faults: &mut Faults) {
        let learns = self.name == AlgorithmName::Ppo;
        faults.unless(
            learns,
            "algorithm.name",
            "builtin:mlp learns by ppo alone: choose ppo, or builtin:tiny-transformer",
        );
        for (field, given) in [
            ("kl", self.kl.is_some()),
            ("aggregation", self.aggregation.is_some()),
            ("auxiliary", !self.auxiliary.is_empty()),
        ] {
            let field = format!("algorithm.{field}");
            faults.unless(!given, &field, "only a language model takes this: leave it out, or choose another policy");
        }
    }

    /// Faults of fields that another algorithm takes.
    fn check_owners(&self, faults: &mut Faults) {
        let name = self.name;
        let only = |faults: &mut Faults, given: bool, field: &str, fits: bool, who: &str| {
            faults.unless(
                !given || fits,
                &format!("algorithm.{field}"),
                format!("only {who} takes this: leave it out"),
            );
        };
        let learns_by_playing = name != AlgorithmName::Sft;
        only(
            faults,
            self.group_size.is_some(),
            "group_size",
            name.is_grouped(),
            "an algorithm that compares within groups",
        );
        only(faults, self.tasks_per_step.is_some(), "tasks_per_step", learns_by_playing, "an algorithm that plays");
        only(faults, self.epochs.is_some(), "epochs", learns_by_playing, "an algorithm that plays");
        only(faults, self.minibatches.is_some(), "minibatches", learns_by_playing, "an algorithm that plays");
        only(faults, self.clip.is_some(), "clip", learns_by_playing, "an algorithm that plays");
        only(faults, self.kl.is_some(), "kl", learns_by_playing, "an algorithm that plays");
        only(faults, self.entropy.is_some(), "entropy", learns_by_playing, "an algorithm that plays");
        only(faults, !self.auxiliary.is_empty(), "auxiliary", learns_by_playing, "an algorithm that plays");
        only(faults, self.aggregation.is_some(), "aggregation", learns_by_playing, "an algorithm that plays");
        only(faults, self.value.is_some(), "value", name == AlgorithmName::Ppo, "ppo");
        only(faults, self.lambda.is_some(), "lambda", name == AlgorithmName::Ppo, "ppo");
        let turns = matches!(name, AlgorithmName::Ppo | AlgorithmName::Gigpo | AlgorithmName::ReinforcePp);
        only(faults, self.gamma.is_some(), "gamma", turns, "ppo, gigpo or reinforce_pp");
        only(
            faults,
            self.advantage.is_some(),
            "advantage",
            name.is_grouped() || name == AlgorithmName::RoleConditioned,
            "a group-relative algorithm",
        );
    }

    fn check_advantage(&self, faults: &mut Faults) {
        let Some(advantage) = &self.advantage else { return };
        let name = self.name;
        if let Advantage::RoleBaseline { .. } = advantage {
            faults.unless(
                name == AlgorithmName::RoleConditioned,
                "algorithm.advantage",
                "only role_conditioned has roles: leave them out",
            );
        }
        let fits = name != AlgorithmName::RoleConditioned || !advantage.compares_within_groups();
        faults.unless(
            fits,
            "algorithm.advantage",
            "role_conditioned plays each task once, and a group of one compares with nothing: choose another advantage",
        );
        advantage.check(faults);
    }

    /// Faults of a clip that would bound nothing: with one change of weights per update, the probability ratio is always 1.
    fn check_clip(&self, faults: &mut Faults) {
        let once = (self.epochs, self.minibatches) == (Some(1), Some(1));
        let clips = self.clip.is_some() || self.name == AlgorithmName::Gspo;
        faults.unless(
            !(once && clips),
            "algorithm.minibatches",
            "with one pass over one part, the probability ratio is always 1 and nothing is clipped: choose 2 or more",
        );
    }

    fn check_bounds(&self, faults: &mut Faults) {
        let in_range =
            |value: Option<u32>, most: u32, least: u32| value.is_none_or(|value| (least..=most).contains(&value));
        faults.unless(in_range(self.group_size, 1_024, 2), "algorithm.group_size", "must be 2 to 1024");
        faults.unless(in_range(self.tasks_per_step, 65_536, 1), "algorithm.tasks_per_step", "must be 1 to 65536");
        faults.unless(in_range(self.epochs, 64, 1), "algorithm.epochs", "must be 1 to 64");
        faults.unless(in_range(self.minibatches, 1_024, 1), "algorithm.minibatches", "must be 1 to 1024");
        for (field, value, most) in [
            ("gamma", self.gamma, 1.0),
            ("lambda", self.lambda, 1.0),
            ("entropy", self.entropy, 1e3),
            ("value", self.value, 1e3),
        ] {
            let fits = value.is_none_or(|value| finite(value) && (0.0..=most).contains(&value));
            faults.unless(fits, &format!("algorithm.{field}"), format!("must be 0 to {most}"));
        }
        if let Some(clip) = self.clip {
            faults.unless((0.0..=1.0).contains(&clip.low), "algorithm.clip.low", "must be 0 to 1");
            faults.unless(finite(clip.high) && clip.high >= 0.0, "algorithm.clip.high", "must be 0 or more");
            faults.unless(
                clip.dual.is_none_or(|dual| finite(dual) && dual > 1.0),
                "algorithm.clip.dual",
                "must be above 1",
            );
        }
        if let Some(kl) = &self.kl {
            faults.unless(finite(kl.beta) && kl.beta >= 0.0, "algorithm.kl.beta", "must be 0 or more");
        }
        if let Some(Aggregation::TokenSumOverConstant { constant }) = self.aggregation {
            faults.unless(finite(constant) && constant > 0.0, "algorithm.aggregation.constant", "must be above 0");
        }
        for (index, auxiliary) in self.auxiliary.iter().enumerate() {
            let Auxiliary::Echo { weight } = auxiliary;
            faults.unless(
                finite(*weight) && *weight >= 0.0,
                &format!("algorithm.auxiliary[{index}].weight"),
                "must be 0 or more",
            );
        }
    }
}

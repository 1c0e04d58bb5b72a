//! Training: a starting policy, an environment mix or data, and an algorithm.

mod advantage;
mod algorithm;
mod data;
mod optimizer;
mod policy;
mod rollout;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use advantage::{Advantage, Aggregation};
pub use algorithm::{Algorithm, AlgorithmName, Auxiliary, Clip, Kl, KlEstimator, KlTo};
pub use data::{Data, Validation};
pub use optimizer::{Optimizer, OptimizerName, Schedule};
pub use policy::{Lora, LoraTarget, ModelSize, TrainedPolicy};
pub use rollout::{CONCURRENT_SESSIONS_MAX, Reward, RewardFrom, Rollout, Truncated};

pub use super::tool_format::ToolFormat;

use super::play::{EnvironmentMix, PolicyFrom, Sampling, check_environments};
use super::{Faults, JobSpec, References};

/// Most updates of one job.
pub const STEPS_MAX: u64 = 10_000_000;

/// Trains a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// The policy that is trained.
    pub policy: TrainedPolicy,
    /// The environments; empty for `sft`, which learns from `data`.
    #[serde(default)]
    pub environments: Vec<EnvironmentMix>,
    /// The learning algorithm.
    pub algorithm: Algorithm,
    /// The playing of episodes.
    #[serde(default)]
    pub rollout: Rollout,
    /// The reward.
    #[serde(default)]
    pub reward: Reward,
    /// Examples to learn from; for `sft` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Measures on examples that are not learnt from; for `sft` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// The optimizer.
    #[serde(default)]
    pub optimizer: Optimizer,
    /// The number of updates.
    pub steps: u64,
    /// Everything random derives from it.
    #[serde(default)]
    pub seed: u64,
    /// Measures on held-out tasks meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluate: Option<EvaluateMeanwhile>,
    /// When to keep a point to go on from.
    #[serde(default)]
    pub checkpoint: CheckpointPlan,
}

/// Measures on held-out tasks during a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EvaluateMeanwhile {
    /// After every so many updates, and after the last.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub every: u64,
    /// Of which split the tasks are; never one that is trained on.
    pub split: String,
    /// The number of episodes per environment.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub episodes: u32,
    /// The sampling of answers; the most probable token each time where left out.
    #[serde(default)]
    pub sampling: Sampling,
    /// Also measure before the first update.
    #[serde(default = "yes")]
    pub at_start: bool,
}

fn yes() -> bool {
    true
}

/// When to keep a point to go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointPlan {
    /// After every so many updates, and after the last.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub every: u64,
    /// The number of newest ones that are kept.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100))]
    pub keep: u32,
}

impl Default for CheckpointPlan {
    fn default() -> Self {
        Self { every: 20, keep: 3 }
    }
}

impl JobSpec for Train {
    const LIGHT: bool = false;

    fn check(&self, faults: &mut Faults) {
        let name = self.algorithm.name;
        faults.unless((1..=STEPS_MAX).contains(&self.steps), "steps", format!("1 to {STEPS_MAX}"));
        self.policy.check(faults);
        if name == AlgorithmName::Sft {
            faults.unless(self.data.is_some(), "data", "sft learns from data: name a job, a file, or give lines");
            let played = self.evaluate.is_some() == self.environments.is_empty();
            faults.unless(
                !played,
                "environments",
                "sft names environments exactly where it evaluates in them: name both, or leave both out",
            );
        } else {
            faults.unless(self.data.is_none(), "data", "only sft learns from data: leave it out");
            faults.unless(!self.environments.is_empty(), "environments", "name at least one environment to play");
        }
        check_environments(&self.environments, faults);
        self.algorithm.check(faults);
        if self.policy.from == PolicyFrom::Mlp {
            self.algorithm.check_of_vectors(faults);
        }
        self.rollout.check(faults);
        self.reward.check(faults);
        self.optimizer.check(faults);
        self.check_data(faults);
        self.check_use(faults);
        if let Some(evaluate) = &self.evaluate {
            faults.unless(evaluate.every >= 1, "evaluate.every", "1 or more");
            faults.unless((1..=100_000).contains(&evaluate.episodes), "evaluate.episodes", "1 to 100000");
            let trained = self.environments.iter().any(|mix| name != AlgorithmName::Sft && mix.split == evaluate.split);
            faults.unless(!trained, "evaluate.split", "this split is trained on: choose a held-out one");
            evaluate.sampling.check("evaluate.sampling", faults);
            let unset = evaluate.sampling.tool_format.is_none();
            faults.unless(unset, "evaluate.sampling.tool_format", "set rollout.tool_format, which counts here too");
        }
        faults.unless(self.checkpoint.every >= 1, "checkpoint.every", "1 or more");
        faults.unless((1..=100).contains(&self.checkpoint.keep), "checkpoint.keep", "1 to 100");
    }

    fn references(&self) -> References {
        let mut references = References::default();
        references.add_policy(&self.policy.from);
        if let Some(validation) = &self.validation {
            validation.data.refer("spec.validation.data.file", &mut references);
        }
        if let Some(data) = &self.data {
            data.refer("spec.data.file", &mut references);
        }
        references
    }
}

impl Train {
    /// Faults of fields that the job would not use, or that contradict each other.
    fn check_use(&self, faults: &mut Faults) {
        let supervised = self.algorithm.name == AlgorithmName::Sft;
        let (rollout, optimizer) = (&self.rollout, &self.optimizer);
        // Numbers out of their bounds are told of there.
        let per_step = optimizer.examples_per_step;
        let examples = per_step == Optimizer::default().examples_per_step || !(1..=65_536).contains(&per_step);
        faults.unless(
            supervised || examples,
            "optimizer.examples_per_step",
            "only sft learns from examples: set algorithm.tasks_per_step and algorithm.group_size",
        );
        let warm = optimizer.warmup_steps <= self.steps;
        let detail = format!("more than the {} steps of the job: the rate would never be reached", self.steps);
        faults.unless(warm, "optimizer.warmup_steps", detail);
        if supervised {
            faults.unless(
                self.reward == Reward::default(),
                "reward",
                "sft learns from examples, not from rewards: leave it out",
            );
        }
        let defaults = Rollout::default();
        if supervised && self.evaluate.is_none() {
            let at_once = rollout.concurrent_sessions;
            let sessions = at_once == defaults.concurrent_sessions || !(1..=CONCURRENT_SESSIONS_MAX).contains(&at_once);
            let detail = "this job plays no episodes: leave it out, or name environments and evaluate";
            faults.unless(sessions, "rollout.concurrent_sessions", detail);
        }
        // The default is a bound of answers also where the whole episode is shorter.
        let fits = rollout.max_tokens <= rollout.max_context_tokens || rollout.max_tokens == defaults.max_tokens;
        let detail = format!(
            "an answer of {} tokens does not fit rollout.max_context_tokens, which is {}: lower the one or raise the other",
            rollout.max_tokens, rollout.max_context_tokens
        );
        faults.unless(fits, "rollout.max_tokens", detail);
    }

    fn check_data(&self, faults: &mut Faults) {
        if let Some(data) = &self.data {
            data.check("data", faults);
        }
        let Some(validation) = &self.validation else { return };
        let learns = self.algorithm.name == AlgorithmName::Sft;
        faults.unless(learns, "validation", "only sft measures on examples: use evaluate");
        faults.unless(validation.every >= 1, "validation.every", "1 or more");
        let apart = self.data.as_ref() != Some(&validation.data);
        faults.unless(apart, "validation.data", "these examples are learnt from: give held-out ones");
        validation.data.check("validation.data", faults);
    }
}

fn finite(number: f64) -> bool {
    number.is_finite()
}

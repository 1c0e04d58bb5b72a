//! `evaluate`: measures a policy.

use serde::{Deserialize, Serialize};

use super::play::{EPISODES_MAX, EnvironmentMix, PlayLimits, PlayedPolicy, Playing, Sampling, plays_privileged};
use super::{Disclosure, Faults, JobSpec, References};
use crate::id::JobId;

/// Measures a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Evaluate {
    /// The policy that is measured.
    pub policy: PlayedPolicy,
    /// The environments that it plays; weights do not count here: each gets `episodes` tasks.
    pub environments: Vec<EnvironmentMix>,
    /// Number of tasks of each environment.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000_000))]
    pub episodes: u64,
    /// Number of episodes of each task.
    #[serde(default = "once")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub samples_per_task: u32,
    /// Chooses tasks and randomness.
    #[serde(default)]
    pub seed: u64,
    /// Sampling of answers.
    #[serde(default)]
    pub sampling: Sampling,
    /// Concurrency and length of episodes.
    #[serde(default)]
    pub limits: PlayLimits,
    /// The policy or evaluation that it is compared with, task by task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// The other side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Baseline {
    /// A policy, which plays the same tasks with the same seeds.
    Policy(PlayedPolicy),
    /// An earlier evaluation of the same tasks and seeds.
    Evaluation(JobId),
}

fn once() -> u32 {
    1
}

impl Evaluate {
    /// The policies that play: the one that is measured, and the baseline where that is a policy.
    fn policies(&self) -> Vec<&PlayedPolicy> {
        let baseline = match &self.baseline {
            Some(Baseline::Policy(policy)) => Some(policy),
            _ => None,
        };
        std::iter::once(&self.policy).chain(baseline).collect()
    }
}

impl JobSpec for Evaluate {
    const RESUMES: bool = true;

    fn check(&self, faults: &mut Faults) {
        let Self { policy, environments, episodes, sampling, limits, .. } = self;
        Playing { policy, environments, episodes: *episodes, sampling, limits }.check(faults);
        faults.unless((1..=1_024).contains(&self.samples_per_task), "samples_per_task", "must be 1 to 1024");
        let of_one = self.episodes.saturating_mul(u64::from(self.samples_per_task));
        let all = of_one.saturating_mul(self.environments.len() as u64);
        let detail = format!("at most {EPISODES_MAX} episodes of all tasks and environments together");
        faults.unless(all <= EPISODES_MAX, "samples_per_task", detail);
        if let Some(Baseline::Policy(policy)) = &self.baseline {
            policy.check("baseline.policy.from", faults);
        }
    }

    fn references(&self) -> References {
        let mut references = References::default();
        self.policies().iter().for_each(|policy| references.add_policy(&policy.from));
        if let Some(Baseline::Evaluation(job)) = self.baseline {
            references.jobs.insert(job);
        }
        references
    }

    fn may_learn(&self, disclosure: Disclosure, environment: &str) -> bool {
        plays_privileged(&self.policies(), &self.environments, disclosure, environment)
    }
}

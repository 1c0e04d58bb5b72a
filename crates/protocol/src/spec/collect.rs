//! `collect`: plays episodes and keeps their trajectories.

use serde::{Deserialize, Serialize};

use super::play::{EnvironmentMix, PlayLimits, PlayedPolicy, Playing, Sampling, plays_privileged};
use super::{Disclosure, Faults, JobSpec, References};

/// Plays episodes and keeps their trajectories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// The policy that plays.
    pub policy: PlayedPolicy,
    /// The environments that it plays.
    pub environments: Vec<EnvironmentMix>,
    /// Number of episodes of all environments together.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000_000))]
    pub episodes: u64,
    /// Chooses tasks and randomness.
    #[serde(default)]
    pub seed: u64,
    /// Sampling of answers.
    #[serde(default)]
    pub sampling: Sampling,
    /// Concurrency and length of episodes.
    #[serde(default)]
    pub limits: PlayLimits,
    /// Only episodes with at least this score are exported; all that were scored where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_min: Option<f64>,
}

impl JobSpec for Collect {
    const RESUMES: bool = true;

    fn check(&self, faults: &mut Faults) {
        let Self { policy, environments, episodes, sampling, limits, .. } = self;
        Playing { policy, environments, episodes: *episodes, sampling, limits }.check(faults);
        faults.unless(self.score_min.is_none_or(|score| (0.0..=1.0).contains(&score)), "score_min", "must be 0 to 1");
    }

    fn references(&self) -> References {
        let mut references = References::default();
        references.add_policy(&self.policy.from);
        references
    }

    fn may_learn(&self, disclosure: Disclosure, environment: &str) -> bool {
        plays_privileged(&[&self.policy], &self.environments, disclosure, environment)
    }
}

//! The policy, environments, sampling and limits of jobs that play episodes.

mod policy;

use serde::{Deserialize, Serialize};

use super::tool_format::ToolFormat;
use super::{Disclosure, Faults};
use crate::name::NameKind;
pub use policy::{PolicyFrom, UnknownPolicy};

/// Most episodes of one job.
pub const EPISODES_MAX: u64 = 10_000_000;
/// Most environments of one job.
pub const ENVIRONMENTS_MAX: usize = 256;

/// Tasks of one environment, with their share of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EnvironmentMix {
    /// `family/name`, optionally `@version`.
    #[cfg_attr(feature = "openapi", schema(max_length = 300))]
    pub name: String,
    /// The split that tasks are drawn from; `train` where left out.
    #[serde(default = "train")]
    pub split: String,
    /// Its share is its weight over the sum of all.
    #[serde(default = "one")]
    pub weight: f64,
    /// Difficulties between these two, from 0 to 1; for environments whose tasks have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<[f64; 2]>,
}

impl EnvironmentMix {
    /// True if both choose the same tasks of the same environment.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.split, self.difficulty) == (&other.name, &other.split, other.difficulty)
    }
}

fn train() -> String {
    "train".to_owned()
}

fn one() -> f64 {
    1.0
}

/// The fault of a name that is not an environment's.
pub(super) const UNNAMED: &str = "an environment is named family/name, or family/name@version";

/// True for the name of an environment, with or without a version.
pub(super) fn is_environment(name: &str) -> bool {
    let (name, version) = name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version)));
    NameKind::Environment.fits(name) && version.is_none_or(|version| version.parse::<u32>().is_ok())
}

/// Checks the environments of a job.
pub(super) fn check_environments(environments: &[EnvironmentMix], faults: &mut Faults) {
    faults.unless(environments.len() <= ENVIRONMENTS_MAX, "environments", format!("at most {ENVIRONMENTS_MAX}"));
    for (index, mix) in environments.iter().enumerate() {
        let at = |field: &str| format!("environments[{index}].{field}");
        faults.unless(is_environment(&mix.name), &at("name"), UNNAMED);
        faults.unless(mix.weight.is_finite() && mix.weight > 0.0, &at("weight"), "must be above 0");
        if let Some([low, high]) = mix.difficulty {
            let sane = (0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high) && low <= high;
            faults.unless(sane, &at("difficulty"), "must be two numbers from 0 to 1, the lower first");
        }
    }
}

/// Sampling of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// Samples from the most probable tokens that together have this probability.
    pub top_p: f64,
    /// Most tokens of one answer.
    pub max_tokens: u32,
    /// The form of actions in the text of policies of this server, in place of the one that each keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_format: Option<ToolFormat>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_p: 1.0, max_tokens: 512, tool_format: None }
    }
}

impl Sampling {
    pub(super) fn check(&self, field: &str, faults: &mut Faults) {
        let temperature = self.temperature.is_finite() && (0.0..=10.0).contains(&self.temperature);
        faults.unless(temperature, &format!("{field}.temperature"), "must be 0 to 10");
        faults.unless(self.top_p > 0.0 && self.top_p <= 1.0, &format!("{field}.top_p"), "above 0, at most 1");
        faults.unless((1..=131_072).contains(&self.max_tokens), &format!("{field}.max_tokens"), "must be 1 to 131072");
    }
}

/// Concurrency and length of episodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(default, deny_unknown_fields)]
pub struct PlayLimits {
    /// Sessions at once.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4096))]
    pub concurrent_sessions: u32,
    /// Most turns of an episode; the environment's own limit, but at most 1,000, where left out.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_turns: Option<u32>,
}

impl Default for PlayLimits {
    fn default() -> Self {
        Self { concurrent_sessions: 32, max_turns: None }
    }
}

impl PlayLimits {
    fn check(&self, faults: &mut Faults) {
        faults.unless(
            (1..=4_096).contains(&self.concurrent_sessions),
            "limits.concurrent_sessions",
            "must be 1 to 4096",
        );
        let turns = self.max_turns.is_none_or(|turns| (1..=100_000).contains(&turns));
        faults.unless(turns, "limits.max_turns", "must be 1 to 100000");
    }
}

/// The policy that plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlayedPolicy {
    /// The source of the policy.
    pub from: PolicyFrom,
}

/// The fields that all jobs have that play.
pub(super) struct Playing<'a> {
    pub(super) policy: &'a PlayedPolicy,
    pub(super) environments: &'a [EnvironmentMix],
    pub(super) episodes: u64,
    pub(super) sampling: &'a Sampling,
    pub(super) limits: &'a PlayLimits,
}

impl Playing<'_> {
    pub(super) fn check(&self, faults: &mut Faults) {
        self.policy.check("policy.from", faults);
        faults.unless(!self.environments.is_empty(), "environments", "name at least one environment to play");
        check_environments(self.environments, faults);
        for (index, mix) in self.environments.iter().enumerate() {
            let field = format!("environments[{index}].name");
            let named_before = self.environments[..index].iter().any(|other| other.is_same(mix));
            faults.unless(
                !named_before,
                &field,
                "is named before with the same split, so that its episodes would count twice: name it once",
            );
        }
        faults.unless((1..=EPISODES_MAX).contains(&self.episodes), "episodes", format!("must be 1 to {EPISODES_MAX}"));
        self.sampling.check("sampling", faults);
        let stored = matches!(self.policy.from, PolicyFrom::Registered(_) | PolicyFrom::Job(_));
        faults.unless(
            stored || self.sampling.tool_format.is_none(),
            "sampling.tool_format",
            "only a policy of this server takes this (pol_.. or job_..): leave it out, or name such a policy",
        );
        self.limits.check(faults);
    }
}

impl PlayedPolicy {
    pub(super) fn check(&self, field: &str, faults: &mut Faults) {
        self.from.check(field, faults);
        faults.unless(
            !self.from.is_scratch(),
            field,
            "a model from scratch knows nothing that is worth playing: train it first, or name another policy",
        );
    }

    /// True if the policy acts from solutions or from the definition of an environment, which a worker has to ask the server for.
    pub(super) fn is_privileged(&self) -> bool {
        matches!(self.from, PolicyFrom::Oracle | PolicyFrom::Random)
    }
}

/// True if a privileged policy plays an environment of these, so that its lease may learn the actions of the policy there.
pub(super) fn plays_privileged(
    policies: &[&PlayedPolicy],
    environments: &[EnvironmentMix],
    disclosure: Disclosure,
    environment: &str,
) -> bool {
    disclosure == Disclosure::Actions
        && policies.iter().any(|policy| policy.is_privileged())
        && environments.iter().any(|mix| covers(&mix.name, environment))
}

/// True if the name in a spec covers an environment: a name without a version covers all of them.
pub(super) fn covers(named: &str, environment: &str) -> bool {
    named == environment || environment.split_once('@').is_some_and(|(plain, _)| plain == named)
}

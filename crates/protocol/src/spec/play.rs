//! The policy, environments, sampling and limits of jobs that play episodes.

mod policy;

use serde::{Deserialize, Serialize};

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

/// The error for a job that names no environment.
const UNNAMED: &str = "an environment is named family/name, or family/name@version";

/// True if a name is that of an environment, with or without a version.
fn is_environment(name: &str) -> bool {
    let (name, version) = name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version)));
    NameKind::Environment.fits(name) && version.is_none_or(|version| version.parse::<u32>().is_ok())
}

/// Checks the environments of a job.
pub(super) fn check_environments(environments: &[EnvironmentMix], faults: &mut Faults) {
    faults.unless(environments.len() <= ENVIRONMENTS_MAX, "environments", format!("at most {ENVIRONMENTS_MAX}"));
    for (index, mix) in environments.iter().enumerate() {
        let at = |field: &str| format!("environments[{index}].{field}");
        faults.unless(is_environment(&mix.name), &at("name"), UNNAMED);
        faults.unless(mix.weight.is_finite() && mix.weight > 0.0, &at("weight"), "above 0");
        if let Some([low, high]) = mix.difficulty {
            let sane = (0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high) && low <= high;
            faults.unless(sane, &at("difficulty"), "two numbers from 0 to 1, the lower first");
        }
    }
}

/// The sampling of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// Samples from the most probable tokens that together have this probability.
    pub top_p: f64,
    /// Most tokens of one answer.
    pub max_tokens: u32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_p: 1.0, max_tokens: 512 }
    }
}

impl Sampling {
    pub(super) fn check(&self, field: &str, faults: &mut Faults) {
        let temperature = self.temperature.is_finite() && (0.0..=10.0).contains(&self.temperature);
        faults.unless(temperature, &format!("{field}.temperature"), "0 to 10");
        faults.unless(self.top_p > 0.0 && self.top_p <= 1.0, &format!("{field}.top_p"), "above 0, at most 1");
        faults.unless((1..=131_072).contains(&self.max_tokens), &format!("{field}.max_tokens"), "1 to 131072");
    }
}

/// Limits of play: episodes at once, and their length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
        faults.unless((1..=4_096).contains(&self.concurrent_sessions), "limits.concurrent_sessions", "1 to 4096");
        let turns = self.max_turns.is_none_or(|turns| (1..=100_000).contains(&turns));
        faults.unless(turns, "limits.max_turns", "1 to 100000");
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

/// Measures a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Evaluate {
    /// The policy that plays.
    pub policy: PlayedPolicy,
    /// The environments; weights do not count here: each gets `episodes` tasks.
    pub environments: Vec<EnvironmentMix>,
    /// The number of tasks of each environment.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000_000))]
    pub episodes: u64,
    /// The number of episodes of each task.
    #[serde(default = "once")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub samples_per_task: u32,
    /// Chooses tasks and randomness.
    #[serde(default)]
    pub seed: u64,
    /// The sampling of answers.
    #[serde(default)]
    pub sampling: Sampling,
    /// Limits of play: episodes at once, and their length.
    #[serde(default)]
    pub limits: PlayLimits,
    /// Whom to compare with, task by task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// Whom a policy is compared with.
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

/// Plays episodes and keeps their trajectories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// The policy that plays.
    pub policy: PlayedPolicy,
    /// The environments.
    pub environments: Vec<EnvironmentMix>,
    /// The number of episodes altogether.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000_000))]
    pub episodes: u64,
    /// Chooses tasks and randomness.
    #[serde(default)]
    pub seed: u64,
    /// The sampling of answers.
    #[serde(default)]
    pub sampling: Sampling,
    /// Limits of play: episodes at once, and their length.
    #[serde(default)]
    pub limits: PlayLimits,
    /// Only episodes with at least this score are exported; all that were scored where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_min: Option<f64>,
}

/// Judges stored episodes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rescore {
    /// These episodes; at most 10,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 10_000))]
    pub episodes: Vec<EpisodeId>,
    /// Or those of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Or those of an environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// The verifier version; the current one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
}

/// Runs the publication gate of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// `family/name`, optionally `@version`.
    #[cfg_attr(feature = "openapi", schema(max_length = 300))]
    pub environment: String,
    /// Tasks that are tried per split and policy.
    #[serde(default = "hundred")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub tasks: u32,
    /// Chooses them.
    #[serde(default)]
    pub seed: u64,
}

fn hundred() -> u32 {
    100
}

/// Answers for a policy until it is cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// Which policy.
    pub policy: PolicyId,
    /// Most requests that are answered at once.
    #[serde(default = "batch")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub batch_max: u32,
    /// Ends by itself after this long without a request; never where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

fn batch() -> u32 {
    32
}

/// The common part of jobs that play.
struct Playing<'a> {
    policy: &'a PlayedPolicy,
    environments: &'a [EnvironmentMix],
    episodes: u64,
    sampling: &'a Sampling,
    limits: &'a PlayLimits,
}

impl Playing<'_> {
    pub(super) fn check(&self, faults: &mut Faults) {
        self.policy.check("policy.from", faults);
        faults.unless(!self.environments.is_empty(), "environments", "name at least one environment to play");
        check_environments(self.environments, faults);
        for (index, mix) in self.environments.iter().enumerate() {
            let field = format!("environments[{index}].name");
            let named_before = self.environments[..index].iter().any(|other| other.is_same(mix));
            faults.unless(!named_before, &field, "is named before with the same split: its episodes would count twice");
        }
        faults.unless((1..=EPISODES_MAX).contains(&self.episodes), "episodes", format!("1 to {EPISODES_MAX}"));
        self.sampling.check("sampling", faults);
        self.limits.check(faults);
    }
}

impl PlayedPolicy {
    pub(super) fn check(&self, field: &str, faults: &mut Faults) {
        self.from.check(field, faults);
        faults.unless(!self.from.is_scratch(), field, "a model from scratch knows nothing that is worth playing");
    }

    /// True where the policy acts from solutions or from the definition of an environment, which a worker has to ask the server for.
    pub(super) fn is_privileged(&self) -> bool {
        matches!(self.from, PolicyFrom::Oracle | PolicyFrom::Random)
    }
}

/// True where a privileged policy plays an environment of these, so that its lease may learn the actions of the policy there.
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

/// True where the name in a spec covers an environment: a name without a version covers all of them.
pub(super) fn covers(named: &str, environment: &str) -> bool {
    named == environment || environment.split_once('@').is_some_and(|(plain, _)| plain == named)
}

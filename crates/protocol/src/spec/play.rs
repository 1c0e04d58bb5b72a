//! Playing, measuring, judging again and serving: the lighter kinds of jobs.

mod policy;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Faults;
use crate::id::{EpisodeId, JobId, PolicyId, RunId};
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
    /// Which split; `train` where left out.
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
    /// Whether both choose the same tasks of the same environment.
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

/// What is told where a job names no environment.
const UNNAMED: &str = "an environment must be named family/name, or family/name@version";

/// Whether a name is that of an environment, with or without a version.
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
        faults.unless(mix.weight.is_finite() && mix.weight > 0.0, &at("weight"), "must be above 0");
        if let Some([low, high]) = mix.difficulty {
            let sane = (0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high) && low <= high;
            faults.unless(sane, &at("difficulty"), "must be two numbers from 0 to 1, the lower first");
        }
    }
}

/// How answers are sampled.
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
        faults.unless(temperature, &format!("{field}.temperature"), "must be 0 to 10");
        faults.unless(self.top_p > 0.0 && self.top_p <= 1.0, &format!("{field}.top_p"), "above 0, at most 1");
        faults.unless((1..=131_072).contains(&self.max_tokens), &format!("{field}.max_tokens"), "must be 1 to 131072");
    }
}

/// How much is played at once, and how long.
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
        faults.unless(
            (1..=4_096).contains(&self.concurrent_sessions),
            "limits.concurrent_sessions",
            "must be 1 to 4096",
        );
        let turns = self.max_turns.is_none_or(|turns| (1..=100_000).contains(&turns));
        faults.unless(turns, "limits.max_turns", "must be 1 to 100000");
    }
}

/// Which policy plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlayedPolicy {
    /// Where it comes from.
    pub from: PolicyFrom,
}

/// Measures a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Evaluate {
    /// Who plays.
    pub policy: PlayedPolicy,
    /// What it plays; weights do not count here: each gets `episodes` tasks.
    pub environments: Vec<EnvironmentMix>,
    /// How many tasks of each environment.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000_000))]
    pub episodes: u64,
    /// How often each task is played.
    #[serde(default = "once")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub samples_per_task: u32,
    /// Chooses tasks and randomness.
    #[serde(default)]
    pub seed: u64,
    /// How answers are sampled.
    #[serde(default)]
    pub sampling: Sampling,
    /// How much is played at once, and how long.
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
    /// Who plays.
    pub policy: PlayedPolicy,
    /// What it plays.
    pub environments: Vec<EnvironmentMix>,
    /// How many episodes altogether.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000_000))]
    pub episodes: u64,
    /// Chooses tasks and randomness.
    #[serde(default)]
    pub seed: u64,
    /// How answers are sampled.
    #[serde(default)]
    pub sampling: Sampling,
    /// How much is played at once, and how long.
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

/// What jobs that play have in common.
struct Playing<'a> {
    policy: &'a PlayedPolicy,
    environments: &'a [EnvironmentMix],
    episodes: u64,
    sampling: &'a Sampling,
    limits: &'a PlayLimits,
}

impl Playing<'_> {
    fn check(&self, faults: &mut Faults) {
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
        self.limits.check(faults);
    }
}

impl PlayedPolicy {
    fn check(&self, field: &str, faults: &mut Faults) {
        self.from.check(field, faults);
        faults.unless(
            !self.from.is_scratch(),
            field,
            "a model from scratch knows nothing that is worth playing: train it first, or name another policy",
        );
    }
}

impl Evaluate {
    pub(super) fn check(&self, faults: &mut Faults) {
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
}

impl Collect {
    pub(super) fn check(&self, faults: &mut Faults) {
        let Self { policy, environments, episodes, sampling, limits, .. } = self;
        Playing { policy, environments, episodes: *episodes, sampling, limits }.check(faults);
        faults.unless(self.score_min.is_none_or(|score| (0.0..=1.0).contains(&score)), "score_min", "must be 0 to 1");
    }
}

impl Rescore {
    pub(super) fn check(&self, faults: &mut Faults) {
        let ways = [!self.episodes.is_empty(), self.run.is_some(), self.environment.is_some()];
        let named = ways.iter().filter(|way| **way).count();
        faults.unless(named == 1, "episodes", "name episodes, a run or an environment: one of the three");
        faults.unless(self.episodes.len() <= 10_000, "episodes", "at most 10000");
        let different: BTreeSet<&EpisodeId> = self.episodes.iter().collect();
        faults.unless(different.len() == self.episodes.len(), "episodes", "an episode is named twice: name each once");
    }
}

impl Check {
    pub(super) fn check(&self, faults: &mut Faults) {
        faults.unless(is_environment(&self.environment), "environment", UNNAMED);
        faults.unless((1..=100_000).contains(&self.tasks), "tasks", "must be 1 to 100000");
    }
}

impl Serve {
    pub(super) fn check(&self, faults: &mut Faults) {
        faults.unless((1..=1_024).contains(&self.batch_max), "batch_max", "must be 1 to 1024");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Spec;
    use super::*;
    use crate::job::JobKind;

    fn fields(kind: JobKind, spec: &Value) -> Vec<String> {
        let faults = Spec::read(kind, spec).err().unwrap_or_default();
        faults.into_iter().filter_map(|fault| fault.field).collect()
    }

    fn played(more: &Value) -> Value {
        let mut spec = json!({
            "policy": {"from": "builtin:oracle"}, "environments": [{"name": "puzzle/a"}], "episodes": 10,
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        spec
    }

    #[test]
    fn jobs_that_play_are_checked_alike() {
        for kind in [JobKind::Evaluate, JobKind::Collect] {
            assert_eq!(fields(kind, &played(&json!({}))), [""; 0]);
            for (more, field) in [
                (json!({"policy": {"from": "builtin:mlp"}}), "spec.policy.from"),
                (json!({"environments": []}), "spec.environments"),
                (json!({"environments": [{"name": "puzzle"}]}), "spec.environments[0].name"),
                (json!({"environments": [{"name": "puzzle/a"}, {"name": "puzzle/a"}]}), "spec.environments[1].name"),
                (json!({"episodes": 0}), "spec.episodes"),
                (json!({"sampling": {"top_p": 0}}), "spec.sampling.top_p"),
                (json!({"limits": {"concurrent_sessions": 0}}), "spec.limits.concurrent_sessions"),
            ] {
                assert_eq!(fields(kind, &played(&more)), [field], "{more}");
            }
            let splits = json!({"environments": [{"name": "puzzle/a"}, {"name": "puzzle/a", "split": "test"}]});
            assert_eq!(fields(kind, &played(&splits)), [""; 0], "other tasks are other episodes");
        }
    }

    #[test]
    fn the_bound_of_an_evaluation_holds_for_all_its_episodes_together() {
        let more = json!({"episodes": 3_000_000, "samples_per_task": 2});
        assert_eq!(fields(JobKind::Evaluate, &played(&more)), [""; 0]);
        let two = json!([{"name": "puzzle/a"}, {"name": "puzzle/b"}]);
        let mut spec = played(&more);
        spec["environments"] = two;
        assert_eq!(fields(JobKind::Evaluate, &spec), ["spec.samples_per_task"]);
    }

    #[test]
    fn a_baseline_that_cannot_play_is_refused_before_anybody_plays() {
        let more = json!({"baseline": {"policy": {"from": "builtin:tiny-transformer"}}});
        assert_eq!(fields(JobKind::Evaluate, &played(&more)), ["spec.baseline.policy.from"]);
    }

    #[test]
    fn no_episode_is_judged_again_twice() {
        let (one, other) = (EpisodeId::new(), EpisodeId::new());
        assert_eq!(fields(JobKind::Rescore, &json!({"episodes": [one, other]})), [""; 0]);
        assert_eq!(fields(JobKind::Rescore, &json!({"episodes": [one, other, one]})), ["spec.episodes"]);
    }
}

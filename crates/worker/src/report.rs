//! The report of an evaluation: the numbers of each environment and of all, and the comparison with a baseline.

use std::collections::BTreeMap;

use serde::Serialize;

use super::failure::WorkError;
use super::lines::EpisodeLine;
use crate::stats::outcome::Outcome;
use crate::stats::paired::{self, Comparison};
use crate::stats::summary::{self, Summary};

/// Up to which k each pass@k stands in the result of a job; above it powers of two do, and the last. The report has them all.
const EACH_K_MAX: u32 = 16;

/// The report of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    /// The policy.
    pub(super) policy: String,
    /// Tasks of each environment.
    pub(super) tasks: u64,
    /// Number of episodes of each task.
    pub(super) samples_per_task: u32,
    /// Chose tasks and randomness.
    pub(super) seed: u64,
    /// Over all episodes.
    pub(super) all: Summary,
    /// By `family/name@version`.
    pub(super) environments: BTreeMap<String, Summary>,
    /// Turns and tokens of all episodes.
    pub(super) usage: Usage,
    /// The comparison with another policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) baseline: Option<BaselineComparison>,
}

/// Turns and tokens of episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    /// Turns.
    pub(super) steps: u64,
    /// Tokens that the policy read.
    pub(super) prompt_tokens: u64,
    /// Tokens that the policy wrote.
    pub(super) completion_tokens: u64,
    /// Answers that ended because their tokens were used up.
    pub(super) cut_answers: u64,
}

/// The comparison of a policy with another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BaselineComparison {
    /// The other policy, or the evaluation that it was played in.
    pub(super) from: String,
    /// Over all of its episodes.
    pub(super) all: Summary,
    /// Over all pairs.
    pub(super) comparison: Comparison,
    /// Over the pairs of each environment that was played here.
    pub(super) environments: BTreeMap<String, Comparison>,
}

/// Episodes of one policy.
#[derive(Debug, Default)]
pub(super) struct PolicyOutcomes {
    /// As statistics take them.
    pub(super) outcomes: Vec<Outcome>,
    /// Their turns and tokens.
    pub(super) usage: Usage,
}

impl PolicyOutcomes {
    /// Adds an episode.
    pub(super) fn add(&mut self, line: &EpisodeLine) {
        self.outcomes.push(line.outcome());
        self.usage.steps += line.steps;
        self.usage.prompt_tokens += line.prompt_tokens;
        self.usage.completion_tokens += line.completion_tokens;
        self.usage.cut_answers += line.cut_answers;
    }

    /// Puts the episodes in the order of environment, task and seed.
    pub(super) fn sort(&mut self) {
        self.outcomes.sort_by(|one, other| (one.cluster(), one.seed).cmp(&(other.cluster(), other.seed)));
    }

    /// Refuses to speak about a policy of which nothing was scored.
    ///
    /// # Errors
    /// When no episode was scored, with the reasons.
    pub(super) fn check_scored(&self, who: &str) -> Result<(), WorkError> {
        if self.outcomes.iter().any(|outcome| outcome.result.is_ok()) {
            return Ok(());
        }
        let reasons = summary::summarise(&self.outcomes, 1).unscored;
        Err(WorkError::environment(format!("no episode of {who} was scored, see why and run it again: {reasons:?}")))
    }

    /// The numbers of each environment.
    pub(super) fn by_environment(&self, samples_per_task: u32) -> BTreeMap<String, Summary> {
        let mut split: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
        for outcome in &self.outcomes {
            split.entry(outcome.environment.to_string()).or_default().push(outcome);
        }
        split.into_iter().map(|(name, outcomes)| (name, summary::summarise(outcomes, samples_per_task))).collect()
    }

    fn of(&self, environment: &str) -> Vec<Outcome> {
        self.outcomes.iter().filter(|outcome| *outcome.environment == *environment).cloned().collect()
    }
}

/// Compares the outcomes of two policies.
pub(super) fn compare(
    policy: &PolicyOutcomes,
    baseline: &PolicyOutcomes,
    from: String,
    samples_per_task: u32,
) -> BaselineComparison {
    let environments = policy
        .by_environment(1)
        .into_keys()
        .map(|name| {
            let compared = paired::compare(&policy.of(&name), &baseline.of(&name));
            (name, compared)
        })
        .collect();
    BaselineComparison {
        from,
        all: summary::summarise(&baseline.outcomes, samples_per_task),
        comparison: paired::compare(&policy.outcomes, &baseline.outcomes),
        environments,
    }
}

/// The report with few values of k, as a job's result.
pub(super) fn shortened(report: &Report) -> Report {
    let mut short = report.clone();
    let baseline = short.baseline.iter_mut().map(|baseline| &mut baseline.all);
    for summary in std::iter::once(&mut short.all).chain(short.environments.values_mut()).chain(baseline) {
        let last = summary.pass_at.last().map_or(0, |at| at.k);
        summary.pass_at.retain(|at| at.k <= EACH_K_MAX || at.k.is_power_of_two() || at.k == last);
    }
    short
}

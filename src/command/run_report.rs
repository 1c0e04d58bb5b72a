//! `palestra runs show|compare`: what the episodes of a run came to, and how two runs differ task by task.

use std::collections::BTreeSet;

use palestra_client::{Client, EpisodeQuery};
use palestra_protocol::episode::Episode;
use palestra_protocol::id::RunId;
use palestra_protocol::run::{Run, RunPlan, RunState};
use palestra_protocol::verdict::Status;
use palestra_worker::stats::clustered::Estimate;
use palestra_worker::stats::outcome::{Outcome, Scored};
use palestra_worker::stats::paired::{self, Comparison};
use palestra_worker::stats::summary::{self, Summary};
use serde::Serialize;

use super::failure::Failure;
use crate::terminal::visible;

/// Episodes of a page.
const EPISODES_PER_PAGE: u32 = 1_000;
/// Most attempts per task for which the share of solved tasks is told.
const ATTEMPTS_TOLD: u32 = 1;

/// The state in words: a run that was deleted keeps its episodes and scores.
pub(super) const fn shown(state: RunState) -> &'static str {
    match state {
        RunState::Deleted => "ended",
        other => other.as_str(),
    }
}

/// A run with its episodes.
#[derive(Debug, Serialize)]
pub(super) struct RunReport {
    run: Run,
    /// By name and version.
    environments: BTreeSet<String>,
    summary: Summary,
    #[serde(skip)]
    outcomes: Vec<Outcome>,
}

/// Two runs side by side.
#[derive(Debug, Serialize)]
pub(super) struct RunComparison {
    run: RunReport,
    baseline: RunReport,
    comparison: Comparison,
    warnings: Vec<String>,
}

impl RunReport {
    /// Reads a run and all of its episodes.
    ///
    /// # Errors
    /// When there is no such run, or the server cannot be reached.
    pub(super) async fn read(client: &Client, id: RunId) -> Result<Self, Failure> {
        let run = client.run(id).await?;
        let mut query = EpisodeQuery { run: Some(id), limit: Some(EPISODES_PER_PAGE), ..EpisodeQuery::default() };
        let mut outcomes = Vec::new();
        loop {
            let page = client.episodes(&query).await?;
            outcomes.extend(page.data.iter().map(outcome));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        Ok(Self::of(run, outcomes))
    }

    fn of(run: Run, outcomes: Vec<Outcome>) -> Self {
        let environments = outcomes.iter().map(|outcome| outcome.environment.to_string()).collect();
        Self { run, environments, summary: summary::summarise(&outcomes, ATTEMPTS_TOLD), outcomes }
    }

    /// A line per fact.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let Self { run, environments, summary, .. } = self;
        let names: Vec<String> = environments.iter().map(|name| visible(name)).collect();
        let planned = run.plan.as_ref().map(|plan| format!(" of {} planned", plan.episodes)).unwrap_or_default();
        let mut lines = vec![
            ("run", run.id.to_string()),
            ("state", shown(run.state).to_owned()),
            ("created", run.created_at.to_string()),
            ("environment", if names.is_empty() { "-".to_owned() } else { names.join(", ") }),
        ];
        if let Some(RunPlan { policy, split, seed, .. }) = &run.plan {
            lines.push(("policy", visible(policy)));
            lines.push(("split", split.as_deref().map_or_else(|| "several".to_owned(), visible)));
            lines.extend(seed.map(|seed| ("seed", seed.to_string())));
        }
        lines.push(("episodes", format!("{}{planned}, of which {} were scored", summary.episodes, summary.scored)));
        lines.extend(
            summary.unscored.iter().map(|(reason, count)| ("not scored", format!("{count} {}", visible(reason)))),
        );
        lines.push(("mean score", estimate(summary.mean.as_ref())));
        let strict = summary.strict.map(|strict| interval(strict.rate, strict.interval));
        lines.push(("strict", strict.unwrap_or_else(|| "-".to_owned())));
        lines
    }
}

impl RunComparison {
    /// Compares a run with a baseline, pair by pair of task and seed.
    ///
    /// # Errors
    /// When no scored episode of one has a partner in the other.
    pub(super) fn of(run: RunReport, baseline: RunReport) -> Result<Self, Failure> {
        let comparison = paired::compare(&run.outcomes, &baseline.outcomes);
        let warnings = differences(&run, &baseline);
        if comparison.pairs == 0 {
            let why =
                if warnings.is_empty() { "other tasks or seeds were played".to_owned() } else { warnings.join("; ") };
            return Err(Failure::Other(format!(
                "no scored episode of {} has a partner in {}, so there is nothing to compare: {why}; play both with the same environment, --split and --seed",
                run.run.id, baseline.run.id
            )));
        }
        Ok(Self { run, baseline, comparison, warnings })
    }

    /// A line per fact.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let side = |report: &RunReport| {
            let policy =
                report.run.plan.as_ref().map(|plan| format!(", {}", visible(&plan.policy))).unwrap_or_default();
            format!("{}, {}{policy}", estimate(report.summary.mean.as_ref()), report.run.id)
        };
        let Comparison { pairs, unscored, fail_to_pass, pass_to_fail, .. } = &self.comparison;
        let alone = self.comparison.tasks_without_baseline + self.comparison.tasks_of_baseline_alone;
        let partnerless = self.comparison.episodes_without_partner;
        let mut lines = vec![
            ("mean score", side(&self.run)),
            ("baseline", side(&self.baseline)),
            ("better by", format!("{} in {pairs} pairs", estimate(self.comparison.difference.as_ref()))),
            ("flips", format!("{} solved now, {} no longer", fail_to_pass.count, pass_to_fail.count)),
        ];
        let left_out = unscored.policy + unscored.baseline + unscored.both;
        if left_out + alone + partnerless > 0 {
            let words = format!(
                "{left_out} pairs without a score, {alone} tasks that one side alone played, {partnerless} episodes without a partner"
            );
            lines.push(("left out", words));
        }
        lines.extend(self.warnings.iter().map(|warning| ("warning", warning.clone())));
        lines
    }
}

/// Reasons why two runs may not measure the same.
fn differences(run: &RunReport, baseline: &RunReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if run.environments != baseline.environments {
        let names =
            |report: &RunReport| report.environments.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
        warnings.push(format!("the environments or their versions differ: {} and {}", names(run), names(baseline)));
    }
    if let (Some(here), Some(there)) = (&run.run.plan, &baseline.run.plan) {
        let split = |plan: &RunPlan| plan.split.as_deref().map_or_else(|| "several".to_owned(), visible);
        if here.split != there.split {
            warnings.push(format!("the splits differ: {} and {}", split(here), split(there)));
        }
        if here.seed != there.seed {
            warnings.push("the seeds differ, so that episodes of one task may not be the same".to_owned());
        }
    }
    for report in [run, baseline] {
        if let Some(plan) = report.run.plan.as_ref().filter(|plan| plan.episodes > report.summary.episodes) {
            let played = report.summary.episodes;
            warnings.push(format!("{} played {played} of {} planned episodes", report.run.id, plan.episodes));
        }
    }
    warnings
}

fn outcome(episode: &Episode) -> Outcome {
    let scored = episode.verdict.as_ref().and_then(|verdict| {
        let score = verdict.score.filter(|_| verdict.status == Status::Scored)?;
        Some(Scored { score, strict: verdict.strict == Some(1), passed: verdict.passed })
    });
    // An episode without a verdict goes on, or was not judged.
    let reason = || episode.verdict.as_ref().map_or("no_verdict", |verdict| verdict.status.as_str());
    let result = scored.ok_or_else(|| reason().into());
    Outcome {
        environment: episode.environment.as_str().into(),
        task: episode.task.as_str().into(),
        seed: episode.seed,
        result,
    }
}

fn estimate(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(|| "-".to_owned(), |estimate| interval(estimate.mean, estimate.interval))
}

fn interval(value: f64, interval: Option<[f64; 2]>) -> String {
    let ends = interval.map(|[low, high]| format!(" (95% interval {low:.4} to {high:.4})")).unwrap_or_default();
    format!("{value:.4}{ends}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(policy: &str, split: &str, environment: &str, scores: &[(&str, f64)]) -> RunReport {
        let run: Run = serde_json::from_value(json!({
            "id": "run_0197a3c2f2a87c53b0a1d5e6f7089abc", "state": "deleted", "lease_ms": 1000,
            "lease_expires_at": "2026-01-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z",
            "plan": {"policy": policy, "split": split, "seed": 0, "episodes": scores.len()},
        }))
        .unwrap();
        let outcome = |(task, score): &(&str, f64)| Outcome {
            environment: environment.into(),
            task: (*task).into(),
            seed: 0,
            result: Ok(Scored { score: *score, strict: *score >= 1.0, passed: *score >= 1.0 }),
        };
        RunReport::of(run, scores.iter().map(outcome).collect())
    }

    fn told(facts: &[(&'static str, String)], name: &str) -> String {
        facts.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone()).unwrap_or_default()
    }

    #[test]
    fn a_run_is_told_with_its_plan() {
        let facts = report("builtin:null", "test", "a/b@1", &[("x", 0.0), ("y", 1.0)]).facts();
        assert_eq!(
            (told(&facts, "policy"), told(&facts, "split"), told(&facts, "seed")),
            ("builtin:null".into(), "test".into(), "0".into())
        );
        assert_eq!(told(&facts, "episodes"), "2 of 2 planned, of which 2 were scored");
        assert!(told(&facts, "mean score").starts_with("0.5000 (95% interval"));
    }

    #[test]
    fn two_runs_are_compared_by_task() {
        let first = report("builtin:oracle", "test", "a/b@1", &[("x", 1.0), ("y", 1.0), ("z", 1.0)]);
        let second = report("builtin:null", "train", "a/b@1", &[("x", 0.0), ("y", 1.0)]);
        let facts = RunComparison::of(first, second).unwrap().facts();
        assert!(told(&facts, "better by").starts_with("0.5000") && told(&facts, "better by").ends_with("in 2 pairs"));
        assert_eq!(told(&facts, "flips"), "1 solved now, 0 no longer");
        assert!(told(&facts, "left out").contains("1 tasks that one side alone played"), "{facts:?}");
        assert_eq!(told(&facts, "warning"), "the splits differ: test and train");
    }

    #[test]
    fn runs_that_share_nothing_are_not_compared() {
        let first = report("builtin:oracle", "test", "a/b@1", &[("x", 1.0)]);
        let second = report("builtin:null", "test", "a/b@2", &[("x", 0.0)]);
        let error = RunComparison::of(first, second).unwrap_err().to_string();
        assert!(
            error.contains("nothing to compare: the environments or their versions differ: a/b@1 and a/b@2"),
            "{error}"
        );
    }
}

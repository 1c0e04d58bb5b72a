//! `evaluate`: measures a policy, with intervals clustered by task, and compares it with a baseline task by task.

use std::collections::BTreeSet;

use futures::StreamExt;
use palestra_protocol::environment::Environment;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobKind, JobState};
use palestra_protocol::run::RunPlan;
use palestra_protocol::spec::play::{EnvironmentMix, PolicyFrom};
use palestra_protocol::spec::train::ToolFormat;
use palestra_protocol::spec::{Baseline, Evaluate};
use serde_json::{Value, json};
use tokio::fs::File;

use crate::context::Context;
use crate::earlier::{EarlierEpisodes, Role};
use crate::failure::WorkError;
use crate::lines::read_outcomes;
use crate::play::policy::ReadyPolicy;
use crate::playing::{Plan, Resumed, find_all, line, play_all, split, versioned};
use crate::report::{PolicyOutcomes, Report, compare, shortened};
use crate::stats::summary::summarise;

/// The file with a line per episode.
const EPISODES: &str = "episodes.jsonl";
/// The same of a policy that is the baseline.
const BASELINE_EPISODES: &str = "baseline-episodes.jsonl";
/// The file with all numbers.
const REPORT: &str = "evaluation.json";

/// Measures the policy.
///
/// # Errors
/// When the policy cannot be played, nothing was scored, or the baseline cannot be had.
pub(super) async fn run(evaluate: &Evaluate, context: &Context) -> Result<Value, WorkError> {
    let earlier = EarlierEpisodes::gather(context).await?;
    let environments = find_all(&context.client, &evaluate.environments, &earlier).await?;
    let of_one = evaluate.episodes * u64::from(evaluate.samples_per_task) * environments.len() as u64;
    let played_baseline = matches!(evaluate.baseline, Some(Baseline::Policy(_)));
    context.expect(if played_baseline { 2 * of_one } else { of_one });
    context.resume(earlier.len());
    // First, so that a baseline that is missing shows before hours of playing.
    let ready_baseline = match &evaluate.baseline {
        Some(Baseline::Evaluation(job)) => Some(ReadyBaseline::Fetched(*job, fetch(*job, context).await?)),
        Some(Baseline::Policy(other)) => {
            Some(ReadyBaseline::Plays(&other.from, ready(evaluate, &other.from, context).await?))
        }
        None => None,
    };
    if let Some(ReadyBaseline::Fetched(job, fetched)) = &ready_baseline {
        check_shared(*job, fetched, &environments)?;
    }
    plan(evaluate, &environments, of_one * (1 + u64::from(played_baseline)), context).await?;
    let (from, measured) = (&evaluate.policy.from, ready(evaluate, &evaluate.policy.from, context).await?);
    if let Some(ReadyBaseline::Plays(other, ready)) = &ready_baseline
        && let Some(warning) = unlike((from, measured.tool_format()), (*other, ready.tool_format()))
    {
        context.log("warn", warning);
    }
    let resumed = |role: Role| Resumed { earlier: &earlier, group: role.group(context.lease.job()) };
    let own = resumed(Role::Policy);
    let policy = Box::pin(play_policy(evaluate, (from, &measured), &environments, own, EPISODES, context)).await?;
    let samples = evaluate.samples_per_task;
    let baseline = match &ready_baseline {
        Some(ReadyBaseline::Fetched(job, fetched)) => Some(compare(&policy, fetched, job.to_string(), samples)),
        Some(ReadyBaseline::Plays(from, ready)) => {
            let own = resumed(Role::Baseline);
            // One trainer serves one policy at a time.
            if !measured.is_served_as(ready) {
                measured.end().await;
            }
            let played = play_policy(evaluate, (*from, ready), &environments, own, BASELINE_EPISODES, context);
            let played = Box::pin(played).await?;
            Some(compare(&policy, &played, from.to_string(), samples))
        }
        None => None,
    };
    if let Some(baseline) = &baseline
        && baseline.comparison.pairs == 0
    {
        return Err(WorkError::bad_data(format!(
            "no scored episode of {} has a partner in {}, so there is nothing to compare: name a baseline that played the same tasks with the same `seed`, and see {EPISODES} for what was played",
            evaluate.policy.from, baseline.from
        )));
    }
    let report = Report {
        policy: evaluate.policy.from.to_string(),
        tasks: evaluate.episodes,
        samples_per_task: samples,
        seed: evaluate.seed,
        all: summarise(&policy.outcomes, samples),
        environments: policy.by_environment(samples),
        usage: policy.usage,
        baseline,
    };
    context.keep_document(REPORT, &report).await?;
    let mut result = serde_json::to_value(shortened(&report))?;
    result["artifacts"] = json!({"report": REPORT, "episodes": EPISODES});
    if played_baseline {
        result["artifacts"]["baseline_episodes"] = json!(BASELINE_EPISODES);
    }
    Ok(result)
}

/// A warning where two policies are shown tools differently, so that a comparison would show that too.
fn unlike(
    (policy, own): (&PolicyFrom, Option<ToolFormat>),
    (baseline, other): (&PolicyFrom, Option<ToolFormat>),
) -> Option<String> {
    let (own, other) = own.zip(other).filter(|(own, other)| own != other)?;
    Some(format!(
        "{policy} plays in the tool_format {}, the baseline {baseline} in {}: part of the difference may be that of the formats; \
         to play both alike, set sampling.tool_format",
        own.as_str(),
        other.as_str()
    ))
}

/// Records what the run of this attempt plays.
async fn plan(
    evaluate: &Evaluate,
    environments: &[(EnvironmentMix, Environment)],
    episodes: u64,
    context: &Context,
) -> Result<(), WorkError> {
    let policy = match &evaluate.baseline {
        Some(Baseline::Policy(other)) => format!("{} and {}", evaluate.policy.from, other.from),
        _ => evaluate.policy.from.to_string(),
    };
    let seed = Some(evaluate.seed);
    context.plan(RunPlan { policy, split: split(environments), seed, episodes }).await
}

/// Refuses an earlier evaluation that shares nothing with this one, before anything is played.
fn check_shared(
    job: JobId,
    fetched: &PolicyOutcomes,
    environments: &[(EnvironmentMix, Environment)],
) -> Result<(), WorkError> {
    let ours: Vec<String> = environments.iter().map(|(_, environment)| versioned(environment)).collect();
    if fetched.outcomes.iter().any(|outcome| ours.iter().any(|name| **name == *outcome.environment)) {
        return Ok(());
    }
    let theirs: BTreeSet<&str> = fetched.outcomes.iter().map(|outcome| &*outcome.environment).collect();
    let theirs: Vec<&str> = theirs.into_iter().collect();
    Err(WorkError::bad_spec(format!(
        "the baseline {job} played {}, and this evaluation plays {}, so there is nothing to compare: name an evaluation of the same environments and versions",
        theirs.join(", "),
        ours.join(", ")
    )))
}

/// A baseline that is ready.
enum ReadyBaseline<'a> {
    /// An earlier evaluation.
    Fetched(JobId, PolicyOutcomes),
    /// A policy that plays the same.
    Plays(&'a PolicyFrom, ReadyPolicy),
}

async fn ready(evaluate: &Evaluate, from: &PolicyFrom, context: &Context) -> Result<ReadyPolicy, WorkError> {
    context.policy(from, &evaluate.sampling).await
}

/// Plays one policy in all environments.
async fn play_policy(
    evaluate: &Evaluate,
    (from, policy): (&PolicyFrom, &ReadyPolicy),
    environments: &[(EnvironmentMix, Environment)],
    resumed: Resumed<'_>,
    file: &str,
    context: &Context,
) -> Result<PolicyOutcomes, WorkError> {
    let (mut outcomes, mut lines) = (PolicyOutcomes::default(), context.lines(file).await?);
    let plan = Plan {
        resumed,
        from,
        policy,
        environments,
        tasks: vec![evaluate.episodes; environments.len()],
        samples: evaluate.samples_per_task,
        seed: evaluate.seed,
        limits: &evaluate.limits,
        conversations: false,
    };
    let mut episodes = std::pin::pin!(play_all(context, plan));
    while let Some(ended) = episodes.next().await {
        let (environment, ended) = ended?;
        let line = line(&versioned(environment), &ended);
        lines.add(&line).await?;
        outcomes.add(&line);
    }
    context.keep(lines).await?;
    // The same sums, in whichever order the episodes ended.
    outcomes.sort();
    outcomes.check_scored(&from.to_string())?;
    Ok(outcomes)
}

/// The episodes of an earlier evaluation.
async fn fetch(job: JobId, context: &Context) -> Result<PolicyOutcomes, WorkError> {
    let earlier = context.client.job(job).await?;
    if earlier.kind != JobKind::Evaluate || earlier.state != JobState::Succeeded {
        let (kind, state) = (earlier.kind.as_str(), earlier.state.as_str());
        let detail =
            format!("the baseline {job} is a job of kind {kind} that is {state}: name an evaluation that succeeded");
        return Err(WorkError::bad_data(detail));
    }
    context.announce(format!("reading {job}"));
    let path = context.path("fetched.jsonl");
    context.client.download_artifact(job, EPISODES, &mut File::create(&path).await?).await?;
    Ok(PolicyOutcomes { outcomes: read_outcomes(&path).await?, ..PolicyOutcomes::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_are_shown_tools_differently_are_told_of() {
        let (policy, baseline) = (PolicyFrom::Oracle, PolicyFrom::Null);
        let warning = |own, other| unlike((&policy, own), (&baseline, other));
        let told = warning(Some(ToolFormat::Text), Some(ToolFormat::Auto)).unwrap();
        assert!(told.contains("tool_format text") && told.contains("in auto") && told.contains("sampling."), "{told}");
        assert_eq!(warning(Some(ToolFormat::Text), Some(ToolFormat::Text)), None);
        assert_eq!(warning(Some(ToolFormat::Text), None), None);
    }
}

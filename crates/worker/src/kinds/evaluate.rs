//! `evaluate`: measures a policy, with intervals clustered by task, and compares it with a baseline task by task.

use futures::StreamExt;
use palestra_protocol::environment::Environment;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobKind, JobState};
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
use crate::playing::{Plan, Resumed, find_all, line, play_all, versioned};
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
        context.log("warn", "no episode has a partner in the baseline: other tasks, seeds or versions were played");
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

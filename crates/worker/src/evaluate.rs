//! `evaluate`: how well a policy does, with intervals that know which episodes belong together, and beside another policy task by task.

use futures::StreamExt;
use palestra_protocol::environment::Environment;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobKind, JobState};
use palestra_protocol::spec::play::{Baseline, EnvironmentMix, Evaluate, PolicyFrom};
use serde_json::{Value, json};
use tokio::fs::File;

use super::context::Context;
use super::failure::WorkError;
use super::former::{self, FormerEpisodes};
use super::lines::read_outcomes;
use super::playing::{Resumed, Tour, find_all, line, play_all, versioned};
use super::report::{Report, Side, beside, shortened};
use crate::play::policy::ReadyPolicy;
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
    let former = FormerEpisodes::gather(context).await?;
    let environments = find_all(&context.client, &evaluate.environments, &former).await?;
    let of_one = evaluate.episodes * u64::from(evaluate.samples_per_task) * environments.len() as u64;
    let played_baseline = matches!(evaluate.baseline, Some(Baseline::Policy(_)));
    context.expect(if played_baseline { 2 * of_one } else { of_one });
    context.resume(former.len());
    // Had first: a baseline that cannot be had is known before hours of playing.
    let other = match &evaluate.baseline {
        Some(Baseline::Evaluation(job)) => Some(Other::Fetched(*job, fetch(*job, context).await?)),
        Some(Baseline::Policy(other)) => Some(Other::Plays(&other.from, ready(evaluate, &other.from, context).await?)),
        None => None,
    };
    let (from, policy) = (&evaluate.policy.from, ready(evaluate, &evaluate.policy.from, context).await?);
    let resumed = |side: former::Side| Resumed { former: &former, group: side.group(context.job) };
    let own = resumed(former::Side::Policy);
    let policy = Box::pin(side(evaluate, (from, &policy), &environments, own, EPISODES, context)).await?;
    let samples = evaluate.samples_per_task;
    let baseline = match &other {
        Some(Other::Fetched(job, fetched)) => Some(beside(&policy, fetched, job.to_string(), samples)),
        Some(Other::Plays(from, ready)) => {
            let own = resumed(former::Side::Baseline);
            let played = side(evaluate, (*from, ready), &environments, own, BASELINE_EPISODES, context);
            let played = Box::pin(played).await?;
            Some(beside(&policy, &played, from.to_string(), samples))
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

/// Beside whom a policy is measured.
enum Other<'a> {
    /// An earlier evaluation.
    Fetched(JobId, Side),
    /// A policy that plays the same.
    Plays(&'a PolicyFrom, ReadyPolicy),
}

async fn ready(evaluate: &Evaluate, from: &PolicyFrom, context: &Context) -> Result<ReadyPolicy, WorkError> {
    context.policy(from, &evaluate.sampling).await
}

/// Plays one policy in all environments.
async fn side(
    evaluate: &Evaluate,
    (from, policy): (&PolicyFrom, &ReadyPolicy),
    environments: &[(EnvironmentMix, Environment)],
    resumed: Resumed<'_>,
    file: &str,
    context: &Context,
) -> Result<Side, WorkError> {
    let (mut side, mut lines) = (Side::default(), context.lines(file).await?);
    let tour = Tour {
        resumed,
        from,
        policy,
        environments,
        tasks: vec![evaluate.episodes; environments.len()],
        samples: evaluate.samples_per_task,
        seed: evaluate.seed,
        limits: &evaluate.limits,
        talks: false,
    };
    let mut episodes = std::pin::pin!(play_all(context, tour));
    while let Some(ended) = episodes.next().await {
        let (environment, ended) = ended?;
        let line = line(&versioned(environment), &ended);
        lines.add(&line).await?;
        side.add(&line);
    }
    context.keep(lines).await?;
    // The same sums, in whichever order the episodes ended.
    side.sort();
    side.check_scored(&from.to_string())?;
    Ok(side)
}

/// The episodes of an earlier evaluation.
async fn fetch(job: JobId, context: &Context) -> Result<Side, WorkError> {
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
    Ok(Side { outcomes: read_outcomes(&path).await?, ..Side::default() })
}

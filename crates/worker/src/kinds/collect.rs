//! `collect`: plays episodes whose trajectories stay in the store as always, and exports conversations for supervised fine-tuning.

use std::collections::BTreeMap;

use futures::StreamExt;
use palestra_protocol::environment::Environment;
use palestra_protocol::run::RunPlan;
use palestra_protocol::spec::Collect;
use palestra_protocol::spec::play::EnvironmentMix;
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;
use crate::earlier::{EarlierEpisodes, Role};
use crate::failure::WorkError;
use crate::lines::Lines;
use crate::playing::{FinishedEpisode, Plan, Resumed, find_all, play_all, scored, split, status, versioned};

/// The file with a line per exported episode.
const EPISODES: &str = "episodes.jsonl";

/// Counts of the episodes of an environment, or of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct Collected {
    episodes: u64,
    scored: u64,
    exported: u64,
    /// Scored, but below the least score that is wanted.
    below_score_min: u64,
    /// By reason.
    unscored: BTreeMap<String, u64>,
}

/// Plays and exports.
///
/// # Errors
/// When the policy cannot be played, or nothing was scored.
pub(super) async fn run(collect: &Collect, context: &Context) -> Result<Value, WorkError> {
    let earlier = EarlierEpisodes::gather(context).await?;
    let environments = find_all(&context.client, &collect.environments, &earlier).await?;
    context.expect(collect.episodes);
    context.resume(earlier.len());
    let policy = context.policy(&collect.policy.from, &collect.sampling).await?;
    let mut lines = context.lines(EPISODES).await?;
    let (mut all, mut by_name) = (Collected::default(), BTreeMap::<String, Collected>::new());
    let (policy_name, seed) = (collect.policy.from.to_string(), Some(collect.seed));
    let planned = RunPlan { policy: policy_name, split: split(&environments), seed, episodes: collect.episodes };
    context.plan(planned).await?;
    let plan = Plan {
        resumed: Resumed { earlier: &earlier, group: Role::Policy.group(context.lease.job()) },
        from: &collect.policy.from,
        policy: &policy,
        environments: &environments,
        tasks: shares(collect.episodes, &collect.environments),
        samples: 1,
        seed: collect.seed,
        limits: &collect.limits,
        conversations: true,
    };
    let mut episodes = std::pin::pin!(play_all(context, plan));
    while let Some(ended) = episodes.next().await {
        let (environment, ended) = ended?;
        let exported = export(&ended, environment, collect.score_min, &mut lines).await?;
        for counts in [&mut all, by_name.entry(versioned(environment)).or_default()] {
            counts.add(&ended, exported);
        }
    }
    if all.scored == 0 {
        return Err(WorkError::environment(format!(
            "no episode was scored, see why and run it again: {:?}",
            all.unscored
        )));
    }
    let artifact = context.keep(lines).await?;
    let mut result = serde_json::to_value(&all)?;
    result["environments"] = serde_json::to_value(by_name)?;
    result["artifact"] = json!({"name": artifact.name, "digest": artifact.digest, "size_bytes": artifact.size_bytes});
    result["run"] = json!(context.run);
    // Those of earlier attempts whose episodes count, and this one.
    let mut runs = earlier.runs();
    runs.push(context.run);
    result["runs"] = json!(runs);
    Ok(result)
}

impl Collected {
    fn add(&mut self, ended: &FinishedEpisode, exported: bool) {
        self.episodes += 1;
        self.exported += u64::from(exported);
        if scored(&ended.played).is_some() {
            self.scored += 1;
            self.below_score_min += u64::from(!exported);
        } else {
            *self.unscored.entry(status(&ended.played).to_owned()).or_default() += 1;
        }
    }
}

/// Writes an episode that was scored high enough. Answers whether it was.
async fn export(
    ended: &FinishedEpisode,
    environment: &Environment,
    score_min: Option<f64>,
    lines: &mut Lines,
) -> Result<bool, WorkError> {
    let played = &ended.played;
    let score = scored(played).and_then(|verdict| verdict.score);
    let (Some(score), Some(conversation)) = (score, &played.conversation) else { return Ok(false) };
    if score_min.is_some_and(|least| score < least) {
        return Ok(false);
    }
    let mut line = json!({
        "messages": conversation.messages(),
        "metadata": {
            "episode": played.episode, "environment": versioned(environment), "task": played.task, "score": score,
        },
    });
    if !conversation.tools().is_empty() {
        line["tools"] = json!(conversation.tools());
    }
    lines.add(&line).await?;
    Ok(true)
}

/// Number of episodes of each environment: its weight's share, rounded so that all are given out, larger remainders first.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most ten million"
)]
fn shares(episodes: u64, environments: &[EnvironmentMix]) -> Vec<u64> {
    let weights: f64 = environments.iter().map(|mix| mix.weight).sum();
    let exact: Vec<f64> = environments.iter().map(|mix| episodes as f64 * mix.weight / weights).collect();
    let mut given: Vec<u64> = exact.iter().map(|share| share.floor() as u64).collect();
    let mut order: Vec<usize> = (0..environments.len()).collect();
    order.sort_by(|one, other| exact[*other].fract().total_cmp(&exact[*one].fract()));
    let left = episodes.saturating_sub(given.iter().sum());
    for place in order.into_iter().cycle().take(usize::try_from(left).unwrap_or(0)) {
        given[place] += 1;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixes(weights: &[f64]) -> Vec<EnvironmentMix> {
        let mix = |weight: &f64| EnvironmentMix {
            name: "puzzle/a".to_owned(),
            split: "train".to_owned(),
            weight: *weight,
            difficulty: None,
        };
        weights.iter().map(mix).collect()
    }

    #[test]
    fn all_episodes_are_given_out_by_weight() {
        assert_eq!(shares(10, &mixes(&[1.0, 1.0])), [5, 5]);
        assert_eq!(shares(10, &mixes(&[2.0, 1.0])), [7, 3]);
        assert_eq!(shares(2, &mixes(&[1.0, 1.0, 1.0])).iter().sum::<u64>(), 2);
        assert_eq!(shares(1, &mixes(&[1e-9, 1.0])), [0, 1]);
    }
}

//! `check`: the gate of an environment, tried on the server that offers it. The reference solution reaches the maximum; policies that know
//! nothing stay at the stated floor; what is played twice ends alike; and everything holds that `palestra check` proves.

use std::collections::HashMap;

use futures::StreamExt;
use palestra_protocol::environment::{Environment, Recovery};
use palestra_protocol::spec::Check;
use palestra_protocol::spec::play::{EnvironmentMix, PlayLimits, PolicyFrom, Sampling};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::WorkError;
use crate::findings::Findings;
use crate::lines::EpisodeLine;
use crate::play::PlayError;
use crate::play::player::Player;
use crate::playing::{EnvironmentPlan, line, play, scored, versioned};
use crate::proof::prove;
use crate::stats::outcome::Outcome;
use crate::stats::summary::{self, Summary};

/// The file with all findings.
const REPORT: &str = "check.json";
/// Failures that the result names; the file has more.
const FAILURES_SHOWN_MAX: usize = 100;
/// Sessions at once where each takes a sandbox or something else outside the server.
const LIVE_SESSIONS_MAX: u32 = 4;
/// Tasks of a split that are played twice.
const REPEATED_TASKS_MAX: u64 = 20;

/// Status, score and state at the end of an episode that may be played again.
type Ending = (String, Option<f64>, Option<String>);

/// Runs the gate. The job succeeds once the gate ran; `passed` in the result is its answer.
///
/// # Errors
/// When there is no such environment, or nothing can be played.
pub(super) async fn run(check: &Check, context: &Context) -> Result<Value, WorkError> {
    let environment = context.client.environment(&check.environment).await?;
    let splits: Vec<(&String, u64)> = environment
        .splits
        .iter()
        .filter(|(_, length)| **length > 0)
        .map(|(split, length)| (split, u64::from(check.tasks).min(*length)))
        .collect();
    let mut findings = Findings::default();
    let players = players(&environment, context, check.seed, &mut findings).await?;
    let repeats = environment.capabilities.deterministic && players.contains(&PolicyFrom::Random);
    for (_, tasks) in &splits {
        let again = if repeats { 2 * (*tasks).min(REPEATED_TASKS_MAX) } else { 0 };
        context.expect(tasks * players.len() as u64 + again);
    }
    for (split, tasks) in splits {
        let gate = Gate { check, environment: &environment, split, context };
        for player in &players {
            gate.try_policy(player, tasks, &mut findings).await?;
        }
        if repeats {
            gate.repeat(tasks.min(REPEATED_TASKS_MAX), &mut findings).await?;
        }
    }
    let proof = prove(&environment, u64::from(check.tasks), context, &mut findings).await?;
    let mut report = json!({
        "environment": versioned(&environment), "digest": environment.digest, "passed": findings.failed == 0,
        "splits": findings.splits, "failed": findings.failed, "failures": findings.failures, "skipped": findings.skipped,
    });
    if let Some(proof) = proof {
        report["proof"] = proof;
    }
    context.keep_document(REPORT, &report).await?;
    for field in ["/failures", "/proof/failures"] {
        if let Some(Value::Array(failures)) = report.pointer_mut(field) {
            failures.truncate(FAILURES_SHOWN_MAX);
        }
    }
    report["artifact"] = json!(REPORT);
    Ok(report)
}

/// The policies that can play here; the others are noted.
async fn players(
    environment: &Environment,
    context: &Context,
    seed: u64,
    findings: &mut Findings,
) -> Result<Vec<PolicyFrom>, WorkError> {
    let mut players = Vec::new();
    for from in [PolicyFrom::Oracle, PolicyFrom::Null, PolicyFrom::Random] {
        let policy = context.policy(&from, &Sampling::default()).await?;
        match Player::new(&policy, &context.client, environment, seed) {
            Ok(_) => players.push(from),
            Err(PlayError::Policy(why)) => findings.skip(&from.to_string(), why),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(players)
}

/// The gate of one split.
struct Gate<'a> {
    check: &'a Check,
    environment: &'a Environment,
    split: &'a str,
    context: &'a Context,
}

impl Gate<'_> {
    /// Plays `tasks` tasks. Answers the lines of the episodes, and how each ended by task and seed.
    async fn play(
        &self,
        from: &PolicyFrom,
        tasks: u64,
    ) -> Result<(Vec<EpisodeLine>, HashMap<(String, u64), Ending>), WorkError> {
        let policy = self.context.policy(from, &Sampling::default()).await?;
        let mix = EnvironmentMix {
            name: versioned(self.environment),
            split: self.split.to_owned(),
            weight: 1.0,
            difficulty: None,
        };
        // The gate waits for its sandboxes, and does not take them from those who play.
        let most = PlayLimits::default().concurrent_sessions;
        let live = self.environment.capabilities.recovery != Recovery::Replay;
        let concurrent_sessions = if live { most.min(LIVE_SESSIONS_MAX) } else { most };
        let plan = EnvironmentPlan {
            resumed: None,
            policy: &policy,
            environment: self.environment,
            mix: &mix,
            tasks,
            samples: 1,
            seed: self.check.seed,
            limits: &PlayLimits { concurrent_sessions, ..PlayLimits::default() },
            conversations: false,
        };
        let name = versioned(self.environment);
        let (mut lines, mut endings) = (Vec::new(), HashMap::new());
        let mut episodes = std::pin::pin!(play(self.context, plan));
        while let Some(ended) = episodes.next().await {
            let ended = ended?;
            let line = line(&name, &ended);
            let state = scored(&ended.played).and_then(|verdict| verdict.state.clone());
            endings.insert((line.task.clone(), line.seed), (line.status.clone(), line.score, state));
            lines.push(line);
        }
        Ok((lines, endings))
    }

    async fn try_policy(&self, from: &PolicyFrom, tasks: u64, findings: &mut Findings) -> Result<(), WorkError> {
        let name = from.to_string();
        self.context.announce(format!("{name} in {} of {}", self.split, versioned(self.environment)));
        let (lines, _) = self.play(from, tasks).await?;
        for line in lines.iter().filter(|line| line.score.is_none()) {
            let detail = format!("task {} was not scored: {}", line.task, line.status);
            findings.fail(self.split, &format!("{name} is scored"), detail);
        }
        let outcomes: Vec<Outcome> = lines.iter().map(EpisodeLine::outcome).collect();
        let summary = summary::summarise(&outcomes, 1);
        if *from == PolicyFrom::Oracle {
            for line in lines.iter().filter(|line| line.score.is_some() && line.strict != Some(1)) {
                let detail = format!("task {} has score {:?}", line.task, line.score);
                findings.fail(self.split, "the solution reaches the maximum", detail);
            }
        } else if let Some(detail) = above_floor(&summary, self.environment.floor) {
            findings.fail(self.split, &format!("{name} stays at the floor"), detail);
        }
        findings.splits.entry(self.split.to_owned()).or_default().insert(name, summary);
        Ok(())
    }

    /// Plays the same again: same version, task, seed and actions end in the same state and score.
    async fn repeat(&self, tasks: u64, findings: &mut Findings) -> Result<(), WorkError> {
        self.context.announce(format!("again in {} of {}", self.split, versioned(self.environment)));
        let (_, first) = self.play(&PolicyFrom::Random, tasks).await?;
        let (_, second) = self.play(&PolicyFrom::Random, tasks).await?;
        for ((task, seed), ending) in &first {
            if second.get(&(task.clone(), *seed)).is_none_or(|again| again != ending) {
                let detail = format!("task {task} with seed {seed} ended otherwise the second time");
                findings.fail(self.split, "what is played twice ends alike", detail);
            }
        }
        Ok(())
    }
}

/// Why a mean is above the floor: by more than chance, as far as the number of tasks can tell.
fn above_floor(summary: &Summary, floor: f64) -> Option<String> {
    let mean = summary.mean?;
    let surely = mean.interval.is_none_or(|[low, _]| low > floor);
    (mean.mean > floor && surely).then(|| format!("its mean score is {:.4}, the floor {floor}", mean.mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::outcome::Scored;

    fn summary(scores: &[f64]) -> Summary {
        let outcomes: Vec<Outcome> = scores
            .iter()
            .enumerate()
            .map(|(number, score)| Outcome {
                environment: "a/b@1".into(),
                task: number.to_string().into(),
                seed: 0,
                result: Ok(Scored { score: *score, strict: *score >= 1.0, passed: *score >= 1.0 }),
            })
            .collect();
        summary::summarise(&outcomes, 1)
    }

    #[test]
    fn a_floor_is_broken_by_more_than_chance() {
        assert_eq!(above_floor(&summary(&[0.0; 10]), 0.05), None);
        let lucky: Vec<f64> = (0..10).map(|number| f64::from(u8::from(number == 0))).collect();
        assert_eq!(above_floor(&summary(&lucky), 0.05), None);
        assert!(above_floor(&summary(&[1.0; 10]), 0.05).is_some());
        assert!(above_floor(&summary(&[1.0]), 0.05).is_some());
    }
}

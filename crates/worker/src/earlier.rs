//! Episodes of earlier attempts at the same job: those with a score count, and the next attempt plays the rest.
//!
//! An attempt tags its sessions with the run of its lease, which the queue tells the next attempt, and with a group for each policy that
//! the job plays. An episode is found again by its group, environment, seed and task, all of which follow from the job.

use std::collections::HashMap;

use palestra_client::{Client, ClientError, EpisodeQuery};
use palestra_protocol::environment::Environment;
use palestra_protocol::episode::{Episode, Trajectory};
use palestra_protocol::id::{EpisodeId, GroupId, JobId, RunId};
use palestra_protocol::problem::Code;
use palestra_protocol::verdict::{Status, Verdict};
use sha2::{Digest, Sha256};
use uuid::Builder;

use super::context::Context;
use crate::play::conversation::Conversation;
use crate::play::episode::{Assignment, Played, task_name};
use crate::play::turn::Tokens;

/// Episodes of a page.
const EPISODES_PER_PAGE: u32 = 1_000;

/// The role of a policy in a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The policy that the job is about.
    Policy,
    /// The policy that it is compared with.
    Baseline,
}

impl Role {
    /// The group of the episodes that the policy plays, the same in every attempt.
    pub(super) fn group(self, job: JobId) -> GroupId {
        let name: &[u8] = match self {
            Self::Policy => b"policy",
            Self::Baseline => b"baseline",
        };
        let digest = Sha256::new().chain_update(job.uuid().as_bytes()).chain_update(name).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        GroupId::from(Builder::from_custom_bytes(bytes).into_uuid())
    }
}

/// The scored episodes of earlier attempts.
#[derive(Debug, Default)]
pub(super) struct EarlierEpisodes {
    /// By seed, of each policy in each environment with its version.
    scored: HashMap<(GroupId, String), HashMap<u64, EarlierEpisode>>,
}

/// A scored episode of an earlier attempt.
#[derive(Debug, Clone)]
pub(super) struct EarlierEpisode {
    id: EpisodeId,
    task: String,
    run: RunId,
    steps: u64,
    /// Without its checks, which nothing here reads.
    verdict: Verdict,
}

/// The parts of a trajectory that a job needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs<'a> {
    /// The conversation, in an environment with its tools.
    pub(super) conversation: Option<&'a Environment>,
    /// Numbers of tokens that the policy read and wrote.
    pub(super) tokens: bool,
}

impl EarlierEpisodes {
    /// Ends the earlier attempts, so that none of their episodes can still be scored, and lists the episodes that were.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub(super) async fn gather(context: &Context) -> Result<Self, ClientError> {
        let mut found = Self::default();
        for run in &context.earlier_runs {
            match context.client.delete_run(*run).await {
                Ok(()) => found.list(&context.client, *run).await?,
                // That attempt ended before it began its run.
                Err(error) if error.code() == Some(Code::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    async fn list(&mut self, client: &Client, run: RunId) -> Result<(), ClientError> {
        let status = Some(Status::Scored);
        let mut query =
            EpisodeQuery { run: Some(run), status, limit: Some(EPISODES_PER_PAGE), ..EpisodeQuery::default() };
        loop {
            let page = client.episodes(&query).await?;
            page.data.into_iter().for_each(|episode| self.add(run, episode));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Keeps the first scored episode of each task and seed. What somebody forked or reset is none that the job played.
    fn add(&mut self, run: RunId, episode: Episode) {
        let Episode { id, attempt: 1, environment, task, seed, group: Some(group), origin: None, seq, .. } = episode
        else {
            return;
        };
        let Some(verdict) =
            episode.verdict.filter(|verdict| verdict.status == Status::Scored && verdict.score.is_some())
        else {
            return;
        };
        let verdict = Verdict { checks: Vec::new(), ..verdict };
        let earlier = EarlierEpisode { id, task, run, steps: seq.unwrap_or_default(), verdict };
        let of_environment = self.scored.entry((group, environment)).or_default();
        let kept = of_environment.entry(seed).or_insert_with(|| earlier.clone());
        if earlier.id < kept.id {
            *kept = earlier;
        }
    }

    /// Number of episodes.
    pub(super) fn len(&self) -> u64 {
        self.scored.values().map(|episodes| episodes.len() as u64).sum()
    }

    /// The environment with the version in which it was played, of one that is named without a version: what was published since is
    /// not mixed in.
    pub(super) fn version_of(&self, name: &str) -> Option<&str> {
        let same = |environment: &str| environment.split_once('@').is_some_and(|(plain, _)| plain == name);
        let played = self.scored.iter().filter(|((_, environment), _)| same(environment));
        let first = |episodes: &HashMap<u64, EarlierEpisode>| episodes.values().map(|episode| episode.id).min();
        played.min_by_key(|(_, episodes)| first(episodes)).map(|((_, environment), _)| environment.as_str())
    }

    /// The episode that was played for an assignment.
    pub(super) fn find(&self, group: GroupId, environment: &str, assigned: &Assignment) -> Option<&EarlierEpisode> {
        let episodes = self.scored.get(&(group, environment.to_owned()))?;
        episodes.get(&assigned.seed).filter(|episode| episode.task == task_name(&assigned.task))
    }

    /// The runs that own them, oldest first.
    pub(super) fn runs(&self) -> Vec<RunId> {
        let mut runs: Vec<RunId> = self.scored.values().flat_map(HashMap::values).map(|episode| episode.run).collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }
}

impl EarlierEpisode {
    /// The episode as if this attempt had played it.
    ///
    /// # Errors
    /// When its trajectory is needed and cannot be read.
    pub(super) async fn played(
        &self,
        client: &Client,
        assignment: Assignment,
        needs: Needs<'_>,
    ) -> Result<Played, ClientError> {
        let needed = needs.conversation.is_some() || needs.tokens;
        let recorded = if needed { Some(client.trajectory(self.id).await?) } else { None };
        let conversation = recorded.as_ref().zip(needs.conversation);
        Ok(Played {
            assignment,
            task: self.task.clone(),
            episode: Some(self.id),
            steps: self.steps,
            tokens: recorded.as_ref().filter(|_| needs.tokens).map(tokens).unwrap_or_default(),
            conversation: conversation
                .map(|(recorded, environment)| Conversation::of_trajectory(recorded, &environment.tools)),
            verdict: Ok(self.verdict.clone()),
        })
    }
}

fn tokens(trajectory: &Trajectory) -> Tokens {
    let mut sum = Tokens::default();
    trajectory.steps.iter().filter_map(|step| step.meta.as_ref()).for_each(|meta| sum.add(Tokens::recorded(meta)));
    sum
}

#[cfg(test)]
mod tests {
    use palestra_protocol::session::TaskChoice;
    use serde_json::{Value, json};

    use super::*;

    fn episode(run: RunId, more: &Value) -> Episode {
        let mut episode = json!({
            "id": EpisodeId::new(), "session": palestra_protocol::id::SessionId::new(), "attempt": 1,
            "environment": "bench/counter@2", "task": "test-7", "seed": 5, "run": run,
            "group": Role::Policy.group(job()), "state": "ended", "seq": 3, "terminated": true, "truncated": false,
            "verdict": {
                "episode": EpisodeId::new(), "status": "scored", "score": 0.5, "strict": 0, "passed": false, "trainable": true,
                "checks": [{"name": "a", "weight": 1.0, "score": 0.5, "passed": false, "evidence": "b"}],
                "judge": "state", "verifier": {"name": "a", "version": "b"}, "state": null, "seq": 3,
                "usage": {"steps": 3, "calls": 3, "env_ms": 0, "judge_ms": 0, "tokens": 0, "cost": 0.0},
            },
            "started_at": "2026-01-01T00:00:00.000Z", "ended_at": "2026-01-01T00:00:01.000Z",
        });
        for (field, value) in more.as_object().unwrap() {
            episode[field] = value.clone();
        }
        serde_json::from_value(episode).unwrap()
    }

    fn job() -> JobId {
        JobId::from(uuid::Uuid::from_u128(7))
    }

    fn assigned(seed: u64, task: &str) -> Assignment {
        Assignment { number: 0, seed, task: TaskChoice { id: Some(task.to_owned()), ..TaskChoice::default() } }
    }

    #[test]
    fn the_sides_of_a_job_and_those_of_another_have_groups_of_their_own() {
        let other = JobId::from(uuid::Uuid::from_u128(8));
        let groups = [Role::Policy.group(job()), Role::Baseline.group(job()), Role::Policy.group(other)];
        assert!(groups[0] != groups[1] && groups[0] != groups[2] && groups[1] != groups[2]);
        assert_eq!(groups[0], Role::Policy.group(job()));
    }

    #[test]
    fn what_was_scored_is_found_by_what_was_assigned_and_nothing_else_is() {
        let (run, mut earlier) = (RunId::new(), EarlierEpisodes::default());
        let first = episode(run, &json!({}));
        let expected = first.id;
        earlier.add(run, episode(run, &json!({})));
        earlier.add(run, first);
        for none in [
            json!({"seed": 6, "verdict": null}),
            json!({"seed": 6, "attempt": 2}),
            json!({"seed": 6, "group": null}),
            json!({"seed": 6, "origin": {"episode": EpisodeId::new(), "seq": 1}}),
        ] {
            earlier.add(run, episode(run, &none));
        }
        assert_eq!((earlier.len(), earlier.runs()), (1, vec![run]));
        let find = |role: Role, environment: &str, seed, task: &str| {
            earlier.find(role.group(job()), environment, &assigned(seed, task)).map(|found| found.id)
        };
        assert_eq!(find(Role::Policy, "bench/counter@2", 5, "test-7"), Some(expected), "the first counts");
        assert_eq!(find(Role::Policy, "bench/counter@2", 5, "test-8"), None);
        assert_eq!(find(Role::Policy, "bench/counter@2", 6, "test-7"), None);
        assert_eq!(find(Role::Policy, "bench/counter@3", 5, "test-7"), None);
        assert_eq!(find(Role::Baseline, "bench/counter@2", 5, "test-7"), None);
        assert_eq!(earlier.version_of("bench/counter"), Some("bench/counter@2"));
        assert_eq!(earlier.version_of("bench/count"), None);
    }
}

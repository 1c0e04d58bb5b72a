//! The stage that plays a language model, and the episodes that it hands on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use palestra_client::stream::Options;
use palestra_protocol::spec::train::{Advantage, Reward, ToolFormat, Train};

use super::Context;
use super::batch;
use super::journal::Values;
use super::measure;
use crate::algorithm::advantage::{self, Episode};
use crate::algorithm::preset::{AdvantageEstimator, Parts};
use crate::chat::ChatFormat;
use crate::data::{Part, Sequence};
use crate::failure::TrainerError;
use crate::model::Transformer;
use crate::rollout::{EpisodeEnd, LanguageActor, Planned, Plans, PlayLimits, Played, Player, SamplingSettings, Times};
use crate::sampling::Sampler;

/// Number of times that the tasks of one update are drawn before groups that teach nothing are taken as they are.
const ROUNDS_MAX: u64 = 4;

/// Episodes of one update, as they were played.
pub(super) struct Batch {
    /// The number of the update.
    pub(super) step: u64,
    /// The episodes.
    pub(super) played: Vec<Played<Sequence>>,
    /// The same ones as advantages see them.
    pub(super) episodes: Vec<Episode>,
    /// By how many updates the weights that played were older.
    pub(super) staleness: u64,
    /// Number of times that tasks were drawn.
    rounds: u64,
    /// Where time went.
    pub(super) times: Times,
    /// Tokens that were sampled.
    sampled: u64,
    /// Time for which all of it took.
    pub(super) seconds: f64,
}

/// Weights after so many updates, without autodiff.
pub(super) struct Weights {
    /// So many.
    pub(super) version: u64,
    /// The policy.
    pub(super) model: Transformer,
}

impl Batch {
    /// Number of episodes that are no samples; they leave the update.
    #[must_use]
    pub(super) fn masked(&self) -> usize {
        self.episodes.iter().filter(|episode| !episode.counts).count()
    }

    /// Number of judged episodes that a limit cut.
    #[must_use]
    pub(super) fn truncated(&self) -> usize {
        let judged = self.played.iter().filter(|played| matches!(played.ended, EpisodeEnd::Scored { .. }));
        judged.filter(|played| played.is_cut()).count()
    }

    /// Refuses a batch of which more than this share failed for reasons of infrastructure.
    ///
    /// # Errors
    /// `Environment` with every reason.
    pub(super) fn check(&self, share_max: f64) -> Result<(), TrainerError> {
        let reasons = self.played.iter().filter_map(|played| match &played.ended {
            EpisodeEnd::Masked(reason) => Some(reason.as_str()),
            EpisodeEnd::Scored { .. } => None,
        });
        let failed: Vec<&str> = reasons.collect();
        if failed.len() as f64 / self.played.len().max(1) as f64 <= share_max {
            return Ok(());
        }
        let reasons: BTreeSet<&str> = failed.iter().copied().collect();
        Err(TrainerError::Environment(format!(
            "{} of {} episodes were no samples ({}): more than rollout.masked_share_max allows",
            failed.len(),
            self.played.len(),
            reasons.into_iter().collect::<Vec<_>>().join(", ")
        )))
    }

    /// The environments that were played, with their versions.
    pub(super) fn environments(&self) -> impl Iterator<Item = String> + '_ {
        self.played.iter().map(|played| played.environment.clone()).filter(|name| !name.is_empty())
    }

    /// Metrics of the playing.
    #[must_use]
    pub(super) fn values(&self, plans: &Plans) -> Values {
        let counted = self.episodes.iter().filter(|episode| episode.counts);
        let rewards: Vec<f64> = counted.map(|episode| episode.reward).collect();
        let count = rewards.len() as f64;
        let mean = rewards.iter().sum::<f64>() / count;
        let spread = (rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let traces = self.played.iter().filter_map(|played| played.trace.as_ref());
        let answers: usize = traces.map(|trace| trace.count(Part::Action)).sum();
        let turns: usize = self.played.iter().map(|played| played.turns.len()).sum();
        let episodes = self.played.len().max(1) as f64;
        let mut values = measure::solve_rates("", &self.played, plans);
        values.extend([
            ("reward_mean".to_owned(), mean),
            ("reward_spread".to_owned(), spread),
            ("rounds".to_owned(), self.rounds as f64),
            ("staleness".to_owned(), self.staleness as f64),
            ("masked_episodes".to_owned(), self.masked() as f64),
            ("truncated_episodes".to_owned(), self.truncated() as f64),
            ("answer_tokens_mean".to_owned(), answers as f64 / turns.max(1) as f64),
            ("turns_mean".to_owned(), turns as f64 / episodes),
            ("tokens_sampled_per_second".to_owned(), self.sampled as f64 / self.times.policy_seconds.max(1e-9)),
            ("queue_wait_ms_mean".to_owned(), self.times.queue_seconds * 1_000.0 / turns.max(1) as f64),
            ("env_ms_mean".to_owned(), self.times.env_seconds * 1_000.0 / turns.max(1) as f64),
        ]);
        values
    }
}

/// The stage that plays.
pub(super) struct Stage<'a> {
    /// The job.
    pub(super) spec: &'a Train,
    /// Context of the training.
    pub(super) context: &'a Context,
    /// The algorithm.
    pub(super) parts: &'a Parts,
    /// Plan of the tasks.
    pub(super) plans: &'a Plans,
    /// Conversation format of the model.
    pub(super) chat: &'a Arc<ChatFormat>,
    /// Form of actions in its text.
    pub(super) tool_format: ToolFormat,
}

impl Stage<'_> {
    /// Plays for every update from `first` on, until there is none left or nobody takes the episodes.
    ///
    /// # Errors
    /// As playing.
    pub(super) fn play(
        &self,
        first: u64,
        weights: &Receiver<Weights>,
        batches: &SyncSender<Batch>,
    ) -> Result<(), TrainerError> {
        let stream = self.context.runtime.block_on(self.context.client.stream(Options::default()))?;
        let mut held: Option<Weights> = None;
        for step in first..self.spec.steps {
            let version = self.version(step);
            while held.as_ref().is_none_or(|held| held.version < version) {
                let Ok(newer) = weights.recv() else { return Ok(()) };
                held = Some(newer);
            }
            let Some(held) = &held else { return Ok(()) };
            let mut player = Player {
                stream: stream.clone(),
                run: self.context.run,
                runtime: self.context.runtime.clone(),
                limits: PlayLimits {
                    concurrent_sessions: self.spec.rollout.concurrent_sessions as usize,
                    max_turns: self.spec.rollout.max_turns,
                    state_hashes: matches!(
                        self.parts.estimator,
                        AdvantageEstimator::Compared(Advantage::GroupInGroup { .. })
                    ),
                },
                times: Times::default(),
            };
            let batch = self.batch(step, held, &mut player)?;
            if batches.send(batch).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Weights that play for an update: as old as the job allows, but never older than the last checkpoint, so that a training
    /// that goes on from there plays with the same ones.
    fn version(&self, step: u64) -> u64 {
        let every = self.spec.checkpoint.every;
        step.saturating_sub(u64::from(self.spec.rollout.staleness_updates_max)).max(step / every * every)
    }

    fn batch(&self, step: u64, weights: &Weights, player: &mut Player) -> Result<Batch, TrainerError> {
        let began = Instant::now();
        let rollouts = self.parts.rollouts_per_task() as usize;
        let wanted = self.parts.tasks_per_step as usize;
        let slots = (self.spec.rollout.concurrent_sessions as usize).min(wanted * rollouts);
        let capacity = self.spec.rollout.max_context_tokens as usize;
        let answering = SamplingSettings {
            max_tokens: self.spec.rollout.max_tokens as usize,
            temperature: self.spec.rollout.temperature,
            top_p: 1.0,
            tool_format: self.tool_format,
        };
        let sampler = Sampler::new(weights.model.clone(), slots, capacity, self.spec.seed);
        let mut actor = LanguageActor::new(sampler, self.chat.clone(), answering);
        let (mut taken, mut round) = (Taken::default(), 0);
        loop {
            let missing = wanted - taken.played.len() / rollouts;
            let planned: Vec<Planned> = self.plans.update(step, round, missing, rollouts);
            let fresh = player.play(&planned, &mut actor, &|done| {
                self.context.reporter.announce(format!("played {done} of {} episodes", planned.len()));
                self.context.reporter.go_on()
            })?;
            round += 1;
            let last = !self.parts.resample_equal_groups || round == ROUNDS_MAX;
            taken.take(fresh, last, rollouts, self.parts, &self.spec.reward);
            if last || taken.played.len() >= wanted * rollouts {
                break;
            }
        }
        Ok(Batch {
            step,
            played: taken.played,
            episodes: taken.episodes,
            staleness: step - weights.version,
            rounds: round,
            times: player.times,
            sampled: actor.sampled(),
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// Episodes that an update takes so far.
#[derive(Default)]
pub(super) struct Taken {
    /// As they were played.
    pub(super) played: Vec<Played<Sequence>>,
    /// The same ones as advantages see them.
    pub(super) episodes: Vec<Episode>,
}

impl Taken {
    /// Takes the groups of `rollouts` episodes that teach something, or `all` of them.
    pub(super) fn take(
        &mut self,
        fresh: Vec<Played<Sequence>>,
        all: bool,
        rollouts: usize,
        parts: &Parts,
        reward: &Reward,
    ) {
        let fresh_episodes: Vec<Episode> = fresh.iter().map(|played| batch::shaped(played, parts, reward)).collect();
        let equal = advantage::equal_groups(&fresh_episodes);
        for (mut one, mut episode) in fresh.into_iter().zip(fresh_episodes) {
            if !all && equal.contains(&episode.group) {
                continue;
            }
            // Groups are numbered anew where some were left out.
            let group = self.played.len() / rollouts;
            one.planned.group = group;
            episode.group = group;
            self.played.push(one);
            self.episodes.push(episode);
        }
    }
}

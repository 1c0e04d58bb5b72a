//! A language model that learns from episodes which it plays itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Instant;

use burn::module::Module as _;
use palestra_client::stream::Options;
use palestra_protocol::spec::train::{Advantage, Train};
use serde_json::Value;

use super::Context;
use super::batch;
use super::journal::{Journal, Values};
use super::keep::{self, Saved};
use super::measure::{self, Measure};
use super::start::Language;
use super::update::{Learner, Lesson};
use crate::algorithm::advantage::{self, Episode};
use crate::algorithm::preset::{Judging, Parts};
use crate::chat::ChatFormat;
use crate::data::{Part, Sequence};
use crate::failure::TrainerError;
use crate::habits::Habits;
use crate::model::Transformer;
use crate::optimizer::{AdamW, rate};
use crate::rollout::{Answering, Ended, LanguageActor, Planned, Plans, PlayLimits, Played, Player, Times};
use crate::sampling::Sampler;

/// How often the tasks of one update are drawn before groups that teach nothing are taken as they are.
const ROUNDS_MAX: u64 = 4;

/// Episodes of one update, as they were played.
struct Batch {
    step: u64,
    played: Vec<Played<Sequence>>,
    episodes: Vec<Episode>,
    /// By how many updates the weights that played were older.
    staleness: u64,
    /// How often tasks were drawn.
    rounds: u64,
    times: Times,
    sampled: u64,
    seconds: f64,
}

/// Weights after so many updates, without autodiff.
struct Weights {
    version: u64,
    model: Transformer,
}

/// Trains a language model by playing.
///
/// # Errors
/// As [`TrainerError`] says.
pub(super) fn train(spec: &Train, context: &Context, language: Language) -> Result<Value, TrainerError> {
    let parts = Parts::new(&spec.algorithm, &spec.rollout)?;
    let Judging::Compared(kind) = &parts.judging else {
        return Err(TrainerError::Internal("this algorithm compares nothing".to_owned()));
    };
    let reference = parts.loss.kl.is_some().then(|| language.model.valid());
    let mut learner = Learner { model: language.model, reference, optimizer: AdamW::new(&spec.optimizer) };
    let mut saved = Saved::default();
    if let Some(found) = keep::restore(context, &spec.optimizer, &mut learner.model, &mut learner.optimizer)? {
        saved = found;
    }
    let mut journal = Journal::begin(spec, context, saved.step, saved.history.clone());
    let plans = Plans::new(spec.environments.clone(), spec.seed);
    let measure = Measure { spec, context, chat: &language.chat };
    if saved.step == 0 && spec.evaluate.as_ref().is_some_and(|evaluate| evaluate.at_start) {
        journal.step(0, &measure.measure(&learner.model.valid(), &plans)?)?;
    }
    let first = saved.step;
    let (weights, to_play) = channel();
    // Batches that wait to be learnt from; weights cannot pile up, since each is made from a batch.
    let (played, to_learn) = sync_channel(spec.rollout.staleness_updates_max as usize + 1);
    let stage = Stage { spec, context, parts: &parts, plans: &plans, chat: &language.chat };
    send(&weights, first, &learner.model);
    std::thread::scope(|scope| {
        let playing = scope.spawn(move || stage.play(first, &to_play, &played));
        let learnt =
            learn(spec, &parts, kind, &mut learner, &mut saved, &mut journal, &weights, &to_learn, &measure, &plans);
        // Ends the other stage, which waits for weights or for room.
        drop(weights);
        drop(to_learn);
        let played = playing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // What stopped the players is the reason why no episodes came.
        match (learnt, played) {
            (Err(TrainerError::Internal(_)), Err(error)) => Err(error),
            (learnt, _) => learnt,
        }
    })?;
    let folder = context.files.folder.join("policy");
    let habits = Habits { tool_format: spec.rollout.tool_format, actions: Vec::new() };
    keep::save_policy(&learner.model, language.chat.tokenizer(), &habits, &folder)?;
    let environments = saved.environments.iter().cloned().collect();
    journal.finish(&folder, language.parent, "transformer", environments, &context.files.folder)
}

fn send(weights: &Sender<Weights>, version: u64, model: &Transformer) {
    // Nobody takes them once playing has failed, which is then told there.
    let _ = weights.send(Weights { version, model: model.valid() });
}

#[expect(clippy::too_many_arguments, reason = "the state of a training, for one caller")]
fn learn(
    spec: &Train,
    parts: &Parts,
    kind: &Advantage,
    learner: &mut Learner,
    saved: &mut Saved,
    journal: &mut Journal<'_>,
    weights: &Sender<Weights>,
    batches: &Receiver<Batch>,
    measure: &Measure<'_>,
    plans: &Plans,
) -> Result<(), TrainerError> {
    for step in saved.step..spec.steps {
        let waited = Instant::now();
        let batch = batches.recv().map_err(|_| TrainerError::Internal("no episodes came any more".to_owned()))?;
        let waited = waited.elapsed().as_secs_f64();
        debug_assert_eq!(batch.step, step, "batches come in order");
        let began = Instant::now();
        let masked = batch.episodes.iter().filter(|episode| !episode.counts).count();
        too_many_masked(&batch, spec.rollout.masked_share_max)?;
        let advantages = advantage::advantages(kind, parts.gamma, &batch.episodes, &mut saved.baselines);
        let rows = batch::rows(&batch.played, &advantages);
        let learning_rate = rate(&spec.optimizer, step, spec.steps);
        let mut values = rollout_values(&batch, plans);
        if !rows.is_empty() {
            let lesson = Lesson {
                parts,
                plan: &spec.optimizer,
                temperature: spec.rollout.temperature,
                stale: batch.staleness > 0,
                seed: spec.seed,
            };
            let shown = learner.update(&rows, &lesson, learning_rate, step)?;
            let seconds = began.elapsed().as_secs_f64();
            values.extend([
                ("loss".to_owned(), shown.loss),
                ("entropy".to_owned(), shown.entropy),
                ("kl".to_owned(), shown.kl),
                ("clip_fraction".to_owned(), shown.clipped),
                ("grad_norm".to_owned(), shown.grad_norm),
                ("tokens_trained_per_second".to_owned(), shown.tokens as f64 / seconds.max(1e-9)),
            ]);
        }
        values.insert("learning_rate".to_owned(), learning_rate);
        values.insert("rows".to_owned(), rows.len() as f64);
        values.insert("masked_episodes".to_owned(), masked as f64);
        values.insert("update_wait_seconds".to_owned(), waited);
        let whole = batch.seconds.max(1e-9) + began.elapsed().as_secs_f64();
        values.insert("environment_share".to_owned(), batch.times.environment_seconds / whole);
        saved.environments.extend(versions(&batch.played));
        let done = step + 1;
        send(weights, done, &learner.model);
        if measure::is_due(spec, done) {
            values.extend(measure.measure(&learner.model.valid(), plans)?);
        }
        journal.step(done, &values)?;
        if journal.is_due(done) {
            saved.step = done;
            saved.history = journal.history().clone();
            let folder = keep::save(measure.context, &learner.model, &learner.optimizer, saved)?;
            journal.keep(done, &folder)?;
        }
    }
    Ok(())
}

fn versions(played: &[Played<Sequence>]) -> BTreeSet<String> {
    played.iter().map(|played| played.environment.clone()).filter(|name| !name.is_empty()).collect()
}

fn too_many_masked(batch: &Batch, share_max: f64) -> Result<(), TrainerError> {
    let failed: Vec<&str> = batch
        .played
        .iter()
        .filter_map(|played| match &played.ended {
            Ended::Masked(reason) => Some(reason.as_str()),
            Ended::Scored { .. } => None,
        })
        .collect();
    let share = failed.len() as f64 / batch.played.len().max(1) as f64;
    if share <= share_max {
        return Ok(());
    }
    let reasons: BTreeSet<&str> = failed.iter().copied().collect();
    Err(TrainerError::Environment(format!(
        "{} of {} episodes were no samples ({}): more than rollout.masked_share_max allows",
        failed.len(),
        batch.played.len(),
        reasons.into_iter().collect::<Vec<_>>().join(", ")
    )))
}

/// What playing showed.
fn rollout_values(batch: &Batch, plans: &Plans) -> Values {
    let rewards: Vec<f64> =
        batch.episodes.iter().filter(|episode| episode.counts).map(|episode| episode.reward).collect();
    let count = rewards.len() as f64;
    let mean = rewards.iter().sum::<f64>() / count;
    let spread = (rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    let answers: usize =
        batch.played.iter().filter_map(|played| played.trace.as_ref()).map(|trace| trace.count(Part::Action)).sum();
    let turns: usize = batch.played.iter().map(|played| played.turns.len()).sum();
    let episodes = batch.played.len().max(1) as f64;
    let mut values = measure::solve_rates("", &batch.played, plans);
    values.extend([
        ("reward_mean".to_owned(), mean),
        ("reward_spread".to_owned(), spread),
        ("groups_equal".to_owned(), advantage::equal_groups(&batch.episodes).len() as f64),
        ("rounds".to_owned(), batch.rounds as f64),
        ("staleness".to_owned(), batch.staleness as f64),
        ("answer_tokens_mean".to_owned(), answers as f64 / turns.max(1) as f64),
        ("turns_mean".to_owned(), turns as f64 / episodes),
        ("tokens_sampled_per_second".to_owned(), batch.sampled as f64 / batch.times.policy_seconds.max(1e-9)),
        ("queue_wait_ms_mean".to_owned(), batch.times.queue_seconds * 1_000.0 / turns.max(1) as f64),
        ("env_ms_mean".to_owned(), batch.times.env_seconds * 1_000.0 / turns.max(1) as f64),
    ]);
    values
}

/// The stage that plays.
struct Stage<'a> {
    spec: &'a Train,
    context: &'a Context,
    parts: &'a Parts,
    plans: &'a Plans,
    chat: &'a Arc<ChatFormat>,
}

impl Stage<'_> {
    /// Plays for every update from `first` on, until there is none left or nobody takes the episodes.
    fn play(&self, first: u64, weights: &Receiver<Weights>, batches: &SyncSender<Batch>) -> Result<(), TrainerError> {
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
                    state_hashes: matches!(self.parts.judging, Judging::Compared(Advantage::GroupInGroup { .. })),
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

    /// Which weights play for an update: as old as the job allows, but never older than the last checkpoint, so that a training
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
        let answering = Answering {
            max_tokens: self.spec.rollout.max_tokens as usize,
            temperature: self.spec.rollout.temperature,
            top_p: 1.0,
            tool_format: self.spec.rollout.tool_format,
        };
        let sampler = Sampler::new(weights.model.clone(), slots, capacity, self.spec.seed);
        let mut actor = LanguageActor::new(sampler, self.chat.clone(), answering);
        let go_on = || self.context.reporter.go_on();
        let (mut played, mut episodes, mut round) = (Vec::new(), Vec::new(), 0);
        loop {
            let missing = wanted - played.len() / rollouts;
            let planned: Vec<Planned> = self.plans.update(step, round, missing, rollouts);
            let fresh = player.play(&planned, &mut actor, &go_on)?;
            round += 1;
            let last = !self.parts.resample_equal_groups || round == ROUNDS_MAX;
            self.take(fresh, last, rollouts, &mut played, &mut episodes);
            if last || played.len() >= wanted * rollouts {
                break;
            }
        }
        Ok(Batch {
            step,
            played,
            episodes,
            staleness: step - weights.version,
            rounds: round,
            times: player.times,
            sampled: actor.sampled(),
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    /// Takes the groups that teach something, or all of them.
    fn take(
        &self,
        fresh: Vec<Played<Sequence>>,
        all: bool,
        rollouts: usize,
        played: &mut Vec<Played<Sequence>>,
        episodes: &mut Vec<Episode>,
    ) {
        let fresh_episodes: Vec<Episode> = fresh.iter().map(|played| self.episode(played)).collect();
        let equal = advantage::equal_groups(&fresh_episodes);
        for (mut one, mut episode) in fresh.into_iter().zip(fresh_episodes) {
            if !all && equal.contains(&episode.group) {
                continue;
            }
            // Groups are numbered anew where some were left out.
            let group = played.len() / rollouts;
            one.planned.group = group;
            episode.group = group;
            played.push(one);
            episodes.push(episode);
        }
    }

    fn episode(&self, played: &Played<Sequence>) -> Episode {
        let tokens = played.trace.as_ref().map_or(0, |trace| trace.count(Part::Action));
        let cut = !played.terminated && self.parts.mask_truncated;
        let earned = if cut { None } else { batch::reward(played, tokens, &self.spec.reward) };
        let shaped =
            earned.map(|earned| earned + self.parts.overlong.as_ref().map_or(0.0, |overlong| overlong.penalty(tokens)));
        batch::episode(played, shaped, &self.spec.reward)
    }
}

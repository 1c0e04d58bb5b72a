//! A language model that learns from episodes which it plays itself.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Instant;

use burn::module::Module as _;
use palestra_protocol::id::PolicyId;
use palestra_protocol::spec::train::Train;
use serde_json::Value;

use super::Context;
use super::batch::{self, Row};
use super::critic::{self, GaeConfig};
use super::idle::{self, Idle};
use super::journal::{Journal, PolicyFolder, Values};
use super::keep::{self, Saved};
use super::measure::{self, Measure};
use super::memory;
use super::playing::{Batch, Stage, Weights};
use super::start::Language;
use super::update::{Evaluation, Learner, UpdateMetrics, UpdateSettings};
use crate::algorithm::advantage;
use crate::algorithm::preset::{AdvantageEstimator, Parts};
use crate::failure::TrainerError;
use crate::model::ActorCritic;
use crate::optimizer::{AdamW, rate};
use crate::policy_manifest::PolicyManifest;
use crate::rollout::Plans;

/// Trains a language model by playing.
///
/// # Errors
/// As [`TrainerError`] says.
pub(super) fn train(spec: &Train, context: &Context, language: Language) -> Result<Value, TrainerError> {
    let Language { model, chat, parent, tool_format } = language;
    let tool_format = spec.rollout.tool_format.unwrap_or(tool_format);
    let parts = Parts::new(&spec.algorithm, &spec.rollout)?;
    let reference = parts.loss.kl.is_some().then(|| ActorCritic::without_values(model.valid()));
    let model = match &parts.estimator {
        AdvantageEstimator::Compared(_) => ActorCritic::without_values(model),
        AdvantageEstimator::Generalised { .. } => ActorCritic::with_values(model),
        AdvantageEstimator::Supervised => {
            return Err(TrainerError::Internal("this algorithm judges nothing".to_owned()));
        }
    };
    memory::check(context, model.policy(), &model, spec.rollout.max_context_tokens as usize)?;
    let mut learner = Learner { model, reference, optimizer: AdamW::new(&spec.optimizer) };
    let saved = keep::restore(context, &spec.optimizer, &mut learner.model, &mut learner.optimizer)?;
    let saved = saved.unwrap_or_default();
    let journal = Journal::begin(spec, context, saved.step, saved.history.clone())?;
    let plans = Plans::new(spec.environments.clone(), spec.seed);
    let measure = Measure { spec, context, chat: &chat, tool_format };
    let first = saved.step;
    let (weights, to_play) = channel();
    // Batches that wait to be learnt from; weights cannot pile up, since each is made from a batch.
    let (played, to_learn) = sync_channel(spec.rollout.staleness_updates_max as usize + 1);
    let stage = Stage { spec, context, parts: &parts, plans: &plans, chat: &chat, tool_format };
    let idle = Idle::default();
    let mut learning =
        Learning { spec, parts: &parts, plans: &plans, measure: &measure, parent, learner, saved, journal, idle };
    learning.measure_at_start()?;
    learning.send(&weights, first);
    std::thread::scope(|scope| {
        let playing = scope.spawn(move || stage.play(first, &to_play, &played));
        let learnt = learning.learn(&weights, &to_learn);
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
    keep::save_parts(context, learning.learner.model.policy(), &spec.policy)?;
    learning.journal.finish(&learning.policy()?, &context.files.folder)
}

/// The stage that learns.
struct Learning<'a> {
    spec: &'a Train,
    parts: &'a Parts,
    plans: &'a Plans,
    measure: &'a Measure<'a>,
    /// The registered policy that the training began with.
    parent: Option<PolicyId>,
    learner: Learner,
    saved: Saved,
    journal: Journal<'a>,
    idle: Idle,
}

impl Learning<'_> {
    /// Measures before the first update, where that is asked for.
    fn measure_at_start(&mut self) -> Result<(), TrainerError> {
        if self.saved.step > 0 || self.spec.evaluate.as_ref().is_none_or(|evaluate| !evaluate.at_start) {
            return Ok(());
        }
        let values = self.measured()?;
        self.journal.step(0, &values)
    }

    fn measured(&self) -> Result<Values, TrainerError> {
        self.measure.measure(&self.learner.model.policy().valid(), self.plans)
    }

    fn send(&self, weights: &Sender<Weights>, version: u64) {
        // Nobody takes them once playing has failed, which is reported there.
        let _ = weights.send(Weights { version, model: self.learner.model.policy().valid() });
    }

    /// Learns from every batch, until none is left.
    fn learn(&mut self, weights: &Sender<Weights>, batches: &Receiver<Batch>) -> Result<(), TrainerError> {
        for step in self.saved.step..self.spec.steps {
            let waited = Instant::now();
            let batch = batches.recv().map_err(|_| TrainerError::Internal("no episodes came any more".to_owned()))?;
            let waited = waited.elapsed().as_secs_f64();
            debug_assert_eq!(batch.step, step, "batches come in order");
            let mut values = self.learn_from(&batch)?;
            values.insert("update_wait_seconds".to_owned(), waited);
            let done = step + 1;
            self.send(weights, done);
            if measure::is_due(self.spec, done) {
                values.extend(self.measured()?);
            }
            self.journal.step(done, &values)?;
            if self.journal.is_due(done) {
                self.saved.step = done;
                self.saved.history = self.journal.history().clone();
                let learner = &self.learner;
                let folder = keep::save(self.measure.context, &learner.model, &learner.optimizer, &self.saved)?;
                let policy = self.policy()?;
                self.journal.keep(done, &folder, &policy)?;
            }
        }
        Ok(())
    }

    /// Writes the policy as it is now.
    fn policy(&self) -> Result<PolicyFolder, TrainerError> {
        let Measure { context, chat, tool_format, .. } = self.measure;
        let manifest = PolicyManifest { tool_format: *tool_format, actions: Vec::new() };
        let folder = keep::save_policy(context, self.learner.model.policy(), chat.tokenizer(), &manifest)?;
        let environments = self.saved.environments.iter().cloned().collect();
        Ok(PolicyFolder { folder, parent: self.parent, architecture: "transformer", environments })
    }

    /// Makes one update; answers its numbers.
    fn learn_from(&mut self, batch: &Batch) -> Result<Values, TrainerError> {
        let began = Instant::now();
        batch.check(self.spec.rollout.masked_share_max)?;
        let spec = self.spec;
        let reporter = &self.measure.context.reporter;
        let settings = UpdateSettings {
            parts: self.parts,
            optimizer: &spec.optimizer,
            rate: rate(&spec.optimizer, batch.step, spec.steps),
            temperature: spec.rollout.temperature,
            stale: batch.staleness > 0,
            seed: spec.seed,
            step: batch.step,
            go_on: &|| reporter.go_on(),
        };
        let mut values = batch.values(self.plans);
        let (rows, before) = self.with_advantages(batch, &settings, &mut values)?;
        if let Some(warning) = self.idle.note(idle::reason(batch, &rows, &spec.rollout)) {
            self.measure.context.reporter.log("warn", warning)?;
        }
        self.measure.context.reporter.announce(format!("learning from {} episodes", rows.len()));
        if !rows.is_empty() {
            let metrics = self.learner.update(&rows, before, &settings)?;
            values.extend(self.metrics(&metrics, began.elapsed().as_secs_f64()));
        }
        let whole = batch.seconds.max(1e-9) + began.elapsed().as_secs_f64();
        values.extend([
            ("learning_rate".to_owned(), settings.rate),
            ("rows".to_owned(), rows.len() as f64),
            ("environment_share".to_owned(), batch.times.environment_seconds / whole),
        ]);
        self.saved.environments.extend(batch.environments());
        Ok(values)
    }

    /// The rows of a batch with their advantages, and their evaluation by the model where the estimator needed one.
    fn with_advantages(
        &mut self,
        batch: &Batch,
        settings: &UpdateSettings<'_>,
        values: &mut Values,
    ) -> Result<(Vec<Row>, Option<Evaluation>), TrainerError> {
        match &self.parts.estimator {
            AdvantageEstimator::Compared(kind) => {
                let equal = advantage::equal_groups(&batch.episodes).len();
                values.insert("groups_equal".to_owned(), equal as f64);
                let baselines = &mut self.saved.baselines;
                let advantages = advantage::advantages(kind, self.parts.gamma, &batch.episodes, baselines);
                Ok((batch::rows(&batch.played, &advantages), None))
            }
            AdvantageEstimator::Generalised { lambda, .. } => {
                let (mut rows, trajectories) = critic::trajectories(&batch.played, &batch.episodes, &self.spec.reward);
                let evaluation = self.learner.before(&rows, settings)?;
                let gae = GaeConfig { gamma: self.parts.gamma, lambda: *lambda };
                let explained = critic::assign_advantages(&mut rows, &trajectories, &evaluation.values, gae);
                values.insert("explained_variance".to_owned(), explained);
                Ok((rows, Some(evaluation)))
            }
            AdvantageEstimator::Supervised => Err(TrainerError::Internal("this algorithm judges nothing".to_owned())),
        }
    }

    /// Metrics of an update that took so many seconds.
    fn metrics(&self, metrics: &UpdateMetrics, seconds: f64) -> Values {
        let mut values = Values::from([
            ("loss".to_owned(), metrics.loss),
            ("entropy".to_owned(), metrics.entropy),
            ("kl".to_owned(), metrics.kl),
            ("clip_fraction".to_owned(), metrics.clipped),
            ("grad_norm".to_owned(), metrics.grad_norm),
            ("tokens_trained_per_second".to_owned(), metrics.tokens as f64 / seconds.max(1e-9)),
        ]);
        if self.learner.model.has_values() {
            values.insert("value_loss".to_owned(), metrics.value_loss);
        }
        values
    }
}
